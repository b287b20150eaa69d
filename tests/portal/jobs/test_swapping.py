"""The Jobs page in a real browser: filters and pages change the list in place, and all of it works without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from analysis.models import JobEfficiency
from jobs.models import Job
from portal.pages.jobs.orders import SORTS, WORK_SORTS
from tests.portal.conftest import carry_session, overflow_px
from tests.portal.jobs.test_job_pages import run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

JOB_IDS = "#shown td.name a .id"
STAYS = "() => { window.isSamePage = true; }"
STAYED = "() => window.isSamePage === true"


@pytest.fixture
def opened(browser, live_server, cast) -> Iterator[Callable[..., object]]:
    """Alice's Jobs page with thirty jobs and an array; at the end nothing may have been said on the console."""
    for job_id in range(1, 31):
        run(job_id, job_name="even" if job_id % 2 == 0 else "odd")
    for task in range(3):
        run(100 + task, array_job_id=100, array_task_id=task)
    alice, contexts, said = cast("alice"), [], []

    def open_page(**options: object) -> object:
        context = browser.new_context(base_url=live_server.url, **options)
        carry_session(context, live_server, alice)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto("/jobs/")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def shown(page) -> list[str]:
    # A click has waited for the next page's first byte, not for its last.
    page.wait_for_load_state()
    return page.locator(JOB_IDS).all_text_contents()


def test_a_choice_changes_the_list_in_place_and_the_address_and_says_how_many(opened) -> None:
    page = opened()
    page.evaluate(STAYS)
    page.select_option("#id_sort", "runtime")
    page.wait_for_url("**/jobs/?sort=runtime")
    # Run times go from 0 to 6 minutes; of the longest the newest stands first.
    page.wait_for_function("document.querySelector('#shown td .id').textContent === '27'")
    page.fill("#id_q", "odd")
    page.wait_for_url("**/jobs/?q=odd&sort=runtime")
    page.wait_for_function("document.getElementById('count').textContent.startsWith('15 jobs')")
    assert page.get_attribute("#count", "role") == "status"
    assert len(shown(page)) == 15
    assert page.evaluate("document.activeElement.id") == "id_q"
    assert page.get_attribute("text=These jobs as CSV", "href") == "/jobs.csv?q=odd&sort=runtime"
    page.fill("#id_since", "2020-01-01")
    page.wait_for_url("**/jobs/?*since=2020-01-01*")
    assert page.evaluate(STAYED)


def test_a_head_of_a_column_sorts_by_it_and_the_form_and_the_focus_follow(opened) -> None:
    page = opened()
    page.evaluate(STAYS)
    assert page.get_attribute("th[aria-sort]", "aria-sort") == "descending"
    page.focus("th >> text=run time")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/?sort=runtime")
    page.wait_for_function("document.querySelector('#shown td .id').textContent === '27'")
    assert page.evaluate("document.activeElement.textContent").startswith("after a run time of")
    assert page.input_value("#id_sort") == "runtime"
    page.fill("#id_q", "odd")
    page.wait_for_url("**/jobs/?q=odd&sort=runtime")
    page.wait_for_function("document.getElementById('count').textContent.startsWith('15 jobs')")
    page.click("th >> text=Mean GPU use")
    page.wait_for_url("**/jobs/?q=odd&sort=use")
    page.wait_for_selector("th[aria-sort=ascending]")
    assert len(shown(page)) == 15
    assert page.evaluate(STAYED)


@pytest.mark.parametrize("sort", SORTS)
def test_the_order_box_keeps_its_choice_whatever_filter_changes(opened, sort: str) -> None:
    page = opened()
    page.evaluate(STAYS)
    page.select_option("#id_sort", sort)
    page.wait_for_url(f"**/jobs/?sort={sort}")
    page.locator("#id_q").press_sequentially("odd", delay=20)
    page.wait_for_url(f"**/jobs/?q=odd&sort={sort}")
    page.fill("#id_q", "even")
    page.wait_for_url(f"**/jobs/?q=even&sort={sort}")
    page.wait_for_selector("text=Search: even")
    # It is set again a moment after the options are.
    is_kept = "expected => document.getElementById('id_sort').value === expected"
    page.wait_for_function(is_kept, arg=sort)
    changes = (("efficiency_class", "ACCEPTABLE"), ("finding", "timeout"), ("state", "FAILED"), ("days", "365"))
    for chip, (name, value) in enumerate(changes, start=2):
        page.select_option(f"#id_{name}", value)
        page.wait_for_url(f"**/jobs/?*{name}={value}*sort={sort}")
        page.wait_for_function("expected => document.querySelectorAll('.chips.on .chip').length === expected", arg=chip)
        page.wait_for_function(is_kept, arg=sort)
    page.wait_for_selector("text=No jobs match these filters")
    assert page.evaluate("document.querySelectorAll('.chips.on .chip').length") == 5
    assert page.evaluate(STAYED)


