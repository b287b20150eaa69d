"""Which stated savings are still open, against cases worked by hand before the rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from analysis.history.open_savings import StatedRun, open_savings
from jobs.sbatch import Shape

FIRST = datetime(2026, 11, 1, 12, tzinfo=UTC)


def on(gpus: int, **more: object) -> Shape:
    """A request of so many GPUs on one node."""
    return Shape(1, gpus, **more)


def fewer(gpus: int) -> tuple[str, Shape]:
    """Advice on the number of GPUs."""
    return "gpus", on(gpus)


WIDE = StatedRun("cp2k", 1, FIRST, on(8), 67.3, fewer(2), is_success=True, has_gpu_use=True)
"""Eight GPUs, of which its page advises two and states that they save 67.3."""
UNUSED = replace(WIDE, saved_gpu_hours=None, advice=fewer(0), has_gpu_use=False)
NARROW = replace(WIDE, shape=on(2), saved_gpu_hours=None, advice=None)
FITTING = replace(WIDE, saved_gpu_hours=None, advice=None)
MANY = replace(WIDE, shape=on(64), advice=fewer(8))
MUCH_MEMORY = replace(
    WIDE, shape=on(1, memory_gb=480.0, cores=7), saved_gpu_hours=3.5, advice=("host_memory", on(1, memory_gb=60.0))
)
"""One GPU with the memory of eight, which is billed; its page advises 60 GB and states 3.5."""
MANY_CORES = replace(WIDE, shape=on(1, cores=56), saved_gpu_hours=3.5, advice=("cores", on(1, cores=7)))


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
    Case("advice without a stated saving is no better request", (WIDE, replace(FITTING, advice=fewer(4))), 67.3, 1),
    Case("a later run followed the advice", (WIDE, NARROW), 0.0, 0, 67.3),
    Case("it followed, and another saving is left", (WIDE, replace(NARROW, saved_gpu_hours=1.5)), 1.5, 1, 67.3),
    Case("on three GPUs it did not follow all of it", (WIDE, replace(WIDE, shape=on(3), saved_gpu_hours=4.0)), 71.3, 2),
    Case("a later run uses all that it requests", (WIDE, FITTING), 0.0, 0, 67.3),
    Case(
        "followed once, and back to the old request", (WIDE, NARROW, replace(WIDE, saved_gpu_hours=8.0)), 8.0, 1, 67.3
    ),
    Case("a later worse run does not undo what was followed", (WIDE, NARROW, UNUSED), 0.0, 0, 67.3),
    Case(
        "one GPU to find out why none is used is followed by a run that uses none",
        (replace(UNUSED, saved_gpu_hours=7.0, advice=fewer(1)), replace(UNUSED, shape=on(1))),
        *(0.0, 0, 7.0),
    ),
    Case("nothing stated", (FITTING, UNUSED), 0.0, 0),
    # 64 - 13 are 51 of the 56 GPUs that were too many, 91 %: people write round numbers. Of 8 to 2, 3 are 83 %.
    Case(
        "nearly all of the way counts as all of it",
        (MANY, replace(MANY, shape=on(13), saved_gpu_hours=2.0)),
        *(2.0, 1, 67.3),
    ),
    Case(
        "the advice on memory was followed, and a smaller saving on cores is left",
        (MUCH_MEMORY, replace(MANY_CORES, shape=on(1, memory_gb=60.0, cores=14), saved_gpu_hours=0.5)),
        *(0.5, 1, 3.5),
    ),
    Case(
        "of the advice on memory half was followed",
        (MUCH_MEMORY, replace(MUCH_MEMORY, shape=on(1, memory_gb=270.0), saved_gpu_hours=1.5)),
        *(5.0, 2),
    ),
    Case(
        "the advice on cores was followed, and the run still has advice on time, which saves nothing",
        (MANY_CORES, replace(FITTING, shape=on(1, cores=7))),
        *(0.0, 0, 3.5),
    ),
    Case(
        "more GPUs than before follow no advice on memory",
        (MUCH_MEMORY, replace(WIDE, shape=on(8, memory_gb=480.0), saved_gpu_hours=6.0)),
        *(9.5, 2),
    ),
    Case(
        "advice on cores that saves nothing leaves nothing open",
        (WIDE, replace(FITTING, advice=("cores", on(8, cores=7)))),
        *(0.0, 0, 67.3),
    ),
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
