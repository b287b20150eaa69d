"""A process that is killed while it removes runs, and one that meets a run that somebody else holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction

from jobs.models import Job
from portal import expiry
from tests.portal.test_expiry import job_ids, make_run, removed
from tests.processes import PATIENCE_S
from tests.tables import copy_sqlite

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
FILL = """
import django; django.setup()
from datetime import UTC, datetime, timedelta
from tests.portal.test_expiry import make_run
for job_id in range(1, 7):
    make_run(job_id, datetime(2020, 1, job_id, tzinfo=UTC))
"""
KILLED = """
import django; django.setup()
import os, signal
from django.utils import timezone
from jobs.expiry import services
from jobs.models import Job
from portal import expiry
services.RUNS_TOGETHER = 1
forget = expiry.forget_runs
def forget_two(runs):
    if Job.objects.count() == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    forget(runs)
expiry.forget_runs = forget_two
expiry.expire(timezone.now())
"""
COUNT = """
import django; django.setup()
from jobs.models import Job
from metrics.models import NodeSummary
from reports.models import Report
print(Job.objects.count(), NodeSummary.objects.count(), Report.objects.count())
"""


@pytest.fixture
def house(tmp_path: Path, settings) -> dict[str, str]:
    """An installation with six old runs: on this database where it is PostgreSQL, else an embedded one of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"KAIKU_VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    if connection.vendor == "postgresql":
        url = urlsplit(os.environ["DATABASE_URL"])
        environment["DATABASE_URL"] = url._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    else:
        copy_sqlite(tmp_path / "kaiku.sqlite3")
    run(environment, FILL)
    return environment


def run(environment: dict[str, str], program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )


def test_a_kill_leaves_whole_runs_and_the_next_process_goes_on(house: dict[str, str]) -> None:
    assert run(house, COUNT).stdout.split() == ["6"] * 3
    assert run(house, KILLED).returncode == -signal.SIGKILL
    # Two were removed; of the third the measurements were on their way out when the process ended.
    assert run(house, COUNT).stdout.split() == ["4"] * 3
    command = [sys.executable, "manage.py", "expire"]
    said = subprocess.run(command, cwd=ROOT, env=house, check=True, capture_output=True, text=True).stdout
    assert "runs: 4 runs deleted, kept for 1,100 days\n" in said
    assert run(house, COUNT).stdout.split() == ["0"] * 3


@pytest.mark.postgresql
def test_a_run_that_somebody_holds_is_left_for_the_next_time_and_nobody_waits(now: datetime) -> None:
    held, other = make_run(1, now - timedelta(days=1200)), make_run(2, now - timedelta(days=1200))

    def expire_elsewhere() -> int:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
            return removed(now)["RUN_DAYS"]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        assert Job.objects.select_for_update().get(pk=held.pk) != other
        assert pool.submit(expire_elsewhere).result(timeout=PATIENCE_S) == 1
    assert job_ids() == [1]
    assert [outcome.removed for outcome in expiry.expire(now)][4] == 1
