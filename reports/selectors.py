"""Reading reports and the outbox: which judged runs wait for a report, and which reports wait to be told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import msgspec
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.efficiency import EfficiencyClass
from analysis.models import JobEfficiency
from jobs.models import Job
from reports.digest import Choices, Frequency, Past, Waiting
from reports.ending import is_crash
from reports.job_report import JobReport
from reports.models import Delivery, DeliveryPreference, ProjectPreference, Report
from reports.retries import LEASE

PACED = (Frequency.DAILY.value, Frequency.WEEKLY.value)
OPEN_STATES = (Delivery.State.PENDING.value, Delivery.State.SENDING.value)


def due_efficiencies() -> QuerySet[JobEfficiency]:
    """Judgements newer than the report that was made of them."""
    is_current = Q(job__report__efficiency_revision=F("revision"))
    return JobEfficiency.objects.filter(Q(job__report__isnull=True) | ~is_current).order_by("analysed_at", "pk")


def report_row(job: Job) -> Report | None:
    """The stored report of a run the caller may see; None while there is none."""
    return Report.objects.filter(job=job).first()


def report_value(row: Report) -> JobReport:
    """The value that every rendering is made from."""
    return msgspec.convert(row.content, JobReport)


def reports_published(since: datetime) -> int:
    """How many reports were published or renewed since then."""
    return Report.objects.filter(published_at__gte=since).count()


def waiting_reports(user_pk: int | None = None) -> dict[int, list[Waiting]]:
    """The reports nobody was told of, by owner; of one person if one is named."""
    rows = Report.objects.filter(delivery__isnull=True)
    if user_pk is not None:
        rows = rows.filter(job__user=user_pk)
    found: dict[int, list[Waiting]] = defaultdict(list)
    columns = rows.annotate(earlier=earlier_run("efficiency_class")).values_list(
        "job__user",
        "pk",
        "job__project",
        "job__efficiency__efficiency_class",
        "job__efficiency__uncounted_reason",
        "job__efficiency__allocated_gpus",
        "job__cluster",
        "job__array_job_id",
        Coalesce("job__ended_at", "published_at"),
        "published_at",
        "earlier",
        "job__work_key",
        "job__state",
        "job__walltime_used_s",
    )
    for owner, *row, work_key, state, run_s in columns:
        pk, project, name, uncounted, gpus, cluster, array, ended_at, reported_at, earlier = row
        is_one_of_series = bool(work_key) and array is None and is_crash(state, run_s)
        found[owner].append(
            Waiting(
                report_pk=pk,
                project_pk=project,
                efficiency_class=EfficiencyClass(name),
                uncounted_reason=uncounted,
                allocated_gpus=gpus,
                array=None if array is None else (cluster, array),
                ended_at=ended_at,
                reported_at=reported_at,
                earlier_class=EfficiencyClass(earlier) if earlier else None,
                series=(cluster, work_key) if is_one_of_series else None,
            )
        )
    return found


def earlier_run(column: str) -> Subquery:
    """A column of the judgement of the last comparable run before a report's own: the same work, run to its end.

    Runs that were not measured or do not count are passed over, and so are the other tasks of the same array.
    """
    return Subquery(
        JobEfficiency.objects.filter(
            job__work_key=OuterRef("job__work_key"),
            job__user=OuterRef("job__user"),
            job__state="COMPLETED",
            job__ended_at__lt=OuterRef("job__ended_at"),
            uncounted_reason="",
        )
        .exclude(job__work_key="")
        .exclude(efficiency_class=EfficiencyClass.UNKNOWN.value)
        .annotate(array=Coalesce("job__array_job_id", 0))
        .exclude(array=Coalesce(OuterRef("job__array_job_id"), -1))
        .order_by("-job__ended_at", "-pk")
        .values(column)[:1]
    )


def delivery_choices(user_pks: Iterable[int]) -> dict[int, Choices]:
    """What these people chose; the defaults for whoever chose nothing."""
    wanted = list(user_pks)
    projects: dict[int, dict[int, Frequency]] = defaultdict(dict)
    for row in ProjectPreference.objects.filter(user__in=wanted):
        projects[row.user_id][row.project_id] = Frequency(row.frequency)
    chosen = {row.user_id: row for row in DeliveryPreference.objects.filter(user__in=wanted)}
    return {pk: _choices(chosen.get(pk) or DeliveryPreference(), projects[pk]) for pk in wanted}


def _choices(row: DeliveryPreference, projects: dict[int, Frequency]) -> Choices:
    return Choices(Frequency(row.frequency), EfficiencyClass(row.minimum_class), row.with_pdf, projects)


def delivery_past(user_pks: Iterable[int]) -> dict[int, Past]:
    """What these people were told before."""
    wanted = list(user_pks)
    messages = Delivery.objects.filter(user__in=wanted, frequency__in=PACED)
    last = dict(messages.values("user").annotate(at=Max(Coalesce("sent_at", "created_at"))).values_list("user", "at"))
    is_open = set(messages.filter(state__in=OPEN_STATES).values_list("user", flat=True))
    arrays: dict[int, dict[tuple[str, int], datetime]] = defaultdict(dict)
    waiting = Report.objects.filter(delivery__isnull=True, job__user__in=wanted, job__array_job_id__isnull=False)
    told = (
        Report.objects.filter(job__user__in=wanted, job__array_job_id__in=waiting.values("job__array_job_id"))
        .exclude(delivery__isnull=True)
        .exclude(delivery__frequency="")
        .values("job__user", "job__cluster", "job__array_job_id")
        .annotate(at=Max("delivery__created_at"))
    )
    for row in told:
        arrays[row["job__user"]][row["job__cluster"], row["job__array_job_id"]] = row["at"]
    return {pk: Past(last.get(pk), pk in is_open, arrays[pk]) for pk in wanted}


def due_deliveries(now: datetime) -> QuerySet[Delivery]:
    """Messages whose time has come, and those whose worker has been gone for longer than it may take."""
    is_due = Q(state=Delivery.State.PENDING, due_at__lte=now)
    is_left = Q(state=Delivery.State.SENDING, claimed_at__lte=now - LEASE)
    return Delivery.objects.filter(is_due | is_left).order_by("due_at", "pk")


def told_reports(rows: QuerySet[Report]) -> QuerySet[Report]:
    """Reports with all that a message says of them, in the order their jobs ended."""
    return (
        rows.select_related("job__user", "job__project")
        .annotate(earlier_class=earlier_run("efficiency_class"), earlier_util=earlier_run("avg_gpu_util"))
        .order_by("job__ended_at", "pk")
    )


def outbox(state: str = "") -> QuerySet[Delivery]:
    """The outbox, newest first, with the number of jobs of each message and nothing about them."""
    rows = Delivery.objects.select_related("user").annotate(jobs=Count("reports")).order_by("-created_at", "-pk")
    return rows.filter(state=state) if state else rows
