"""kaiku last [--work NAME] [--json]

Your latest ended job in at most twelve lines: its class and use, the first finding with its evidence, what to request
next time and what that saves, and the address of the full report. The same as a bare `kaiku`.

  --work NAME      the latest one of this work: a job name, or a key of `kaiku history --by-work --json`
  --json           the whole report as JSON
"""

from __future__ import annotations

from cli.answers import age_lines, document, number, objects, print_raw, text, value
from cli.errors import NotFound
from cli.job_names import unknown_work
from cli.layout import fitting, percent, wrapped
from cli.options import FLAG, TEXT
from cli.report import first_sentence, job_lines, judged, page_of, saving_line, suggested, unused_line, why_no_report
from cli.shapes import job_report
from cli.terminal import bar, cut, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

OPTIONS = {"work": TEXT, "json": FLAG}
WORDS_MAX = 0

LINES_MAX, FINDING_LINES_MAX, WORK_LINES_MAX, BAR_COLUMNS = 12, 3, 2, 10


def run(session: Session) -> int:
    """One call, or the stored answer with its age."""
    work = session.options.text("work") or None
    try:
        answer, age_s = session.get("/api/v1/jobs/latest/", {"work": work} if work else None, check=job_report)
    except NotFound as error:
        raise (unknown_work(work) if work else NotFound("no job of yours has ended yet")) from error
    if session.options.flag("json"):
        print_raw(session, answer.content, age_s)
        return 0
    for line in lines_of(session, document(answer), age_lines(session, age_s)):
        session.terminal.line(line)
    return 0


def lines_of(session: Session, report: dict[str, Any], age: list[str]) -> list[str]:
    """The report in at most `LINES_MAX` lines, `age` behind all others."""
    terminal, job = session.terminal, value(report, "job")
    job = job if isinstance(job, dict) else {}
    which, how = job_lines(job, terminal.columns)
    head = [terminal.paint(which, "bold"), how]
    tail = _address(terminal, page_of(session, job)) + age
    if not isinstance(value(report, "efficiency"), dict):
        return [*head, *wrapped(why_no_report(job), terminal.columns), *tail]
    head += [_use(terminal, report)]
    of_work = wrapped(text(report, "of_work"), terminal.columns, lines_max=WORK_LINES_MAX)
    finding = _finding(terminal, report)[: FINDING_LINES_MAX - bool(of_work)]
    request = _request(terminal, report, LINES_MAX - len(head) - len(finding) - len(of_work) - len(tail)) + of_work
    # What room is left separates the parts.
    free = LINES_MAX - len(head) - len(finding) - len(request) - len(tail)
    blanks = [[""] if free > number_of_blanks else [] for number_of_blanks in range(3)]
    return [*head, *blanks[2], *finding, *blanks[0], *request, *blanks[1], *tail]


def _use(terminal: Terminal, report: dict[str, Any]) -> str:
    """The class, a bar of the use, and the bill, as far as they fit."""
    name, colour = judged(report)
    use, coverage = (number(report, "efficiency", part) for part in ("avg_gpu_util", "coverage_fraction"))
    if use is None:
        return terminal.paint(cut(f"{name}: GPU use not measured", terminal.columns), "bold")
    partial = ""
    if value(report, "efficiency", "partial") is True and coverage is not None:
        partial = f" ({100 * coverage:.0f}\u00a0% of the run measured)"
    room = terminal.columns - width(name) - BAR_COLUMNS - 3
    shown = fitting((f"{percent(use)} GPU use{partial}", unused_line(report)), room)
    colours = [colour] if colour else []
    return f"{terminal.paint(name, 'bold', *colours)}  {terminal.paint(bar(use / 100, BAR_COLUMNS), *colours)} {shown}"


def _finding(terminal: Terminal, report: dict[str, Any]) -> list[str]:
    """The first finding with its evidence; without one, what the report states in its place."""
    for found in objects(report, "findings")[:1]:
        sentence = f"{text(found, 'title')}: {first_sentence(text(found, 'text'))}"
        return wrapped(sentence, terminal.columns, lines_max=FINDING_LINES_MAX)
    stated = text(report, "no_causes") or text(report, "verdict") or text(report, "headline")
    return wrapped(stated, terminal.columns, lines_max=FINDING_LINES_MAX)


def _request(terminal: Terminal, report: dict[str, Any], room: int) -> list[str]:
    """What to request next, within this many lines."""
    changes, options = suggested(terminal, report)
    if not options:
        return wrapped(text(report, "no_advice"), terminal.columns, lines_max=min(room, FINDING_LINES_MAX))
    saving = saving_line(report)
    title = wrapped(f"Suggested request{', ' if saving else ''}{saving}:", terminal.columns)[: max(room - 1, 1)]
    if changes and len(title) + len(changes) <= room:
        return title + [f"  {line}" for line in changes]
    # Half of a request would be worse than none: all options to write, as a paragraph.
    return title + wrapped(" ".join(options), terminal.columns, "  ", lines_max=max(room - len(title), 1))


def _address(terminal: Terminal, address: str) -> list[str]:
    """The address of the full report, never cut: it is there to be copied."""
    label = "Full report: "
    return [f"{label}{address}" if width(label + address) <= terminal.columns else address]
