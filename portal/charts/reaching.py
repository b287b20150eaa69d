"""When a run first reached a value that a reader asks for, and what it had cost by then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.progress.cost import Direction, Reached, reached, usual_direction
from analysis.progress.rates import Stretch
from jobs.experiments.models import ExperimentRun
from jobs.experiments.points import Series
from portal.asked_numbers import finite_number
from portal.charts.progress import whole_time

WORDS = {Direction.LOWER: "or lower", Direction.HIGHER: "or higher"}


@dataclass(frozen=True)
class Target:
    """A value of a metric, and on which side of it is better."""

    value: float
    direction: Direction

    @property
    def words(self) -> str:
        return WORDS[self.direction]


def target_in(query: Mapping[str, str], metric: str) -> Target | None:
    """The value that an address asks for; the side is that of the metric's name unless it is stated.

    >>> target_in({"target": "0.5"}, "val/loss")
    Target(value=0.5, direction=<Direction.LOWER: 'lower'>)
    >>> target_in({"target": "0.5", "side": "higher"}, "val/loss").words, target_in({"target": "nan"}, "loss")
    ('or higher', None)
    """
    value = finite_number(query.get("target", ""))
    if value is None:
        return None
    side = query.get("side", "")
    stated = Direction(side) if side in set(Direction) else None
    return Target(value, stated or usual_direction(metric) or Direction.LOWER)


def reached_by(
    series: Series | None, target: Target | None, run: ExperimentRun, stretches: Sequence[Stretch]
) -> Reached | None:
    """When a run reached the value; its time alone counts where none of its jobs is seen."""
    if series is None or target is None:
        return None
    return reached(series, target.value, target.direction, stretches or [whole_time(run)])
