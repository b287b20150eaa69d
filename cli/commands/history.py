"""kaiku history [--days 90] [--work NAME] [--class CLASS] [--worst] [--limit 500] [--by-work] [--csv | --json]

Your own jobs, the latest first: how they ended, how long they ran, and how well their GPUs were used.

  --days N         the last N days, 90 if not set, 366 at most
  --work NAME      only this work: a job name, or a key of `kaiku history --by-work --json`
  --class CLASS    only efficient, acceptable, inefficient, wasted or unknown
  --worst          the most unused GPU-hours first
  --limit N        at most this many, 500 if not set
  --by-work        a row for each work: all runs of one program of yours, 200 works at most
  --csv            as CSV; --json: as JSON
"""

from __future__ import annotations

import json

from cli import work_list
from cli.answers import age_lines, document, number, objects, print_raw, text, whole
from cli.errors import Usage
from cli.job_names import check_work
from cli.layout import Column, count, date, duration, hours, percent, plain, table, use_bar, wrapped
from cli.options import FLAG, TEXT, one_of
from cli.options import whole as whole_number
from cli.report import class_shown, job_name, run_time_s, state_shown
from cli.shapes import job_list
from wire.classes import CLASS_NAMES
from wire.numbers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

CLASSES = tuple(name.lower() for name in CLASS_NAMES)
DAYS, LIMIT = 90, 500
OPTIONS = {
    "days": whole_number(1, 366),
    "work": TEXT,
    "class": lambda written: one_of(*CLASSES)(written.lower()),
    "worst": FLAG,
    "limit": whole_number(1, LIMIT),
    "by-work": FLAG,
    "csv": FLAG,
    "json": FLAG,
}
VALUES = {"class": CLASSES}
WORDS_MAX = 0

CSV_COLUMNS = (
    "cluster", "job_id", "attempt", "array_job_id", "array_task_id", "job_name", "project", "partition", "state",
    "submitted_at", "started_at", "ended_at", "gpus", "run_time_s", "time_limit_s", "class", "use_percent",
    "coverage_fraction", "gpu_hours", "unused_gpu_hours",
)  # fmt: skip
"""New ones are added at the end."""
STATE_COLOURS = {"FAILED": "red", "OUT_OF_MEMORY": "red", "TIMEOUT": "yellow", "NODE_FAIL": "yellow"}
NAME_MIN = 6
CLASS_COLUMNS = 12
"""The longest: "Not analysed"."""
WIDE_COLUMNS, BAR_COLUMNS, BAR_COLUMNS_NARROW = 100, 10, 5
"""The bar of a narrow terminal leaves room for the state, beside the class."""


def run(session: Session) -> int:
    """One call; rows, CSV or JSON."""
    options = session.options
    if options.flag("csv") and options.flag("json"):
        raise Usage("use one of --csv and --json")
    if options.flag("by-work"):
        return work_list.show(session, options.number("days", DAYS), options.number("limit", LIMIT))
    query = {
        "own": 1,
        "days": options.number("days", DAYS),
        "limit": options.number("limit", LIMIT),
        "work": options.text("work") or None,
        "class": options.text("class").upper() or None,
        "sort": "wasted" if options.flag("worst") else None,
    }
    answer, age_s = session.get("/api/v1/jobs/", query, check=job_list, wider={**query, "limit": LIMIT})
    said = document(answer)
    every = objects(said, "results")
    # The stored answer may be a longer list.
    runs = every[: options.number("limit", LIMIT)]
    if age_s is None and not runs and options.text("work"):
        check_work(session, options.text("work"))
    if options.flag("json"):
        print_raw(session, answer.content if runs == every else _document(said, runs), age_s)
        return 0
    if options.flag("csv"):
        work_list.print_csv(session, CSV_COLUMNS, map(_cells, runs), age_s)
        return 0
    terminal = session.terminal
    if runs:
        lines = [*rows_of(terminal, runs), "", *wrapped(_sums(runs, whole(said, "count")), terminal.columns)]
    else:
        is_narrowed = options.text("work") or options.text("class")
        lines = ["No jobs match these filters" if is_narrowed else f"No jobs in the last {query['days']} days"]
    terminal.page([*lines, *age_lines(session, age_s)])
    return 0


