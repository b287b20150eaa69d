"""kaiku job [CLUSTER/]JOBID [--json | --pdf FILE | --open]

The report of one job: your own, or one of a project that you lead. A task of an array is JOBID_TASK, such as 123_4.
A job that still runs has no report yet: `kaiku watch JOBID` shows it.

  --json           the report as JSON
  --pdf FILE       write the report as a PDF; - for standard output. A file that is no PDF is never replaced
  --open           open its page in a browser, and print the address
"""

from __future__ import annotations

from cli.answers import age_lines, document, objects, print_raw, value
from cli.commands.last import lines_of
from cli.errors import CliError, NotFound, Usage
from cli.job_names import JobName, found, read
from cli.layout import COLOURS, wrapped
from cli.new_files import replace_pdf
from cli.options import FLAG, TEXT
from cli.report import page_of
from cli.running_text import is_meant
from cli.shapes import running_list
from cli.terminal import cut, harmless, harmless_lines
from wire.report_columns import COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session
    from cli.terminal import Terminal

OPTIONS = {"json": FLAG, "pdf": TEXT, "open": FLAG}
WORDS_MAX = 1

RUNNING_MAX = 100
"""Running tasks of one array that are looked at."""

PDF_TIMEOUT_S = 60
"""How long the portal may take to make a PDF, unless a time-out is set."""

SCRIPT = ("- #SBATCH", "+ #SBATCH", "#SBATCH")


def run(session: Session) -> int:
    """Text, JSON, PDF or page of one job."""
    options = session.options
    if not options.words:
        raise Usage("which job? kaiku job [CLUSTER/]JOBID")
    if sum((options.flag("json"), options.flag("pdf"), options.flag("open"))) > 1:
        raise Usage("use one of --json, --pdf and --open")
    if options.flag("pdf"):
        _check_pdf(session, options.text("pdf"))
    try:
        path, answer, age_s = found(session, options.words[0])
    except NotFound as unknown:
        return _running(session, options.words[0], unknown)
    if options.flag("json"):
        print_raw(session, answer.content, age_s)
    elif options.flag("pdf"):
        _pdf(session, path)
    elif options.flag("open"):
        _open(session, page_of(session, value(document(answer), "job")))
    else:
        _text(session, path, document(answer), age_s)
    return 0


def _running(session: Session, written: str, unknown: NotFound) -> int:
    """A job without a record that still runs: that it does, and what shows it. Raises `unknown` where it does not run,
    and NotFound where what was asked for is of its report alone."""
    options = session.options
    running = None if options.flag("offline") else _runs(session, read(written))
    if running is None:
        raise unknown
    said = f"{written} still runs: `kaiku watch {written}` shows it. Its report follows when it has ended."
    if options.flag("json") or options.flag("pdf"):
        raise NotFound(said)
    if options.flag("open"):
        _open(session, page_of(session, running))
        return 0
    for line in wrapped(said, session.terminal.columns):
        session.terminal.line(line)
    return 0


def _runs(session: Session, named: JobName) -> dict[str, object] | None:
    """The running job that is meant; None where none is, or where the portal has no running jobs."""
    query = {"job_id": named.job_id, "limit": RUNNING_MAX}
    try:
        answer = session.portal.call("GET", "/api/v1/running/", query=query, timeout_s=session.timeout_s).checked()
        running_list(answer.json())
    except CliError:
        return None
    return next((job for job in objects(document(answer), "jobs") if is_meant(job, named)), None)


def _text(session: Session, path: str, report: dict[str, object], age_s: float | None) -> None:
    """The report as the portal writes it; a job without one in a few lines."""
    terminal = session.terminal
    if not isinstance(value(report, "efficiency"), dict):
        terminal.page(lines_of(session, report, age_lines(session, age_s)))
        return
    query = {"width": terminal.columns} if terminal.columns < COLUMNS else {}
    written, written_age_s = session.get(f"{path}report.txt", query, accept="text/plain", wider={})
    lines = painted(terminal, written.content.decode("utf-8", "replace"))
    terminal.page([*lines, "", page_of(session, value(report, "job")), *age_lines(session, written_age_s)])


def painted(terminal: Terminal, written: str) -> list[str]:
    """The lines of a report; those of a script, which are never wrapped, are cut in a terminal narrower than usual."""
    lines = harmless_lines(written.rstrip("\n"))
    if terminal.columns < COLUMNS:
        lines = [cut(line, terminal.columns) if line.lstrip().startswith(SCRIPT) else line for line in lines]
    return [_coloured(terminal, line, lines[number + 1 : number + 2]) for number, line in enumerate(lines)]


def _coloured(terminal: Terminal, line: str, after: list[str]) -> str:
    if after and _is_rule(after[0]):
        return terminal.paint(line, "bold")
    if _is_rule(line):
        return terminal.paint(line, "dim")
    bare = line.lstrip()
    if bare.startswith(SCRIPT[0]):
        return terminal.paint(line, "red")
    if bare.startswith(SCRIPT[1:]):
        return terminal.paint(line, "green")
    for name, colour in COLOURS.items():
        # The line of the class ends so: "…: INEFFICIENT."
        head, colon, rest = line.rpartition(": " + name)
        if colon and colour and rest[:1] in (".", ","):
            return f"{head}: {terminal.paint(name, 'bold', colour)}{rest}"
    return line


def _is_rule(line: str) -> bool:
    return len(line) > 2 and line in ("-" * len(line), "=" * len(line))


def _check_pdf(session: Session, name: str) -> None:
    """Raises Usage for what can be refused before anything is requested."""
    if not name:
        raise Usage("--pdf needs the name of a file")
    if name == "-" and session.terminal.is_tty:
        raise Usage("a PDF is not for a terminal: --pdf FILE")
    if session.options.flag("offline"):
        raise Usage("a PDF is not stored: it needs the portal")


def _pdf(session: Session, path: str) -> None:
    name, timeout_s = session.options.text("pdf"), session.timeout_or(PDF_TIMEOUT_S)
    answer = session.portal.call("GET", f"{path}report.pdf", accept="application/pdf", timeout_s=timeout_s).checked()
    if name == "-":
        session.terminal.raw(answer.content)
        return
    replace_pdf(name, answer.content)
    session.terminal.line(f"Written: {harmless(name)}")


def _open(session: Session, address: str) -> None:
    """The page in a browser where there is a display; its address in any case."""
    session.terminal.line(address)
    session.terminal.flush()
    if any(session.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        # It costs more than all the rest.
        __import__("webbrowser").open(address)
