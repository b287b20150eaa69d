"""What a stranger can cost by the pages of sign-in: no row, no call, nobody else's session, and no thread for long."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from portal.sign_in.kept_answers import KeptAnswers, ProviderFault
from portal.sign_in.oidc_sign_in import free_to_ask
from portal.sign_in.pending import COOKIE
from tests.portal.provider import FakeProvider, forget_answers, signed_in, started
from tests.portal.sign_in.test_sign_in_provider import WELL_KNOWN, configured
from tests.processes import PATIENCE_S


def test_starts_are_not_counted_and_store_nothing(idp: FakeProvider, django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        answers = {Client().get("/sign-in/start/").status_code for _ in range(200)}
    assert answers == {302}
    assert idp.calls == {WELL_KNOWN: 1}
    assert signed_in(idp, Client())["Location"] == "/"


def test_one_browser_may_begin_often_and_finishes_its_last_sign_ins(idp: FakeProvider) -> None:
    client = Client()
    states = [started(idp, client, f"?next=/learn/%3Fq%3D{'ä' * 400}") for _ in range(20)]
    assert len(client.cookies[COOKIE].value) < 4000
    last = started(idp, client, "?next=/learn/")
    assert client.get("/sign-in/callback/", {"code": "c", "state": states[0]}).status_code == 400
    assert client.get("/sign-in/callback/", {"code": "c", "state": last})["Location"] == "/learn/"


def test_the_cookie_of_a_sign_in_is_closed_to_scripts_and_to_other_pages(idp: FakeProvider, settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    cookie = Client().get("/sign-in/start/").cookies[COOKIE]
    assert (cookie["path"], cookie["httponly"], cookie["secure"]) == ("/sign-in/", True, True)
    assert (cookie["samesite"], cookie["max-age"]) == ("Lax", 3600)


def test_a_cookie_that_somebody_made_begins_nothing(idp: FakeProvider, settings) -> None:
    made = Client()
    state = started(idp, made)
    for value in (made.cookies[COOKIE].value[:-1] + "_", "ä", "x" * 5000, "e30:x:y"):
        client = Client()
        client.cookies[COOKIE] = value
        assert client.get("/sign-in/callback/", {"code": "c", "state": state}).status_code == 400
    settings.SECRET_KEY = "another"
    assert made.get("/sign-in/callback/", {"code": "c", "state": state}).status_code == 400


@pytest.mark.parametrize(
    "query",
    ["", "?code=c&state=s", "?error=access_denied&state=s", "?error=access_denied", "?code=c", "?state=", "?iss=x"],
)
def test_a_return_without_a_known_state_changes_no_session(idp: FakeProvider, query: str) -> None:
    client = Client()
    signed_in(idp, client)
    before = list(Session.objects.values())
    idp.calls.clear()
    assert client.get(f"/sign-in/callback/{query}").status_code == 400
    assert Client().get(f"/sign-in/callback/{query}").status_code == 400
    assert (list(Session.objects.values()), idp.calls) == (before, {})
    assert client.get("/jobs/").status_code == 200


def test_a_sign_in_that_was_cancelled_or_failed_leaves_who_was_in(idp: FakeProvider) -> None:
    client = Client()
    signed_in(idp, client)
    state = started(idp, client)
    assert client.get("/sign-in/callback/", {"error": "access_denied", "state": state}).status_code == 400
    assert client.get("/sign-in/callback/", {"code": "c", "state": state}).status_code == 400, "it is over"
    before = list(Session.objects.values())
    idp.claims = {"aud": "other"}
    assert signed_in(idp, client).status_code == 403
    idp.spoilt["/userinfo"] = (500, b"", "text/plain")
    idp.claims = {}
    assert signed_in(idp, client).status_code == 502
    assert list(Session.objects.values()) == before
    assert client.get("/jobs/").status_code == 200


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A good answer but for its pace: one byte in a tenth of a second, three hundred of blanks first."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        if handler.server.released.wait(0.1):
            return
    handler.wfile.write(b"{}")


def burst(handler: BaseHTTPRequestHandler) -> None:
    """Some kilobytes that unpack to eight megabytes of JSON."""
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(gzip.compress(b'{"access_token": "' + b"x" * 2**23 + b'"}'))


@pytest.mark.parametrize("path", [WELL_KNOWN, "/token", "/jwks", "/userinfo"])
@pytest.mark.parametrize(
    ("how", "timeout_s", "why"),
    [(drip, 0.5, "no answer within 0.5 s"), (burst, PATIENCE_S, "more than 1048576 bytes")],
)
def test_no_call_of_the_provider_takes_long_or_much(
    idp: FakeProvider, settings, caplog, path: str, how, timeout_s: float, why: str
) -> None:
    configured(settings, timeout_s=timeout_s)
    client = Client()
    state = "" if path == WELL_KNOWN else started(idp, client)
    idp.raw[path] = how
    url = f"/sign-in/callback/?code=c&state={state}" if state else "/sign-in/start/"
    assert client.get(url).status_code == 502
    assert why in caplog.text


def test_a_slow_provider_leaves_threads_to_other_pages_and_loses_no_sign_in(idp: FakeProvider) -> None:
    client = Client()
    state = started(idp, client)
    taken = 0
    while free_to_ask.acquire(blocking=False):
        taken += 1
    try:
        busy = client.get("/sign-in/callback/", {"code": "c", "state": state})
    finally:
        free_to_ask.release(taken)
    assert (taken, busy.status_code, busy["Retry-After"], busy["Refresh"]) == (6, 503, "3", "3")
    assert idp.calls["/token"] == 0
    assert client.get("/sign-in/callback/", {"code": "c", "state": state})["Location"] == "/"


def test_a_provider_that_is_away_is_not_asked_by_each_start(idp: FakeProvider) -> None:
    idp.spoilt[WELL_KNOWN] = (500, b"", "text/plain")
    assert {Client().get("/sign-in/start/").status_code for _ in range(20)} == {502}
    assert idp.calls[WELL_KNOWN] == 1
    idp.spoilt.clear()
    forget_answers()
    assert Client().get("/sign-in/start/").status_code == 302


def fault() -> dict[str, object]:
    raise ProviderFault("away")


def test_an_older_answer_serves_on_while_nobody_answers() -> None:
    kept = KeptAnswers(kept_s=0.0, pause_s=0.0)
    assert kept.get("a", lambda: {"n": 1}) == {"n": 1}
    assert kept.get("a", fault) == {"n": 1}
    assert kept.get("a", lambda: {"n": 2}) == {"n": 2}
    with pytest.raises(ProviderFault, match="away"):
        kept.get("b", fault)


def test_one_thread_asks_and_the_others_take_what_is_known() -> None:
    kept = KeptAnswers(kept_s=0.0, pause_s=0.0)
    kept.get("a", lambda: {"n": 1})
    asking, go_on = threading.Event(), threading.Event()

    def slow() -> dict[str, object]:
        asking.set()
        assert go_on.wait(PATIENCE_S)
        return {"n": 2}

    one = threading.Thread(target=kept.get, args=("a", slow), daemon=True)
    one.start()
    assert asking.wait(PATIENCE_S)
    assert kept.get("a", fault) == {"n": 1}, "it is not asked a second time meanwhile"
    go_on.set()
    one.join()
    assert kept.known["a"].document == {"n": 2}
