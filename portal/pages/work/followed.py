"""Which advice on GPUs the runs of a work followed, and what that brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analysis.works.runs import PastRun
from analysis.works.selectors import followed_of_work

SHOWN_MAX = 10


@dataclass(frozen=True)
class FollowedAdvice:
    """One piece of advice: the run whose report gave it, and the runs that followed it.

    `saved_gpu_hours` adds up what each of them was billed less than that run.
    """

    advised: PastRun
    first: PastRun
    runs: int
    saved_gpu_hours: float


@dataclass(frozen=True)
class FollowedSum:
    """All advice that was followed, the latest first, as much of it as is `shown`, and the last one that was not."""

    shown: tuple[FollowedAdvice, ...]
    runs: int
    saved_gpu_hours: float
    given: int
    open: PastRun | None


def followed_advice(runs: Sequence[PastRun], since: datetime) -> FollowedSum:
    """What following advice brought among these runs, the latest first."""
    by_pk = {run.pk: run for run in runs}
    followed: dict[int, FollowedAdvice] = {}
    for each in followed_of_work(runs, since):
        before = followed.get(each.advised.pk)
        followed[each.advised.pk] = FollowedAdvice(
            advised=by_pk[each.advised.pk],
            first=before.first if before else by_pk[each.run.pk],
            runs=(before.runs if before else 0) + 1,
            saved_gpu_hours=(before.saved_gpu_hours if before else 0.0) + each.saved_gpu_hours,
        )
    given = [run for run in runs if run.gpus and run.recommended_gpus is not None and run.recommended_gpus < run.gpus]
    latest_first = sorted(followed.values(), key=lambda advice: (advice.first.ended_at, advice.first.pk), reverse=True)
    return FollowedSum(
        shown=tuple(latest_first[:SHOWN_MAX]),
        runs=sum(advice.runs for advice in latest_first),
        saved_gpu_hours=sum(advice.saved_gpu_hours for advice in latest_first),
        given=len(given),
        open=given[0] if given and given[0].pk not in followed else None,
    )
