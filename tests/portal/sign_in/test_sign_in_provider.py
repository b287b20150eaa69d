"""Signing in through a provider: who comes in, who does not, and a page whatever the provider does."""

from __future__ import annotations

import time
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from django.core.management import CommandError
from django.test import Client

from demo.__main__ import demo
from jobs.models import Grant, User
from portal.sign_in.provider import Provider
from tests.portal.conftest import PASSWORD
from tests.portal.provider import (
    CLIENT_ID,
    SECRET,
    STRANGERS_KEY,
    FakeProvider,
    forget_answers,
    public_keys,
    sign,
    signed_in,
    started,
)
from tests.processes import patience
from tests.roles import has_role

WELL_KNOWN = "/.well-known/openid-configuration"


def configured(settings, **changes: object) -> None:
    known = settings.OIDC_PROVIDER
    settings.OIDC_PROVIDER = Provider(**{**known.__dict__, **changes})


def test_the_page_offers_the_provider_and_no_password(idp: FakeProvider) -> None:
    page = Client().get("/sign-in/?next=/jobs/%3Fclass%3DWASTED").content.decode()
    assert "Sign in with MyAccessID" in page
    assert 'href="/sign-in/start/?next=%2Fjobs%2F%3Fclass%3DWASTED"' in page
    assert "password" not in page.replace("never receives your password", "")
    assert "evil" not in Client().get("/sign-in/?next=https://evil.example/").content.decode()


