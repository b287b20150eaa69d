"""Runs of a work that used no GPU at all: how many of the counted ones, and whether the latest still does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.works.best_request import is_without_gpu_use
from analysis.works.runs import PastRun


@dataclass(frozen=True)
class WithoutUse:
    """`runs` of `of` counted runs used no GPU and were billed `gpu_hours`; `is_over` where the latest used its GPUs."""

    runs: int
    of: int
    gpu_hours: float
    is_over: bool


def without_use(latest_first: Sequence[PastRun]) -> WithoutUse | None:
    """The runs without any GPU use among the judged, counted ones; None where every one used its GPUs."""
    counted = [run for run in latest_first if run.is_judged and not run.uncounted_reason and run.gpus]
    idle = [run for run in counted if is_without_gpu_use(run)]
    if not idle:
        return None
    hours = sum(run.gpu_hours or 0.0 for run in idle)
    return WithoutUse(len(idle), len(counted), hours, is_over=not is_without_gpu_use(counted[0]))
