"""The figures of the whole site for one month, as they are stored: rounded sums, or why one is withheld."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.site.idle import IdleHours
from analysis.site.suppression import Atoms, Parts, Runs, Table, add_parts, rounded, runs_of, step_of, suppress
from analysis.site.week import HOURS, by_hour, hours_between, parts_of_course
from analysis.site.week_map import WeekMap, WeekRuns, week_map

DIMENSIONS = ("partition", "class", "size", "finding", "measurement", "science_field")
SIZES = ((1, "1"), (7, "2–7"), (8, "8"), (64, "9–64"))
LARGEST = "more than 64"
NO_FINDING = "none"
JOULES_PER_KWH = 3_600_000


class SiteRun(msgspec.Struct):
    """What the sums read of one counted run; None is not measured."""

    user: int
    project: int
    partition: str
    efficiency_class: str
    gpus: int
    codes: str
    gpu_hours: float
    unused_gpu_hours: float | None
    util_percent: float | None
    coverage_fraction: float
    is_partial: bool
    energy_j: float | None
    started_at: datetime | None
    ended_at: datetime
    use_course: bytes | None
    science_field: str


class Cell(msgspec.Struct):
    """One group: GPU-hours, or the `Withheld` reason."""

    name: str
    withheld: str = ""
    allocated: float | None = None
    used: float | None = None
    unused: float | None = None


class MonthFigures(msgspec.Struct):
    """The total, and the groups of each of `DIMENSIONS`; energy in kWh, None where it is not known or withheld.

    There are no science fields where no project has one, and no `week` in months that were closed before there was one;
    `idle` is None where it is not known for all runs.
    """

    total: Cell
    tables: dict[str, list[Cell]] = {}
    energy_kwh: float | None = None
    week: WeekMap | None = None
    idle: IdleHours | None = None


class MonthSums:
    """Counted runs added up by person, groups and project: as many entries as combinations occur, not as runs.

    `start` and `end` are the midnights between which they ended, in the zone of the site.
    """

    def __init__(self, start: datetime, end: datetime) -> None:
        self.start, self.end = start, end
        self.atoms: Atoms = {}
        # Beside each atom; half as large as what Python's own numbers take.
        self.hours: dict[tuple[int, tuple[str, ...]], NDArray[np.float32]] = {}
        self.energy_j: dict[int, float] = {}

    def add(self, run: SiteRun) -> None:
        """Add one run."""
        key = run.user, (*groups_of(run), str(run.project))
        parts = parts_of(run)
        add_parts(self.atoms, *key, parts)
        if key not in self.hours:
            self.hours[key] = np.zeros((HOURS, len(parts)), dtype=np.float32)
        self.hours[key] += self._by_hour(run)
        if run.energy_j is not None:
            self.energy_j[run.user] = self.energy_j.get(run.user, 0.0) + run.energy_j

    def _by_hour(self, run: SiteRun) -> NDArray[np.float64]:
        """The parts of one run in each hour of the week."""
        measured = run.coverage_fraction if run.is_partial else 1.0
        of_part = run.gpu_hours * parts_of_course(run.use_course, run.util_percent, measured)
        return by_hour(run.started_at, run.ended_at, self.start.tzinfo or UTC, of_part)

    def figures(self, draw: Callable[[], float]) -> MonthFigures:
        """What may be shown of all runs; `draw` gives random numbers of [0, 1)."""
        by_project = runs_of(self.atoms)
        has_fields = any(groups[DIMENSIONS.index("science_field")] for _, groups in self.atoms)
        runs = replace(by_project, tables=by_project.tables[: len(DIMENSIONS) if has_fields else -2])
        everything = np.ones(len(runs.people), dtype=bool)
        why = runs.why(everything)
        if why:
            return MonthFigures(Cell("", why.value))
        suppress(runs)
        tables = {name: _cells(runs, table) for name, table in zip(DIMENSIONS, runs.tables, strict=False)}
        # Readers of this page see the projects of the policy figures too: those that may be shown at all.
        projects = by_project.tables[-1]
        whys = ((group, runs.why(projects.mask([group]))) for group in range(len(projects.names)))
        projects.withheld.update({group: why for group, why in whys if why})
        hours = np.stack([self.hours[key] for key in self.atoms])
        beside = replace(runs, tables=(*runs.tables, projects))
        week = week_map(WeekRuns(beside, hours, hours_between(self.start, self.end)), draw)
        return MonthFigures(_shown_cell(runs, "", everything), tables, _energy_kwh(self.energy_j), week)


def groups_of(run: SiteRun) -> tuple[str, ...]:
    """The group of a run in each of `DIMENSIONS`; a run belongs to its first finding."""
    size = next((name for most, name in SIZES if run.gpus <= most), LARGEST)
    measured = "none" if run.util_percent is None else "partial" if run.is_partial else "full"
    finding = (run.codes.split() or [NO_FINDING])[0]
    return run.partition, run.efficiency_class, size, finding, measured, run.science_field


def parts_of(run: SiteRun) -> Parts:
    """GPU-hours used, unused and not measured; a partial run is judged for its measured part alone."""
    if run.util_percent is None:
        return 0.0, 0.0, run.gpu_hours
    measured = run.gpu_hours * (run.coverage_fraction if run.is_partial else 1.0)
    unused = min(run.unused_gpu_hours or 0.0, measured)
    return measured - unused, unused, run.gpu_hours - measured


def _cells(runs: Runs, table: Table) -> list[Cell]:
    """The shown groups, most unused hours first, then the withheld ones by name."""
    shown = [_shown_cell(runs, table.names[group], table.mask([group])) for group in table.shown]
    withheld = [Cell(table.names[group], table.withheld[group].value) for group in sorted(table.withheld)]
    return sorted(shown, key=lambda cell: (-(cell.unused or 0.0), cell.name)) + withheld


def _shown_cell(runs: Runs, name: str, mask: np.ndarray) -> Cell:
    shown = runs.shown(mask)
    return Cell(name, "", shown.allocated, shown.used, shown.unused)


def _energy_kwh(energy_j: Mapping[int, float]) -> float | None:
    runs = runs_of({(person, ()): (joules / JOULES_PER_KWH, 0.0, 0.0) for person, joules in energy_j.items()})
    everything = np.ones(len(runs.people), dtype=bool)
    if runs.why(everything):
        return None
    return rounded(runs.size(everything), step_of(runs.parts.sum(axis=1)))
