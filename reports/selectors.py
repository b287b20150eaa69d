"""Reading reports and the outbox: which judged runs wait for a report, and which reports wait to be mailed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Case, Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from analysis.efficiency import EfficiencyClass
from analysis.marks.selectors import swept_until
from analysis.models import JobEfficiency
from analysis.selectors import COMMITTED_LATE, SCAN_SIZE, has_lost_series
from jobs.models import Job, User
from jobs.records import all_printable
from jobs.work_queue.outbox.rules import LEASE
from jobs.work_queue.outbox.selectors import due
from jobs.work_queue.selectors import set_aside
from metrics.series import RunMetrics
from reports.ending import is_crash
from reports.job_report import JobReport, without_use_over_time
from reports.mail.digest import Choices, Frequency, Past, Waiting
from reports.mail.offer import SHIPPED, OfferText
from reports.models import Delivery, DeliveryPreference, HelpLetter, ProjectPreference, Report

REPORT = "report"
"""The kind of work under which a failed report is recorded; its key is the judgement's row."""

REPORTED = "reports"
"""The name of the mark of the sweep that makes reports."""

PACED = (Frequency.DAILY.value, Frequency.WEEKLY.value)
OPEN_STATES = (Delivery.State.PENDING.value, Delivery.State.SENDING.value)


def due_efficiencies(since: datetime | None = None) -> QuerySet[JobEfficiency]:
    """Judgements newer than the report made from them; with `since` those made after it, by their index."""
    is_current = Q(job__report__efficiency_revision=F("revision"))
    judged = JobEfficiency.objects.all() if since is None else JobEfficiency.objects.filter(analysed_at__gte=since)
    return judged.filter(Q(job__report__isnull=True) | ~is_current).order_by("analysed_at", "pk")


def due_report_pages(since: datetime | None = None) -> Iterator[dict[int, datetime]]:
    """The judgements that wait for a report and when they were made, page by page, the longest waiting first;
    `since` as above."""
    page = due = due_efficiencies(since)
    while rows := list(page.values_list("pk", "analysed_at")[:SCAN_SIZE]):
        yield dict(rows)
        pk, analysed_at = rows[-1]
        page = due.filter(analysed_at__gte=analysed_at).exclude(analysed_at=analysed_at, pk__lte=pk)


def judged_since() -> datetime | None:
    """From when on judgements have to be checked, with time for rows that are committed late."""
    at = swept_until(REPORTED)
    return at and at - COMMITTED_LATE


def still_unreported(efficiency_pks: Collection[int]) -> list[int]:
    """Which of these judgements, in their order, wait for a report."""
    due = set(due_efficiencies().filter(pk__in=efficiency_pks).values_list("pk", flat=True))
    return [pk for pk in efficiency_pks if pk in due]


def reports_waiting_since(limit: int) -> tuple[int, datetime | None]:
    """How many judgements, counted up to `limit`, wait for their report, and since when the first one waits."""
    waiting = due_efficiencies(judged_since()).exclude(pk__in=set_aside(REPORT))
    return waiting.values("pk")[:limit].count(), waiting.values_list("analysed_at", flat=True).first()


def messages_waiting_since(now: datetime, limit: int) -> tuple[int, datetime | None]:
    """How many messages, counted up to `limit`, are due or failed before, and since when the first one waits.

    Each failed try postpones the next one, so for those the time counts at which they were created.
    """
    was_tried = Q(state=Delivery.State.PENDING, attempts__gt=0)
    waiting = due_deliveries(now) | Delivery.objects.filter(was_tried)
    since = Case(When(was_tried, then="created_at"), default="due_at")
    return waiting.values("pk")[:limit].count(), waiting.aggregate(since=Min(since))["since"]


def judged_name(efficiency_pk: int) -> str:
    """The name of the run of a judgement, for the log."""
    return str(Job.objects.only("cluster", "job_id", "attempt").get(efficiency=efficiency_pk))


def report_row(job: Job) -> Report | None:
    """The stored report of a run the caller may see; None while there is none."""
    return Report.objects.filter(job=job).select_related("job__user").first()


def made_report(row: Report) -> JobReport:
    """The report as it was made, without control or invisible characters in its texts.

    Its class is UNKNOWN where the use is not judged, whatever the mean use of the run was.
    """
    report = msgspec.convert(all_printable(row.content), JobReport)
    if report.is_use_judged:
        return report
    return replace(report, efficiency=replace(report.efficiency, efficiency_class=EfficiencyClass.UNKNOWN.value))


