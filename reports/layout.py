"""The order and headings of a report, shared by every rendering, so that none forgets a part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo

from jobs.records import printable
from reports.job_report import JobReport, LessonView, LinkView, Observation, RecommendationView
from reports.numbers import counted, duration, energy, hours, instant
from reports.unmeasured import in_words

NO_CAUSES = "Nothing stood out."
FITS = "The request fits what the job did; nothing to change."
NOT_THE_REQUEST = "Nothing in the request would help; start with the causes above."
NO_BETTER_REQUEST = "The measurements name no better request."
UNMEASURED_CAUSES = "Without a measurement of the GPUs no cause can be named."
UNMEASURED_ADVICE = "Without a measurement of the GPUs there is nothing to advise."
ESTIMATE = "Following the advice would have saved about"
ADVISORY = "This is advice. Nothing was changed, and nothing is held against anyone."

CLASS_NAMES = {
    "EFFICIENT": "Efficient",
    "ACCEPTABLE": "Acceptable",
    "INEFFICIENT": "Inefficient",
    "WASTED": "Wasted",
    "UNKNOWN": "Unknown",
}


LIKELIHOODS = ((0.9, "very likely"), (0.7, "likely"), (0.5, "possible"), (0.0, "a hint"))
NODES_NAMED_MAX = 4
NAME_LENGTH_MAX = 60


@dataclass(frozen=True)
class Cause:
    """One finding; the text of a lesson that several findings share stands with the first of them only."""

    title: str
    sure: str
    text: str
    lesson_title: str
    lesson_url: str
    lesson_text: str
    lesson_links: tuple[LinkView, ...]
    code: str


@dataclass(frozen=True)
class Layout:
    """One report as its readers meet it, top to bottom; all strings are printable, none is escaped yet."""

    title: str
    header: str
    class_name: str
    css_class: str
    headline: str
    verdict: str
    facts: tuple[Observation, ...]
    observed: tuple[Observation, ...]
    findings: tuple[Cause, ...]
    recommendations: tuple[RecommendationView, ...]
    no_causes: str
    no_advice: str
    savings: str
    lessons: tuple[tuple[str, str], ...]
    not_measured: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]


def layout(report: JobReport, zone: tzinfo = UTC) -> Layout:
    """The report in reading order, its times in this zone."""
    judged, job = report.efficiency, report.job
    class_name = CLASS_NAMES[judged.efficiency_class] + (", partial" if judged.partial else "")
    lessons = {link.url: link.title for finding in report.findings for link in _links(finding.lesson)}
    return Layout(
        title=f"Job {job.job_id}" + (f", {job.job_name}" if job.job_name else ""),
        header=f"Job {job.job_id}, {_brief(job.job_name)} · {job.project_id}" if job.job_name else job.project_id,
        class_name=class_name,
        css_class=judged.efficiency_class.lower(),
        headline=report.headline,
        verdict=report.verdict,
        facts=_facts(report, zone),
        observed=report.observed,
        findings=tuple(_causes(report)),
        recommendations=report.recommendations,
        no_causes=UNMEASURED_CAUSES if judged.efficiency_class == "UNKNOWN" else NO_CAUSES,
        no_advice=_no_advice(report),
        savings=_savings(report),
        lessons=tuple((title, url) for url, title in lessons.items()),
        not_measured=tuple(in_words(printable(text)) for text in report.not_measured),
        figures=tuple((name, report.figure_texts[name]) for name in report.figures),
    )


def _no_advice(report: JobReport) -> str:
    """What stands where there is no recommendation; only a job that used its GPUs is told that its request fits."""
    if report.efficiency.efficiency_class == "UNKNOWN":
        return UNMEASURED_ADVICE
    if report.efficiency.efficiency_class in ("EFFICIENT", "ACCEPTABLE"):
        return FITS
    return NOT_THE_REQUEST if report.findings else NO_BETTER_REQUEST


def _causes(report: JobReport) -> Iterator[Cause]:
    told: set[str] = set()
    for finding in report.findings:
        lesson = finding.lesson
        yield Cause(
            title=finding.title,
            sure=f"{_likelihood(finding.confidence)}, {finding.confidence * 100:.0f} % sure",
            text=finding.text,
            lesson_title=lesson.title,
            lesson_url=lesson.url,
            lesson_text="" if lesson.text in told else lesson.text,
            lesson_links=lesson.links,
            code=finding.code,
        )
        told.add(lesson.text)


def _links(lesson: LessonView) -> Iterator[LinkView]:
    """Every page to read on, the main one under the lesson's own title."""
    if lesson.url:
        yield LinkView(lesson.title, lesson.url)
    yield from lesson.links


def _likelihood(confidence: float) -> str:
    """A confidence in words.

    >>> _likelihood(0.5), _likelihood(0.7), _likelihood(0.93)
    ('possible', 'likely', 'very likely')
    """
    return next(word for least, word in LIKELIHOODS if confidence >= least)


def _brief(name: str) -> str:
    """A name that fits a line beside others."""
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[: NAME_LENGTH_MAX - 1]}…"


def _savings(report: JobReport) -> str:
    if report.savings is None or report.savings.gpu_hours <= 0:
        return ""
    said = f"{ESTIMATE} {hours(report.savings.gpu_hours)} GPU-hours, assuming {report.savings.assumption}."
    if report.savings.energy_j is None:
        return said
    return f"{said} The modules that stood idle drew {energy(report.savings.energy_j)}."


def _facts(report: JobReport, zone: tzinfo) -> tuple[Observation, ...]:
    """What Slurm says of the job."""
    job = report.job
    number = f"{job.array_job_id}_{job.array_task_id}" if job.array_job_id is not None else ""
    pairs = [
        ("Cluster", job.cluster),
        ("Array task", number),
        ("Attempt", str(job.attempt) if job.attempt else ""),
        ("Owner", job.user_id),
        ("Project", job.project_id),
        ("Partition", job.partition),
        ("State", job.state),
        ("Nodes", _nodes(report)),
        ("GPUs", f"{report.efficiency.allocated_gpus:,}"),
        ("Ended", instant(job.ended_at, zone)),
        ("Time limit", duration(job.walltime_requested_s) if job.walltime_requested_s else ""),
    ]
    return tuple(Observation(label, value) for label, value in pairs if value)


def _nodes(report: JobReport) -> str:
    nodes = report.job.nodes
    if not nodes:
        return counted(report.job.node_count, "node") if report.job.node_count else ""
    unnamed = len(nodes) - NODES_NAMED_MAX
    return ", ".join(nodes[:NODES_NAMED_MAX]) + (f" and {unnamed:,} more" if unnamed > 0 else "")
