"""Writing reports: one value for each judgement, made again when the judgement changes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial

import msgspec
from django.db import transaction
from django.utils import timezone

from analysis.early.selectors import past_words
from analysis.marks.services import mark_swept
from analysis.models import JobEfficiency
from analysis.selectors import assessment
from analysis.services import Judged, analyse_changed
from education.lesson import Lessons, Programs
from education.selectors import current_lessons, current_programs
from jobs.tallies.kinds import END_TO_REPORT, REPORTS
from jobs.tallies.services import add, since_end
from jobs.work_queue.services import Work, attempt, attempt_by_hand, attempt_each, open_changed
from reports.job_report import job_report
from reports.models import Report, StoredPdf
from reports.selectors import (
    REPORT,
    REPORTED,
    due_efficiencies,
    due_report_pages,
    judged_name,
    judged_since,
    still_unreported,
)

Teaching = tuple[Lessons, Programs]


def current_teaching() -> Teaching:
    """The lessons about findings and about programs."""
    return current_lessons(), current_programs()


def follow_up(limit: int, now: datetime | None = None) -> int:
    """Judge up to `limit` changed runs, and make their reports at once; how much was done.

    The measurements of a run are read once for both. Reports that wait for another reason are made after that.
    """
    now = now or timezone.now()
    taught = cache(current_teaching)

    def report_on(judged: Judged) -> None:
        making = partial(publish, now=now, judged=judged, taught=taught)
        attempt(Work(REPORT, making, name=judged_name), judged.row.pk, now)

    return analyse_changed(limit, now, then=report_on) + publish_changed(limit, now)


def publish_due(limit: int, now: datetime | None = None) -> int:
    """Make up to `limit` of all reports that are due, however long ago their runs were judged; how many were."""
    now = now or timezone.now()
    return attempt_each(_making(now), _keys(due_report_pages(), now), now, limit).done


def publish_changed(limit: int, now: datetime | None = None) -> int:
    """Make up to `limit` reports of what was judged since a sweep found nothing more to do; how many were."""
    now = now or timezone.now()
    made = attempt_each(_making(now), _keys(due_report_pages(judged_since()), now), now, limit)
    if made.is_all:
        mark_swept(REPORTED, now)
    return made.done


def publish_by_hand(job_pk: int) -> int:
    """Make the report of one judged run if it is due, 1 or 0, however often it failed before; raises WorkFailed
    where it fails."""
    now = timezone.now()
    pk = JobEfficiency.objects.filter(job=job_pk).values_list("pk", flat=True).first()
    return 0 if pk is None else attempt_by_hand(_making(now), pk, now)


def _keys(pages: Iterable[Mapping[int, datetime]], now: datetime) -> Iterator[list[int]]:
    """The keys of these judgements; a report that failed for an earlier judgement of the run is due at once."""
    for judged_at in pages:
        open_changed(REPORT, judged_at, now)
        yield list(judged_at)


def _making(now: datetime) -> Work:
    making = partial(publish, now=now, taught=cache(current_teaching))
    return Work(REPORT, making, still_due=still_unreported, name=judged_name)


def publish(
    efficiency_pk: int,
    now: datetime | None = None,
    judged: Judged | None = None,
    taught: Callable[[], Teaching] = current_teaching,
) -> bool:
    """Make the report of one judgement; False when another worker holds it or has just made it.

    `judged` is what the caller has just judged: nothing is read for it unless the run was judged again since.
    """
    with transaction.atomic():
        due = due_efficiencies().filter(pk=efficiency_pk)
        claimed = JobEfficiency.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=due)
        claimed = claimed.select_related("job__user", "job__project", "job__report")
        efficiency = claimed.defer("job__report__content").first()
        if efficiency is None:
            return False
        job = efficiency.job
        is_same = judged is not None and judged.row.revision == efficiency.revision
        found = judged.assessment if judged and is_same else assessment(job)
        report = job_report(found, *taught(), is_told_by_owner=job.is_told_by_owner, early=past_words(job))
        content = msgspec.to_builtins(report)
        made = {"efficiency_revision": efficiency.revision, "published_at": now or timezone.now()}
        known = Report.objects.filter(job=job)
        is_first = not hasattr(job, "report")
        if is_first:
            Report.objects.create(job=job, content=content, **made)
        # A PDF made from the same content is still valid.
        elif not known.filter(content=content).update(**made):
            known.update(content=content, **made)
            StoredPdf.objects.filter(report__job=job).delete()
    if is_first and not job.is_told_by_owner:
        add(REPORTS.of(), since_end(END_TO_REPORT, job.ended_at))
    return True
