"""A person with a real browser: signs in, reads a report with its figures, takes it along, signs out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from education.services.seeding import store_seeds
from jobs.models import User
from reports.services.links import opt_out_address
from tests.portal.conftest import PASSWORD, an_hour_ago_today, carry_session, overflow_px

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

IS_SHOWN = "images => images.length > 0 && images.every(image => image.complete && image.naturalWidth > 0)"


@pytest.mark.parametrize("width", [1280, 375])
def test_from_sign_in_to_the_report_and_out_again(browser, live_server, reported, width: int, tmp_path: Path) -> None:
    reported(123456, job_name="<img src=x onerror=alert(1)>")
    page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))

    page.goto(live_server.url)
    page.fill("#id_username", "alice")
    page.fill("#id_password", PASSWORD)
    page.click("text=Sign in >> nth=-1")
    page.wait_for_selector("h1:text-is('Dashboard')")
    assert overflow_px(page) == 0

    page.locator("a[href^='/jobs/lumi/123456/']").first.click()
    page.wait_for_load_state("networkidle")
    assert page.text_content(".class-name") == "Inefficient"
    assert page.text_content(".request-diff .line >> nth=1").strip() == "+ #SBATCH --gpus-per-node=2"
    page.click("#every-node > summary")
    page.click("#memory > summary")
    page.wait_for_load_state("networkidle")
    assert page.eval_on_selector_all(".figure img", IS_SHOWN)
    assert page.locator(".figure img").count() == 3
    assert overflow_px(page) == 0

    with page.expect_download() as waiting:
        page.click("text=PDF")
    waiting.value.save_as(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")

    page.click("text=Sign out")
    page.wait_for_selector("h1:text-is('Sign in')")
    assert said == []
    page.close()


def open_editor(page, live_server) -> None:
    """Store the lessons and sign in as staff, on the way to one lesson's editor."""
    store_seeds()
    page.goto(f"{live_server.url}/sign-in/?next=/lessons/overscaling/en/")
    page.fill("#id_username", "erin")
    page.fill("#id_password", PASSWORD)
    page.click("main button")


@pytest.mark.parametrize("width", [1280, 390])
def test_staff_edit_a_lesson_with_a_live_preview(browser, live_server, cast, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    open_editor(page, live_server)
    page.wait_for_load_state("load")
    page.fill("#id_explanation", "Now with **strong** words <script>alert(1)</script>")
    page.wait_for_selector("#lesson-preview strong")
    assert "<script>alert(1)</script>" in page.text_content("#lesson-preview")
    page.click("#lesson-form button:not([name])")
    page.wait_for_selector(".notice:has-text('Saved')")
    for path in ("/lessons/overscaling/en/", "/lessons/overscaling/en/history/", "/lessons/", "/learn/?q=gpu"):
        page.goto(live_server.url + path)
        assert overflow_px(page) == 0
    page.goto(f"{live_server.url}/learn/overscaling/")
    assert page.text_content(".prose strong") == "strong"
    assert said == []
    page.close()


def test_without_scripts_the_preview_button_does_the_same(browser, live_server, cast) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    open_editor(page, live_server)
    page.fill("#id_explanation", "Now with **strong** words")
    page.click("button[name=preview]")
    assert page.inner_text("#lesson-preview strong") == "strong"
    assert page.input_value("#id_explanation") == "Now with **strong** words"
    page.close()


def test_the_downloaded_html_stands_by_itself(browser, live_server, reported, cast, tmp_path: Path) -> None:
    reported()
    file = tmp_path / "report.html"
    file.write_bytes(cast("alice").get("/api/v1/jobs/lumi/123456/report.html").content)
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    assert page.locator("figure svg").count() == 3
    assert page.get_by_text("least to most used").bounding_box()["width"] > 50
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_mail_choices_are_saved_and_ended_without_javascript(browser, live_server, cast, settings, width: int) -> None:
    settings.SITE_URL = live_server.url
    alice = User.objects.get(username="alice")
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"{live_server.url}/settings/")
    page.fill("#id_username", "alice")
    page.fill("#id_password", PASSWORD)
    page.click("text=Sign in >> nth=-1")
    page.check("text=At most once a week")
    page.select_option("#id_minimum_class", "WASTED")
    page.click("button:has-text('Save')")
    page.wait_for_selector("[role=status]:has-text('Saved. Your choices apply from now on.')")
    assert page.is_checked("input[value=weekly]")

    page.goto(opt_out_address(alice))
    page.click("button:has-text('Stop all mail')")
    page.wait_for_selector("h1:text-is('No more mail')")
    page.goto(f"{live_server.url}/settings/")
    assert page.is_checked("input[value=off]")
    context.close()