def test_a_chip_is_removed_by_one_click_and_the_form_follows(opened) -> None:
    page = opened()
    page.goto("/jobs/?q=odd&state=COMPLETED&sort=runtime")
    page.evaluate(STAYS)
    page.click("text=Search: odd")
    page.wait_for_url("**/jobs/?state=COMPLETED&sort=runtime")
    page.wait_for_function("!document.querySelector('.chips.on').textContent.includes('odd')")
    assert (page.input_value("#id_q"), page.input_value("#id_sort")) == ("", "runtime")
    assert page.evaluate("document.activeElement.id") == "narrowed"
    page.click("text=Clear all")
    page.wait_for_selector(".chips.on", state="detached")
    assert (page.input_value("#id_state"), page.input_value("#id_sort")) == ("", "ended")
    assert page.evaluate(STAYED)


def test_a_filter_is_saved_after_the_list_was_replaced_and_removed_again(opened) -> None:
    page = opened()
    page.fill("#id_q", "odd")
    page.click("text=Save this filter")
    page.fill("#filter-name", "odd ones")
    page.click(".saved-filters button:has-text('Save')")
    page.wait_for_selector("text=Saved as “odd ones”.")
    page.goto("/jobs/")
    page.click(".chip:has-text('odd ones')")
    page.wait_for_url("**/jobs/?q=odd")
    page.wait_for_selector(".chip[aria-current]")
    assert page.input_value("#id_q") == "odd"
    page.click("text=Remove saved")
    page.click("text=Remove “odd ones”")
    page.wait_for_selector("text=Removed the saved filter “odd ones”.")
    assert page.locator(".chip").count() == 0


def test_two_to_four_selected_jobs_are_compared(opened) -> None:
    page = opened()
    button = page.locator("#compare button:not([data-clear])")
    boxes = page.locator("td.pick input")
    assert button.is_disabled()
    for place in range(4):
        boxes.nth(place).check()
        assert button.is_disabled() == (place == 0)
    assert boxes.nth(4).is_disabled()
    boxes.nth(3).uncheck()
    boxes.nth(2).uncheck()
    button.click()
    # Jobs 1 to 4 ended last, at the same moment: the newest stands first.
    page.wait_for_url("**/compare/?job=lumi%2F4.0&job=lumi%2F3.0")


def test_what_was_selected_stays_so_when_the_list_changes(opened) -> None:
    page = opened()
    page.locator("input[value='lumi/4.0']").check()
    page.locator("input[value='lumi/3.0']").check()
    page.fill("#id_q", "odd")
    page.wait_for_selector("#count:has-text('15 jobs')")
    assert page.locator("input[value='lumi/3.0']").is_checked()
    assert page.text_content("#compare .note") == "2 selected, 1 of them not in this list."
    page.locator("input[value='lumi/1.0']").check()
    page.click("#compare button:not([data-clear])")
    page.wait_for_url("**/compare/?*")
    assert sorted(re.findall(r"job=lumi%2F(\d+)", page.url)) == ["1", "3", "4"]


def test_what_was_selected_outlives_a_look_at_a_job_but_not_for_another_account(opened, live_server, cast) -> None:
    page = opened()
    for job_id in (4, 3):
        page.locator(f"input[value='lumi/{job_id}.0']").check()
    page.click("#shown td.name a")
    page.wait_for_url("**/jobs/lumi/**")
    page.go_back()
    page.wait_for_selector("#compare .note:has-text('2 selected.')")
    assert page.locator("td.pick input:checked").count() == 2
    page.context.clear_cookies()
    carry_session(page.context, live_server, cast("bob"))
    page.goto("/jobs/")
    assert "lumi/4" not in page.evaluate("JSON.stringify(Object.entries(sessionStorage))")


