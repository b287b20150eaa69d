"""A name as long as Slurm allows, without blanks, and large numbers in the head of a job's page."""

from __future__ import annotations

import pytest

from jobs.models import Job
from tests.portal.conftest import carry_session, overflow_px, text

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "x" * 250
LINES = """found => Math.round(found.getBoundingClientRect().height / parseFloat(getComputedStyle(found).lineHeight))"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_takes_three_lines_and_no_more_width_than_the_screen(
    browser, live_server, cast, reported, width: int
) -> None:
    reported(1, 2, 3, 4, job_name=NAME)
    context = browser.new_context(base_url=live_server.url, viewport={"width": width, "height": 900})
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    page.goto("/jobs/lumi/1/")
    assert 1 <= page.locator("h1").evaluate(LINES) <= 3
    assert overflow_px(page) == 0
    assert page.locator("#facts dd").first.text_content() == NAME
    page.goto("/compare/?" + "&".join(f"job=lumi/{job_id}.0" for job_id in (1, 2, 3, 4)))
    assert page.locator("h1").text_content() == "Compare 4 jobs"
    assert overflow_px(page) == 0
    context.close()


def test_thousands_are_grouped(cast, reported) -> None:
    reported()
    Job.objects.update(gpus_allocated=1024, node_count=1128)
    page = text(cast("alice"), "/jobs/lumi/123456/")
    assert "<span>1,024 GPUs</span>" in page
    assert "<span>1,128 nodes</span>" in page
