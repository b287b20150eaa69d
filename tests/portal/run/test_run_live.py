"""The page of a run in a browser: it goes on while the run does, rests in a hidden tab, and stops when the run ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.experiments.models import ExperimentRun
from jobs.experiments.points import Point
from jobs.experiments.services.points import LoggedCall, log_calls
from jobs.experiments.services.runs import RunChange, change_run
from jobs.experiments.status import Reported
from tests.portal.conftest import carry_session
from tests.portal.experiments.logged import experiment_of, log_run
from tests.portal.queue.test_live import HIDE, SEEN_AGAIN, after, calls

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(browser, live_server, cast) -> Iterator[object]:
    """A run of alice's that goes on, with a clock that the test moves."""
    client = cast("alice")
    began_at = timezone.now() - timedelta(minutes=25)
    run = log_run(experiment_of("alice"), job=None, metrics={"loss": [0.9, 0.8]}, began_at=began_at, reported=None)
    context = browser.new_context(base_url=live_server.url)
    carry_session(context, live_server, client)
    page = context.new_page()
    page.clock.install()
    page.goto(f"/runs/{run.run_id}/?metric=loss")
    page.wait_for_function("window.htmx")
    yield page
    context.close()


def log(value: float) -> None:
    run, now = ExperimentRun.objects.get(), timezone.now()
    log_calls([LoggedCall(run.owner, run.run_id, now, [Point("loss", 300, int(now.timestamp() * 1000), value)])])


def test_a_new_point_appears_within_a_minute_and_can_be_read_with_the_keys(page) -> None:
    page.locator("summary", has_text="As a table").click()
    log(0.123)
    after(page, 1.1)
    page.wait_for_selector("td:has-text('0.123')")
    assert page.locator("#table-metric-0").get_attribute("open") is not None
    plot = page.get_by_role("application", name="loss over time since the start")
    plot.focus()
    page.keyboard.press("End")
    assert "loss 0.123" in page.locator(".reading").first.inner_text()


def test_a_tab_that_nobody_sees_asks_for_nothing(page) -> None:
    asked = calls(page)
    page.evaluate(HIDE % "true")
    after(page, 5)
    assert asked == []
    page.evaluate(HIDE % "false")
    page.evaluate(SEEN_AGAIN)
    after(page, 0.1)
    assert len(asked) == 1


def test_nothing_is_asked_for_once_the_run_has_ended(page) -> None:
    run = ExperimentRun.objects.get()
    change_run(run.owner, run.run_id, RunChange(reported=Reported.FINISHED), timezone.now())
    after(page, 1.1)
    page.wait_for_selector("text=finished")
    asked = calls(page)
    after(page, 5)
    assert asked == []
    assert page.locator("#live-state").is_hidden()
