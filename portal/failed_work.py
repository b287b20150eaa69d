"""Failed work in words for people, and the state of a report that its owner is waiting for."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.selectors import JUDGEMENT
from education.models import LessonLink
from education.services.links import LINK
from jobs.imports.services import IMPORT, directory_name
from jobs.models import Job, User, WorkFailure
from jobs.work_queue.selectors import failures
from portal.access import openable_jobs
from reports.mail.services.planning import PLANNING, account_name
from reports.selectors import REPORT
from reports.services.links import job_url


class Named(NamedTuple):
    """A piece of work in words, without a person's name, and where to read more; no address if there is none."""

    name: str
    url: str = ""


class Unmade(Enum):
    """Why a report has not been made yet."""

    WAITS = "waits"
    SET_ASIDE = "set_aside"


def unmade_report(run: Job) -> Unmade | None:
    """The state of a run without a report, if something failed."""
    judged = JobEfficiency.objects.filter(job=run).values("pk")
    rows = failures().filter(Q(kind=JUDGEMENT, key=run.pk) | Q(kind=REPORT, key__in=judged))
    aside = list(rows.values_list("set_aside_at", flat=True))
    if not aside:
        return None
    return Unmade.SET_ASIDE if any(aside) else Unmade.WAITS


def named_work(rows: Iterable[WorkFailure], reader: User) -> dict[int, Named]:
    """What these failures belong to, by their row; if it no longer exists, the number of the piece.

    Each kind costs the same few queries, however many failures there are.
    """
    rows, keys = list(rows), defaultdict(set)
    for row in rows:
        keys[row.kind].add(row.key)
    found = {kind: NAMES[kind](keys[kind], reader) if kind in NAMES else {} for kind in keys}
    return {row.pk: found[row.kind].get(row.key, Named(str(row.key))) for row in rows}


def _runs(keys: Collection[int], reader: User) -> dict[int, Named]:
    """A job's page is open to people who may see the job; administrators get no additional access."""
    runs = Job.objects.only("cluster", "job_id", "attempt").in_bulk(keys)
    openable = set(openable_jobs(reader, timezone.now()).filter(pk__in=keys).values_list("pk", flat=True))
    return {pk: Named(str(run), job_url(run) if pk in openable else "") for pk, run in runs.items()}


def _reports(keys: Collection[int], reader: User) -> dict[int, Named]:
    run_of = dict(JobEfficiency.objects.filter(pk__in=keys).values_list("pk", "job"))
    named = _runs(run_of.values(), reader)
    return {pk: named[run] for pk, run in run_of.items()}


def _accounts(keys: Collection[int], _: User) -> dict[int, Named]:
    return {pk: Named(account_name(pk), reverse("admin:jobs_user_change", args=[pk])) for pk in keys}


def _links(keys: Collection[int], _: User) -> dict[int, Named]:
    addresses = LessonLink.objects.filter(pk__in=keys).values_list("pk", "url")
    return {pk: Named(address, reverse("lesson-links")) for pk, address in addresses}


def _directories(keys: Collection[int], _: User) -> dict[int, Named]:
    return {key: Named(directory_name(key) or "the directory", reverse("directory-state")) for key in keys}


NAMES: dict[str, Callable[[Collection[int], User], dict[int, Named]]] = {
    JUDGEMENT: _runs,
    REPORT: _reports,
    PLANNING: _accounts,
    LINK: _links,
    IMPORT: _directories,
}
