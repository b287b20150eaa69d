"""The runs that the list of jobs is narrowed to, for its paginator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from rest_framework.request import Request

from analysis.efficiency import EfficiencyClass
from analysis.history.periods import last_days
from analysis.rollups.selectors import site_now
from jobs.models import Job, User
from jobs.selectors import LatestFirst, Reach, jobs_within, keys_of_any, reach_of
from portal.api.asked import DAYS_MAX, asked_choice, asked_job_id, asked_number, asked_works
from portal.charts.class_conditions import has_class
from portal.charts.run_classes import OPEN, UNKNOWN

NARROWING = ("own", "days", "work", "class", "sort", "job_id")
WASTED = "efficiency__wasted_gpu_hours"
ORDERS = {"latest": ("-ended_at", "-pk"), "wasted": (f"-{WASTED}", "-pk")}


@dataclass(frozen=True)
class NarrowedJobs:
    """The visible jobs that fit some conditions, for a paginator: their number, and a slice of them in an order."""

    reach: Reach
    is_own: bool
    conditions: Q
    order: tuple[str, ...]
    ordered = True

    def count(self) -> int:
        parts = [self.reach.own] if self.is_own else self.reach.parts()
        return sum(Job.objects.filter(part & self.conditions).count() for part in parts)

    def __getitem__(self, stretch: slice) -> QuerySet[Job]:
        parts: Sequence[Q] = [self.reach.own] if self.is_own else self.reach.sorted_parts()
        runs = Job.objects.order_by(*self.order)
        keys = keys_of_any(runs.filter(part & self.conditions)[: max(stretch.stop, 1)] for part in parts)
        found = jobs_within(self.reach).filter(pk__in=keys).select_related("efficiency")
        return found.order_by(*self.order)[stretch]


def asked_jobs(request: Request, user: User) -> LatestFirst | NarrowedJobs:
    """What `?own=`, `days=`, `work=`, `class=`, `job_id=` and `sort=` leave of the visible jobs; ValidationError."""
    reach = reach_of(user)
    if not any(name in request.query_params for name in NARROWING):
        return LatestFirst(reach)
    order = asked_choice(request, "sort", tuple(ORDERS), "latest")
    is_own = asked_choice(request, "own", ("0", "1"), "0") == "1"
    conditions = Q(**{f"{WASTED}__isnull": False}) if order == "wasted" else Q()
    if "days" in request.query_params:
        days = asked_number(request, "days", DAYS_MAX, DAYS_MAX)
        conditions &= Q(ended_at__gte=last_days(site_now(), days).start)
    if "job_id" in request.query_params:
        conditions &= Q(job_id=asked_job_id(request))
    works = asked_works(request, user)
    if works is not None:
        conditions &= Q(work_key__in=works)
    return NarrowedJobs(reach, is_own, conditions & _of_class(request), ORDERS[order])


def _of_class(request: Request) -> Q:
    """The runs of the asked class as programs read it: UNKNOWN also where the use is not judged."""
    name = asked_choice(request, "class", [kind.value for kind in EfficiencyClass], "")
    if not name:
        return Q()
    return has_class(UNKNOWN) | has_class(OPEN) if name == UNKNOWN else has_class(name)
