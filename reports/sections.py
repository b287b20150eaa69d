"""The order and headings of a report, shared by every rendering, so that no rendering omits a part."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, tzinfo
from typing import Any

from analysis.findings import FindingCode
from education.lesson import Link
from jobs.hardware import partition_of
from jobs.shown_text.joiners import shortened
from reports.advice import OTHER_HARDWARE
from reports.bill_note import bill_note
from reports.ending import exit_words, label
from reports.job_report import COUNTED, FindingView, JobReport, Observation
from reports.lessons import LessonView, ProgramView
from reports.numbers import energy, instant, share, unbroken
from reports.request_diff import REPLACE, DiffLine, added_lines, diff_lines
from reports.unmeasured import in_words
from reports.wording import kind_title
from wire.classes import CLASS_NAMES
from wire.numbers import counted, duration, hours, percent
from wire.safe_text import printable

NO_CAUSES = "We found no clear cause."
NO_BETTER_REQUEST = "No better request can be derived."
ESTIMATE = "Following the advice would have saved about"
SAME_BILL = "The bill stays the same, but smaller requests often start sooner."
ADVISORY = "This is advice. Nothing was changed, and this does not affect your account."
OPTIONS_NOT_KNOWN = f"Your own options are not known. {REPLACE}"
OPTIONS_NOT_ENOUGH = f"Changing single lines of your recorded options is not enough. {REPLACE}"
WHILE_IT_RAN = "While the job ran"
ONE_LINE = "In your batch script:"

NOT_JUDGED = "Not judged"
UNKNOWN = "unknown"

LOW_CONFIDENCE = "low confidence"
SHOWN_CONFIDENCE_MIN = 0.2
"""Below this, `LOW_CONFIDENCE` is shown in place of a percentage."""
NODES_NAMED_MAX = 4
NAME_LENGTH_MAX = 60


@dataclass(frozen=True)
class Cause:
    """One finding; the text of a lesson that several findings share is shown with the first of them only.

    `sure` is empty for a fact, and where no cause is named; `kind` is what lists and filters call the finding, empty
    where its title says it.
    """

    title: str
    sure: str
    text: str
    lesson_title: str
    lesson_url: str
    lesson_text: str
    lesson_links: tuple[Link, ...]
    code: str
    kind: str = ""


@dataclass(frozen=True)
class Layout:
    """One report from top to bottom; all strings are printable, none is escaped yet.

    `brief` is the job on one line, `numbers` the few that its sentence is about. `recommendations` are the reasons of
    the advice. `request` is all advice together, as lines of a batch script that go and come, after its `introduction`
    where they are a complete request, and `saving` what it saves of the bill; `bill_note` is what else than GPUs the
    run was billed for. Each of these four is empty where there is none.
    """

    title: str
    header: str
    brief: str
    class_name: str
    css_class: str
    headline: str
    verdict: str
    numbers: tuple[Observation, ...]
    bill_note: str
    origin: str
    facts: tuple[Observation, ...]
    observed: tuple[Observation, ...]
    findings: tuple[Cause, ...]
    recommendations: tuple[str, ...]
    no_causes: str
    no_advice: str
    saving: str
    savings: str
    introduction: str
    request: tuple[DiffLine, ...]
    lessons: tuple[tuple[str, str], ...]
    not_measured: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    program: ProgramView | None = None
    early: tuple[str, ...] = ()
    advisory: str = ADVISORY


def layout(report: JobReport, zone: tzinfo = UTC) -> Layout:
    """The report in reading order, its times in this zone; no line may end between a number and its unit."""
    made: Layout = _unbroken(_layout(report, zone))
    return made


def _layout(report: JobReport, zone: tzinfo) -> Layout:
    job, name = report.job, shortened(report.job.job_name, NAME_LENGTH_MAX)
    lessons = {link.url: link.title for finding in report.findings for link in _links(finding.lesson)}
    return Layout(
        title=f"Job {job.job_id}" + (f", {job.job_name}" if job.job_name else ""),
        header=f"Job {job.job_id}, {name} · {job.project_id}" if name else job.project_id,
        brief=brief(report, zone),
        class_name=class_name(report),
        css_class=css_class(report),
        headline=report.headline,
        verdict=report.verdict,
        numbers=tuple(_numbers(report)),
        bill_note=bill_note(report),
        origin=report.origin,
        facts=_facts(report, zone),
        observed=report.observed,
        findings=tuple(_causes(report)),
        recommendations=tuple(advice.reason for advice in report.recommendations),
        no_causes=report.no_causes or NO_CAUSES,
        no_advice=report.no_advice or NO_BETTER_REQUEST,
        saving=saving(report),
        savings=_savings(report),
        introduction=_introduction(report),
        request=suggested_request(report),
        lessons=tuple((title, url) for url, title in lessons.items()),
        not_measured=tuple(in_words(printable(text)) for text in report.not_measured),
        figures=tuple((name, report.figure_texts[name]) for name in report.figures),
        program=report.program,
        early=report.early.texts if report.early else (),
    )


def _unbroken(value: Any) -> Any:
    """The same strings in the same shape; lines of a batch script stay as they are."""
    if isinstance(value, str):
        return unbroken(value)
    if isinstance(value, tuple):
        return tuple(map(_unbroken, value))
    if not is_dataclass(value) or isinstance(value, type | DiffLine):
        return value
    return replace(value, **{field.name: _unbroken(getattr(value, field.name)) for field in fields(value)})


def class_name(report: JobReport) -> str:
    """The class and how the run ended; a run that was too short, or ended too early, for a class has none."""
    partial = f"partial, measured on {report.efficiency.measured_on}" if report.efficiency.partial else ""
    return ", ".join(filter(None, (judged_name(report), partial, label(report.job))))


def judged_name(report: JobReport) -> str:
    """The class alone, or that the run was too short or ended too early for one."""
    is_open = not report.is_use_judged and report.efficiency.avg_gpu_util is not None
    return NOT_JUDGED if is_open else CLASS_NAMES[report.efficiency.efficiency_class]


def css_class(report: JobReport) -> str:
    """The style of the class, neutral where there is none."""
    return UNKNOWN if judged_name(report) == NOT_JUDGED else report.efficiency.efficiency_class.lower()


def brief(report: JobReport, zone: tzinfo = UTC) -> str:
    """The job on one line: how it ended, its size, and when."""
    job = report.job
    gpus, run_s = report.efficiency.allocated_gpus, job.walltime_used_s
    if run_s is None and job.started_at and job.ended_at:
        run_s = (job.ended_at - job.started_at).total_seconds()
    parts = (
        job.state,
        counted(gpus, "GPU"),
        job.partition,
        "" if run_s is None else duration(run_s),
        f"ended {instant(job.ended_at, zone)}" if job.ended_at else "",
    )
    return " · ".join(part for part in parts if part)


def saving(report: JobReport) -> str:
    """What the suggested request saves of the bill: `saves about 6.00 of 8.00 GPU-hours`."""
    if report.savings is None or report.savings.gpu_hours <= 0:
        return ""
    billed = report.efficiency.gpu_hours
    of = "" if billed is None else f" of {hours(billed)}"
    return f"saves about {hours(report.savings.gpu_hours)}{of} GPU-hours"


def _numbers(report: JobReport) -> Iterator[Observation]:
    """The numbers behind the sentence; only what is known."""
    seen = report.efficiency
    if seen.avg_gpu_util is not None:
        yield Observation("Mean GPU use", percent(seen.avg_gpu_util))
    used_gpu_hours = seen.used_gpu_hours
    if used_gpu_hours is not None:
        yield Observation("Used GPU-hours", hours(used_gpu_hours))
        yield Observation("Unused GPU-hours (estimate)", hours(seen.wasted_gpu_hours))
        if seen.partial:
            yield Observation("GPU-hours not measured", hours(seen.unmeasured_gpu_hours))
    elif seen.gpu_hours is not None:
        yield Observation("GPU-hours billed", hours(seen.gpu_hours))
    if seen.peak_gpu_mem_fraction is not None:
        yield Observation("Peak GPU memory", share(seen.peak_gpu_mem_fraction))


def suggested_request(report: JobReport) -> tuple[DiffLine, ...]:
    """Every line to change of all advice together; whole blocks where the reader's own options are not known."""
    lines: dict[DiffLine, None] = {}
    for advice in report.recommendations:
        lines |= dict.fromkeys(diff_lines(advice.diff) or added_lines(advice.request))
    return tuple(lines)


