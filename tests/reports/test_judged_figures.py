"""The figures of a stored report draw the measurements that it judged, and nothing that it set aside."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.selectors import assessment, judged_metrics, measurements_of
from analysis.services import analyse_due
from education.seeds import seed_lessons
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.figure_data import figure_data, use_by_row, use_over_time
from reports.job_report import JobReport, job_report
from reports.services.formats import figure, figure_views, figures
from tests.payloads import gpu, job_record, node_payload

pytestmark = pytest.mark.django_db

# GPU 3 says no capacity, and a peak that no GPU of the partition has; GPU 5 took less than half of the samples.
GPUS = [
    *(gpu(index) for index in range(3)),
    gpu(3, mem_total_gb=None, peak_mem_gb=99.0),
    gpu(4),
    gpu(5, 20.0, samples=3000),
    *(gpu(index) for index in range(6, 8)),
]
KEPT = ["GPU 0", "GPU 1", "GPU 2", "GPU 3", "GPU 4", "GPU 6", "GPU 7"]


@pytest.fixture
def job(now) -> Job:
    """alice's run on nid005123, judged; nid009999 says that it ran there too, at 33 %."""
    record_job(job_record())
    record_node_summary(node_payload(gpus=GPUS))
    record_node_summary(node_payload([33.0] * 8, node="nid009999"))
    assert analyse_due(10, now) == 1
    return Job.objects.get()


def test_a_node_that_is_not_the_jobs_and_a_gpu_unlike_its_peers_are_in_no_figure(job: Job) -> None:
    data = figure_data(judged_metrics(job))
    assert list(data.labels) == KEPT
    assert use_by_row(data).rows == tuple(KEPT)
    assert np.array_equal(use_over_time(data).low, np.full(120, 90.0))
    assert not any(
        "nid009999" in told for told in map(bytes.decode, figures(job, _report(job), measurements_of(job)).values())
    )


def test_an_impossible_peak_is_a_gap_in_the_figure_of_memory(job: Job) -> None:
    data = figure_data(judged_metrics(job))
    assert np.array_equal(data.peak_mem_gb, [40.0, 40.0, 40.0, np.nan, 40.0, 40.0, 40.0], equal_nan=True)


def test_the_tables_and_the_words_beside_a_figure_tell_the_same(job: Job) -> None:
    views = {view.name: view for view in figure_views(job, _report(job), measurements_of(job))}
    assert [row[0] for row in views["gpu_memory"].table.rows] == KEPT
    assert [row[0] for row in views["gpu_heatmap"].table.rows] == KEPT
    assert "Use of each of 7 GPUs" in views["gpu_heatmap"].text
    assert "single GPUs between 90 % and 90 %" in views["gpu_use"].text
    assert "40.0 GB" in views["gpu_memory"].text


def test_a_picture_by_itself_is_the_one_in_the_report(job: Job) -> None:
    assert (
        figure(job, "gpu_memory", measurements_of(job))
        == figures(job, _report(job), measurements_of(job))["gpu_memory"]
    )


def _report(job: Job) -> JobReport:
    return job_report(assessment(job), seed_lessons())