def report_value(row: Report, measured: RunMetrics | None = None) -> JobReport:
    """The value that every rendering is made from: as it was made, without figures of data that is no longer stored.

    `measured` is `analysis.selectors.measurements_of` its run, where the caller has already read it.
    """
    report = made_report(row)
    thinned = without_use_over_time(report)
    if thinned == report:
        return report
    is_thinned = has_lost_series(row.job) if measured is None else measured.is_thinned
    return thinned if is_thinned else report


def latest_reports(user: User, limit: int) -> QuerySet[Report]:
    """The reports of a person's own runs, those that ended last first, whatever was mailed."""
    rows = Report.objects.filter(job__user=user, job__ended_at__isnull=False).select_related("job")
    return rows.order_by("-job__ended_at", "-job")[:limit]


def waiting_reports(user_pks: Collection[int] | None = None, without: Collection[int] = ()) -> dict[int, list[Waiting]]:
    """The reports that were not mailed yet, by owner: only of `user_pks` if given, and never of those in `without`."""
    rows = Report.objects.filter(delivery__isnull=True).exclude(job__user__in=without)
    if user_pks is not None:
        rows = rows.filter(job__user__in=user_pks)
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


def people_waiting() -> list[int]:
    """Who has reports that were not mailed yet."""
    return list(Report.objects.filter(delivery__isnull=True).values_list("job__user", flat=True).distinct())


def earlier_run(column: str) -> Subquery:
    """A column of the judgement of the last comparable run before a report's own: the same work, completed.

    Runs that were not measured or are not counted are skipped, and so are the other tasks of the same array.
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
    """What these people chose; the defaults for those who chose nothing."""
    wanted = list(user_pks)
    projects: dict[int, dict[int, Frequency]] = defaultdict(dict)
    for row in ProjectPreference.objects.filter(user__in=wanted):
        projects[row.user_id][row.project_id] = Frequency(row.frequency)
    chosen = {row.user_id: row for row in DeliveryPreference.objects.filter(user__in=wanted)}
    return {pk: _choices(chosen.get(pk) or DeliveryPreference(), projects[pk]) for pk in wanted}


def _choices(row: DeliveryPreference, projects: dict[int, Frequency]) -> Choices:
    return Choices(Frequency(row.frequency), EfficiencyClass(row.minimum_class), row.with_pdf, projects)


def delivery_past(user_pks: Iterable[int]) -> dict[int, Past]:
    """What mail these people got before."""
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
    row: Any  # each has an array, which the column alone does not say
    for row in told:
        arrays[row["job__user"]][row["job__cluster"], row["job__array_job_id"]] = row["at"]
    return {pk: Past(last.get(pk), pk in is_open, arrays[pk]) for pk in wanted}


def due_deliveries(now: datetime) -> QuerySet[Delivery]:
    """Messages that are due, and those whose worker held them for longer than a lease."""
    return due(Delivery.objects.all(), LEASE, now)


def told_reports(rows: QuerySet[Report]) -> QuerySet[Report, Any]:
    """Reports with everything that a message shows of them, in the order their jobs ended."""
    return (
        rows.select_related("job__user", "job__project")
        .annotate(earlier_class=earlier_run("efficiency_class"), earlier_util=earlier_run("avg_gpu_util"))
        .order_by("job__ended_at", "job__job_id", "pk")
    )


def outbox(state: str = "") -> QuerySet[Delivery]:
    """The outbox, newest first, with the number of jobs of each message and no data of the jobs."""
    rows = (
        Delivery.objects.select_related("user", "notice").annotate(jobs=Count("reports")).order_by("-created_at", "-pk")
    )
    return rows.filter(state=state) if state else rows


def offer_versions() -> QuerySet[HelpLetter]:
    """Every version of the offer of help that staff saved, the latest first."""
    return HelpLetter.objects.select_related("editor").order_by("-number")


def offer_text() -> tuple[int, OfferText]:
    """The number of the present version of the offer of help, 0 for the shipped one, and its text."""
    row = HelpLetter.objects.order_by("-number").first()
    return (0, SHIPPED) if row is None else (row.number, OfferText(row.subject, row.text).as_shown())
