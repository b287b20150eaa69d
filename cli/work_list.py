"""One's own works, a row for each: what `kaiku history --by-work` shows."""

from __future__ import annotations

import json

from cli.answers import age_lines, document, number, objects, print_raw, text, whole
from cli.errors import Usage
from cli.layout import Column, count, date, hours, percent, plain, table, use_bar, wrapped
from cli.shapes import work_list
from wire.classes import CLASS_NAMES
from wire.csv_cells import csv_lines
from wire.numbers import counted
from wire.work_names import is_work_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

WORKS_MAX = 200
"""As many works as one answer has."""

CSV_COLUMNS = (
    "key", "name", "cluster", "project", "jobs", "last_ended_at", "gpu_hours", "used_gpu_hours", "unused_gpu_hours",
    "use_percent", "efficient", "acceptable", "inefficient", "wasted", "unknown", "finding", "finding_jobs",
)  # fmt: skip
"""New ones are added at the end."""
NAME_MIN = 8


def show(session: Session, days: int, limit: int) -> int:
    """One call; rows, CSV or JSON."""
    options = session.options
    if options.text("class"):
        raise Usage("--class chooses jobs: leave it out with --by-work")
    named = options.text("work")
    is_key = is_work_key(named)
    query = {"days": days, "limit": WORKS_MAX, "q": None if is_key else named or None}
    answer, age_s = session.get("/api/v1/works/", query, check=work_list)
    works = [work for work in objects(document(answer), "works") if not is_key or text(work, "key") == named]
    if options.flag("worst"):
        works.sort(key=lambda work: -(number(work, "unused_gpu_hours") or 0.0))
    shown = works[:limit]
    if options.flag("json"):
        said = {**document(answer), "works": shown}
        print_raw(session, json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"), age_s)
    elif options.flag("csv"):
        print_csv(session, CSV_COLUMNS, map(_cells, shown), age_s)
    else:
        session.terminal.page([*lines_of(session.terminal, shown, len(works)), *age_lines(session, age_s)])
    return 0


def lines_of(terminal: Terminal, works: list[dict[str, Any]], of: int) -> list[str]:
    """A table with a row for each work, and the sums."""
    if not works:
        return ["No works match these filters"]
    columns = (
        Column("WORK", rank=1, cut_to=NAME_MIN),
        Column("JOBS", to_right=True),
        Column("LAST", rank=4),
        Column("GPU-HOURS", to_right=True, rank=3),
        Column("UNUSED", to_right=True),
        Column("", rank=6),
        Column("GPU USE", to_right=True),
        Column("MOST FREQUENT FINDING", rank=7),
    )
    return [*table(terminal, columns, [_row(work) for work in works]), "", *wrapped(_sums(works, of), terminal.columns)]


def _row(work: dict[str, Any]) -> list[str | tuple[str, str]]:
    use, ended = number(work, "use_percent"), text(work, "last_ended_at")
    jobs, found = number(work, "finding", "jobs"), text(work, "finding", "title")
    return [
        text(work, "name"),
        count(number(work, "jobs")),
        date(ended, is_short=True) if ended else "not ended",
        hours(number(work, "gpu_hours")),
        hours(number(work, "unused_gpu_hours")),
        use_bar(use),
        percent(use),
        f"{found} ({count(jobs)})" if found else "",
    ]


def _sums(works: list[dict[str, Any]], of: int) -> str:
    """How many there are, and their GPU-hours as far as they are measured."""
    shown = counted(len(works), "work") if len(works) == of else f"{len(works):,} of {of:,} works"
    jobs = sum(whole(work, "jobs") for work in works)
    billed, unused = (sum(number(work, name) or 0.0 for work in works) for name in ("gpu_hours", "unused_gpu_hours"))
    said = f"{shown}, {counted(jobs, 'job')}; {hours(unused)} of {hours(billed)}\u00a0GPU-hours unused."
    return f"{said} More about one: kaiku scale WORK"


def print_csv(session: Session, columns: Sequence[str], rows: Iterable[list[str]], age_s: float | None) -> None:
    """RFC 4180, with the line ends of a terminal; what is not known is empty."""
    print_raw(session, "".join(csv_lines([columns, *rows], "\n")).encode("utf-8", "replace"), age_s)


def _cells(work: dict[str, Any]) -> list[str]:
    numbers = ("gpu_hours", "used_gpu_hours", "unused_gpu_hours", "use_percent")
    values = {name: text(work, name) for name in ("key", "name", "cluster", "project", "last_ended_at")}
    values |= {name: plain(number(work, name)) for name in ("jobs", *numbers)}
    values |= {name.lower(): plain(number(work, "classes", name) or 0.0) for name in CLASS_NAMES}
    values |= {"finding": text(work, "finding", "code"), "finding_jobs": plain(number(work, "finding", "jobs"))}
    return [values[column] for column in CSV_COLUMNS]
