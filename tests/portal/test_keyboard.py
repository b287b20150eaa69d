"""Every page by keyboard alone: Tab reaches all that can be used, shows where it is, and is never caught."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metrics.services import record_raw_window
from tests.payloads import raw_payload
from tests.portal.conftest import PASSWORD, carry_session
from tests.portal.test_accessibility import PAGES, paths_for, queue_up

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Each thing to use gets a number; of a group of radio buttons one stands for all, as the arrow keys reach the others.
NUMBER_ALL = """() => {
  const usable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
  const groups = new Set();
  return [...document.querySelectorAll(usable)].filter(one => {
    if (one.disabled || !one.checkVisibility({visibilityProperty: true}) || !one.getClientRects().length) return false;
    if (one.type !== 'radio') return true;
    const group = one.form?.id + one.name;
    return groups.has(group) ? false : groups.add(group);
  }).map((one, number) => one.dataset.number = one.type === 'radio' ? one.name : String(number));
}"""
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const drawn = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none';
  const number = one.type === 'radio' ? one.name : one.dataset.number;
  return [number ?? null, drawn, one.outerHTML.slice(0, 120)];
}"""


@pytest.fixture
def page(browser, live_server) -> Iterator[object]:
    context = browser.new_context(base_url=live_server.url, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def assert_usable_by_keys(page, path: str) -> None:
    page.goto(path)
    wanted, reached = set(page.evaluate(NUMBER_ALL)), set()
    # Once around, wherever the page puts the focus first; a date has several parts to stop at.
    for _ in range(len(wanted) * 2 + 10):
        page.keyboard.press("Tab")
        number, is_drawn, html = page.evaluate(FOCUSED)
        if number is not None:
            assert is_drawn, f"{path}: nothing shows the focus on {html}"
            reached.add(number)
    missed = [
        page.locator(f'[data-number="{number}"]').first.evaluate("e => e.outerHTML") for number in wanted - reached
    ]
    assert missed == [], path


@pytest.mark.parametrize("name", PAGES)
def test_tab_reaches_everything_and_shows_where_it_is(name: str, page, live_server, cast, reported, settings) -> None:
    settings.RAW_ON_PAGE = settings.PUBLIC_PAGE = settings.SLURM_COMMENTS = True
    reported()
    record_raw_window(raw_payload())
    queue_up(settings)
    for path in paths_for(name, page, live_server, cast):
        assert_usable_by_keys(page, path)


def test_from_sign_in_to_the_copied_advice_without_a_mouse(page, reported) -> None:
    reported()
    page.goto("/jobs/lumi/123456/")
    page.keyboard.type("alice")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector(".request-diff")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('content').contains(document.activeElement)")
    while page.evaluate("document.activeElement.textContent.trim()") != "Copy new request":
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "the end of the page"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Copied")


def focused(page) -> str:
    """The job whose link has the focus; empty where no link of a job has it."""
    return page.evaluate("document.activeElement.closest('td.name a')?.querySelector('.id').textContent ?? ''")


def test_the_list_of_jobs_is_walked_searched_and_opened_by_single_keys(page, live_server, cast, reported) -> None:
    reported(1, 2, 3)
    carry_session(page.context, live_server, cast("alice"))
    page.goto("/jobs/")
    page.keyboard.press("j")
    # The latest stand first; of three that ended at once the newest.
    assert focused(page) == "3"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert focused(page) == "1", "the last row is the end"
    page.keyboard.press("k")
    assert focused(page) == "2"
    page.keyboard.press("/")
    page.keyboard.type("jjk/o?")
    assert page.input_value("#id_q") == "jjk/o?", "in a field the keys are letters"
    page.fill("#id_q", "2")
    page.wait_for_url("**/jobs/?q=2*")
    page.wait_for_selector("text=Search: 2")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/jobs/lumi/2/?attempt=0")


@pytest.mark.parametrize("path", ["/", "/jobs/lumi/1/", "/settings/", "/history/"])
def test_the_keys_of_search_and_help_are_on_every_page(path: str, page, live_server, cast, reported) -> None:
    reported(1)
    carry_session(page.context, live_server, cast("alice"))
    page.goto(path)
    page.keyboard.press("?")
    assert page.is_visible("dialog >> text=Search in Jobs")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.wait_for_url("**/jobs/#id_q")
    page.wait_for_function("document.activeElement.id === 'id_q'")


def test_the_recent_jobs_of_the_dashboard_are_walked_too(page, live_server, cast, reported) -> None:
    reported(1, 2)
    carry_session(page.context, live_server, cast("alice"))
    page.goto("/")
    for key in "jjo":
        page.keyboard.press(key)
    page.wait_for_url("**/jobs/lumi/1/?attempt=0")
    page.goto("/jobs/lumi/1/")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.locator("textarea").first.focus()
    page.keyboard.type("a/?")
    assert page.locator("textarea").first.input_value() == "a/?", "in a field the keys are letters"


def test_the_help_names_the_keys_and_switches_them_off_for_good(page, live_server, cast, reported) -> None:
    reported(1, 2)
    carry_session(page.context, live_server, cast("alice"))
    page.goto("/jobs/")
    page.keyboard.press("?")
    assert page.is_visible("dialog >> text=Next and previous row")
    page.uncheck("dialog input[type=checkbox]")
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("j")
    assert focused(page) == ""
    page.click("text=Keyboard")
    page.check("dialog input[type=checkbox]")
    page.click("dialog >> text=Close")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    assert focused(page) == "2"