@pytest.fixture
def figures(browser, live_server, reported, cast) -> Iterator[object]:
    """alice's report in a browser that can be touched."""
    reported()
    context = browser.new_context(base_url=live_server.url, has_touch=True, viewport={"width": 390, "height": 900})
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    page.goto("/jobs/lumi/123456/")
    for fold in ("#every-node", "#memory"):
        page.click(f"{fold} > summary")
    page.wait_for_load_state("networkidle")
    yield page
    context.close()


def test_a_figure_is_read_with_the_mouse_a_finger_and_the_arrow_keys(figures) -> None:
    plots, said = figures.locator("[data-plot]"), figures.locator(".reading")
    assert plots.count() == 3
    plots.nth(0).hover()
    # The axes begin after 0.61 of 4.2 inch and are 3.39 wide: the middle, 2.1, is minute 52 of 120.
    assert said.nth(0).inner_text() == "0:52:00: 22.0 %, single GPUs 0.0 to 88.0 %"
    plots.nth(2).tap()
    assert re.fullmatch(r"GPU [34]: peak 14.2 GB, capacity 64.0 GB", said.nth(2).inner_text())
    plots.nth(1).focus()
    figures.keyboard.press("Home")
    for _ in range(9):
        figures.keyboard.press("ArrowUp")
    assert said.nth(1).inner_text() == "GPU 0, 0:00:00: 88.0 %"
    for key in ("ArrowDown", "ArrowDown", "End"):
        figures.keyboard.press(key)
    assert said.nth(1).inner_text() == "GPU 2, 1:59:00: 0.0 %"
    assert said.nth(1).get_attribute("aria-live") == "polite"


def test_a_mark_lies_where_the_picture_draws_what_is_read(figures) -> None:
    plot = figures.locator("[data-plot]").nth(1)
    plot.focus()
    figures.keyboard.press("Home")
    picture, mark = plot.bounding_box(), plot.locator(".mark").bounding_box()
    # The first of 120 columns begins where the axes do: "GPU 7" and two spaces of 0.074 inch each on 4.2 inch.
    assert mark["x"] - picture["x"] == pytest.approx(picture["width"] * 7 * 0.074 / 4.2, abs=1)
    figures.keyboard.press("End")
    picture, mark = plot.bounding_box(), plot.locator(".mark").bounding_box()
    # The scale beside it takes 0.86 inch.
    assert mark["x"] + mark["width"] - picture["x"] == pytest.approx(picture["width"] * (1 - 0.86 / 4.2), abs=1)


def test_a_chart_of_the_history_is_read_step_by_step_and_without_scripts_by_its_titles(
    figures, browser, reported
) -> None:
    ended = an_hour_ago_today()
    reported(2, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())
    figures.goto("/history/?days=365")
    figures.wait_for_load_state("networkidle")
    plot = figures.locator("[data-plot]").first
    plot.focus()
    figures.keyboard.press("End")
    assert re.fullmatch(r"week of .* GPU-hours .*", figures.locator(".reading").first.inner_text())
    assert figures.locator(".column > title").count() == 0
    plain = browser.new_context(
        java_script_enabled=False, base_url=figures.url, storage_state=figures.context.storage_state()
    )
    page = plain.new_page()
    page.goto("/history/?days=365")
    assert page.locator(".column > title").count() > 52
    plain.close()


def test_a_figure_that_came_into_the_page_later_is_read_too(figures) -> None:
    figures.evaluate("""() => {
      const first = document.querySelector("[data-readings]"), later = first.cloneNode(true);
      delete later.dataset.bound;
      for (const made of later.querySelectorAll(".mark, .reading")) made.remove();
      first.before(later);
      later.dispatchEvent(new CustomEvent("htmx:load", {bubbles: true}));
    }""")
    figures.locator("[data-plot]").first.focus()
    figures.keyboard.press("Home")
    assert figures.locator(".reading").count() == 4
    assert figures.locator(".reading").first.inner_text() == "0:00:00: 22.0 %, single GPUs 0.0 to 88.0 %"
