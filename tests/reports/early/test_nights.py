"""The night of a person: by their own clock, also when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from reports.early.planning import morning_after

HELSINKI = ZoneInfo("Europe/Helsinki")


@pytest.mark.parametrize(
    ("now", "morning"),
    [
        # 28 March 2027: clocks go from 03:00 to 04:00. 22:00 is UTC+2, 07:00 of the next day UTC+3.
        (datetime(2027, 3, 27, 20, 0, tzinfo=UTC), datetime(2027, 3, 28, 4, 0, tzinfo=UTC)),
        # 31 October 2027: clocks go from 04:00 to 03:00. 23:00 is UTC+3, 07:00 of the next day UTC+2.
        (datetime(2027, 10, 30, 20, 0, tzinfo=UTC), datetime(2027, 10, 31, 5, 0, tzinfo=UTC)),
        # 06:59 in winter is night, 07:00 and 21:59 are not, 22:00 is.
        (datetime(2026, 11, 20, 4, 59, tzinfo=UTC), datetime(2026, 11, 20, 5, 0, tzinfo=UTC)),
        (datetime(2026, 11, 20, 5, 0, tzinfo=UTC), None),
        (datetime(2026, 11, 20, 19, 59, tzinfo=UTC), None),
        (datetime(2026, 11, 20, 20, 0, tzinfo=UTC), datetime(2026, 11, 21, 5, 0, tzinfo=UTC)),
    ],
)
def test_the_morning_is_at_seven_of_that_clock(now: datetime, morning: datetime | None) -> None:
    assert morning_after(now, HELSINKI) == morning
