"""What jobs of others waited for while a run left GPUs idle, as one sentence of the page of the run."""

from __future__ import annotations

from analysis.waiting.models import IdleHold
from analysis.waiting.rule import COUNTED_EXACTLY, shown_count


def waited_text(hold: IdleHold | None, *, is_owner: bool) -> str:
    """The sentence, never who waited or how many people; empty where nothing may be shown."""
    if hold is None or hold.could_start is None:
        return ""
    count = shown_count(hold.could_start)
    jobs = f"up to {count}" if hold.could_start < COUNTED_EXACTLY else f"{count:,} or more"
    gpus = "this GPU" if hold.idle_gpus == 1 else f"these {hold.idle_gpus:,} GPUs"
    left = "one GPU" if hold.idle_gpus == 1 else "GPUs"
    return (
        f"While {'your' if is_owner else 'this'} job left {left} idle, jobs of other people that fit there waited:"
        f" {jobs} of them could probably have started on {gpus}. This is an estimate: Slurm may have kept them waiting"
        " for other reasons, such as cores, memory or priorities."
    )
