"""A whole site on one machine: Slurm with the shipped hooks, a portal on PostgreSQL, workers on Redis."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

from collector import statefile
from reports.packed_json import unpack_json
from tests.parts import DATABASE_URL, REDIS_URL, empty_redis, need
from tests.processes import PATIENCE_S, end, free_ports, wait_until
from tests.slurm.cluster import CLUSTER, Cluster, is_open
from tests.slurm.hooks import CHECKOUT, WithHooks
from tests.slurm.nodes import FakeNodes
from tests.tables import create_postgresql


class Site(WithHooks):
    """Everything that runs; `reports()` is what the portal has."""

    def __init__(self) -> None:
        need("PostgreSQL")
        empty_redis()
        with ExitStack() as ending:
            self.cluster = Cluster()
            self.top = self.cluster.top
            ending.callback(shutil.rmtree, self.top, ignore_errors=True)
            self.database = f"kaiku_slurm_{os.getpid()}"
            create_postgresql(DATABASE_URL, self.database)
            ending.callback(self._drop_database)
            self.processes: list[subprocess.Popen[bytes]] = []
            ending.callback(self._end_processes)
            ending.callback(self.cluster.stop)
            self.nodes = FakeNodes(self.top)
            ending.callback(self.nodes.stop)
            (port,) = free_ports(1)
            self.install_collector(port)
            with ThreadPoolExecutor(1) as pool:
                slurm = pool.submit(self.cluster.start)
                self._start_portal()
                slurm.result()
            self.ending = ending.pop_all()

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
            "STEP_SECONDS": "1",
            "SETTLE_SECONDS": "20",
        }
        (self.top / "token").write_text(self.manage("create_token", "nodes", "--cluster", CLUSTER))
        (self.top / "token").chmod(0o600)
        bind = f"127.0.0.1:{self.port}"
        self._spawn("portal", "python", "manage.py", "serve", "--bind", bind, "--workers", "1")
        self._spawn("worker", "celery", "-A", "portal", "worker", "--concurrency", "1", "--beat")
        wait_until("portal", lambda: is_open(self.port))

    def _drop_database(self) -> None:
        with psycopg.connect(DATABASE_URL, autocommit=True, connect_timeout=5) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{self.database}" WITH (FORCE)')

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
            timeout=PATIENCE_S,
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
        self.ending.close()

    def _end_processes(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            end(process)
