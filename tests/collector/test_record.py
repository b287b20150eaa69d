"""Job records: what a real scontrol shows of ended jobs, names made to deceive, and a Slurm that does not answer."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec
import pytest

from collector import record
from collector.job import from_environment
from collector.record import by_slurm, fields_of, gpu_count, job_record, request, seconds
from jobs import records

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
NOW = (0.0,)


def shown(name: str) -> str:
    """What `scontrol show job` printed of one of the sample's jobs."""
    sections = (SAMPLES / "scontrol-show-job-ended.txt").read_text().split("### ")
    return next(section.partition("\n")[2] for section in sections if section.startswith(f"{name}:"))


def fields(name: str, job_id: int) -> dict[str, str]:
    found = fields_of(shown(name), job_id)
    assert found is not None
    return found


def job(job_id: int, **changed: object) -> dict:
    """A job as prolog and epilog leave it for the shipper."""
    environment = {
        "SLURM_JOB_ID": str(job_id),
        "SLURM_JOB_GPUS": "0-7",
        "SLURMD_NODENAME": "nid005002",
        "SLURM_CLUSTER_NAME": "lumi",
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_ACCOUNT": "project_465000001",
        "SLURM_JOB_PARTITION": "small-g",
        "SLURM_JOB_NUM_NODES": "1",
    }
    ended = {"started_at": 100.0, "ended_at": 160.0, "exit_status": 0, "threads_per_core": 1}
    return {**from_environment(environment, ""), **ended, **changed}


def partition(name: str) -> str:
    """What `scontrol show partition` printed of one of the sample's partitions."""
    sections = (SAMPLES / "scontrol-show-partition.txt").read_text().split("\n\n")
    return next(section for section in sections if section.startswith(f"PartitionName={name}\n"))


def defaults(name: str, **changed: str) -> dict[str, str]:
    """The fields of a partition of the sample."""
    return {**dict(word.split("=", 1) for word in partition(name).split()), **changed}


def scontrol(tmp_path: Path, *shows: str) -> str:
    """A command that shows these one after the other, the last again and again, and knows host names."""
    (tmp_path / "partition").write_text(partition("small-g"))
    for number, text in enumerate(shows):
        (tmp_path / f"show{number}").write_text(text)
    asked = tmp_path / "asked"
    script = tmp_path / "scontrol"
    script.write_text(
        "#!/bin/sh\n"
        f"if [ \"$2\" = hostnames ]; then printf 'nid005002\\nnid005003\\n'; exit; fi\n"
        f'if [ "$2" = partition ]; then cat {tmp_path}/partition; exit; fi\n'
        f"count=$(cat {asked} 2>/dev/null || echo 0)\n"
        f"echo $((count + 1)) > {asked}\n"
        f'[ "$count" -lt {len(shows)} ] || count={len(shows) - 1}\n'
        f"cat {tmp_path}/show$count\n"
    )
    script.chmod(0o755)
    return str(script)


def decoded(payload: dict) -> records.JobRecord:
    """As the portal takes it, without a problem."""
    found = msgspec.json.decode(json.dumps(payload), type=records.JobRecord)
    assert records.problems(found) == []
    return found


def test_an_ended_job_is_told_by_slurm_and_its_owner_by_the_hooks(tmp_path: Path) -> None:
    payload = job_record(job(20, node_count=2), scontrol(tmp_path, shown("multi")), NOW)
    found = decoded(payload)
    assert (found.user_id, found.project_id, found.cluster) == ("alice", "project_465000001", "lumi")
    assert (found.state, found.exit_code, found.job_name) == ("COMPLETED", "0:0", "multi")
    assert (found.nodes, found.node_count) == (("nid005002", "nid005003"), 2)
    assert (found.gpus_allocated, found.cpus_allocated, found.ntasks, found.cpus_per_task) == (16, 16, 16, 1)
    assert (found.memory_requested_gb, found.walltime_requested_s, found.walltime_used_s) == (16.0, 300.0, 8.0)
    assert found.request == {
        **{"--nodes": "2", "--ntasks-per-node": "8", "--gpus-per-node": "mi250:8"},
        # slurm.conf gives every job 1 GB a core, which no partition tells.
        **{"--mem-per-cpu": "1G", "--time": "00:05:00", "--partition": "small-g"},
    }
    assert (found.nodes_requested, found.ntasks_per_node, found.is_exclusive) == (2, 8, False)
    assert found.started_at.isoformat() == "2026-11-20T22:03:28+00:00"
    # Slurm 22.05 does not show what was asked for, so nothing is said of it.
    assert found.gpus_requested is None


