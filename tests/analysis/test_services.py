"""The sweep: what is due, what is not yet, what late data opens again."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from analysis.assess import assess
from analysis.comparable import ComparableRun
from analysis.models import FindingRow, JobEfficiency
from analysis.selectors import assessment, comparable_runs, due_jobs
from analysis.services import analyse_due, analyse_job
from analysis.thresholds import RULES_VERSION
from jobs.models import Job
from jobs.selectors import record_of
from jobs.services import record_job
from metrics.selectors import run_metrics
from metrics.services import record_node_summary
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
    analyse_due(10, now)
    assert analyse_due(10, now, since=now - timedelta(hours=1)) == 0
    record_node_summary(node_payload(), now=now)
    assert analyse_due(10, now, since=now - timedelta(hours=1)) == 1


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
    with pytest.raises(CommandError, match="goes with --all"):
        call_command("analyse_job", "1", "--dry-run")


def test_only_the_same_persons_earlier_completed_runs_of_the_script_are_comparable() -> None:
    mine = {"script_key": "hmac:a", "gpus_allocated": 8}
    others = [
        {"job_id": 1, "walltime_used_s": 5000},
        {"job_id": 2, "state": "FAILED"},
        {"job_id": 3, "user_id": "bob"},
        {"job_id": 4, "script_key": "hmac:b"},
        {"job_id": 5, "ended_at": "2026-11-21T12:00:00Z"},
        {"job_id": 6, "project_id": "project_465000002"},
        {"job_id": 7, "gpus_allocated": 2, "walltime_used_s": 9000, "ended_at": "2026-11-19T12:00:00Z"},
    ]
    early = {"started_at": "2026-11-18T10:00:00Z", "ended_at": "2026-11-20T11:00:00Z"}
    for other in others:
        record_job(job_record(**mine | early | other))
    record_job(job_record(**mine))
    job = Job.objects.get(job_id=123456)
    assert comparable_runs(job) == (ComparableRun(8, 5000.0), ComparableRun(2, 9000.0))
    job.script_key = ""
    assert comparable_runs(job) == ()