def _introduction(report: JobReport) -> str:
    """What stands before a complete request: why it is not a change of the reader's own lines."""
    advice = next((advice for advice in report.recommendations if advice.request), None)
    if advice is None:
        return ""
    if all(option.startswith("--time=") for option in advice.request):
        return ONE_LINE
    if not report.job.request:
        return OPTIONS_NOT_KNOWN
    return REPLACE if advice.basis in OTHER_HARDWARE else OPTIONS_NOT_ENOUGH


def _causes(report: JobReport) -> Iterator[Cause]:
    shown: set[str] = set()
    for finding in report.findings:
        lesson = finding.lesson
        yield Cause(
            title=finding.title,
            sure=_sure(finding),
            text=finding.text,
            lesson_title=lesson.title,
            lesson_url=lesson.url,
            lesson_text="" if lesson.text in shown else lesson.text,
            lesson_links=lesson.links,
            code=finding.code,
            kind=kind_title(finding.code, finding.title),
        )
        shown.add(lesson.text)


def _links(lesson: LessonView) -> Iterator[Link]:
    """Every page for further reading, the main one under the lesson's own title."""
    if lesson.url:
        yield Link(lesson.title, lesson.url)
    yield from lesson.links


def _sure(finding: FindingView) -> str:
    """The confidence of an inference: how often such findings are right."""
    is_fact = finding.basis == COUNTED
    if is_fact or finding.code == FindingCode.LOW_USE_UNEXPLAINED:
        return ""
    is_shown = finding.confidence >= SHOWN_CONFIDENCE_MIN
    return f"confidence {finding.confidence * 100:.0f} %" if is_shown else LOW_CONFIDENCE


