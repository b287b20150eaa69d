"""A process that is killed after a receiver took its post and before it could write that down."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S
from tests.tables import copy_sqlite
from tests.web_receiver import Receiver, receiver

ROOT = Path(__file__).resolve().parents[3]
FILL = """
import os
import django; django.setup()
from django.utils import timezone
from jobs.models import User
from reports.webhooks.services.keeping import create_webhook
from tests.early_words import found_word
now = timezone.now()
for job_id, owner in enumerate(("alice", "bob", "carol"), 1):
    found_word(job_id, user=owner, found_at=now)
    user = User.objects.get(username=owner)
    address = os.environ["RECEIVER"] + owner
    create_webhook(user, name="ops", shape="generic", address=address, project=None, now=now)
"""
ROUND = """
import django; django.setup()
from django.utils import timezone
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.sending import send_posts
plan_posts(10, timezone.now())
send_posts()
"""


def run(code: str, environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def house(tmp_path: Path) -> dict[str, str]:
    """An embedded installation of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"KAIKU_VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "portal.settings"}
    environment |= {"WEBHOOK_LOOPBACK": "yes"}
    copy_sqlite(tmp_path / "kaiku.sqlite3")
    return environment


def killed_round(house: dict[str, str], web: Receiver) -> None:
    worker = run(ROUND, house)
    web.on_taken = lambda: os.kill(worker.pid, signal.SIGKILL)
    worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == -signal.SIGKILL
    web.on_taken = lambda: None


def test_after_a_kill_each_post_on_the_way_repeats_at_most_once_with_its_number(
    house: dict[str, str], tmp_path: Path
) -> None:
    with receiver(tmp_path) as web:
        house |= {"SSL_CERT_FILE": str(web.authority), "RECEIVER": web.address("/")}
        assert run(FILL, house).communicate(timeout=PATIENCE_S)[1] == ""
        killed_round(house, web)
        assert 1 <= len(web.posts) <= 3
        first = {post.headers["X-Kaiku-Delivery"] for post in web.posts}
        # While the lease lasts, what is in doubt is left alone.
        assert run(ROUND, house).communicate(timeout=PATIENCE_S)[1] == ""
        assert {post.headers["X-Kaiku-Delivery"] for post in web.posts} == first
        with sqlite3.connect(tmp_path / "kaiku.sqlite3") as database:
            database.execute("UPDATE reports_webhookdelivery SET claimed_at = '2026-11-20 12:00:00'")
        database.close()
        for _ in range(2):
            assert run(ROUND, house).communicate(timeout=PATIENCE_S)[1] == ""
        keys = [post.headers["X-Kaiku-Delivery"] for post in web.posts]
    assert len(set(keys)) == 3
    assert max(keys.count(key) for key in keys) <= 2