@pytest.mark.parametrize(
    ("job_id", "task", "state"), [(13, "3", "COMPLETED"), (27, "2", "FAILED"), (26, "1", None), (25, "0", None)]
)
def test_an_arrays_id_shows_every_task_and_each_is_found_by_its_own(job_id: int, task: str, state: str | None) -> None:
    found = fields("array", job_id)
    assert (found["ArrayJobId"], found["ArrayTaskId"], found["JobName"]) == ("13", task, "array")
    assert state in (None, found["JobState"])
    assert by_slurm(found, job(job_id), [])["array_task_id"] == int(task)


def test_each_part_of_a_heterogeneous_job_has_its_own_gpus() -> None:
    assert [by_slurm(fields("het", part), job(part), [])["gpus_allocated"] for part in (22, 23)] == [1, 2]
    assert fields_of(shown("het"), 21) is None


def test_an_exclusive_node_counts_what_was_held_and_not_what_was_asked_for() -> None:
    found = by_slurm(fields("excl", 21), job(21, threads_per_core=2), [])
    # --gpus=4 on a whole node of eight; 64 hardware threads are 32 cores.
    assert (found["gpus_allocated"], found["cpus_allocated"]) == (8, 32)
    assert found["request"]["--gpus"] == "4"
    newer = shown("excl").replace("   TRES=", "   ReqTRES=cpu=1,mem=1G,node=1,billing=1,gres/gpu=4\n   AllocTRES=")
    found = by_slurm(fields_of(newer, 21), job(21), [])
    assert (found["gpus_allocated"], found["gpus_requested"], found["memory_requested_gb"]) == (8, 4, 64.0)


@pytest.mark.parametrize(
    "name",
    [
        "x JobId=1 UserId=root(0) JobState=FAILED",
        "x\n   UserId=root(0) Account=project_other\n   JobState=CANCELLED",
        "x\n   JobState=FAILED Restarts=7\n   NodeList=nid009999 TRES=cpu=1,gres/gpu=0",
        "x\n   AllocTRES=gres/gpu=1 ReqTRES=gres/gpu=1",
        "x\n   RunTime=00:00:01 StartTime=2000-01-01T00:00:00 ExitCode=1:0",
        "x\nJobId=2 JobName=y\n   JobState=FAILED TRES=gres/gpu=1",
        "x\nJobId=3 JobName=y\n   JobState=FAILED TRES=gres/gpu=1",
    ],
)
def test_a_name_made_to_deceive_changes_no_other_field(tmp_path: Path, name: str) -> None:
    honest = job_record(job(2), scontrol(tmp_path, shown("gpn8")), NOW)
    forged = job_record(job(2), scontrol(tmp_path, shown("gpn8").replace("JobName=gpn8", f"JobName={name}")), NOW)
    by_hooks = job_record(job(2), "")
    assert decoded(forged).user_id == "alice"
    for field in forged.keys() - {"job_name"}:
        assert forged[field] in (honest.get(field), by_hooks.get(field)), field


def test_a_comment_or_a_path_made_to_deceive_changes_no_other_field(tmp_path: Path) -> None:
    lie = "AllocTRES=gres/gpu=1 ReqTRES=gres/gpu=1 JobState=FAILED"
    forged = fields_of(shown("gpn8").replace("WorkDir=", f"WorkDir=/tmp/a {lie} "), 2)
    assert not {"AllocTRES", "JobState"} & forged.keys()
    found = by_slurm(forged, job(2), [])
    assert "gpus_requested" not in found
    assert "gpus_allocated" not in found
    assert found["walltime_used_s"] == 5.0


def test_a_run_that_was_requeued_since_keeps_what_the_hooks_knew(tmp_path: Path) -> None:
    command = scontrol(tmp_path, shown("requeue"))
    first = job_record(job(16), command, NOW)
    assert decoded(first).state == "REQUEUED"
    # The times that Slurm shows are the second run's.
    assert (first["started_at"], first["ended_at"]) == ("1970-01-01T00:01:40Z", "1970-01-01T00:02:40Z")
    second = job_record(job(16, attempt=1), command, NOW)
    assert (second["state"], second["walltime_used_s"]) == ("COMPLETED", 3.0)


def test_a_job_that_is_completing_is_asked_for_again(tmp_path: Path) -> None:
    still = shown("gpn8").replace("JobState=COMPLETED", "JobState=COMPLETING")
    found = job_record(job(2), scontrol(tmp_path, still, still, shown("gpn8")), NOW * 5)
    assert (found["state"], found["job_name"]) == ("COMPLETED", "gpn8")
    assert (tmp_path / "asked").read_text() == "3\n"


