"""Real workers on a real Redis and PostgreSQL: rows are the queue, so nothing a worker drops is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.services import JUDGEMENT
from jobs.models import User
from jobs.services import record_job
from jobs.work_queue.selectors import failure_counts, failures
from metrics.services import record_node_summary
from reports.models import Delivery, Report
from tests.analysis.poison import runs_with_poison
from tests.parts import REDIS_URL, empty_redis
from tests.payloads import job_record, node_payload
from tests.processes import PATIENCE_S, children, ended_after, wait_until

pytestmark = [pytest.mark.celery, pytest.mark.xdist_group("redis"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What a worker host is given: the same database and an empty Redis."""
    empty_redis()
    database = connection.settings_dict
    address = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    return os.environ | {
        "DATABASE_URL": f"postgres://{address}/{database['NAME']}",
        "REDIS_URL": REDIS_URL,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "KAIKU_VAR_DIR": str(tmp_path),
        "STEP_SECONDS": "1",
    }


@contextmanager
def worker(
    environment: dict[str, str], name: str, *more: str, application: str = "portal"
) -> Iterator[subprocess.Popen]:
    command = [sys.executable, "-m", "celery", "-A", application, "worker", "--concurrency", "1", "-n", name, *more]
    log = Path(environment["KAIKU_VAR_DIR"]) / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        with ended_after(process):
            yield process


def beat(environment: dict[str, str]) -> list[str]:
    return ["--beat"]


def efficiency_class() -> str:
    return Report.objects.get().content["efficiency"]["efficiency_class"]


def arrive(job_id: int) -> None:
    record_job(job_record(job_id=job_id))
    record_node_summary(node_payload(job_id=job_id))


def test_a_worker_turns_what_arrived_into_reports(environment: dict[str, str]) -> None:
    arrive(1)
    with worker(environment, "first", *beat(environment)):
        wait_until("a report", Report.objects.exists)
        record_node_summary(node_payload([10.0] * 8, job_id=1, sequence=9))
        wait_until("the next revision", lambda: efficiency_class() == "WASTED")


POST = """
import django; django.setup()
from django.test import Client
from tests.tokens import create_collector_token
import json
from tests.payloads import record, summary
token = create_collector_token("nodes", "lumi")
for path, document in (("job-records", record()), ("node-summaries", summary())):
    answer = Client().post(f"/api/v1/ingest/{path}", json.dumps(document), "application/json",
                           headers={"Authorization": f"Bearer {token}", "Host": "localhost"})
    assert answer.status_code == 201, answer.content
"""


def test_what_arrives_is_followed_up_without_the_beat(environment: dict[str, str]) -> None:
    with worker(environment, "first"):
        subprocess.run([sys.executable, "-c", POST], env=environment, check=True, timeout=PATIENCE_S)
        wait_until("a report", Report.objects.exists)


def test_a_killed_worker_and_an_emptied_redis_lose_nothing(environment: dict[str, str]) -> None:
    for job_id in range(1, 41):
        arrive(job_id)
    with worker(environment, "first", *beat(environment)) as first:
        wait_until("a judgement", JobEfficiency.objects.exists)
        first.kill()
        first.wait()
    empty_redis()
    with worker(environment, "second", *beat(environment)), worker(environment, "third"):
        wait_until("forty reports", lambda: Report.objects.count() == 40)
    assert set(JobEfficiency.objects.values_list("revision", flat=True)) == {1}


def test_twenty_of_sixty_that_cannot_be_judged_are_set_aside_and_no_process_ends(environment: dict[str, str]) -> None:
    """`tests.analysis.test_poison` has more of them, in this process."""
    poisoned = runs_with_poison(60, 20)

    def is_settled() -> bool:
        failures().update(next_at=None)  # hours go by
        return failure_counts() == {(JUDGEMENT, "set_aside"): 20} and Report.objects.count() == 40

    with worker(environment, "first", *beat(environment)) as process:
        wait_until("a judgement", JobEfficiency.objects.exists)
        processes = children(process.pid)
        wait_until("forty reports and twenty set aside", is_settled)
        assert children(process.pid) == processes
    assert sorted(failures().values_list("key", flat=True)) == poisoned
    assert set(failures().values_list("tries", flat=True)) == {5}
    assert set(JobEfficiency.objects.values_list("revision", flat=True)) == {1}


def test_a_worker_writes_the_mail_that_is_due(environment: dict[str, str]) -> None:
    record_job(job_record(job_id=1, ended_at=timezone.now() - timedelta(hours=1)))
    record_node_summary(node_payload(job_id=1))
    User.objects.update(email="alice@users.example")
    with worker(environment | {"DELIVER_SECONDS": "1"}, "first", *beat(environment)):
        wait_until("a message", Delivery.objects.filter(state="sent").exists)
    (letter,) = (Path(environment["KAIKU_VAR_DIR"]) / "outbox").glob("*.eml")
    assert "Subject: Kaiku: job 1, train" in letter.read_text()
