"""The sample report for people without jobs: a made-up run, judged and worded by the rules that judge real ones.

`sample_job.json` holds what Slurm and a collector would have sent of it, as for `manage.py ingest`. Nothing is stored.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import msgspec
import numpy as np
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control

from analysis.assess import assess
from education.seeds import seed_lessons
from education.selectors import current_lessons, current_programs
from jobs.records import JobRecord
from metrics.packing import pack_histogram, unpack_histograms
from metrics.payloads import GpuPayload, NodePayload
from metrics.series import JUDGED_COLUMNS, NodeTimelines, RunMetrics, align, gpu_columns, host_columns
from portal.access import person, signed_in_page
from portal.charts.pictures import SIZES, Source, drawn_as, sources
from reports.figure_data import FigureData, figure_data
from reports.figure_marks import figure_marks
from reports.figures import draw
from reports.job_report import JobReport, job_report, with_lessons
from reports.reader import page_for
from reports.sections import Layout

FILE = Path(__file__).with_name("sample_job.json")
DRAWINGS_MAX = 2 * (len(SIZES) + 1) * 8
"""As many as there are figures, sizes and schemes: drawing one takes a part of a second."""


@dataclass(frozen=True)
class Picture:
    """A figure with the addresses of its drawings."""

    text: str
    special: list[Source]
    plain: Source


@signed_in_page
def sample_report(request: HttpRequest) -> HttpResponse:
    """The whole report, with the lessons of today."""
    page, report = sample_page(), sample()[0]
    pictures = []
    for name, text in report.figure_texts.items():
        *special, plain = sources(f"{reverse('sample-figure', args=[name])}?", person(request).theme)
        pictures.append(Picture(text, special, plain))
    return render(request, "portal/dashboard/sample_report.html", {"page": page, "pictures": pictures})


@signed_in_page
@cache_control(private=True, max_age=300)
def sample_figure(request: HttpRequest, name: str) -> HttpResponse:
    """One figure of it as an SVG image."""
    if name not in sample()[0].figures:
        raise Http404("The sample report has no such figure.")
    return HttpResponse(_drawing(name, *drawn_as(request.GET)), content_type="image/svg+xml")


def sample_page() -> Layout:
    """The sample report in reading order."""
    return page_for(
        with_lessons(sample()[0], current_lessons(), current_programs()), zone=timezone.get_current_timezone()
    )


@cache
def sample() -> tuple[JobReport, FigureData]:
    """The report and the numbers of its figures, made once in each process."""
    record, node = msgspec.json.decode(FILE.read_bytes(), type=tuple[JobRecord, NodePayload])
    measured = _measured(node)
    judged = assess(record, measured)
    report, facts = job_report(judged, seed_lessons()), judged.facts
    counted = replace(measured, nodes=facts.nodes, gpus=facts.gpus, hosts=facts.hosts, series=facts.series)
    return report, figure_data(counted, figure_marks(report))


@lru_cache(maxsize=DRAWINGS_MAX)
def _drawing(name: str, size: str, is_dark: bool) -> bytes:
    return draw(name, sample()[1], size, is_dark=is_dark)


def _measured(node: NodePayload) -> RunMetrics:
    """The arrays of a run on one node, without a database between."""
    return RunMetrics(
        nodes=(node.node,),
        gpus=gpu_columns(
            [[gpu.gpu_id, *(getattr(gpu, name) for name in JUDGED_COLUMNS)] for gpu in node.gpus],
            ("gpu_id", *JUDGED_COLUMNS),
            [0] * len(node.gpus),
            unpack_histograms([pack_histogram(gpu.util_histogram_s) for gpu in node.gpus]),
        ),
        hosts=host_columns([msgspec.structs.asdict(node.cpu) if node.cpu else {}]),
        series=align([_timelines(gpu) for gpu in node.gpus]),
        started_at=node.started_at,
        ended_at=node.ended_at,
        is_final=True,
        not_measured=tuple(sorted({f"{name}: {why}" for gpu in node.gpus for name, why in gpu.missing.items()})),
        errors=(),
    )


def _timelines(gpu: GpuPayload) -> NodeTimelines:
    timeline = gpu.timeline
    if timeline is None:
        return NodeTimelines(0.0, 0.0, np.empty((0, 1)), np.empty((0, 1)))
    util, mem_gb = (np.asarray(values, dtype=np.float64)[:, np.newaxis] for values in (timeline.util, timeline.mem_gb))
    return NodeTimelines(0.0, timeline.step_s, util, mem_gb)
