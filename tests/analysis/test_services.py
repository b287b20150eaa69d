"""The sweep: what is due, what is not yet, what late data opens again."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import StringIO

import msgspec
import pytest
from django.core.management import CommandError, call_command

from analysis.assess import assess
from analysis.comparable import ComparableRun
from analysis.due.selectors import waiting_runs
from analysis.models import FindingRow, JobEfficiency
from analysis.selectors import assessment, comparable_runs, due_jobs
from analysis.services import analyse_changed, analyse_due, analyse_job
from analysis.thresholds import RULES_VERSION
from jobs.models import Job
from jobs.selectors import record_of
from jobs.services import record_job
from metrics.selectors import run_metrics
from metrics.services import record_node_summary
from tests.doors import by_accounting, by_hooks
from tests.payloads import gpu, job_record, node_payload

pytestmark = pytest.mark.django_db

ENDED = datetime.fromisoformat("2026-11-20T12:00:00Z")
LATER = ENDED + timedelta(minutes=5)


def test_a_run_is_due_once_all_its_nodes_have_said_their_last_word() -> None:
    record_job(job_record())
    assert list(due_jobs(ENDED)) == []
    record_node_summary(node_payload(final=False))
    assert list(due_jobs(ENDED)) == []
    record_node_summary(node_payload(sequence=2))
    assert len(list(due_jobs(ENDED))) == 1


def test_a_run_whose_nodes_stay_silent_is_due_five_minutes_after_its_end() -> None:
    record_job(job_record())
    assert list(due_jobs(LATER - timedelta(seconds=1))) == []
    assert len(list(due_jobs(LATER))) == 1


@pytest.mark.parametrize(
    "changes",
    [{"state": "RUNNING", "ended_at": None}, {"started_at": None, "state": "CANCELLED"}, {"gpus_allocated": 0}],
    ids=["running", "never started", "no GPUs"],
)
def test_what_cannot_be_judged_is_never_due(changes: dict) -> None:
    record_job(job_record(**changes))
    assert list(due_jobs(LATER)) == []


def test_runs_that_wait_are_counted_as_far_as_one_asks() -> None:
    for job_id in range(1, 4):
        record_job(job_record(job_id=job_id), ENDED)
    for job_id, changes in ((4, {"state": "RUNNING", "ended_at": None}), (5, {"gpus_allocated": 0})):
        record_job(job_record(job_id=job_id, **changes), ENDED)
    # The nodes of a run have five minutes to send their summaries.
    assert waiting_runs(LATER - timedelta(seconds=1), 10) == 0
    assert [waiting_runs(LATER, limit) for limit in (10, 2)] == [3, 2]
    assert analyse_job(Job.objects.get(job_id=1).pk, LATER)
    assert waiting_runs(LATER, 10) == 2
    record_job(job_record(job_id=1, qos="high"), LATER)
    assert waiting_runs(LATER, 10) == 3
    # An hour after they changed they are no measure of the load any more.
    assert waiting_runs(ENDED + timedelta(minutes=61), 10) == 1


def test_a_judged_run_is_not_due_again_until_its_data_changes() -> None:
    record_job(job_record())
    record_node_summary(node_payload([10.0] * 8))
    assert analyse_due(10, LATER) == 1
    assert analyse_due(10, LATER) == 0
    record_node_summary(node_payload([90.0] * 8, sequence=2))
    assert analyse_due(10, LATER) == 1
    assert JobEfficiency.objects.get().efficiency_class == "EFFICIENT"
    record_job(job_record(state="TIMEOUT"))
    assert analyse_due(10, LATER) == 1
    assert JobEfficiency.objects.get().revision == 3


def test_a_job_record_that_comes_after_its_summaries_finds_them() -> None:
    record_node_summary(node_payload())
    record_job(job_record())
    analyse_due(10, LATER)
    assert JobEfficiency.objects.get().avg_gpu_util == pytest.approx(90.0)


def test_an_unmeasured_run_is_unknown() -> None:
    record_job(job_record())
    analyse_due(10, LATER)
    assert JobEfficiency.objects.get().efficiency_class == "UNKNOWN"


def test_the_look_back_finds_late_measurements_of_old_jobs(now: datetime) -> None:
    record_job(job_record(), now=now - timedelta(days=2))
    assert analyse_changed(10, now) == 1
    assert analyse_changed(10, now) == 0
    record_node_summary(node_payload(), now=now)
    assert analyse_changed(10, now) == 1


def test_the_limit_leaves_the_rest_for_the_next_sweep() -> None:
    for job_id in (1, 2, 3):
        record_job(job_record(job_id=job_id))
    assert [analyse_due(2, LATER), analyse_due(2, LATER), analyse_due(2, LATER)] == [2, 1, 0]


def test_a_stored_judgement_reads_back_as_it_was_made() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    record_job(job_record(walltime_requested_s=86400))
    record_node_summary(node_payload(gpus=gpus))
    analyse_due(10, LATER)
    job = Job.objects.get()
    stored, made = assessment(job), assess(record_of(job), run_metrics(("lumi", 123456, 0)))
    assert stored.efficiency == made.efficiency
    assert stored.findings == made.findings
    assert stored.recommendations == made.recommendations
    assert stored.savings == made.savings
    assert len(made.findings) >= 3
    assert len(made.recommendations) == 2


def test_a_forced_analysis_judges_again() -> None:
    record_job(job_record())
    analyse_due(10, LATER)
    assert analyse_job(Job.objects.get().pk)
    assert JobEfficiency.objects.get().revision == 2


def test_judging_again_keeps_the_row_of_a_finding_that_still_holds_and_removes_the_others() -> None:
    record_job(job_record(walltime_requested_s=86400))
    record_node_summary(node_payload([90.0] * 7 + [0.0]))
    analyse_due(10, LATER)
    before = dict(FindingRow.objects.values_list("code", "pk"))
    assert set(before) == {"idle_gpus", "walltime_overrequest"}
    record_node_summary(node_payload([90.0] * 8, sequence=2))
    analyse_due(10, LATER)
    assert dict(FindingRow.objects.values_list("code", "pk")) == {
        "walltime_overrequest": before["walltime_overrequest"]
    }
    assert FindingRow.objects.get().position == 0


def test_a_dry_run_says_what_would_change_and_stores_nothing() -> None:
    for job_id in (1, 2):
        record_job(job_record(job_id=job_id))
        record_node_summary(node_payload([90.0] * 8, job_id=job_id))
    analyse_due(10, LATER)
    JobEfficiency.objects.filter(job__job_id=1).update(efficiency_class="WASTED", rules_version="old")
    FindingRow.objects.create(
        efficiency=JobEfficiency.objects.get(job__job_id=2), position=0, code="timeout", confidence=1.0, evidence={}
    )
    said = StringIO()
    call_command("analyse_job", "--all", "--dry-run", stdout=said)
    assert said.getvalue().splitlines() == [
        "1 of 2 runs would change class",
        "  WASTED -> EFFICIENT: 1",
        "1 would have other findings; nothing was stored",
    ]
    assert JobEfficiency.objects.get(job__job_id=1).efficiency_class == "WASTED"
    call_command("analyse_job", "--all", stdout=StringIO())
    assert JobEfficiency.objects.get(job__job_id=1).efficiency_class == "EFFICIENT"
    assert JobEfficiency.objects.get(job__job_id=1).rules_version == RULES_VERSION
    assert not FindingRow.objects.exists()
    with pytest.raises(CommandError, match="can only be used with --all"):
        call_command("analyse_job", "1", "--dry-run")


def test_runs_of_the_same_work_are_compared_whichever_door_they_came_by() -> None:
    hour = timedelta(hours=1)
    record_job(by_hooks(1, "train_v1", ended_at=ENDED - hour, elapsed_s=5000))
    record_job(by_accounting(2, "Train-2026-11-19.sh", ended_at=ENDED - 30 * hour, elapsed_s=9000, gpus=2))
    # Both doors tell of this one, accounting first.
    record_job(by_accounting(3, "train-run3", ended_at=ENDED - 2 * hour, elapsed_s=300, gpus=4))
    record_job(by_hooks(3, "train-run3", ended_at=ENDED - 2 * hour, elapsed_s=300, gpus=4))
    record_job(by_accounting(4, "train.0004"))
    expected = (ComparableRun(8, 5000.0), ComparableRun(4, 300.0), ComparableRun(2, 9000.0))
    assert comparable_runs(Job.objects.get(job_id=4)) == expected


def test_only_the_same_persons_earlier_completed_counted_runs_of_the_work_are_comparable() -> None:
    early = {"ended_at": ENDED - timedelta(hours=3)}
    for number, changes in enumerate(
        [
            {"state": "FAILED"},
            {"state": "NODE_FAIL"},
            {"state": "REQUEUED"},
            {"user": "bob"},
            {"project": "project_465000002"},
            {"name": "evaluate"},
            {"name": "bash"},
            {"ended_at": ENDED},
            {"ended_at": ENDED + timedelta(hours=1)},
            {"elapsed_s": 299},
            {"gpus": 0},
        ],
        start=1,
    ):
        told = by_accounting if number % 2 else by_hooks
        record_job(told(number, **{"name": "train"} | early | changes))
    record_job(by_hooks(100, "train"))
    assert comparable_runs(Job.objects.get(job_id=100)) == ()
    record_job(by_hooks(101, "bash"))
    assert comparable_runs(Job.objects.get(job_id=101)) == ()
    record_job(by_hooks(102, "train", **early))
    assert comparable_runs(Job.objects.get(job_id=100)) == (ComparableRun(8, 7200.0),)


def test_the_last_twenty_runs_are_compared_whichever_order_they_came_in() -> None:
    runs = [by_hooks(number, "train", ended_at=ENDED - timedelta(days=number)) for number in range(1, 31)]
    for run in (*runs[15:], *runs[:15]):
        record_job(msgspec.structs.replace(run, walltime_used_s=1000.0 + run.job_id))
    record_job(by_hooks(100, "train"))
    past = comparable_runs(Job.objects.get(job_id=100))
    assert [run.elapsed_s for run in past] == [1000.0 + number for number in range(1, 21)]


def judged_revisions() -> dict[int, int]:
    """How often each run was judged."""
    return dict(JobEfficiency.objects.values_list("job__job_id", "revision"))


def test_a_run_that_was_judged_before_an_earlier_one_came_is_judged_again_and_once() -> None:
    record_job(by_hooks(2, "train_v2"))
    record_job(by_accounting(3, "evaluate"))
    record_job(by_accounting(4, "train_v2", user="bob"))
    assert analyse_due(10, LATER) == 3
    record_job(by_accounting(1, "train_v1", ended_at=ENDED - timedelta(hours=5)), now=LATER)
    assert analyse_changed(10, LATER) == 2
    assert judged_revisions() == {1: 1, 2: 2, 3: 1, 4: 1}
    assert analyse_due(10, LATER) == 0
    # And not when the run that comes is the later one.
    record_job(by_hooks(5, "train_v3", ended_at=ENDED + timedelta(minutes=1)), now=LATER)
    assert analyse_due(10, LATER + timedelta(hours=1)) == 1
    assert judged_revisions() == {1: 1, 2: 2, 3: 1, 4: 1, 5: 1}


def test_a_run_that_is_known_to_have_completed_only_later_opens_the_later_ones_then() -> None:
    early = {"ended_at": ENDED - timedelta(hours=5)}
    record_job(by_hooks(1, "train", state="FAILED", **early))
    record_job(by_hooks(2, "train"))
    assert analyse_due(10, LATER) == 2
    record_job(by_accounting(1, "train", **early), now=LATER)
    assert analyse_due(10, LATER) == 2
    assert judged_revisions() == {1: 2, 2: 2}


def advice() -> dict[int, list[tuple]]:
    """What each run was advised, by its job id."""
    rows = JobEfficiency.objects.prefetch_related("recommendations").select_related("job")
    return {
        row.job.job_id: [(each.kind, each.basis, each.evidence, each.changes) for each in row.recommendations.all()]
        for row in rows
    }


def test_fifty_runs_are_judged_alike_in_whichever_order_they_come() -> None:
    """Each a minute shorter than the one before, so that the advice on the time limit follows the longest known."""
    runs = [
        by_hooks(number, f"train_v{number}", ended_at=ENDED - timedelta(days=number), elapsed_s=3600 + 60 * number)
        for number in range(1, 51)
    ]
    found = []
    for order in (runs[::-1], runs, runs[::2] + runs[1::2][::-1]):
        Job.objects.all().delete()
        for place, run in enumerate(order):
            record_job(run)
            if place % 7 == 0:
                analyse_due(100, LATER)
        analyse_due(100, LATER)
        assert analyse_due(100, LATER) == 0
        past = {job.job_id: comparable_runs(job) for job in Job.objects.all()}
        found.append((past, advice()))
    assert found[0] == found[1] == found[2]
    assert len(found[0][0][1]) == 20
    assert found[0][0][50] == ()
    # Run 21, the longest of the twenty before run 1, took 4860 s: a fifth more is 5832 s, the next quarter 1 h 45 min.
    assert [change["recommended"] for *_, changes in found[0][1][1] for change in changes] == ["01:45:00"]