def test_a_printed_list_has_each_column_below_its_head(opened) -> None:
    page = opened(viewport={"width": 1100, "height": 800})
    page.emulate_media(media="print")
    left = (
        "cells => cells.map((cell) => cell.getBoundingClientRect()).filter((box) => box.width).map((box) => box.left)"
    )
    heads, cells = (
        page.eval_on_selector_all(f"#shown {row} > *", left) for row in ("thead tr", "tbody tr:first-child")
    )
    assert heads == cells
    assert len(heads) == 7


def test_a_selection_is_cleared_by_one_click(opened) -> None:
    page = opened()
    for job_id in (4, 3):
        page.locator(f"input[value='lumi/{job_id}.0']").check()
    page.click("[data-clear]")
    assert page.locator("td.pick input:checked").count() == 0
    assert page.locator("#compare button").first.is_disabled()
    page.fill("#id_q", "odd")
    page.wait_for_selector("#count:has-text('15 jobs')")
    assert page.locator("td.pick input:checked").count() == 0


@pytest.mark.parametrize("fault", ["no network", "error"])
def test_a_list_that_cannot_be_loaded_says_so_and_is_retried(browser, live_server, cast, fault: str) -> None:
    run(1, job_name="odd")
    run(2, job_name="even")
    context = browser.new_context(base_url=live_server.url)
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    page.goto("/jobs/")
    page.evaluate(STAYS)
    message = page.locator("#not-loaded")
    assert message.is_hidden()
    broken = {"no network": lambda route: route.abort(), "error": lambda route: route.fulfill(status=500, body="no")}
    page.route("**/jobs/?*", broken[fault])
    page.fill("#id_q", "odd")
    message.wait_for(state="visible")
    assert "The list could not be loaded" in message.inner_text()
    assert len(shown(page)) == 2
    page.unroute("**/jobs/?*")
    page.click("text=Try again")
    page.wait_for_url("**/jobs/?q=odd&sort=ended")
    page.wait_for_selector("#count:has-text('1 job.')")
    assert message.is_hidden()
    assert page.evaluate(STAYED)
    assert page.evaluate("document.activeElement.id") == "shown"
    context.close()


def test_the_list_by_work_comes_in_place_and_leads_to_the_jobs_of_one_work(opened) -> None:
    Job.objects.filter(job_name="odd").update(work_key="a" * 32)
    JobEfficiency.objects.filter(job__job_name="odd").update(work_key="a" * 32)
    page = opened()
    page.evaluate(STAYS)
    page.select_option("#id_group", "work")
    page.wait_for_url("**/jobs/?group=work&sort=ended")
    page.wait_for_selector(".works")
    page.fill("#id_q", "odd")
    page.wait_for_selector("#count:has-text('1 work of 15 jobs')")
    page.click("th >> text=Jobs")
    page.wait_for_url("**/jobs/?q=odd&group=work&sort=jobs")
    assert page.evaluate(STAYED)
    page.click("td.count a")
    page.wait_for_url("**/jobs/?q=odd&work=" + "a" * 32)
    page.wait_for_selector("text=Work: odd")
    page.select_option("#id_sort", "runtime")
    page.wait_for_url("**/jobs/?q=odd&sort=runtime&work=" + "a" * 32)
    assert len(shown(page)) == 15


def test_the_next_page_comes_in_place_with_the_focus_at_its_head_and_back_leads_back(opened) -> None:
    page = opened()
    first = shown(page)
    page.evaluate(STAYS)
    page.focus("a[rel=next]")
    page.keyboard.press("Enter")
    page.wait_for_selector("a[rel=prev]")
    assert page.evaluate(STAYED)
    assert re.search(r"/jobs/\?after=", page.url)
    assert page.evaluate("document.activeElement.id") == "shown"
    second = shown(page)
    assert (len(first), len(second), set(first) & set(second)) == (25, 6, set())
    page.go_back()
    page.wait_for_selector("a[rel=next]")
    assert (shown(page), page.url.endswith("/jobs/")) == (first, True)
    page.go_forward()
    page.wait_for_selector("a[rel=prev]")
    assert shown(page) == second


