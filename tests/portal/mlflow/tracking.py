"""Calls of the tracking protocol, as a client of MLflow sends them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from jobs.experiments.models import ExperimentRun
from jobs.models import Token, User
from jobs.tokens.services import issue_token

CALLS, FILES = "api/2.0/mlflow/", "api/2.0/mlflow-artifacts/artifacts"
TOKEN_DAYS = 30
CLIENT = Client()
"""One for all: making one reads every static file."""


def logging_token(user: User, kind: Token.Kind = Token.Kind.RUNS) -> str:
    return issue_token(user, name=f"{kind} {user}", days=TOKEN_DAYS, now=timezone.now(), kind=kind)


@dataclass(frozen=True)
class Tracking:
    """A script of one person: `at` is the path of its tracking address."""

    token: str
    at: str = "/mlflow/"

    def within(self, job: str) -> Tracking:
        """The same script with an address that states its job."""
        return replace(self, at=f"/mlflow/j/{job}/")

    def sent(self, verb: str, path: str, body: Any = b"", **headers: str) -> HttpResponse:
        headers = {"Authorization": f"Bearer {self.token}"} | headers
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return CLIENT.generic(verb, f"{self.at}{path}", content, "application/json", headers=headers)

    def post(self, name: str, /, **members: Any) -> dict[str, Any]:
        """The answer to a call that succeeds."""
        return answered(self.sent("POST", CALLS + name, members))

    def get(self, name: str, /, **query: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        return answered(CLIENT.get(self.at + CALLS + name, query, headers=headers))

    def refused(self, name: str, verb: str = "POST", /, **members: Any) -> tuple[int, str]:
        """Status and code of a call that does not succeed."""
        if verb == "GET":
            headers = {"Authorization": f"Bearer {self.token}"}
            answer = CLIENT.get(self.at + CALLS + name, members, headers=headers)
        else:
            answer = self.sent(verb, CALLS + name, members)
        return error_of(answer)

    def experiment(self, name: str = "vit") -> str:
        return self.post("experiments/create", name=name)["experiment_id"]

    def run(self, experiment_id: str = "0", **members: Any) -> str:
        """A new run; its id."""
        return self.post("runs/create", experiment_id=experiment_id, **members)["run"]["info"]["run_id"]

    def put(self, run_id: str, path: str, content: bytes) -> HttpResponse:
        return self.sent("PUT", f"{FILES}/1/{run_id}/artifacts/{path}", content)


def answered(answer: HttpResponse) -> dict[str, Any]:
    """Success is exactly 200, with a JSON object and without a bare NaN, which no client reads."""
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "application/json"
    found = json.loads(answer.content, parse_constant=lambda word: 1 / 0)
    assert isinstance(found, dict)
    return found


def error_of(answer: HttpResponse) -> tuple[int, str]:
    """Status and code of an error in the form that clients read."""
    found = json.loads(answer.content)
    assert set(found) == {"error_code", "message"}
    assert found["message"]
    return answer.status_code, found["error_code"]


def stored(run_id: str) -> ExperimentRun:
    return ExperimentRun.objects.get(run_id=run_id)


def texts(found: list[dict[str, str]]) -> dict[str, str]:
    """Parameters or tags of an answer by name."""
    return {each["key"]: each["value"] for each in found}
