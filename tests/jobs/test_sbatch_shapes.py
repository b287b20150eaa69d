"""What a request amounts to, against Slurm's own answers and numbers computed by hand for LUMI."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.hardware import partition_of
from jobs.sbatch import Shape, explains, refusal, shape_of, walltime_s, walltime_text
from jobs.sbatch_values import memory_gb
from jobs.site_profile import NodeType, Partition

SAMPLE = Path(__file__).parents[1] / "samples/sbatch/expected.json"
RECORDED: dict[str, Any] = json.loads(SAMPLE.read_text())
RECORDED_NODE = NodeType(
    gpus=8, cores=64, host_memory_gb=480.0, gpu_memory_gb=64.0, gpus_per_module=2, module_power_cap_w=500.0
)
RECORDED_PARTITIONS = {
    name: Partition(name=name, node=RECORDED_NODE, is_exclusive=name == "standard-g", default_memory_per_core_gb=1.0)
    for name in ("small-g", "standard-g")
}
# Slurm did not know the type a100 on those nodes; the type is not part of a partition here.
OTHER_TYPE = "gpu_wrong_type"
SMALL, STANDARD = partition_of("lumi", "small-g"), partition_of("lumi", "standard-g")


def recorded_shapes(name: str) -> list[Shape | None]:
    """Shapes of a script's components; its default partition was small-g."""
    requests = [component["options"] for component in RECORDED[name]["components"]]
    partitions = [request.get("--partition", "small-g").partition(",")[0] for request in requests]
    return [
        shape_of(request, RECORDED_PARTITIONS[partition])
        for request, partition in zip(requests, partitions, strict=True)
    ]


def lumi(request: dict[str, str], partition: str = "small-g", now: Shape | None = None) -> Shape | None:
    return shape_of(request, partition_of("lumi", partition), now, threads_per_core=2)


def test_the_sample_holds_accepted_and_refused_scripts() -> None:
    accepted = [script["accepted"] for script in RECORDED.values()]
    assert (len(accepted), accepted.count(False)) == (89, 3)


@pytest.mark.parametrize("name", RECORDED)
def test_what_slurm_refused_is_refused_and_nothing_else(name: str) -> None:
    refusals = [refusal(component["options"]) for component in RECORDED[name]["components"]]
    assert any(refusals) is not RECORDED[name]["accepted"]


@pytest.mark.parametrize("name", [name for name, script in RECORDED.items() if script["accepted"]])
def test_gpus_tasks_and_time_are_those_that_slurm_counted(name: str) -> None:
    for component in RECORDED[name]["components"]:
        shape = shape_of(component["options"], None)
        assert shape is not None
        assert (shape.gpus, shape.ntasks) == (component["gpus_total"], component["ntasks"])
        if "--time" in component["options"]:
            assert shape.walltime_s == walltime_s(component["time_limit"])


@pytest.mark.parametrize("name", [name for name, script in RECORDED.items() if script["accepted"]])
def test_nodes_cores_and_memory_are_those_that_slurm_would_give(name: str) -> None:
    script, shapes = RECORDED[name], recorded_shapes(name)
    if name == OTHER_TYPE:
        return
    if not script["test_only"]["ok"]:
        assert shapes == [None]
        return
    processors = re.search(r"using (\d+) processors", script["test_only"]["message"])
    assert processors is not None
    assert sum(shape.cores or 0 for shape in shapes if shape) == int(processors[1])
    for shape, component in zip(shapes, script["components"], strict=True):
        tres = dict(part.split("=") for part in component["tres"].split(","))
        assert shape is not None
        assert shape.nodes == int(tres["node"])
        if any(option.startswith("--mem") for option in component["options"]):
            assert shape.memory_gb == memory_gb(tres["mem"])


