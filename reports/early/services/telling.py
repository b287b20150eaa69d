"""Early words with their texts, read for any channel; and the sample that shows what would be sent."""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

from analysis.early.figures import figures_from
from analysis.early.findings import EarlyCode
from analysis.early.models import EarlyWord, RunningRun
from jobs.models import Project, QueuedJob, User
from reports.early.told import ToldWord
from reports.early.wording import EarlyJob, early_text
from reports.services.links import address

SAME_NAMES = {field.name for field in fields(ToldWord)} & {"pk", *(field.name for field in EarlyWord._meta.fields)}
SAME_NAMES -= {"project", "code"}
"""What a word has as every channel gives it."""

HOUR_S = 3600.0
SAMPLE_JOB, SAMPLE_GPUS, SAMPLE_IDLE_S = 123456, 8, 3900.0
SAMPLE_LIMIT, SAMPLE_HOUR = timedelta(hours=4), 4.0
"""The time limit, and what an hour of a whole node of LUMI-G is billed: 4 GPU-hours (`jobs/sites/lumi.toml`)."""

SAMPLE_SEEN = {"gpus": SAMPLE_GPUS, "idle_s": SAMPLE_IDLE_S, "since_s": 0.0, "until_s": SAMPLE_IDLE_S}


def told_words(words: Sequence[EarlyWord], now: datetime) -> list[ToldWord]:
    """These words with their texts, in their order; `user` and `project` of each are read already: two queries."""
    ids = {word.job_id for word in words}
    queued = {(job.cluster, job.job_id): job for job in QueuedJob.objects.filter(job_id__in=ids)}
    runs = {(run.cluster, run.job_id, run.attempt): run for run in RunningRun.objects.filter(job_id__in=ids)}
    told = []
    for word in words:
        job = word.cluster, word.job_id
        told.append(told_word(word, _job(word, queued.get(job), runs.get((*job, word.attempt)), now), now))
    return told


def told_word(word: EarlyWord, job: EarlyJob, now: datetime) -> ToldWord:
    """One word with its text."""
    code = EarlyCode(word.code)
    return ToldWord(
        project=word.project.name,
        username=word.user.username,
        code=code,
        text=early_text(code, word.evidence, job),
        url=address("job", word.cluster, word.job_id),
        gpu_hours_left=_left(word, now),
        **{name: getattr(word, name) for name in SAME_NAMES},
    )


def sample_word(user: User, now: datetime) -> ToldWord:
    """What a message states, of a job that does not exist: 8 GPUs idle since the start, 1 h 05 min ago, of 4 h."""
    started_at = now - timedelta(seconds=SAMPLE_IDLE_S)
    word = EarlyWord(
        **{"pk": 0, "cluster": "lumi", "job_id": SAMPLE_JOB, "job_name": "sample", "gpus": SAMPLE_GPUS},
        **{"user": user, "project": Project(name="project_465000000"), "is_interactive": False},
        **{"code": EarlyCode.ALL_GPUS_IDLE, "evidence": SAMPLE_SEEN, "is_fact": True, "confidence": 1.0},
        **{"started_at": started_at, "ends_at": started_at + SAMPLE_LIMIT, "found_at": now, "held_at": now},
        gpu_hours_per_hour=SAMPLE_HOUR,
    )
    job = _job(word, QueuedJob(partition="standard-g"), None, now)
    return replace(told_word(word, job, now), url=address("about"), gpu_hours_left=None)


def _job(word: EarlyWord, queued: QueuedJob | None, run: RunningRun | None, now: datetime) -> EarlyJob:
    figures = figures_from(run.figures) if run else None
    price = word.gpu_hours_per_hour
    return EarlyJob(
        cluster=word.cluster,
        job_id=word.job_id,
        job_name=word.job_name,
        nodes=tuple(sorted(heard.node for heard in figures.longest_silent)) if figures else (),
        partition=queued.partition if queued else "",
        is_interactive=word.is_interactive,
        started_at=word.started_at,
        ends_at=word.ends_at,
        gpus=word.gpus or 0,
        gpu_hours_so_far=_hours(price, word.started_at, now),
        gpu_hours_to_limit=_hours(price, now, word.ends_at),
    )


def _left(word: EarlyWord, now: datetime) -> float | None:
    """What the job will still cost; where the site has no price in GPU-hours, its GPUs times the time left."""
    price = word.gpu_hours_per_hour
    return _hours(float(word.gpus or 0) if price is None else price, now, word.ends_at)


def _hours(price: float | None, since: datetime, until: datetime | None) -> float | None:
    """What the time between is billed; None without a price or an end."""
    if price is None or until is None:
        return None
    return price * max((until - since).total_seconds(), 0.0) / HOUR_S
