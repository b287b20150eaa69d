"""A server that cannot store anything says why: to people, programs and probes, and in one line of a worker's log."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from jobs.services import record_job
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from portal.environment import secret_key
from portal.steps.step import NIGHTLY
from portal.tasks import run_steps
from reports.mail.emails import Letter, MailError
from reports.mail.emails import post as post_letter
from reports.mail.services.files import FileBackend
from reports.models import Report, StoredPdf
from tests.parts import need
from tests.payloads import job_record, node_payload, summary
from tests.processes import PATIENCE_S, end, free_ports, wait_until
from tests.steps import often_celery, often_local
from tests.tables import copy_sqlite
from tests.tokens import create_collector_token

CHECKOUT = Path(__file__).resolve().parents[3]
READ_ONLY = "The database is read-only at the moment: nothing can be stored."
PDF = "/api/v1/jobs/lumi/123456/report.pdf"
DISK_FULL = "The disk is full: nothing can be stored at the moment."
FULL = """
CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER is_full BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION is_full();
"""
on_postgresql = pytest.mark.postgresql


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@contextmanager
def read_only() -> Iterator[None]:
    """What an administrator does to a database that must not change: every later transaction only reads."""
    run("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        run("SET default_transaction_read_only = off")


@contextmanager
def full(table: str) -> Iterator[None]:
    """The server's own error of a full disk, whenever a row is added to this table."""
    run(FULL.format(table))
    try:
        yield
    finally:
        run(f"DROP TRIGGER is_full ON {table}; DROP FUNCTION is_full()")


@pytest.fixture
def on_server(transactional_db: None) -> None:
    need("the tests' PostgreSQL")


@pytest.fixture
def post(on_server: None) -> Callable[[], object]:
    secret = create_collector_token("nodes", "lumi")

    def send() -> object:
        headers = {"Authorization": f"Bearer {secret}"}
        path = "/api/v1/ingest/node-summaries"
        return Client().post(path, json.dumps(summary()), content_type="application/json", headers=headers)

    return send


@on_postgresql
def test_a_read_only_database_is_named_and_the_sender_comes_again(post: Callable[[], object]) -> None:
    with read_only():
        answer = post()
        ready = Client().get("/readyz")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"] == READ_ONLY
    assert (ready.status_code, ready.json()["status"]) == (503, "database read-only")
    assert post().status_code == 201
    assert Client().get("/readyz").status_code == 200


@on_postgresql
def test_a_full_disk_is_named_and_the_sender_comes_again(post: Callable[[], object]) -> None:
    with full("metrics_nodesummary"):
        answer = post()
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer.json()["detail"] == DISK_FULL
    assert "base/1/2" not in answer.content.decode()
    assert post().status_code == 201
    assert NodeSummary.objects.count() == 1


@on_postgresql
def test_people_still_read_and_are_told_why_they_cannot_change(on_server: None, cast: Callable[[str], Client]) -> None:
    alice = cast("alice")
    with read_only():
        assert alice.get("/jobs/").status_code == 200
        answer = alice.post("/settings/", {"frequency": "weekly", "minimum_class": "WASTED"})
        signed_in = Client().post("/sign-in/", {"username": "alice", "password": "a password of the cast"})
    for each in (answer, signed_in):
        assert each.status_code == 503
        assert READ_ONLY in each.content.decode()


@on_postgresql
@pytest.mark.parametrize("trouble", [read_only, lambda: full("reports_storedpdf")], ids=["read-only", "full"])
def test_a_pdf_that_cannot_be_stored_is_made_and_answered(
    on_server: None, cast: Callable[[str], Client], trouble: Callable
) -> None:
    record_node_summary(node_payload())
    record_job(job_record())
    often_local()
    alice = cast("alice")
    with trouble():
        answer = alice.get(PDF)
    assert (answer.status_code, answer.content[:5], StoredPdf.objects.exists()) == (200, b"%PDF-", False)
    assert alice.get(PDF).status_code == 200
    StoredPdf.objects.update(content=b"%PDF-kept", asked_at=timezone.now() - timedelta(days=2))
    with read_only():
        assert alice.get(PDF).content == b"%PDF-kept"


@on_postgresql
@pytest.mark.parametrize(
    ("trouble", "status"),
    [(read_only, "database read-only"), (lambda: full("jobs_workfailure"), "disk full")],
    ids=["read-only", "full"],
)
@pytest.mark.parametrize("one_round", [often_local, often_celery], ids=["local", "Celery"])
def test_a_worker_says_it_in_one_line_and_goes_on_later(
    on_server: None, caplog: pytest.LogCaptureFixture, trouble: Callable, status: str, one_round: Callable
) -> None:
    record_node_summary(node_payload())
    record_job(job_record())
    with trouble():
        one_round()
    assert not Report.objects.exists()
    (line,) = (each for each in caplog.records if each.levelno >= logging.ERROR)
    assert line.getMessage().startswith(f"{status}: ")
    assert line.getMessage().endswith(" waits until it is due again")
    assert line.exc_info is None
    often_local()
    often_local()
    assert Report.objects.exists()


