"""The one value that every rendering of a job's report is made from, shaped as `job-report/1` JSON.

Built once from an assessment, stored, and rendered as HTML, PDF, Markdown, plain text and JSON without reading
anything else, so the five always agree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from analysis.assess import Assessment
from analysis.early.won import PastWord
from analysis.efficiency import Efficiency
from analysis.facts import JobFacts
from analysis.findings import Finding
from analysis.phases import course, phases
from analysis.thresholds import LIMITS
from education.lesson import Lessons, Programs
from jobs.records import JobRecord
from reports.advice import assumption, reason
from reports.early.past import EarlyView, early_view
from reports.finding_texts import finding_text
from reports.lessons import CODES, LessonView, ProgramView, lesson_view, program_view
from reports.numbers import energy, measured_on, share, unmeasured_hours, used_hours
from reports.wording import COURSES, headline, measured_nodes, no_advice, no_causes, origin, title, verdict
from wire.numbers import duration, gigabytes, hours, percent

SCHEMA = "job-report/1"
NO_PROGRAMS: Programs = {}

HEATMAP_GPUS_MAX = 128
"""Past this a row of the heatmap is a node: single GPUs would be thinner than a printed line."""


@dataclass(frozen=True)
class EfficiencyView:
    """The verdict in numbers, unrounded; None is not measured or no price known.

    Unused and idle hours of a partial run are those of its measured part. The last two are the nodes on which a GPU was
    measured, and all nodes.
    """

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
    measured_nodes: int | None = None
    nodes: int | None = None

    @property
    def measured_on(self) -> str:
        """The part of the run that was measured: "1 of 4 nodes"."""
        return measured_on(self.coverage_fraction, self.measured_nodes, self.nodes)

    @property
    def unmeasured_gpu_hours(self) -> float:
        """Billed hours that nothing is known of; 0 where nearly all was measured, or the bill is not known."""
        return unmeasured_hours(self.gpu_hours or 0.0, self.coverage_fraction, is_partial=self.partial)

    @property
    def used_gpu_hours(self) -> float | None:
        """GPU-hours in which measured GPUs had work; None where not measured or no price known."""
        if self.gpu_hours is None or self.wasted_gpu_hours is None:
            return None
        return used_hours(self.gpu_hours, self.wasted_gpu_hours, self.unmeasured_gpu_hours)


COUNTED, INFERRED = "counted", "inferred"


@dataclass(frozen=True)
class FindingView:
    """One root cause: its code and evidence, and the sentence that people read.

    `basis` is "counted" for a fact, whose `confidence` people do not read, or "inferred".
    """

    code: str
    title: str
    confidence: float
    evidence: dict[str, float | int | str]
    text: str
    lesson: LessonView
    basis: str


@dataclass(frozen=True)
class RecommendationView:
    """One piece of advice; `diff` lines read `--gpus=8 -> --gpus=2`, `request` options `--gpus-per-node=2`.

    `request` is a complete request, for where the user's own options are not known.
    """

    kind: str
    recommended_gpus: int | None
    reason: str
    diff: tuple[str, ...]
    basis: str = ""
    request: tuple[str, ...] = ()


@dataclass(frozen=True)
class SavingsView:
    """Billed GPU-hours the advice would save, what that assumes, and the energy that idle modules used."""

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
    """One job's report; `figures` names the drawn figures, `figure_texts` describes each in words.

    `no_causes` and `no_advice` replace findings and advice where there are none.
    `origin` is set where not all data comes from the site, `is_told_by_owner` where only the owner reported the job.
    `program` is what the job probably runs, by its name alone. `early` are the words about it while it ran.
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
    program: ProgramView | None = None
    early: EarlyView | None = None
    schema: str = SCHEMA


OVER_TIME = ("gpu_use", "gpu_heatmap")
NOT_KEPT = "GPU use over time: no longer stored"


def without_use_over_time(report: JobReport) -> JobReport:
    """The report once its timelines are removed: it states so, and shows the other figures."""
    texts = {name: text for name, text in report.figure_texts.items() if name not in OVER_TIME}
    figures = tuple(name for name in report.figures if name not in OVER_TIME)
    not_measured = (NOT_KEPT, *report.not_measured) if figures != report.figures else report.not_measured
    return replace(report, figures=figures, figure_texts=texts, not_measured=not_measured)


SAME_NAMES = {field.name for field in fields(Efficiency)} & {field.name for field in fields(EfficiencyView)}
HEATMAP_GPUS_MIN = 2


