"""Which hours of the week may be shown of a month, so that nobody can compute what a single person used in them.

The hours of the week divide the runs of the month as its tables do. They are many and a run is in several of them, so
that a reader gets many answers about the same person. Therefore each figure is rounded up or down at random to a step
that no person's hours in it exceed, and the step is raised until even a reader who knows what everybody else used, and
when the one person did, does not know how much.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.site.suppression import Runs, Sums, Withheld, nice_step, reason, reason_of, rounded, step_of, unions

Floats = NDArray[np.float64]

COARSER = (1, 2, 5, 10)
"""A step is raised so often; a map that is not safe then is withheld."""

OPEN_FRACTION = 0.12
"""What one person used stays a range of at least this part of it: nobody knows it to 5 % in both directions."""

PERCENT_STEPS = (5.0, 10.0, 20.0, 25.0)
"""Steps of the use; an hour that needs a coarser one shows none."""

STEPS_MIN = 2
"""A figure of fewer steps is mostly rounding: of one step the hours may be almost nothing or nearly twice as much."""

HARMLESS_STEP_PERCENT = 10.0
"""A use that is off by at most this is shown though it is low: 10 % that may be 0 to 20 is low in any case."""

BLOCKS_PAIRED_MAX = 40
"""Of more groups, as projects are on a large site, each one alone is compared with the hours of the week."""


class WeekMap(msgspec.Struct):
    """Mean GPU-hours in one hour and their use in percent, Monday 0:00 first; None is withheld, or all is.

    Each with the steps it was rounded up or down to.
    """

    withheld: str = ""
    allocated: list[float | None] = []
    use_percent: list[float | None] = []
    allocated_steps: list[float | None] = []
    use_steps_percent: list[float | None] = []


Drawn = tuple[list[float | None], list[float | None]]
"""Figures, and the step of each."""


def is_mostly_rounding(value: float, step: float, harmless_step: float = 0.0) -> bool:
    """Whether a figure may be almost nothing as well as much more: its step is more than half of it.

    >>> is_mostly_rounding(20.0, 20.0), is_mostly_rounding(40.0, 20.0), is_mostly_rounding(5.0, 5.0, harmless_step=10.0)
    (True, False, False)
    """
    return step > harmless_step and round(value / step) < STEPS_MIN


@dataclass
class WeekRuns:
    """The GPU-hours of each atom of `runs` by hour of the week and part, and how many such hours the month has."""

    runs: Runs
    hours: NDArray[np.float32]
    hours_of_month: Floats

    @cached_property
    def of_person(self) -> Floats:
        """GPU-hours by person, hour of the week and part."""
        found = np.zeros((self.runs.count, *self.hours.shape[1:]))
        np.add.at(found, self.runs.people, self.hours)
        return found

    @cached_property
    def steps(self) -> Floats:
        """The step of each hour of the week in GPU-hours: nobody's in it are more."""
        means = self.of_person.sum(axis=2).max(axis=0) / self.hours_of_month
        return np.array([nice_step(float(mean)) for mean in means]) * self.hours_of_month

    def people_in(self, atoms: NDArray[np.bool_], cells: NDArray[np.bool_]) -> Sums:
        """The parts of each person in these atoms and hours of the week."""
        of_atom = np.einsum("acp,c->ap", self.hours, cells.astype(np.float32))[atoms]
        found = [np.bincount(self.runs.people[atoms], part, minlength=self.runs.count) for part in of_atom.T]
        return np.stack(found, axis=1)


def week_map(week: WeekRuns, draw: Callable[[], float]) -> WeekMap:
    """What may be shown beside the shown groups of the runs' tables. `draw` gives random numbers of [0, 1)."""
    is_shown = shown_hours(week)
    if not is_shown.any():
        return WeekMap(Withheld.FEW_PEOPLE.value)
    if any(_unsafe_differences(week, is_shown)):
        return WeekMap(Withheld.OTHER_GROUP.value)
    # Divided before it is rounded: where summer time begins, one hour of the week occurs once less.
    means = week.of_person.sum(axis=2) / week.hours_of_month
    own = week.runs.sums(np.ones(len(week.runs.people), dtype=bool))
    drawn = _drawn(means, week.steps / week.hours_of_month, is_shown, _known_of_total(own, own.sum(axis=1)), draw)
    if drawn is None:
        return WeekMap(Withheld.ONE_PERSON.value)
    allocated, steps = drawn
    use, use_steps = _use(week, is_shown, _known_of_total(own, own[:, 0]), draw)
    return WeekMap("", allocated, use, steps, use_steps)


