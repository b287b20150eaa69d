"""Rows that nobody can judge among many that somebody waits for: these are judged, those are set aside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from analysis.models import JobEfficiency
from analysis.selectors import due_jobs, measurements_of
from analysis.services import JUDGEMENT, analyse_due
from jobs.models import Job
from jobs.services import record_job
from jobs.work_queue.selectors import failure_counts, failures
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from reports.models import Report
from reports.services.publishing import REPORT, publish_due
from tests.analysis.poison import broken_request, run, runs_with_poison
from tests.metrics.stored import change_series
from tests.payloads import gpu, job_record, node_payload
from tests.steps import ran

pytestmark = pytest.mark.django_db

LATER = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


@pytest.mark.one_database
@pytest.mark.django_db(transaction=True)
def test_fifty_of_five_hundred_that_cannot_be_judged_are_set_aside_and_the_others_are_judged(settings) -> None:
    """By the worker of a machine without Redis; tests/portal/serving/test_celery.py has the same with Celery's."""
    settings.RETRY_SECONDS = 0
    poisoned = runs_with_poison(500, 50)
    done = [ran("judge") for _ in range(12)]
    assert (sum(done), done[-1]) == (450, 0)
    assert JobEfficiency.objects.count() == Report.objects.count() == 450
    assert failure_counts() == {(JUDGEMENT, "set_aside"): 50}
    assert sorted(failures().values_list("key", flat=True)) == poisoned
    assert set(failures().values_list("tries", flat=True)) == {5}


def test_one_that_cannot_be_judged_again_stops_no_other(capsys) -> None:
    for job_id in (1, 2, 3):
        run(job_id)
    analyse_due(10, LATER)
    publish_due(10, LATER)
    broken_request(1)
    call_command("analyse_job", "--all", "--dry-run")
    said = capsys.readouterr()
    assert ("0 of 3 runs would change class" in said.out, said.err) == (
        True,
        "1 cannot be judged again: the log shows why\n",
    )
    call_command("analyse_job", "--all")
    said = capsys.readouterr()
    assert said.out == "2 analysed, 2 reports made\n"
    assert said.err.startswith("pieces of work that failed so far: 1;")
    assert sorted(JobEfficiency.objects.values_list("job__job_id", "revision")) == [(1, 1), (2, 2), (3, 2)]


def test_a_report_that_cannot_be_made_stops_no_other() -> None:
    for job_id in (1, 2, 3):
        run(job_id)
    analyse_due(10, LATER)
    JobEfficiency.objects.filter(job__job_id=2).update(savings={"gpu_hours": "many"})
    assert publish_due(10, LATER) == 2
    assert publish_due(10, LATER) == 0
    assert sorted(Report.objects.values_list("job__job_id", flat=True)) == [1, 3]
    assert failure_counts() == {(REPORT, "waits"): 1}
    JobEfficiency.objects.filter(job__job_id=2).update(savings=None)
    assert publish_due(10, LATER + timedelta(minutes=2)) == 1
    assert not failures().exists()


@pytest.mark.django_db(transaction=True)
def test_the_local_worker_goes_on(settings) -> None:
    settings.RETRY_SECONDS = 1
    for job_id in (1, 2):
        run(job_id)
    broken_request(1)
    assert ran("judge") == 1
    assert ran("judge") == 0
    assert Report.objects.get().job.job_id == 2
    assert failure_counts() == {(JUDGEMENT, "waits"): 1}


@pytest.mark.parametrize("at", [datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_a_node_whose_clock_is_far_off_costs_its_curve_and_no_memory(at: datetime) -> None:
    """Such a row may lie in the database since before it was refused at the door."""
    record_job(job_record(job_id=1, nodes=["n1", "n2", "n3"], node_count=3, gpus_allocated=6))
    for node in ("n1", "n2", "n3"):
        record_node_summary(node_payload(job_id=1, node=node, gpus=[gpu(0, 90.0), gpu(1, 0.0)]))
    NodeSummary.objects.filter(node="n2").update(started_at=at, ended_at=at)
    assert analyse_due(10, LATER) == 1
    measured = measurements_of(Job.objects.get())
    assert measured.series.length == 120
    assert [round(float(column.mean())) for column in measured.series.util.T[[0, 4]]] == [90, 90]
    assert "use over time on n2: its clock differs by more than a day from the other nodes" in measured.not_measured
    assert measured.started_at == datetime(2026, 11, 20, 10, tzinfo=UTC)
    assert JobEfficiency.objects.get().measured_gpus == 6


def test_points_of_a_nanosecond_and_of_months_fit_into_memory() -> None:
    """The widest bucket of any node is that of all, and there are never more than so many of it."""
    record_job(job_record(job_id=1, nodes=["n1", "n2"], node_count=2, gpus_allocated=4))
    for node in ("n1", "n2"):
        record_node_summary(node_payload(job_id=1, node=node, gpus=[gpu(0, 90.0), gpu(1, 0.0)]))
    change_series(lambda series: {"step_s": (1e-9,) * 2})
    NodeSummary.objects.filter(node="n2").update(started_at=datetime(2026, 11, 20, 22, tzinfo=UTC))
    assert analyse_due(10, LATER) == 1
    assert measurements_of(Job.objects.get()).series.length <= 2049


@pytest.mark.parametrize("year", [1, 9999])
def test_a_record_at_the_end_of_the_calendar_stops_no_sweep(year: int) -> None:
    run(1)
    run(2)
    Job.objects.filter(job_id=1).update(ended_at=datetime(year, 1, 1, tzinfo=UTC))
    NodeSummary.objects.update(is_final=False)
    assert 2 in [job.job_id for job in due_jobs(LATER)]
    assert analyse_due(10, LATER) >= 1


@pytest.mark.parametrize(("at", "is_said"), [("2011-11-20T10:00:00Z", True), ("2026-11-19T11:00:00Z", False)])
def test_a_clock_far_from_slurms_is_said(at: str, is_said: bool) -> None:
    """The record says 2026-11-20, 10 to 12 o'clock."""
    record_job(job_record(job_id=1))
    record_node_summary(node_payload(job_id=1, started_at=at, ended_at=at))
    analyse_due(10, LATER)
    said = "the time of day: the nodes' clock differs by more than a day from Slurm's"
    assert (said in JobEfficiency.objects.get().not_measured) is is_said
