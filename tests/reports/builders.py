"""Reports and judgements made without a database, for the tests of wording and rendering."""

from __future__ import annotations

from typing import Any

from analysis.assess import Assessment, assess
from education.seeds import seed_lessons
from reports.build import job_report
from reports.figure_data import FigureData, figure_data
from reports.job_report import JobReport
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

TWO_OF_EIGHT = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]


def judged(gpus: list[dict[str, Any]] | None = None, **record: Any) -> Assessment:
    """A judged run of one node; `gpus=[]` is a run that nobody measured."""
    shown = TWO_OF_EIGHT if gpus is None else gpus
    return assess(job_record(**record), metrics_of(*([node_payload(gpus=shown)] if shown else [])))


def report(gpus: list[dict[str, Any]] | None = None, **record: Any) -> JobReport:
    return job_report(judged(gpus, **record), seed_lessons())


def figures_of(gpus: list[dict[str, Any]] | None = None) -> FigureData:
    return figure_data(metrics_of(node_payload(gpus=TWO_OF_EIGHT if gpus is None else gpus)))
