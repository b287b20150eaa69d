"""What a person's own run of the collector sends, and a way to send it, for the tests of own runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from jobs.models import User
from jobs.tokens.services import issue_token
from tests.payloads import gpu, summary

SUMMARIES, RECORDS = "/api/v1/ingest/node-summaries", "/api/v1/ingest/job-records"
PROJECT = "project_465000001"
NOTHING: Any = object()

Send = Callable[..., HttpResponse]


def told(**changes: Any) -> dict[str, Any]:
    """alice's run on two nodes, as its owner knows it."""
    return {
        "user_id": "alice",
        "project_id": PROJECT,
        "job_name": "train",
        "partition": "small-g",
        "state": "COMPLETED",
        "exit_code": "0:0",
        "node_count": 2,
        "nodes": ["nid005123", "nid005124"],
        "gpus_allocated": 16,
        "ntasks": 16,
        "cpus_allocated": 112,
        "walltime_requested_s": 14400.0,
        "array_job_id": None,
        "array_task_id": None,
    } | changes


def own_summary(own_run: Any = None, **changes: Any) -> dict[str, Any]:
    """One node of it: two of its eight GPUs at 88 %. `own_run=NOTHING` leaves the owner's word out."""
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    own = {} if own_run is NOTHING else {"own_run": told() if own_run is None else own_run}
    return summary(**{"gpus": gpus, "sequence": 0} | own | changes)


def alone(**changes: Any) -> dict[str, Any]:
    """What the owner tells of a run on one node."""
    return told(node_count=1, nodes=["nid005123"], gpus_allocated=8, ntasks=8, cpus_allocated=56) | changes


def sending_token(owner: str = "alice", **more: Any) -> str:
    user = User.objects.get(username=owner)
    return issue_token(user, **{"name": "runs", "days": 30, "now": timezone.now(), "kind": "send"} | more)


def post(secret: str, document: Any, path: str = SUMMARIES, **more: Any) -> HttpResponse:
    """A call as a program makes it: a bearer token, no cookie, no token of a form."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})
    return client.post(path, body, content_type="application/json", **more)


def errors(answer: Any) -> list[tuple[str, str]]:
    return [(error["path"], error["message"]) for error in answer.json()["errors"]]
