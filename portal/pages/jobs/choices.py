"""What can be chosen on the Jobs page, as plain values, and what one person may choose from: what their reach holds.

The form fills the values in, the query and the chips read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from jobs.hardware import clusters
from jobs.models import User
from jobs.selectors import Reach, jobs_within, latest_partitions, led_owners, reach_of, reached_projects
from portal.pages.jobs.orders import FIRST_SORT
from wire.work_names import KEY_LENGTH


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


@dataclass(frozen=True)
class Offered:
    """Projects and owners by name with their keys, and partitions; owners only for whoever leads a project.

    `works` are (key, name) of the one in the address, where a visible job is of it.
    """

    reach: Reach
    projects: dict[str, int]
    owners: dict[str, int]
    partitions: tuple[str, ...]
    works: tuple[tuple[str, str], ...]


def offered_to(user: User, address: Mapping[str, str]) -> Offered:
    """What this person may choose; of what stands in the address also what no longer comes up by itself."""
    reach = reach_of(user)
    return Offered(
        reach=reach,
        projects=dict(reached_projects(reach).values_list("name", "pk")),
        owners=_owners(reach, _name(address, "owner")),
        partitions=_partitions(reach, _name(address, "partition")),
        works=_works(reach, _name(address, "work")),
    )


def _name(address: Mapping[str, str], name: str) -> str:
    """What stands in the address, if a row can have such a name."""
    asked = address.get(name, "")
    return asked if asked.isprintable() else ""


def _owners(reach: Reach, asked: str) -> dict[str, int]:
    """The members of led projects; another person in the address, if a visible job is theirs."""
    if not reach.led:
        return {}
    owners = dict(led_owners(reach).values_list("username", "pk"))
    if asked and asked not in owners:
        owner = User.objects.filter(username=asked).first()
        if owner and jobs_within(reach).filter(user=owner).exists():
            owners[asked] = owner.pk
    return dict(sorted(owners.items()))


def _partitions(reach: Reach, asked: str) -> tuple[str, ...]:
    """Those of the latest runs and of their clusters; another one in the address, if a visible job ran there."""
    latest, described = latest_partitions(reach), clusters()
    known = {name for cluster, _ in latest if cluster in described for name in described[cluster].partitions}
    names = known | {name for _, name in latest if name}
    if asked and asked not in names and jobs_within(reach).filter(partition=asked).exists():
        names.add(asked)
    return tuple(sorted(names))


def _works(reach: Reach, asked: str) -> tuple[tuple[str, str], ...]:
    """The work of this key, named after the latest visible job of it."""
    if not asked or len(asked) > KEY_LENGTH:
        return ()
    latest = jobs_within(reach).filter(work_key=asked).order_by("-ended_at", "-pk").first()
    return ((asked, latest.job_name or f"Job {latest.job_id}"),) if latest else ()