def _savings(report: JobReport) -> str:
    if report.savings is None or report.savings.gpu_hours <= 0:
        return SAME_BILL if _is_smaller_for_the_same(report) else ""
    sentence = f"{ESTIMATE} {hours(report.savings.gpu_hours)} GPU-hours, assuming {report.savings.assumption}."
    if report.savings.energy_j is None:
        return sentence
    partition = partition_of(report.job.cluster, report.job.partition)
    idle = "GPUs" if partition is not None and partition.node.gpus_per_module == 1 else "modules"
    return f"{sentence} Idle {idle} used {energy(report.savings.energy_j)}."


def _is_smaller_for_the_same(report: JobReport) -> bool:
    """Whether fewer GPUs are advised in a run whose bill is known and would not fall.

    Without a saving, advice from other runs is a hint: what it would be billed is not known.
    """
    return report.efficiency.gpu_hours is not None and any(
        advice.recommended_gpus
        and advice.recommended_gpus < report.efficiency.allocated_gpus
        and advice.basis != "own_scaling"
        for advice in report.recommendations
    )


def _facts(report: JobReport, zone: tzinfo) -> tuple[Observation, ...]:
    """What Slurm recorded about the job."""
    job = report.job
    words = "" if job.state == "OUT_OF_MEMORY" else exit_words(job.exit_code)
    number = f"{job.array_job_id}_{job.array_task_id}" if job.array_job_id is not None else ""
    pairs = [
        ("Cluster", job.cluster),
        ("Array task", number),
        ("Attempt", str(job.attempt) if job.attempt else ""),
        ("Owner", job.user_id),
        ("Project", job.project_id),
        ("Partition", job.partition),
        ("State", f"{job.state} ({words})" if words else job.state),
        ("Nodes", _nodes(report)),
        ("GPUs", f"{report.efficiency.allocated_gpus:,}"),
        ("Waited in the queue", "" if job.queue_wait_s is None else duration(job.queue_wait_s)),
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