@pytest.fixture
def no_database(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is lost, and there is no other."""

    def unreachable(*_: object) -> None:
        raise OperationalError("connection failed:\nis the server running?")

    monkeypatch.setattr(connection, "connection", None)
    monkeypatch.setattr(connection, "ensure_connection", unreachable)


@pytest.mark.parametrize(
    "one_round",
    [
        *(often_local, often_celery, partial(run_steps, "DELIVER_SECONDS"), partial(run_steps, NIGHTLY)),
        partial(run_steps, NIGHTLY, "expire"),
    ],
)
def test_steps_without_their_database_are_one_line(
    one_round: Callable, no_database: None, caplog: pytest.LogCaptureFixture, settings, tmp_path: Path
) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    caplog.set_level(logging.INFO)
    one_round()
    lines = [each.getMessage() for each in caplog.records]
    assert lines == ["database unreachable: background work waits until it is due again"]


def test_a_folder_of_messages_that_cannot_be_written_is_no_fault_of_a_mail_server(settings, tmp_path: Path) -> None:
    (tmp_path / "var").touch()
    settings.EMAIL_FILE_PATH = tmp_path / "var" / "outbox"
    letter = Letter(pictures={}, html="<p>x</p>", subject="x", body="x", to=["alice@users.example"])
    with pytest.raises(MailError, match="mail folder: Not a directory") as caught:
        post_letter(letter, FileBackend())
    assert not caught.value.is_permanent


def test_a_portal_whose_data_directory_cannot_be_written_says_so_at_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY")
    (tmp_path / "var").touch()
    with pytest.raises(ImproperlyConfigured, match=r"KAIKU_VAR_DIR: cannot write .*secret_key: Not a directory"):
        secret_key(tmp_path / "var" / "kaiku" / "secret_key", is_embedded=True)


class Portal:
    """A whole embedded portal, a process of its own, whose data lie on a small file system of their own."""

    def __init__(self, var: Path, log: Path) -> None:
        (port,) = free_ports(1)
        self.base, self.var, self.log = f"http://127.0.0.1:{port}", var, log
        kept = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        self.environment = kept | {
            "KAIKU_VAR_DIR": str(var),
            "BIND": f"127.0.0.1:{port}",
            "HTTPS": "0",
            "SECRET_KEY": "x",
        }
        self.environment["DJANGO_SETTINGS_MODULE"] = "portal.settings"
        self.process: subprocess.Popen[bytes] | None = None
        copy_sqlite(var / "kaiku.sqlite3")
        self.token = self.manage("create_token", "nodes", "--cluster", "lumi")

    def start(self) -> None:
        command = [sys.executable, "manage.py", "serve", "--bind", self.base.removeprefix("http://")]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(command, cwd=CHECKOUT, env=self.environment, stdout=output, stderr=output)
        wait_until("the portal", lambda: self.ask("/healthz")[0] == 200)

    def stop(self) -> None:
        if self.process is not None:
            end(self.process)

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        return done.stdout.strip()

    def ask(self, path: str, document: object = None) -> tuple[int, str]:
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.base + path, body, headers), timeout=PATIENCE_S
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def post(self, **changes: object) -> tuple[int, str]:
        return self.ask("/api/v1/ingest/node-summaries", summary(**changes))


@pytest.fixture
def portal(tmp_path: Path) -> Iterator[Portal]:
    """Its data lie on 16 MiB of memory, which only root may mount."""
    need("mounts")
    with ExitStack() as ending:
        var = Path(tempfile.mkdtemp(prefix="kaiku-var-"))
        ending.callback(var.rmdir)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", var], check=True)
        ending.callback(subprocess.run, ["umount", "--lazy", var], check=True)
        started = Portal(var, tmp_path / "portal.log")
        ending.callback(started.stop)
        started.start()
        yield started


def remount(portal: Portal, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", portal.var], check=True)


def assert_refused(portal: Portal, status: str, sentence: str, **changes: object) -> None:
    """Senders keep what they have, people read the reason, the probe has its name."""
    code, said = portal.post(**changes)
    assert (code, json.loads(said)["detail"]) == (503, sentence)
    assert str(portal.var) not in said
    code, said = portal.ask("/readyz")
    assert (code, json.loads(said)["status"]) == (503, status)
    assert portal.ask("/healthz")[0] == 200


def test_a_full_disk_below_sqlite_is_named(portal: Portal) -> None:
    filler = portal.var / "filler"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(2**16))
            except OSError:
                break
    # The journal has some room of its own, which the first ones fill.
    assert any(portal.post(job_id=job_id)[0] == 503 for job_id in range(1, 41))
    assert_refused(portal, "disk full", DISK_FULL, job_id=1000)
    filler.unlink()
    assert portal.post(job_id=1000)[0] == 201
    assert portal.ask("/readyz")[0] == 200


def test_a_read_only_directory_of_sqlite_is_named(portal: Portal) -> None:
    """A portal that is started again on a file system that became read-only, as after a fault of its disk."""
    assert portal.post(job_id=1)[0] == 201
    portal.stop()
    remount(portal, "ro")
    try:
        portal.start()
        assert_refused(portal, "database read-only", READ_ONLY, job_id=2)
        assert portal.ask("/about/")[0] == 200
    finally:
        remount(portal, "rw")
    assert portal.post(job_id=2)[0] == 201
