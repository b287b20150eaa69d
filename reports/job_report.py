"""The one value that every rendering of a job's report is made from, shaped as `job-report/1` JSON.

Built once from an assessment, stored, and rendered as HTML, PDF, Markdown, plain text and JSON without looking
anything up again, so the five can never disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jobs.records import JobRecord

SCHEMA = "job-report/1"

HEATMAP_GPUS_MAX = 128
"""Past this a row of the heatmap is a node: single GPUs would be thinner than a printed line."""


@dataclass(frozen=True)
class EfficiencyView:
    """The verdict in numbers, unrounded; None is not measured or no price known."""

    job_id: int
    efficiency_class: str
    avg_gpu_util: float | None
    coverage_fraction: float
    partial: bool
    allocated_gpus: int
    measured_gpus: int
    effective_gpus: int | None
    effective_gpus_fraction: float | None
    peak_gpu_mem_gb: float | None
    peak_gpu_mem_fraction: float | None
    gpu_hours: float | None
    wasted_gpu_hours: float | None
    idle_gpu_hours: float | None
    energy_j: float | None
    uncounted_reason: str
    rules_version: str


@dataclass(frozen=True)
class LinkView:
    """One page to read on."""

    title: str
    url: str


@dataclass(frozen=True)
class LessonView:
    """What to learn and where to read on; all empty where staff show no lesson. `links` are those after `url`."""

    title: str = ""
    url: str = ""
    text: str = ""
    links: tuple[LinkView, ...] = ()


COUNTED, INFERRED = "counted", "inferred"


@dataclass(frozen=True)
class FindingView:
    """One root cause: machine code and evidence, and the sentence people read.

    `basis` is "counted" for a fact, whose `confidence` people do not read, or "inferred"; empty in reports that were
    stored before it was known.
    """

    code: str
    title: str
    confidence: float
    evidence: dict[str, float | int | str]
    text: str
    lesson: LessonView
    basis: str = ""


@dataclass(frozen=True)
class RecommendationView:
    """One piece of advice; `diff` lines read `--gpus=8 -> --gpus=2`, `request` options `--gpus-per-node=2`.

    `request` is the whole block to write where the user's own options are not known.
    """

    kind: str
    recommended_gpus: int | None
    reason: str
    diff: tuple[str, ...]
    basis: str = ""
    request: tuple[str, ...] = ()


@dataclass(frozen=True)
class SavingsView:
    """Billed GPU-hours the advice would save, what that assumes, and the energy of modules that stood idle."""

    gpu_hours: float
    assumption: str
    energy_j: float | None = None


@dataclass(frozen=True)
class Observation:
    """One measured quantity as people read it: a label and a number with its unit."""

    label: str
    value: str


@dataclass(frozen=True)
class JobReport:
    """One job's report; `figures` names the drawn figures, `figure_texts` says in words what each one shows.

    `no_causes` and `no_advice` stand where there are none of them; empty in reports that were stored without. `origin`
    stands where not all of it comes from the site; `is_told_by_owner` where only the owner tells of the job at all.
    """

    job: JobRecord
    efficiency: EfficiencyView
    headline: str
    verdict: str
    observed: tuple[Observation, ...]
    findings: tuple[FindingView, ...]
    recommendations: tuple[RecommendationView, ...]
    savings: SavingsView | None
    not_measured: tuple[str, ...]
    figures: tuple[str, ...]
    figure_texts: dict[str, str] = field(default_factory=dict)
    no_causes: str = ""
    no_advice: str = ""
    is_use_judged: bool = True
    origin: str = ""
    is_told_by_owner: bool = False
    schema: str = SCHEMA


OVER_TIME = ("gpu_use", "gpu_heatmap")
NOT_KEPT = "GPU use over time: no longer kept"


def without_use_over_time(report: JobReport) -> JobReport:
    """The report once its timelines are removed: it says so, and shows the other figures."""
    texts = {name: text for name, text in report.figure_texts.items() if name not in OVER_TIME}
    figures = tuple(name for name in report.figures if name not in OVER_TIME)
    not_measured = (NOT_KEPT, *report.not_measured) if figures != report.figures else report.not_measured
    return replace(report, figures=figures, figure_texts=texts, not_measured=not_measured)
