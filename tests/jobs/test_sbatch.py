"""The advisory diff: each option keeps the form in which its user wrote it."""

from __future__ import annotations

import pytest

from jobs.sbatch import OptionChange, Shape, option_changes, walltime_text


def diff(request: dict[str, str], now: Shape, wanted: Shape) -> list[str]:
    return [str(change) for change in option_changes(request, now, wanted)]


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        ({"--gpus": "8"}, "--gpus=8 -> --gpus=2"),
        ({"--gpus": "mi250:8"}, "--gpus=mi250:8 -> --gpus=mi250:2"),
        ({"--gpus-per-node": "8"}, "--gpus-per-node=8 -> --gpus-per-node=2"),
        ({"--gres": "gpu:8,nvme:1"}, "--gres=gpu:8,nvme:1 -> --gres=gpu:2,nvme:1"),
        ({"--gres": "gpu:mi250:8"}, "--gres=gpu:mi250:8 -> --gres=gpu:mi250:2"),
    ],
)
def test_fewer_gpus_are_asked_for_as_before(request_: dict[str, str], line: str) -> None:
    assert diff(request_, Shape(nodes=1, gpus=8), Shape(nodes=1, gpus=2)) == [line]


def test_a_request_that_is_not_known_gets_the_plainest_option() -> None:
    assert diff({}, Shape(nodes=1, gpus=8), Shape(nodes=1, gpus=2)) == ["--gpus=8 -> --gpus=2"]


def test_a_whole_node_becomes_a_share_of_one() -> None:
    request = {"--partition": "standard-g", "--nodes": "4", "--gpus-per-node": "8", "--exclusive": ""}
    now = Shape(nodes=4, gpus=32, partition="standard-g", is_exclusive=True)
    wanted = Shape(nodes=1, gpus=4, partition="small-g")
    assert diff(request, now, wanted) == [
        "--partition=standard-g -> --partition=small-g",
        "--nodes=4 -> --nodes=1",
        "--gpus-per-node=8 -> --gpus-per-node=4",
        "--exclusive -> (leave out)",
    ]


def test_what_stays_the_same_is_not_named() -> None:
    shape = Shape(nodes=1, gpus=2, ntasks=2, cores=14, memory_gb=60.0, walltime_s=3600.0, partition="small-g")
    assert option_changes({"--gpus": "2", "--time": "60"}, shape, shape) == ()


def test_an_option_left_out_and_a_walltime() -> None:
    assert str(OptionChange("--exclusive", "user", "")) == "--exclusive=user -> (leave out)"
    assert (walltime_text(5400), walltime_text(30 * 3600)) == ("01:30:00", "1-06:00:00")
