"""Pages that say what went wrong: in the portal's style, and without anything that may itself be broken."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from portal.rate_limits import too_often
from portal.urls import urlpatterns as portal_patterns

RAISED = {"400": BadRequest("x"), "403": PermissionDenied("x"), "404": Http404("x"), "500": RuntimeError("a secret")}
RAISED["503"] = OperationalError("a secret host")
HEADINGS = {
    "400": "Bad request",
    "403": "Not allowed",
    "404": "Not found",
    "429": "Too many requests",
    "500": "Server error",
    "503": "Temporarily unavailable",
}


def broken(request: HttpRequest, status: str) -> HttpResponse:
    if status == "429":
        return too_often(request, 1)
    raise RAISED[status]


urlpatterns = [path("broken/<str:status>/", broken), *portal_patterns]


@pytest.fixture
def client(settings) -> Client:
    settings.ROOT_URLCONF = __name__
    return Client(raise_request_exception=False)


def assert_in_style(answer: HttpResponse, heading: str) -> None:
    page = re.sub(r"\s*(</?h1>)\s*", r"\1", answer.content.decode())
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert f"<h1>{heading}</h1>" in page
    assert re.search(r"/static/css/tokens\.[0-9a-f]{12}\.css", page)
    assert "secret" not in page


@pytest.mark.parametrize("status", HEADINGS)
def test_each_error_has_its_page_and_needs_no_database(client: Client, status: str) -> None:
    """No database at all is open to this test: whoever asks it, fails."""
    answer = client.get(f"/broken/{status}/")
    assert answer.status_code == int(status)
    assert_in_style(answer, HEADINGS[status])
    assert answer.headers.get("Retry-After") == {"429": "1", "503": "30"}.get(status)


@pytest.mark.parametrize("status", HEADINGS)
def test_it_needs_no_context_processor_either(client: Client, settings, status: str) -> None:
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"OPTIONS": {"context_processors": []}}]
    assert_in_style(client.get(f"/broken/{status}/"), HEADINGS[status])


@pytest.mark.django_db
@pytest.mark.parametrize("status", HEADINGS)
def test_whoever_is_signed_in_gets_it_too_while_the_database_is_away(cast, settings, status: str) -> None:
    alice = cast("alice")
    settings.ROOT_URLCONF = __name__
    alice.raise_request_exception = False

    def refuse(*_: object) -> None:
        raise OperationalError("a secret host")

    with connection.execute_wrapper(refuse):
        assert_in_style(alice.get(f"/broken/{status}/"), HEADINGS[status])
        assert_in_style(alice.get("/jobs/"), HEADINGS["503"])


def test_a_host_that_is_not_ours_is_refused_in_style(client: Client) -> None:
    answer = client.get("/about/", SERVER_NAME="evil.example")
    assert answer.status_code == 400
    assert_in_style(answer, HEADINGS["400"])


def test_a_form_without_its_token_is_told_to_be_sent_again(settings) -> None:
    answer = Client(enforce_csrf_checks=True).post("/sign-out/")
    assert answer.status_code == 403
    assert_in_style(answer, "The form has expired")
