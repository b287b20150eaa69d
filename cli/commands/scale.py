"""kaiku scale WORK [--json]

How the runs of one work scale: run time, use and GPU-hours by number of GPUs, and up to which number more of them
paid off. WORK is a job name, as far as it is the same from run to run, or a key of `kaiku history --by-work --json`.

  --json           the work as JSON
"""

from __future__ import annotations

from cli.address import quoted
from cli.answers import age_lines, document, number, objects, print_raw, text, texts, value, whole
from cli.errors import NotFound, Usage
from cli.layout import Column, change, count, duration, hours, percent, table, use_bar, wrapped
from cli.options import FLAG
from cli.shapes import one_work, work_list
from cli.terminal import cut, width
from wire.numbers import counted
from wire.work_names import is_work_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

OPTIONS = {"json": FLAG}
WORDS_MAX = 1

WORKS = "/api/v1/works/"
NAMED_MAX = 10


def run(session: Session) -> int:
    """One call for a key; for a name one more, over the same connection."""
    if not session.options.words or not session.options.words[0].strip():
        raise Usage("which work? kaiku scale WORK; `kaiku history --by-work` names yours")
    key = _key(session, session.options.words[0].strip())
    answer, age_s = session.get(f"{WORKS}{quoted(key)}/", check=one_work)
    if session.options.flag("json"):
        print_raw(session, answer.content, age_s)
        return 0
    work = document(answer)
    page = f"{session.address}{text(work, 'url')}"
    session.terminal.page([*lines_of(session.terminal, work), page, *age_lines(session, age_s)])
    return 0


def _key(session: Session, written: str) -> str:
    """The key of a work; of several with this name the portal's first, which ran last, if only one has it exactly."""
    if is_work_key(written):
        return written
    query = {"days": 366, "limit": 50, "q": written}
    works = objects(document(session.get(WORKS, query, check=work_list)[0]), "works")
    same = [work for work in works if text(work, "name").lower() == written.lower()] or works
    if not same:
        raise NotFound(f"no work of yours is called {written[:60]!r}: `kaiku history --by-work` names them")
    if len(same) > 1:
        named = ", ".join(f"{text(work, 'name')} ({text(work, 'cluster')}, {text(work, 'key')})" for work in same[:4])
        more = "" if len(same) <= 4 else f" and {len(same) - 4} more"
        raise NotFound(f"{len(same)} works match {written[:60]!r}: {named}{more}")
    return text(same[0], "key")


def lines_of(terminal: Terminal, work: dict[str, Any]) -> list[str]:
    """The curve as a table, the portal's sentence about it, and the request that follows."""
    runs = counted(whole(work, "jobs"), "run")
    title = f"{cut(text(work, 'name'), terminal.columns - width(runs) - 2)}, {runs}"
    lines = [terminal.paint(title, "bold"), ""]
    if unused := wrapped(text(work, "without_gpu_use", "text"), terminal.columns):
        lines += [*(terminal.paint(line, "yellow") for line in unused), ""]
    points = objects(work, "scaling", "points")
    if points:
        lines += [
            *table(terminal, COLUMNS, [_row(point, number(work, "scaling", "knee_gpus")) for point in points]),
            "",
        ]
    lines += wrapped(text(work, "scaling", "text"), terminal.columns)
    return [*lines, *_request(terminal, work), *_advice(terminal, work), ""]


def _request(terminal: Terminal, work: dict[str, Any]) -> list[str]:
    """The request of the work, as its page shows it, with where it comes from."""
    best = value(work, "best_request")
    if not best:
        return []
    title = "Suggested request" if value(best, "is_new") is True else "Best known request"
    request = wrapped(" ".join(texts(best, "request")), terminal.columns, "  ")
    return ["", terminal.paint(title, "bold"), *request, *wrapped(text(best, "text"), terminal.columns)]


def _advice(terminal: Terminal, work: dict[str, Any]) -> list[str]:
    """What of the latest run's request that changes, and what is open by the reports of the runs."""
    advice = value(work, "advice")
    saved, runs = number(advice, "saves_gpu_hours"), whole(advice, "from_runs")
    if not advice or not saved:
        return []
    changes = [change(terminal, line) for line in texts(advice, "diff")]
    of_runs = f" in {counted(runs, 'run')}" if runs else ""
    said = f"{text(advice, 'title')}: the reports state about {hours(saved)}\u00a0GPU-hours less{of_runs}."
    return ["", *wrapped(said, terminal.columns), *(f"  {line}" for line in changes if line)]


COLUMNS = (
    Column("GPUS", to_right=True),
    Column("RUNS", to_right=True, rank=4),
    Column("RUN TIME", to_right=True),
    Column("FASTEST–SLOWEST", rank=8),
    Column("SPEEDUP", to_right=True, rank=5),
    Column("EFFICIENCY", to_right=True, rank=6),
    Column("", rank=7),
    Column("GPU USE", to_right=True, rank=2),
    Column("GPU-HOURS", to_right=True, rank=3),
    Column(""),
)


def _row(point: dict[str, Any], knee: float | None) -> list[str | tuple[str, str]]:
    speedup, efficiency, use = (number(point, name) for name in ("speedup", "efficiency", "use_percent"))
    gpus = number(point, "gpus")
    return [
        count(gpus),
        count(number(point, "n")),
        duration(number(point, "run_time_s", "typical")),
        _extremes(point),
        count(speedup) if speedup is None else f"{speedup:.2f}",
        percent(None if efficiency is None else 100 * efficiency),
        use_bar(use),
        percent(use),
        hours(number(point, "gpu_hours")),
        ("← knee", "bold") if knee is not None and gpus == knee else "",
    ]


def _extremes(point: dict[str, Any]) -> str:
    """The fastest and the slowest run, where they differ."""
    fastest, slowest = (duration(number(point, "run_time_s", name)) for name in ("low", "high"))
    return "" if fastest == slowest else f"{fastest}–{slowest}"
