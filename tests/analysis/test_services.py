"""The sweep: what is due, what is not yet, what late data opens again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from analysis.assess import assess
from analysis.models import JobEfficiency
from analysis.selectors import assessment, due_jobs
from analysis.services import analyse_due, analyse_job
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