def shown_hours(week: WeekRuns) -> NDArray[np.bool_]:
    """The hours of the week that may be shown, none of which reveals the others as the rest of the total."""
    cells = zip(week.of_person.swapaxes(0, 1), week.steps, strict=True)
    is_shown = np.array([reason(sums, step) is None for sums, step in cells])
    sizes = week.of_person.sum(axis=(0, 2))
    while is_shown.any() and _why_rest(week.of_person[:, ~is_shown].sum(axis=1), week.steps[is_shown].max()):
        is_shown[min(np.flatnonzero(is_shown), key=lambda cell: sizes[cell])] = False
    return is_shown


def _why_rest(left: Sums, step: float) -> Withheld | None:
    """Why what is left after subtraction may not be known; rounding leaves nothing of what is not above a step."""
    return None if left.sum() <= step else reason(left, step)


def _unsafe_differences(week: WeekRuns, is_shown: NDArray[np.bool_]) -> Iterator[bool]:
    """Whether some hours of the week without groups that ran in them, or groups without hours, are no safe sum."""
    ran = week.hours.sum(axis=2) > 0
    for table in week.runs.tables:
        blocks = table.blocks()
        for union in unions(blocks) if len(blocks) <= BLOCKS_PAIRED_MAX else blocks:
            atoms = table.mask(union)
            around, inside = ran[atoms].any(axis=0), ~ran[~atoms].any(axis=0)
            # Of the withheld hours only the sum is known.
            if (around & ~is_shown).any():
                around |= ~is_shown
            if (~inside & ~is_shown).any():
                inside &= is_shown
            if not around.all() and (around & is_shown).any():
                yield _why_rest(week.people_in(~atoms, around), week.steps[around & is_shown].max()) is not None
            if (inside & is_shown).any():
                yield _why_rest(week.people_in(atoms, ~inside), week.steps[inside & is_shown].max()) is not None


def _use(week: WeekRuns, is_shown: NDArray[np.bool_], known: tuple[Floats, Floats], draw: Callable[[], float]) -> Drawn:
    """Use in percent of what was measured; hours of the week in which few people were measured show none."""
    measured = week.of_person[:, :, :2].sum(axis=2)
    total = measured.sum(axis=0)
    is_shown = is_shown & np.array([reason_of(people) is None for people in measured.T])
    divisor = np.where(total > 0, total, 1.0)
    largest = 100 * measured.max(axis=0) / divisor
    steps = np.array([next((step for step in PERCENT_STEPS if step >= each), np.inf) for each in largest])
    is_shown &= np.isfinite(steps)
    drawn = _drawn(100 * week.of_person[:, :, 0] / divisor, steps, is_shown, known, draw, PERCENT_STEPS[-1])
    values, found_steps = drawn or ([None] * len(total), [None] * len(total))
    return [None if value is None else min(value, 100.0) for value in values], found_steps


def _known_of_total(own: Sums, values: Floats) -> tuple[Floats, Floats]:
    """By how much of a person's part each one's may be less and more for who knows the others', from the total."""
    step = step_of(own.sum(axis=1))
    total = float(values.sum())
    shown = rounded(total, step)
    divisor = np.where(values > 0, values, np.inf)
    return (shown - step / 2 - total) / divisor, (shown + step / 2 - total) / divisor


def _drawn(
    values: Floats,
    steps: Floats,
    is_shown: NDArray[np.bool_],
    known: tuple[Floats, Floats],
    draw: Callable[[], float],
    step_max: float = np.inf,
) -> Drawn | None:
    """The sums over people, each rounded up or down at random to a step; None where no step is coarse enough."""
    for factor in COARSER:
        is_shown = is_shown & (steps * factor <= step_max)
        below = np.floor(values.sum(axis=0) / np.where(is_shown, steps * factor, 1.0))
        over = values.sum(axis=0) / np.where(is_shown, steps * factor, 1.0) - below
        drawn = (below + [draw() < each for each in over]) * np.where(is_shown, steps * factor, 1.0)
        if stays_open(values[:, is_shown], drawn[is_shown], (steps * factor)[is_shown], known):
            return _of_shown(drawn, is_shown), _of_shown(steps * factor, is_shown)
    return None


def _of_shown(values: Floats, is_shown: NDArray[np.bool_]) -> list[float | None]:
    return [round(float(each), 9) if shown else None for each, shown in zip(values, is_shown, strict=True)]


def stays_open(values: Floats, drawn: Floats, steps: Floats, known: tuple[Floats, Floats]) -> bool:
    """Whether who knows everything but how much one person used, even when, knows it to no better than a range."""
    off = drawn - values.sum(axis=0)
    divisor = np.where(values > 0, values, np.nan)
    # By how much of it each person's part may be less, and more; a part is not less than nothing.
    less = np.fmax.reduce((off - steps) / divisor, axis=1, initial=-1.0)
    more = np.fmin.reduce((off + steps) / divisor, axis=1, initial=np.inf)
    is_in = (values > 0).any(axis=1)
    width = np.minimum(more, known[1]) - np.maximum(less, known[0])
    return bool((width[is_in] > OPEN_FRACTION).all())