def job_report(
    judged: Assessment,
    lessons: Lessons,
    programs: Programs = NO_PROGRAMS,
    *,
    is_told_by_owner: bool = False,
    early: Sequence[PastWord] = (),
) -> JobReport:
    """The report of one run, with the lessons as they are now; `is_told_by_owner` as the job has it.

    `early` are the words about it while it ran.
    """
    facts = judged.facts
    texts = _figures(facts)
    return JobReport(
        job=facts.record,
        efficiency=_efficiency(judged),
        headline=headline(judged),
        verdict=verdict(judged),
        observed=_observed(facts, judged.efficiency),
        findings=tuple(_finding(found, judged, lessons) for found in judged.findings),
        recommendations=_recommendations(judged),
        savings=_savings(judged),
        not_measured=judged.not_measured,
        figures=tuple(texts),
        figure_texts=texts,
        no_causes=no_causes(judged),
        no_advice=no_advice(judged),
        is_use_judged=facts.is_use_judged,
        origin=origin(len(facts.own_nodes), len(facts.nodes), is_told_by_owner=is_told_by_owner),
        is_told_by_owner=is_told_by_owner,
        early=early_view(early, facts),
        program=_program(facts.record, judged.efficiency.efficiency_class.value, _codes(judged.findings), programs),
    )


def _codes(findings: Iterable[Finding | FindingView]) -> list[str]:
    return [str(found.code) for found in findings]


def _program(record: JobRecord, of_class: str, codes: Sequence[str], programs: Programs) -> ProgramView | None:
    return program_view(record.job_name or "", (record.cluster, record.partition), of_class, codes, programs)


def _recommendations(judged: Assessment) -> tuple[RecommendationView, ...]:
    return tuple(
        RecommendationView(
            kind=advice.kind.value,
            recommended_gpus=advice.recommended_gpus,
            reason=reason(advice, judged.facts),
            diff=tuple(str(change) for change in advice.changes),
            basis=advice.basis,
            request=advice.request,
        )
        for advice in judged.recommendations
    )


def _savings(judged: Assessment) -> SavingsView | None:
    saved = judged.savings
    if saved is None:
        return None
    return SavingsView(saved.gpu_hours, assumption(saved, judged.facts, judged.recommendations), saved.energy_j)


def _efficiency(judged: Assessment) -> EfficiencyView:
    same = {name: getattr(judged.efficiency, name) for name in SAME_NAMES - {"efficiency_class"}}
    return EfficiencyView(
        job_id=judged.facts.record.job_id,
        efficiency_class=judged.efficiency.efficiency_class.value,
        partial=judged.efficiency.is_partial,
        rules_version=judged.rules_version,
        measured_nodes=measured_nodes(judged.facts),
        nodes=judged.facts.held.nodes,
        **same,
    )


def _finding(found: Finding, judged: Assessment, lessons: Lessons) -> FindingView:
    facts = judged.facts
    counts = [advice.recommended_gpus for advice in judged.recommendations if advice.recommended_gpus]
    fewer = next((gpus for gpus in counts if gpus < facts.allocated_gpus), None)
    return FindingView(
        code=found.code.value,
        title=title(found),
        confidence=found.confidence,
        evidence=dict(found.evidence),
        text=finding_text(found, facts, fewer),
        lesson=lesson_view(found.code, lessons, facts.record, found.evidence),
        basis=COUNTED if found.is_fact else INFERRED,
    )


def _observed(facts: JobFacts, judged: Efficiency) -> tuple[Observation, ...]:
    """The measured quantities, the most important first; only energy is left out where it is not known."""
    effective = f"{judged.effective_gpus:,} of {judged.measured_gpus:,}" if judged.effective_gpus is not None else None
    peak = gigabytes(judged.peak_gpu_mem_gb)
    if judged.peak_gpu_mem_fraction is not None:
        peak += f" ({share(judged.peak_gpu_mem_fraction)})"
    on = measured_on(judged.coverage_fraction, measured_nodes(facts), facts.held.nodes)
    of_measured = f", measured on {on}" if judged.is_partial else ""
    pairs = [
        ("Mean GPU use", percent(judged.avg_gpu_util) + of_measured),
        (f"GPUs used above {LIMITS.active_gpu_percent:g} %", effective or percent(None)),
        ("Measured GPU time", _measured_time(facts, judged)),
        ("GPU use over time", _over_time(facts)),
        ("Peak GPU memory", peak),
        ("Run time", duration(facts.elapsed_s)),
        ("GPU-hours billed", hours(judged.gpu_hours)),
        ("Unused GPU-hours (estimate)", _hours(judged.wasted_gpu_hours, judged) + of_measured),
        ("GPU-hours on idle GPUs", _hours(judged.idle_gpu_hours, judged) + of_measured),
        ("Busy CPU cores", _busy_cores(facts)),
        ("Host memory", _host_memory(facts)),
    ]
    if judged.energy_j is not None:
        pairs.append(("GPU energy", energy(judged.energy_j)))
    return tuple(Observation(label, value) for label, value in pairs)


