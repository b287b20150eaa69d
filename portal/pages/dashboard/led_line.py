"""What the projects that a person leads left unused this month, in one line with the way to the project page."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.history.periods import Period
from analysis.rollups.selectors import sums_by_project
from jobs.models import User
from jobs.selectors import led_projects

GPU_HOURS_MIN = 1.0
"""Less in a month is not worth a line on the first screen."""


@dataclass(frozen=True)
class LedLine:
    """The led project with the most unused GPU-hours of its members, as its page adds them up; `more` are the others
    with unused hours."""

    name: str
    unused_gpu_hours: float
    more: int


def led_line(leader: User, this: Period) -> LedLine | None:
    """The line for the month, None where the person leads no project that left a GPU-hour unused."""
    led = led_projects(leader)
    sums = sums_by_project(led, this)
    unused = {pk: row.wasted_gpu_hours for pk, row in sums.items() if row.wasted_gpu_hours >= GPU_HOURS_MIN}
    if not unused:
        return None
    most = max(unused, key=lambda pk: (unused[pk], -pk))
    name = led.values_list("name", flat=True).get(pk=most)
    return LedLine(name, unused[most], len(unused) - 1)