@pytest.mark.parametrize(
    ("request_", "nodes", "gpus", "ntasks", "cores"),
    [
        ({"--gpus": "8"}, 1, 8, 1, 1),
        ({"--gpus": "mi250:12"}, 2, 12, 2, 2),
        ({"--gpus": "12", "--nodes": "3"}, 3, 12, 3, 3),
        ({"--gpus-per-node": "mi250:4", "--nodes": "2"}, 2, 8, 2, 2),
        ({"--gpus-per-task": "2", "--ntasks": "3", "--cpus-per-task": "7"}, 1, 6, 3, 21),
        ({"--gpus-per-task": "1", "--ntasks-per-node": "8", "--nodes": "2"}, 2, 16, 16, 16),
        ({"--gpus-per-task": "2", "--gpus": "8"}, 1, 8, 4, 4),
        ({"--gpus-per-task": "1", "--nodes": "2"}, 2, 2, 2, 2),
        ({"--gpus-per-socket": "4", "--nodes": "2"}, 2, 8, 2, 2),
        ({"--gres": "gpu"}, 1, 1, 1, 1),
        ({"--gres": "gpu:mi250:2,nvme:1", "--nodes": "2"}, 2, 4, 2, 2),
        ({"--gres": "gres:gpu:3"}, 1, 3, 1, 1),
        ({"--gres": "gres/gpu:3"}, 1, 3, 1, 1),
        ({"--gres": "nvme:1"}, 1, 0, 1, 1),
        ({"--gpus": "4", "--gpus-per-node": "2"}, 2, 4, 2, 2),
        ({"--gpus": "4", "--ntasks-per-gpu": "2", "--cpus-per-task": "3"}, 1, 4, 8, 24),
        ({"--ntasks": "8", "--ntasks-per-gpu": "2"}, 1, 4, 8, 8),
        ({"--gpus-per-node": "2", "--nodes": "2", "--ntasks-per-gpu": "1"}, 2, 4, 4, 4),
        ({"--gpus": "4", "--cpus-per-gpu": "7"}, 1, 4, 1, 28),
        ({"--ntasks": "4", "--cpus-per-gpu": "7"}, 1, 0, 4, 4),
        ({"--ntasks": "16", "--cpus-per-task": "7", "--gpus-per-node": "8"}, 2, 16, 16, 112),
        ({"--ntasks": "16", "--ntasks-per-node": "4"}, 4, 0, 16, 16),
        ({"--nodes": "2-4", "--ntasks-per-node": "8", "--gpus-per-node": "8"}, 2, 16, 16, 16),
        ({"--nodes": "4", "--ntasks": "2", "--gpus-per-node": "1"}, 2, 2, 2, 2),
        ({}, 1, 0, 1, 1),
    ],
)
def test_every_spelling_of_gpus_and_tasks(
    request_: dict[str, str], nodes: int, gpus: int, ntasks: int, cores: int
) -> None:
    shape = lumi(request_)
    assert shape is not None
    assert (shape.nodes, shape.gpus, shape.ntasks, shape.cores) == (nodes, gpus, ntasks, cores)


@pytest.mark.parametrize(
    ("request_", "partition", "memory"),
    [
        ({"--gpus": "8"}, "small-g", 64.0),
        ({"--gpus": "16"}, "small-g", 128.0),
        ({"--gpus": "8"}, "standard-g", 480.0),
        ({"--nodes": "2", "--mem": "60G"}, "small-g", 120.0),
        ({"--mem": "2048"}, "small-g", 2.0),
        ({"--mem": "61440M"}, "small-g", 60.0),
        ({"--mem": "1048576K"}, "small-g", 1.0),
        ({"--mem": "60g"}, "small-g", 60.0),
        ({"--nodes": "2", "--mem": "0"}, "small-g", 960.0),
        ({"--gpus": "4", "--mem-per-gpu": "60G"}, "small-g", 240.0),
        # 2 tasks of 7 cores are 28 hardware threads.
        ({"--ntasks": "2", "--cpus-per-task": "7", "--mem-per-cpu": "2G"}, "small-g", 56.0),
        # Whole nodes come with their cores: 56 x 2 threads.
        ({"--exclusive": "", "--mem-per-cpu": "2G"}, "small-g", 224.0),
        # Slurm gives only the memory requested, also on whole nodes (sbatch(1), --exclusive).
        ({"--nodes": "1", "--mem": "60G"}, "standard-g", 60.0),
    ],
)
def test_every_spelling_of_memory(request_: dict[str, str], partition: str, memory: float) -> None:
    shape = lumi(request_, partition)
    assert shape is not None
    assert shape.memory_gb == memory


def test_memory_per_cpu_is_per_core_where_a_core_is_one_cpu() -> None:
    shape = shape_of({"--ntasks": "2", "--cpus-per-task": "7", "--mem-per-cpu": "2G"}, SMALL)
    assert shape is not None
    assert shape.memory_gb == 28.0


