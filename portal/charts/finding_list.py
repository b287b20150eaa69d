"""The findings of a period as people read them: title, jobs, unused hours, their jobs, and how often in each step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from analysis.findings import FindingCode
from analysis.history.periods import Period
from analysis.history.sums import FrequentFinding
from portal.charts.columns import Column, columns
from portal.charts.history import step_name
from reports.wording import TITLES
from wire.numbers import counted

SITE = "site"
"""The calendar whose days the sums of a page are over, in the address of the Jobs page."""

FLAGS = "flags"
"""The jobs that flags count, in the address of the Jobs page."""


@dataclass(frozen=True)
class ListedFinding(FrequentFinding):
    """One finding; `url` lists its jobs, and `counts` are (step, jobs), the same numbers that `columns` draw.

    `wasted_gpu_hours` are of the `first_jobs` that it is the first cause of: over all findings no hour counts twice.
    """

    title: str
    url: str
    columns: tuple[Column, ...]
    counts: tuple[tuple[str, int], ...]


def jobs_address(chosen: Mapping[str, str]) -> str:
    """The Jobs page with these filters; `work` is the exact key of a work, never its name.

    >>> jobs_address({"project": "project_465000001", "finding": "timeout"})
    '/jobs/?project=project_465000001&finding=timeout'
    """
    return f"{reverse('my-jobs')}?{urlencode(chosen)}"


def since_of(period: Period) -> dict[str, str]:
    """The filters of the Jobs page that leave what ended in a period of the site's days, whatever zone the reader has.

    >>> from datetime import UTC, datetime
    >>> since_of(Period(datetime(2026, 11, 14, tzinfo=UTC), datetime(2026, 11, 20, 12, tzinfo=UTC)))
    {'since': '2026-11-14', 'zone': 'site'}
    """
    return {"since": f"{period.start:%Y-%m-%d}", "zone": SITE}


def finding_list(found: Sequence[FrequentFinding], period: Period, chosen: Mapping[str, str]) -> list[ListedFinding]:
    """All on one scale, so that their columns can be compared; their links keep what is `chosen`."""
    steps = period.steps()
    names = [step_name(step, period.step) for step in steps]
    top = max((count for row in found for count in row.by_step.values()), default=1)
    listed = []
    for row in found:
        counts = [row.by_step.get(step, 0) for step in steps]
        texts = [f"{name}: {counted(count, 'job')}" for name, count in zip(names, counts, strict=True)]
        shown = ListedFinding(
            **vars(row),
            title=TITLES[FindingCode(row.code)],
            url=jobs_address({**chosen, "finding": row.code}),
            columns=columns([[("finding", float(count))] for count in counts], texts, float(top)),
            counts=tuple((name, count) for name, count in zip(names, counts, strict=True) if count),
        )
        listed.append(shown)
    return listed
