"""kaiku elsewhere [options] job.sbatch [sbatch arguments…]

The same request on the other partitions, and on the platforms that your site
lists: whether it fits, what it would cost, and the typical wait and run time,
as it is and with the GPUs that your earlier runs of the same work needed. Only
the resource options and the job's name are sent to the portal.

  --json           the portal's answer as JSON

sbatch arguments may stand before the script or directly behind it, as for
`kaiku check`.

exit status: 0; 2 usage; 3 no sign-in; 4 no answer; 5 Slurm would refuse the job
where it is now.
"""

from __future__ import annotations

import json

from collector.cli.answers import objects, text
from collector.cli.check_request import asked
from collector.cli.check_text import Lines, job_title
from collector.cli.commands.check import REFUSED, WORDS_MAX, ordered
from collector.cli.elsewhere_text import elsewhere_lines
from collector.cli.job_script import job_script
from collector.cli.options import FLAG
from collector.cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.cli.session import Session

OPTIONS = {"json": FLAG}

__all__ = ["OPTIONS", "WORDS_MAX", "ordered", "run"]


def run(session: Session) -> int:
    """Read, ask and show; the exit status."""
    job = job_script(session)
    answer = asked(session, job, is_elsewhere=True)
    if session.options.flag("json"):
        session.terminal.raw(json.dumps(answer, indent=2).encode("ascii") + b"\n")
    else:
        into = Lines(session.terminal)
        into.heading(job_title(job))
        into.points("Refused", [harmless(remark.sentence) for remark in job.script.refusals], "red")
        elsewhere_lines(into, job.script.components, answer)
        session.terminal.page(into.lines)
    is_refused = job.script.refusals or any(text(each, "refused") for each in objects(answer, "components"))
    return REFUSED if is_refused else 0
