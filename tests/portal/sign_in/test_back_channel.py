"""The provider signs people out here: only what it signed for this portal, once, and for those that it names."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest
from django.contrib.sessions.models import Session
from django.db import connection, connections
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import ProviderSession, SpentLogoutToken, User
from tests.portal.provider import (
    KEYS,
    LOGOUT_EVENT,
    SECRET,
    STRANGERS_KEY,
    FakeProvider,
    public_keys,
    sign,
    signed_in,
)

ADDRESS = "/sign-in/back-channel/"


def told(token: object) -> HttpResponse:
    """What a provider gets that sends this; it knows no form and no session of ours."""
    answer = Client(enforce_csrf_checks=True).post(ADDRESS, {"logout_token": token})
    assert answer["Cache-Control"] == "no-store"
    return answer


def is_in(client: Client) -> bool:
    return client.get("/jobs/").status_code == 200


def browser(idp: FakeProvider, sid: str | None) -> Client:
    """A browser that is signed in, with this session at the provider."""
    idp.claims = {"sid": sid}
    client = Client()
    assert signed_in(idp, client)["Location"] == "/"
    return client


def test_a_token_with_the_person_alone_ends_every_session(idp: FakeProvider) -> None:
    User.objects.create_user("bob", oidc_subject="bob@myaccessid.org")
    browsers = [browser(idp, sid) for sid in ("one", "two", None)]
    idp.subject = "bob@myaccessid.org"
    bob = browser(idp, "three")
    assert told(idp.logout_token(sub="abc@myaccessid.org")).status_code == 200
    assert [is_in(client) for client in (*browsers, bob)] == [False, False, False, True]
    assert ProviderSession.objects.count() == 1


@pytest.mark.parametrize("with_subject", [True, False])
def test_a_token_with_a_session_ends_that_one_alone(idp: FakeProvider, with_subject: bool) -> None:
    one, two = browser(idp, "one"), browser(idp, "two")
    named = {} if with_subject else {"sub": None}
    assert told(idp.logout_token(sid="one", **named)).status_code == 200
    assert [is_in(client) for client in (one, two)] == [False, True]
    assert told(idp.logout_token(sid="one", **named)).status_code == 200, "it is over already"
    assert told(idp.logout_token(sid="another", **named)).status_code == 200
    assert is_in(two)


def test_a_session_and_a_person_that_do_not_belong_together_end_nothing(idp: FakeProvider) -> None:
    User.objects.create_user("bob", oidc_subject="bob@myaccessid.org")
    one = browser(idp, "one")
    assert told(idp.logout_token(sid="one", sub="bob@myaccessid.org")).status_code == 200
    assert is_in(one)


def test_sessions_that_began_without_one_of_the_provider_end_with_the_person(idp: FakeProvider) -> None:
    one = browser(idp, None)
    assert told(idp.logout_token(sid="one")).status_code == 200
    assert not is_in(one)


def test_the_session_of_the_last_sign_in_counts_and_is_kept_as_a_digest(idp: FakeProvider) -> None:
    client = browser(idp, "one")
    idp.claims = {"sid": "two"}
    signed_in(idp, client)
    assert ProviderSession.objects.count() == 1
    assert "two" not in str(ProviderSession.objects.values().get())
    told(idp.logout_token(sid="one"))
    assert is_in(client)
    told(idp.logout_token(sid="two"))
    assert not is_in(client)


def test_a_session_may_have_any_name(idp: FakeProvider) -> None:
    one = browser(idp, "\ud800")
    assert told(idp.logout_token(sid="\ud800", jti="\udfff", sub=None)).status_code == 200
    assert not is_in(one)


def test_sessions_that_are_over_are_forgotten(idp: FakeProvider, settings) -> None:
    browser(idp, "one")
    settings.SESSION_COOKIE_AGE = 0
    browser(idp, "two")
    assert ProviderSession.objects.count() == 1


def test_nobody_and_who_was_never_here_are_signed_out_already(idp: FakeProvider) -> None:
    assert told(idp.logout_token(sub="new@myaccessid.org")).status_code == 200
    assert told(idp.logout_token(sub=None, sid="unknown")).status_code == 200


def test_identifiers_are_compared_as_at_the_sign_in(idp: FakeProvider, settings) -> None:
    one = browser(idp, None)
    told(idp.logout_token(sub="ABC@myaccessid.org"))
    assert is_in(one)
    settings.OIDC_SUBJECT_CASE = "lower"
    told(idp.logout_token(sub="ABC@myaccessid.org"))
    assert not is_in(one)


def test_a_closed_account_is_signed_out_too(idp: FakeProvider) -> None:
    before = User.objects.get().session_epoch
    User.objects.update(is_active=False)
    assert told(idp.logout_token()).status_code == 200
    assert User.objects.get().session_epoch == before + 1


NOW = int(time.time())
REFUSED = {
    "another issuer": {"iss": "https://other.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "other"},
    "other audiences": {"aud": ["other", "more"]},
    "no audience": {"aud": None},
    "expired": {"exp": NOW - 100},
    "never expiring": {"exp": None},
    "of no time": {"iat": None},
    "of a time in words": {"iat": "soon"},
    "of a time without end": {"iat": float("inf")},
    "made long ago": {"iat": NOW - 3600, "exp": NOW + 3600},
    "made tomorrow": {"iat": NOW + 86400, "exp": NOW + 90000},
    "no events": {"events": None},
    "another event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "an event that is none": {"events": {LOGOUT_EVENT: None}},
    "events in a list": {"events": [LOGOUT_EVENT]},
    "a nonce": {"nonce": "n"},
    "an empty nonce": {"nonce": ""},
    "no name": {"jti": None},
    "an empty name": {"jti": ""},
    "a number for a name": {"jti": 7},
    "an endless name": {"jti": "x" * 2000},
    "nobody": {"sub": None},
    "a number for a person": {"sub": 7},
    "a blank in the identifier": {"sub": "abc@myaccessid.org "},
    "a number for a session": {"sid": 7},
    "an empty session": {"sid": ""},
}


@pytest.mark.parametrize("claims", REFUSED.values(), ids=REFUSED)
def test_a_token_that_is_not_what_it_should_be_ends_nothing(idp: FakeProvider, claims: dict[str, object]) -> None:
    one = browser(idp, "one")
    assert json.loads(told(idp.logout_token(**claims)).content)["error"] == "invalid_request"
    assert is_in(one)
    assert not SpentLogoutToken.objects.exists()


def forged(idp: FakeProvider) -> dict[str, object]:
    claims = jwt.decode(idp.logout_token(), options={"verify_signature": False})
    return {
        "unsigned": jwt.encode(claims, None, algorithm="none", headers={"kid": "RS256"}),
        "signed by a stranger": sign(claims, key=STRANGERS_KEY),
        "signed with the client's secret": jwt.encode(claims, SECRET * 3, algorithm="HS256"),
        "signed with the public key as a secret": jwt.encode(
            claims, public_keys()[0]["n"], algorithm="HS256", headers={"kid": "RS256"}
        ),
        "signed in another way": jwt.encode(claims, KEYS["RS256"], algorithm="PS256", headers={"kid": "RS256"}),
        "of another kind": sign(claims, typ="at+jwt"),
        "broken": sign(claims)[:-4] + "AAAA",
        "garbage": "garbage",
        "garbage with dots": "a.b.c",
        "not ASCII": "ä.ö.ü",
        "nothing": "",
        "too long": sign(claims | {"more": "x" * 20_000}),
        "deep": f"{sign(claims).split('.')[0]}.{'W1tb' * 4000}.x",
    }


def test_a_token_that_the_provider_did_not_sign_ends_nothing_and_writes_nothing(idp: FakeProvider) -> None:
    one = browser(idp, "one")
    for name, token in forged(idp).items():
        with CaptureQueriesContext(connection) as queries:
            assert told(token).status_code == 400, name
        assert len(queries) == 0, name
    assert is_in(one)


@pytest.mark.parametrize(("algorithm", "kind"), [("RS256", "JWT"), ("ES256", "logout+jwt"), ("ES256", "logout+JWT")])
def test_both_algorithms_and_kinds_are_good(idp: FakeProvider, algorithm: str, kind: str) -> None:
    claims = jwt.decode(idp.logout_token(), options={"verify_signature": False})
    one = browser(idp, "one")
    assert told(sign(claims, algorithm, typ=kind)).status_code == 200
    assert not is_in(one)


def test_a_token_counts_once_and_is_forgotten_when_it_is_too_old_to_count(idp: FakeProvider) -> None:
    token = idp.logout_token()
    assert told(token).status_code == 200
    one = browser(idp, "one")
    assert told(token).status_code == 400
    assert is_in(one), "who signed in since stays"
    SpentLogoutToken.objects.update(until="2020-01-01T00:00Z")
    assert told(idp.logout_token()).status_code == 200
    assert SpentLogoutToken.objects.count() == 1


def test_an_id_token_is_no_logout_token_and_the_other_way_round(idp: FakeProvider) -> None:
    one = browser(idp, "one")
    assert told(one.session["oidc_id_token"]).status_code == 400
    idp.signed = lambda claims: idp.logout_token()
    assert signed_in(idp, Client()).status_code == 403
    assert is_in(one)


def test_a_flood_of_made_up_keys_asks_for_the_keys_once(idp: FakeProvider) -> None:
    claims = jwt.decode(idp.logout_token(), options={"verify_signature": False})
    for number in range(50):
        assert told(sign(claims, key=STRANGERS_KEY, kid=f"made up {number}")).status_code == 400
        assert told(sign(claims | {"iss": "https://other.example"}, kid="RS256")).status_code == 400
    assert idp.calls["/jwks"] == 1
    assert told(idp.logout_token()).status_code == 200, "meanwhile a good one counts"
    assert idp.calls["/jwks"] == 1


def test_keys_that_cannot_be_had_end_nothing(idp: FakeProvider) -> None:
    one = browser(idp, "one")
    idp.spoilt["/jwks"] = (500, b"", "text/plain")
    assert told(idp.logout_token()).status_code == 400
    assert is_in(one)


def test_other_ways_to_come_here_are_refused(idp: FakeProvider) -> None:
    assert Client().get(ADDRESS, {"logout_token": idp.logout_token()}).status_code == 405
    for body, kind in (
        (json.dumps({"logout_token": idp.logout_token()}), "application/json"),
        (b"x" * 2**21, "application/x-www-form-urlencoded"),
        (b"nothing", "multipart/form-data"),
    ):
        answer = Client().post(ADDRESS, body, content_type=kind)
        assert (answer.status_code, answer["Cache-Control"]) == (400, "no-store")
    assert not Session.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_token_that_comes_many_times_at_once_counts_once(idp: FakeProvider) -> None:
    token, before = idp.logout_token(), User.objects.get().session_epoch
    together = threading.Barrier(12)

    def send(_: int) -> int:
        try:
            together.wait()
            return told(token).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(12) as threads:
        assert sorted(threads.map(send, range(12))) == [200] + [400] * 11
    assert User.objects.get().session_epoch == before + 1
