"""kaiku compare JOB JOB… [--json]

Two to four jobs side by side: how they ran, how well their GPUs were used, and what they requested. What differs is in
bold. A job is [CLUSTER/]JOBID.

  --json           the reports as a JSON list
"""

from __future__ import annotations

import json

from cli.answers import age_lines, document, number, objects, print_raw, text, value
from cli.errors import Usage
from cli.job_names import found
from cli.layout import GAP, NOT_KNOWN, count, date, duration, gigabytes, hours, percent
from cli.options import FLAG
from cli.report import job_name, judged, run_time_s, state_shown
from cli.terminal import harmless, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

OPTIONS = {"json": FLAG}
JOBS_MIN, JOBS_MAX, WORDS_MAX = 2, 4, 100

LABEL_MAX, VALUE_MIN = 20, 11
"""The shortest value is as wide as a date and the longest class."""
WHOLE = ("", "Class")
"""The rows of which nothing is cut: which job it is, and its class."""
OPTIONS_MAX = 60


def run(session: Session) -> int:
    """A call for each job, over one connection."""
    words = list(dict.fromkeys(session.options.words))
    if len(words) < JOBS_MIN:
        raise Usage("which jobs? kaiku compare JOB JOB, with two to four different ones")
    if len(words) > JOBS_MAX:
        raise Usage(f"{len(words)} jobs: kaiku compare shows two to four different ones side by side")
    # The same job may be written in several ways.
    answers = {path: (answer, age_s) for path, answer, age_s in (found(session, word) for word in words)}
    if len(answers) < JOBS_MIN:
        raise Usage(
            f"{' and '.join(words)[:60]} are the same job: kaiku compare JOB JOB, with two to four different ones"
        )
    age_s = max((age_s for _, age_s in answers.values() if age_s is not None), default=None)
    reports = [document(answer) for answer, _ in answers.values()]
    if session.options.flag("json"):
        print_raw(session, json.dumps(reports, ensure_ascii=False, indent=1).encode("utf-8", "replace"), age_s)
        return 0
    session.terminal.page([*lines_of(session.terminal, reports), *age_lines(session, age_s)])
    return 0


def lines_of(terminal: Terminal, reports: list[dict[str, Any]]) -> list[str]:
    """A row for each measure, a column for each job; values that are too long for their column are cut.

    Where a column would be too narrow for a class or a job, some jobs stand below the others.
    """
    rows = [*_measures(reports), *_requests(reports)]
    label_columns = min(max(width(label) for label, _ in rows), LABEL_MAX, terminal.columns // 3)
    room = terminal.columns - label_columns
    wide = max(width(shown) for _, values in rows for shown in values)
    least = max(VALUE_MIN, *(width(shown) for label, values in rows for shown in values if label in WHOLE))
    side_by_side = max(room // (least + len(GAP)), 1)
    groups = -(-len(reports) // side_by_side)
    side_by_side = -(-len(reports) // groups)
    columns = min(max(wide, VALUE_MIN), room // side_by_side - len(GAP))
    lines: list[str] = []
    for first in range(0, len(reports), side_by_side):
        lines += [""] if lines else []
        for position, (label, values) in enumerate(rows):
            is_bold = position == 0 or len(set(values)) > 1
            cells = [pad(shown, columns) for shown in values[first : first + side_by_side]]
            cells[-1] = cells[-1].rstrip(" ")
            painted = [terminal.paint(cell, "bold") if is_bold else cell for cell in cells]
            lines.append((_label(label, label_columns) + GAP.join(["", *painted])).rstrip(" "))
    return lines


def _label(label: str, columns: int) -> str:
    """A label cut in its middle: options differ at their ends.

    >>> _label("--ntasks-per-node", 13), _label("--ntasks-per-gpu", 13)
    ('--ntask…-node', '--ntask…r-gpu')
    """
    if width(label) <= columns or not label.isascii():
        return pad(label, columns)
    tail = columns // 2 - 1
    return f"{label[: columns - 1 - tail]}…{label[-tail:]}"


def _measures(reports: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    def each(*path: str) -> list[float | None]:
        return [number(report, *path) for report in reports]

    jobs = [value(report, "job") for report in reports]
    is_named = len({text(job, "cluster") for job in jobs}) > 1
    effective = zip(each("efficiency", "effective_gpus"), each("efficiency", "measured_gpus"))
    return [
        ("", [job_name(job) if is_named else text(job, "job_id") for job in jobs]),
        ("Name", [text(job, "job_name") or NOT_KNOWN for job in jobs]),
        ("State", [state_shown(job) for job in jobs]),
        ("Ended", [date(text(job, "ended_at"), is_short=True) for job in jobs]),
        ("Class", [judged(report)[0] for report in reports]),
        ("GPU use", [percent(each_value) for each_value in each("efficiency", "avg_gpu_util")]),
        ("GPUs over 30 %", [NOT_KNOWN if used is None else f"{count(used)} of {count(of)}" for used, of in effective]),
        ("GPU memory", [gigabytes(each_value) for each_value in each("efficiency", "peak_gpu_mem_gb")]),
        ("Run time", [duration(run_time_s(job)) for job in jobs]),
        ("GPU-hours", [hours(each_value) for each_value in each("efficiency", "gpu_hours")]),
        ("Unused GPU-hours", [hours(each_value) for each_value in each("efficiency", "wasted_gpu_hours")]),
        ("First finding", [_finding(report) for report in reports]),
    ]


def _finding(report: dict[str, Any]) -> str:
    return next((text(found_one, "title") for found_one in objects(report, "findings")), NOT_KNOWN)


def _requests(reports: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The options that any of the jobs was submitted with."""
    requests = [_options(report) for report in reports]
    names = list(dict.fromkeys(name for request in requests for name in request))[:OPTIONS_MAX]
    return [(harmless(name), [request.get(name, NOT_KNOWN) for request in requests]) for name in names]


def _options(report: dict[str, Any]) -> dict[str, str]:
    request = value(report, "job", "request")
    if not isinstance(request, dict):
        return {}
    return {str(name)[:60]: text(request, name) or "set" for name in request}
