"""The running jobs of a person: what the queue lists, what was measured of them so far, and the words that hold now.

Nothing here is part of a history: it is gone when a job ends, and its report replaces it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.urls import reverse

from analysis.early.figures import RunningFigures, figures_from
from analysis.early.models import EarlyWord, RunningRun
from analysis.early.selectors import visible_running
from jobs.models import QueuedJob
from jobs.queue.selectors import ended_meanwhile, running_gpu_jobs
from jobs.selectors import Reach
from portal.charts.queue_lines import Line, Reading, lines_of, queue_readings
from portal.charts.running_words import OverWord, ShownWord, over_words, shown_words, stored_words
from reports.early.wording import EarlyJob

LISTED_MAX, FEW_MAX = 20, 5
"""Running jobs that their own page lists, where the Queue page has all of them, and that other pages list."""

CONSIDERED_MAX = 500
"""The latest started jobs, among which those with a word come first."""

Key = tuple[str, int]


@dataclass(frozen=True)
class SilentNode:
    """A node that was heard, and its last sample, which is too long ago."""

    node: str
    since: datetime


@dataclass(frozen=True)
class RunningJob:
    """One running job; `line` is its row in the queue, `run` is None while nothing was measured.

    `figures` are None while the sweep has not looked at the first measurements. `now` is when this was read.
    """

    line: Line
    reading: Reading
    now: datetime
    run: RunningRun | None = None
    figures: RunningFigures | None = None
    words: tuple[ShownWord, ...] = ()
    words_over: tuple[OverWord, ...] = ()

    @property
    def job(self) -> QueuedJob:
        return self.line.job

    @property
    def name(self) -> str:
        """What people call it: its name, or its number where it has none."""
        return self.job.job_name or f"Job {self.line.shown_number}"

    @property
    def url(self) -> str:
        """Its page, which is that of its report later on."""
        return reverse("job", args=[self.job.cluster, self.job.job_id])

    @property
    def left_s(self) -> float | None:
        """Seconds until the time limit; None without one."""
        limit_s, ran_s = self.job.time_limit_s, self.line.ran_s
        return None if limit_s is None or ran_s is None else max(limit_s - ran_s, 0.0)

    @property
    def measured_until(self) -> datetime | None:
        return None if self.figures is None else self._at(self.figures.until_s)

    @property
    def idle_since(self) -> datetime | None:
        """Since when no GPU did anything, until `measured_until`; None while one works, or where it is not known."""
        since_s = self.figures.idle_since_s if self.figures else None
        return None if since_s is None else self._at(since_s)

    @property
    def silent_nodes(self) -> list[SilentNode]:
        """The nodes that were heard and have been silent for too long, the longest first; none where the queue is old:
        the job may have ended."""
        if self.figures is None or self.reading.is_old:
            return []
        limit = self.now - timedelta(seconds=settings.INTERIM_SILENT_SECONDS)
        heard = [SilentNode(each.node, self._at(each.until_s)) for each in self.figures.longest_silent if each.until_s]
        return [node for node in heard if node.since < limit]

    def _at(self, second: float) -> datetime:
        """A second of the job as an instant."""
        return (self.job.started_at or self.now) + timedelta(seconds=second)


@dataclass(frozen=True)
class RunningJobs:
    """The running jobs to list, those with a word first, then the latest start first; `count` are all of them.

    `is_more` where even more run than were counted. `readings` are the queues that they are from.
    """

    rows: list[RunningJob]
    count: int
    is_more: bool
    readings: list[Reading]

    @property
    def names_owner(self) -> bool:
        return any(not row.line.is_own for row in self.rows)

    @property
    def old_readings(self) -> list[Reading]:
        """Queues that were not read lately, of those with jobs here."""
        shown = {row.job.cluster for row in self.rows}
        return [reading for reading in self.readings if reading.is_old and reading.row.cluster in shown]


def running_jobs(
    reach: Reach, now: datetime, limit: int = LISTED_MAX, *, is_own: bool = False, job_id: int | None = None
) -> RunningJobs:
    """The running jobs that a person sees, or their own alone, or those of one number, also of an array: eight queries
    however many they are."""
    listed = running_gpu_jobs(reach).filter(**({"user": reach.user_id} if is_own else {}))
    if job_id is not None:
        listed = listed.filter(job_id=job_id) | listed.filter(array_job_id=job_id)
    jobs = list(listed[: CONSIDERED_MAX + 1])
    readings = {reading.row.cluster: reading for reading in queue_readings(now)} if jobs else {}
    over = ended_meanwhile(reach, jobs) if jobs else set()
    rows = _rows([job for job in jobs[:CONSIDERED_MAX] if job.pk not in over], readings, reach, now)
    rows.sort(key=lambda row: not row.words)
    return RunningJobs(rows[:limit], len(rows), len(jobs) > CONSIDERED_MAX, list(readings.values()))


def running_job(reach: Reach, cluster: str, job_id: int, now: datetime) -> RunningJob | None:
    """One running job that a person sees; None where it does not run, or no longer. One query where nothing runs."""
    jobs = list(running_gpu_jobs(reach).filter(cluster=cluster, job_id=job_id))
    if not jobs or ended_meanwhile(reach, jobs):
        return None
    readings = {reading.row.cluster: reading for reading in queue_readings(now)}
    return next(iter(_rows(jobs, readings, reach, now)), None)


def _rows(jobs: Sequence[QueuedJob], readings: Mapping[str, Reading], reach: Reach, now: datetime) -> list[RunningJob]:
    """These jobs with what was measured of them: two queries. What is old is as of when the queue was read."""
    known = {cluster: each for cluster, each in readings.items() if each.row.read_at is not None}
    as_of = {cluster: (each.row.read_at or now) if each.is_old else now for cluster, each in known.items()}
    runs = _runs(jobs, reach)
    figures = {key: figures_of(run) for key, run in runs.items()}
    keys = {(run.cluster, run.job_id, run.attempt) for key, run in runs.items() if figures[key]}
    words = stored_words(reach, keys)
    rows = []
    for line in lines_of(jobs, as_of, reach.user_id):
        run = runs.get(key := _key(line.job))
        found = words.get((run.cluster, run.job_id, run.attempt), ()) if run else ()
        rows.append(_row(line, known[line.job.cluster], now, run, figures.get(key), found))
    return rows


def _row(
    line: Line,
    reading: Reading,
    now: datetime,
    run: RunningRun | None,
    figures: RunningFigures | None,
    words: Sequence[EarlyWord],
) -> RunningJob:
    described = RunningJob(line, reading, now, run, figures)
    if not words:
        return described
    shown = shown_words(words, _as_worded(described, words))
    return replace(described, words=shown, words_over=over_words(words))


def _as_worded(row: RunningJob, words: Sequence[EarlyWord]) -> EarlyJob:
    """What the text of a word needs to know of its job."""
    job, cost = row.job, row.line.cost
    more = None if cost.at_limit is None or cost.used is None else cost.at_limit - cost.used
    return EarlyJob(
        cluster=job.cluster,
        job_id=job.job_id,
        job_name=job.job_name,
        nodes=tuple(sorted(each.node for each in row.figures.longest_silent)) if row.figures else (),
        partition=job.partition,
        is_interactive=any(word.is_interactive for word in words),
        started_at=job.started_at,
        ends_at=row.line.ends_at,
        gpus=job.gpus or 0,
        gpu_hours_so_far=cost.used,
        gpu_hours_to_limit=more,
    )


def _runs(jobs: Sequence[QueuedJob], reach: Reach) -> dict[Key, RunningRun]:
    """What was measured of these jobs; the last attempt of each."""
    began = {_key(job): job.started_at for job in jobs}
    rows = visible_running(reach).filter(job_id__in={job.job_id for job in jobs}).order_by("attempt")
    # After a requeue the queue states another start than that of the attempt that was measured.
    return {key: row for row in rows if began.get(key := (row.cluster, row.job_id)) == row.started_at}


def figures_of(run: RunningRun) -> RunningFigures | None:
    """What is shown of a run; None where nothing was measured since its start, as after a requeue."""
    figures = figures_from(run.figures)
    return figures if figures and figures.until_s > 0 else None


def _key(job: QueuedJob) -> Key:
    return job.cluster, job.job_id