def test_whole_nodes_come_with_all_cores_and_the_gpus_requested() -> None:
    by_partition = lumi({"--nodes": "2", "--gpus-per-node": "1", "--partition": "standard-g"}, "standard-g")
    by_flag = lumi({"--nodes": "2", "--gpus-per-node": "1", "--exclusive": "", "--mem": "0"})
    by_user = lumi({"--nodes": "2", "--gpus-per-node": "1", "--exclusive": "user"})
    assert by_partition == Shape(nodes=2, gpus=2, ntasks=2, cores=112, memory_gb=960.0, partition="standard-g")
    assert by_flag == Shape(nodes=2, gpus=2, ntasks=2, cores=112, memory_gb=960.0, is_exclusive=True)
    assert by_user == Shape(nodes=2, gpus=2, ntasks=2, cores=2, memory_gb=128.0)


def test_what_is_open_comes_from_what_was_allocated() -> None:
    now = Shape(nodes=2, gpus=8, ntasks=2, cores=2, memory_gb=128.0, walltime_s=7200.0, partition="small-g")
    assert lumi({"--gpus": "8"}, now=now) == now
    fewer = lumi({"--gpus": "4", "--time": "60"}, now=now)
    assert fewer == Shape(1, 4, ntasks=1, cores=1, memory_gb=64.0, walltime_s=3600.0, partition="small-g")
    assert lumi({"--nodes": "1-3", "--gpus": "8"}, now=now) == now
    named = lumi({"--nodes": "1", "--gpus": "8"}, now=now)
    assert named is not None
    assert named.nodes == 1


def test_the_first_partition_of_a_list_counts() -> None:
    shape = lumi({"--partition": "small-g,standard-g", "--gpus": "1"})
    assert shape is not None
    assert shape.partition == "small-g"


@pytest.mark.parametrize(
    "request_",
    [
        {"--gpus-per-node": "9"},
        {"--gpus": "9", "--nodes": "1"},
        {"--cpus-per-task": "57"},
        {"--ntasks": "57", "--nodes": "1"},
        {"--ntasks": "3", "--nodes": "1", "--cpus-per-task": "28"},
        {"--mem": "481G"},
        {"--gpus": "4", "--mem-per-gpu": "121G"},
        {"--gpus-per-socket": "2", "--gpus": "4"},
    ],
)
def test_what_no_node_can_hold_or_nobody_can_tell_has_no_shape(request_: dict[str, str]) -> None:
    assert lumi(request_) is None


@pytest.mark.parametrize(
    "request_",
    [
        {"--mem": "60G", "--mem-per-cpu": "1G"},
        {"--mem": "1.5G"},
        {"--mem": "much"},
        {"--mem-per-gpu": "0", "--gpus": "1"},
        {"--mem-per-gpu": "60G"},
        {"--cpus-per-task": "7", "--cpus-per-gpu": "7", "--gpus": "1"},
        {"--cpus-per-task": "0"},
        {"--ntasks": "0"},
        {"--nodes": "0"},
        {"--nodes": "3-1"},
        {"--gpus": "-1"},
        {"--gres": "gpu:x:y"},
        {"--gres": "gpu:"},
        {"--gpus": "gpu:"},
        {"--gpus": "8", "--gpus-per-task": "2", "--nodes": "1"},
        {"--gpus": "$(nproc)"},
        {"--gpus": "mi250:2", "--gpus-per-node": "2"},
        {"--gpus": "5", "--gpus-per-node": "2", "--nodes": "2"},
        {"--gpus": "1", "--gpus-per-node": "2"},
        {"--gpus": "4", "--gres": "gpu:2", "--nodes": "1"},
        {"--gres": "gpu:2", "--gpus-per-node": "1"},
        {"--gpus": "1", "--nodes": "2"},
        {"--gpus-per-task": "1"},
        {"--gpus-per-task": "0", "--gpus-per-node": "4"},
        {"--gpus-per-task": "0", "--ntasks": "2", "--ntasks-per-gpu": "1"},
        {"--gpus-per-task": "1", "--gpus-per-node": "4"},
        {"--gpus-per-task": "1", "--ntasks": "2", "--gpus": "1"},
        {"--gpus-per-task": "2", "--gpus": "3"},
        {"--gpus-per-task": "1", "--gpus-per-node": "2", "--ntasks-per-node": "1", "--nodes": "1"},
        {"--gpus-per-task": "1", "--gpus-per-node": "1", "--ntasks": "2", "--nodes": "1"},
        {"--ntasks-per-gpu": "1", "--ntasks-per-node": "2", "--gpus": "2"},
        {"--ntasks-per-gpu": "1", "--gpus": "2", "--nodes": "1-2"},
        {"--ntasks-per-gpu": "2", "--ntasks": "3"},
        {"--ntasks-per-gpu": "1"},
        {"--ntasks-per-gpu": "1", "--gpus": "0"},
        {"--ntasks": "16", "--ntasks-per-node": "4", "--nodes": "2"},
        {"--time": "soon"},
    ],
)
def test_a_combination_that_sbatch_refuses_has_a_reason_and_no_shape(request_: dict[str, str]) -> None:
    assert refusal(request_)
    assert shape_of(request_, None) is None