def test_the_provider_is_asked_with_state_nonce_and_pkce(idp: FakeProvider) -> None:
    client = Client()
    url = urlsplit(client.get("/sign-in/start/")["Location"])
    asked = {name: each for name, (each,) in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{idp.issuer}/authorize"
    assert asked["response_type"] == "code"
    assert asked["client_id"] == CLIENT_ID
    assert asked["scope"] == "openid email"
    assert asked["redirect_uri"] == "http://testserver/sign-in/callback/"
    assert asked["code_challenge_method"] == "S256"
    assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 32


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_linked_identity_comes_in_and_goes_where_it_wanted(idp: FakeProvider, algorithm: str) -> None:
    idp.signed = lambda claims: sign(claims, algorithm)
    client = Client()
    assert signed_in(idp, client, "?next=/jobs/%3Fclass%3DWASTED")["Location"] == "/jobs/?class=WASTED"
    assert b"alice" in client.get("/jobs/").content
    assert User.objects.get().email == "alice@example.org"
    assert idp.secrets_in_body == [""], "the secret goes as HTTP Basic"
    assert signed_in(idp, Client(), "?next=https://evil.example/")["Location"] == "/"


def test_userinfo_may_be_a_signed_token_and_the_secret_go_in_the_body(idp: FakeProvider) -> None:
    idp.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    claims = {"iss": idp.issuer, "aud": CLIENT_ID, "sub": idp.subject, "email": "new@example.org"}
    idp.spoilt["/userinfo"] = (200, sign(claims).encode(), "application/jwt")
    assert signed_in(idp, Client()).status_code == 302
    assert User.objects.get().email == "new@example.org"
    assert idp.secrets_in_body == [SECRET]
    for wrong in (claims | {"iss": "https://other"}, claims | {"aud": "other"}):
        idp.spoilt["/userinfo"] = (200, sign(wrong).encode(), "application/jwt")
        assert signed_in(idp, Client()).status_code == 403


def test_endpoints_may_be_named_instead_of_discovered(idp: FakeProvider, settings) -> None:
    configured(settings, endpoints={name: url for name, url in idp.discovery().items() if name != "issuer"})
    idp.spoilt[WELL_KNOWN] = (500, b"", "text/plain")
    assert signed_in(idp, Client()).status_code == 302


@pytest.mark.parametrize("subject", ["ABC@MyAccessID.org", "abc@myaccessid.orG", "abc@MYACCESSID.org"])
def test_an_identifier_that_differs_in_case_is_somebody_else(idp: FakeProvider, settings, caplog, subject: str) -> None:
    idp.subject = subject
    assert signed_in(idp, Client())["Location"] == "/sign-in/no-account/"
    assert "see OIDC_SUBJECT_CASE" in caplog.text
    assert subject not in caplog.text
    settings.OIDC_SUBJECT_CASE = "lower"
    assert signed_in(idp, Client())["Location"] == "/"


@pytest.mark.parametrize(
    "subject",
    [
        " abc@myaccessid.org",
        "abc@myaccessid.org\n",
        "abc@myaccessid.org\u00a0",
        "abc@myaccessid.org\u200b",
        "abc@\uff4dyaccessid.org",
        "",
        "x" * 256,
    ],
)
@pytest.mark.parametrize("case", ["exact", "lower"])
def test_an_identifier_with_blanks_or_beyond_ascii_is_none(idp: FakeProvider, settings, case: str, subject) -> None:
    settings.OIDC_SUBJECT_CASE = case
    idp.subject = subject
    assert_refused(idp)


def test_a_sign_that_becomes_ascii_in_lower_case_is_no_letter(idp: FakeProvider, settings) -> None:
    """The Kelvin sign's lower case is a plain k."""
    settings.OIDC_SUBJECT_CASE = "lower"
    User.objects.update(oidc_subject="k@myaccessid.org")
    idp.subject = "\u212a@myaccessid.org"
    assert_refused(idp)


REFUSED = {
    "another issuer": {"iss": "https://other.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "other"},
    "several audiences and no party": {"aud": [CLIENT_ID, "other"]},
    "made for another party": {"azp": "other"},
    "expired": {"iat": int(time.time()) - 900, "exp": int(time.time()) - 600},
    "never expiring": {"exp": None},
    "not valid yet": {"nbf": int(time.time()) + 86_400},
    "no subject": {"sub": None},
    "a subject that is a number": {"sub": 7},
    "another person than the userinfo's": {"sub": "bob@myaccessid.org"},
    "another sign-in's": {"nonce": "x" * 32},
    "of no sign-in": {"nonce": None},
    "of what is no text": {"nonce": "\ud800"},
    "without end": {"exp": float("inf")},
}


@pytest.mark.parametrize("claims", REFUSED.values(), ids=REFUSED)
def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(idp: FakeProvider, claims: dict[str, object]) -> None:
    idp.claims = claims
    assert_refused(idp)


FORGED = {
    "unsigned": lambda claims: jwt.encode(claims, None, algorithm="none"),
    "unsigned with a known key id": lambda claims: jwt.encode(claims, None, algorithm="none", headers={"kid": "RS256"}),
    "signed by a stranger": lambda claims: sign(claims, key=STRANGERS_KEY),
    "signed with a key that is not shown": lambda claims: sign(claims, kid="other"),
    "signed with the client's secret": lambda claims: jwt.encode(claims, SECRET * 3, algorithm="HS256"),
    "signed with the public key as a secret": lambda claims: jwt.encode(
        claims, public_keys()[0]["n"], algorithm="HS256", headers={"kid": "RS256"}
    ),
    "with a broken signature": lambda claims: sign(claims, "RS256")[:-4] + "AAAA",
    "no token": lambda claims: None,
    "a number": lambda claims: 7,
    "no dots": lambda claims: "garbage",
    "garbage with dots": lambda claims: "a.b.c",
    "not ASCII": lambda claims: "ä.ö.ü",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_token_that_the_provider_did_not_sign_lets_nobody_in(idp: FakeProvider, forge) -> None:
    idp.signed = forge
    assert_refused(idp)


def test_an_answer_of_another_issuer_is_refused(idp: FakeProvider) -> None:
    client = Client()
    state = started(idp, client)
    given = {"code": "c", "state": state}
    assert client.get("/sign-in/callback/", given | {"iss": "https://other.example"}).status_code == 403
    assert client.get("/sign-in/callback/", given | {"iss": idp.issuer})["Location"] == "/"


def test_two_audiences_are_fine_when_this_portal_is_the_party(idp: FakeProvider) -> None:
    idp.claims = {"aud": [CLIENT_ID, "other"], "azp": CLIENT_ID}
    assert signed_in(idp, Client())["Location"] == "/"


def test_the_test_identity_of_myaccessid_never_comes_in(idp: FakeProvider) -> None:
    idp.subject = "Test@MyAccessID.org"
    User.objects.update(oidc_subject="test@myaccessid.org")
    assert_refused(idp)


def assert_refused(idp: FakeProvider) -> None:
    client = Client()
    answer = signed_in(idp, client)
    assert answer.status_code == 403
    assert b"Sign-in failed" in answer.content
    assert client.get("/jobs/").status_code == 302


AWAY = {
    "an error": (500, b"Traceback", "text/html"),
    "a refusal": (400, b'{"error": "invalid_grant"}', "application/json"),
    "a redirect": (302, b"", "text/html"),
    "no JSON": (200, b"<html>", "text/html"),
    "nothing": (200, b"", "application/json"),
    "a list": (200, b"[]", "application/json"),
    "a deep list": (200, b"[" * 100_000, "application/json"),
    "no text": (200, b"\xff\xfe\x00", "application/json"),
}


@pytest.mark.parametrize("path", [WELL_KNOWN, "/token", "/jwks", "/userinfo"])
@pytest.mark.parametrize("answer", AWAY.values(), ids=AWAY)
def test_a_provider_that_fails_gets_a_page_and_no_error(idp: FakeProvider, path: str, answer) -> None:
    assert_away(idp, path, answer)


def assert_away(idp: FakeProvider, path: str, answer=None) -> None:
    client = Client()
    state = "" if path == WELL_KNOWN else started(idp, client)
    if answer:
        idp.spoilt[path] = answer
    url = f"/sign-in/callback/?code=c&state={state}" if state else "/sign-in/start/"
    page = client.get(url)
    assert page.status_code == 502
    assert b"is not available or gave an invalid answer" in page.content
    assert client.get("/jobs/").status_code == 302


@pytest.mark.parametrize("path", [WELL_KNOWN, "/token", "/jwks", "/userinfo"])
def test_a_provider_that_hangs_is_not_waited_for(idp: FakeProvider, settings, path: str) -> None:
    configured(settings, timeout_s=0.5)
    idp.delay_s[path] = 20
    began = time.monotonic()
    assert_away(idp, path)
    assert time.monotonic() - began < patience(5)


def test_a_provider_that_is_gone_and_one_that_is_somebody_else(idp: FakeProvider, settings) -> None:
    idp.metadata = {"issuer": "https://other.example"}
    assert_away(idp, WELL_KNOWN)
    forget_answers()
    idp.metadata = {"authorization_endpoint": "http://plain.example/"}
    assert_away(idp, WELL_KNOWN)
    configured(settings, issuer="http://127.0.0.1:9")
    assert_away(idp, WELL_KNOWN)


@pytest.mark.parametrize(
    "keys", [b'{"keys": 7}', b'{"keys": [7, {}]}', b"{}", b'{"keys": [{"kty": "RSA", "kid": "RS256"}]}']
)
def test_keys_that_are_none_let_nobody_in(idp: FakeProvider, keys: bytes) -> None:
    idp.spoilt["/jwks"] = (200, keys, "application/json")
    assert_refused(idp)


def test_signed_in_people_do_not_need_the_provider(idp: FakeProvider) -> None:
    client = Client()
    signed_in(idp, client)
    idp.spoilt = dict.fromkeys((WELL_KNOWN, "/token", "/jwks", "/userinfo"), (500, b"", "text/plain"))
    forget_answers()
    assert client.get("/jobs/").status_code == 200
    assert client.post("/sign-out/")["Location"] == "/sign-in/"


def test_an_identity_without_an_account_gets_a_page_and_no_account(idp: FakeProvider) -> None:
    idp.subject = "new@myaccessid.org"
    idp.userinfo = {"email": "old@example.org"}
    client = Client()
    answer = signed_in(idp, client)
    page = client.get(answer["Location"]).content.decode()
    assert "No LUMI account yet" in page
    assert "new@myaccessid.org" in page
    assert client.get("/jobs/").status_code == 302
    assert User.objects.count() == 1, "an equal e-mail address is no link"
    assert client.post("/sign-out/")["Location"].startswith(f"{idp.issuer}/end_session?id_token_hint=")
    assert client.get("/sign-in/no-account/")["Location"] == "/sign-in/"


def test_coming_back_without_a_link_signs_out_who_was_in(idp: FakeProvider) -> None:
    client = Client()
    signed_in(idp, client)
    idp.subject = "new@myaccessid.org"
    assert signed_in(idp, client)["Location"] == "/sign-in/no-account/"
    assert client.get("/jobs/").status_code == 302


def test_an_account_that_was_closed_or_unlinked_is_out_at_the_next_request(idp: FakeProvider) -> None:
    client = Client()
    signed_in(idp, client)
    User.objects.update(is_active=False)
    assert client.get("/jobs/").status_code == 302
    assert signed_in(idp, Client())["Location"] == "/sign-in/no-account/"
    User.objects.update(is_active=True)
    signed_in(idp, client)
    User.objects.update(oidc_subject=None)
    assert client.get("/jobs/").status_code == 302


def test_a_return_that_nobody_started_or_twice_is_told_apart(idp: FakeProvider) -> None:
    client = Client()
    state = started(idp, client)
    assert client.get("/sign-in/callback/", {"code": "c", "state": state}).status_code == 302
    for answer in (
        client.get("/sign-in/callback/", {"code": "c", "state": state}),
        Client().get("/sign-in/callback/", {"code": "c", "state": state}),
        client.get("/sign-in/callback/"),
    ):
        assert (answer.status_code, b"Please start again" in b" ".join(answer.content.split())) == (400, True)
    cancelled = Client().get("/sign-in/callback/", {"error": "access_denied", "error_description": "<b>"})
    assert (cancelled.status_code, b"Sign-in was cancelled" in cancelled.content) == (400, True)
    assert b"<b>" not in cancelled.content


def test_signing_out_ends_every_session_and_goes_on_to_the_provider(idp: FakeProvider) -> None:
    here, there = Client(), Client()
    for client in (here, there):
        signed_in(idp, client)
    url = urlsplit(here.post("/sign-out/")["Location"])
    query = parse_qs(url.query)
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{idp.issuer}/end_session"
    assert query["post_logout_redirect_uri"] == ["http://testserver/sign-in/"]
    assert jwt.decode(query["id_token_hint"][0], options={"verify_signature": False})["sub"] == idp.subject
    assert [client.get("/jobs/").status_code for client in (here, there)] == [302, 302]
    assert here.get("/sign-out/").status_code == 405


def test_a_sign_out_on_another_host_than_the_policy_names_is_a_link(idp: FakeProvider) -> None:
    idp.metadata = {"end_session_endpoint": "https://logout.example/out?a=b"}
    client = Client()
    signed_in(idp, client)
    page = client.post("/sign-out/").content.decode()
    assert 'href="https://logout.example/out?a=b&amp;id_token_hint=' in page


def test_a_provider_without_a_sign_out_is_left_alone(idp: FakeProvider) -> None:
    idp.metadata = {"end_session_endpoint": ""}
    client = Client()
    signed_in(idp, client)
    assert client.post("/sign-out/")["Location"] == "/sign-in/"


def test_local_accounts_cannot_exist_beside_a_provider(idp: FakeProvider, settings) -> None:
    local = Client()
    local.force_login(User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
    assert local.get("/jobs/").status_code == 302, "a session from before the provider ends"
    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 405
    assert not Client().login(username="alice", password=PASSWORD)
    assert b"Sample accounts" not in Client().get("/sign-in/").content
    with pytest.raises(CommandError, match="people sign in through a provider here"):
        demo()


def test_groups_give_portal_roles_anew_at_each_sign_in(idp: FakeProvider, settings) -> None:
    groups = {"support": frozenset({"urn:support"}), "policy": frozenset({"urn:policy"}), "administrator": frozenset()}
    configured(settings, groups_claim="eduperson_entitlement", role_groups=groups)
    idp.userinfo = {"eduperson_entitlement": ["urn:support", "urn:other", 7]}
    signed_in(idp, Client())
    alice = User.objects.get()
    assert (alice.is_staff, alice.is_superuser, has_role(alice, Grant.Role.POLICY)) == (True, False, False)
    for said, is_policy in (("urn:policy", True), (None, False), (7, False)):
        idp.userinfo = {"eduperson_entitlement": said}
        signed_in(idp, Client())
        alice = User.objects.get()
        assert (alice.is_staff, has_role(alice, Grant.Role.POLICY)) == (False, is_policy)


@pytest.mark.parametrize(
    ("verified", "email"),
    [(True, "new@example.org"), (False, "old@example.org"), ("false", "old@example.org"), ("true", "old@example.org")]
    + [(said, "old@example.org") for said in (0, 1, None, [])],
)
def test_only_a_plain_yes_verifies_an_address(idp: FakeProvider, verified: object, email: str) -> None:
    idp.userinfo = {"email": "new@example.org", "email_verified": verified}
    signed_in(idp, Client())
    assert User.objects.get().email == email


@pytest.mark.parametrize("email", [None, 7, "no address", "a@b\r\nBcc: c@d", "x" * 250 + "@example.org"])
def test_an_address_that_is_none_is_not_taken_over(idp: FakeProvider, email: object) -> None:
    idp.userinfo = {"email": email}
    assert signed_in(idp, Client())["Location"] == "/"
    assert User.objects.get().email == "old@example.org"


def test_without_a_provider_its_pages_are_not_there(db) -> None:
    for path in ("/sign-in/start/", "/sign-in/callback/?code=c&state=s"):
        assert Client().get(path).status_code == 404
    assert Client().post("/sign-in/back-channel/", {"logout_token": "a.b.c"}).status_code == 404
    assert Client().get("/sign-in/no-account/")["Location"] == "/sign-in/"
