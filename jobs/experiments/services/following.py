"""Following runs by their jobs: linking the records of stated jobs, and the status that both sides decide.

A sweep asks for what is due; nothing calls it when a record arrives. A run whose job has ended is an addition to what
is known of that job, so the job counts as changed and is judged again.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from jobs.experiments.models import ExperimentRun, RunJob
from jobs.experiments.rules import CLOCKS_APART, Attempt, attempts_of_run
from jobs.experiments.selectors import jobs_of, lost_in_queue, open_runs, runs_of_changed_jobs, unlinked_with_record
from jobs.experiments.status import JobWord, Reported, RunWord, Status, decided
from jobs.models import Job
from jobs.queue.selectors import fresh_readings, listed_in, states_in_queue
from jobs.runs.services import touch_ended_runs
from jobs.work_queue.services import Work, attempt_each

FOLLOWING = "experiment run"
"""The kind of work under which a failure is recorded; its key is the run's row."""

LOOKED_AT_TOGETHER = 500
COLUMNS = ("status", "ended_at", "is_by_slurm", "job_revision")


def follow_runs(limit: int, now: datetime) -> int:
    """Link and decide up to `limit` runs that are due; how many changed."""
    work = Work(FOLLOWING, partial(follow_run, now=now), name=lambda run_pk: f"run {run_pk}")
    return attempt_each(work, _due_pages(now), now, limit).done


def follow_run(run_pk: int, now: datetime) -> bool:
    """Link one run to the records of its jobs and decide its status; whether that changed anything."""
    with transaction.atomic():
        run = _locked().filter(pk=run_pk).first()
        if run is None:
            return False
        is_linked = _link(run, now)
        is_changed = settle(run, now)
        if is_linked or is_changed:
            touch_ended_runs(linked_jobs(run), now)
    return is_linked or is_changed


def settle(run: ExperimentRun, now: datetime) -> bool:
    """Decide the status of a run that the caller has locked, and store it; whether it changed."""
    job, revision = job_words([run], now)[run.pk]
    found = decided(run_word(run), job, now, silent_after())
    columns = dict(zip(COLUMNS, (found.status, found.ended_at, found.is_by_slurm, revision), strict=True))
    changed = [name for name, value in columns.items() if getattr(run, name) != value]
    for name in changed:
        setattr(run, name, columns[name])
    if changed:
        run.save(update_fields=changed)
    return bool(set(changed) - {"job_revision"})


def note_event(username: str, cluster: str, job_id: int, state: str, now: datetime) -> int:
    """Store that a job of this person ended, as a collector's webhook reports it; how many runs that ended.

    Slurm's record decides as soon as it is there.
    """
    told = RunJob.objects.filter(job_id=job_id, run__owner__username=username, cluster__in=("", cluster))
    noted = 0
    for run_pk in sorted(set(told.values_list("run_id", flat=True))):
        with transaction.atomic():
            run = _locked().filter(pk=run_pk).first()
            if run is not None and _is_latest(run, job_id) and cluster in _clusters(run, job_id, now, cluster):
                run.event_state, run.event_at = state, now
                run.save(update_fields=["event_state", "event_at"])
                settle(run, now)
                noted += 1
    return noted


def run_word(run: ExperimentRun) -> RunWord:
    """What the script of a run reported."""
    times = run.started_at, run.created_at, run.reported_at, run.heard_at, run.reported_end_at
    return RunWord(Reported(run.reported), *times)


def job_words(runs: Sequence[ExperimentRun], now: datetime) -> dict[int, tuple[JobWord | None, int | None]]:
    """What Slurm reports of the latest job of each run, and the revision of its record; None for what is not known.

    The record comes first, then what a webhook reported, then the queue, as far as it was read lately.
    """
    stated = jobs_of(runs)
    found = {run.pk: _recorded_word(stated.get(run.pk, [])) or _event_word(run) for run in runs}
    asked = {
        run.pk: (run.owner_id, stated[run.pk][-1].cluster, stated[run.pk][-1].job_id)
        for run in runs
        if run.pk in stated and found[run.pk] is None
    }
    states = states_in_queue(asked.values(), now) if asked else {}
    queued = {pk: JobWord(states[key]) for pk, key in asked.items() if key in states}
    return {pk: word or (queued.get(pk), None) for pk, word in found.items()}


def silent_after() -> timedelta:
    """How long a run without a word counts as running."""
    return timedelta(minutes=settings.RUN_SILENT_MINUTES)


def _recorded_word(rows: Sequence[RunJob]) -> tuple[JobWord, int] | None:
    linked = [row.linked_job for row in rows if row.linked_job is not None]
    job = max(linked, key=_begin, default=None)
    if job is None or not (rows[-1].linked_job is not None or rows[-1].job_id == job.job_id):
        return None
    return JobWord(job.state, job.started_at, job.ended_at), job.revision


