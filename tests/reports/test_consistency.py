"""No report contradicts itself: its sentences held against each other, for every kind of run of the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import msgspec
import pytest

from analysis.findings import COUNTED
from cases.real_runs import judge, real_runs
from cases.scorecard import drawn, judged
from demo.library import LIBRARY
from education.seeds import seed_lessons
from reports.job_report import JobReport, job_report
from reports.sections import SAME_BILL, Layout, layout
from reports.wording import ALL_WELL, BUT, FITS, NEXT, NO_CAUSES, RELEASE, SPUN, STEPS, TITLES, VERDICTS
from tests.cases.noisy_runs import in_one_process, trials

KINDS = [kind for kind, archetype in LIBRARY.items() if archetype.has_started]
SEED = 7
NO_CAUSE = "We found no clear cause"
# Findings that leave open why GPUs were little used, or why a program failed (analysis.rules.NOT_OF_USE).
BESIDE_NO_CAUSE = {"walltime_overrequest", "cores_or_memory_beyond_share", "gpu_memory_pressure", "timeout"}
PRAISE = (ALL_WELL, FITS, NO_CAUSES["well"])


@cache
def drawn_report(kind: str) -> JobReport:
    return job_report(judged(drawn(kind, SEED)), seed_lessons())


def prose(report: JobReport) -> str:
    """Every sentence of the verdict, the findings and the advice."""
    page = layout(report)
    findings = [f"{cause.title}. {cause.text}" for cause in page.findings] or [page.no_causes]
    advice = list(page.recommendations) or [page.no_advice]
    return "\n".join([f"{page.class_name}: {page.headline}. {page.verdict}", *findings, *advice, page.savings])


def contradictions(report: JobReport) -> list[str]:
    page, text = layout(report), prose(report)
    return [line for check in CHECKS for line in check(report, page, text)]


def _praise(report: JobReport, page: Layout, text: str) -> Iterator[str]:
    """Nothing to do is said of completed, Efficient runs with neither findings nor advice, and of no others."""
    is_well = report.job.state == "COMPLETED" and report.efficiency.efficiency_class == "EFFICIENT"
    praised = [words for words in PRAISE if words in text]
    if praised and (page.findings or page.recommendations or not is_well):
        yield f"praise of a run with something to look at: {praised}"
    if report.job.state != "COMPLETED" and "Your job kept" in text:
        yield "GPUs kept busy by a run that did not complete"


def _use(_: JobReport, page: Layout, text: str) -> Iterator[str]:
    unused = TITLES_SHOWN["no_gpu_use"] in text
    if unused and any(
        words in text for words in (VERDICTS["EFFICIENT"], VERDICTS["ACCEPTABLE"], "GPUs worked", "still busy")
    ):
        yield "GPUs that were busy and not used"
    if TITLES_SHOWN["busy_but_waiting"] in text and VERDICTS["EFFICIENT"] in text:
        yield "GPUs that were kept busy and waited"
    if "gpus were evenly used" in text.lower() and "unevenly" in text:
        yield "GPUs used evenly and unevenly"


def _cause(report: JobReport, page: Layout, text: str) -> Iterator[str]:
    codes = {finding.code for finding in report.findings}
    if "low_use_unexplained" in codes and codes - BESIDE_NO_CAUSE - {"low_use_unexplained"}:
        yield f"no clear cause beside {sorted(codes)}"
    if NO_CAUSE in text and codes and "low_use_unexplained" not in codes:
        yield "no clear cause beside causes"
    if ("What to try:" in text) != ("steps to try" in text) and not page.recommendations:
        yield "steps that are not there, or not named"
    if (NEXT in text or BUT in text) and not (codes or page.recommendations):
        yield "something to look at below, and nothing there"
    if STEPS in text and "What to try:" not in text:
        yield "steps below, and none there"


def _time(report: JobReport, _: Layout, text: str) -> Iterator[str]:
    is_longer = any(advice.basis in ("more_time", "own_longer_runs") for advice in report.recommendations)
    if "would not help" in text and (is_longer or "A longer limit, or checkpoints" in text):
        yield "more time advised and said not to help"
    if "still working is not known" in text and TITLES_SHOWN["no_gpu_use"] in text:
        yield "unknown whether GPUs that were not used still worked"
    if "look for a hang" in text and is_longer:
        yield "more time advised for a hang"


def _sure(_: JobReport, page: Layout, text: str) -> Iterator[str]:
    for cause in page.findings:
        if (cause.code in COUNTED or cause.code == "low_use_unexplained") and cause.sure:
            yield f"{cause.code} is {cause.sure}"
        if re.search(r"confidence 1?\d\s%", cause.sure):
            yield f"{cause.code} with next to no confidence: {cause.sure}"


def _nodes(report: JobReport, _: Layout, text: str) -> Iterator[str]:
    if report.job.node_count == 1 and "across nodes" in text:
        yield "a collective across the nodes of one node"
    if report.efficiency.allocated_gpus == 1 and re.search(r"its \d+ GPUs|[Tt]he \d+ GPUs|run once on", text):
        yield "one GPU spoken of as several"


def _savings(_: JobReport, page: Layout, text: str) -> Iterator[str]:
    if SAME_BILL in text and "would have saved" in text:
        yield "a saving at the same bill"
    if page.savings and not page.recommendations:
        yield "a saving without advice"


def _waiting(report: JobReport, _: Layout, __: str) -> Iterator[str]:
    """A stall of ranks speaks of ranks, a stall for files of files, in its sentences, its lesson and its links."""
    for finding in report.findings:
        lesson = finding.lesson
        said = f"{finding.text} {lesson.title} {lesson.text} {lesson.url} {[link.title for link in lesson.links]}"
        points_to = finding.evidence.get("points_to")
        if points_to == "synchronisation" and re.search(r"Input or output|while the host waited|Lustre|ormats", said):
            yield "a stall of ranks that is blamed on files"
        if points_to == "io" and "ranks waiting for each other" in said:
            yield "a stall for files that is blamed on ranks"


def _shared_ranks(report: JobReport, _: Layout, __: str) -> Iterator[str]:
    """Ranks get a GPU each, or there are fewer GPUs: one of the two, and the first only where it can be."""
    counts = [advice.recommended_gpus for advice in report.recommendations if advice.recommended_gpus]
    has_fewer = any(count < report.efficiency.allocated_gpus for count in counts)
    for finding in report.findings:
        if finding.evidence.get("pattern") != "ranks_share_gpus":
            continue
        if has_fewer and not ("Either" in finding.text and "or request" in finding.text):
            yield "a GPU for each rank and fewer GPUs, both"
        is_crowded = finding.evidence["ranks_per_node"] > finding.evidence["gpus_per_node"]
        if is_crowded and "SLURM_LOCALID" in finding.text:
            yield "a GPU for each of more ranks than GPUs"


def _measured(report: JobReport, _: Layout, text: str) -> Iterator[str]:
    """What was measured in part is no statement of the whole run."""
    idle = re.findall(r"idle for [<>\d\s]+% of (.{12})", text)
    if report.efficiency.coverage_fraction < 0.95 and any(what != "the measured" for what in idle):
        yield "idle for a share of a run that was measured in part"
    if (report.efficiency.peak_gpu_mem_gb or 0) >= 1 and "before it used the GPUs" in text:
        yield "GPUs that were not reached and hold memory"
    if not report.is_use_judged and report.efficiency.avg_gpu_util is not None and "ot judged" not in text:
        yield "a class of a run whose use is not judged"
    if (report.efficiency.peak_gpu_mem_fraction or 0) > 0.8 and "use a larger batch" in text:
        yield "a larger batch for full GPU memory"


def _arithmetic(report: JobReport, page: Layout, _: str) -> Iterator[str]:
    """The use that a saving assumes, times GPUs and time, is the use that was measured."""
    said = re.search(
        r"keeps ([\d,]+)\sGPUs? busy ([\d.]+)\s% of (?:(\d+)\sd\s)?(?:(\d+)\sh\s)?(?:(\d+)\smin)?", page.savings
    )
    if said is None:
        return
    gpus, percent, days, hours, minutes = (float((part or "0").replace(",", "")) for part in said.groups())
    assumed = gpus * percent * (days * 86_400 + hours * 3600 + minutes * 60)
    judged_, run_s = report.efficiency, report.job.walltime_used_s or 0
    was = judged_.allocated_gpus * (judged_.avg_gpu_util or 0) * run_s
    if abs(assumed - was) > 0.02 * was:
        yield f"a saving that assumes {assumed / was:.0%} of the work"


def _reading(report: JobReport, page: Layout, text: str) -> Iterator[str]:
    if BUT in text and SPUN in text:
        yield "something to look at although GPUs waited"
    if RELEASE in text and "did not use" in text:
        yield "most GPUs released of a run that used none"
    if report.job.state == "FAILED" and not re.search("output|Host memory ran out", text):
        yield "a failed run that is not sent to its output"
    if report.no_causes and report.findings:
        yield "no causes, and causes"


TITLES_SHOWN = {code.value: title for code, title in TITLES.items()}
CHECKS: tuple[Callable[[JobReport, Layout, str], Iterator[str]], ...] = (
    _praise,
    _use,
    _cause,
    _time,
    _sure,
    _nodes,
    _savings,
    _waiting,
    _shared_ranks,
    _measured,
    _arithmetic,
    _reading,
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_of_the_library_contradicts_itself(kind: str) -> None:
    assert contradictions(drawn_report(kind)) == []


@in_one_process
def test_no_report_of_the_noisy_library_contradicts_itself() -> None:
    reports = {one.name: job_report(one.assessment, seed_lessons()) for one in trials()[::3]}
    assert {name: lines for name, report in reports.items() if (lines := contradictions(report))} == {}


def test_no_report_of_a_real_run_contradicts_itself() -> None:
    reports = {run.name: job_report(judge(run).assessment, seed_lessons()) for run in real_runs()}
    assert {name: lines for name, report in reports.items() if (lines := contradictions(report))} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_of_the_library_is_a_dead_end(kind: str) -> None:
    """Below Efficient, or ended badly: a finding or advice says where to go on."""
    report = drawn_report(kind)
    judged_low = report.is_use_judged and report.efficiency.efficiency_class in ("ACCEPTABLE", "INEFFICIENT", "WASTED")
    if judged_low or report.job.state in ("FAILED", "TIMEOUT", "OUT_OF_MEMORY"):
        assert report.findings or report.recommendations


EFFICIENT, FAILED, HUNG = "efficient_training", "failed", "timeout_hung"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda: replace(drawn_report(FAILED), no_advice=FITS), "praise"),
        (lambda: replace(drawn_report(EFFICIENT), findings=drawn_report("one_idle_gpu").findings), "praise"),
        (lambda: replace(drawn_report(FAILED), headline="Your job kept its GPU busy"), "did not complete"),
        (lambda: replace(drawn_report("no_gpu_use"), verdict=VERDICTS["EFFICIENT"]), "busy and not used"),
        (lambda: replace(drawn_report("collective_hang"), verdict=VERDICTS["EFFICIENT"]), "kept busy and waited"),
        (
            lambda: replace(drawn_report(FAILED), findings=_all_findings(FAILED, "io_stall")),
            "no clear cause beside",
        ),
        (lambda: replace(drawn_report(EFFICIENT), verdict=NEXT), "nothing there"),
        (lambda: _with_text("timeout_busy", "a longer limit would not help"), "said not to help"),
        (lambda: _with_text("sync_stall", "for a collective across nodes", node_count=1), "of one node"),
        (lambda: _with_text("no_gpu_use", "Whether it was still working is not known"), "unknown whether"),
        (lambda: replace(drawn_report("tiny_inference"), verdict="The 2 GPUs were busy."), "spoken of as several"),
        (lambda: replace(drawn_report("overscaled"), recommendations=()), "a saving without advice"),
        (lambda: _with_text("bursty", "Input or output is the likely cause."), "blamed on files"),
        (lambda: _with_lesson_of("bursty", "io_stall"), "blamed on files"),
        (lambda: _with_text("io_stall", "This points to ranks waiting for each other."), "blamed on ranks"),
        (
            lambda: _mismatch("Either ROCR_VISIBLE_DEVICES=$SLURM_LOCALID, or request 2", ranks_per_node=16),
            "more ranks",
        ),
        (lambda: _mismatch("Let each rank select a GPU of its own."), "fewer GPUs, both"),
        (lambda: _covered("no_gpu_use", 0.5), "measured in part"),
        (lambda: _with_text("no_gpu_use", "It ended before it used the GPUs.", peak_gpu_mem_gb=20.8), "hold memory"),
        (lambda: _with_text("gpu_memory_full", "What to try: use a larger batch."), "full GPU memory"),
        (lambda: _assuming("keeps 4 GPUs busy 70.0 % of 9 h 00 min"), "of the work"),
        (lambda: replace(drawn_report("collective_hang"), verdict=f"{SPUN} {BUT}"), "although GPUs waited"),
        (lambda: replace(drawn_report("no_gpu_use"), verdict=RELEASE), "used none"),
        (lambda: _failed("idle_tail"), "not sent to its output"),
        (lambda: replace(drawn_report("idle_tail"), no_causes=NO_CAUSES["below"]), "no causes, and causes"),
    ],
)
def test_a_contradiction_is_found(broken: Callable[[], JobReport], expected: str) -> None:
    assert any(expected in line for line in contradictions(broken()))


def _all_findings(*kinds: str) -> tuple:
    return tuple(finding for kind in kinds for finding in drawn_report(kind).findings)


def _with_text(kind: str, text: str, **changes: float) -> JobReport:
    """The report with a sentence added to its first finding, and some of its record or its numbers changed."""
    report = drawn_report(kind)
    first, *others = report.findings
    fields = report.job.__struct_fields__
    record = {name: value for name, value in changes.items() if name in fields}
    numbers = {name: value for name, value in changes.items() if name not in fields}
    return replace(
        report,
        job=msgspec.structs.replace(report.job, **record),
        efficiency=replace(report.efficiency, **numbers),
        findings=(replace(first, text=f"{first.text} {text}"), *others),
    )


def _with_lesson_of(kind: str, other: str) -> JobReport:
    report = drawn_report(kind)
    return replace(report, findings=(replace(report.findings[0], lesson=drawn_report(other).findings[0].lesson),))


def _mismatch(text: str, **evidence: int) -> JobReport:
    """A report of ranks that share GPUs, with another sentence."""
    report = drawn_report("parallelism_mismatch")
    (shared,) = (finding for finding in report.findings if finding.code == "parallelism_mismatch")
    return replace(report, findings=(replace(shared, text=text, evidence=shared.evidence | evidence),))


def _covered(kind: str, fraction: float) -> JobReport:
    report = drawn_report(kind)
    return replace(report, efficiency=replace(report.efficiency, coverage_fraction=fraction))


def _assuming(words: str) -> JobReport:
    report = drawn_report("overscaled")
    return replace(report, savings=replace(report.savings, assumption=words))


def _failed(kind: str) -> JobReport:
    """The report of a run that completed, as one of a run that failed."""
    report = drawn_report(kind)
    return replace(report, job=msgspec.structs.replace(report.job, state="FAILED"))
