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

from cli.answers import objects, text
from cli.check_request import asked
from cli.check_text import Lines, job_title
from cli.commands.check import REFUSED
from cli.commands.check import WORDS_MAX as WORDS_MAX
from cli.commands.check import ordered as ordered
from cli.elsewhere_text import elsewhere_lines
from cli.job_script import job_script
from cli.options import FLAG
from cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session

OPTIONS = {"json": FLAG}


def run(session: Session) -> int:
    """Read, ask and show; the exit status."""
    job = job_script(session)
    answer = asked(session, job.script, job.name, is_elsewhere=True)
    if session.options.flag("json"):
        session.terminal.raw(json.dumps(answer, indent=2).encode("ascii") + b"\n")
    else:
        into = Lines(session.terminal)
        into.heading(job_title(job))
        said = {text(each, "refused") for each in objects(answer, "components")}
        own = [harmless(remark.sentence) for remark in job.script.refusals]
        into.points("Refused", [sentence for sentence in own if sentence not in said], "red")
        elsewhere_lines(into, job.script.components, answer)
        session.terminal.page(into.lines)
    is_refused = job.script.refusals or any(text(each, "refused") for each in objects(answer, "components"))
    return REFUSED if is_refused else 0
