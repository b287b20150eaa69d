"""The list of raised flags as policy readers see it: whose, with no amounts; of users only what changes once a week.

A list that followed each job would state what this job did: two readings around it differ by it alone. So users come
from the beginning of the week, all changes of a week together, and only as many that nobody stands alone.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated

import msgspec

from analysis.feedback import GROUP_USERS_MIN
from analysis.policy.figures import Kind, Month

FLAGS_SCHEMA = "policy-flags/1"
LOW_USE = "low_use"
"""The only kind of flag: low use left many GPU-hours unused (`analysis.escalation.rules`)."""

Day = Annotated[str, msgspec.Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class FlagLine(msgspec.Struct, kw_only=True):
    """A raised flag. `period` is that of a user's key.

    `raised_on` of a user is the Monday of that week, at the earliest the first day of the period: it joins no keys of
    two periods.
    """

    period: Month
    kind: Kind
    key: str
    name: str | None = None
    flag: Annotated[str, msgspec.Meta(pattern=f"^{LOW_USE}$")] = LOW_USE
    raised_on: Day


class FlagList(msgspec.Struct):
    """Every raised flag, projects by name, then users by key.

    `users_as_of` is the Monday whose beginning the rows of users are of; `withheld_users` is true where they are left
    out because some, but fewer than five, had one then.
    """

    schema: str
    advisory: str
    users_as_of: Day
    withheld_users: bool
    rows: list[FlagLine]


def monday_of(day: date) -> date:
    """The first day of a week.

    >>> monday_of(date(2026, 11, 15)), monday_of(date(2026, 11, 16))
    (datetime.date(2026, 11, 9), datetime.date(2026, 11, 16))
    """
    return day - timedelta(days=day.weekday())


def are_enough(users: Sequence[FlagLine]) -> bool:
    """Whether rows of users may be listed: five, or none."""
    return not users or len(users) >= GROUP_USERS_MIN
