"""kaiku job [CLUSTER/]JOBID [--json | --pdf FILE | --open]

The report of one job: your own, or one of a project that you lead. A task of an array is JOBID_TASK, such as 123_4.

  --json           the report as JSON
  --pdf FILE       write the report as a PDF; - for standard output. A file that is no PDF is never replaced
  --open           open its page in a browser, and print the address
"""

from __future__ import annotations

from collector.cli.answers import age_line, document, print_raw, value
from collector.cli.commands.last import lines_of
from collector.cli.errors import Usage
from collector.cli.job_names import found
from collector.cli.options import FLAG, TEXT
from collector.cli.report import page_of
from collector.cli.report_text import painted
from collector.cli.saving import replace_pdf
from collector.cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.cli.session import Session

OPTIONS = {"json": FLAG, "pdf": TEXT, "open": FLAG}
WORDS_MAX = 1

PDF_TIMEOUT_S = 60
"""How long the portal may take to make a PDF, unless a time-out is set."""


def run(session: Session) -> int:
    """Text, JSON, PDF or page of one job."""
    options = session.options
    if not options.words:
        raise Usage("which job? kaiku job [CLUSTER/]JOBID")
    if sum((options.flag("json"), options.flag("pdf"), options.flag("open"))) > 1:
        raise Usage("use one of --json, --pdf and --open")
    if options.flag("pdf"):
        _check_pdf(session, options.text("pdf"))
    path, answer, age_s = found(session, options.words[0])
    if options.flag("json"):
        print_raw(session, answer.content, age_s)
    elif options.flag("pdf"):
        _pdf(session, path)
    elif options.flag("open"):
        _open(session, page_of(session, value(document(answer), "job")))
    else:
        _text(session, path, document(answer), age_s)
    return 0


def _text(session: Session, path: str, report: dict[str, object], age_s: float | None) -> None:
    """The report as the portal writes it; a job without one in a few lines."""
    terminal = session.terminal
    if not isinstance(value(report, "efficiency"), dict):
        terminal.page(lines_of(session, report, age_line(session, age_s)))
        return
    written, written_age_s = session.get(f"{path}report.txt", accept="text/plain")
    lines = painted(terminal, written.content.decode("utf-8", "replace"))
    age = age_line(session, written_age_s)
    foot = [page_of(session, value(report, "job"))] + ([terminal.paint(age, "yellow")] if age else [])
    terminal.page([*lines, "", *foot])


def _check_pdf(session: Session, name: str) -> None:
    """Raises Usage for what can be refused before anything is requested."""
    if not name:
        raise Usage("--pdf needs the name of a file")
    if name == "-" and session.terminal.is_tty:
        raise Usage("a PDF is not for a terminal: --pdf FILE")
    if session.options.flag("offline"):
        raise Usage("a PDF is not stored: it needs the portal")


def _pdf(session: Session, path: str) -> None:
    name, options = session.options.text("pdf"), session.options
    is_set = options.flag("timeout") or bool(session.environ.get("KAIKU_TIMEOUT"))
    timeout_s = session.timeout_s if is_set else PDF_TIMEOUT_S
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
