"""Reports and judgements made without a database, for the tests of wording and rendering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.assess import Assessment, assess
from education.seeds import seed_lessons
from reports.figure_data import FigureData, figure_data
from reports.figures import draw
from reports.job_report import JobReport, job_report
from reports.lessons import LessonView
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

WHOLE_REQUEST = {
    "--gpus-per-node": "8",
    "--ntasks-per-node": "8",
    "--cpus-per-task": "7",
    "--mem": "480G",
    "--time": "03:00:00",
}
"""Every option behind what `job_record` was given, so that advice is a change of its lines."""
TWO_RANKS = {"cores_allocated": 56, "busy_cores_avg": 7.9, "ranks": 2, "peak_memory_gb": 80.2, "idle_fraction": 0.85}
"""The host of a program that started two processes, for the two GPUs that work in `TWO_OF_EIGHT`."""

TWO_OF_EIGHT = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]


def judged(gpus: list[dict[str, Any]] | None = None, **record: Any) -> Assessment:
    """A judged run of one node; `gpus=[]` is a run that nobody measured."""
    shown = TWO_OF_EIGHT if gpus is None else gpus
    nodes = [node_payload(gpus=shown, cpu=TWO_RANKS)] if shown else []
    return assess(job_record(**{"request": WHOLE_REQUEST} | record), metrics_of(*nodes))


def report(gpus: list[dict[str, Any]] | None = None, **record: Any) -> JobReport:
    return job_report(judged(gpus, **record), seed_lessons())


def figures_of(gpus: list[dict[str, Any]] | None = None) -> FigureData:
    return figure_data(metrics_of(node_payload(gpus=TWO_OF_EIGHT if gpus is None else gpus)))


def drawn(value: JobReport) -> dict[str, bytes]:
    """The figures of a report, all of `TWO_OF_EIGHT`."""
    data = figures_of()
    return {name: draw(name, data) for name in value.figures}


def with_lesson(text: str, value: JobReport | None = None) -> JobReport:
    """A report whose findings all share one lesson."""
    value = value or report()
    lesson = LessonView("Lesson title", "https://docs.example/", text)
    return replace(value, findings=tuple(replace(finding, lesson=lesson) for finding in value.findings))
