"""An early word as every channel gives it, and what a message about some of them is called; pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analysis.early.findings import EarlyCode
from reports.early.wording import EarlyText
from reports.mail.view import calm
from reports.numbers import to_the_minute
from wire.numbers import counted

NAME_LENGTH_MAX = 60

Key = tuple[str, int]
"""Cluster and number of a job."""


@dataclass(frozen=True)
class ToldWord:
    """One word with its text; `job_name`, `project` and `username` are as others chose them, `url` its page.

    `gpu_hours_left` is what the job will still cost by its time limit; None where that is not known.
    """

    pk: int
    cluster: str
    job_id: int
    attempt: int
    job_name: str
    project: str
    username: str
    code: EarlyCode
    evidence: Mapping[str, Any]
    is_fact: bool
    confidence: float
    is_interactive: bool
    gpus: int | None
    started_at: datetime
    ends_at: datetime | None
    found_at: datetime
    held_at: datetime
    text: EarlyText
    url: str
    gpu_hours_left: float | None = None

    @property
    def key(self) -> Key:
        """Its job."""
        return self.cluster, self.job_id

    @property
    def job(self) -> str:
        """`train (lumi/123)`, or the number alone."""
        name = calm(self.job_name, NAME_LENGTH_MAX)
        number = f"{self.cluster}/{self.job_id}"
        return f"{name} ({number})" if name else f"job {number}"

    @property
    def sure(self) -> str:
        """How often such words are right; empty for what was counted."""
        return "" if self.is_fact else f"confidence {self.confidence * 100:.0f} %"


def early_subject(words: Sequence[ToldWord]) -> str:
    """What the words are about and how much: `8 GPUs of train (lumi/123) idle for 1 h 05 min`; of how many jobs."""
    first, jobs = words[0], len({word.key for word in words})
    told = AMOUNTS[first.code](first, first.evidence)
    if jobs > 1:
        return f"{jobs:,} jobs: {told}, and {counted(jobs - 1, 'more job')}"
    return told + (f", and {len(words) - 1} more" if len(words) > 1 else "")


def dearest_first(words: Sequence[ToldWord]) -> list[ToldWord]:
    """The words by what their jobs will still cost, the most first; those of one job stay together, in their order."""
    costs: dict[Key, float] = {}
    for word in words:
        costs[word.key] = max(costs.get(word.key, 0.0), word.gpu_hours_left or 0.0)
    places = {key: place for place, key in enumerate(costs)}
    return sorted(words, key=lambda word: (-costs[word.key], places[word.key]))


def first_jobs(words: Sequence[ToldWord], jobs_max: int) -> tuple[list[ToldWord], int]:
    """The words of so many jobs, the first ones; and how many jobs are left."""
    keys = list(dict.fromkeys(word.key for word in words))
    shown = set(keys[:jobs_max])
    return [word for word in words if word.key in shown], len(keys) - len(shown)


AMOUNTS: Mapping[EarlyCode, Callable[[ToldWord, Mapping[str, Any]], str]] = {
    EarlyCode.ALL_GPUS_IDLE: lambda word, seen: (
        f"{counted(seen['gpus'], 'GPU')} of {word.job} idle for {to_the_minute(seen['idle_s'])}"
    ),
    EarlyCode.CPU_ONLY: lambda word, seen: (
        f"{counted(seen['gpus'], 'GPU')} of {word.job} not used for {to_the_minute(seen['idle_s'])}"
    ),
    EarlyCode.SOME_GPUS_UNUSED: lambda word, seen: (
        f"{seen['unused_gpus']:,} of {counted(seen['gpus'], 'GPU')} of {word.job} not used"
    ),
    EarlyCode.SPINNING: lambda word, seen: (
        f"No step of {word.job} for {to_the_minute(seen['flat_s'])}"
        if "flat_s" in seen
        else f"GPUs of {word.job} probably wait, for {to_the_minute(seen['spinning_s'])}"
    ),
    EarlyCode.GPU_MEMORY_FULL: lambda word, _: f"GPU memory of {word.job} nearly full",
    EarlyCode.HOST_MEMORY_FILLING: lambda word, _: f"Host memory of {word.job} will probably run out",
    EarlyCode.LIMIT_TOO_SHORT: lambda word, _: f"Time limit of {word.job} probably too short",
}
