"""A request on another number of GPUs: what follows the GPUs, worked by hand."""

from __future__ import annotations

import pytest

from cli.trial_sizes import NoSize, resized, size_of
from wire.sbatch.reading import read_script

WHOLE = "--nodes=1 --gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7 --mem=480G"


def options_of(line: str) -> dict[str, str]:
    return read_script(f"#!/bin/bash\n#SBATCH {line}\n").components[0].options


@pytest.mark.parametrize(
    ("line", "gpus", "node_gpus", "expected"),
    [
        # 480 GB / 8 x 2 = 120 GB; 8 / 8 x 2 = 2 tasks, each with its 7 cores.
        (WHOLE, 2, 8, {"gpus-per-node": "2", "ntasks-per-node": "2", "mem": "120G"}),
        (WHOLE, 16, 8, {"nodes": "2"}),
        (WHOLE, 16, None, {"nodes": "2"}),
        (WHOLE, 8, 8, {}),
        # One launcher for each node, with the cores of its GPUs: 56 / 8 x 2 = 14.
        (
            "--nodes=2 --gpus-per-node=8 --ntasks-per-node=1 --cpus-per-task=56", 2, 8,
            {"nodes": "1", "gpus-per-node": "2", "cpus-per-task": "14"},
        ),
        ("--nodes=2 --gpus-per-node=8 --ntasks=2", 4, 8, {"nodes": "1", "gpus-per-node": "4", "ntasks": "1"}),
        ("--nodes=4 --gpus-per-node=8 --ntasks=32", 16, 8, {"nodes": "2", "ntasks": "16"}),
        ("--gpus=8", 2, None, {"gpus": "2"}),
        ("--gpus=mi250:8 --ntasks=8 --mem-per-gpu=60G", 1, 8, {"gpus": "mi250:1", "ntasks": "1"}),
        ("--gres=gpu:mi250:8,nvme:1", 2, 8, {"gres": "gpu:mi250:2,nvme:1"}),
        ("--gres=gpu", 2, 8, {"gres": "gpu:2"}),
        ("--gpus-per-node=mi250", 4, 8, {"gpus-per-node": "mi250:4"}),
        ("--ntasks=8 --gpus-per-task=1 --cpus-per-task=7", 4, 8, {"ntasks": "4"}),
        # 16 tasks for 8 GPUs: two for each.
        ("--gpus=8 --ntasks=16", 2, 8, {"gpus": "2", "ntasks": "4"}),
        ("--gpus=8 --mem=0", 2, 8, {"gpus": "2"}),
        # 100 GB / 8 = 12.5 GB, rounded up; 1,000 MB / 8 = 125 MB.
        ("--gpus=8 --mem=100G", 1, 8, {"gpus": "1", "mem": "13G"}),
        ("--gpus=8 --mem=1000M", 1, 8, {"gpus": "1", "mem": "125"}),
        # A script of one GPU on a node of eight: two of them beside each other, with twice the memory.
        (
            "--gpus-per-node=1 --mem=60G --cpus-per-task=7", 2, 8,
            {"gpus-per-node": "2", "mem": "120G", "cpus-per-task": "14"},
        ),
        ("--gpus-per-node=1", 2, None, {"gpus-per-node": "1", "nodes": "2"}),
    ],
)  # fmt: skip
def test_tasks_cores_and_memory_follow_the_gpus(
    line: str, gpus: int, node_gpus: int | None, expected: dict[str, str]
) -> None:
    options = options_of(line)
    changes = resized(options, size_of(options, node_gpus), gpus, node_gpus)
    wanted = {f"--{name}": value for name, value in expected.items() if options.get(name) != value}
    assert {change.option: change.recommended for change in changes} == wanted


@pytest.mark.parametrize(
    ("line", "gpus", "why"),
    [
        ("--time=10", 1, "no GPUs"),
        ("--gpus=0", 1, "no GPUs"),
        ("--gpus-per-socket=2 --sockets-per-node=1", 1, "--gpus-per-node"),
        ("--gpus=8 --ntasks=3", 2, "cannot be divided"),
        ("--ntasks=4 --gpus-per-task=2", 3, "not a multiple"),
        (WHOLE, 17, "not the same number"),
    ],
)
def test_a_size_that_cannot_be_derived_is_said(line: str, gpus: int, why: str) -> None:
    options = options_of(line)
    with pytest.raises(NoSize, match=why):
        resized(options, size_of(options, 8), gpus, 8)
