"""A kind of figures that are added up once for each calendar month: one plain value for each of them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

LATE = timedelta(days=7)
"""How long after it can be closed a month may be open: its jobs are still analysed and checked for some days."""


@dataclass(frozen=True)
class MonthKind:
    """When a month of this kind is due, and how it is closed.

    A month can be closed when it ended longer than `after` ago, if `having` finds it among those that are open: it has
    data. With `follows` these are the closed months of the kind of that code. `is_ready` is whether its data are
    complete at the moment; until then it waits. `figures` adds up the month, `rows` are those of another table that
    are stored with it; both get the first day and the time. `title` continues "figures of".
    """

    code: str
    title: str
    after: timedelta
    figures: Callable[[date, datetime], Any]
    rows: Callable[[date, datetime], Sequence[Any]] | None = None
    follows: str = ""
    having: Callable[[Sequence[date]], Collection[date]] = tuple
    is_ready: Callable[[date, datetime], bool] = lambda month, now: True

    @property
    def work(self) -> str:
        """What closing it is called as background work."""
        return f"month of {self.title}"

    @property
    def figures_title(self) -> str:
        """What they are called."""
        return f"Monthly figures of {self.title}"
