"""Which stated savings are still open, against cases worked by hand before the rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from analysis.history.open_savings import StatedRun, open_savings

FIRST = datetime(2026, 11, 1, 12, tzinfo=UTC)
WIDE = StatedRun("cp2k", 1, FIRST, 8, 67.3, 2, is_success=True, has_gpu_use=True)
"""Eight GPUs, of which its page advises two and states that they save 67.3."""
UNUSED = replace(WIDE, saved_gpu_hours=None, advised_gpus=0, has_gpu_use=False)
NARROW = replace(WIDE, gpus=2, saved_gpu_hours=None, advised_gpus=None)
FITTING = replace(WIDE, saved_gpu_hours=None, advised_gpus=None)


@dataclass(frozen=True)
class Case:
    """`runs` in the order in which they ended; then the open GPU-hours, of how many runs, and those changed."""

    name: str
    runs: tuple[StatedRun, ...]
    gpu_hours: float
    jobs: int
    changed_gpu_hours: float = 0.0


CASES = (
    Case("one run", (WIDE,), 67.3, 1),
    Case("the same run again adds up", (WIDE, replace(WIDE, saved_gpu_hours=10.0)), 77.3, 2),
    Case("a later run without any GPU use did worse", (WIDE, UNUSED), 67.3, 1),
    Case("a later run that failed on fewer GPUs changed nothing", (WIDE, replace(NARROW, is_success=False)), 67.3, 1),
    Case("a later unmeasured run neither", (WIDE, replace(FITTING, is_success=False)), 67.3, 1),
    Case("advice without a stated saving is no better request", (WIDE, replace(FITTING, advised_gpus=4)), 67.3, 1),
    Case("a later run followed the advice", (WIDE, NARROW), 0.0, 0, 67.3),
    Case("it followed, and another saving is left", (WIDE, replace(NARROW, saved_gpu_hours=1.5)), 1.5, 1, 67.3),
    Case("on three GPUs it did not follow all of it", (WIDE, replace(WIDE, gpus=3, saved_gpu_hours=4.0)), 71.3, 2),
    Case("a later run uses all that it requests", (WIDE, FITTING), 0.0, 0, 67.3),
    Case(
        "followed once, and back to the old request", (WIDE, NARROW, replace(WIDE, saved_gpu_hours=8.0)), 8.0, 1, 67.3
    ),
    Case("a later worse run does not undo what was followed", (WIDE, NARROW, UNUSED), 0.0, 0, 67.3),
    Case(
        "one GPU to find out why none is used is followed by a run that uses none",
        (replace(UNUSED, saved_gpu_hours=7.0, advised_gpus=1), replace(UNUSED, gpus=1)),
        *(0.0, 0, 7.0),
    ),
    Case("nothing stated", (FITTING, UNUSED), 0.0, 0),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_open_savings_of_the_hand_worked_cases(case: Case) -> None:
    runs = [replace(run, pk=n, ended_at=FIRST + timedelta(days=n)) for n, run in enumerate(case.runs)]
    found = open_savings(reversed(runs))
    assert sum(work.gpu_hours for work in found.works) == pytest.approx(case.gpu_hours)
    assert sum(work.jobs for work in found.works) == case.jobs
    assert found.changed_gpu_hours == pytest.approx(case.changed_gpu_hours)
    stated = sum(run.saved_gpu_hours or 0.0 for run in case.runs)
    assert case.gpu_hours + case.changed_gpu_hours == pytest.approx(stated), "every stated saving counts once"


def test_works_do_not_change_each_other_and_the_largest_comes_first() -> None:
    other = replace(WIDE, work="lammps", pk=2, saved_gpu_hours=80.0)
    later = replace(NARROW, work="lammps", pk=3, ended_at=FIRST + timedelta(days=1))
    found = open_savings([WIDE, other])
    assert [(work.work, work.latest_pk) for work in found.works] == [("lammps", 2), ("cp2k", 1)]
    assert [work.work for work in open_savings([WIDE, other, later]).works] == ["cp2k"]
