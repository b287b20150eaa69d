"""The best known request of a work, against cases worked by hand, and how it is written."""

from __future__ import annotations

import pytest

from analysis.works.best_request import advised, best_request, lines_of, options_of
from jobs.sbatch import OptionChange
from tests.analysis.works.cases import BEST, BestCase, billed, run


@pytest.mark.parametrize("case", BEST, ids=lambda case: case.name)
def test_best_request_of_the_hand_worked_cases(case: BestCase) -> None:
    found = best_request(case.runs)
    if case.best is None:
        assert found is None
        return
    assert (found.run.job_id, found.gpu_hours) == (case.best, pytest.approx(case.hours))
    assert (found.completed, found.sizes) == (case.completed, case.sizes)


def test_a_request_is_written_in_the_persons_own_options_where_they_are_known() -> None:
    own = {"--gpus": "8", "--time": "03:00:00"}
    assert lines_of(options_of(run(8, 3600, request=own))) == ("--gpus=8", "--time=03:00:00")
    known = {"ntasks": 8, "cores": 56, "memory_gb": 480.0, "walltime_s": 10800.0}
    block = "--partition=small-g --nodes=1 --gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7 --mem=480G"
    # A time limit alone says nothing of the GPUs.
    assert lines_of(options_of(run(8, 3600, request={"--time": "03:00:00"}, **known))) == (
        *block.split(),
        "--time=03:00:00",
    )


def test_only_what_the_record_knows_is_written() -> None:
    assert lines_of(options_of(run(8, 3600, partition=""))) == ("--nodes=1", "--gpus-per-node=8")
    assert options_of(run(None, 3600)) == {}


def test_advice_is_made_in_its_order_on_a_request_that_is_known_and_replaces_one_that_is_not() -> None:
    changes = (OptionChange("--gpus", "8", "2"), OptionChange("--exclusive", "", ""))
    later = (OptionChange("--time", "03:00:00", "01:00:00"),)
    request = {"--gpus": "8", "--exclusive": "", "--time": "03:00:00"}
    assert advised(request, [(changes, ()), (later, ())]) == {"--gpus": "2", "--time": "01:00:00"}
    assert advised(request, []) == request
    assert advised(request, [((), ("--nodes=1", "--gpus-per-node=2"))]) == {"--nodes": "1", "--gpus-per-node": "2"}


def test_what_was_left_out_for_using_no_gpu_is_counted() -> None:
    idle = [billed(number, 8, 6.0, finding_codes=" no_gpu_use ") for number in (2, 3)]
    found = best_request([billed(1, 8, 8.0), *idle])
    assert found is not None
    assert (found.run.job_id, found.completed, found.without_gpu_use) == (1, 1, 2)
    alone = best_request(idle)
    assert alone is not None
    assert (alone.completed, alone.without_gpu_use) == (2, 0), "nothing is left out where nothing else is known"