@pytest.mark.parametrize(
    ("request_", "gpus"),
    [
        ({"--gpus": "two"}, 1),  # one GPU of a type "two": to sbatch any word is one
        ({"--gpus": "mi250:2,mi300:1"}, 3),
        ({"--gpus": "1k"}, 1024),
        ({"--gres": "gres:gpu=2,nvme:1"}, 2),
        ({"--ntasks": "+2", "--gpus-per-task": "1"}, 2),
        ({"--nodes": "-1", "--gpus-per-node": "3"}, 3),
    ],
)
def test_values_are_read_as_kaiku_and_sbatch_read_them(request_: dict[str, str], gpus: int) -> None:
    assert refusal(request_) is None
    shape = shape_of(request_, None)
    assert shape is not None
    assert shape.gpus == gpus


@pytest.mark.parametrize("text", ["60G", "60g", "60GB", "61440", "61440M", "62914560K"])
def test_memory_in_each_of_slurms_forms(text: str) -> None:
    assert memory_gb(text) == 60.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400.0),
        ("90:30", 5460.0),
        ("1:30:30", 5460.0),
        ("01:30:00", 5400.0),
        ("1-6", 108000.0),
        ("1-6:30", 109800.0),
        ("1-06:30:01", 109860.0),
        ("0", None),
        ("UNLIMITED", None),
        ("infinite", None),
        ("1:2:3:4", None),
        ("", None),
    ],
)
def test_a_time_limit_in_each_of_slurms_forms(text: str, seconds: float | None) -> None:
    assert walltime_s(text) == seconds


@pytest.mark.parametrize("minutes", [1, 59, 60, 1439, 1440, 2881, 100_000])
def test_a_time_limit_is_read_as_it_was_written(minutes: int) -> None:
    assert walltime_s(walltime_text(minutes * 60)) == minutes * 60


def test_options_that_leave_cores_and_memory_unsaid_explain_nothing_on_a_shared_partition() -> None:
    held = Shape(nodes=1, gpus=8, ntasks=8, cores=56, memory_gb=480.0, walltime_s=14400.0, partition="small-g")
    hooks = {"--gpus": "8", "--time": "04:00:00"}
    whole = hooks | {"--ntasks": "8", "--cpus-per-task": "7", "--mem": "480G"}
    assert not explains(hooks, held, SMALL, 2)
    assert explains(whole, held, SMALL, 2)
    assert not explains(whole | {"--mem": "479G"}, held, SMALL, 2)
    assert not explains(whole | {"--cpus-per-task": "6"}, held, SMALL, 2)
    assert not explains(whole | {"--gpus": "4"}, held, SMALL, 2)
    assert not explains(whole | {"--mem-per-gpu": "60G"}, held, SMALL, 2)


def test_memory_explains_within_slurms_rounding() -> None:
    held = Shape(nodes=2, gpus=2, cores=2, memory_gb=125.06, partition="small-g")
    request = {"--nodes": "2", "--gpus-per-node": "1", "--mem": "64000"}
    # 2 x 64000 MB are 125 GB; a node may be off by 0.05 GB.
    assert explains(request, held, SMALL)
    assert not explains(request | {"--mem": "65000"}, held, SMALL)


def test_gpus_and_nodes_explain_whole_nodes() -> None:
    request = {"--partition": "standard-g", "--nodes": "1", "--gpus-per-node": "1"}
    held = Shape(nodes=1, gpus=8, cores=64, memory_gb=480.0, partition="standard-g")
    assert explains(request, held, STANDARD)
    assert explains(request, Shape(nodes=1, gpus=1, cores=56, partition="standard-g"), STANDARD)
    assert not explains(request, Shape(nodes=1, gpus=4, cores=56, partition="standard-g"), STANDARD)
    assert not explains(request, Shape(nodes=2, gpus=16, cores=112, partition="standard-g"), STANDARD)
    assert not explains(request, Shape(nodes=1, gpus=1, cores=7, partition="small-g"), SMALL)
