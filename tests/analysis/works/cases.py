"""Hand-worked cases of how a work scales and of its best known request, each with the sum that leads to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from analysis.works.runs import PastRun

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run(gpus: int | None, elapsed_s: float | None, state: str = "COMPLETED", **more: Any) -> PastRun:
    """A run on small-g; the first of a list ended last unless `day` says when."""
    number = more.pop("number", 1)
    ended_at = NOW - timedelta(days=more.pop("days_ago", 0))
    whole: dict[str, Any] = {"partition": "small-g", "nodes": 1, "cluster": "lumi"} | more
    return PastRun(
        pk=number, job_id=number, attempt=0, state=state, ended_at=ended_at, gpus=gpus, elapsed_s=elapsed_s, **whole
    )


@dataclass(frozen=True)
class ScalingCase:
    """`counts` are (GPUs, runs, median seconds, efficiency in percent or None); `left_out` is (unfinished, too short,
    on other hardware); `knee` is None where nothing can be claimed; `advised` is what the advice of a report takes as
    the most GPUs that scale, where that is another number; `too_fast` is where the runs did different work."""

    name: str
    runs: tuple[PastRun, ...]
    counts: tuple[tuple[int, int, float, float | None], ...]
    knee: int | None
    left_out: tuple[int, int, int] = (0, 0, 0)
    is_noisy: bool = False
    advised: int | None = None
    too_fast: int | None = None


SCALING = (
    ScalingCase("no run at all", (), (), None),
    ScalingCase(
        "one number of GPUs alone claims nothing",
        (run(8, 3600), run(8, 3700), run(8, 3500)),
        ((8, 3, 3600, None),),  # the middle of 3500, 3600, 3700
        None,
    ),
    ScalingCase(
        "twice the GPUs in half the time",
        (run(2, 4000), run(4, 2000)),
        ((2, 1, 4000, 100.0), (4, 1, 2000, 100.0)),  # 2 x 4000 / (4 x 2000) = 1
        4,
    ),
    ScalingCase(
        "four times the GPUs save a quarter of the time",
        (run(2, 4000), run(8, 3000)),
        ((2, 1, 4000, 100.0), (8, 1, 3000, 33.3)),  # 2 x 4000 / (8 x 3000) = 0.333
        2,
    ),
    ScalingCase(
        "a knee in the middle",
        (run(2, 4000), run(4, 2600), run(8, 3000)),
        ((2, 1, 4000, 100.0), (4, 1, 2600, 76.9), (8, 1, 3000, 33.3)),  # 8000 / 10400, 8000 / 24000
        4,
    ),
    ScalingCase(
        "super-linear: the data fit into the memory of two",
        (run(1, 9000), run(2, 4000)),
        ((1, 1, 9000, 100.0), (2, 1, 4000, 112.5)),  # 9000 / 8000
        2,
    ),
    ScalingCase(
        "noisy: the same GPUs took three times as long",
        (run(4, 1000), run(4, 3000), run(8, 900), run(8, 2900)),
        # (1000 + 3000) / 2 and (900 + 2900) / 2: 4 x 2000 / (8 x 1900) = 8000 / 15200 = 0.526
        ((4, 2, 2000, 100.0), (8, 2, 1900, 52.6)),
        4,
        is_noisy=True,
    ),
    ScalingCase(
        "of an even number of runs the mean of the middle two",
        (*(run(2, seconds) for seconds in (4200, 1000, 3800, 9000)), run(4, 2500)),
        ((2, 4, 4000, 100.0), (4, 1, 2500, 80.0)),  # (3800 + 4200) / 2; 2 x 4000 / (4 x 2500) = 0.8
        4,
        is_noisy=True,
    ),
    ScalingCase(
        "of two runs the mean decides, on the page and in the advice",
        (run(2, 4000), run(4, 2400), run(4, 3200)),
        # (2400 + 3200) / 2 = 2800: 8000 / 11200 = 0.714; the longer alone, 3200, would be 8000 / 12800 = 0.625
        ((2, 1, 4000, 100.0), (4, 2, 2800, 71.4)),
        4,
    ),
    ScalingCase(
        "one outlier of three moves no median",
        (run(4, 1000), run(4, 1010), run(4, 1990), run(8, 600)),
        ((4, 3, 1010, 100.0), (8, 1, 600, 84.2)),  # 4 x 1010 / (8 x 600) = 0.8417; 1990 / 1000 is below 2
        8,
    ),
    ScalingCase(
        "failures in between do not count as fast runs",
        (run(2, 4000), run(4, 400, "FAILED"), run(4, 1900, "TIMEOUT"), run(8, 1100), run(8, 500, "CANCELLED")),
        ((2, 1, 4000, 100.0), (8, 1, 1100, 90.9)),  # 8000 / 8800
        8,
        left_out=(3, 0, 0),
    ),
    ScalingCase(
        "below five minutes a run is too short, at five it counts",
        (run(1, 3000), run(4, 299), run(8, 300)),
        ((1, 1, 3000, 100.0), (8, 1, 300, 125.0)),  # 3000 / 2400
        8,
        left_out=(0, 1, 0),
    ),
    ScalingCase(
        "each task of an array is a run on its own GPUs",
        (*(run(1, seconds) for seconds in (600, 660, 620, 640, 610)), run(2, 400)),
        ((1, 5, 620, 100.0), (2, 1, 400, 77.5)),  # the third of five; 620 / 800
        2,
    ),
    ScalingCase(
        "partitions with the same nodes are compared",
        (run(2, 4000), run(8, 1100, partition="standard-g")),
        ((2, 1, 4000, 100.0), (8, 1, 1100, 90.9)),
        8,
    ),
    ScalingCase(
        "other hardware than that of the latest run is left out",
        (run(2, 4000), run(4, 2100, days_ago=1), run(1, 5000, partition="lumid", days_ago=2)),
        ((2, 1, 4000, 100.0), (4, 1, 2100, 95.2)),  # 8000 / 8400
        4,
        left_out=(0, 0, 1),
    ),
    ScalingCase(
        "a number that scales behind one that does not",
        (run(1, 8000), run(2, 6000), run(4, 2500)),
        ((1, 1, 8000, 100.0), (2, 1, 6000, 66.7), (4, 1, 2500, 80.0)),  # 8000 / 12000, 8000 / 10000
        1,  # 2 GPUs do not keep 70 %, so that 4 do shows nothing
        advised=4,
    ),
    ScalingCase(
        "half as much again per GPU is still the same work",
        (run(1, 9000), run(2, 3000)),
        ((1, 1, 9000, 100.0), (2, 1, 3000, 150.0)),  # 9000 / 6000
        2,
    ),
    ScalingCase(
        "more than that is other work, whatever the other numbers keep",
        (run(1, 9000), run(2, 5000), run(4, 1490)),
        ((1, 1, 9000, 100.0), (2, 1, 5000, 90.0), (4, 1, 1490, 151.0)),  # 9000 / 10000, 9000 / 5960
        None,
        too_fast=4,
    ),
    ScalingCase(
        "exactly the target keeps it",
        (run(1, 7000), run(2, 5000)),
        ((1, 1, 7000, 100.0), (2, 1, 5000, 70.0)),  # 7000 / 10000
        2,
    ),
    ScalingCase(
        "unknown GPUs and unknown run times count for nothing",
        (run(None, 4000), run(0, 4000), run(2, None), run(4, 2000)),
        ((4, 1, 2000, None),),
        None,
        left_out=(0, 3, 0),
    ),
)


@dataclass(frozen=True)
class BestCase:
    """`best` is the job whose request it is, None for none; `hours` the typical GPU-hours of its size, `completed` the
    runs of it that completed, `sizes` how many qualified."""

    name: str
    runs: tuple[PastRun, ...]
    best: int | None
    hours: float | None = None
    completed: int = 0
    sizes: int = 0


def billed(number: int, gpus: int | None, gpu_hours: float | None, state: str = "COMPLETED", **more: Any) -> PastRun:
    """A run of an hour; a higher number ended later."""
    return run(gpus, 3600, state, number=number, days_ago=100 - number, gpu_hours=gpu_hours, **more)


BEST = (
    BestCase("no run", (), None),
    BestCase("nothing completed", (billed(1, 8, 8.0, "FAILED"), billed(2, 8, 8.0, "TIMEOUT")), None),
    BestCase("the only request", (billed(1, 8, 8.0),), 1, 8.0, 1, 1),
    BestCase("of two the one that bills less", (billed(1, 2, 2.5), billed(2, 8, 8.0)), 1, 2.5, 1, 2),
    BestCase(
        "one lucky run decides nothing: the median does",
        (
            *(billed(number, 8, hours) for number, hours in ((1, 5.0), (2, 5.0), (3, 0.5))),
            *(billed(number, 4, hours) for number, hours in ((4, 3.0), (5, 3.0), (6, 3.1))),
        ),
        6,  # medians 5.0 and 3.0; the latest run of the cheaper request shows it
        3.0,
        3,
        2,
    ),
    BestCase("of equals the latest", (billed(1, 2, 2.0), billed(2, 4, 2.0)), 2, 2.0, 1, 2),
    BestCase(
        "the time limit makes no other request",
        (billed(1, 2, 2.0, walltime_s=7200.0), billed(2, 2, 2.2, walltime_s=3600.0)),
        2,
        2.1,  # (2.0 + 2.2) / 2
        2,
        1,
    ),
    BestCase(
        "of an even number of runs the mean of the middle two decides",
        (
            *(billed(number, 2, hours) for number, hours in ((1, 6.25), (2, 11.0))),
            billed(3, 4, 9.0),
        ),
        2,  # (6.25 + 11.0) / 2 = 8.625, below 9.0
        8.625,
        2,
        2,
    ),
    BestCase(
        "what fails more often than not is no best request",
        (billed(1, 1, 1.0), *(billed(number, 1, 0.5, "OUT_OF_MEMORY") for number in (2, 3)), billed(4, 2, 2.0)),
        4,  # 1 of 3 completed
        2.0,
        1,
        1,
    ),
    BestCase(
        "half of them completed is enough",
        (billed(1, 1, 1.0), billed(2, 1, 0.5, "OUT_OF_MEMORY"), billed(4, 2, 2.0)),
        1,
        1.0,
        1,
        2,
    ),
    BestCase(
        "failures of the system and cancelled runs speak against nothing",
        (billed(1, 1, 1.0), billed(2, 1, 0.5, "NODE_FAIL"), billed(3, 1, 0.5, "CANCELLED"), billed(4, 2, 2.0)),
        1,
        1.0,
        1,
        2,
    ),
    BestCase(
        "too short a run proves nothing",
        (run(1, 299, number=1, gpu_hours=0.1), billed(2, 2, 2.0), billed(3, 4, 0.2, uncounted_reason="interactive")),
        2,
        2.0,
        1,
        1,
    ),
    BestCase("without a price nothing is cheapest", (billed(1, 1, None), billed(2, 2, None)), None),
    BestCase("a price that one run lacks", (billed(1, 1, None), billed(2, 2, 2.0)), 2, 2.0, 1, 1),
    BestCase(
        "an array is one request with many runs",
        (*(billed(number, 1, 1.0) for number in range(1, 10)), billed(10, 2, 3.0)),
        9,
        1.0,
        9,
        2,
    ),
    BestCase(
        "another spelling of the same is the same request",
        (
            billed(1, 8, 8.0, request={"--gpus": "8"}),
            billed(2, 8, 6.0, request={"--gpus-per-node": "8"}),
            billed(3, 8, 7.0, request={}),
        ),
        2,  # the latest whose options are known; the middle of 6.0, 7.0, 8.0
        7.0,
        3,
        1,
    ),
    BestCase(
        "more memory at the same GPUs is the same size: the next run may need it",
        (billed(1, 2, 2.0, memory_gb=120.0), billed(2, 2, 4.0)),
        *(2, 3.0, 2, 1),  # (2.0 + 4.0) / 2
    ),
    BestCase(
        "two kinds of runs: of the last five the latest that needed the most GPUs",
        (
            *(billed(number, 8, 8.0, recommended_gpus=4) for number in (1, 3)),
            *(billed(number, 8, 8.0, recommended_gpus=2) for number in (2, 4, 5)),
        ),
        *(3, 8.0, 5, 1),
    ),
    BestCase(
        "what needed more before the last five does not count",
        (billed(1, 8, 8.0), *(billed(number, 8, 8.0, recommended_gpus=2) for number in range(2, 7))),
        *(6, 8.0, 6, 1),
    ),
    BestCase(
        "a run that needed all of its GPUs stands for the next one",
        (billed(1, 8, 8.0), billed(2, 8, 8.0, recommended_gpus=2)),
        *(1, 8.0, 2, 1),
    ),
    BestCase(
        "sizes that did different work: the latest counts, not the cheapest",
        (
            # Per GPU 8 are 2 x 20,000 / (8 x 2,000) = 2.5 times as fast as 2: no program gains that.
            run(8, 2000, number=1, days_ago=9, gpu_hours=2.2),
            run(2, 20_000, number=2, days_ago=5, gpu_hours=5.6),
        ),
        *(2, 5.6, 1, 2),
    ),
    BestCase(
        "the size is chosen first: what a larger one needed says nothing against a smaller one that completed",
        (billed(1, 8, 8.0), billed(2, 2, 2.0), billed(3, 2, 4.0)),
        *(3, 3.0, 2, 2),
    ),
    BestCase(
        "a run without any GPU use shows no request while another run used its GPUs",
        (billed(1, 8, 8.0), billed(2, 2, 1.0, finding_codes=" no_gpu_use ")),
        *(1, 8.0, 1, 1),
    ),
    BestCase(
        "also with the same request: the run that used its GPUs shows it",
        (billed(1, 8, 8.0), billed(2, 8, 6.0, finding_codes=" no_gpu_use timeout ")),
        *(1, 8.0, 1, 1),
    ),
    BestCase(
        "where no run used a GPU it is all that is known",
        (billed(1, 2, 1.0, finding_codes=" no_gpu_use "),),
        1,
        1.0,
        1,
        1,
    ),
    BestCase(
        "a failed run shows none either",
        (billed(1, 8, 8.0, finding_codes=" no_gpu_use "), billed(2, 2, 1.0, "FAILED")),
        *(1, 8.0, 1, 1),
    ),
)
