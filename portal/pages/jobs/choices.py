"""What can be chosen on the Jobs page, as plain values: the form fills them in, the query and the chips read them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from portal.pages.jobs.orders import FIRST_SORT


@dataclass(frozen=True)
class Choices:
    """One field for each parameter of the address, empty or None where nothing was chosen.

    `zone` is "site" where the days are those of the site's calendar instead of the reader's; `counted` is "flags" where
    only the jobs are left that flags count.

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
    zone: str = ""
    array: str = ""
    work: str = ""
    counted: str = ""
    group: str = ""
    sort: str = ""

    @property
    def narrowing(self) -> dict[str, object]:
        """What was chosen, by name, but for how the list is shown."""
        return {name: value for name, value in self.filters.items() if name != "zone"}

    @property
    def filters(self) -> dict[str, object]:
        """The same, with what days these are."""
        return {name: value for name, value in self._chosen().items() if name not in ("sort", "group")}

    @property
    def is_judged(self) -> bool:
        """Whether only judged runs can be left."""
        return bool(self.efficiency_class or self.finding or self.counted)

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
        left_out: dict[str, Any] = {field.name: field.default for field in fields(self) if field.name in names}
        return replace(self, **left_out).address

    def sorted_by(self, name: str) -> str:
        """The same in another order."""
        return urlencode(self._chosen() | {"sort": name})

    def _chosen(self) -> dict[str, object]:
        """What is set; the calendar of days only where days are chosen."""
        has_days = bool(self.days or self.since or self.until)
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) and (has_days or field.name != "zone")
        }
