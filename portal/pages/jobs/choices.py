"""What can be chosen on the Jobs page, as plain values: the form fills them in, the query and the chips read them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from urllib.parse import urlencode

from portal.pages.jobs.sorts import FIRST_SORT


@dataclass(frozen=True)
class Choices:
    """One field for each parameter of the address, empty or None where nothing was chosen.

    >>> Choices(q="mps", days=7).address, Choices(q="mps", days=7).without("q")
    ('q=mps&days=7', 'days=7')
    """

    q: str = ""
    efficiency_class: str = ""
    finding: str = ""
    project: str = ""
    owner: str = ""
    partition: str = ""
    state: str = ""
    days: int | None = None
    since: date | None = None
    until: date | None = None
    array: str = ""
    sort: str = ""

    @property
    def narrowing(self) -> dict[str, object]:
        """What was chosen, by name, but for the order."""
        return {name: value for name, value in self._chosen().items() if name != "sort"}

    @property
    def is_judged(self) -> bool:
        """Whether only judged runs can be left."""
        return bool(self.efficiency_class or self.finding)

    @property
    def order(self) -> str:
        """The name of the order in which the jobs are shown."""
        return self.sort or FIRST_SORT

    @property
    def address(self) -> str:
        """All that was chosen as the part of an address behind the "?"."""
        return urlencode(self._chosen())

    def without(self, *names: str) -> str:
        """The same but for some choices."""
        return urlencode({name: value for name, value in self._chosen().items() if name not in names})

    def sorted_by(self, name: str) -> str:
        """The same in another order."""
        return urlencode(self._chosen() | {"sort": name})

    def _chosen(self) -> dict[str, object]:
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}
