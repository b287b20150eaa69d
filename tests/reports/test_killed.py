"""A process that is killed after the mail server took its message and before it could write that down."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mail_server import HOST, mail_server
from tests.processes import PATIENCE_S
from tests.tables import copy_sqlite

ROOT = Path(__file__).resolve().parents[2]
FILL = """
import django; django.setup()
from tests.payloads import job_record, node_payload
from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from analysis.services import analyse_due
from reports.services.publishing import publish_due
from datetime import UTC, datetime
at = datetime(2026, 11, 20, 12, 10, tzinfo=UTC)
for job_id, owner in enumerate(("alice", "bob", "carol"), 1):
    record_job(job_record(job_id=job_id, user_id=owner))
    record_node_summary(node_payload(job_id=job_id))
    User.objects.filter(username=owner).update(email=f"{owner}@users.example")
analyse_due(10, at)
publish_due(10, at)
"""


@pytest.fixture
def house(tmp_path: Path) -> dict[str, str]:
    """An embedded installation of its own in which three people wait for a message."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"KAIKU_VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "portal.settings"}
    copy_sqlite(tmp_path / "kaiku.sqlite3")
    subprocess.run([sys.executable, "-c", FILL], cwd=ROOT, env=environment, check=True)
    return environment


def deliver(environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "manage.py", "deliver", "--due"]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_after_a_kill_at_most_that_one_message_repeats(house: dict[str, str]) -> None:
    with mail_server() as post:
        house |= {"SMTP_HOST": HOST, "SMTP_PORT": str(post.port)}
        worker = deliver(house)
        post.on_taken = lambda: os.kill(worker.pid, signal.SIGKILL)
        worker.communicate(timeout=PATIENCE_S)
        assert worker.returncode == -signal.SIGKILL
        assert len(post.messages) == 1

        post.on_taken = lambda: None
        assert deliver(house).communicate(timeout=PATIENCE_S) == (None, b"")
        # The two others went; the one in doubt is left alone while its lease lasts.
        assert len(post.messages) == 3
        with sqlite3.connect(Path(house["KAIKU_VAR_DIR"]) / "kaiku.sqlite3") as database:
            database.execute("UPDATE reports_delivery SET claimed_at = '2026-11-20 12:00:00' WHERE state = 'sending'")
        database.close()
        for _ in range(2):
            assert deliver(house).communicate(timeout=PATIENCE_S) == (None, b"")
        ids = [message["Message-ID"] for message in post.messages]
    assert (len(ids), len(set(ids))) == (4, 3)
    assert ids[0] == ids[3]