def _document(said: dict[str, Any], runs: list[dict[str, Any]]) -> bytes:
    """The same answer with these runs."""
    return json.dumps({**said, "results": runs}, ensure_ascii=False).encode("utf-8", "replace")


def rows_of(terminal: Terminal, runs: list[dict[str, Any]]) -> list[str]:
    """A table with a row for each run; the cluster is left out where there is only one."""
    clusters = {text(run, "cluster") for run in runs}
    columns = (
        Column("JOB"),
        Column("NAME", rank=1, cut_to=NAME_MIN),
        Column("ENDED", rank=4),
        Column("STATE", rank=5, cut_to=9),
        Column("GPUS", to_right=True, rank=7),
        Column("RUN TIME", to_right=True, rank=8),
        Column("CLASS", cut_to=CLASS_COLUMNS),
        Column("", rank=6),
        Column("GPU USE", to_right=True),
        Column("UNUSED", to_right=True, rank=2),
    )
    bar_columns = BAR_COLUMNS if terminal.columns >= WIDE_COLUMNS else BAR_COLUMNS_NARROW
    return table(terminal, columns, [_row(run, bar_columns, is_named=len(clusters) > 1) for run in runs])


def _row(run: dict[str, Any], bar_columns: int, *, is_named: bool) -> list[str | tuple[str, str]]:
    use = number(run, "efficiency", "avg_gpu_util")
    name, colour = class_shown(text(run, "efficiency", "efficiency_class"))
    gpus, ended = number(run, "gpus_allocated"), text(run, "ended_at")
    return [
        job_name(run) if is_named else text(run, "job_id"),
        text(run, "job_name"),
        date(ended, is_short=True) if ended else "not ended",
        (state_shown(run), STATE_COLOURS.get(text(run, "state"), "")),
        count(gpus if gpus is not None else number(run, "gpus_requested")),
        duration(run_time_s(run)),
        (name, colour),
        (use_bar(use, bar_columns)[0], colour),
        percent(use),
        hours(number(run, "efficiency", "wasted_gpu_hours")),
    ]


def _sums(runs: list[dict[str, Any]], count_of_all: int) -> str:
    """How many there are, and their GPU-hours as far as they are measured."""
    shown = counted(len(runs), "job") if count_of_all <= len(runs) else f"{len(runs):,} of {count_of_all:,} jobs"
    measured = [run for run in runs if number(run, "efficiency", "wasted_gpu_hours") is not None]
    billed, unused = (
        sum(number(run, "efficiency", name) or 0.0 for run in measured) for name in ("gpu_hours", "wasted_gpu_hours")
    )
    return f"{shown}; {hours(unused)} of {hours(billed)}\u00a0GPU-hours unused" if measured else shown


def _cells(run: dict[str, Any]) -> list[str]:
    named = {
        "project": text(run, "project_id"),
        "gpus": plain(number(run, "gpus_allocated")),
        "run_time_s": plain(run_time_s(run)),
        "time_limit_s": plain(number(run, "walltime_requested_s")),
        "class": text(run, "efficiency", "efficiency_class"),
        "use_percent": plain(number(run, "efficiency", "avg_gpu_util")),
        "coverage_fraction": plain(number(run, "efficiency", "coverage_fraction")),
        "gpu_hours": plain(number(run, "efficiency", "gpu_hours")),
        "unused_gpu_hours": plain(number(run, "efficiency", "wasted_gpu_hours")),
    }
    return [named[column] if column in named else text(run, column) for column in CSV_COLUMNS]
