"""The request in a job's record: what sbatch was given, as far as Slurm still shows it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from collector.asking import fields_of
from collector.record import by_slurm, request
from jobs import records
from tests.collector.slurm_rows import Slurm, defaults, fields, job, shown, typed


def decoded(payload: dict) -> records.JobRecord:
    """As the portal takes it, without a problem."""
    found = msgspec.json.decode(json.dumps(payload), type=records.JobRecord)
    assert records.problems(found) == []
    return found


COMMON = {"--time": "00:05:00", "--partition": "small-g"}
CORE = {"--mem-per-cpu": "1G"}
"""What slurm.conf gives every job, which no partition tells."""
SHARE = {"--mem": "1G"}
"""The same of a job of one core a node: there both are one amount."""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        # As sbatch was called; one node, one task and one core a task are what a job gets without asking.
        ("gpn8", {"--gpus-per-node": "8", "--cpus-per-task": "8"} | CORE),
        ("gres2", {"--gpus-per-node": "2", "--ntasks": "2"} | CORE),
        ("gresT2", {"--gpus-per-node": "mi250:2"} | SHARE),
        ("gpus4", {"--gpus": "4", "--ntasks": "4"} | CORE),
        ("gpt1", {"--gpus-per-task": "1", "--ntasks": "4"} | CORE),
        ("gpusock", {"--gpus-per-socket": "2"} | SHARE),
        ("multi", {"--gpus-per-node": "mi250:8", "--nodes": "2", "--ntasks-per-node": "8"} | CORE),
        ("memgpu", {"--gpus": "mi250:2", "--cpus-per-gpu": "7", "--mem-per-gpu": "60G"}),
        ("memcore", {"--gpus": "1", "--ntasks": "2", "--cpus-per-task": "4", "--mem-per-cpu": "1500M"}),
        ("memnode", {"--gpus-per-node": "1", "--nodes": "2", "--mem": "300M"}),
        ("nogpu", {"--mem": "2G"}),
        ("exclusive", {"--gpus": "1", "--exclusive": ""} | CORE),
        # Slurm shows the nodes of `--nodes=2-4` that were given once the job has begun.
        ("range", {"--gpus-per-node": "1", "--nodes": "2"} | SHARE),
        ("long", {"--gpus": "1", "--time": "1-02:01:00"} | SHARE),
    ],
)
def test_a_real_request_has_every_option_that_was_typed(name: str, wanted: dict[str, str]) -> None:
    found = request(fields(name), defaults("small-g"))
    assert found == COMMON | wanted
    for option, value in wanted.items():
        if value and option not in ("--mem-per-cpu", "--gpus-per-node", "--nodes", "--time", "--mem"):
            assert f"{option}={value}" in typed(name)


def test_a_whole_node_of_a_partition_of_whole_nodes_was_not_asked_for() -> None:
    found = request(fields("allmem"), defaults("standard-g"))
    assert found == {"--gpus-per-node": "8", "--time": "00:05:00", "--partition": "standard-g"}
    assert typed("allmem") == "-t 5 -p standard-g --gpus-per-node=8 --mem=0"


def test_memory_is_asked_for_by_node_by_core_or_by_gpu() -> None:
    assert request({"MemPerTres": "gres:gpu:61440", "MinMemoryNode": "0"}) == {"--mem-per-gpu": "60G"}
    assert request({"MemPerTres": "gres/gpu=500"}) == {"--mem-per-gpu": "500M"}
    assert request({"MinMemoryCPU": "1.50G"}) == {"--mem-per-cpu": "1.50G"}


@pytest.mark.parametrize(
    ("amount", "given", "options"),
    [
        # 100 GB on each of two nodes of 64 cores; 2 GB for each of 128 cores; neither.
        ("100G", "cpu=128,mem=200G,node=2", {"--mem": "100G"}),
        ("2G", "cpu=128,mem=256G,node=2", {"--mem-per-cpu": "2G"}),
        ("3G", "cpu=128,mem=256G,node=2", {}),
        # 1500 MB of each of 8 cores are 11.72 GB as Slurm rounds them.
        ("1500M", "cpu=8,mem=11.72G,node=1", {"--mem-per-cpu": "1500M"}),
        ("4G", "cpu=1,mem=4G,node=1", {"--mem": "4G"}),
        ("4G", "", {}),
    ],
)
def test_what_was_given_tells_memory_a_node_from_memory_a_core(amount: str, given: str, options: dict) -> None:
    cells = {"MinMemory": amount, "tres-alloc": given, "tres-per-job": "N/A", "TimeLimit": "", "Partition": ""}
    found = fields_of(shown("gpus4", NumTasks="N/A", **cells), 44)
    assert request(found) == options


def test_memory_that_the_partition_gives_a_core_is_no_request_of_a_job_of_one_core() -> None:
    found = fields_of(shown("gpusock"), 47)
    assert "--mem" not in request(found, defaults("small-g", DefMemPerCPU="1024"))


@pytest.mark.parametrize(
    ("shown_as", "of_partition", "options"),
    [
        ({"MinMemoryNode": "64G"}, {"DefMemPerNode": "65536"}, {}),
        ({"MinMemoryNode": "64G"}, {"DefMemPerNode": "UNLIMITED"}, {"--mem": "64G"}),
        ({"MinMemoryNode": "96G"}, {"DefMemPerNode": "65536"}, {"--mem": "96G"}),
        ({"MinMemoryNode": "0"}, {"DefMemPerNode": "65536"}, {"--mem": "0"}),
        ({"MinMemoryNode": "0"}, {"DefMemPerNode": "UNLIMITED"}, {}),
        ({"MinMemoryCPU": "1G"}, {"DefMemPerCPU": "1024"}, {}),
        ({"MemPerTres": "gres:gpu:61440"}, {"JobDefaults": "DefCpuPerGPU=7,DefMemPerGPU=61440"}, {}),
        ({"CpusPerTres": "gres:gpu:7"}, {"JobDefaults": "DefCpuPerGPU=7,DefMemPerGPU=61440"}, {}),
        ({"CpusPerTres": "gres/gpu:14"}, {"JobDefaults": "DefCpuPerGPU=7"}, {"--cpus-per-gpu": "14"}),
        ({"OverSubscribe": "NO"}, {"OverSubscribe": "NO"}, {"--exclusive": ""}),
        ({"OverSubscribe": "NO"}, {"OverSubscribe": "EXCLUSIVE"}, {}),
        ({"OverSubscribe": "NO"}, {}, {}),
        ({"OverSubscribe": "OK"}, {"OverSubscribe": "NO"}, {}),
    ],
)
def test_what_a_partition_gives_unasked_is_no_request(shown_as: dict, of_partition: dict, options: dict) -> None:
    assert request(shown_as, of_partition) == options


@pytest.mark.parametrize(
    ("shown_as", "options"),
    [
        ({"NumNodes": "2-4", "NumTasks": "2"}, {"--nodes": "2-4"}),
        ({"NumNodes": "1-1", "NumTasks": "1", "CPUs/Task": "1"}, {}),
        ({"NumNodes": "1-4"}, {"--nodes": "1-4"}),
        ({"NumNodes": "4-4", "NumTasks": "4"}, {"--nodes": "4"}),
        ({"NumNodes": "2", "NumTasks": "1"}, {"--nodes": "2", "--ntasks": "1"}),
        ({"NumNodes": "1", "NumTasks": "1", "TresPerTask": "gres/gpu:8"}, {"--ntasks": "1", "--gpus-per-task": "8"}),
        ({"NumTasks": "1", "NtasksPerN:B:S:C": "1:0:*:1"}, {"--ntasks-per-node": "1"}),
        ({"NtasksPerN:B:S:C": "*:0:*:*"}, {}),
        ({"NumTasks": "N/A", "CPUs/Task": "N/A", "NumNodes": "many", "MinMemoryNode": "$(x)"}, {}),
    ],
)
def test_nodes_and_tasks_are_said_where_they_are_not_what_anybody_gets(shown_as: dict, options: dict) -> None:
    assert request(shown_as) == options


def test_whole_nodes_are_told_and_asked_for_only_where_the_partition_shares_them(tmp_path: Path) -> None:
    excl, small = fields("excl"), fields("gpn8")
    assert by_slurm(excl, job(55), [], defaults("standard-g"))["is_exclusive"] is True
    assert "--exclusive" not in request(excl, defaults("standard-g"))
    assert request(excl, defaults("small-g"))["--exclusive"] == ""
    assert by_slurm(small, job(41), [])["is_exclusive"] is False
    assert "is_exclusive" not in by_slurm({**small, "OverSubscribe": "USER"}, job(41), [])
    found = decoded(Slurm(tmp_path, shown("exclusive")).record(job(54)))
    assert (found.is_exclusive, found.request["--exclusive"]) == (True, "")


def test_the_nodes_asked_for_are_slurms_word_for_them_where_it_has_one() -> None:
    newer = {"AllocTRES": "node=4,gres/gpu=32", "ReqTRES": "node=2,gres/gpu=16", "NumNodes": "4"}
    assert by_slurm(newer, job(2), [])["nodes_requested"] == 2
    assert by_slurm({"NumNodes": "2-4"}, job(2), [])["nodes_requested"] == 2