def _measured_time(facts: JobFacts, judged: Efficiency) -> str:
    """The measured share, and on how many nodes where some are missing."""
    nodes, on = facts.held.nodes, measured_nodes(facts)
    return share(judged.coverage_fraction) + (f", on {on:,} of {nodes:,} nodes" if 0 < on < nodes else "")


def _over_time(facts: JobFacts) -> str:
    """The phases of the run in a few words."""
    seen = phases(facts)
    if seen is None:
        return "no work measured" if np.any(~np.isnan(facts.series.util)) else percent(None)
    parts = [f"idle for the first {duration(seen.late_start_s)}"] if seen.late_start_s > 0 else []
    parts.append(COURSES[course(seen)])
    parts += [f"idle for the last {duration(seen.idle_tail_s)}"] if seen.idle_tail_s > 0 else []
    return ", ".join(parts)


def _hours(value: float | None, judged: Efficiency) -> str:
    return percent(None) if value is None and judged.gpu_hours is not None else hours(value)


def _busy_cores(facts: JobFacts) -> str:
    busy, cores = facts.hosts.busy_cores_avg, facts.hosts.cores_allocated
    if not np.any(~np.isnan(busy)):
        return percent(None)
    of = f" of {np.nansum(cores):,.0f}" if np.any(~np.isnan(cores)) else ""
    return f"{np.nansum(busy):,.1f}{of}"


def _host_memory(facts: JobFacts) -> str:
    """The peak of the fullest node, and what the job was allocated there: the measured limit, else its request."""
    peaks_gb, limits_gb = facts.hosts.peak_memory_gb, facts.hosts.memory_limit_gb
    if not np.any(~np.isnan(peaks_gb)):
        return percent(None)
    fullest, requested_gb = int(np.nanargmax(peaks_gb)), facts.record.memory_requested_gb
    held_gb = float(limits_gb[fullest])
    if np.isnan(held_gb) and requested_gb:
        held_gb = requested_gb / facts.held.nodes
    of = "" if np.isnan(held_gb) else f" of {gigabytes(held_gb)}"
    on = f" on the fullest of {facts.held.nodes:,} nodes" if facts.held.nodes > 1 else ""
    own_gb = float(facts.hosts.peak_memory_anon_gb[fullest])
    cache = "" if np.isnan(own_gb) else f", {gigabytes(own_gb)} without page cache"
    return f"{gigabytes(float(peaks_gb[fullest]))}{of}{on}{cache}"


def _figures(facts: JobFacts) -> dict[str, str]:
    """The figures that can be drawn from the measurements, each with its description."""
    texts = {}
    series, gpus = facts.series, facts.gpus
    is_timed = series.length > 1 and bool(np.any(~np.isnan(series.util)))
    if is_timed:
        low, high = float(np.nanmin(series.util)), float(np.nanmax(series.util))
        mean, each = percent(facts.avg_gpu_util), "single GPUs " if gpus.count > 1 else ""
        texts["gpu_use"] = f"GPU use over the run: mean {mean}, {each}between {low:.0f} % and {high:.0f} %."
    if np.any(~np.isnan(gpus.peak_mem_gb)):
        peak = float(np.nanmax(gpus.peak_mem_gb))
        texts["gpu_memory"] = f"Peak memory of each GPU against its capacity: the fullest reached {gigabytes(peak)}."
    if is_timed and gpus.count >= HEATMAP_GPUS_MIN:
        many = gpus.count > HEATMAP_GPUS_MAX
        rows = f"{len(facts.nodes):,} nodes, the mean of its GPUs" if many else f"{gpus.count:,} GPUs"
        texts["gpu_heatmap"] = (
            f"Use of each of {rows} over the run, dark where idle, bright where busy, grey where not measured."
        )
    return texts


def with_lessons(report: JobReport, lessons: Lessons, programs: Programs = NO_PROGRAMS) -> JobReport:
    """The same report with these lessons; the stored one keeps its own."""
    of_class, codes = report.efficiency.efficiency_class, _codes(report.findings)
    return replace(
        report,
        findings=tuple(_renewed(finding, lessons, report.job) for finding in report.findings),
        program=_program(report.job, of_class, codes, programs),
    )


def _renewed(finding: FindingView, lessons: Lessons, record: JobRecord) -> FindingView:
    code = CODES.get(finding.code)
    return finding if code is None else replace(finding, lesson=lesson_view(code, lessons, record, finding.evidence))
