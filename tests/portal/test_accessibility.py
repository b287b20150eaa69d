"""Every page as axe sees it, light on a desktop and dark on a phone, and nothing wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.portal.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAGES = ["/api/docs/", "/jobs/", "/jobs/lumi/123456/", "/jobs/lumi/999/"]


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["desktop-light", "phone-dark"])
def page(request: pytest.FixtureRequest, browser, live_server) -> Iterator[object]:
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, base_url=live_server.url, reduced_motion="reduce"
    )
    yield context.new_page()
    context.close()


def assert_sound(page, path: str) -> None:
    page.goto(path)
    found = Axe().run(page)
    assert found.violations_count == 0, f"{path}: {found.generate_report()}"
    assert page.evaluate(OVERFLOW) == 0, path


def test_no_page_has_a_barrier(page, reported) -> None:
    reported()
    assert_sound(page, "/sign-in/")
    page.fill("#id_username", "erin")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/")
    for path in PAGES:
        assert_sound(page, path)
