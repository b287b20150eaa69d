"""The sign-in of programs: codes, approval on the page, one token, and everything that is refused.

Expected values are those of RFC 8628 (sections 3.2, 3.4, 3.5, 6.1) and RFC 6749 (sections 5.1, 5.2).
"""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.device_sign_in.services import remove_over
from jobs.models import AuditEntry, DeviceSignIn, Token, User
from jobs.tokens.models import PREFIXES
from jobs.tokens.services import issue_token
from portal.sign_in.attempts import PER_NAME_MAX
from portal.sign_in.personal_tokens import TOKENS_MAX

pytestmark = pytest.mark.django_db

AUTHORIZATION, TOKEN, REVOKE = (f"/api/v1/device/{name}" for name in ("authorization", "token", "revoke"))
WHOAMI, PAGE = "/api/v1/whoami/", "/device/"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
BEGIN = {"client_id": "kaiku-cli", "device_name": "kaiku on uan01"}


def begun(**more: str) -> dict:
    answer = Client().post(AUTHORIZATION, BEGIN | more, content_type="application/json")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    return answer.json()


def polled(codes: dict, **more: str):
    form = {"grant_type": GRANT, "device_code": codes["device_code"], "client_id": "kaiku-cli"} | more
    return Client().post(TOKEN, form, content_type="application/json")


