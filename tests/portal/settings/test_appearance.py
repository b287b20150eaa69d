"""Settings: light or dark, on every device of a person or as each device says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from jobs.models import User
from portal.middleware.reader_preferences import zone_names
from portal.pages.settings.forms import zone_choices
from tests.portal.conftest import carry_session

PAGE = "/settings/appearance/"
TOKENS = Path(__file__).resolve().parents[3] / "static/css/tokens.css"


@pytest.mark.django_db
def test_a_chosen_theme_is_on_every_page_and_each_device_decides_without_one(cast) -> None:
    client = cast("alice")
    assert b"data-theme" not in client.get("/").content
    answer = client.post(PAGE, {"theme": "dark", "time_zone": ""}, follow=True)
    assert b"Saved." in answer.content
    for path in ("/", PAGE, "/about/", "/nothing/"):
        assert b'<html lang="en" data-theme="dark">' in client.get(path).content
    assert b"data-theme" not in cast("bob").get("/").content
    client.post(PAGE, {"theme": "", "time_zone": ""})
    assert b"data-theme" not in client.get("/").content


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [{"theme": "pink"}, {"theme": '"><script>'}, {"time_zone": "Mars/Olympus"}])
def test_an_answer_that_was_not_offered_changes_nothing(cast, wrong: dict[str, str]) -> None:
    answer = cast("alice").post(PAGE, {"theme": "dark", "time_zone": "UTC"} | wrong)
    assert b"nothing was saved" in answer.content
    assert list(User.objects.filter(username="alice").values_list("theme", "time_zone")) == [("", "")]


@pytest.mark.django_db
def test_anonymous_people_are_sent_to_sign_in() -> None:
    assert Client().get(PAGE)["Location"] == f"/sign-in/?next={PAGE}"


def test_every_offered_zone_is_one_that_pages_take() -> None:
    offered = [name for _, zones in zone_choices()[2:] for name, _ in zones]
    assert {"Europe/Helsinki", "America/Argentina/Buenos_Aires"} <= set(offered) <= zone_names()


def test_dark_is_the_same_whether_the_device_or_the_reader_says_so() -> None:
    device, chosen = re.findall(r"@media screen[^{]*\{\s*:root[^{]*\{([^}]*)\}", TOKENS.read_text())
    assert device.split() == chosen.split()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_browser_tells_its_zone_and_shows_the_chosen_colours(browser, live_server, cast, reported) -> None:
    reported()
    context = browser.new_context(base_url=live_server.url, timezone_id="Asia/Tokyo", color_scheme="light")
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    page.goto("/jobs/")
    page.goto("/jobs/")
    assert page.inner_text("tbody time").replace("\xa0", " ") == "2026-11-20 21:00"
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.goto(PAGE)
    page.check("text=Dark")
    page.select_option("#id_time_zone", "Europe/Helsinki")
    page.click("main button")
    page.wait_for_selector("[role=status]:has-text('Saved.')")
    assert page.evaluate(paper) == "rgb(17, 26, 32)" != light
    page.goto("/jobs/")
    assert page.inner_text("tbody time") == "2026-11-20 14:00"
    context.close()
