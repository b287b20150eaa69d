"""Runs whose use over time is no longer stored: their figures stay, their judgement stays, and the report says so."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from django.db.models import F

from analysis.expiry.services import SERIES, thin_measurements
from analysis.models import JobEfficiency, SweepMark
from analysis.selectors import due_jobs, would_change
from analysis.services import analyse_changed, analyse_job
from jobs.models import Job
from jobs.services import record_job
from metrics.models import NodeSummary
from metrics.selectors import revisions, run_metrics
from metrics.services import record_node_summary
from tests.payloads import job_record, node_payload

pytestmark = pytest.mark.django_db

UTILS = [80.0, 80.0, *[0.0] * 6]
DAYS = timedelta(days=400)


def make_run(job_id: int, ended_at: datetime) -> Job:
    times = {"started_at": (ended_at - timedelta(hours=2)).isoformat(), "ended_at": ended_at.isoformat()}
    record_job(job_record(job_id=job_id, **times), ended_at)
    record_node_summary(node_payload(UTILS, job_id=job_id, **times), ended_at)
    job = Job.objects.get(job_id=job_id)
    analyse_job(job.pk, ended_at)
    return job


def has_series(job_id: int) -> bool:
    return bool(np.any(~np.isnan(run_metrics(("lumi", job_id, 0)).series.util)))


def judgement(job: Job) -> dict[str, object]:
    return JobEfficiency.objects.filter(job=job).values().get()


def test_summaries_lose_what_they_show_over_time_and_keep_their_figures(now: datetime) -> None:
    for job_id, late in ((1, timedelta(seconds=1)), (2, timedelta(0))):
        make_run(job_id, now - DAYS - late)
    before, revision = run_metrics(("lumi", 1, 0)), revisions([1])
    assert [*thin_measurements(now - DAYS)] == [1]
    assert (has_series(1), has_series(2)) == (False, True)
    after = run_metrics(("lumi", 1, 0))
    assert after.gpus.avg_util.tolist() == before.gpus.avg_util.tolist() == UTILS
    assert after.gpus.peak_mem_gb.tolist() == before.gpus.peak_mem_gb.tolist()
    assert np.all(np.isnan(after.gpus.histogram_s))
    assert revisions([1]) == revision, "no run is due for it"


def test_it_goes_on_where_it_was_stopped_and_looks_at_nothing_twice(now: datetime, monkeypatch) -> None:
    monkeypatch.setattr("metrics.expiry.services.BATCH_ROWS", 2)
    for job_id in range(1, 6):
        make_run(job_id, now - DAYS - timedelta(days=10 - job_id))
    stopped = thin_measurements(now - DAYS)
    assert next(stopped) == 2
    stopped.close()
    assert [has_series(job_id) for job_id in range(1, 6)] == [False, False, True, True, True]
    # It begins with the last of the batch before, as others may share its time.
    assert [*thin_measurements(now - DAYS)] == [2, 2]
    assert not any(has_series(job_id) for job_id in range(1, 6))
    assert SweepMark.objects.get(name=SERIES).at == now - DAYS - timedelta(days=5)
    assert [*thin_measurements(now - DAYS)] == [1]


def test_summaries_of_one_moment_are_all_emptied_whatever_the_batches(now: datetime, monkeypatch) -> None:
    monkeypatch.setattr("metrics.expiry.services.BATCH_ROWS", 2)
    for job_id in range(1, 6):
        make_run(job_id, now - 2 * DAYS)
    assert [*thin_measurements(now - DAYS)] == [2, 2, 1]
    assert not any(has_series(job_id) for job_id in range(1, 6))


def test_a_thinned_run_stays_judged_as_it_was_whatever_changes_and_whoever_asks(now: datetime) -> None:
    job = make_run(1, now - DAYS - timedelta(days=1))
    assert [*thin_measurements(now - DAYS)] == [1]
    before = judgement(job)
    JobEfficiency.objects.update(rules_version="older")
    assert analyse_changed(10, now) == 0
    assert not analyse_job(job.pk, now)
    assert would_change(JobEfficiency.objects.get()) == (before["efficiency_class"], False)
    # Records of the same work that come late raise the revision of this one.
    Job.objects.update(revision=F("revision") + 1, changed_at=now)
    assert [due.pk for due in due_jobs(now)] == [job.pk]
    assert analyse_changed(10, now + timedelta(minutes=1)) == 0
    assert [*due_jobs(now)] == [], "it does not come up for ever"
    after = judgement(job)
    assert after["job_revision"] == before["job_revision"] + 1
    assert {**after, "job_revision": 0} == {**before, "job_revision": 0, "rules_version": "older"}


def test_a_run_is_judged_as_long_as_its_series_are_there_and_then_no_more_whatever_the_days(
    now: datetime, settings
) -> None:
    job = make_run(1, now - 2 * DAYS)
    assert analyse_job(job.pk, now)
    assert [*thin_measurements(now - DAYS)] == [1]
    settings.SERIES_DAYS = 0
    assert not analyse_job(job.pk, now)


def test_a_run_of_which_one_node_lost_its_series_stays_judged_until_that_node_says_it_again(now: datetime) -> None:
    job = make_run(1, now - DAYS - timedelta(days=1))
    record_node_summary(node_payload(UTILS, job_id=1, node="nid005124"), now)
    assert [*thin_measurements(now - DAYS)] == [1]
    assert (has_series(1), analyse_job(job.pk, now)) == (True, False)
    record_node_summary(node_payload(UTILS, job_id=1, sequence=99), now)
    assert analyse_job(job.pk, now)


def test_what_does_not_count_of_a_run_decides_nothing(now: datetime) -> None:
    job = make_run(1, now)
    record_node_summary(node_payload(UTILS, job_id=1, node="nid005124"), now - 2 * DAYS, sent_by="mallory")
    assert [*thin_measurements(now - DAYS)] == [1]
    assert analyse_job(job.pk, now)


def test_an_old_run_that_was_never_judged_is_judged_on_what_there_is(now: datetime) -> None:
    job = make_run(1, now - 2 * DAYS)
    JobEfficiency.objects.all().delete()
    assert [*thin_measurements(now - DAYS)] == [1]
    assert analyse_job(job.pk, now)
    assert judgement(job)["avg_gpu_util"] == 20.0


def test_with_series_kept_for_ever_every_run_is_judged_again(now: datetime, settings) -> None:
    settings.SERIES_DAYS = 0
    job = make_run(1, now - 10 * DAYS)
    assert analyse_job(job.pk, now)
    assert NodeSummary.objects.count() == 1
