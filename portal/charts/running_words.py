"""Early words as pages and the API show them: the stored rows with their text, the most important first."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from analysis.early.findings import EarlyCode
from analysis.early.models import EarlyWord
from analysis.early.selectors import visible_words
from jobs.selectors import Reach
from reports.early.wording import EarlyJob, EarlyText, early_text, early_title

RunKey = tuple[str, int, int]
"""Cluster, number and attempt."""

IMPORTANCE = [code.value for code in EarlyCode]


@dataclass(frozen=True)
class ShownWord:
    """One word that holds, and its text; `since_s` is since when it holds, in seconds from the job's start."""

    row: EarlyWord
    text: EarlyText

    @property
    def since_s(self) -> float | None:
        since_s = self.row.evidence.get("since_s")
        return float(since_s) if isinstance(since_s, int | float) else None

    @property
    def since(self) -> datetime | None:
        return None if self.since_s is None else self.row.started_at + timedelta(seconds=self.since_s)

    @property
    def confidence_percent(self) -> int:
        """How often such words are right, in percent."""
        return round(100 * self.row.confidence)


@dataclass(frozen=True)
class OverWord:
    """One word that was found and holds no longer."""

    code: str
    title: str
    found_at: datetime
    over_at: datetime


def stored_words(reach: Reach, keys: Collection[RunKey]) -> dict[RunKey, list[EarlyWord]]:
    """The words about these runs, as far as this person sees them, by run: one query, none for no run."""
    found: dict[RunKey, list[EarlyWord]] = {}
    if not keys:
        return found
    numbers = {job_id for _, job_id, _ in keys}
    for word in visible_words(reach).filter(job_id__in=numbers).order_by("found_at", "pk"):
        if (key := (word.cluster, word.job_id, word.attempt)) in keys:
            found.setdefault(key, []).append(word)
    return found


def shown_words(rows: Iterable[EarlyWord], job: EarlyJob) -> tuple[ShownWord, ...]:
    """The words of one job that hold; those that this version does not know are left out."""
    holding = (row for row in rows if row.over_at is None and row.code in IMPORTANCE)
    known = sorted(holding, key=lambda row: IMPORTANCE.index(row.code))
    return tuple(ShownWord(row, early_text(EarlyCode(row.code), row.evidence, job)) for row in known)


def over_words(rows: Iterable[EarlyWord]) -> tuple[OverWord, ...]:
    """The words of one job that hold no longer, the latest first."""
    over = [
        OverWord(row.code, _title(row), row.found_at, row.over_at)
        for row in rows
        if row.over_at is not None and row.code in IMPORTANCE
    ]
    return tuple(sorted(over, key=lambda word: word.over_at, reverse=True))


def _title(row: EarlyWord) -> str:
    return early_title(EarlyCode(row.code), row.evidence, is_interactive=row.is_interactive)