def _event_word(run: ExperimentRun) -> tuple[JobWord, None] | None:
    return (JobWord(run.event_state, None, run.event_at), None) if run.event_state else None


def _begin(job: Job) -> tuple[bool, datetime | None, int]:
    return job.started_at is not None, job.started_at or job.changed_at, job.attempt


def _is_latest(run: ExperimentRun, job_id: int) -> bool:
    latest = run.run_jobs.order_by("-stated_at", "-pk").first()
    return latest is not None and latest.job_id == job_id


def _clusters(run: ExperimentRun, job_id: int, now: datetime, otherwise: str) -> set[str]:
    """Where the latest job of a run is: as stated or recorded, else where its owner has a job of that number that did
    not end before the run began, `otherwise` while none is known."""
    stated = run.run_jobs.filter(job_id=job_id).exclude(cluster="").values_list("cluster", flat=True)
    of_owner = Job.objects.filter(job_id=job_id, user=run.owner_id).exclude(ended_at__lt=run.started_at - CLOCKS_APART)
    listed = listed_in(fresh_readings(now)).filter(job_id=job_id, user=run.owner_id)
    known = {*of_owner.values_list("cluster", flat=True), *listed.values_list("cluster", flat=True)}
    return set(stated) or known or {otherwise}


def _link(run: ExperimentRun, now: datetime) -> bool:
    """Link the stated jobs of this run that have a record now; whether any was."""
    is_linked = False
    for row in RunJob.objects.filter(run=run, linked_job__isnull=True):
        jobs = _recorded(run, row)
        attempts = [Attempt(job.pk, job.attempt, job.state, job.started_at, job.ended_at) for job in jobs]
        if not attempts:
            continue
        chosen = attempts_of_run(attempts, run.started_at, run.heard_at)
        is_linked |= _store_links(row, {attempt.pk for attempt in chosen}, {job.pk: job for job in jobs})
        if not max(attempts, key=lambda attempt: attempt.attempt).may_go_on:
            row.delete()
    return is_linked


def _store_links(row: RunJob, wanted: set[int], jobs: dict[int, Job]) -> bool:
    linked = RunJob.objects.filter(run=row.run_id, linked_job__in=wanted).values_list("linked_job", flat=True)
    new = sorted(wanted - set(linked))
    RunJob.objects.bulk_create(
        RunJob(
            run_id=row.run_id, cluster=jobs[pk].cluster, job_id=row.job_id, linked_job=jobs[pk], stated_at=row.stated_at
        )
        for pk in new
    )
    return bool(new)


def _recorded(run: ExperimentRun, row: RunJob) -> Sequence[Job]:
    """The recorded attempts of a stated job that are of the run's owner: nobody else's is ever linked."""
    jobs = Job.objects.filter(job_id=row.job_id, user=run.owner_id).order_by("attempt", "pk")
    return list(jobs.filter(cluster=row.cluster) if row.cluster else jobs)


def linked_jobs(run: ExperimentRun) -> list[int]:
    """The jobs of a run that have a record."""
    rows = RunJob.objects.filter(run=run, linked_job__isnull=False)
    return sorted(rows.values_list("linked_job", flat=True))


def _locked() -> QuerySet[ExperimentRun]:
    return ExperimentRun.objects.select_for_update(no_key=True, of=("self",))


def _due_pages(now: datetime) -> Iterator[list[int]]:
    """Runs whose stated job has a record now, whose job's record changed, and open ones whose status would change."""
    linkable = unlinked_with_record(now).order_by().values_list("run_id", flat=True).distinct()
    yield from _pages(linkable)
    yield from _pages(runs_of_changed_jobs(now).order_by().values_list("pk", flat=True).distinct())
    silent_since = now - silent_after()
    heard_again = ExperimentRun.objects.filter(status=Status.LOST, heard_at__gte=silent_since)
    yield from _pages(heard_again.values_list("pk", flat=True))
    silent = open_runs().exclude(status=Status.LOST).filter(heard_at__lt=silent_since)
    for page in (*_pages(silent.values_list("pk", flat=True)), *_pages(lost_in_queue(now))):
        yield _would_change(page, now)


def _would_change(page: Sequence[int], now: datetime) -> list[int]:
    """Those of these runs whose status would be another one now: three queries."""
    runs = list(ExperimentRun.objects.filter(pk__in=page))
    words = job_words(runs, now)
    decisions = ((run, decided(run_word(run), words[run.pk][0], now, silent_after())) for run in runs)
    return [run.pk for run, found in decisions if (found.status, found.ended_at) != (run.status, run.ended_at)]


def _pages(keys: Iterable[int]) -> Iterator[list[int]]:
    left = list(keys)
    yield from (left[first : first + LOOKED_AT_TOGETHER] for first in range(0, len(left), LOOKED_AT_TOGETHER))
