"""Early words with their texts, read for any channel; and the sample that shows what would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from analysis.early.figures import figures_from
from analysis.early.findings import EarlyCode
from analysis.early.models import EarlyWord, RunningRun
from jobs.models import QueuedJob, User
from reports.early.told import ToldWord
from reports.early.wording import EarlyJob, early_text
from reports.services.links import address

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
    return [
        told_word(word, _job(word, queued.get((word.cluster, word.job_id)), runs.get(_key(word)), now), now)
        for word in words
    ]


def told_word(word: EarlyWord, job: EarlyJob, now: datetime) -> ToldWord:
    """One word with its text."""
    code = EarlyCode(word.code)
    return ToldWord(
        pk=word.pk,
        cluster=word.cluster,
        job_id=word.job_id,
        attempt=word.attempt,
        job_name=word.job_name,
        project=word.project.name,
        username=word.user.username,
        code=code,
        evidence=word.evidence,
        is_fact=word.is_fact,
        confidence=word.confidence,
        is_interactive=word.is_interactive,
        gpus=word.gpus,
        started_at=word.started_at,
        ends_at=word.ends_at,
        found_at=word.found_at,
        held_at=word.held_at,
        text=early_text(code, word.evidence, job),
        url=address("job", word.cluster, word.job_id),
        gpu_hours_left=_left(word, now),
    )


def sample_word(user: User, now: datetime) -> ToldWord:
    """What a message states, of a job that does not exist: 8 GPUs idle since the start, 1 h 05 min ago, of 4 h."""
    started_at = now - timedelta(seconds=SAMPLE_IDLE_S)
    ends_at, code = started_at + SAMPLE_LIMIT, EarlyCode.ALL_GPUS_IDLE
    job = EarlyJob(
        "lumi",
        SAMPLE_JOB,
        "sample",
        partition="standard-g",
        started_at=started_at,
        ends_at=ends_at,
        gpus=SAMPLE_GPUS,
        gpu_hours_so_far=_hours(SAMPLE_HOUR, started_at, now),
        gpu_hours_to_limit=_hours(SAMPLE_HOUR, now, ends_at),
    )
    return ToldWord(
        pk=0,
        cluster="lumi",
        job_id=SAMPLE_JOB,
        attempt=0,
        job_name="sample",
        project="project_465000000",
        username=user.username,
        code=code,
        evidence=SAMPLE_SEEN,
        is_fact=True,
        confidence=1.0,
        is_interactive=False,
        gpus=SAMPLE_GPUS,
        started_at=started_at,
        ends_at=ends_at,
        found_at=now,
        held_at=now,
        text=early_text(code, SAMPLE_SEEN, job),
        url=address("about"),
    )


def _key(word: EarlyWord) -> tuple[str, int, int]:
    return word.cluster, word.job_id, word.attempt


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
