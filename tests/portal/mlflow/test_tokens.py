"""Who may log: a personal token that logs runs and nothing else, told apart in the client's own form of errors."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from jobs.models import Token, User
from tests.portal.mlflow.tracking import CALLS, FILES, Tracking, error_of, logging_token

pytestmark = pytest.mark.django_db

PATHS = (f"{CALLS}runs/get", f"{CALLS}unheard-of", f"{FILES}/1/{'0' * 32}/artifacts/a.txt", "version")
UNAUTHENTICATED = (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "DELETE"])
def test_nothing_is_answered_without_a_token(script: Tracking, path: str, verb: str) -> None:
    answer = script.sent(verb, path, {}, Authorization="")
    assert error_of(answer) == UNAUTHENTICATED
    assert answer["WWW-Authenticate"] == "Bearer"
    assert error_of(script.sent(verb, path, {}, Authorization="Bearer kaiku_log_unknown")) == UNAUTHENTICATED


def test_a_session_is_no_token(alice: User, script: Tracking) -> None:
    client = Client()
    client.force_login(alice)
    assert error_of(client.get(f"/mlflow/{CALLS}experiments/get?experiment_id=0")) == UNAUTHENTICATED


@pytest.mark.parametrize("kind", [Token.Kind.READ, Token.Kind.SEND])
def test_a_token_of_another_kind_logs_nothing(alice: User, kind: Token.Kind) -> None:
    answer = Tracking(logging_token(alice, kind)).sent("POST", f"{CALLS}runs/create", {"experiment_id": "0"})
    assert error_of(answer) == (403, "PERMISSION_DENIED")
    assert "kaiku_log_" in answer.json()["message"]


def test_a_revoked_token_logs_nothing(script: Tracking) -> None:
    Token.objects.update(revoked_at=timezone.now())
    assert script.refused("runs/create", experiment_id="0") == UNAUTHENTICATED


def test_a_password_from_netrc_is_named_as_what_it_is(script: Tracking) -> None:
    answer = script.sent("POST", f"{CALLS}runs/create", {}, Authorization="Basic YWxpY2U6c2VjcmV0")
    assert error_of(answer) == UNAUTHENTICATED
    assert "~/.netrc" in answer.json()["message"]


def test_a_closed_account_logs_nothing(alice: User, script: Tracking) -> None:
    alice.is_active = False
    alice.save()
    assert script.refused("runs/create", experiment_id="0") == UNAUTHENTICATED


@pytest.mark.parametrize("name", ["runs/create", "runs/log-metric"])
def test_a_database_that_cannot_be_reached_is_a_reason_to_try_again_soon(
    script: Tracking, monkeypatch, name: str
) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr("portal.tracking.call.token_and_holder", unreachable)
    answer = script.sent("POST", CALLS + name, {})
    assert error_of(answer) == (503, "TEMPORARILY_UNAVAILABLE")
    assert not answer.has_header("Retry-After")  # clients would wait that long, and their script with them


@pytest.mark.parametrize("path", [f"{CALLS}runs/get?run_id=%00", f"{FILES}/1/{'0' * 32}/artifacts/%00", "%00"])
def test_what_no_database_stores_is_refused_in_the_same_form(script: Tracking, path: str) -> None:
    assert error_of(script.sent("GET", path)) == (400, "INVALID_PARAMETER_VALUE")
