"""The answers of the calls about works, as structs from which the OpenAPI document is generated."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from analysis.works.patterns import spread


class Range(msgspec.Struct, frozen=True):
    """The median of `n` runs; `low` and `high` are the quartiles around it, null of fewer than 4 runs."""

    n: int
    typical: float
    low: float | None
    high: float | None


class FindingOfWork(msgspec.Struct, frozen=True):
    """The most frequent first finding of the runs of a work, in `jobs` of them."""

    code: str
    title: str
    jobs: int


class WorkAnswer(msgspec.Struct, frozen=True):
    """The runs of one work; GPU-hours and use are of the counted, measured ones, null where there is none."""

    key: str
    name: str
    cluster: str
    project: str
    jobs: int
    last_ended_at: datetime | None
    gpu_hours: float | None
    used_gpu_hours: float | None
    unused_gpu_hours: float | None
    use_percent: float | None
    classes: dict[str, int]
    finding: FindingOfWork | None
    url: str


class WorkList(msgspec.Struct, frozen=True):
    """One's own works with a run in the last `days`, the latest first."""

    days: int
    works: list[WorkAnswer]


class TypicalRun(msgspec.Struct, frozen=True):
    """What the `runs` completed, counted runs are like; `completed` of `decided` runs ran to their end."""

    runs: int
    gpus_requested: Range | None
    gpus_used: Range | None
    use_percent: Range | None
    gpu_memory_gb: Range | None
    memory_gb: Range | None
    cores_used: Range | None
    run_time_s: Range | None
    walltime_requested_s: Range | None
    success_rate: float | None
    completed: int
    decided: int


class KindAnswer(msgspec.Struct, frozen=True):
    """What limits most of the runs; `code` is null where no kind has more than half of them."""

    code: str | None
    name: str
    text: str
    evidence: list[str]


class FailureAnswer(msgspec.Struct, frozen=True):
    """One way in which runs failed, in words."""

    text: str


class BestRequestAnswer(msgspec.Struct, frozen=True):
    """The request of the work as options, with the run that it comes from; `is_new`: no run had it yet."""

    request: list[str]
    run: str
    run_url: str
    text: str
    is_new: bool


class UnusedAnswer(msgspec.Struct, frozen=True):
    """`runs` of `of` counted runs used no GPU at all; `is_over` where the latest one used its GPUs."""

    runs: int
    of: int
    gpu_hours: float
    is_over: bool
    text: str


class AdviceAnswer(msgspec.Struct, frozen=True):
    """What the request of the work changes in that of its latest run: the changes, or the whole request.

    `saves_gpu_hours` is what the `from_runs` runs with open savings would have been billed less with exactly these.
    """

    title: str
    diff: list[str]
    request: list[str]
    saves_gpu_hours: float
    from_runs: int
    run_url: str


class ScalingPoint(msgspec.Struct, frozen=True):
    """The comparable runs on one number of GPUs; `low` and `high` of the run time are the fastest and the slowest run.

    `speedup` and `efficiency` are against the smallest number of GPUs, null where only one was tried.
    """

    gpus: int
    n: int
    run_time_s: Range
    use_percent: float | None
    speedup: float | None
    efficiency: float | None
    gpu_hours: float | None
    throughput_per_s: float | None = None


class ScalingAnswer(msgspec.Struct, frozen=True):
    """`knee_gpus` is the most GPUs that keep the target, as all smaller numbers do; null where that is not known.

    With a `throughput_unit`, such as samples, speed is the median throughput that scripts logged; else it is of run
    times.
    """

    points: list[ScalingPoint]
    knee_gpus: int | None
    is_noisy: bool
    text: str
    throughput_unit: str = ""


class SavedAnswer(msgspec.Struct, frozen=True):
    """What the runs that followed advice were billed less; null hours where none of them can be compared."""

    gpu_hours: float | None
    runs: int
    text: str


class WorkDetailAnswer(WorkAnswer, frozen=True):
    """One work over the last 365 days, at most its latest 1,000 runs; sums are of all of them."""

    owner: str
    is_own: bool
    typical: TypicalRun
    kind: KindAnswer | None
    without_gpu_use: UnusedAnswer | None
    failures: list[FailureAnswer]
    best_request: BestRequestAnswer | None
    advice: AdviceAnswer | None
    scaling: ScalingAnswer
    saved: SavedAnswer | None


def range_of(values: Iterable[float | None]) -> Range | None:
    """The range of those that were measured; None where none was."""
    found = spread("", list(values))
    return None if found is None else Range(found.runs, found.median, found.low, found.high)
