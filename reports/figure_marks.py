"""Where in the time of a run its findings happened, for the figure of use over time.

Only findings whose evidence says when: a finding without a place in time has no mark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analysis.facts import run_seconds
from analysis.findings import FindingCode
from reports.job_report import FindingView, JobReport
from wire.numbers import duration

WHOLE_RUN = frozenset({FindingCode.NO_GPU_USE, FindingCode.IDLE_GPUS, FindingCode.PARALLELISM_MISMATCH})
"""These hold for GPUs over all of the time that was measured."""

AT_THE_END = frozenset({FindingCode.TIMEOUT, FindingCode.GPU_OUT_OF_MEMORY})
"""What ended the run."""

SCATTERED = frozenset({FindingCode.IO_OR_SYNC_STALL})
"""These happen during the run, and their evidence may hold no place for them."""

NOT_AT_ONE_TIME = "not at one time"

Span = tuple[float, float]


@dataclass(frozen=True)
class Entry:
    """A finding in the list beside the figure: its `number` in the report's order, and in words when it happened."""

    number: int
    code: str
    title: str
    words: str


@dataclass(frozen=True)
class Mark(Entry):
    """From which to which second of the run.

    What happened at one moment begins where it ends; `is_part` is neither that nor the whole run.
    """

    start_s: float
    end_s: float
    is_part: bool


@dataclass(frozen=True)
class Edges:
    """How long a run was, and its idle seconds at both ends as its findings have them; 0 where none has any."""

    elapsed_s: float
    late_s: float = 0.0
    tail_s: float = 0.0


def figure_marks(report: JobReport) -> tuple[Mark, ...]:
    """The findings of a report that have a place in time, in its order."""
    edges = _edges(report)
    if edges.elapsed_s <= 0:
        return ()
    marks = []
    for number, finding in enumerate(report.findings, start=1):
        span = _span(finding, edges)
        if span is not None:
            start_s, end_s = (min(max(second, 0.0), edges.elapsed_s) for second in span)
            is_part = 0 < end_s - start_s < edges.elapsed_s
            words = _words((start_s, end_s), edges.elapsed_s)
            marks.append(Mark(number, finding.code, finding.title, words, start_s, end_s, is_part))
    return tuple(marks)


def mark_list(report: JobReport) -> tuple[Entry, ...]:
    """The findings that are marked, and those that happened at several times, in the order of the report."""
    places = {mark.number: mark.words for mark in figure_marks(report)}
    entries = []
    for number, finding in enumerate(report.findings, start=1):
        words = places.get(number) or (NOT_AT_ONE_TIME if finding.code in SCATTERED else "")
        if words:
            entries.append(Entry(number, finding.code, finding.title, words))
    return tuple(entries)


def levels(marks: tuple[Mark, ...]) -> tuple[int, ...]:
    """The row of each mark, so that marks at the same time lie above each other; the first row is 0."""
    ends: list[float] = []
    rows = []
    for mark in marks:
        row = next((row for row, end in enumerate(ends) if end < mark.start_s), len(ends))
        ends[row:] = [mark.end_s, *ends[row + 1 :]]
        rows.append(row)
    return tuple(rows)


def _edges(report: JobReport) -> Edges:
    idle_s = {
        finding.code: _number(finding.evidence, "idle_s")
        for finding in report.findings
        if finding.code in (FindingCode.LATE_START, FindingCode.IDLE_TAIL)
    }
    late_s, tail_s = (idle_s.get(code) or 0.0 for code in (FindingCode.LATE_START, FindingCode.IDLE_TAIL))
    return Edges(run_seconds(report.job), late_s, tail_s)


def _span(finding: FindingView, edges: Edges) -> Span | None:
    """From which to which second of the run; None where the evidence does not say."""
    if finding.code in WHOLE_RUN:
        return 0.0, edges.elapsed_s
    if finding.code in AT_THE_END:
        return edges.elapsed_s, edges.elapsed_s
    found = SPANS.get(finding.code)
    return found(finding.evidence, edges) if found else None


def _late_start(evidence: Mapping[str, float | int | str], _: Edges) -> Span | None:
    idle_s = _number(evidence, "idle_s")
    return None if idle_s is None else (0.0, idle_s)


def _idle_tail(evidence: Mapping[str, float | int | str], edges: Edges) -> Span | None:
    idle_s = _number(evidence, "idle_s")
    return None if idle_s is None else (edges.elapsed_s - idle_s, edges.elapsed_s)


def _stopped_early(evidence: Mapping[str, float | int | str], edges: Edges) -> Span | None:
    """From the first GPU that stopped until the last one did."""
    early_s, last_s = _number(evidence, "early_s"), edges.elapsed_s - edges.tail_s
    return None if early_s is None else (last_s - early_s, last_s)


def _fallen(evidence: Mapping[str, float | int | str], edges: Edges) -> Span | None:
    """What the rule compares with the first third of the time in which the GPUs had work."""
    if evidence.get("pattern") != "fallen":
        return None
    last_s = edges.elapsed_s - edges.tail_s
    return edges.late_s + (last_s - edges.late_s) / 3, last_s


SPANS: dict[str, Callable[[Mapping[str, float | int | str], Edges], Span | None]] = {
    FindingCode.LATE_START: _late_start,
    FindingCode.IDLE_TAIL: _idle_tail,
    FindingCode.LOAD_IMBALANCE: _stopped_early,
    FindingCode.IO_OR_SYNC_STALL: _fallen,
}


def _words(span: Span, elapsed_s: float) -> str:
    """The place in words.

    >>> _words((0, 60), 600), _words((500, 600), 600), _words((60, 120), 600), _words((0, 600), 600)
    ('first 1 min 00 s', 'last 1 min 40 s', 'from 1 min 00 s to 2 min 00 s', 'the whole run')
    >>> _words((600, 600), 600)
    'at the end'
    """
    start_s, end_s = span
    is_first, is_last = start_s <= 0, end_s >= elapsed_s
    if start_s >= end_s:
        return "at the end"
    if is_first or is_last:
        part = f"first {duration(end_s)}" if is_first else f"last {duration(end_s - start_s)}"
        return "the whole run" if is_first and is_last else part
    return f"from {duration(start_s)} to {duration(end_s)}"


def _number(evidence: Mapping[str, float | int | str], name: str) -> float | None:
    value = evidence.get(name)
    return None if value is None or isinstance(value, str) else float(value)
