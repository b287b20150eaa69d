"""What is typed into a note stays in its tab until it is saved, in a real browser."""

from __future__ import annotations

import pytest

from jobs.models import JobNote
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.parts_measured import payloads, record_of_nodes
from tests.payloads import job_record
from tests.portal.conftest import carry_session

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGE = "/jobs/lumi/123456/"
TEXT = "#note textarea"


@pytest.fixture
def page(browser, live_server, cast, reported):
    """The page of a run on two nodes."""
    record_job(job_record(**record_of_nodes(2)))
    for payload in payloads(2, 50.0):
        record_node_summary(payload)
    reported(7)
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 800})
    carry_session(context, live_server, cast("alice"))
    opened = context.new_page()
    opened.goto(PAGE)
    yield opened
    context.close()


def type_note(page, text: str) -> None:
    if not page.locator("#note").get_attribute("open"):
        page.evaluate("document.getElementById('note').open = true")
    page.fill(TEXT, text)


def test_a_note_that_was_typed_is_there_after_the_search_for_a_node(page) -> None:
    type_note(page, "half a sentence")
    page.evaluate("document.getElementById('every-node').open = true")
    page.fill("#node", "5124")
    page.click(".node-search button")
    page.wait_for_url("**node=5124**")
    assert "half" not in page.url
    assert page.input_value(TEXT) == "half a sentence"
    assert page.is_visible("#note >> text=Not saved yet: this is what you had typed in this tab.")
    page.click("text=Save note and tags")
    page.wait_for_selector("text=Note and tags saved.")
    assert JobNote.objects.get().text == "half a sentence"
    page.reload()
    assert page.is_hidden("#note [data-restored]")
    assert page.evaluate("sessionStorage.length") == 0


def test_a_note_that_another_tab_overtook_is_still_checked(page) -> None:
    type_note(page, "of this tab")
    other = page.context.new_page()
    other.goto(PAGE)
    type_note(other, "of the other tab")
    other.click("text=Save note and tags")
    other.wait_for_selector("text=Note and tags saved.")
    page.reload()
    assert page.input_value(TEXT) == "of this tab"
    page.click("text=Save note and tags")
    page.wait_for_selector("text=it was changed since you opened this page")
    assert page.input_value(TEXT) == "of this tab"
    assert page.locator(".saved-elsewhere").inner_text().count("of the other tab") == 1
    assert JobNote.objects.get().text == "of the other tab"


def test_signing_out_forgets_it(page) -> None:
    type_note(page, "mine alone")
    assert page.evaluate("sessionStorage.length") == 1
    page.click("text=Sign out")
    page.wait_for_url("**/sign-in/**")
    assert page.evaluate("sessionStorage.length") == 0


def test_saving_the_note_keeps_what_was_typed_in_the_other_forms(page) -> None:
    comment, question, days = "#said-verdict textarea", "#support textarea", "#support select"
    page.evaluate("document.querySelector('#said-verdict details').open = true")
    page.fill(comment, "a comment on the class")
    page.evaluate("document.getElementById('support').open = true")
    page.fill(question, "a question to support")
    page.select_option(days, "30")
    type_note(page, "a note")
    page.click("text=Save note and tags")
    page.wait_for_selector("text=Note and tags saved.")
    assert page.input_value(comment) == "a comment on the class"
    assert (page.input_value(question), page.input_value(days)) == ("a question to support", "30")
    assert page.is_visible(comment)
    assert page.is_visible(question)
    assert page.locator("[data-restored]:visible").count() == 2
    page.click("#support form button")
    page.wait_for_selector("text=You asked: “a question to support”")
    page.click("text=Stop sharing")
    page.wait_for_selector("text=can no longer look")
    assert page.input_value(question) == ""
    page.click("#said-verdict button[value=right]")
    page.wait_for_selector("text=You answered: right")
    page.click("text=Take it back")
    page.wait_for_selector("#said-verdict >> text=Was this right?")
    assert page.input_value(comment) == ""
    assert page.evaluate("sessionStorage.length") == 0


def test_a_conflict_shows_again_after_leaving_it_and_coming_back(page) -> None:
    other = page.context.new_page()
    other.goto(PAGE)
    type_note(page, "from tab one")
    page.click("text=Save note and tags")
    page.wait_for_selector("text=Note and tags saved.")
    type_note(other, "from tab two")
    other.click("text=Save note and tags")
    for _ in range(2):
        other.wait_for_selector("text=it was changed since you opened this page")
        assert JobNote.objects.get().text == "from tab one"
        other.goto("/jobs/")
        other.goto(PAGE)
        assert other.input_value(TEXT) == "from tab two"
        other.click("text=Save note and tags")
    other.wait_for_selector("text=it was changed since you opened this page")
    other.click("#note button")
    other.wait_for_selector("text=Note and tags saved.")
    assert JobNote.objects.get().text == "from tab two"
    other.wait_for_load_state()
    assert "kaiku-draft" not in other.evaluate("JSON.stringify(sessionStorage)")
