"""Histories of one work, a request for its next run, and what a sensible colleague would answer: worked by hand.

LUMI small-g bills half a GPU-hour an hour for each of the most of GPUs, 8 cores and 64 GB; standard-g four for a node.
A time limit that fits is the longest run and a fifth more, to the next quarter of an hour: of 3 h it is 3.6, so 3:45.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FULL = {
    "--partition": "small-g",
    "--nodes": "1",
    "--gpus-per-node": "8",
    "--ntasks-per-node": "8",
    "--cpus-per-task": "7",
    "--mem": "480G",
    "--time": "1-00:00:00",
}
"""A whole node of small-g for a day, as most of these people request it."""

HALF = FULL | {"--gpus-per-node": "4", "--ntasks-per-node": "4", "--mem": "240G"}
QUARTER = FULL | {"--gpus-per-node": "2", "--ntasks-per-node": "2", "--mem": "120G"}
PAIR = QUARTER | {"--mem": "60G"}
ONE = FULL | {"--gpus-per-node": "1", "--ntasks-per-node": "1", "--mem": "256G"}
WHOLE = {
    "--partition": "standard-g",
    "--nodes": "1",
    "--gpus-per-node": "8",
    "--ntasks-per-node": "8",
    "--time": "1-00:00:00",
}
FOUR_HOURS = {"--time": "04:00:00"}

TO_TWO = ("--gpus-per-node=8 -> --gpus-per-node=2", "--ntasks-per-node=8 -> --ntasks-per-node=2")
LESS_MEMORY = "--mem=480G -> --mem=120G"
SHORTER = "--time=1-00:00:00 -> --time=03:45:00"


@dataclass(frozen=True)
class Ran:
    """One earlier run: the busy percent of each GPU (empty: not measured), hours, and what it was requested with."""

    use: tuple[float, ...]
    hours: float = 3.0
    options: dict[str, str] = field(default_factory=lambda: dict(FULL))
    state: str = "COMPLETED"
    host_gb: float = 61.0
    gpu_gb: float = 14.0
    days_ago: float = 1.0
    last_use: float | None = None
    """Busy percent of all GPUs in the last third, where that differs."""
    busy_cores: float = 7.9


@dataclass(frozen=True)
class Case:
    """`changes` is the expected diff, () for none; `why` is the reason for none; `saves` GPU-hours, None where none can
    be stated; `risks` the codes. `also` are other values that are as good, line by line."""

    name: str
    options: dict[str, str]
    runs: tuple[Ran, ...]
    changes: tuple[str, ...] = ()
    why: str = ""
    saves: float | None = None
    risks: tuple[str, ...] = ()
    tasks: int = 1


TWO_USED = Ran((88.0, 88.0, *(0.0,) * 6))
ALL_USED = Ran((90.0,) * 8, gpu_gb=40.0)
PAIR_USED = Ran((90.0, 90.0), options=QUARTER, gpu_gb=40.0)


def times(run: Ran, count: int) -> tuple[Ran, ...]:
    """The run so many days in a row, the latest first."""
    return tuple(Ran(**{**vars(run), "days_ago": run.days_ago + day}) for day in range(count))


def like(run: Ran, **changes: object) -> Ran:
    """The run with something else."""
    return Ran(**{**vars(run), **changes})  # type: ignore[arg-type]


CASES = (
    Case("the work never ran", FULL, (), why="no_runs"),
    Case(
        "five runs used two of eight GPUs for three hours of a day",
        FULL,
        times(TWO_USED, 5),
        (*TO_TWO, LESS_MEMORY, SHORTER),
        saves=9.0,  # three hours of 8 slices are 12 GPU-hours, of 2 slices 3
    ),
    Case(
        "ten tasks of an array save ten times as much",
        FULL,
        times(TWO_USED, 5),
        (*TO_TWO, LESS_MEMORY, SHORTER),
        saves=90.0,
        tasks=10,
    ),
    Case(
        "two runs show which GPUs work, but no spread of run times",
        FULL,
        times(TWO_USED, 2),
        (*TO_TWO, LESS_MEMORY),
        saves=9.0,
    ),
    Case("one run shows as much as its report said", FULL, times(TWO_USED, 1), (*TO_TWO, LESS_MEMORY), saves=9.0),
    Case("busy GPUs and a limit that fits need no change", FULL | FOUR_HOURS, times(ALL_USED, 5), why="fits"),
    Case("busy GPUs, but a limit of a day for three hours", FULL, times(ALL_USED, 5), (SHORTER,)),
    Case(
        "the latest run used all of its GPUs: the program was fixed",
        FULL | FOUR_HOURS,
        (ALL_USED, *times(like(TWO_USED, days_ago=2.0), 4)),
        why="fits",
    ),
    Case(
        "one of the last five runs needed all GPUs, so the next may",
        FULL | FOUR_HOURS,
        (*times(TWO_USED, 3), like(ALL_USED, days_ago=4.0), like(TWO_USED, days_ago=5.0)),
        why="fits",
    ),
    Case(
        "the two GPUs that the reports suggest were tried and ran out of memory: the page of the work says so too",
        FULL | FOUR_HOURS,
        (like(PAIR_USED, state="OUT_OF_MEMORY", hours=1.0), *times(like(TWO_USED, days_ago=2.0), 3)),
        why="tried",
    ),
    Case(
        "what ran before the last five does not count any more",
        FULL,
        (*times(TWO_USED, 5), like(ALL_USED, days_ago=9.0)),
        (*TO_TWO, LESS_MEMORY, SHORTER),
        saves=9.0,
    ),
    Case("runs of more than a year ago show nothing", FULL, times(like(TWO_USED, days_ago=400.0), 5), why="no_runs"),
    Case("unmeasured runs still show how long they took", FULL, times(like(TWO_USED, use=()), 4), (SHORTER,)),
    Case("runs of four minutes show nothing", FULL, times(like(TWO_USED, hours=4 / 60), 5), why="no_runs"),
    Case(
        "cancelled runs and those that the system ended show nothing",
        FULL,
        (like(TWO_USED, state="CANCELLED"), like(TWO_USED, state="NODE_FAIL", days_ago=2.0)),
        why="no_runs",
    ),
    Case(
        "all runs had another size, and filled it",
        FULL,
        times(Ran((90.0,) * 4, options=HALF, gpu_gb=40.0), 4),
        why="other_size",
    ),
    Case(
        "runs on eight GPUs used two, and now four are requested: two are still enough, what it saves is not known",
        HALF,
        times(TWO_USED, 4),
        (
            "--gpus-per-node=4 -> --gpus-per-node=2",
            "--ntasks-per-node=4 -> --ntasks-per-node=2",
            "--mem=240G -> --mem=120G",
        ),
    ),
    Case("runs on eight GPUs used two, and two are requested", QUARTER, times(TWO_USED, 4), why="other_size"),
    Case(
        "two are requested, but with all of the node's memory, which is billed as eight",
        QUARTER | {"--mem": "0"},
        times(TWO_USED, 4),
        ("--mem=0 -> --mem=120G",),
    ),
    Case(
        "two are requested, with more memory and cores than are needed, at the same bill",
        QUARTER | {"--mem": "128G"},
        times(TWO_USED, 4),
        why="other_size",
    ),
    Case(
        "two are requested with all of the node's memory, for two hours: three hours and a fifth are needed",
        QUARTER | {"--mem": "0", "--time": "02:00:00"},
        times(TWO_USED, 4),
        ("--mem=0 -> --mem=120G", "--time=02:00:00 -> --time=03:45:00"),
        risks=("timeout",),
    ),
    Case(
        "host memory ran out at 60 GB: the share of two GPUs is 120 GB at the same bill",
        PAIR | FOUR_HOURS,
        (like(PAIR_USED, options=PAIR | FOUR_HOURS, state="OUT_OF_MEMORY", hours=1.0, host_gb=60.0),),
        ("--mem=60G -> --mem=120G",),
        risks=("out_of_memory",),
    ),
    Case(
        "host memory ran out at 60 GB, and now there are 120 GB",
        QUARTER | FOUR_HOURS,
        (like(PAIR_USED, options=PAIR | FOUR_HOURS, state="OUT_OF_MEMORY", hours=1.0, host_gb=60.0),),
        why="only_failed",
    ),
    Case(
        "the GPUs worked until the limit of four hours: half as much again",
        FULL | FOUR_HOURS,
        (like(ALL_USED, options=FULL | FOUR_HOURS, state="TIMEOUT", hours=4.0),),
        ("--time=04:00:00 -> --time=06:00:00",),
        risks=("timeout",),
    ),
    Case(
        "four hours were too short, and now there are twelve",
        FULL | {"--time": "12:00:00"},
        (like(ALL_USED, options=FULL | FOUR_HOURS, state="TIMEOUT", hours=4.0),),
        why="only_failed",
    ),
    Case(
        "the GPUs were idle when the limit came: more time would not help",
        FULL | FOUR_HOURS,
        (like(ALL_USED, options=FULL | FOUR_HOURS, state="TIMEOUT", hours=4.0, last_use=0.0),),
        why="only_failed",
        risks=("timeout",),
    ),
    Case(
        "three runs took five hours, and four are requested",
        FULL | FOUR_HOURS,
        times(like(ALL_USED, hours=5.0), 3),
        ("--time=04:00:00 -> --time=06:00:00",),  # 5 h and a fifth
        risks=("timeout",),
    ),
    Case(
        "two runs took five hours, and four are requested: a risk, and no limit from two runs",
        FULL | FOUR_HOURS,
        times(like(ALL_USED, hours=5.0), 2),
        why="few_runs",
        risks=("timeout",),
    ),
    Case(
        "a whole node of which two GPUs worked: part of a node is billed for what it is",
        WHOLE,
        times(like(TWO_USED, options=WHOLE), 4),
        (
            "--partition=standard-g -> --partition=small-g",
            *TO_TWO,
            "(not set) -> --cpus-per-task=7",
            "(not set) -> --mem=120G",
            SHORTER,
        ),
        saves=9.0,  # a node for three hours is 12, two slices are 3
    ),
    Case(
        "one of four runs took ten hours: the limit has to hold for it",
        FULL,
        (*times(like(ALL_USED, hours=1.0), 3), like(ALL_USED, hours=10.0, days_ago=5.0)),
        ("--time=1-00:00:00 -> --time=12:00:00",),
    ),
    Case(
        "no GPU was ever used: one is enough to find out why",
        FULL | FOUR_HOURS,
        times(Ran((0.0,) * 8, busy_cores=1.0, gpu_gb=0.3), 3),
        (
            "--gpus-per-node=8 -> --gpus-per-node=1",
            "--ntasks-per-node=8 -> --ntasks-per-node=1",
            "--mem=480G -> --mem=74G",  # the peak of 61 GB and a fifth, more than the share of one GPU
        ),
        saves=9.0,  # 12 - 3 h x 2 slices of 64 GB x 0.5
    ),
    Case(
        "the same work in no less time on four times the GPUs: two scale",
        FULL | FOUR_HOURS,
        # Two runs of 8 GPUs took 3 h, two of 2 GPUs 3.2 h: 2 x 3.2 / (8 x 3) = 27 % of the speed per GPU.
        (
            *times(like(ALL_USED, use=(35.0,) * 8), 2),
            *times(like(PAIR_USED, hours=3.2, days_ago=4.0), 2),
        ),
        (*TO_TWO, LESS_MEMORY),
        saves=8.8,  # 12 - 3.2 h x 2 slices x 0.5
    ),
    Case(
        "two of eight GPUs used for five hours, half an hour requested: fewer GPUs for longer, and no saving to state",
        FULL | {"--time": "00:30:00"},
        times(like(TWO_USED, hours=5.0), 5),
        (*TO_TWO, LESS_MEMORY, "--time=00:30:00 -> --time=06:00:00"),
        risks=("timeout",),
    ),
    Case(
        "two of eight GPUs used, and 20 GB requested where 42.4 were needed: 42.4 and a fifth are 51",
        FULL | {"--mem": "20G"},
        times(like(TWO_USED, host_gb=42.4), 4),
        (*TO_TWO, "--mem=20G -> --mem=51G", SHORTER),
        saves=9.0,  # 51 GB are billed as one slice of 64
        risks=("out_of_memory",),
    ),
    Case(
        "the cores are those of the run that kept the most busy: 17.4 and a fifth are 21, so 11 for each of 2 tasks",
        FULL,
        (
            like(TWO_USED, busy_cores=12.5),
            like(TWO_USED, busy_cores=15.8, days_ago=2.0),
            like(TWO_USED, busy_cores=17.4, days_ago=3.0),
            like(TWO_USED, busy_cores=13.6, days_ago=4.0),
        ),
        (*TO_TWO, "--cpus-per-task=7 -> --cpus-per-task=11", LESS_MEMORY, SHORTER),
        saves=7.5,  # 22 cores are three slices of 8: 12 - 3 h x 3 x 0.5
    ),
    Case(
        "cores that only the run before the last five kept busy do not count",
        FULL,
        (*times(TWO_USED, 5), like(TWO_USED, busy_cores=30.0, days_ago=9.0)),
        (*TO_TWO, LESS_MEMORY, SHORTER),
        saves=9.0,
    ),
    Case(
        "all GPUs used, and 20 GB requested where 61 were needed: only the memory is raised, to 61 and a fifth",
        FULL | FOUR_HOURS | {"--mem": "20G"},
        times(ALL_USED, 4),
        ("--mem=20G -> --mem=74G",),
        risks=("out_of_memory",),
    ),
    Case(
        "two runs of five hours used two of eight GPUs, and four hours are requested: what is suggested has the time",
        FULL | FOUR_HOURS,
        times(like(TWO_USED, hours=5.0), 2),
        (*TO_TWO, LESS_MEMORY, "--time=04:00:00 -> --time=06:00:00"),
        risks=("timeout",),
    ),
    Case(
        "runs took 70 hours on two of eight GPUs, and a limit of 60: 72 are the most, less than a fifth above",
        FULL | {"--time": "2-12:00:00"},
        times(like(TWO_USED, hours=70.0, options=FULL | {"--time": "3-00:00:00"}), 4),
        (*TO_TWO, LESS_MEMORY, "--time=2-12:00:00 -> --time=3-00:00:00"),
        risks=("timeout",),
    ),
    Case(
        "one of five runs ran out of all memory of its node, 480 GB: no less of it is suggested, and nothing saved",
        FULL | FOUR_HOURS,
        (*times(TWO_USED, 4), like(TWO_USED, state="OUT_OF_MEMORY", hours=1.0, days_ago=6.0, host_gb=480.0)),
        why="needs_more",
        risks=("out_of_memory",),
    ),
    Case(
        "the partition is not named",
        {name: value for name, value in FULL.items() if name != "--partition"},
        times(TWO_USED, 5),
        why="no_partition",
    ),
)
