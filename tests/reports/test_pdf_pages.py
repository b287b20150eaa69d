"""The pages of the PDF as a reader turns them: what stands on which, how full they are, and where a line may end."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from pypdf import PageObject, PdfReader

from reports.job_report import JobReport
from reports.services.pdf import report_pdf
from reports.services.rendering import report_html
from tests.reports.builders import drawn, report, with_lesson

FOOT_PT = 60.0
"""Below this, from the lower edge of the page, stand only the page's number and the advisory line."""


def pages(value: JobReport) -> list[PageObject]:
    return list(PdfReader(io.BytesIO(report_pdf(value, drawn(value)))).pages)


def empty_below(page: PageObject) -> float:
    """The part of the page that is empty above its foot."""
    heights: list[float] = []

    def seen(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        height = cm[1] * tm[4] + cm[3] * tm[5] + cm[5]
        if text.strip() and height > FOOT_PT:
            heights.append(height)

    page.extract_text(visitor_text=seen)
    return (min(heights) - FOOT_PT) / float(page.mediabox.height)


def test_a_pdf_of_an_ordinary_job_is_two_pages_with_the_job_on_each_and_small() -> None:
    value = report(job_name="train" * 40)
    content = report_pdf(value, drawn(value))
    assert len(content) < 200_000
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]
    assert len(pages) == 2
    for number, text in enumerate(pages, 1):
        assert "Job 123456, traintrain" in text
        assert "… · project_465000001" in text
        assert f"Page {number} of 2" in text
    assert "GPU use (%)" in "".join(pages)


def test_the_first_page_of_a_pdf_holds_facts_answer_and_request_and_the_second_the_figures() -> None:
    value = report()
    first, second = (page.extract_text() for page in pages(value))
    for shown in ("small-g", "6.24", "- #SBATCH --gpus-per-node=8", "GPU use (%)", "Findings"):
        assert shown in first, shown
    places = [first.index(shown) for shown in ("small-g", "6.24", "GPU use over the run", "Findings")]
    assert places == sorted(places)
    assert "GPU use (%)" not in second.partition("Use of each of")[0]
    assert "GPU memory (GB)" in second


def of_findings(count: int) -> JobReport:
    """An ordinary report with this many findings, each with a lesson of three lines."""
    value = with_lesson("Check that the work is divided evenly over the GPUs, and that no rank has extra work. " * 3)
    findings = [dataclasses.replace(value.findings[0], title=f"Finding {number}") for number in range(count)]
    return dataclasses.replace(value, findings=tuple(findings))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6])
def test_the_first_page_is_full_however_many_findings_there_are(count: int) -> None:
    first, *others = pages(of_findings(count))
    assert "GPU use (%)" in first.extract_text()
    assert len(others) <= 2
    assert empty_below(first) < 0.2


def test_no_line_of_the_pdf_ends_within_an_option_or_a_path() -> None:
    # After words of so many lengths each of them meets the end of a line more than once.
    wholes = ("--threads-per-core", "dev-g", "$OMP_NUM_THREADS", "/tmp/some-folder/data-set")
    words = " ".join(f"{'x' * length} {whole}" for length in range(5, 40) for whole in wholes)
    text = "".join(page.extract_text() for page in pages(with_lesson(words)))
    assert {whole: text.count(whole) for whole in wholes} == dict.fromkeys(wholes, 35)


def test_an_option_longer_than_a_line_is_broken_within_the_page() -> None:
    long = "--nodelist=" + "nid005123," * 30
    text = "".join(page.extract_text() for page in pages(with_lesson(long)))
    assert re.sub(r"\s+", "", text).count(long) == 1


def test_what_keeps_an_option_whole_escapes_it() -> None:
    assert "--x=&lt;script&gt;" in report_html(with_lesson("Use --x=<script> here"), {})
