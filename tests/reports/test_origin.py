"""Where the numbers and the record of a job come from, where not from the site: one sentence, in every format."""

from __future__ import annotations

import html as html_parser
import io
import re
from dataclasses import replace

import pytest
from pypdf import PdfReader

from analysis.assess import Assessment
from education.seeds import seed_lessons
from reports.as_json import report_json
from reports.job_report import JobReport, job_report
from reports.markdown import report_markdown
from reports.services.pdf import report_pdf
from reports.services.rendering import report_html
from reports.text import report_text
from reports.wording import origin
from tests.reports.builders import judged

MEASURED = "These numbers were measured by the owner's own run of the collector, not by the site."
ALONE = "The details of the job were reported by its owner alone and have not been confirmed by the site."


def own() -> Assessment:
    seen = judged()
    return replace(seen, facts=replace(seen.facts, own_nodes=seen.facts.nodes))


def in_every_format(value: JobReport) -> dict[str, str]:
    pages = PdfReader(io.BytesIO(report_pdf(value, {}))).pages
    written = {
        "text": report_text(value),
        "markdown": report_markdown(value).replace("\\", ""),
        "html": html_parser.unescape(report_html(value, {})),
        "pdf": " ".join(page.extract_text() for page in pages),
        "json": report_json(value).decode(),
    }
    return {name: re.sub(r"\s+", " ", content) for name, content in written.items()}


@pytest.mark.parametrize(
    ("own_nodes", "nodes", "is_told_by_owner", "said"),
    [
        (0, 3, False, ""),
        (0, 0, True, ALONE),
        (3, 3, False, MEASURED),
        (3, 3, True, f"{MEASURED} {ALONE}"),
        (1, 1200, False, MEASURED.replace("These numbers", "The numbers of 1 of 1,200 nodes")),
    ],
)
def test_it_is_said_of_what_is_not_the_sites_and_of_nothing_else(own_nodes, nodes, is_told_by_owner, said) -> None:
    assert origin(own_nodes, nodes, is_told_by_owner=is_told_by_owner) == said


def test_every_format_says_it() -> None:
    value = job_report(own(), seed_lessons(), is_told_by_owner=True)
    for name, content in in_every_format(value).items():
        assert f"{MEASURED} {ALONE}" in content, name
    assert value.is_told_by_owner


def test_no_format_says_it_of_a_run_of_the_site() -> None:
    for name, content in in_every_format(job_report(judged(), seed_lessons())).items():
        assert "own run of the collector" not in content, name
        assert "by its owner alone" not in content, name
