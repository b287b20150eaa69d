"""The members and the works of a project as rows, each with a link to its jobs in the same period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from analysis.history.selectors import Member, WorkSums
from jobs.models import Job
from portal.charts.finding_list import jobs_address

UNNAMED = "Jobs without a name of their own"


@dataclass(frozen=True)
class MemberRow:
    """One member and the link to their jobs, of which `uncounted` are in no sum.

    `wasted_fraction` is None without hours.
    """

    sums: Member
    url: str
    uncounted: int

    @property
    def wasted_fraction(self) -> float | None:
        return self.sums.wasted_gpu_hours / self.sums.gpu_hours if self.sums.gpu_hours else None


@dataclass(frozen=True)
class WorkRow:
    """One work by the name of its latest run, whose it is, its page, and its jobs in the period by its exact key.

    Without links where nothing names it.
    """

    name: str
    owner: str
    url: str
    jobs_url: str
    sums: WorkSums

    @property
    def wasted_fraction(self) -> float | None:
        hours, wasted = self.sums.gpu_hours, self.sums.wasted_gpu_hours
        return wasted / hours if hours and wasted is not None else None


def member_rows(members: Sequence[Member], listed: Mapping[int, int], chosen: Mapping[str, str]) -> list[MemberRow]:
    """The members in their order; links keep what is `chosen`, and lead to as many jobs as are `listed`."""
    return [
        MemberRow(
            member,
            jobs_address({**chosen, "owner": member.username}),
            max(listed.get(member.pk, 0) - member.jobs, 0),
        )
        for member in members
    ]


def work_rows(works: Sequence[WorkSums], chosen: Mapping[str, str]) -> list[WorkRow]:
    """The works in their order, named after their latest runs: one query."""
    latest = Job.objects.select_related("user").in_bulk([work.latest_pk for work in works])
    return [_work_row(work, latest[work.latest_pk], chosen) for work in works if work.latest_pk in latest]


def _work_row(work: WorkSums, run: Job, chosen: Mapping[str, str]) -> WorkRow:
    if not work.key:
        return WorkRow(UNNAMED, "", "", "", work)
    name = run.job_name or f"Job {run.job_id}"
    jobs_url = jobs_address({**chosen, "work": work.key})
    return WorkRow(name, run.user.username, reverse("work", args=[work.key]), jobs_url, work)
