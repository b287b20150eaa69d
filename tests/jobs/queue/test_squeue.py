"""The text of squeue as values: the captured queue of a real Slurm, hostile names, and what cannot be true."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.queue.squeue import QueueFormatError, queue_format, queue_of, task_count
from tests.jobs.queue.listing import pending, row, sample

MARK = "\x1f3f2a\x1f"


def only(text: str, **how: object):
    (job,) = queue_of(text, cluster="lumi", **how).jobs
    return job


def left_out(text: str) -> list[str]:
    return [str(found) for found in queue_of(row(JobID="1") + text, cluster="lumi").left_out]


# What a real Slurm printed


def test_the_whole_queue_of_a_real_slurm_is_read() -> None:
    found = queue_of(sample(), cluster="lumi")
    assert found.left_out == ()
    states = {job.job_id: job.is_running for job in found.jobs}
    # 23 is ending: it is in the queue no more.
    assert [job_id for job_id, is_running in states.items() if is_running] == [1, 2, 10, 11, 12, 14, 13, 4]
    assert [job_id for job_id, is_running in states.items() if not is_running] == [7, 8, 9, 15, 18, 19, 20, 21, 6, 17]
    assert {job.user_id for job in found.jobs} == {"alice", "bob"}


def test_a_running_job_has_what_it_was_allocated() -> None:
    """16 Slurm CPUs are 8 cores on LUMI; the limit of 1-02:00:30 was rounded up to 1-02:01:00 = 93,660 s."""
    typed = next(job for job in queue_of(sample(), cluster="lumi").jobs if job.job_id == 2)
    assert (typed.node_count, typed.gpus, typed.cores, typed.memory_gb) == (2, 16, 8, 16.0)
    assert (typed.time_limit_s, typed.is_exclusive, typed.reason) == (93_660.0, False, "")
    assert typed.started_at == datetime(2026, 11, 24, 14, 45, 53, tzinfo=UTC)


def test_a_pending_job_has_what_it_requests_and_no_start() -> None:
    jobs = {job.job_id: job for job in queue_of(sample(), cluster="lumi").jobs}
    # --nodes=2-4 --gpus-per-node=8: NumNodes shows 4, and the list of resources what is requested at least.
    assert (jobs[8].node_count, jobs[8].gpus, jobs[8].started_at) == (2, 16, None)
    # Held: it cannot start until somebody releases it, and has no time limit.
    assert (jobs[6].reason, jobs[6].eligible_at, jobs[6].time_limit_s) == ("JobHeldUser", None, None)
    assert jobs[9].eligible_at == datetime(2026, 11, 24, 16, 45, 53, tzinfo=UTC)


def test_one_row_stands_for_the_pending_tasks_of_an_array() -> None:
    """1-250:3 are 84 tasks, since (250 - 1) / 3 + 1 = 84; the fifteen of job 17 are listed one by one."""
    jobs = {job.job_id: job for job in queue_of(sample(), cluster="lumi").jobs}
    assert (jobs[19].array_job_id, jobs[19].array_task_id, jobs[19].task_count, jobs[19].gpus) == (19, None, 84, 1)
    assert (jobs[17].task_count, jobs[17].is_exclusive) == (15, True)


def test_the_parts_of_a_heterogeneous_job_and_a_suspended_job_are_jobs() -> None:
    jobs = {job.job_id: job for job in queue_of(sample(), cluster="lumi").jobs}
    assert (jobs[20].gpus, jobs[21].gpus, jobs[13].is_running, jobs[13].job_name) == (1, 2, True, "")


def test_captured_names_with_the_mark_and_a_line_end_shift_nothing() -> None:
    jobs = {job.job_id: job for job in queue_of(sample(), cluster="lumi").jobs}
    assert (jobs[10].job_name, jobs[11].job_name, jobs[12].job_name) == ("new\ufffdline", 'a|b"c', "x" * 256)


# Names


@given(name=st.text())
def test_no_name_changes_another_field_or_another_row(name: str) -> None:
    """The mark is drawn for each call, so no name contains it."""
    name = name.replace("\x1f", "")
    text = row(MARK, JobID="7", Name=name) + row(MARK, JobID="8", UserName="bob", Name="after")
    found = queue_of(text, cluster="lumi", mark=MARK)
    assert [(job.job_id, job.user_id, job.gpus) for job in found.jobs] == [(7, "alice", 2), (8, "bob", 2)]
    assert found.jobs[1].job_name == "after"


def test_a_name_that_looks_like_a_row_is_a_name() -> None:
    forged = "train\n" + row("|", JobID="8", UserName="bob")
    (job,) = queue_of(row(MARK, Name=forged), cluster="lumi", mark=MARK).jobs
    assert (job.job_id, job.user_id, job.job_name[:8]) == (7, "alice", "train\ufffd8|")


def test_what_is_invisible_in_a_name_is_made_visible() -> None:
    assert only(row(Name="a\u202eb\x1b[31m\x00")).job_name == "a\ufffdb\ufffd[31m\ufffd"


# Fields


@pytest.mark.parametrize("state", ["SUSPENDED", "CONFIGURING", "RESIZING", "STOPPED", "SIGNALING"])
def test_a_job_that_holds_its_nodes_counts_as_running(state: str) -> None:
    assert only(row(State=state)).is_running


@pytest.mark.parametrize("state", ["REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"])
def test_a_job_that_will_start_again_is_pending(state: str) -> None:
    job = only(row(State=state))
    assert not job.is_running
    assert job.started_at is None


@pytest.mark.parametrize("state", ["COMPLETING", "STAGE_OUT", "REVOKED"])
def test_a_job_that_has_ended_is_in_the_queue_no_more(state: str) -> None:
    assert queue_of(row(State=state), cluster="lumi").jobs == ()


@pytest.mark.parametrize(
    ("written", "limit_s"), [("30", None), ("5:00", 300.0), ("UNLIMITED", None), ("Partition_Limit", None), ("", None)]
)
def test_time_limits(written: str, limit_s: float | None) -> None:
    if written == "30":
        assert left_out(row(TimeLimit=written)) == ["line 2: 7: TimeLimit is not a duration"]
    else:
        assert only(row(TimeLimit=written)).time_limit_s == limit_s


def test_a_job_without_gpus_has_none_and_without_resources_nothing_is_known() -> None:
    assert only(row(tres_alloc="cpu=2,mem=1G,node=1")).gpus == 0
    job = only(row(tres_alloc="N/A", NumNodes="3"))
    assert (job.gpus, job.cores, job.memory_gb, job.node_count) == (None, None, None, 3)


def test_cores_are_counted_as_the_cluster_counts_them() -> None:
    (job,) = queue_of(row(), cluster="elsewhere").jobs
    assert (job.cores, only(row()).cores) == (14, 7)


def test_of_several_partitions_the_first_is_kept_however_long_the_list() -> None:
    assert only(pending(Partition=",".join(["small-g", *(f"partition{n}" for n in range(20))]))).partition == "small-g"


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("Priority", "Priority"),
        ("None", ""),
        ("ReqNodeNotAvail, UnavailableNodes:nid[005001-005009]", "ReqNodeNotAvail"),
        ("ReqNodeNotAvail(Unavailable:nid005001)", "ReqNodeNotAvail"),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved", "Nodes_required_for_job_are_DOWN"),
        ("launch failed requeued held", "launch failed requeued held"),
        ("x" * 500, "x" * 64),
    ],
)
def test_reasons(cell: str, reason: str) -> None:
    assert only(pending(Reason=cell)).reason == reason


def test_times_are_of_the_zone_where_they_were_printed() -> None:
    assert only(row(), zone=ZoneInfo("Europe/Helsinki")).started_at == datetime(2026, 11, 20, 10, tzinfo=UTC)


def test_a_time_that_cannot_be_true_is_not_known() -> None:
    job = only(row(SubmitTime="1970-01-01T00:00:00", StartTime="9999-01-01T00:00:00"))
    assert (job.submitted_at, job.started_at) == (None, None)


@pytest.mark.parametrize(("written", "count"), [("3", 1), ("0-9", 10), ("0-9,20,30-50:10%4", 14), ("0-8:2", 5)])
def test_tasks_are_counted(written: str, count: int) -> None:
    assert task_count(written) == count


@pytest.mark.parametrize("written", ["", "1-", "5-1", "1-9:0", "0-9,...", "-3", "1;2", "99999999"])
def test_what_is_no_list_of_tasks_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a list of tasks"):
        task_count(written)


# What is left out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (row(JobID="-7"), "JobID is not a whole number"),
        (row(JobID="7_2"), "JobID is not a whole number"),
        (row(UserName="1003"), "belongs to user number 1003, whose name squeue does not know here"),
        (row(UserName="(null)"), "has no user"),
        (row(UserName="al ice"), "Expected `str` matching regex"),
        (row(Account="(null)"), "has no account"),
        (row(State="DANCING"), "is in no state that is known (DANCING)"),
        (row(tres_alloc="cpu=99999999999,node=1"), "Expected `int` <= 10000000"),
        (row(tres_alloc="cpu=1,mem=99999P,node=1"), "Expected `float` <= 10000000"),
        (row(tres_alloc="cpu=many,node=1"), "tres-alloc is not a whole number"),
        (row(TimeLimit="999999-00:00:00"), "Expected `float` <= 1000000000"),
        (row(StartTime="yesterday"), "StartTime is not a time in ISO form"),
        (pending(ArrayTaskID="1,2,..."), "ArrayTaskID is not a list of tasks"),
        (row(JobID="1"), "is listed twice"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_read(text: str, why: str) -> None:
    found = queue_of(row(JobID="1") + text + row(JobID="9"), cluster="lumi")
    assert [job.job_id for job in found.jobs] == [1, 9]
    (bad,) = found.left_out
    assert bad.line == 2
    assert why in str(bad)


def test_a_row_that_is_named_is_safe_to_print() -> None:
    assert left_out(row(JobID="\x1b[31m" + "9" * 100)) == [
        "line 2: \ufffd[31m" + "9" * 35 + ": JobID is not a whole number"
    ]


# Texts


def test_an_empty_queue_is_no_error() -> None:
    assert queue_of("", cluster="lumi").jobs == queue_of("\n", cluster="lumi").jobs == ()


def test_the_heading_that_squeue_prints_without_an_option_is_no_row() -> None:
    heading = "CLUSTER: lumi\n" + "|".join(["JOBID", *"x" * 16]) + "|\n"
    assert only(heading + row()).job_id == 7
    assert queue_of(heading, cluster="lumi").jobs == ()


@pytest.mark.parametrize("text", ["slurm_load_jobs error: Unable to contact slurm controller\n", "7|7|alice\n"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(QueueFormatError, match="no line has its fields"):
        queue_of(text, cluster="lumi")


def test_a_queue_of_which_no_row_can_be_read_is_refused_with_the_first_reason() -> None:
    with pytest.raises(QueueFormatError, match="no row can be read; line 1: 7: belongs to user number 1003"):
        queue_of(row(UserName="1003") * 3, cluster="lumi")


def test_only_fields_that_are_needed_are_asked_for_and_the_name_comes_last() -> None:
    fields = [field.partition(":")[0] for field in queue_format(MARK).split(",")]
    assert not {"Command", "WorkDir", "Comment", "admin_comment", "STDOUT", "NodeList"} & set(fields)
    assert fields[-1] == "Name"
