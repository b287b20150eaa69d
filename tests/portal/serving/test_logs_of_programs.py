"""The lines of the real programs with LOG_FORMAT=json: server, workers and commands, their libraries' own included."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.services import record_job
from metrics.services import record_node_summary
from portal.steps.step import RUN_STEPS
from reports.models import Report
from tests.parts import REDIS_URL, empty_redis
from tests.payloads import job_record, node_payload, summary
from tests.portal.served import SUMMARIES, database_environment, embedded_environment, manage, serving
from tests.portal.serving.test_celery import worker as celery_worker
from tests.processes import PATIENCE_S, wait_until

IN_JSON = {"LOG_FORMAT": "json", "BEHIND_PROXY": "yes"}
FAULT = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
import django
django.setup()
int("zora" + "ida")
"""
FIELDS = {"time", "level", "logger", "message", "request_id", "task", "task_id", "error", "place", "traceback"}


def lines_of(log: Path) -> list[dict[str, str]]:
    """Every line as the object that it is."""
    said = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(each.keys() <= FIELDS for each in said)
    return said


def test_a_server_writes_objects_with_the_number_of_each_call_and_of_no_other(tmp_path: Path) -> None:
    environment = embedded_environment(tmp_path) | IN_JSON
    numbers = {f"secret-{place}": f"{place:032x}" for place in range(64)}

    def refused(secret: str) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {secret}", "X-Request-ID": numbers[secret]}
        answer = server.ask(SUMMARIES, "POST", b"{}", **headers)
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}["x-request-id"]

    with serving(environment) as nobodys:
        server = nobodys.with_token(manage(environment, "create_token", "nodes", "--cluster", "lumi"))
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(refused, numbers)) == [(401, number) for number in numbers.values()]
        assert server.post(SUMMARIES, summary()).status == 201
        assert server.ask("/no/page?name=zoraida").status == 404
        os.kill(server.process.pid, signal.SIGTERM)
        server.process.wait(PATIENCE_S)
    said = lines_of(tmp_path / "serve.log")
    by_number = {line["request_id"]: line["message"] for line in said if line["logger"] == "portal.ingest.door"}
    assert len(by_number) == len(numbers)
    for secret, number in numbers.items():
        assert by_number[number].startswith(f"token {hashlib.sha256(secret.encode()).hexdigest()[:8]}…")
    assert "_granian" in {line["logger"].partition(".")[0] for line in said}
    (page,) = [line for line in said if line["logger"] == "django.request"]
    assert page["message"] == "404 Not Found: GET an address without a page"
    assert "zoraida" not in str(said)


def test_the_local_worker_names_its_work(tmp_path: Path) -> None:
    environment = embedded_environment(tmp_path) | IN_JSON
    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        command = [sys.executable, "manage.py", "worker"]
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        wait_until("the first expiry", lambda: log.read_text().count("kept for") >= 6)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
    said = lines_of(log)
    assert {line["task"] for line in said} == {"expire"}
    assert len({line["task_id"] for line in said}) == 1


def test_a_command_that_meets_a_fault_ends_with_an_object(tmp_path: Path) -> None:
    environment = embedded_environment(tmp_path) | IN_JSON
    done = subprocess.run([sys.executable, "-c", FAULT], env=environment, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert (json.loads(line)["message"], json.loads(line)["error"]) == ("the process ended", "ValueError")
    assert "zoraida" not in line
    assert done.returncode == 1


@pytest.mark.celery
@pytest.mark.xdist_group("redis")
@pytest.mark.django_db(transaction=True)
def test_a_celery_worker_writes_objects_with_the_task_they_belong_to(tmp_path: Path) -> None:
    empty_redis()
    environment = database_environment(tmp_path) | IN_JSON | {"REDIS_URL": REDIS_URL, "STEP_SECONDS": "1"}
    record_job(job_record())
    record_node_summary(node_payload([10.0] * 3))
    log = tmp_path / "first.log"
    with celery_worker(environment, "first", "--beat") as process:
        wait_until("a report", Report.objects.exists)
        wait_until("its end", lambda: "succeeded" in log.read_text())
        process.terminate()
        process.wait(PATIENCE_S)
    said = lines_of(log)
    ended = [line for line in said if line["logger"] == "celery.app.trace"]
    assert {line["task"] for line in ended} == {RUN_STEPS}
    assert {line["task_id"] in line["message"] for line in ended} == {True}
    assert "worker: Warm shutdown (MainProcess)" in {line["message"] for line in said}
    came = [line for line in said if line["logger"] == "celery.worker.strategy"]
    assert {line["task_id"] for line in ended} <= {line["task_id"] for line in came}
