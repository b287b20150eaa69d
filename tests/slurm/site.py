"""A whole site on one machine: Slurm with the shipped hooks, a portal on PostgreSQL, workers on Redis."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

from collector import statefile
from reports.packed_json import unpack_json
from tests.parts import REDIS_URL, empty_redis, missing
from tests.processes import free_ports, wait_until
from tests.slurm.cluster import CLUSTER, Cluster, end, is_open, is_possible
from tests.slurm.hooks import CHECKOUT, WithHooks
from tests.slurm.nodes import FakeNodes

DATABASE_URL = os.environ.get("TEST_DATABASE_URL", "postgres://root@127.0.0.1:5432/postgres")


class Site(WithHooks):
    """Everything that runs; `reports()` is what the portal has."""

    def __init__(self) -> None:
        if not is_possible():
            missing("Slurm (its daemons, MariaDB's and the right to start them)")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.cluster = Cluster()
        self.top = self.cluster.top
        self.database = f"kaiku_slurm_{os.getpid()}"
        self.nodes = FakeNodes(self.top)
        empty_redis()
        try:
            self._administer("CREATE DATABASE {}")
        except psycopg.OperationalError:
            missing("PostgreSQL")
        (port,) = free_ports(1)
        self.install_collector(port)
        with ThreadPoolExecutor(1) as pool:
            slurm = pool.submit(self.cluster.start)
            self._start_portal()
            slurm.result()

    def _start_portal(self) -> None:
        self.address = DATABASE_URL.rpartition("/")[0] + f"/{self.database}"
        self.environment = os.environ | {
            "DATABASE_URL": self.address,
            "REDIS_URL": REDIS_URL,
            "SECRET_KEY": "only for tests",
            "ALLOWED_HOSTS": "127.0.0.1",
            "HTTPS": "0",
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "KAIKU_VAR_DIR": str(self.top / "var"),
            "SWEEP_SECONDS": "1",
            "SETTLE_SECONDS": "20",
        }
        self.manage("migrate", "--verbosity", "0")
        (self.top / "token").write_text(self.manage("create_token", "nodes", "--cluster", CLUSTER))
        (self.top / "token").chmod(0o600)
        bind = f"127.0.0.1:{self.port}"
        self._spawn("portal", "python", "manage.py", "serve", "--bind", bind, "--workers", "1")
        self._spawn("worker", "celery", "-A", "portal", "worker", "--concurrency", "1", "--beat")
        wait_until("portal", lambda: is_open(self.port))

    def _administer(self, statement: str) -> None:
        with psycopg.connect(DATABASE_URL, autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement.format(f'"{self.database}"'))

    def _spawn(self, name: str, *command: str) -> None:
        with (self.top / f"{name}.out").open("ab") as output:
            program = Path(sys.executable).with_name(command[0])
            process = subprocess.Popen(
                [program, *command[1:]], cwd=CHECKOUT, env=self.environment, stdout=output, stderr=output
            )
        self.processes.append(process)

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=CHECKOUT,
            env=self.environment | {"SLURM_CONF": str(self.top / "slurm.conf")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def kill_node(self, node: str) -> None:
        """A node that fails and boots anew.

        One kernel stands for all nodes here, so the boot that the collector remembers is made another one.
        """
        self.crash(node)
        for path in self.top.glob(f"nodes/{node}/state/jobs/*/job"):
            statefile.save(str(path), statefile.read(str(path)) | {"boot_id": "the one before"})

    def accounted_gpus(self, job_id: int) -> bool:
        """Whether accounting has all of an ended job: Slurm completes a row some seconds after it."""
        row = self.cluster.run("sacct", "-nPX", "-j", str(job_id), "-o", "State,ReqTRES")
        return row.startswith("COMPLETED") and "gres/gpu" in row

    def reports(self) -> dict[str, dict[str, Any]]:
        """The content of every report, by `job.attempt`."""
        query = "SELECT run.job_id, attempt, content FROM reports_report r JOIN jobs_job run ON run.id = r.job_id"
        with psycopg.connect(self.address) as connection:
            rows = connection.execute(query).fetchall()
        return {f"{job}.{attempt}": unpack_json(content) for job, attempt, content in rows}

    def roles(self) -> dict[str, str]:
        """Who is what in the one project."""
        members = "SELECT username, role FROM jobs_membership JOIN jobs_user ON jobs_user.id = user_id"
        with psycopg.connect(self.address) as connection:
            return dict(connection.execute(members).fetchall())

    def stop(self) -> None:
        self.nodes.stop()
        self.cluster.stop()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            end(process)
        self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        shutil.rmtree(self.top, ignore_errors=True)
