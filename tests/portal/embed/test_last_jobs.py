"""The card of latest jobs in another portal's frame: who may frame it, what it shows, and that it changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from jobs.models import Job, Token, User
from jobs.tokens.models import PERSONAL
from jobs.tokens.services import issue_token
from portal.environment import origins

CARD = "/embed/last-jobs"
ALLOWED, OTHER = "http://127.0.0.1:8099", "http://other.example"


@pytest.fixture
def framed(settings) -> None:
    settings.EMBED_FRAME_ANCESTORS = [ALLOWED]
    settings.SITE_URL = "https://kaiku.example"


def test_without_the_setting_there_is_no_card(cast, recent) -> None:
    assert cast("alice").get(CARD).status_code == 404
    assert Client().get(CARD).status_code == 404


def test_the_card_alone_may_be_framed_and_by_these_origins_alone(cast, recent, framed) -> None:
    alice = cast("alice")
    card = alice.get(CARD)
    assert f"frame-ancestors {ALLOWED}" in card["Content-Security-Policy"].split("; ")
    assert "X-Frame-Options" not in card
    for path in ("/", "/jobs/", "/settings/", "/sign-in/", f"{CARD}.json", "/embed/"):
        answer = alice.get(path)
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"], path
        assert answer["X-Frame-Options"] == "DENY", path
    assert alice.post(CARD).status_code == 405


def test_nothing_in_the_card_changes_anything_and_each_link_leaves_the_frame(cast, recent, framed) -> None:
    for client in (cast("alice"), Client()):
        card = client.get(CARD)
        page = card.content.decode()
        assert not any(tag in page for tag in ("<form", "<button", "<script", "<input"))
        assert "script-src 'none'" in card["Content-Security-Policy"]
        assert "form-action 'none'" in card["Content-Security-Policy"]
        links = [part.split(">")[0] for part in page.split("<a ")[1:]]
        assert all('target="_blank"' in link for link in links if f'href="{CARD}"' not in link)
        assert "no-store" in card["Cache-Control"]


def test_the_card_shows_own_jobs_with_use_class_and_first_finding(cast, recent, framed) -> None:
    Job.objects.filter(job_id=2).update(job_name="<script>alert(1)</script>")
    page = " ".join(cast("alice").get(CARD).content.decode().split())
    # Two of eight GPUs at 88 %.
    assert "GPU use 22.0 %" in page
    assert "Inefficient</span>" in page
    assert 'href="https://kaiku.example/jobs/lumi/1/?attempt=0"' in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert page.count("<li>") == 2
    assert cast("alice").get(f"{CARD}?n=1").content.decode().count("<li>") == 1
    for asked in ("0", "-1", "x", "99999", "²"):
        assert cast("alice").get(CARD, {"n": asked}).status_code == 200, asked
    carol = cast("carol").get(CARD).content.decode()
    assert "None of your jobs has ended yet" in carol, "the jobs of a PI's members are not their own"


def test_who_is_not_signed_in_gets_the_way_to_do_it_in_a_window_of_its_own(framed, db) -> None:
    page = Client().get(CARD).content.decode()
    assert '<a class="button" href="https://kaiku.example/sign-in/" target="_blank" rel="noopener">Sign in</a>' in page
    assert "password" not in page


def test_too_many_requests_are_answered_within_the_card(cast, framed, settings) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    alice = cast("alice")
    assert alice.get(CARD).status_code == 200
    card = alice.get(CARD)
    assert card.status_code == 429
    assert "Too many requests" in card.content.decode()
    assert "<form" not in card.content.decode()


@pytest.mark.one_database
def test_the_card_costs_as_many_queries_for_one_job_as_for_three(
    cast, reported, framed, django_assert_max_num_queries
) -> None:
    reported(1)
    alice = cast("alice")
    with django_assert_max_num_queries(8) as one:
        alice.get(CARD)
    reported(2, 3)
    with django_assert_max_num_queries(len(one)):
        alice.get(CARD)


def test_programs_get_the_same_jobs_with_a_session_or_a_reading_token_and_no_site_reads_them(cast, recent) -> None:
    found = cast("alice").get(f"{CARD}.json?n=1", headers={"Origin": OTHER})
    (job,) = found.json()["jobs"]
    assert (found.json()["schema"], job["job_id"], job["efficiency_class"]) == ("last-jobs/1", 2, "INEFFICIENT")
    assert job["avg_gpu_util"] == pytest.approx(22.0)
    assert "Access-Control-Allow-Origin" not in found
    alice = User.objects.get(username="alice")
    tokens = {kind: issue_token(alice, name=kind, days=1, now=timezone.now(), kind=kind) for kind in PERSONAL}
    for kind, secret in tokens.items():
        answer = Client().get(f"{CARD}.json", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == (200 if kind == Token.Kind.READ else 403), kind
    assert Client().get(f"{CARD}.json").status_code == 401
    for wrong in ("0", "%00"):
        refused = cast("alice").get(f"{CARD}.json?n={wrong}")
        assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json"), wrong


@pytest.mark.parametrize(
    "wrong", ["*", "https://*.example", "example.org", "https://a.example/", "https://a.example 'self'", "null"]
)
def test_only_whole_origins_may_be_configured(monkeypatch, wrong: str) -> None:
    monkeypatch.setenv("EMBED_FRAME_ANCESTORS", f"https://a.example:8443,{wrong}")
    with pytest.raises(ImproperlyConfigured, match="must be origins such as"):
        origins("EMBED_FRAME_ANCESTORS")


def test_origins_are_separated_by_commas(monkeypatch) -> None:
    monkeypatch.setenv("EMBED_FRAME_ANCESTORS", "https://a.example:8443, http://127.0.0.1:8099")
    assert origins("EMBED_FRAME_ANCESTORS") == ["https://a.example:8443", "http://127.0.0.1:8099"]
    monkeypatch.delenv("EMBED_FRAME_ANCESTORS")
    assert os.environ.get("EMBED_FRAME_ANCESTORS") is None
    assert origins("EMBED_FRAME_ANCESTORS") == []


class Host(BaseHTTPRequestHandler):
    """Another portal of the site: a page with the card in a frame."""

    card = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<!DOCTYPE html><title>Host</title><iframe src="{self.card}"></iframe>'.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def host() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.one_database
def test_a_browser_shows_the_card_in_the_frame_of_an_allowed_origin_alone(
    browser, live_server, cast, recent, settings, host, monkeypatch
) -> None:
    """One server under two names: 127.0.0.1, on another port of which the portal is, and localhost, another site."""
    card = f"{live_server.url}{CARD}".replace("localhost", "127.0.0.1")
    monkeypatch.setattr(Host, "card", card)
    allowed, other = (f"http://{name}:{host.server_port}" for name in ("127.0.0.1", "localhost"))
    settings.EMBED_FRAME_ANCESTORS, settings.ALLOWED_HOSTS = [allowed], ["127.0.0.1"]
    context = browser.new_context()
    session = cast("alice").cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": card, "sameSite": "Lax"}])
    texts = {}
    for origin in (allowed, other):
        page = context.new_page()
        page.goto(f"{origin}/")
        page.wait_for_load_state("networkidle")
        texts[origin] = page.frames[1].evaluate("document.body ? document.body.innerText : ''")
    context.close()
    assert "GPU use 22.0" in texts[allowed]
    assert texts[allowed].index("All jobs") < texts[allowed].index("GPU use"), "seen without scrolling"
    assert "GPU use" not in texts[other]
    assert "refused" in texts[other] or texts[other] == ""
