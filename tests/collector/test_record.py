"""Job records: what a real squeue shows of ended jobs, names made to deceive, and a Slurm that does not answer."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec
import pytest

from collector import asking, record
from collector.asking import fields_of
from collector.record import Unfinished, by_slurm, gpu_count, job_record, request, seconds
from jobs import records
from tests.collector.slurm_rows import ROWS, Slurm, fields, job, number, shown
from tests.processes import patience


def decoded(payload: dict) -> records.JobRecord:
    """As the portal takes it, without a problem."""
    found = msgspec.json.decode(json.dumps(payload), type=records.JobRecord)
    assert records.problems(found) == []
    return found


def test_an_ended_job_is_told_by_slurm_and_its_owner_by_the_hooks(tmp_path: Path) -> None:
    payload = Slurm(tmp_path, shown("multi")).record(job(number("multi"), node_count=2))
    found = decoded(payload)
    assert (found.user_id, found.project_id, found.cluster) == ("alice", "project_465000001", "lumi")
    assert (found.state, found.exit_code, found.job_name) == ("COMPLETED", "0:0", "train")
    assert (found.nodes, found.node_count) == (("nid005002", "nid005003"), 2)
    assert (found.gpus_allocated, found.cpus_allocated, found.ntasks, found.cpus_per_task) == (16, 16, 16, 1)
    assert (found.memory_requested_gb, found.walltime_requested_s, found.walltime_used_s) == (16.0, 300.0, 8.0)
    assert found.request == {
        **{"--nodes": "2", "--ntasks-per-node": "8", "--gpus-per-node": "mi250:8"},
        # slurm.conf gives every job 1 GB a core, which no partition tells.
        **{"--mem-per-cpu": "1G", "--time": "00:05:00", "--partition": "small-g"},
    }
    assert (found.nodes_requested, found.ntasks_per_node, found.is_exclusive) == (2, 8, False)
    assert found.started_at.isoformat() == "2026-11-22T11:01:36+00:00"
    assert payload["eligible_at"] == "2026-11-22T11:01:30Z"
    # Slurm 22.05 does not show what was asked for, so nothing is said of it.
    assert found.gpus_requested is None


def test_an_arrays_id_shows_every_task_and_each_is_found_by_its_own() -> None:
    rows = "".join(row.splitlines()[1] + "\n" for row in ROWS if " array:" in row)
    tasks = {task: fields_of(rows, task) for task in (59, 66, 67)}
    assert [by_slurm(found, job(task), [])["array_task_id"] for task, found in tasks.items()] == [3, 1, 2]
    assert {found["ArrayJobId"] for found in tasks.values()} == {"59"}


def test_a_job_that_is_no_task_belongs_to_no_array() -> None:
    """squeue shows a job's own number where it has no array's."""
    alone, task = fields("multi"), fields("array")
    assert alone["ArrayJobId"] == alone["JobId"]
    told = [by_slurm(each, job(int(each["JobId"])), []) for each in (alone, task)]
    assert [each.get("array_job_id") for each in told] == [None, int(task["ArrayJobId"])]


def test_each_part_of_a_heterogeneous_job_has_its_own_gpus() -> None:
    both = "\n".join(next(row for row in ROWS if " het:" in row).splitlines()[1:])
    assert [by_slurm(fields_of(both, part), job(part), [])["gpus_allocated"] for part in (64, 65)] == [1, 2]
    assert fields_of(both, 63) is None


def test_an_exclusive_node_counts_what_was_held_and_not_what_was_asked_for() -> None:
    found = by_slurm(fields("excl"), job(55, threads_per_core=2), [])
    # --gpus=4 on a whole node of eight; 64 hardware threads are 32 cores.
    assert (found["gpus_allocated"], found["cpus_allocated"]) == (8, 32)
    assert found["request"]["--gpus"] == "4"


FORGED = shown("multi", State="FAILED", NodeList="nid009999", exit_code="256")


@pytest.mark.parametrize(
    "name",
    [
        "x JobId=1 UserId=root(0) JobState=FAILED",
        "x\n   JobState=FAILED Restarts=7\n   NodeList=nid[1-9999999] AllocTRES=cpu=1,gres/gpu=0",
        FORGED,
        f"x\n{FORGED}",
        f"x{' ' * 255}\n{FORGED}",
        "|".join(["0"] * 40),
    ],
)
def test_a_name_made_to_deceive_changes_no_other_field(tmp_path: Path, name: str) -> None:
    asked_for = job(number("multi"))
    honest = Slurm(tmp_path, shown("multi")).record(asked_for)
    forged = Slurm(tmp_path, shown("multi"), name=name).record(asked_for)
    assert {**forged, "job_name": ""} == {**honest, "job_name": ""}
    assert decoded(forged).job_name == records.printable(name[:256].rstrip())


def test_a_row_that_comes_twice_or_has_another_shape_says_nothing() -> None:
    row = shown("multi")
    assert fields_of(row, 56)["NumNodes"] == "2"
    for text in (row + row, row.replace("|\n", "|x|\n"), row.replace("|\n", "\n"), "", "56|\n"):
        assert fields_of(text, 56) is None


def test_a_list_of_nodes_that_does_not_fit_the_job_is_left_out(tmp_path: Path) -> None:
    found = Slurm(tmp_path, shown("multi"), hosts="n1\\nn2\\nn3").record(job(56))
    assert (found["node_count"], "nodes" in found) == (2, False)


def test_a_record_stays_small(tmp_path: Path) -> None:
    hosts = "\\n".join(f"a-long-name-of-a-node-{index:06}" for index in range(19_000))
    row = shown("multi", NumNodes="19000")
    found = Slurm(tmp_path, row, hosts=hosts).record(job(56))
    assert (len(json.dumps(found)) < 2000, "nodes" in found, found["node_count"]) == (True, False, 2)
    short = Slurm(tmp_path, row, hosts=hosts.replace("a-long-name-of-a-node-", "nid")).record(job(56))
    assert len(short["nodes"]) == 19_000
    assert len(json.dumps(short)) < record.RECORD_BYTES_MAX


def test_a_run_that_was_requeued_since_keeps_what_the_hooks_knew(tmp_path: Path) -> None:
    slurm = Slurm(tmp_path, shown("requeue"))
    first = slurm.record(job(number("requeue")))
    assert decoded(first).state == "REQUEUED"
    # The times that Slurm shows are the second run's.
    assert (first["started_at"], first["ended_at"]) == ("2026-09-21T14:15:00Z", "2026-09-21T14:16:00Z")
    second = slurm.record(job(number("requeue"), attempt=1))
    assert (second["state"], second["walltime_used_s"]) == ("COMPLETED", 6.0)


@pytest.mark.parametrize("state", ["COMPLETING", "RUNNING", "SUSPENDED"])
def test_a_job_that_is_not_over_for_slurm_is_to_be_asked_for_again(tmp_path: Path, state: str) -> None:
    slurm = Slurm(tmp_path, shown("gpn8", State=state), shown("gpn8"))
    with pytest.raises(Unfinished):
        slurm.record(job(41))
    assert slurm.record(job(41))["state"] == "COMPLETED"


@pytest.mark.parametrize(
    "body", ["exit 1", "echo slurm_load_jobs error: Invalid job id specified; exit 1", "echo", "sleep 30; true"]
)
def test_a_slurm_that_fails_or_hangs_leaves_the_record_to_the_hooks(tmp_path: Path, monkeypatch, body: str) -> None:
    monkeypatch.setattr(asking, "ASK_TIMEOUT_S", 0.5)
    script = tmp_path / "squeue"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    start = time.monotonic()
    found = decoded(job_record(job(2, exit_status=9), "scontrol", str(script)))
    assert (found.state, found.exit_code, found.partition) == ("FAILED", "0:9", "small-g")
    assert time.monotonic() - start < patience(10)


@pytest.mark.parametrize(
    ("body", "is_gone"),
    [
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", True),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", False),
        ("exit 1", False),
        ("echo '2|RUNNING|'", False),
        ("echo '2|COMPLETING|'", False),
        ("echo '2|COMPLETED|'", True),
        ("echo '3|RUNNING|'; echo '2|FAILED|'", True),
        ("sleep 30", False),
    ],
)
def test_only_an_answer_says_that_a_job_is_gone(tmp_path: Path, monkeypatch, body: str, is_gone: bool) -> None:
    monkeypatch.setattr(asking, "ASK_TIMEOUT_S", 0.5)
    script = tmp_path / "squeue"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    assert asking.is_gone(str(script), 2) is is_gone
    assert asking.is_gone(str(tmp_path / "nowhere"), 2) is False


def test_without_slurms_commands_the_record_is_the_hooks(tmp_path: Path) -> None:
    for squeue in ("", str(tmp_path / "nowhere"), str(tmp_path)):
        found = decoded(job_record(job(2), "scontrol", squeue))
        assert (found.state, found.node_count, found.gpus_allocated) == ("COMPLETED", 1, None)
    assert decoded(job_record(job(2), "", "squeue")).gpus_allocated is None


ENDINGS = {"timeout": ("TIMEOUT", "0:15"), "fail": ("FAILED", "3:0"), "segv": ("FAILED", "0:11")}
ENDINGS |= {"cancelrun": ("CANCELLED", "0:15"), "oversub": ("COMPLETED", "0:0"), "range": ("COMPLETED", "0:0")}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_captured_ending_is_a_sound_record(tmp_path: Path, name: str) -> None:
    found = decoded(Slurm(tmp_path, shown(name)).record(job(number(name))))
    assert (found.state, found.exit_code) == ENDINGS[name]
    assert found.has_ended
    assert found.gpus_allocated >= 1
    assert any(option.startswith("--gpus") for option in found.request)


def test_a_job_that_could_not_be_launched_ended_by_a_signal_alone(tmp_path: Path) -> None:
    """Slurm's own number of such a failure, 4021 = 15 * 256 + 53, is shown as 0:53 by scontrol and sacct."""
    row = shown("fail", State="FAILED", exit_code="4021")
    assert decoded(Slurm(tmp_path, row).record(job(number("fail")))).exit_code == "0:53"
    assert record.by_hooks(job(1, exit_status=4021))["exit_code"] == "0:53"


def test_small_memory_is_a_part_of_a_gb() -> None:
    assert by_slurm(fields("memnode"), job(52), [])["memory_requested_gb"] == pytest.approx(600 / 1024)


def test_a_job_without_gpus_has_none_and_not_an_unknown_number() -> None:
    assert by_slurm(fields("nogpu"), job(46), [])["gpus_allocated"] == 0


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ("00:00:00", 0.0),
        ("3-00:00:00", 259200.0),
        ("1-02:00:30", 93630.0),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("", None),
        ("12:30", 750.0),
        ("1:2:3:4", None),
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


def test_slurm_is_asked_in_utc_and_in_its_own_spelling_of_time(tmp_path: Path) -> None:
    script = tmp_path / "squeue"
    script.write_text(f"#!{sys.executable}\nimport os\nprint(os.environ['TZ'], os.environ['SLURM_TIME_FORMAT'])\n")
    script.chmod(0o755)
    assert asking._run([str(script)]) == "UTC standard\n"
