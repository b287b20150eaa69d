"""Accounting text to job records: a real Slurm's output, and the traps that real output holds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from jobs.records import JobRecord
from jobs.sacct import Accounting, SacctFormatError, job_runs

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"

COLUMNS = (
    "JobIDRaw JobID User Account Partition QOS State ExitCode Submit Eligible Start End ElapsedRaw TimelimitRaw NNodes"
    " AllocCPUS ReqTRES AllocTRES NodeList Restarts JobName"
).split()
ORDINARY = {
    "JobIDRaw": "7",
    "JobID": "7",
    "User": "alice",
    "Account": "project_465000001",
    "Partition": "small-g",
    "QOS": "normal",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "Submit": "2026-11-20T09:00:00",
    "Eligible": "2026-11-20T09:30:00",
    "Start": "2026-11-20T10:00:00",
    "End": "2026-11-20T12:00:00",
    "ElapsedRaw": "7200",
    "TimelimitRaw": "240",
    "NNodes": "1",
    "AllocCPUS": "28",
    "ReqTRES": "billing=2,cpu=28,gres/gpu=2,mem=120G,node=1",
    "AllocTRES": "billing=2,cpu=28,gres/gpu:mi250=2,gres/gpu=2,mem=120G,node=1",
    "NodeList": "nid005001",
    "Restarts": "0",
    "JobName": "train",
}


def text(*rows: dict[str, str], columns: list[str] = COLUMNS, delimiter: str = "|") -> str:
    lines = [columns, *([(ORDINARY | row)[column] for column in columns] for row in rows)]
    return "".join(delimiter.join(line) + "\n" for line in lines)


def read(*rows: dict[str, str], **how) -> Accounting:
    return job_runs(text(*rows, **how), cluster="lumi")


def one(**cells: str) -> JobRecord:
    (record,) = read(cells).records
    return record


@pytest.fixture(scope="module")
def captured() -> dict[int, JobRecord]:
    """The runs of a real Slurm 22.05, by job id."""
    found = job_runs((SAMPLES / "sacct-P-wide.txt").read_text(), cluster="lumi")
    assert found.skipped == ()
    assert len(found.records) == 26
    return {record.job_id: record for record in found.records}


def test_a_real_row_is_read_whole(captured: dict[int, JobRecord]) -> None:
    run = captured[20]
    assert (run.user_id, run.project_id, run.partition, run.qos) == ("alice", "project_465000001", "small-g", "normal")
    assert (run.nodes, run.node_count) == (("nid005002", "nid005003"), 2)
    # gres/gpu:mi250=16 and gres/gpu=16 are the same sixteen; 16 hardware threads are 8 cores.
    assert (run.gpus_requested, run.gpus_allocated, run.cpus_allocated) == (16, 16, 8)
    assert (run.memory_requested_gb, run.walltime_requested_s, run.walltime_used_s) == (16.0, 300.0, 8.0)
    assert run.started_at == datetime(2026, 11, 20, 22, 3, 28, tzinfo=UTC)
    assert run.ended_at == datetime(2026, 11, 20, 22, 3, 36, tzinfo=UTC)


def test_real_rows_tell_when_a_run_could_start(captured: dict[int, JobRecord]) -> None:
    assert captured[20].eligible_at == datetime(2026, 11, 20, 22, 3, 21, tzinfo=UTC)
    # Eligible 22:03:21 and started 22:03:28.
    assert captured[20].queue_wait_s == 7.0
    assert {job for job, run in captured.items() if run.eligible_at is None} == set()


def test_a_run_that_was_never_eligible_has_no_wait() -> None:
    assert one(Eligible="Unknown").eligible_at is None
    helsinki = job_runs(text({"Eligible": "2026-11-20T11:30:00"}), cluster="lumi", zone=ZoneInfo("Europe/Helsinki"))
    assert helsinki.records[0].eligible_at == datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
    without = [column for column in COLUMNS if column != "Eligible"]
    assert read({}, columns=without).records[0].eligible_at is None
    assert [str(row) for row in read({"Eligible": "2026-13-01T00:00:00"}).skipped] == [
        "line 2: 7: Eligible is not a time in ISO form"
    ]


def test_real_arrays_heterogeneous_jobs_and_requests_that_grew(captured: dict[int, JobRecord]) -> None:
    assert {job: (captured[job].array_job_id, captured[job].array_task_id) for job in (25, 26, 27, 13)} == {
        25: (13, 0),
        26: (13, 1),
        27: (13, 2),
        13: (13, 3),
    }
    assert [(captured[job].job_name, captured[job].gpus_allocated) for job in (22, 23)] == [("het", 1), ("het", 2)]
    # An exclusive partition gave all eight GPUs to who asked for four; 64 hardware threads are 32 cores.
    assert (captured[21].gpus_requested, captured[21].gpus_allocated, captured[21].cpus_allocated) == (4, 8, 32)
    # 300M of memory: 300 / 1024.
    assert captured[17].memory_requested_gb == 0.29296875


def test_whole_nodes_are_told_by_what_was_given_beyond_the_request(captured: dict[int, JobRecord]) -> None:
    # Asked for --gpus=4 in standard-g, and all eight were given.
    assert (captured[21].is_exclusive, captured[21].nodes_requested) == (True, 1)
    shared = [job for job, run in captured.items() if run.is_exclusive is not None]
    assert shared == [21]
    assert captured[20].nodes_requested == 2


HELD = "billing=1,cpu={cpu},gres/gpu={gpu},mem=60G,node={node}"


@pytest.mark.parametrize(
    ("asked", "held", "partition", "is_exclusive"),
    [
        # (threads, GPUs, nodes); a core has two threads, a node 56 cores.
        ((14, 1, 1), (14, 1, 1), "small-g", None),
        ((7, 1, 1), (8, 1, 1), "small-g", None),
        ((14, 1, 1), (112, 1, 1), "small-g", True),
        ((14, 1, 1), (14, 8, 1), "small-g", True),
        ((14, 8, 2), (28, 16, 2), "small-g", True),
        ((112, 8, 1), (112, 8, 1), "small-g", None),
        ((111, 8, 1), (112, 8, 1), "small-g", None),
        # --nodes=1-2 --gpus-per-node=8 on two nodes: twice as many GPUs, and as many a node.
        ((14, 8, 1), (28, 16, 2), "small-g", None),
        ((14, 1, 1), (14, 1, 1), "standard-g", True),
        ((14, 1, 1), (128, 1, 1), "lumid", None),
        ((14, 1, 1), (14, 8, 1), "lumid", True),
    ],
)
def test_whole_nodes_are_said_only_where_accounting_tells(
    asked: tuple, held: tuple, partition: str, is_exclusive: bool | None
) -> None:
    tres = [HELD.format(cpu=cpu, gpu=gpu, node=node) for cpu, gpu, node in (asked, held)]
    run = one(ReqTRES=tres[0], AllocTRES=tres[1], NNodes=str(held[2]), Partition=partition)
    assert run.is_exclusive is is_exclusive


def test_an_empty_request_says_nothing_of_what_was_asked_for() -> None:
    run = one(ReqTRES="")
    assert (run.gpus_requested, run.nodes_requested, run.is_exclusive) == (None, None, None)
    assert (run.gpus_allocated, run.memory_requested_gb, run.cpus_allocated) == (2, 120.0, 14)


def test_real_jobs_that_never_started_held_nothing(captured: dict[int, JobRecord]) -> None:
    for job in (9, 10):
        run = captured[job]
        assert (run.state, run.started_at, run.gpus_allocated, run.node_count) == ("FAILED", None, 0, 0)


def test_a_real_name_with_a_bar_and_a_comment_with_a_line_end_shift_nothing(captured: dict[int, JobRecord]) -> None:
    assert captured[19].job_name == "odd|näme `q` \\ x"
    assert (captured[19].user_id, captured[19].gpus_allocated) == ("alice", 1)


def test_a_real_requeue_is_two_attempts_of_one_job() -> None:
    found = job_runs((SAMPLES / "sacct-P-wide-duplicates.us.txt").read_text(), cluster="lumi")
    runs = [(run.attempt, run.state, run.walltime_used_s) for run in found.records if run.job_id == 16]
    assert runs == [(0, "REQUEUED", 20.0), (1, "COMPLETED", 3.0)]
    assert len(found.records) == 27


def test_every_field_that_slurm_knows_gives_the_same_runs(captured: dict[int, JobRecord]) -> None:
    found = job_runs((SAMPLES / "sacct-P-all-fields-allocations.txt").read_text(), cluster="lumi")
    assert {run.job_id: run.gpus_allocated for run in found.records} == {
        job: run.gpus_allocated for job, run in captured.items()
    }


@pytest.mark.parametrize(
    ("requested", "allocated", "gpus"),
    [
        ("gres/gpu=8", "gres/gpu:mi250=8,gres/gpu=8", 8),
        ("gres/gpu=8", "gres/gpu:mi250=8", 8),
        ("gres/gpu=8", "gres/gpu:a=2,gres/gpu:b=1", 3),
        ("gres/gpu=8", "cpu=1", 0),
        ("gres/gpu=8", "gres/gpumem=8G,gres/gpuutil=5,gres/gpu=4", 4),
    ],
)
def test_gpus_are_counted_once(requested: str, allocated: str, gpus: int) -> None:
    run = one(ReqTRES=requested, AllocTRES=allocated)
    assert (run.gpus_requested, run.gpus_allocated) == (8, gpus)


def test_hardware_threads_are_halved_and_an_odd_one_is_a_core() -> None:
    assert one(AllocCPUS="112").cpus_allocated == 56
    assert one(AllocCPUS="7").cpus_allocated == 4
    assert job_runs(text({}), cluster="elsewhere").records[0].cpus_allocated == 28


@pytest.mark.parametrize(
    ("mem", "gb"), [("120G", 120.0), ("524288K", 0.5), ("1536M", 1.5), ("1.50T", 1536.0), ("2048", 2.0)]
)
def test_memory_in_every_suffix_is_gigabytes(mem: str, gb: float) -> None:
    assert one(AllocTRES=f"cpu=28,mem={mem},node=1").memory_requested_gb == gb


def test_a_state_loses_who_caused_it() -> None:
    assert one(State="CANCELLED by 1000").state == "CANCELLED"
    assert one(State="CANCELLED+").state == "CANCELLED"


def test_a_cancelled_job_that_never_ran_has_no_start_though_slurm_writes_one() -> None:
    run = one(State="CANCELLED by 1000", Start="2026-11-20T12:00:00", AllocTRES="", NodeList="None assigned")
    assert (run.started_at, run.gpus_allocated, run.gpus_requested) == (None, 0, 2)
    assert one(State="CANCELLED", Start="None", AllocTRES="", NodeList="None assigned").started_at is None


def test_a_limit_that_is_none() -> None:
    for spelled in ("UNLIMITED", "Partition_Limit", ""):
        assert one(TimelimitRaw=spelled).walltime_requested_s is None


def test_restarts_name_the_attempt() -> None:
    rows = read({"Restarts": "0", "State": "REQUEUED"}, {"Restarts": "1", "Submit": "2026-11-20T12:00:05"})
    assert [run.attempt for run in rows.records] == [0, 1]


def test_without_restarts_the_runs_of_a_job_are_numbered_by_their_submission() -> None:
    columns = [column for column in COLUMNS if column != "Restarts"]
    later = {"Submit": "2026-11-20T12:00:05", "Start": "2026-11-20T12:00:06", "End": "2026-11-20T12:10:00"}
    rows = read(later, {"State": "NODE_FAIL"}, columns=columns)
    assert [(run.state, run.attempt) for run in rows.records] == [("COMPLETED", 1), ("NODE_FAIL", 0)]


def test_a_name_in_the_last_column_may_hold_anything() -> None:
    rows = read({"JobName": "a|b\nc|d\n\ne"}, {"JobIDRaw": "8", "JobID": "8"})
    assert [(run.job_id, run.job_name) for run in rows.records] == [(7, "a|b�c|d��e"), (8, "train")]


def test_a_drawn_delimiter_leaves_no_door_for_a_forged_row() -> None:
    delimiter = "\x1ftoken\x1f"
    forged = "x\n" + "|".join((ORDINARY | {"JobIDRaw": "8", "User": "bob"})[column] for column in COLUMNS)
    found = job_runs(text({"JobName": forged}, delimiter=delimiter), cluster="lumi", delimiter=delimiter)
    assert [(run.job_id, run.user_id) for run in found.records] == [(7, "alice")]


def test_a_name_in_the_middle_is_found_by_the_form_of_the_columns_around_it() -> None:
    columns = ["JobIDRaw", "JobName", "User", "Account", "State", "Start", "End"]
    rows = read({"JobName": "x|bob|project_465000001"}, columns=columns)
    assert [(run.user_id, run.job_name) for run in rows.records] == [("alice", "x|bob|project_465000001")]


def test_a_row_whose_columns_could_have_shifted_in_two_ways_is_left_out() -> None:
    header = "JobIDRaw|User|JobName|Account|Comment|State|Start|End"
    row = "7|alice|x|p1|p2|c|FAILED|2026-11-20T10:00:00|2026-11-20T12:00:00"
    found = job_runs(f"{header}\n{row}\n", cluster="lumi")
    assert found.records == ()
    assert "shifted columns" in str(found.skipped[0])


def test_a_bad_row_is_named_by_line_and_reason_and_the_others_are_kept() -> None:
    found = read(
        {"JobIDRaw": "1"},
        {"JobIDRaw": "2", "State": "RUNNING", "End": "Unknown"},
        {"JobIDRaw": "3", "User": ""},
        {"JobIDRaw": "4", "ElapsedRaw": "soon"},
        {"JobIDRaw": "5", "End": "2026-11-20T09:59:59"},
        {"JobIDRaw": "6", "NodeList": "nid[0-999999999]"},
        {"JobIDRaw": "7", "User": "a b"},
        {"JobIDRaw": "seven"},
        {"JobIDRaw": "9"},
    )
    assert [run.job_id for run in found.records] == [1, 9]
    said = [str(row) for row in found.skipped]
    for line, job, why in [
        (3, "2", "has not ended (RUNNING)"),
        (4, "3", "has no user"),
        (5, "4", "ElapsedRaw is not a whole number"),
        (6, "5", "ended_at is before started_at"),
        (7, "6", "NodeList names more than 20000 nodes"),
        (8, "7", "`$.user_id`"),
        (9, "seven", "not a job id"),
    ]:
        assert any(row.startswith(f"line {line}: {job}: ") and why in row for row in said), (line, said)


def test_times_are_of_the_zone_where_they_were_printed_unless_they_say_theirs() -> None:
    helsinki = ZoneInfo("Europe/Helsinki")
    found = job_runs(text({}, {"JobIDRaw": "8", "Start": "2026-11-20T10:00:00+01:00"}), cluster="lumi", zone=helsinki)
    assert found.records[0].started_at == datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    assert found.records[1].started_at == datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("JobID       JobName\n------------ ------\n", "there is no column JobIDRaw, User, Account"),
        ("%PDF-1.7", "not sacct -P output"),
    ],
)
def test_text_that_is_not_sacct_output_is_refused(content: str, why: str) -> None:
    with pytest.raises(SacctFormatError, match=why):
        job_runs(content, cluster="lumi")


def test_windows_line_ends_a_byte_order_mark_and_a_repeated_header_do_no_harm() -> None:
    once = text({})
    doubled = "\ufeff" + (once + text({"JobIDRaw": "8"})).replace("\n", "\r\n")
    assert [run.job_id for run in job_runs(doubled, cluster="lumi").records] == [7, 8]