def test_nothing_of_the_lists_is_kept_in_the_browser(opened) -> None:
    page = opened()
    page.click("a[rel=next]")
    page.wait_for_selector("a[rel=prev]")
    kept = page.evaluate("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
    assert "tr" not in kept
    assert "project_" not in kept
    assert "lumi/" not in kept


def test_a_session_that_ended_leads_to_the_sign_in(opened) -> None:
    page = opened()
    page.context.clear_cookies()
    page.click("a[rel=next]")
    page.wait_for_url("**/sign-in/**")
    assert page.text_content("h1") == "Sign in"


def test_an_array_opens_its_tasks(opened) -> None:
    page = opened()
    page.goto("/jobs/?q=100")
    page.click("text=Array 100, 3 tasks")
    page.wait_for_url("**/jobs/?array=lumi%2F100")
    assert shown(page) == ["102", "101", "100"]
    assert page.text_content(".chips.on .what") == "Array: lumi/100"


@pytest.mark.parametrize("width", [1280, 390])
def test_all_of_it_works_without_scripts(opened, width: int) -> None:
    page = opened(java_script_enabled=False, viewport={"width": width, "height": 900})
    page.fill("#id_q", "odd")
    page.click(".search-line button")
    assert len(shown(page)) == 15
    page.goto("/jobs/")
    page.click("a[rel=next]")
    assert len(shown(page)) == 6
    page.click("a[rel=prev]")
    assert len(shown(page)) == 25
    if width > 1000:
        page.click("th >> text=run time")
        page.wait_for_url("**/jobs/?sort=runtime")
        assert shown(page)[0] == "27"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_swapped_list_with_an_array_has_no_barrier_and_nothing_wider_than_the_screen(opened, width: int) -> None:
    page = opened(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page.click("a[rel=next]")
    page.wait_for_selector("text=Array 100")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert overflow_px(page) == 0


@pytest.mark.parametrize("sort", [*SORTS, "jobs"])
def test_the_orders_offered_follow_the_rows_both_ways_and_back(opened, sort: str) -> None:
    """`sort` is kept where both kinds of rows have it, otherwise the first order; without a message either way."""
    page = opened()
    page.evaluate(STAYS)
    page.goto("/jobs/?group=work&sort=jobs" if sort == "jobs" else f"/jobs/?sort={sort}")
    page.evaluate(STAYS)
    group = "" if sort == "jobs" else "work"
    kinds = {"": list(SORTS), "work": list(WORK_SORTS)}
    kept = sort if sort in kinds[group] else "ended"
    page.select_option("#id_group", group)
    page.wait_for_selector("table.works" if group else "table.job-table:not(.works)")
    expect(page.locator("#id_sort option")).to_have_count(len(kinds[group]))
    assert page.locator("#id_sort option").evaluate_all("found => found.map(one => one.value)") == kinds[group]
    assert (page.input_value("#id_sort"), page.locator(".ignored").count()) == (kept, 0)
    assert page.evaluate(STAYED)
    page.go_back()
    page.wait_for_load_state()
    other = "work" if sort == "jobs" else ""
    expect(page.locator("#id_sort option")).to_have_count(len(kinds[other]))
    assert (page.input_value("#id_sort"), page.input_value("#id_group")) == (sort, other)
    page.go_forward()
    page.wait_for_load_state()
    expect(page.locator("#id_sort option")).to_have_count(len(kinds[group]))
    assert (page.input_value("#id_sort"), page.input_value("#id_group")) == (kept, group)


def test_a_name_typed_for_a_filter_stays_while_the_list_is_replaced(opened) -> None:
    page = opened()
    page.fill("#id_q", "odd")
    page.wait_for_selector("#save-filter")
    page.click("text=Save this filter")
    page.fill("#filter-name", "my odd ones")
    page.evaluate(STAYS)
    page.select_option("#id_sort", "runtime")
    page.wait_for_url("**/jobs/?q=odd&sort=runtime")
    expect(page.locator("input[name=address]")).to_have_value("q=odd&sort=runtime")
    expect(page.locator("#filter-name")).to_have_value("my odd ones")
    assert page.is_visible("#filter-name")
    assert page.evaluate(STAYED)