def error(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


def answered(client: Client, codes: dict, answer: str = "approve"):
    return client.post(PAGE, {"user_code": codes["user_code"], "answer": answer}, follow=True)


def fetched(client: Client, **more: str) -> str:
    codes = begun(**more)
    answered(client, codes)
    return polled(codes).json()["access_token"]


def with_token(secret: str, path: str = WHOAMI, verb: str = "get"):
    return getattr(Client(), verb)(path, headers={"Authorization": f"Bearer {secret}"})


def passed(seconds: float) -> None:
    """Let this time pass for every sign-in."""
    for row in DeviceSignIn.objects.all():
        row.expires_at -= timedelta(seconds=seconds)
        row.polled_at = row.polled_at and row.polled_at - timedelta(seconds=seconds)
        row.save()


def test_the_codes_are_as_the_standard_says_and_only_digests_are_kept(cast) -> None:
    codes = begun()
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", codes["user_code"])
    assert (codes["expires_in"], codes["interval"]) == (900, 5)
    assert codes["verification_uri"] == "http://testserver/device/"
    assert codes["verification_uri_complete"] == f"http://testserver/device/?user_code={codes['user_code']}"
    stored = str(DeviceSignIn.objects.values()[0])
    assert not any(code in stored for code in (codes["device_code"], codes["user_code"]))


def test_a_form_is_taken_as_json_is() -> None:
    form = "application/x-www-form-urlencoded"
    answer = Client().post(AUTHORIZATION, "client_id=kaiku-cli&scope=read&device_name=x", content_type=form)
    assert answer.status_code == 200
    assert DeviceSignIn.objects.get().device_name == "x"


def test_the_whole_way_from_code_to_token(cast) -> None:
    codes, alice = begun(), cast("alice")
    assert error(polled(codes)) == (400, "authorization_pending")
    page = alice.get(PAGE, {"user_code": codes["user_code"].lower().replace("-", " ")}).content.decode()
    assert all(text in page for text in (codes["user_code"], "kaiku on uan01", "127.0.0.1", "read what alice sees"))
    assert not Token.objects.exists()
    assert "is signed in as alice" in answered(alice, codes).content.decode()
    answer = polled(codes)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    said = answer.json()
    # 90 days of 86,400 s.
    assert (said["token_type"], said["expires_in"], said["scope"]) == ("Bearer", 7776000, "read")
    assert said["access_token"].startswith(PREFIXES[Token.Kind.READ])
    assert error(polled(codes)) == (400, "invalid_grant")
    token = Token.objects.get()
    assert (token.user.username, token.name, token.kind) == ("alice", "kaiku on uan01", "read")
    assert [entry.action for entry in AuditEntry.objects.filter(actor="alice")] == ["token_made"]
    who = with_token(said["access_token"]).json()
    assert (who["user"], who["display_name"], who["scopes"]) == ("alice", None, ["read"])
    assert who["token"]["name"] == "kaiku on uan01"
    assert "kaiku on uan01" in alice.get("/settings/tokens/").content.decode()


def test_who_approves_is_whose_token_it_is(cast) -> None:
    assert with_token(fetched(cast("bob"))).json()["user"] == "bob"


def test_a_refusal_a_late_answer_and_a_second_answer(cast) -> None:
    alice, bob = cast("alice"), cast("bob")
    codes = begun()
    answered(alice, codes, "refuse")
    assert error(polled(codes)) == (400, "access_denied")
    assert "No program waits with this code" in answered(bob, codes).content.decode()
    assert error(polled(codes)) == (400, "access_denied")
    codes = begun()
    passed(901)
    assert "No program waits with this code" in answered(alice, codes).content.decode()
    assert error(polled(codes)) == (400, "expired_token")
    codes = begun()
    answered(alice, codes)
    passed(901)
    assert error(polled(codes)) == (400, "expired_token")
    assert not Token.objects.exists()


def test_who_asks_too_often_has_to_wait_longer_each_time(cast) -> None:
    codes = begun()
    asked = []
    for wait_s in (0, 1, 6, 10, 3):
        passed(wait_s)
        asked.append(error(polled(codes))[1])
    # At once: due. After 1 s: not, then every 10 s. After 6 s: not, then every 15 s. After 10 s: not, then every 20 s.
    assert asked == ["authorization_pending", "slow_down", "slow_down", "slow_down", "slow_down"]
    passed(25)
    assert error(polled(codes))[1] == "authorization_pending"


@pytest.mark.parametrize(
    ("path", "said", "wanted"),
    [
        (AUTHORIZATION, {}, (400, "invalid_request")),
        (AUTHORIZATION, {"client_id": "other"}, (400, "invalid_client")),
        (AUTHORIZATION, BEGIN | {"scope": "write"}, (400, "invalid_scope")),
        (AUTHORIZATION, BEGIN | {"device_name": 5}, (400, "invalid_request")),
        (AUTHORIZATION, BEGIN | {"device_name": "x" * 257}, (400, "invalid_request")),
        (AUTHORIZATION, [], (400, "invalid_request")),
        (AUTHORIZATION, "{", (400, "invalid_request")),
        (TOKEN, {}, (400, "invalid_request")),
        (TOKEN, {"grant_type": "password", "client_id": "kaiku-cli"}, (400, "unsupported_grant_type")),
        (TOKEN, {"grant_type": GRANT, "device_code": "x"}, (400, "invalid_request")),
        (TOKEN, {"grant_type": GRANT, "client_id": "kaiku-cli"}, (400, "invalid_request")),
        (TOKEN, {"grant_type": GRANT, "client_id": "kaiku-cli", "device_code": "x"}, (400, "invalid_grant")),
    ],
)
def test_what_is_not_a_request_gets_the_error_of_the_standard(path: str, said: object, wanted: tuple) -> None:
    assert error(Client().post(path, said, content_type="application/json")) == wanted


def test_a_hostile_name_does_no_harm(cast) -> None:
    alice = cast("alice")
    hostile = '<script>alert(1)</script>\u202e\x1b[31m\x00"' + "x" * 200
    codes = begun(device_name=hostile)
    page = alice.get(PAGE, {"user_code": codes["user_code"]}).content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert not any(text in page for text in ("<script>alert", "\u202e", "\x1b", "x" * 61))
    begun(device_name="\u200b\u200b")
    assert DeviceSignIn.objects.order_by("created_at").last().device_name == "kaiku"


def test_wrong_codes_are_told_so_and_counted_as_wrong_passwords_are(cast) -> None:
    alice, codes = cast("alice"), begun()
    for _ in range(PER_NAME_MAX):
        answer = alice.get(PAGE, {"user_code": "BBBB-BBBB"})
        assert "No program waits with this code" in answer.content.decode()
    assert alice.get(PAGE, {"user_code": codes["user_code"]}).status_code == 429
    assert cast("bob").get(PAGE, {"user_code": codes["user_code"]}).status_code == 200


def test_nobody_approves_without_the_token_of_the_form_or_unasked(cast) -> None:
    codes, alice = begun(), cast("alice")
    alice.get(PAGE, {"user_code": codes["user_code"], "answer": "approve"})
    alice.post(PAGE, {"user_code": codes["user_code"]})
    alice.handler.enforce_csrf_checks = True
    assert alice.post(PAGE, {"user_code": codes["user_code"], "answer": "approve"}).status_code == 403
    assert Client().post(PAGE, {"user_code": codes["user_code"], "answer": "approve"}).status_code == 302
    assert DeviceSignIn.objects.get().state == "waiting"


def test_the_way_over_the_sign_in_keeps_the_code() -> None:
    answer = Client().get(PAGE, {"user_code": "BCDF-GHJK"})
    assert answer["Location"] == "/sign-in/?next=/device/%3Fuser_code%3DBCDF-GHJK"


def test_a_second_machine_of_the_same_name_gets_a_number_and_nobody_more_than_the_limit(cast, settings) -> None:
    settings.DEVICE_TOKEN_DAYS = 7
    alice = cast("alice")
    fetched(alice), fetched(alice)
    tokens = list(Token.objects.order_by("pk"))
    assert [token.name for token in tokens] == ["kaiku on uan01", "kaiku on uan01 2"]
    assert tokens[0].expires_at - tokens[0].created_at == timedelta(days=7)
    user = User.objects.get(username="alice")
    for number in range(TOKENS_MAX - 2):
        issue_token(user, name=f"other {number}", days=30, now=timezone.now())
    codes = begun()
    assert "which is the limit" in answered(alice, codes).content.decode()
    assert error(polled(codes)) == (400, "authorization_pending")


def test_a_closed_account_gets_no_token(cast) -> None:
    codes = begun()
    answered(cast("alice"), codes)
    User.objects.filter(username="alice").update(is_active=False)
    assert error(polled(codes)) == (400, "access_denied")


def test_a_token_ends_itself_and_no_other(cast) -> None:
    alice = cast("alice")
    first, second = fetched(alice), fetched(alice)
    assert with_token(first, REVOKE, "post").status_code == 204
    assert (with_token(first).status_code, with_token(second).status_code) == (401, 200)
    assert with_token(first, REVOKE, "post").status_code == 401
    # A session cannot: it has no token to end.
    assert alice.post(REVOKE).status_code == 401
    entries = AuditEntry.objects.filter(action="token_revoked")
    assert [(entry.actor, entry.name) for entry in entries] == [("alice", "kaiku on uan01 of alice")]


def test_whoami_by_session_has_no_token(cast) -> None:
    User.objects.filter(username="alice").update(first_name="Alice", last_name="Example")
    cast("alice").get(WHOAMI)
    User.objects.filter(username="alice").update(first_name="Alice", last_name="Example")
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    said = client.get(WHOAMI).json()
    assert said == {"user": "alice", "display_name": "Alice Example", "token": None, "scopes": ["read"]}


def test_beginning_is_limited_by_address_and_waiting_is_not(cast, settings, monkeypatch) -> None:
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    settings.DEVICE_SIGN_INS_PER_MINUTE, settings.ANONYMOUS_API_CALLS_PER_MINUTE = 2, 2
    codes, _ = begun(), begun()
    answer = Client().post(AUTHORIZATION, BEGIN, content_type="application/json")
    assert error(answer) == (429, "slow_down")
    assert 0 < int(answer["Retry-After"]) <= 60
    for _ in range(4):
        passed(60)
        DeviceSignIn.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        assert error(polled(codes)) == (400, "authorization_pending")
    guesses = [polled({"device_code": f"guess {number}"}).status_code for number in range(3)]
    assert guesses == [400, 400, 429]


def test_what_is_over_is_deleted(cast) -> None:
    begun(), begun()
    passed(901)
    begun()
    assert DeviceSignIn.objects.count() == 1
    now = timezone.now()
    assert sum(remove_over(now)) == 0
    assert sum(remove_over(now + timedelta(seconds=901))) == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_polls_and_answers_at_once_one_gets_the_token(cast) -> None:
    codes = begun()
    answered(cast("alice"), codes)
    together = threading.Barrier(6)

    def poll(_: int) -> int:
        try:
            together.wait()
            return polled(codes).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        statuses = sorted(threads.map(poll, range(6)))
    assert statuses == [200, 400, 400, 400, 400, 400]
    assert Token.objects.count() == 1


def test_a_program_that_logs_runs_gets_a_token_of_that_kind(cast) -> None:
    codes, alice = begun(scope="runs"), cast("alice")
    page = alice.get(PAGE, {"user_code": codes["user_code"]}).content.decode()
    assert "Let this program log runs in your name?" in page
    assert "kaiku login --runs" in page
    assert "it cannot read jobs" in page
    assert "read what alice sees" not in page
    assert "can log runs as alice" in answered(alice, codes).content.decode()
    answer = polled(codes).json()
    assert (answer["scope"], answer["access_token"].startswith(PREFIXES[Token.Kind.RUNS])) == ("runs", True)
    assert Token.objects.get().kind == "runs"
    assert with_token(answer["access_token"]).json()["scopes"] == ["runs"]
    paths = ("/api/v1/experiments/", "/api/v1/jobs/", "/api/v1/insights/")
    assert [with_token(answer["access_token"], path).status_code for path in paths] == [200, 403, 403]
    assert with_token(answer["access_token"], REVOKE, "post").status_code == 204
    assert with_token(answer["access_token"]).status_code == 401


@pytest.mark.parametrize("scope", ["write", "read runs", "send", "RUNS"])
def test_no_other_scope_is_given(scope: str) -> None:
    answer = Client().post(AUTHORIZATION, BEGIN | {"scope": scope}, content_type="application/json")
    assert error(answer) == (400, "invalid_scope")
    assert not DeviceSignIn.objects.exists()