def test_a_job_that_never_ends_for_slurm_goes_out_by_the_hooks(tmp_path: Path) -> None:
    still = shown("gpn8").replace("JobState=COMPLETED", "JobState=COMPLETING")
    found = job_record(job(2, exit_status=256), scontrol(tmp_path, still), NOW * 2)
    assert (found["state"], found["exit_code"]) == ("FAILED", "1:0")
    assert "job_name" not in found


@pytest.mark.parametrize(
    "body", ["exit 1", "echo slurm_load_jobs error: Invalid job id specified; exit 1", "echo", "sleep 30; true"]
)
def test_a_slurm_that_fails_or_hangs_leaves_the_record_to_the_hooks(tmp_path: Path, monkeypatch, body: str) -> None:
    monkeypatch.setattr(record, "ASK_TIMEOUT_S", 0.5)
    script = tmp_path / "scontrol"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    start = time.monotonic()
    found = decoded(job_record(job(2, exit_status=9), str(script), NOW * 3))
    assert (found.state, found.exit_code, found.partition) == ("FAILED", "0:9", "small-g")
    assert time.monotonic() - start < 10


def test_without_a_scontrol_the_record_is_the_hooks(tmp_path: Path) -> None:
    for command in ("", str(tmp_path / "nowhere"), str(tmp_path)):
        found = decoded(job_record(job(2), command, NOW))
        assert (found.state, found.node_count, found.gpus_allocated) == ("COMPLETED", 1, None)


@pytest.mark.parametrize("name", ["timeout", "fail", "segv", "cancelrun", "oom", "gres2", "gresT2", "gpt1", "gpusock"])
def test_every_captured_ending_is_a_sound_record(name: str) -> None:
    text = shown(name)
    job_id = int(text.partition("=")[2].partition(" ")[0])
    payload = {**job_record(job(job_id), ""), **by_slurm(fields(name, job_id), job(job_id), ["nid005001"])}
    found = decoded(payload)
    assert found.has_ended
    assert found.gpus_allocated >= 1
    assert any(option.startswith("--gpus") for option in found.request)


def test_out_of_memory_is_what_slurm_says_it_is_and_small_memory_is_a_part_of_a_gb() -> None:
    found = by_slurm(fields("oom", 17), job(17), [])
    assert found["memory_requested_gb"] == pytest.approx(300 / 1024)


def test_a_job_without_gpus_has_none_and_not_an_unknown_number() -> None:
    assert by_slurm(fields("nogpu", 8), job(8), [])["gpus_allocated"] == 0


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ("00:00:00", 0.0),
        ("3-00:00:00", 259200.0),
        ("1-02:00:30", 93630.0),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("", None),
        ("12:30", None),
        ("x-01:00:00", None),
    ],
)
def test_a_duration_is_days_and_a_clock_or_nothing(clock: str, expected: float | None) -> None:
    assert seconds(clock) == expected


@pytest.mark.parametrize(
    ("tres", "count"),
    [
        ({"gres/gpu": "8", "gres/gpu:mi250": "8"}, 8),
        ({"gres/gpu:mi250": "4", "gres/gpu:mi300": "2"}, 6),
        ({"cpu": "4"}, 0),
        ({}, None),
        ({"gres/gpu": "many"}, None),
    ],
)
def test_gpus_are_counted_once(tres: dict[str, str], count: int | None) -> None:
    assert gpu_count(tres) == count


@pytest.mark.parametrize(
    ("shown_as", "options"),
    [
        ({"TresPerNode": "gres:gpu:8"}, {"--gpus-per-node": "8"}),
        ({"TresPerJob": "gres/gpu:mi250:4"}, {"--gpus": "mi250:4"}),
        ({"TresPerNode": "gres/gpu=8"}, {"--gpus-per-node": "8"}),
        ({"TresPerTask": "cpu=7,gres/gpu:mi250=1"}, {"--gpus-per-task": "mi250:1"}),
        ({"TresPerNode": "gres/gpu:2,gres/nvme:1"}, {"--gpus-per-node": "2"}),
        ({"TresPerNode": "gres/nvme:1"}, {}),
        ({"TimeLimit": "UNLIMITED"}, {}),
    ],
)
def test_a_request_is_spelled_for_sbatch(shown_as: dict[str, str], options: dict[str, str]) -> None:
    assert request(shown_as) == options


