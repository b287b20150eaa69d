"""Kaiku on three hosts: PostgreSQL, Redis and the portal on the first, a worker with its beat on each of two others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from email import message_from_bytes
from pathlib import Path
from typing import Any

import psycopg
import redis

from tests.hosts.machines import Host, Network
from tests.parts import postgresql_programs
from tests.payloads import record, summary
from tests.processes import PATIENCE_S, wait_until

BIN = Path(sys.executable).parent
NODE_COUNT = 4
ALICE, TOLD_EACH = "alice", 4
"""Every fourth job is of somebody with an address: a letter takes longer than all the rest."""

# Who judged what, and how often: the address of the host is the worker's.
WHO_JUDGED = """
CREATE TABLE who_judged (job bigint, worker inet, revision int, of_record int, of_measurements bigint);
CREATE FUNCTION note_judge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO who_judged
  VALUES (NEW.job_id, inet_client_addr(), NEW.revision, NEW.job_revision, NEW.metrics_revision);
  RETURN NEW;
END $$;
CREATE TRIGGER note_judge AFTER INSERT OR UPDATE ON analysis_jobefficiency FOR EACH ROW EXECUTE FUNCTION note_judge();
"""
WISHES = """
INSERT INTO reports_deliverypreference (user_id, frequency, minimum_class, with_pdf, changed_at)
SELECT id, 'immediate', 'EFFICIENT', false, now() FROM jobs_user WHERE username = 'alice';
UPDATE jobs_user SET email = 'alice@users.example' WHERE username = 'alice';
"""


class Site:
    """All of it; `top` holds every log, the database and the mail of each worker."""

    def __init__(self) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="kaiku-hosts-", dir="/tmp"))
        self.top.chmod(0o755)
        self.last_job, self.told = 0, list[int]()
        self.network = Network()
        try:
            self.network.boot()
            self.portal, self.one, self.two, self.node = map(self.network.host, ("portal", "one", "two", "node"))
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        self._make_database()
        self.start_postgres()
        self.start_redis()
        self.ask("CREATE DATABASE kaiku", database="postgres")
        self._manage("migrate", "--verbosity", "0")
        self.token = self._manage("create_token", "nodes", "--cluster", "lumi")
        self.start_portal()
        self.ask(WHO_JUDGED)
        for worker in self.workers:
            self.start_worker(worker)
        wait_until("the beat", self.beat_host)
        # An owner is known from the first record on; she wants a message for every job.
        self.wait_until_done(self.send(TOLD_EACH).finish())
        self.ask(WISHES)

    @property
    def workers(self) -> tuple[Host, Host]:
        return self.one, self.two

    def environment(self, host: Host, **more: str) -> dict[str, str]:
        var = self.top / host.name
        var.mkdir(exist_ok=True)
        return os.environ | {
            "DATABASE_URL": f"postgres://postgres@{self.portal.address}/kaiku",
            "REDIS_URL": f"redis://{self.portal.address}/0",
            "SECRET_KEY": "only for tests",
            "ALLOWED_HOSTS": self.portal.address,
            "HTTPS": "0",
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "KAIKU_VAR_DIR": str(var),
            "STEP_SECONDS": "1",
            "DELIVER_SECONDS": "2",
            **more,
        }

    def _make_database(self) -> None:
        self.programs, self.data = postgresql_programs(), self.top / "data"
        shutil.chown(self.top, "postgres")
        make = [self.programs / "initdb", "-D", self.data, "-U", "postgres", "--auth", "trust", "--no-sync"]
        subprocess.run(
            ["runuser", "-u", "postgres", "--", *make], check=True, capture_output=True, cwd="/", timeout=PATIENCE_S
        )
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.99.0.0/24 trust\n")

    def start_postgres(self) -> None:
        where = {"listen_addresses": self.portal.address, "unix_socket_directories": self.top, "fsync": "off"}
        options = [f"--{name}={value}" for name, value in where.items()]
        as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self._serve(
            self.portal, "postgres", *as_postgres, str(self.programs / "postgres"), "-D", str(self.data), *options
        )
        wait_until("PostgreSQL", lambda: self._is_up("postgres"))

    def start_redis(self) -> None:
        options = ["--bind", self.portal.address, "--protected-mode", "no", "--save", "", "--appendonly", "no"]
        sockets = ["--unixsocket", str(self.top / "redis.sock"), "--dir", str(self.top)]
        self._serve(self.portal, "redis", "redis-server", *options, *sockets)
        wait_until("Redis", self._has_redis)

    def start_portal(self) -> None:
        """What takes payloads and shows pages."""
        command = [sys.executable, "manage.py", "serve", "--bind", f"{self.portal.address}:8000"]
        environment = self.environment(self.portal)
        self.portal.start("portal", *command, environment=environment, log=self.top / "portal.log")

    def start_worker(self, host: Host, **more: str) -> None:
        alone = ("--beat", "--without-gossip", "--without-mingle", "--concurrency", "1", "--loglevel", "INFO")
        command = [str(BIN / "celery"), "-A", "portal", "worker", *alone]
        host.start("worker", *command, environment=self.environment(host, **more), log=self.top / f"{host.name}.log")

    def _serve(self, host: Host, name: str, *command: str) -> None:
        host.start(name, *command, environment=dict(os.environ), log=self.top / f"{name}.log")

    def _manage(self, *arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        return self.portal.run(*command, environment=self.environment(self.portal))

    def ask(self, statement: str, *values: object, database: str = "kaiku") -> list[tuple[Any, ...]]:
        """Rows of a statement; over the socket in `top`, which no cut cable concerns."""
        with psycopg.connect(host=str(self.top), user="postgres", dbname=database, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def _is_up(self, database: str) -> bool:
        try:
            return self.ask("SELECT 1", database=database) == [(1,)]
        except psycopg.OperationalError:
            return False

    def _redis(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.top / "redis.sock"))

    def _has_redis(self) -> bool:
        try:
            return self._redis().ping()
        except redis.ConnectionError:
            return False

    def beat_host(self) -> tuple[Host, int] | None:
        """The worker whose beat sends, and the number of its process there; None while there is none."""
        holder = self._redis().get("kaiku:beat")
        if holder is None:
            return None
        name, pid, _ = holder.decode().rsplit(" ", 2)
        return next(host for host in self.workers if host.name == name.partition("/")[0]), int(pid)

    def send(self, count: int, told_each: int = TOLD_EACH) -> Sending:
        """Bring a number of new jobs, each a record and a summary, over HTTP from a node of the cluster."""
        first, self.last_job = self.last_job + 1, self.last_job + count
        jobs = range(first, self.last_job + 1)
        told = [job for job in jobs if told_each and job % told_each == 0]
        self.told += told
        return Sending(self, jobs, told)

    def reported(self, jobs: range) -> int:
        (count,) = self.ask(
            "SELECT count(*) FROM reports_report r JOIN jobs_job j ON r.job_id = j.id WHERE j.job_id BETWEEN %s AND %s",
            jobs.start,
            jobs.stop - 1,
        )[0]
        return count

    def wait_until_done(self, jobs: range) -> None:
        wait_until(f"reports on {jobs}", lambda: self._is_up("kaiku") and self.reported(jobs) == len(jobs))

    def judged(self, jobs: range) -> tuple[Counter[str], list[tuple[Any, ...]]]:
        """How many of these jobs each worker judged, by its name; and the jobs that were judged more than once."""
        rows = self.ask(
            "SELECT j.job_id, host(w.worker), w.revision, w.of_record, w.of_measurements"
            " FROM who_judged w JOIN jobs_job j ON j.id = w.job"
            " WHERE j.job_id BETWEEN %s AND %s",
            jobs.start,
            jobs.stop - 1,
        )
        names = {host.address: host.name for host in self.workers}
        times = Counter(job for job, *_ in rows)
        return Counter(names[worker] for _, worker, *_ in rows), [row for row in rows if times[row[0]] > 1]

    def tasks_taken(self) -> dict[str, int]:
        """How many tasks each worker has taken from the queue so far."""
        return {host.name: (self.top / f"{host.name}.log").read_text().count("] received") for host in self.workers}

    def let_leases_end(self) -> None:
        """As if the minutes had passed after which what a lost worker was at is anybody's."""
        self.ask("UPDATE reports_delivery SET claimed_at = claimed_at - interval '1 hour' WHERE state = 'sending'")
        self.ask(
            "UPDATE jobs_workfailure SET claimed_until = now() - interval '1 hour' WHERE claimed_until IS NOT NULL"
        )

    def open_work(self) -> dict[str, int]:
        """What is left to do, or set aside."""
        counts = {
            "messages": "SELECT count(*) FROM reports_delivery WHERE state NOT IN ('sent', 'suppressed')",
            "reports without a message": "SELECT count(*) FROM reports_report r JOIN jobs_job j ON r.job_id = j.id"
            " JOIN jobs_user u ON j.user_id = u.id WHERE r.delivery_id IS NULL AND u.email <> ''",
            "set aside": "SELECT count(*) FROM jobs_workfailure WHERE set_aside_at IS NOT NULL",
        }
        return {what: self.ask(statement)[0][0] for what, statement in counts.items()}

    def letters(self) -> Counter[str]:
        """How many different messages there are about each job, by subject."""
        found = {
            (letter["Message-ID"], letter["Subject"])
            for host in self.workers
            for path in (self.top / host.name / "outbox").glob("*.eml")
            for letter in (message_from_bytes(path.read_bytes()),)
        }
        return Counter(subject for _, subject in found)

    def stop(self) -> None:
        self.network.stop()
        shutil.rmtree(self.top, ignore_errors=True)


