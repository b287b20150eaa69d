"""From a payload at the border to a judged report: the smallest one that the contract allows, and one bad value."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from analysis.models import JobEfficiency, SilentNode
from analysis.selectors import assessment, due_jobs, judged_metrics
from analysis.services import analyse_due
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from portal.ingest.body import records
from portal.ingest.services import ingest
from tests.payloads import decoded, gpu, interim, job_record, record, summary
from wire.payloads import JOB_RECORD, NODE_SUMMARY

pytestmark = pytest.mark.django_db


def smallest(utils: list[float]) -> dict[str, Any]:
    """A node summary of the required fields alone."""
    gpus = [{"gpu_id": index, "avg_util": util} for index, util in enumerate(utils)]
    return {"schema": NODE_SUMMARY, "cluster": "lumi", "job_id": 123456, "node": "nid005123", "gpus": gpus}


def judged(payload: dict[str, Any], now: Any) -> JobEfficiency:
    """The judgement of the run of these measurements, both payloads brought as bytes."""
    body = json.dumps([payload, record()]).encode()
    outcome = ingest(records(body), [NODE_SUMMARY, JOB_RECORD])
    assert (outcome.accepted, outcome.rejected) == (2, [])
    assert analyse_due(10, now) == 1
    return JobEfficiency.objects.get()


@pytest.mark.parametrize(
    ("utils", "avg_gpu_util", "code"),
    [([0.0] * 8, 0.0, "no_gpu_use"), ([88.0] * 2 + [0.0] * 6, 22.0, "parallelism_mismatch")],
)
def test_the_smallest_payload_is_judged(utils: list[float], avg_gpu_util: float, code: str, now) -> None:
    row = judged(smallest(utils), now)
    assert row.avg_gpu_util == avg_gpu_util
    assert (row.coverage_fraction, row.measured_gpus) == (1.0, 8)
    assert code in row.finding_codes


def test_one_gpu_with_an_impossible_use_keeps_the_seven_others(now) -> None:
    row = judged(summary(gpus=[gpu(0) | {"avg_util": 250}, *(gpu(index) for index in range(1, 8))]), now)
    # Seven of the eight GPUs for the whole run: 7 / 8.
    assert (row.avg_gpu_util, row.coverage_fraction) == (90.0, 0.875)
    assert "avg_util: not possible: 250 is above 100" in row.not_measured
    assert judged_metrics(Job.objects.get()).gpus.gpu_id.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert assessment(Job.objects.get()).facts.gpus.count == 7


def test_a_run_whose_final_summary_never_came_is_judged_on_what_came_before_once_it_is_settled(now, settings) -> None:
    settings.SETTLE_SECONDS = 300
    record_node_summary(decoded(interim([80.0] * 8)), now - timedelta(hours=2))
    assert list(due_jobs(now)) == [], "its record says first that it has ended"
    record_job(job_record(ended_at=now.isoformat(), walltime_used_s=9000), now)
    assert list(due_jobs(now + timedelta(seconds=299))) == []
    at = now + timedelta(seconds=300)
    assert analyse_due(10, at) == 1
    row = JobEfficiency.objects.get()
    # Ten minutes of two and a half hours: 600 s / 9000 s.
    assert (row.avg_gpu_util, round(row.coverage_fraction, 4), row.is_partial) == (80.0, 0.0667, True)
    assert "GPU use: no summary of the job's end from 1 of 1 nodes; an earlier one counts" in row.not_measured
    assert SilentNode.objects.get().node == "nid005123", "it fell silent during the run"
    assert analyse_due(10, at) == 0
    # The final one may still come: it takes the place of the other, and the run is judged once more.
    record_node_summary(decoded(summary([40.0] * 8)), at)
    assert analyse_due(10, at + timedelta(seconds=300)) == 1
    row.refresh_from_db()
    assert (row.avg_gpu_util, row.coverage_fraction) == (40.0, 0.8)
    assert not any("no summary" in sentence for sentence in row.not_measured)
    assert not SilentNode.objects.exists()
    assert JobEfficiency.objects.count() == 1
