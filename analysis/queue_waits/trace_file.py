"""Reading waits from a CSV file, for a backtest of accounting that is not stored in the portal.

The columns are those of published traces, `cluster user partition submit eligible start end walltime_limit_s gpus
nodes`, with times in ISO 8601; `project` is optional. Other columns are ignored.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from analysis.queue_waits.rule import Start, Starts, starts_of

NEEDED = frozenset("cluster user partition submit eligible start end walltime_limit_s gpus nodes".split())

NUMBER_MAX = 10**9

Trace = dict[str, dict[str, Starts]]
"""For each cluster its partitions."""


class TraceFormatError(ValueError):
    """The file is no CSV file with these columns."""


def read_trace(lines: Iterable[str]) -> tuple[Trace, int]:
    """The starts in a file, and how many of its rows could not be read. Raises TraceFormatError without the columns."""
    reader = csv.DictReader(lines, restval="?")
    found: dict[tuple[str, str], list[Start]] = defaultdict(list)
    keys: dict[tuple[str, str], int] = {}
    unread = 0
    try:
        missing = NEEDED - set(reader.fieldnames or ())
        if missing:
            raise TraceFormatError(f"has no column {', '.join(sorted(missing))}")
        for row in reader:
            try:
                start = _start(row, keys)
            except (ValueError, TypeError, OverflowError):
                unread += 1
            else:
                found[row["cluster"], row["partition"]].append(start)
    except csv.Error as error:
        raise TraceFormatError(f"line {reader.line_num}: {error}") from error
    trace: Trace = defaultdict(dict)
    for (cluster, partition), starts in sorted(found.items()):
        trace[cluster][partition] = starts_of(starts)
    return dict(trace), unread


def _start(row: dict[str, str], keys: dict[tuple[str, str], int]) -> Start:
    user = row["user"]
    project = row.get("project") or user
    return Start(
        submitted_s=_seconds(row["submit"]),
        eligible_s=_seconds(row["eligible"]),
        started_s=_seconds(row["start"]),
        ended_s=_seconds(row["end"]),
        gpus=_whole(row["gpus"]),
        nodes=_whole(row["nodes"]),
        limit_s=None if not row["walltime_limit_s"] else float(_whole(row["walltime_limit_s"]) or 0),
        project=keys.setdefault(("project", project), len(keys)),
        user=keys.setdefault(("user", user), len(keys)),
    )


def _seconds(text: str) -> float | None:
    """Seconds since 1970; a time without a zone is read as UTC."""
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _whole(text: str) -> int | None:
    number = int(text) if text else None
    if number is not None and not 0 <= number <= NUMBER_MAX:
        raise ValueError("out of range")
    return number
