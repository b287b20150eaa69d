"""What was left of a job that was cancelled after an early word: time until its limit, and its bill; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.facts import JobFacts
from jobs.billing import gpu_hours

CANCELLED = "CANCELLED"


@dataclass(frozen=True)
class PastWord:
    """An early word about an ended job: what was found `found_s` after its start; `over_s` is when a later look no
    longer confirmed it, None where it held to the end."""

    code: str
    found_s: float
    over_s: float | None = None


@dataclass(frozen=True)
class Won:
    """A job ended `after_s` after the first word that held to its end, `left_s` before its time limit.

    `gpu_hours` is what the rest would have been billed at most, None where the partition has no price.
    """

    after_s: float
    left_s: float
    gpu_hours: float | None


def won(words: Sequence[PastWord], facts: JobFacts) -> Won | None:
    """What a cancelled job did not use after the first word that held to its end; None for any other end.

    Nobody knows why a job was cancelled: this is the time after the word, not its effect.
    """
    record = facts.record
    held = [word.found_s for word in words if word.over_s is None and word.found_s <= facts.elapsed_s]
    limit_s = record.walltime_requested_s
    if record.state != CANCELLED or not held or limit_s is None or limit_s <= facts.elapsed_s:
        return None
    left_s = limit_s - facts.elapsed_s
    return Won(facts.elapsed_s - min(held), left_s, gpu_hours(facts.partition, facts.held, left_s))
