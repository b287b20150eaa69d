"""Error pages of a job's forms lead back to the job; no error page leads to another site."""

from __future__ import annotations

import pytest
from django.test import Client

from portal import rate_limits

PAGE = "/jobs/lumi/123456/"


@pytest.fixture
def never_again(settings) -> None:
    setattr(settings, rate_limits.CHANGES, 0)


@pytest.mark.parametrize("form", ["note/", "share/"])
@pytest.mark.parametrize("query", ["", "?attempt=0"])
def test_too_many_requests_leads_back_to_the_job(cast, reported, never_again, form: str, query: str) -> None:
    reported()
    answer = cast("alice").post(f"{PAGE}{form}{query}", {"text": "x", "tags": ""})
    assert answer.status_code == 429
    assert f'<a href="{PAGE}{query}">Back to job 123456</a>' in answer.content.decode()


def test_a_form_of_another_session_leads_back_to_the_job(cast, reported) -> None:
    reported()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = cast("alice").cookies
    answer = strict.post(f"{PAGE}note/?attempt=<b>", {"text": "x", "tags": ""})
    assert answer.status_code == 403
    assert f'<a href="{PAGE}">Back to job 123456</a>' in answer.content.decode()


@pytest.mark.parametrize(
    ("referer", "link"),
    [
        ("http://testserver/jobs/lumi/123456/?attempt=0", "/jobs/lumi/123456/?attempt=0"),
        ("https://evil.example/jobs/", None),
        ("http://testserver.evil.example/", None),
        ("http://testserver//evil.example/", None),
        ("javascript:alert(1)", None),
        ("http://testserver/broken/403/", None),
        ("", None),
    ],
)
def test_elsewhere_only_a_page_of_this_site_is_linked(settings, referer: str, link: str | None) -> None:
    settings.ROOT_URLCONF = "tests.portal.middleware.test_errors"
    answer = Client().get("/broken/403/", headers={"referer": referer})
    page = answer.content.decode()
    assert answer.status_code == 403
    assert ("Back to the page before" in page) == bool(link)
    assert "evil" not in page
    assert "alert(1)" not in page
    if link:
        assert f'<a href="{link}">' in page
