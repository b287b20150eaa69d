"""No report contradicts itself: its sentences held against each other, for every kind of run of the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from analysis.findings import COUNTED
from bench.scorecard import drawn, judged
from education.seeds import seed_lessons
from portal.demo.library import LIBRARY
from reports.build import job_report
from reports.job_report import JobReport
from reports.layout import SAME_BILL, Layout, layout
from reports.wording import ALL_WELL, BUT, FITS, NEXT, NO_CAUSES, STEPS, TITLES, VERDICTS

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
    advice = [each.reason for each in page.recommendations] or [page.no_advice]
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
        if re.search(r"\b1?\d % sure", cause.sure):
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


TITLES_SHOWN = {code.value: title for code, title in TITLES.items()}
CHECKS: tuple[Callable[[JobReport, Layout, str], Iterator[str]], ...] = (
    _praise,
    _use,
    _cause,
    _time,
    _sure,
    _nodes,
    _savings,
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_of_the_library_contradicts_itself(kind: str) -> None:
    assert contradictions(drawn_report(kind)) == []


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
    ],
)
def test_a_contradiction_is_found(broken: Callable[[], JobReport], expected: str) -> None:
    assert any(expected in line for line in contradictions(broken()))


def _all_findings(*kinds: str) -> tuple:
    return tuple(finding for kind in kinds for finding in drawn_report(kind).findings)


def _with_text(kind: str, text: str, **record: int) -> JobReport:
    """The report with a sentence added to its first finding, and some of its record changed."""
    report = drawn_report(kind)
    first, *others = report.findings
    job = type(report.job)(**{name: getattr(report.job, name) for name in report.job.__struct_fields__} | record)
    return replace(report, job=job, findings=(replace(first, text=f"{first.text} {text}"), *others))
