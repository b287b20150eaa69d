"""A dump as it is taken every night, restored as the page says: every row is there, and a report reads the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.utils import timezone
from psycopg import sql

from analysis.services import analyse_job
from demo.generate import sample_jobs
from jobs.models import Job
from portal.ingest.body import records
from portal.ingest.services import KINDS, ingest
from reports.models import Report
from reports.selectors import due_efficiencies
from reports.services.publishing import publish
from tests.deploy.compose import ROOT
from tests.parts import need
from tests.portal.served import database_environment
from tests.processes import PATIENCE_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("backup")]

JOBS = 12
LEFT_OUT = "django_session"
PAGE = (ROOT / "docs/backup.md").read_text()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The tests' PostgreSQL, with sample jobs in it that are judged and reported."""
    need("pg_dump")
    found = database_environment(tmp_path)
    now = timezone.now()
    for job in islice(sample_jobs(seed=7, until=now), JOBS):
        ingest(records(job.to_json()), list(KINDS))
    for pk in Job.objects.values_list("pk", flat=True):
        analyse_job(pk, now)
    for pk in due_efficiencies().values_list("pk", flat=True):
        publish(pk, now)
    return found


@pytest.fixture
def restored(environment: dict[str, str]) -> Iterator[str]:
    """The name of an empty database beside the first."""
    name = f"{connection.settings_dict['NAME']}_restored"
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as there:
        there.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        there.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    yield name
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as there:
        there.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def contents(url: str) -> dict[str, tuple[int, str]]:
    """Of every table how many rows it has, and one number over all that they say."""
    with psycopg.connect(url) as there:
        names = there.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        query = sql.SQL("SELECT count(*), coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM {} t")
        return {name: there.execute(query.format(sql.Identifier(name))).fetchone() or (0, "") for (name,) in names}


def printed(environment: dict[str, str], *command: str) -> bytes:
    manage = [sys.executable, "manage.py", *command]
    return subprocess.run(manage, env=environment, check=True, capture_output=True, timeout=PATIENCE_S).stdout


def test_a_dump_brings_back_every_row_and_every_report(
    environment: dict[str, str], restored: str, tmp_path: Path
) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    old = folder / "kaiku-20200101T000000Z.dump"
    old.touch()
    os.utime(old, (0, 0))
    backup = subprocess.run(
        [ROOT / "deploy/portal/backup", folder],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    (dump,) = folder.iterdir()
    assert backup.stdout.strip() == str(dump)
    assert re.fullmatch(r"kaiku-\d{8}T\d{6}Z\.dump", dump.name)
    assert dump.stat().st_mode & 0o077 == 0

    url = environment["DATABASE_URL"]
    there = url.rpartition("/")[0] + f"/{restored}"
    options = re.search(r"^runuser -u kaiku -- pg_restore (.*) --dbname kaiku ", PAGE, re.M)
    assert options is not None
    subprocess.run(["pg_restore", *options[1].split(), "--dbname", there, dump], check=True, timeout=PATIENCE_S)

    before, after = contents(url), contents(there)
    assert before["jobs_job"][0] == before["reports_report"][0] == JOBS
    assert set(before) == set(after)
    assert after.pop(LEFT_OUT)[0] == 0
    before.pop(LEFT_OUT)
    assert after == before

    again = environment | {"DATABASE_URL": there}
    name = "{}/{}".format(*Report.objects.order_by("pk").values_list("job__cluster", "job__job_id")[0])
    assert printed(again, "report", name, "--format", "json") == printed(
        environment, "report", name, "--format", "json"
    )
    assert printed(again, "migrate", "--check") == b""


@pytest.mark.needs("pg_dump")
def test_old_dumps_go_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    old, other = tmp_path / "kaiku-20200101T000000Z.dump", tmp_path / "kept.txt"
    for path in (old, other):
        path.touch()
        os.utime(path, (0, 0))
    nowhere = os.environ | {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    failed = subprocess.run(
        [ROOT / "deploy/portal/backup", tmp_path], env=nowhere, capture_output=True, timeout=PATIENCE_S
    )
    assert failed.returncode != 0
    # What a failed one would replace stays.
    assert set(tmp_path.iterdir()) == {old, other}
