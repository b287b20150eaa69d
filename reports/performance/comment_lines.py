"""Runs as the comments that Slurm's accounting gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.comments.text import comment_text
from analysis.efficiency import EfficiencyClass
from reports.performance.rows import PerformanceRow


def comment_line(row: PerformanceRow) -> str:
    """The comment of one run (`analysis.comments.text`)."""
    name = EfficiencyClass(row.efficiency_class or EfficiencyClass.UNKNOWN)
    return comment_text(name, row.avg_gpu_util_percent, is_class_shown=name != EfficiencyClass.UNKNOWN)


def comment_lines(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """A line for each run: its name, as commands take it, and its comment."""
    for row in rows:
        attempt = f".{row.attempt}" if row.attempt else ""
        yield f"{row.cluster}/{row.job_id}{attempt} {comment_line(row)}\n".encode()
