"""Small histories worked by hand from the wish alone: what a fair person would say became of a piece of advice.

Written before the rule. The run that got the advice is the same in most of them: two of eight GPUs worked, for two
hours, on small-g: 8 GPUs x 0.5 x 2 h = 8 billed GPU-hours. Its report suggests 2 GPUs with 14 cores and 120 GB, which
bills 2 x 0.5 x 2 h = 2 GPU-hours, so 6 are claimed; and a time limit of 2 h 30 min instead of 10 h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HOUR_S = 3600.0


@dataclass(frozen=True)
class Seen:
    """One run: `at_h` is the hour of its submission, and it ends `run_h` hours later (nothing waits in these stories).

    `advice` are (kind, wanted) of its report, which exists six minutes after its end unless `report_h` says when.
    """

    at_h: float
    gpus: int = 8
    nodes: int = 1
    cores: int | None = 56
    memory_gb: float | None = 480.0
    limit_h: float | None = 10.0
    run_h: float = 2.0
    partition: str = "small-g"
    util_percent: float | None = 22.5
    gpu_hours: float | None = None
    state: str = "COMPLETED"
    uncounted: str = ""
    codes: str = ""
    project: str = "project_465000001"
    advice: tuple[tuple[str, dict[str, Any]], ...] = ()
    claimed_gpu_hours: float | None = None
    report_h: float | None = None

    @property
    def billed(self) -> float:
        """GPU-hours: half of one for each GPU and hour of small-g, unless the story gives another number."""
        return self.gpus * 0.5 * self.run_h if self.gpu_hours is None else self.gpu_hours


FEWER = ("gpus", {"gpus": 2, "cores": 14, "memory_gb": 120.0})
SHORTER = ("walltime", {"limit_h": 2.5})
ADVISED = Seen(0, advice=(FEWER,), claimed_gpu_hours=6.0)
BOTH = Seen(0, advice=(FEWER, SHORTER), claimed_gpu_hours=6.0)


def small(at_h: float, **more: Any) -> Seen:
    """A run as the report suggests: 2 GPUs at 90 %, which is the same work (8 x 22.5 % = 2 x 90 %)."""
    return Seen(at_h, **({"gpus": 2, "cores": 14, "memory_gb": 120.0, "util_percent": 90.0} | more))


@dataclass(frozen=True)
class Expected:
    """What became of one piece of advice; `realised` is None where nothing can be compared.

    `runs` are (later runs that count, those that followed, of these the ones that ran out of memory or time).
    """

    status: str
    dimensions: str = ""
    runs: tuple[int, int, int] = (0, 0, 0)
    realised: float | None = None


@dataclass(frozen=True)
class Case:
    """A history, and what became of the advice of its first run, by kind."""

    name: str
    runs: tuple[Seen, ...]
    expected: dict[str, Expected]


OPEN = Expected("open")

CASES = (
    Case("nothing came later", (ADVISED,), {"gpus": OPEN}),
    Case(
        "the next run is as suggested and does the same work",
        (ADVISED, small(24)),
        # 8 billed before, 2 x 0.5 x 2 = 2 after.
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), 6.0)},
    ),
    Case(
        "the next run is as before",
        (ADVISED, Seen(24)),
        {"gpus": Expected("not_followed", "", (1, 0, 0))},
    ),
    Case(
        "a bigger problem later: five times the work on two GPUs is not set against the hours of the small one",
        # 2 GPUs x 90 % x 10 h = 18 busy GPU-hours, the run before had 8 x 22.5 % x 2 h = 3.6.
        (ADVISED, small(24, run_h=10)),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), None)},
    ),
    Case(
        "a much smaller problem later saves nothing that could be stated either",
        (ADVISED, small(24, run_h=0.5)),  # 0.9 busy GPU-hours of 3.6
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), None)},
    ),
    Case(
        "fewer GPUs take longer for the same work: the saving is less than was claimed",
        # 2 GPUs x 60 % x 3 h = 3.6 busy GPU-hours, as before; billed 2 x 0.5 x 3 = 3.
        (ADVISED, small(24, run_h=3, util_percent=60.0)),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), 5.0)},
    ),
    Case(
        "the later run follows and runs out of memory",
        (ADVISED, small(24, run_h=0.5, state="OUT_OF_MEMORY", codes=" host_out_of_memory ")),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 1), None)},
    ),
    Case(
        "it ran out of memory in its first minutes, when a run is too short to count otherwise",
        (ADVISED, small(24, run_h=0.02, state="OUT_OF_MEMORY", uncounted="short")),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 1), None)},
    ),
    Case(
        "out of memory on the GPU ends as FAILED and shows as a finding",
        (ADVISED, small(24, state="FAILED", codes=" gpu_out_of_memory ")),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 1), None)},
    ),
    Case(
        "an error of the program says nothing about the advice, but it was followed",
        (ADVISED, small(24, state="FAILED")),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), None)},
    ),
    Case("a cancelled run is no answer", (ADVISED, small(24, state="CANCELLED")), {"gpus": OPEN}),
    Case(
        "a failure of the system is no answer",
        (ADVISED, small(24, state="NODE_FAIL", uncounted="system_failure")),
        {"gpus": OPEN},
    ),
    Case("a trial of a minute is no answer", (ADVISED, small(24, run_h=0.02, uncounted="short")), {"gpus": OPEN}),
    Case(
        "a run of another project is other work",
        (ADVISED, small(24, project="project_465000002")),
        {"gpus": OPEN},
    ),
    Case(
        "it was submitted while the first still ran: nobody had read a report",
        (ADVISED, small(1)),
        {"gpus": OPEN},
    ),
    Case(
        "the report came late, after the next run was submitted",
        (Seen(0, advice=(FEWER,), claimed_gpu_hours=6.0, report_h=30), small(24)),
        {"gpus": OPEN},
    ),
    Case(
        "of GPUs and time the GPUs were followed",
        (BOTH, small(24)),
        {
            "gpus": Expected("followed", "gpus cores memory", (1, 1, 0), 6.0),
            "walltime": Expected("not_followed", "", (1, 0, 0)),
        },
    ),
    Case(
        "of GPUs and time the time was followed",
        (BOTH, Seen(24, limit_h=2.5)),
        {
            "gpus": Expected("not_followed", "", (1, 0, 0)),
            "walltime": Expected("followed", "time", (1, 1, 0), None),
        },
    ),
    Case(
        "a time limit nearly as suggested is as suggested",
        (BOTH, small(24, limit_h=3)),  # 7 of the 7.5 hours less
        {
            "gpus": Expected("followed", "gpus cores memory", (1, 1, 0), 6.0),
            "walltime": Expected("followed", "time", (1, 1, 0), None),
        },
    ),
    Case(
        "the shorter limit was too short",
        (BOTH, Seen(24, limit_h=2.5, run_h=2.5, state="TIMEOUT", codes=" timeout ")),
        {
            "gpus": Expected("not_followed", "", (1, 0, 0)),
            "walltime": Expected("followed", "time", (1, 1, 1), None),
        },
    ),
    Case(
        "running out of memory is not the fault of a shorter time limit",
        (BOTH, Seen(24, limit_h=2.5, state="OUT_OF_MEMORY")),
        {
            "gpus": Expected("not_followed", "", (1, 0, 0)),
            "walltime": Expected("followed", "time", (1, 1, 0), None),
        },
    ),
    Case(
        "the request stayed, the use got better by itself: nothing was followed, and nothing is credited",
        (ADVISED, Seen(24, util_percent=80.0, run_h=0.6)),
        {"gpus": Expected("not_followed", "", (1, 0, 0))},
    ),
    Case(
        "half of the way is part of the advice",
        # 4 GPUs x 0.5 x 2 h = 4 billed; 4 x 45 % x 2 h = 3.6 busy GPU-hours.
        (ADVISED, Seen(24, gpus=4, cores=28, memory_gb=240.0, util_percent=45.0)),
        {"gpus": Expected("partly", "", (1, 1, 0), 4.0)},
    ),
    Case(
        "less memory and as many GPUs is part of the advice",
        (ADVISED, Seen(24, memory_gb=120.0)),  # billed by its GPUs: 8, as before
        {"gpus": Expected("partly", "memory", (1, 1, 0), 0.0)},
    ),
    Case(
        "even fewer GPUs than suggested follow it",
        (ADVISED, Seen(24, gpus=1, cores=7, memory_gb=60.0, util_percent=90.0, run_h=4)),  # 3.6 busy, 2 billed
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), 6.0)},
    ),
    Case("more GPUs is the other way", (ADVISED, Seen(24, gpus=16)), {"gpus": Expected("not_followed", "", (1, 0, 0))}),
    Case(
        "two later runs both follow",
        (ADVISED, small(24), small(48)),
        {"gpus": Expected("followed", "gpus cores memory", (2, 2, 0), 12.0)},
    ),
    Case(
        "the first later run does not follow, the second does",
        (ADVISED, Seen(24), small(48)),
        {"gpus": Expected("followed", "gpus cores memory", (2, 1, 0), 6.0)},
    ),
    Case(
        "the first later run follows, the second goes back",
        (ADVISED, small(24), Seen(48)),
        {"gpus": Expected("followed", "gpus cores memory", (2, 1, 0), 6.0)},
    ),
    Case(
        "two follow, one of them fails for want of memory",
        (ADVISED, small(24, state="OUT_OF_MEMORY"), small(48)),
        {"gpus": Expected("followed", "gpus cores memory", (2, 2, 1), 6.0)},
    ),
    Case(
        "the same advice is repeated before it is followed: the hours are credited to the last one alone",
        (ADVISED, Seen(24, advice=(FEWER,), claimed_gpu_hours=6.0), small(48)),
        {"gpus": Expected("not_followed", "", (1, 0, 0))},
    ),
    Case(
        "a batch submitted at once gets the same advice many times: the first ones were repeated, not ignored",
        (ADVISED, Seen(1, advice=(FEWER,), claimed_gpu_hours=6.0), small(24)),
        {"gpus": Expected("repeated")},
    ),
    Case(
        "more memory after running out of it, and the run completes: nothing was claimed in hours",
        (
            Seen(0, state="OUT_OF_MEMORY", memory_gb=60.0, advice=(("host_memory", {"memory_gb": 480.0}),)),
            Seen(24, memory_gb=480.0),
        ),
        {"host_memory": Expected("followed", "memory", (1, 1, 0), None)},
    ),
    Case(
        "more memory, and it runs out again",
        (
            Seen(0, state="OUT_OF_MEMORY", memory_gb=60.0, advice=(("host_memory", {"memory_gb": 90.0}),)),
            Seen(24, memory_gb=90.0, state="OUT_OF_MEMORY"),
        ),
        {"host_memory": Expected("followed", "memory", (1, 1, 1), None)},
    ),
    Case(
        "fewer cores on the same GPUs",
        # 32 cores bill as 4 GPUs: 4 x 0.5 x 2 h = 4; 7 cores as one: 1.
        (
            Seen(
                0,
                gpus=1,
                cores=32,
                memory_gb=60.0,
                util_percent=90.0,
                gpu_hours=4.0,
                claimed_gpu_hours=3.0,
                advice=(("cores", {"cores": 7}),),
            ),
            Seen(24, gpus=1, cores=7, memory_gb=60.0, util_percent=85.0, gpu_hours=1.0),
        ),
        {"cores": Expected("followed", "cores", (1, 1, 0), 3.0)},
    ),
    Case(
        "whole nodes to part of one: the partition is what was suggested",
        # standard-g bills whole nodes: 4 x 2 h = 8.
        (
            Seen(
                0,
                partition="standard-g",
                claimed_gpu_hours=6.0,
                advice=(("gpus", {"gpus": 2, "cores": 14, "memory_gb": 120.0, "partition": "small-g"}),),
            ),
            small(24),
        ),
        {"gpus": Expected("followed", "gpus partition cores memory", (1, 1, 0), 6.0)},
    ),
    Case(
        "GPUs were never used and the next run is on CPUs alone: as long a run, no GPU-hours",
        (
            Seen(
                0,
                gpus=1,
                cores=32,
                util_percent=0.0,
                gpu_hours=4.0,
                claimed_gpu_hours=4.0,
                advice=(("gpus", {"gpus": 0, "partition": "small"}),),
            ),
            Seen(24, gpus=0, cores=32, util_percent=None, gpu_hours=0.0, partition="small"),
        ),
        {"gpus": Expected("followed", "gpus partition", (1, 1, 0), 4.0)},
    ),
    Case(
        "what was not measured cannot be compared",
        (ADVISED, small(24, util_percent=None)),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), None)},
    ),
    Case(
        "without a price nothing is realised",
        (ADVISED, small(24, gpu_hours=-1)),  # -1: the price is not known
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), None)},
    ),
    Case(
        "it followed, did the same work and cost more: that is said as it is",
        # 2 GPUs x 20 % x 9 h = 3.6 busy GPU-hours; billed 9.
        (ADVISED, small(24, run_h=9, util_percent=20.0)),
        {"gpus": Expected("followed", "gpus cores memory", (1, 1, 0), -1.0)},
    ),
)
