"""Other runs of the same work beside one run, and what was asked for differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jobs.models import Job
from reports.numbers import duration, gigabytes
from reports.services.links import job_url

ASKED: tuple[tuple[str, Callable[[Job], object]], ...] = (
    ("Partition", lambda run: run.partition or None),
    ("Nodes", lambda run: run.node_count),
    ("GPUs", lambda run: run.gpus_allocated),
    ("Tasks", lambda run: run.ntasks),
    ("Cores a task", lambda run: run.cpus_per_task),
    ("Memory", lambda run: None if run.memory_requested_gb is None else gigabytes(run.memory_requested_gb)),
    ("Time limit", lambda run: None if run.walltime_requested_s is None else duration(run.walltime_requested_s)),
)
"""What both of Slurm's records know, whatever spelling the user chose."""


@dataclass(frozen=True)
class SameWork:
    """One run of the work: `changes` is empty for the run that the others stand beside."""

    run: Job
    url: str
    is_this: bool
    changes: tuple[str, ...]


def same_work(run: Job, others: Sequence[Job]) -> list[SameWork]:
    """This run among the others, the latest first; nothing where there are none."""
    if not others:
        return []
    latest_first = sorted(
        [run, *others], key=lambda each: (each.ended_at is None, each.ended_at, each.pk), reverse=True
    )
    return [SameWork(each, job_url(each), each.pk == run.pk, tuple(changes(run, each))) for each in latest_first]


def changes(run: Job, other: Job) -> Iterator[str]:
    """What the other run asked for differently; nothing is said of what is not known of both."""
    for label, of in ASKED:
        here, there = of(run), of(other)
        if here is not None and there is not None and here != there:
            yield f"{label} {there}, here {here}"
