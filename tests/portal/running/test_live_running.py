"""Running jobs in a browser: parts that update themselves while they are seen, beside others, and what comes after."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.early.models import EarlyWord, RunningRun
from jobs.models import User
from tests.portal.conftest import carry_session
from tests.portal.queue.queued import read, started
from tests.portal.queue.test_live import HIDE, SEEN_AGAIN, after, calls
from tests.portal.running.shown import measured, word

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/jobs/lumi/123456/"


@pytest.fixture
def page(browser, live_server, recent) -> Iterator[object]:
    """alice, with two ended jobs and one that runs, with a clock that the test moves."""
    measured(utils=[[50.0] * 70] * 8)
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    context = browser.new_context(base_url=live_server.url)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    carry_session(context, live_server, client)
    page = context.new_page()
    page.clock.install()
    yield page
    context.close()


def shown(page, path: str) -> None:
    page.goto(path)
    page.wait_for_function("window.htmx")


def warn() -> EarlyWord:
    return word(RunningRun.objects.get(job_id=123456))


def test_a_word_appears_on_the_page_of_the_job_with_buttons_that_copy_and_keeps_what_is_unfolded(page) -> None:
    shown(page, PAGE)
    assert "Nothing stands out" in page.locator("#shown").inner_text()
    warn()
    after(page, 1.2)
    page.wait_for_selector("text=No GPU of this job has work")
    copy = page.locator("#copy-all_gpus_idle-1")
    assert copy.is_visible()
    copy.click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("srun --overlap --jobid=123456")
    page.locator("#more-all_gpus_idle > summary").click()
    after(page, 1.2)
    assert page.locator("#more-all_gpus_idle").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_what_is_seen_stays_in_its_place_while_more_is_unfolded(page) -> None:
    warn()
    page.set_viewport_size({"width": 1280, "height": 500})
    shown(page, PAGE)
    page.locator("#more-all_gpus_idle > summary").click()
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    before = page.evaluate("scrollY")
    assert before > 0
    with page.expect_response(lambda response: response.url.endswith(PAGE)):
        after(page, 1.2)
    page.clock.run_for(1000)
    page.wait_for_timeout(500)
    assert page.locator("#more-all_gpus_idle").get_attribute("open") is not None
    assert page.evaluate("scrollY") == before


def test_the_list_of_ended_jobs_stays_as_it_is_sorted_while_running_jobs_update(page) -> None:
    shown(page, "/jobs/?q=train")
    asked = calls(page)
    before = page.url
    page.locator("#shown a[data-sort]").first.click()
    page.wait_for_url(lambda address: address != before)
    sorted_at = page.url
    warn()
    after(page, 1.2)
    page.wait_for_selector("#running-now >> text=No GPU of this job has work")
    assert [address.split("/", 3)[3] for address in asked][-1] == "running/?few=1"
    assert page.url == sorted_at
    assert page.locator("#shown tbody tr").count() == 2
    # And a sorted list is not taken for an update of the running jobs.
    page.locator("#shown a[data-sort]").last.click()
    page.wait_for_url(lambda address: address != sorted_at)
    assert page.locator("#running-now").count() == 1


@pytest.mark.parametrize("path", ["/", "/jobs/", "/running/"])
def test_when_nothing_runs_any_more_the_part_says_so_and_the_page_stays(page, path: str) -> None:
    shown(page, path)
    read(minutes_ago=0)
    after(page, 1.2)
    page.wait_for_selector("text=None of your GPU jobs runs now")
    assert page.locator("h1").count() == 1


def test_a_hidden_tab_asks_for_nothing_and_catches_up(page) -> None:
    shown(page, "/")
    asked = calls(page)
    page.evaluate(HIDE % "true")
    after(page, 10)
    assert asked == []
    warn()
    page.evaluate(HIDE % "false")
    page.evaluate(SEEN_AGAIN)
    after(page, 0.01)
    page.wait_for_selector("#running-now >> text=No GPU of this job has work")
    assert len(asked) == 1
    assert asked[0].endswith("/running/?few=1&own=1")


def test_a_job_that_left_the_queue_is_said_and_then_its_report_appears_at_the_same_address(page, reported) -> None:
    shown(page, PAGE)
    read(started(7), minutes_ago=0)
    after(page, 1.2)
    page.wait_for_selector("text=This job has left the queue at about")
    assert "left the queue" in page.locator(".job-facts").inner_text()
    now = timezone.now()
    reported(123456, started_at=(now - timedelta(minutes=71)).isoformat(), ended_at=now.isoformat())
    after(page, 1.2)
    page.wait_for_selector("text=completed")
    assert page.locator("[data-live]").count() == 0


def test_without_scripts_everything_is_there_but_buttons(browser, live_server, cast) -> None:
    alice = cast("alice")
    word(measured(utils=[[50.0] * 70] * 8))
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    carry_session(context, live_server, alice)
    page = context.new_page()
    page.goto(PAGE)
    assert "No GPU of this job has work" in page.locator("#shown").inner_text()
    assert page.locator("button[data-copy]").first.is_hidden()
    assert "rocm-smi" in page.locator("#shown").inner_text()
    context.close()
