"""The page of the queue in a browser: it updates itself each minute while it is seen, and works without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.portal.conftest import carry_session
from tests.portal.queue.queued import read, started, waiting

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MINUTE_MS = 60_000
HIDE = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true})"
SEEN_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.fixture
def page(browser, live_server, cast) -> Iterator[object]:
    """alice's queue with one running job, with a clock that the test moves."""
    read(started(1, Name="first"), minutes_ago=9)
    context = browser.new_context(base_url=live_server.url)
    carry_session(context, live_server, cast("carol"))
    page = context.new_page()
    page.clock.install()
    page.goto("/queue/")
    page.wait_for_function("window.htmx")
    yield page
    context.close()


def calls(page) -> list[str]:
    """The addresses of the updates from now on, as they are asked for."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.headers.get("hx-request") else None)
    return asked


def after(page, minutes: float) -> None:
    """So much later; htmx needs some more to put in place what has arrived."""
    page.clock.run_for(int(minutes * MINUTE_MS))
    page.wait_for_timeout(500)
    page.clock.run_for(100)


def test_a_new_reading_appears_within_a_minute_with_what_was_unfolded_and_the_focus(page) -> None:
    page.locator("summary").click()
    read(started(1, Name="first"), waiting(2, Name="second"))
    after(page, 0.5)
    assert "second" not in page.locator("#shown").inner_text()
    after(page, 0.7)
    page.wait_for_selector("text=second")
    assert page.locator("#shown details").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert page.url.endswith("/queue/")
    assert page.locator("#live-state").is_hidden()


def test_a_tab_that_nobody_sees_asks_for_nothing_and_catches_up_at_once(page) -> None:
    asked = calls(page)
    page.evaluate(HIDE % "true")
    after(page, 10)
    assert asked == []
    read(started(1), waiting(2, Name="second"))
    page.evaluate(HIDE % "false")
    page.evaluate(SEEN_AGAIN)
    after(page, 0.01)
    page.wait_for_selector("text=second")
    assert len(asked) == 1


def test_after_an_hour_it_stops_and_says_so(page) -> None:
    """The page states 60 times; here it states two."""

    def shorter(route) -> None:
        answer = route.fetch()
        assert 'data-live="60"' in answer.text()
        route.fulfill(response=answer, body=answer.text().replace('data-live="60"', 'data-live="2"'))

    page.route("**/queue/", shorter)
    page.reload()
    page.wait_for_function("window.htmx")
    asked = calls(page)
    for _ in range(4):
        after(page, 1.2)
    assert len(asked) == 2
    assert "This page no longer updates itself." in page.locator("#live-state").inner_text()


def test_an_update_that_fails_leaves_the_page_as_it_was_and_says_so(page) -> None:
    page.route("**/queue/", lambda route: route.fulfill(status=503, body="away"))
    after(page, 1.2)
    page.wait_for_selector("text=The last update failed: this is as it was before.")
    assert "first" in page.locator("#shown").inner_text()
    page.unroute("**/queue/")
    after(page, 1.2)
    page.wait_for_selector("#live-state", state="hidden")


def test_the_end_of_a_session_leads_to_the_sign_in(page) -> None:
    page.context.clear_cookies()
    after(page, 1.2)
    page.wait_for_url("**/sign-in/?next=/queue/")


def test_without_scripts_the_page_has_everything(browser, live_server, cast) -> None:
    read(started(1, Name="first"), waiting(2, Name="second"))
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    page.goto("/queue/")
    said = page.locator("#shown").inner_text()
    assert "first" in said
    assert "Jobs with a higher priority are ahead of it." in said
    read(started(1, Name="first"))
    page.get_by_role("link", name="Load again").click()
    assert "second" not in page.locator("#shown").inner_text()
    context.close()
