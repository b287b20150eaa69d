"""What the interim summaries of 3,000 nodes change: the ingest and the time to a report, in turns with and without.

They come at 0.83 a second, one an hour from each node, beside the load of `bench.ingest` and beside the jobs of
`bench.latency`. Each figure is the least disturbed of its turns, its limit that without them. On a machine with other
work the CPU time of the ingest's processes says more than the clock. Needs PostgreSQL (DATABASE_URL), where it creates
a test database. Takes some minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.db import connection  # noqa: E402

from bench.empty_database import empty_database  # noqa: E402
from bench.ingest import BATCH, CALLS, PATH, SENDERS, STORM, calls, payloads, processor_s, server  # noqa: E402
from bench.latency import report_s, worker  # noqa: E402
from bench.senders import request, send_all  # noqa: E402
from metrics.models import RunningNode  # noqa: E402
from metrics.services import record_node_summary  # noqa: E402
from tests.payloads import node_payload  # noqa: E402
from tests.tokens import create_collector_token  # noqa: E402

NODES, HOUR_S = 3000, 3600.0
RATE_S = NODES / HOUR_S
RATIO_MAX = 1.05
TURNS = 6
CPU_MIN_S = 0.1
MEMORY = {"step_s": 60.0, "gb": [100.0] * 60}
"""The points that a collector sends at most."""

numbers = count()


def interim(document: dict[str, Any]) -> dict[str, Any]:
    """The next interim summary: of one node after the other, each a later one of its run."""
    number, place = divmod(next(numbers), NODES)
    cpu = document["cpu"] | {"recent_busy_cores": 7.5, "memory_timeline": MEMORY}
    gpus = [gpu | ({} if gpu["gpu_id"] % 2 else {"recent_power_avg_w": 95.5}) for gpu in document["gpus"]]
    of_node = {"job_id": 9_000_000 + place, "node": f"nid{place:06d}", "sequence": number + 1, "final": False}
    return document | of_node | {"recent_s": 1.0, "gpus": gpus, "cpu": cpu}


@contextmanager
def beside(port: int, token: str, source: Iterator[dict[str, Any]], is_on: bool) -> Iterator[None]:
    """Interim summaries at their rate until the end, if `is_on`; each is stored, or rejected because too much waits."""
    over = threading.Event()
    statuses: list[int] = []

    def send() -> None:
        while not over.wait(1 / RATE_S):
            body = gzip.compress(json.dumps(interim(next(source))).encode(), 6)
            statuses.extend(send_all(port, [request(PATH, token, body)], 1).statuses.elements())

    thread = threading.Thread(target=send)
    if is_on:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if is_on:
            thread.join()
    assert set(statuses) <= {201, 503}, statuses


def compared(name: str, turn: Callable[[], float], around: Callable[[bool], Any], cpu_s: Callable[[], float]) -> None:
    """One line of the table: seconds by the clock and of the ingest's CPU, without and with them.

    Without a ratio where the ingest has nothing else to do.
    """
    taken: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for place in range(2 * TURNS):
        is_on = place % 2 == 1
        with around(is_on):
            before_s = cpu_s()
            took_s = turn()
            taken[is_on].append((took_s, cpu_s() - before_s))
    cells = []
    for without, with_them in zip(zip(*taken[False], strict=True), zip(*taken[True], strict=True), strict=True):
        first_s, second_s = min(without), min(with_them)
        ratio = f"{second_s / first_s:8.3f}" if first_s >= CPU_MIN_S else f"{'–':>8}"
        cells.append(f"{first_s:9.3f} s{second_s:9.3f} s{ratio}")
    print(f"  {name:30}{''.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("ingest", "report"), help="one half of the table")
    only = parser.parse_args().only
    token, source, others = create_collector_token("bench", "lumi"), payloads(), payloads()
    kinds: dict[str, tuple[Callable[[], list[bytes]], int]] = {
        f"{CALLS} calls, 64 senders": (lambda: calls(source, CALLS, token), SENDERS),
        f"{20 * BATCH} summaries, 100 a call": (lambda: calls(source, 20, token, BATCH), 8),
        f"storm: {STORM:,} at once": (lambda: calls(source, STORM, token), STORM),
    }
    print(f"{RATE_S:.2f} interim summaries a second: least of {TURNS} turns without, with, ratio (limit {RATIO_MAX})")
    print(f"  {'':30}{'by the clock':^30}{'CPU of the ingest':^30}")
    with server("kaiku") as (port, pid):
        send_all(port, calls(source, 200, token), SENDERS)
        around, cpu_s = partial(beside, port, token, others), partial(processor_s, pid)
        for name, (make, senders) in kinds.items() if only != "report" else ():
            compared(name, partial(_seconds, port, make, senders), around, cpu_s)
        record_node_summary(node_payload())  # of which `report_s` makes its nodes
        ids = count(1000)
        with worker() as is_there:
            for nodes in (1, STORM) if only != "ingest" else ():
                compared(f"to the report, {nodes:,} nodes", partial(_report_s, ids, nodes, is_there), around, cpu_s)
    print(f"  {RunningNode.objects.count()} nodes that go on were stored")


def _seconds(port: int, make: Callable[[], list[bytes]], senders: int) -> float:
    return send_all(port, make(), senders).seconds


def _report_s(ids: Iterator[int], nodes: int, is_there: Callable[[], bool]) -> float:
    return report_s(next(ids), nodes, is_there)


if __name__ == "__main__":
    if connection.vendor != "postgresql":
        print("interim_load: skipped, it needs PostgreSQL (DATABASE_URL)")
        sys.exit()
    with empty_database():
        main()
