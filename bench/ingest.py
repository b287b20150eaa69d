"""The ingest against a bare application in the same run: one payload a call, batches, and a storm of all nodes.

The limit is `bench.bare_ingest` with the same server and eight threads. Payloads are the sample runs', of 8 GPUs, each
from another node, gzip as collectors send them. Each is acknowledged after its commit. Needs PostgreSQL (DATABASE_URL),
where it creates a test database. Run by `make bench`. With `--minutes 10` it then sends at 80 % of the measured rate
for this time and prints rate, waits and memory for each tenth of it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import psycopg  # noqa: E402
from django.db import connection  # noqa: E402

from bench.bare_ingest import TABLES  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from bench.senders import request, send_all  # noqa: E402
from demo.generate import sample_jobs  # noqa: E402
from metrics.models import NodeSummary  # noqa: E402
from tests.tokens import create_collector_token  # noqa: E402

PATH = "/api/v1/ingest/node-summaries"
CALLS, SENDERS, BATCH, STORM = 2000, 64, 100, 2978
ROUNDS, PROCESSES = 3, 2
RATIO_MIN, STORM_RATIO_MAX = 0.8, 1.3
LOAD_SHARE, LONG_CALLS, TENTHS = 0.8, 20_000, 10
JOB_ID = re.compile(rb'"job_id": ([0-9]+)')

Servers = dict[str, tuple[int, int]]
"""Port and process of each."""

job_ids = count(10_000_000)


class Taken(NamedTuple):
    """Seconds of each, and the share of the limit that was reached."""

    kaiku_s: float
    bare_s: float
    ratio: float


def payloads() -> Iterator[dict[str, Any]]:
    """Node summaries of 8 GPUs from the sample runs, repeated, each for another run."""
    until = datetime(2026, 11, 20, tzinfo=UTC)
    documents = (summary for job in sample_jobs(seed=2026, jobs=120, until=until) for summary in summaries(job))
    known = list(islice((document for document in documents if len(document["gpus"]) == 8), 60))
    for document in cycle(known):
        yield document | {"job_id": next(job_ids)}


def summaries(job: Any) -> list[dict[str, Any]]:
    return [document for document in json.loads(job.to_json()) if document["schema"] == "node-summary/1"]


def calls(source: Iterator[dict[str, Any]], number: int, token: str, batch: int = 0) -> list[bytes]:
    bodies = (list(islice(source, batch)) if batch else next(source) for _ in range(number))
    return [request(PATH, token, gzip.compress(json.dumps(body).encode(), 6)) for body in bodies]


def server(kind: str) -> AbstractContextManager[tuple[int, int]]:
    """The ingest, or the bare application, in a process of its own."""
    if kind == "bare":
        return bare_server("bench.bare_ingest:application")
    return serving("manage.py", "serve", "--ingest-only", "--workers", str(PROCESSES))


def bare_server(application: str) -> AbstractContextManager[tuple[int, int]]:
    """A bare WSGI application in the portal's own server, eight threads each."""
    quiet = ("--log-level", "warning", "--backlog", "4096", "--workers", str(PROCESSES))
    how = ("--interface", "wsgi", "--http", "1", "--blocking-threads", "8")
    return serving("-m", "granian", *how, *quiet, application)


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own, on the benchmark's database: its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    database = connection.settings_dict
    address = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    url = f"postgres://{address}/{database['NAME']}"
    environment = os.environ | {
        **{"DATABASE_URL": url, "BARE_DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "portal.settings"},
        **{"SECRET_KEY": "only for the benchmark", "ALLOWED_HOSTS": "127.0.0.1", "HTTPS": "0"},
    }
    where = ("--bind", f"127.0.0.1:{port}") if command[0] == "manage.py" else ("--port", str(port))
    process = subprocess.Popen([sys.executable, *command, *where], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"nothing answers on port {port}")


def measured(name: str, servers: Servers, make: Callable[[], list[bytes]], senders: int, records: int) -> Taken:
    """Median seconds of each server over the rounds, in turns; and one line of the table, of so many records."""
    taken: dict[str, list[float]] = {kind: [] for kind in servers}
    used = {kind: -processor_s(pid) for kind, (_, pid) in servers.items()}
    for _ in range(ROUNDS):
        for kind, (port, _) in servers.items():
            sent = send_all(port, make(), senders)
            assert set(sent.statuses) <= {200, 201}, (kind, sent.statuses)
            taken[kind].append(sent.seconds)
    seconds = {kind: median(each) for kind, each in taken.items()}
    ratio = seconds["bare"] / seconds["kaiku"]
    cells = (
        f"{records / seconds[kind]:9,.0f} /s{(used[kind] + processor_s(pid)) / ROUNDS / records * 1e3:6.2f} ms"
        for kind, (_, pid) in servers.items()
    )
    print(f"  {name:32}{''.join(cells)}{ratio:8.2f}", flush=True)
    return Taken(seconds["kaiku"], seconds["bare"], ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0, help="then send for this time at 80 %%")
    minutes = parser.parse_args().minutes
    token, source = create_collector_token("bench", "lumi"), payloads()
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as bare:
        bare.execute(TABLES)
    print("two processes each, PostgreSQL; processor time a payload   kaiku              bare   ratio")
    with server("kaiku") as kaiku, server("bare") as bare_server:
        servers = {"kaiku": kaiku, "bare": bare_server}
        for port, _ in servers.values():
            send_all(port, calls(source, 200, token), SENDERS)
        singles = measured("64 senders, one a call", servers, lambda: calls(source, CALLS, token), SENDERS, CALLS)
        batches = measured("8 senders, 100 a call", servers, lambda: calls(source, 20, token, BATCH), 8, 20 * BATCH)
        storm = measured(f"storm: {STORM:,} at once", servers, lambda: calls(source, STORM, token), STORM, STORM)
        print(f"  the storm takes {storm.kaiku_s:.1f} s, bare {storm.bare_s:.1f} s")
        if minutes:
            load(*kaiku, minutes, token, source)
    stored = NodeSummary.objects.count()
    assert stored == 200 + ROUNDS * (CALLS + 20 * BATCH + STORM) or minutes, stored
    held = min(singles.ratio, batches.ratio) >= RATIO_MIN and storm.ratio >= 1 / STORM_RATIO_MAX
    print(f"  at least {RATIO_MIN}, {RATIO_MIN} and {1 / STORM_RATIO_MAX:.2f}: {'ok' if held else 'MISSED'}")


def load(port: int, pid: int, minutes: float, token: str, source: Iterator[dict[str, Any]]) -> None:
    """At 80 % of the measured rate, for this time: whether waits and memory stay constant."""
    make = endless(source, token)
    sent = send_all(port, islice(make, LONG_CALLS), SENDERS)
    rate_s = LOAD_SHARE * LONG_CALLS / sent.seconds
    print(f"  {LONG_CALLS:,} calls in {sent.seconds:.0f} s; then {rate_s:,.0f} a second for {minutes:g} minutes")
    print(f"  {'':14}sent/s   p50 ms   p99 ms   resident MB")
    number = int(rate_s * minutes * 60 / TENTHS)
    for tenth in range(TENTHS):
        sent = send_all(port, islice(make, number), SENDERS, rate_s)
        assert set(sent.statuses) == {201}, sent.statuses
        waits = f"{sent.percentile_ms(0.5):9.0f}{sent.percentile_ms(0.99):9.0f}"
        print(f"    {tenth + 1:2} of {TENTHS}{number / sent.seconds:12,.0f}{waits}{resident_mb(pid):14.0f}", flush=True)


def endless(source: Iterator[dict[str, Any]], token: str) -> Iterator[bytes]:
    """Calls for different runs, not compressed: only the job's number is replaced."""
    bodies = [json.dumps(document).encode() for document in islice(source, 60)]
    halves = [body.split(JOB_ID.findall(body)[0]) for body in bodies]
    assert all(len(each) == 2 for each in halves), "the job's number occurs once"
    for before, after in cycle(halves):
        yield request(PATH, token, before + str(next(job_ids)).encode() + after, encoding="identity")


def resident_mb(pid: int) -> float:
    """Of the server's processes together."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in family(pid))
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def processor_s(pid: int) -> float:
    """Of the server's processes together, since they began."""
    stats = (Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in family(pid))
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


if __name__ == "__main__":
    if connection.vendor != "postgresql":
        print("ingest: skipped, it needs PostgreSQL (DATABASE_URL)")
        sys.exit()
    with empty_database():
        main()
