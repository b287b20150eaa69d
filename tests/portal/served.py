"""The real server in a process of its own, on the tests' database, and calls to it over HTTP on loopback."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db import connection

from tests.parts import need
from tests.processes import PATIENCE_S, children, free_ports, wait_until
from tests.tables import copy_sqlite

SUMMARIES, RECORDS = "/api/v1/ingest/node-summaries", "/api/v1/ingest/job-records"
"""Less than the deadlines of the server: whoever is held up until one of them passes is not answered in time."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]
    token: str = ""

    def with_token(self, token: str) -> Server:
        return replace(self, token=token)

    def workers(self) -> list[int]:
        """The processes that serve."""
        return children(self.process.pid)

    def ask(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        http_connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            http_connection.request(method, path, body, headers)
            answer = http_connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            http_connection.close()

    def post(self, path: str, document: Any, token: str | None = None) -> Answer:
        body = gzip.compress(json.dumps(document).encode())
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return self.ask(path, "POST", body, Authorization=f"Bearer {token or self.token}", **headers)

    def half_sent(self, text: bytes) -> socket.socket:
        """A connection on which no more than this was sent."""
        started = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        started.sendall(text)
        return started


def database_environment(var: Path) -> dict[str, str]:
    """What a process is given to work on the tests' PostgreSQL."""
    need("the tests' PostgreSQL")
    database = connection.settings_dict
    address = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    return os.environ | {
        "DATABASE_URL": f"postgres://{address}/{database['NAME']}",
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "SECRET_KEY": "only for tests",
        "ALLOWED_HOSTS": "127.0.0.1",
        "HTTPS": "0",
        "KAIKU_VAR_DIR": str(var),
    }


def embedded_environment(var: Path) -> dict[str, str]:
    """A portal of its own on SQLite, in this folder."""
    named = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    environment = named | {"DJANGO_SETTINGS_MODULE": "portal.settings", "KAIKU_VAR_DIR": str(var)}
    copy_sqlite(var / "kaiku.sqlite3")
    return environment


def manage(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *command], env=environment, check=True, capture_output=True, timeout=PATIENCE_S
    )
    return done.stdout.decode().split("\n")[0].strip()


@contextmanager
def serving(environment: dict[str, str], *options: str, port: int | None = None) -> Iterator[Server]:
    """The server until the end of the block."""
    port = port or free_ports(1)[0]
    log = Path(environment["KAIKU_VAR_DIR"]) / "serve.log"
    command = [sys.executable, "manage.py", "serve", "--bind", f"127.0.0.1:{port}", *options]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_until("the server", lambda: answers(port))
        yield Server(port, process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as asked:
        try:
            asked.request("GET", "/healthz")
            return asked.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
