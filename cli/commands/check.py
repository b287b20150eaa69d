"""kaiku check [options] job.sbatch [sbatch arguments…]

Reads a job script as Slurm would, with your environment and the sbatch
arguments, and shows what it would cost, what your earlier runs of the same work
suggest, its risks, and which partition costs least. Only the resource options
and the job's name are sent to the portal, never the script, its path, comments,
commands or environment. What the script itself shows (options that Slurm
refuses or ignores) also works with --offline and without sign-in.

  --diff           also the script as it would be, as a unified diff
  --write FILE     write the script as it would be to a new file; never in place
  --force          let --write replace another file
  --json           as JSON

The script - is standard input: generate.sh | kaiku check -
sbatch arguments may stand before the script, where sbatch itself takes them, or
directly behind it. The first other word behind the script, or --, begins the
arguments of the script itself, which are not read.

exit status: 0 read, and nothing is refused; 1 no suggestion to write; 2 usage;
5 Slurm would refuse the job. With --diff or --write also 3 no sign-in;
4 no answer.
"""

from __future__ import annotations

import json
import shlex

from cli.answers import objects, text
from cli.check_request import asked
from cli.check_text import Lines, answer_lines, job_title, offline_lines, script_lines
from cli.errors import CliError, Usage
from cli.job_script import Words, as_written, job_script
from cli.layout import wrapped
from cli.new_files import is_same_file, write_new
from cli.options import FLAG, TEXT
from cli.suggested import Suggested, suggested
from cli.terminal import harmless, harmless_lines
from wire.sbatch.reading import read_script
from wire.sbatch.rewriting import unified_diff
from wire.sbatch.sharing import shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from cli.job_script import JobScript
    from cli.session import Session

OPTIONS = {"diff": FLAG, "write": TEXT, "force": FLAG, "json": FLAG}
WORDS_MAX = 10_000
NOTHING_TO_WRITE, REFUSED = 1, 5


def ordered(arguments: Sequence[str], known: Mapping[str, object]) -> list[str]:
    """The command line with the options of kaiku first."""
    return Words(arguments, known).ordered


def run(session: Session) -> int:
    """Read, ask, show, write; the exit status."""
    job = job_script(session)
    written_to = session.options.text("write")
    if session.options.flag("write") and written_to in ("", "-"):
        raise Usage("--write needs a file")
    answer, missing = _answer(session, job)
    made = suggested(session, job, answer)
    has_changes = made.script != job.content
    if session.options.flag("json"):
        _show_json(session, job, answer, missing, made)
    else:
        _show(session, job, answer, missing, made)
    if missing and (session.options.flag("diff") or written_to):
        raise missing
    if written_to and has_changes:
        _write(session, job, written_to, made.script)
    elif written_to and not session.options.flag("json"):
        session.terminal.line(f"Nothing to change: {harmless(written_to)} was not written.")
    if job.script.refusals or any(text(each, "refused") for each in objects(answer, "components")):
        return REFUSED
    return NOTHING_TO_WRITE if written_to and not has_changes else 0


def _answer(session: Session, job: JobScript) -> tuple[dict[str, Any], CliError | None]:
    """The portal's answer, or an empty one and why there is none."""
    try:
        return asked(session, job.script, job.name), None
    except CliError as error:
        return {}, session.explained(error)


def _show(session: Session, job: JobScript, answer: dict[str, Any], missing: CliError | None, made: Suggested) -> None:
    into = Lines(session.terminal)
    into.heading(job_title(job))
    script_lines(into, job)
    if missing:
        offline_lines(into, job, str(missing))
    else:
        answer_lines(into, job, answer, made)
        into.plain(_diff_lines(session, job, made))
    session.terminal.page(into.lines)


def _diff_lines(session: Session, job: JobScript, made: Suggested) -> list[str]:
    """The unified diff where it is wanted, else how to get it."""
    if made.script == job.content:
        return []
    if not session.options.flag("diff"):
        if session.options.text("write"):
            return []
        again = harmless(shlex.join(["kaiku", "check", "--diff", *as_written(session.options.words)]))
        hint = f"{again} shows the changed lines, --write NEW.sbatch writes them."
        return ["", *wrapped(hint, session.terminal.columns)]
    colours = {"+": "green", "-": "red"}
    lines = harmless_lines(unified_diff(job.content, made.script, job.file_name).removesuffix("\n"))
    return ["", *(session.terminal.paint(line, *filter(None, [colours.get(line[:1])])) for line in lines)]


def _write(session: Session, job: JobScript, path: str, content: bytes) -> None:
    if not job.is_piped and is_same_file(path, job.path):
        raise Usage("--write writes a new file, never the script itself")
    write_new(path, content, mode=job.mode, is_forced=session.options.flag("force"))
    if not session.options.flag("json"):
        refused = read_script(content, version=job.script.version).refusals
        submit = f"Submit it with: sbatch {harmless(shlex.quote(path))}"
        session.terminal.line(f"Wrote {harmless(path)}. {'Slurm still refuses it, see above.' if refused else submit}")


def _show_json(
    session: Session, job: JobScript, answer: dict[str, Any], missing: CliError | None, made: Suggested
) -> None:
    script = job.script
    remarks = {
        kind: [{"code": each.code, "line": each.line or None, "text": each.sentence} for each in found]
        for kind, found in (("refusals", script.refusals), ("warnings", script.warnings))
    }
    components = [{"job_name": each.job_name or job.name, "options": each.options} for each in shared(script)]
    said = {
        "schema": "kaiku-check/1",
        "script": {**remarks, "components": components, "undecided": list(script.undecided)},
        "missing": str(missing) if missing else None,
        "answer": answer or None,
        "not_changed": list(made.not_changed),
        "diff": unified_diff(job.content, made.script, job.file_name) if made.script != job.content else None,
    }
    session.terminal.raw(json.dumps(said, indent=2).encode("ascii") + b"\n")