@pytest.mark.parametrize(
    ("written", "gigabytes"),
    [("480G", 480.0), ("512M", 0.5), ("1.50T", 1536.0), ("2048", 2.0), ("1048576K", 1.0), ("", None), ("N/A", None)],
)
def test_memory_has_a_unit_or_is_in_megabytes(written: str, gigabytes: float | None) -> None:
    found = by_slurm({"TRES": f"mem={written}"}, job(2), [])
    assert found.get("memory_requested_gb") == gigabytes


def test_times_that_slurm_does_not_know_are_not_said() -> None:
    found = by_slurm({"StartTime": "Unknown", "EndTime": "N/A", "SubmitTime": "2026-11-20T22:03:21"}, job(2), [])
    assert found == {"submitted_at": "2026-11-20T22:03:21Z"}


CAPTURED = {"--time": "00:05:00", "--partition": "small-g", "--mem-per-cpu": "1G"}


@pytest.mark.parametrize(
    ("name", "job_id", "typed"),
    [
        # As `sbatch` was called; one node, one task and one core a task are what a job gets without asking.
        ("gpn8", 2, {"--gpus-per-node": "8", "--cpus-per-task": "8"}),
        ("gres2", 3, {"--gpus-per-node": "2", "--ntasks": "2"}),
        ("gresT2", 4, {"--gpus-per-node": "mi250:2"}),
        ("gpus4", 5, {"--gpus": "4", "--ntasks": "4"}),
        ("gpt1", 6, {"--gpus-per-task": "1", "--ntasks": "4"}),
        ("gpusock", 7, {"--gpus-per-socket": "2"}),
        ("multi", 20, {"--gpus-per-node": "mi250:8", "--nodes": "2", "--ntasks-per-node": "8"}),
    ],
)
def test_a_real_request_has_every_option_that_was_typed(name: str, job_id: int, typed: dict[str, str]) -> None:
    assert request(fields(name, job_id), defaults("small-g")) == typed | CAPTURED


def test_memory_is_asked_for_by_node_by_core_or_by_gpu() -> None:
    assert request(fields("nogpu", 8), defaults("small-g"))["--mem"] == "2G"
    assert request(fields("oom", 17), defaults("small-g"))["--mem"] == "300M"
    assert request({"MemPerTres": "gres:gpu:61440", "MinMemoryNode": "0"}) == {"--mem-per-gpu": "60G"}
    assert request({"MemPerTres": "gres/gpu=500"}) == {"--mem-per-gpu": "500M"}
    assert request({"MinMemoryCPU": "1.50G"}) == {"--mem-per-cpu": "1.50G"}


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
    excl, small = fields("excl", 21), fields("gpn8", 2)
    assert by_slurm(excl, job(21), [], defaults("standard-g"))["is_exclusive"] is True
    assert "--exclusive" not in request(excl, defaults("standard-g"))
    assert request(excl, defaults("small-g"))["--exclusive"] == ""
    assert by_slurm(small, job(2), [])["is_exclusive"] is False
    assert "is_exclusive" not in by_slurm({**small, "OverSubscribe": "USER"}, job(2), [])
    typed = shown("gpn8").replace("OverSubscribe=OK", "OverSubscribe=NO")
    found = decoded(job_record(job(2), scontrol(tmp_path, typed), NOW))
    assert (found.is_exclusive, found.request["--exclusive"]) == (True, "")


def test_the_nodes_asked_for_are_slurms_word_for_them_where_it_has_one() -> None:
    newer = {"AllocTRES": "node=4,gres/gpu=32", "ReqTRES": "node=2,gres/gpu=16", "NumNodes": "4"}
    assert by_slurm(newer, job(2), [])["nodes_requested"] == 2
    assert by_slurm({"NumNodes": "2-4"}, job(2), [])["nodes_requested"] == 2


def test_what_a_text_of_the_user_says_differently_is_not_asked_for() -> None:
    lie = "OverSubscribe=NO NumNodes=64 MinMemoryCPU=9T NtasksPerN:B:S:C=9:0:*:*"
    forged = fields_of(shown("multi").replace("WorkDir=", f"WorkDir=/tmp/a {lie} "), 20)
    found = by_slurm(forged, job(20), [], defaults("small-g"))
    assert not {"is_exclusive", "ntasks_per_node"} & found.keys()
    assert found["request"].keys() == {"--gpus-per-node", "--ntasks", "--time", "--partition"}
    assert found["node_count"] == 2


def test_slurm_is_asked_in_utc(tmp_path: Path) -> None:
    script = tmp_path / "scontrol"
    script.write_text(f"#!{sys.executable}\nimport os\nprint(os.environ['TZ'])\n")
    script.chmod(0o755)
    assert record._run([str(script)]) == "UTC\n"
