"""What an anonymised row may state of a run: words and bands, from fine to coarse; no name, no exact number, no day.

The borders are round numbers, and those of `gpu_use_percent` include the limits of the classes (domain, section 2), so
that both columns say the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ANY, UNKNOWN, OTHER = "any", "unknown", "other"
"""Not stated in this row; not measured or not known; one of the rare values, which are merged."""

NOT_COMPLETED = "not_completed"
ENDINGS = {
    "COMPLETED": "completed",
    "TIMEOUT": "timeout",
    "OUT_OF_MEMORY": "out_of_memory",
    "CANCELLED": "cancelled",
    "FAILED": "failed",
}
"""How a run ended, by Slurm's state; every other one is `other`."""


ProgramOf = Callable[[str], str]
"""The code of the program that a job's name tells, empty where it tells none; the name itself is never kept."""


@dataclass(frozen=True)
class Bands:
    """Half-open bands with these lower borders, and their names; the last one has no end."""

    borders: tuple[float, ...]
    names: tuple[str, ...]

    def name(self, value: float | None) -> str:
        """The band of a number, `unknown` for none and for one below the first border or not finite."""
        if value is None or not self.borders[0] <= value < float("inf"):
            return UNKNOWN
        return self.names[bisect_right(self.borders, value) - 1]


GPUS = Bands((1, 2, 3, 5, 9, 17, 65, 257), ("1", "2", "3-4", "5-8", "9-16", "17-64", "65-256", "257+"))
RUN_TIME_H = Bands((0, 1, 4, 12, 24, 48), ("0-1", "1-4", "4-12", "12-24", "24-48", "48+"))
GPU_USE_PERCENT = Bands(
    (0, 5, 15, 25, 40, 55, 70, 85), ("0-5", "5-15", "15-25", "25-40", "40-55", "55-70", "70-85", "85-100")
)
GPU_MEMORY_PERCENT = Bands((0, 25, 50, 75), ("0-25", "25-50", "50-75", "75-100"))

COARSE_GPUS = {"2": "2-8", "3-4": "2-8", "5-8": "2-8", "9-16": "9-64", "17-64": "9-64", "65-256": "65+", "257+": "65+"}
COARSE_RUN_TIME_H = {"0-1": "0-4", "1-4": "0-4", "4-12": "4-24", "12-24": "4-24", "24-48": "24+", "48+": "24+"}


@dataclass(frozen=True)
class Run:
    """One run, or what is known of it, before it is anonymised. `person` and `project` are any numbers."""

    person: int
    project: int
    gpu_hours: float
    program: str = UNKNOWN
    science_field: str = UNKNOWN
    gpu: str = UNKNOWN
    partition_type: str = UNKNOWN
    gpus: int | None = None
    run_time_h: float | None = None
    state: str = ""
    efficiency_class: str = "UNKNOWN"
    gpu_use_percent: float | None = None
    gpu_memory_percent: float | None = None
    finding: str = "none"


def partition_type(is_exclusive: bool | None) -> str:
    """How a partition gives its nodes."""
    return UNKNOWN if is_exclusive is None else "whole_nodes" if is_exclusive else "shared"


COLUMNS = (
    *("program", "science_field", "gpu", "partition_type", "gpus", "run_time_h"),
    *("ending", "efficiency_class", "gpu_use_percent", "gpu_memory_percent", "finding"),
)
"""The columns of a row, in their order. The first six are what colleagues know of each other's work: its shape."""

PLACES = {column: place for place, column in enumerate(COLUMNS)}
SHAPE = COLUMNS[:6]
Values = tuple[str, ...]
"""One value for each of `COLUMNS`."""


def finest(run: Run) -> Values:
    """The finest values that a row may state of a run.

    >>> finest(Run(1, 1, 8.0, gpus=8, run_time_h=2.5, state="COMPLETED", gpu_use_percent=14.96))[4:9]
    ('5-8', '1-4', 'completed', 'UNKNOWN', '5-15')
    """
    return (
        *(run.program or UNKNOWN, run.science_field or UNKNOWN, run.gpu or UNKNOWN, run.partition_type or UNKNOWN),
        *(GPUS.name(run.gpus), RUN_TIME_H.name(run.run_time_h)),
        *(ENDINGS.get(run.state, OTHER), run.efficiency_class),
        *(GPU_USE_PERCENT.name(run.gpu_use_percent), GPU_MEMORY_PERCENT.name(run.gpu_memory_percent), run.finding),
    )


def coarse_gpus(value: str) -> str:
    return COARSE_GPUS.get(value, value)


def coarse_run_time(value: str) -> str:
    return COARSE_RUN_TIME_H.get(value, value)


def coarse_ending(value: str) -> str:
    return value if value == "completed" else NOT_COMPLETED


def not_stated(value: str) -> str:
    return ANY


Level = Mapping[str, Callable[[str], str]]
"""How each column is coarsened; those that are not in it stay as fine as they are."""


def _levels(*steps: Level) -> Sequence[Level]:
    """Each level with everything that the ones before it coarsened."""
    levels: list[Level] = [{}]
    for step in steps:
        levels.append({**levels[-1], **step})
    return levels


LEVELS: Sequence[Level] = (
    *_levels(
        {"gpu_memory_percent": not_stated, "finding": not_stated},
        {"gpu_use_percent": not_stated},
        {"science_field": not_stated},
        {"gpus": coarse_gpus, "run_time_h": coarse_run_time},
        {"ending": coarse_ending, "run_time_h": not_stated},
        {"program": not_stated},
        {"gpus": not_stated},
        {"ending": not_stated},
        {"partition_type": not_stated},
    ),
    {
        **dict.fromkeys(COLUMNS, not_stated),
        **{"gpu": str, "partition_type": str, "gpus": coarse_gpus},
    },
    {**dict.fromkeys(COLUMNS, not_stated), "gpu": str},
)
"""From fine to coarse. What no level hides is withheld. The last two state no class: it would be everybody's."""


def coarsened(values: Values, level: Level) -> Values:
    """The values at a level.

    >>> coarsened(finest(Run(1, 1, 8.0, gpus=8)), {"gpus": coarse_gpus})[4]
    '2-8'
    """
    found = list(values)
    for column, coarser in level.items():
        place = PLACES[column]
        found[place] = coarser(found[place])
    return tuple(found)