class Sending:
    """Payloads on their way."""

    def __init__(self, site: Site, jobs: range, told: list[int]) -> None:
        self.jobs = jobs
        documents = []
        for job in jobs:
            node = f"nid{5001 + job % NODE_COUNT:06d}"
            owner = ALICE if job in told else "bob"
            documents.append(["node-summaries", summary(job_id=job, node=node)])
            documents.append(["job-records", record(job_id=job, nodes=[node], user_id=owner)])
        command = [sys.executable, "-m", "tests.hosts.sender", f"http://{site.portal.address}:8000", site.token]
        self.acknowledged = site.top / f"acknowledged-{jobs.start}"
        asked = site.top / f"sent-{jobs.start}"
        asked.write_text("".join(json.dumps(document) + "\n" for document in documents))
        script = 'exec "$@" <"$KAIKU_SENT"'
        self.node, self.name = site.node, f"sender-{jobs.start}"
        site.node.start(
            self.name,
            *["sh", "-c", script, "sh", *command],
            environment=os.environ | {"KAIKU_SENT": str(asked)},
            log=self.acknowledged,
        )

    def count(self) -> int:
        return len(self.acknowledged.read_text().splitlines())

    def wait_until(self, count: int) -> None:
        """Until so many payloads have been acknowledged."""
        wait_until(f"{count} acknowledged", lambda: self.count() >= count)

    def finish(self) -> range:
        """The jobs, once everything about them has been acknowledged."""
        process = self.node.running[self.name]
        assert process.wait(PATIENCE_S) == 0, self.acknowledged.read_text()[-500:]
        assert self.count() == 2 * len(self.jobs), self.acknowledged.read_text()[-500:]
        return self.jobs
