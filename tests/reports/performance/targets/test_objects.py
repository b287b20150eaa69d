"""The export to a bucket, on a real store that speaks S3, read by another program's library."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
import requests
from moto.server import ThreadedMotoServer

from analysis.models import ExportBatch, ExportDue
from jobs.models import Job
from reports.performance.targets.address import Bucket
from reports.performance.targets.services import stores
from reports.performance.targets.services.sweep import export_due
from tests.conftest import NOW
from tests.processes import PATIENCE_S, free_ports

KEYS = {"region": "us-east-1", "access_key": "AKIAEXAMPLE", "secret_key": "only for tests"}


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of a store."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(store: str, settings) -> Any:
    """An empty bucket that runs are exported to, as another program sees it."""
    requests.post(f"{store}/moto-api/reset", timeout=PATIENCE_S)
    settings.EXPORT_TARGET, settings.EXPORT_FORMAT = Bucket("runs", "kaiku/lumi", store, **KEYS), "jsonl"
    client = boto3.resource(
        "s3",
        endpoint_url=store,
        region_name=KEYS["region"],
        aws_access_key_id=KEYS["access_key"],
        aws_secret_access_key=KEYS["secret_key"],
    )
    return client.create_bucket(Bucket="runs")


def fault() -> str:
    """Why the only batch was not written; it still waits."""
    assert ExportDue.objects.count() == 1
    return ExportBatch.objects.get().fault


def test_judged_runs_become_an_object_below_the_prefix(bucket: Any, judged: Callable[..., Job]) -> None:
    judged(1)
    judged(2)
    assert export_due(now=NOW) == 2
    (found,) = bucket.objects.all()
    assert found.key.startswith("kaiku/lumi/2026-11-20/runs-20261120T123000Z-")
    lines = found.get()["Body"].read().splitlines()
    assert [json.loads(line)["job_id"] for line in lines] == [1, 2]
    assert not ExportDue.objects.exists()


def test_a_bucket_that_is_not_there_is_said(bucket: Any, judged: Callable[..., Job]) -> None:
    bucket.delete()
    judged()
    assert export_due(now=NOW) == 0
    assert fault() == "NO_BUCKET"


def test_keys_that_are_refused_are_said(bucket: Any, store: str, judged: Callable[..., Job]) -> None:
    judged()
    requests.post(f"{store}/moto-api/reset-auth", data=b"0", timeout=PATIENCE_S)
    try:
        export_due(now=NOW)
    finally:
        requests.post(f"{store}/moto-api/reset-auth", data=b"inf", timeout=PATIENCE_S)
    assert fault() == "REFUSED"


def test_a_store_that_is_down_is_said(bucket: Any, judged: Callable[..., Job], settings) -> None:
    settings.EXPORT_TARGET = Bucket("runs", "", f"http://127.0.0.1:{free_ports(1)[0]}", **KEYS)
    judged()
    export_due(now=NOW)
    assert fault() == "UNREACHABLE"


def test_a_store_that_never_answers_is_given_up(
    judged: Callable[..., Job], settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "ANSWER_S", 1.0)
    monkeypatch.setattr(stores, "TRIES", 1)
    settings.EXPORT_FORMAT = "jsonl"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EXPORT_TARGET = Bucket("runs", "", f"http://127.0.0.1:{silent.getsockname()[1]}", **KEYS)
        judged()
        export_due(now=NOW)
    assert fault() == "UNREACHABLE"
