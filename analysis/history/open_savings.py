"""Which stated savings are still open, work by work: those that no later run of the work has changed since.

A run that went worse changes nothing: without GPU use, failed, or unmeasured, it shows no better request at work.
Whether its request follows advice is `analysis.outcomes.following.how_followed`, the rule by which advice is credited.
What is open is not simply what was not credited: a request that was there before the report existed is not credited to
it, and leaves nothing open; and what one run did not follow, the next may have.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from analysis.outcomes.following import Status, how_followed
from jobs.sbatch import Shape

GPUS = "gpus"


@dataclass(frozen=True)
class StatedRun:
    """One counted run of a work and what its page states; `saved_gpu_hours` is None where it states no saving.

    `shape` is what it was allocated; `advice` the kind and the shape of the advice that changes the bill, None without
    any. `is_success`: it completed and its GPUs were measured.
    """

    work: str
    pk: int
    ended_at: datetime
    shape: Shape
    saved_gpu_hours: float | None
    advice: tuple[str, Shape] | None
    is_success: bool
    has_gpu_use: bool


@dataclass(frozen=True)
class WorkSaving:
    """The open savings of one work added up: of how many runs, and the latest of these runs by its key.

    `advised_gpus` are the numbers of GPUs that the reports of these runs suggest, the fewest first; `pks` are the keys
    of these runs, the earliest first.
    """

    work: str
    jobs: int
    gpu_hours: float
    latest_pk: int
    advised_gpus: tuple[int, ...] = ()
    pks: tuple[int, ...] = ()


@dataclass(frozen=True)
class OpenSavings:
    """The works with open savings, most first; `changed_gpu_hours` is what later runs have changed already."""

    works: tuple[WorkSaving, ...]
    changed_gpu_hours: float


def open_savings(runs: Iterable[StatedRun]) -> OpenSavings:
    """Every stated saving once: open, or changed by a later run of the same work.

    >>> from datetime import UTC, timedelta
    >>> day = [datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=days) for days in range(3)]
    >>> fewer, none = ("gpus", Shape(1, 2)), ("gpus", Shape(1, 0))
    >>> wide = StatedRun("cp2k", 7, day[0], Shape(1, 8), 6.0, fewer, is_success=True, has_gpu_use=True)
    >>> worse = StatedRun("cp2k", 8, day[1], Shape(1, 8), None, none, is_success=True, has_gpu_use=False)
    >>> open_savings([wide, worse]).works
    (WorkSaving(work='cp2k', jobs=1, gpu_hours=6.0, latest_pk=7, advised_gpus=(2,), pks=(7,)),)
    >>> followed = StatedRun("cp2k", 9, day[2], Shape(1, 2), None, None, is_success=True, has_gpu_use=True)
    >>> open_savings([wide, worse, followed])
    OpenSavings(works=(), changed_gpu_hours=6.0)
    """
    by_work: dict[str, list[StatedRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.ended_at, run.pk)):
        by_work[run.work].append(run)
    found: list[WorkSaving] = []
    changed_gpu_hours = 0.0
    for work, ordered in by_work.items():
        still_open = _still_open(ordered)
        hours = [run.saved_gpu_hours or 0.0 for run in still_open]
        changed_gpu_hours += sum(run.saved_gpu_hours or 0.0 for run in ordered) - sum(hours)
        if still_open:
            gpus = {run.advice[1].gpus for run in still_open if run.advice is not None}
            pks = tuple(run.pk for run in still_open)
            found.append(WorkSaving(work, len(pks), sum(hours), pks[-1], tuple(sorted(gpus)), pks))
    found.sort(key=lambda saving: (-saving.gpu_hours, saving.work))
    return OpenSavings(tuple(found), changed_gpu_hours)


def _still_open(ordered: Sequence[StatedRun]) -> list[StatedRun]:
    """The runs of one work, the earliest first, whose saving stands after all later ones."""
    still_open: list[StatedRun] = []
    for run in ordered:
        if still_open and _has_changed(still_open, run):
            still_open = []
        if run.saved_gpu_hours is not None and run.saved_gpu_hours > 0:
            still_open.append(run)
    return still_open


def _has_changed(still_open: Sequence[StatedRun], run: StatedRun) -> bool:
    """Whether a later run followed the last advice, or did well with a request that leaves nothing to save."""
    if not run.is_success:
        return False
    last = next((earlier for earlier in reversed(still_open) if earlier.advice is not None), None)
    if last is not None and last.advice is not None and (run.has_gpu_use or not last.has_gpu_use):
        kind, wanted = last.advice
        if how_followed(last.shape, kind, wanted, run.shape) is Status.FOLLOWED:
            return True
    is_advised = run.advice is not None and run.advice[0] == GPUS
    return run.has_gpu_use and run.saved_gpu_hours is None and not is_advised
