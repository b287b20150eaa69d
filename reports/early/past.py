"""What the report of an ended job states about the early words of its time; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.early.findings import EarlyCode
from analysis.early.won import PastWord, Won, won
from analysis.facts import JobFacts
from wire.numbers import duration, hours

WERE: dict[str, str] = {
    EarlyCode.ALL_GPUS_IDLE.value: "no GPU of the job was doing anything",
    EarlyCode.CPU_ONLY.value: "the job was using its CPU cores and none of its GPUs",
    EarlyCode.SOME_GPUS_UNUSED.value: "some GPUs of the job had never been used",
    EarlyCode.SPINNING.value: "the GPUs were busy at low power, as they are when programs wait",
    EarlyCode.GPU_MEMORY_FULL.value: "GPU memory was almost full",
    EarlyCode.HOST_MEMORY_FILLING.value: "host memory was heading for its limit",
    EarlyCode.LIMIT_TOO_SHORT.value: "the time limit was about to end the job before its work was done",
}


@dataclass(frozen=True)
class EarlyView:
    """The early words of an ended job, what was left of it after them, and both as sentences."""

    words: tuple[PastWord, ...]
    won: Won | None
    texts: tuple[str, ...]


def early_view(words: Sequence[PastWord], facts: JobFacts) -> EarlyView | None:
    """What to state about these words of a job; None where there were none."""
    known = tuple(word for word in words if word.code in WERE)
    if not known:
        return None
    left = won(known, facts)
    return EarlyView(known, left, tuple(_sentences(known, left)))


def _sentences(words: Sequence[PastWord], left: Won | None) -> Iterator[str]:
    for word in words:
        over = "" if word.over_s is None else f" {duration(word.over_s)} after the start this was over."
        yield f"{duration(word.found_s)} after the start, Kaiku noticed that {WERE[word.code]}.{over}"
    if left is None:
        return
    since = "after that" if len(words) == 1 else "after the first of these that held to the end"
    cancelled = (
        f"The job was cancelled {duration(left.after_s)} {since}, {duration(left.left_s)} before its time limit."
    )
    if left.gpu_hours is None:
        yield cancelled
    else:
        yield f"{cancelled} Until then it could have used up to {hours(left.gpu_hours)} more GPU-hours."
