"""Points that scripts log, against a bare application in the same run: batches of 100, single points, their sorting.

The limit is `bench.bare_points` with the same server and eight threads. Each call is acknowledged after its commit. One
sweep then sorts everything that was stored into its series, as a worker does meanwhile. Needs PostgreSQL
(DATABASE_URL), where it creates a test database. Run by `make bench`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import count, cycle

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import psycopg  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench.bare_points import TABLES  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from bench.ingest import PROCESSES, ROUNDS, bare_server, measured, serving  # noqa: E402
from bench.senders import request, send_all  # noqa: E402
from jobs.experiments.models import MetricSeries, PointBatch  # noqa: E402
from jobs.experiments.services.experiments import named_experiment  # noqa: E402
from jobs.experiments.services.points import sort_points  # noqa: E402
from jobs.experiments.services.runs import RunChange, start_run  # noqa: E402
from jobs.models import Token, User  # noqa: E402
from jobs.tokens.services import issue_token  # noqa: E402

RUNS, METRICS, BATCH, CALLS, SINGLES, SENDERS = 40, 5, 100, 400, 2000, 16
RATIO_MIN, POINTS_A_SECOND_MIN = 0.5, 5000
WARM_UP = 64

steps = count()


def run_ids(user: User) -> list[str]:
    """So many runs that log at the same time."""
    now = timezone.now()
    experiment, _ = named_experiment(user, "bench", now)
    return [start_run(user, experiment.pk, now, change=RunChange(name=f"run {place}")).run_id for place in range(RUNS)]


def bodies(points: int) -> Iterator[bytes]:
    """Calls of so many points each, of a few metrics."""
    while True:
        rows = []
        for place in range(points):
            step = next(steps)
            rows.append(
                {"name": f"metric {place % METRICS}", "step": step, "time": time.time(), "value": 1 / (step + 1)}
            )
        yield json.dumps(rows).encode()


def calls(runs: Iterator[str], token: str, number: int, points: int) -> list[bytes]:
    """Calls as scripts send them, each for the next run."""
    made = bodies(points)
    return [request(f"/api/v1/runs/{next(runs)}/metrics", token, next(made), "identity") for _ in range(number)]


def main() -> None:
    user = User.objects.create(username="alice")
    token = issue_token(user, name="bench", days=1, now=timezone.now(), kind=Token.Kind.RUNS)
    runs = cycle(run_ids(user))
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as bare:
        bare.execute(TABLES)
    print("two processes each, PostgreSQL; processor time a point     kaiku              bare   ratio")
    with (
        serving("manage.py", "serve", "--workers", str(PROCESSES)) as kaiku,
        bare_server("bench.bare_points:application") as bare_app,
    ):
        servers = {"kaiku": kaiku, "bare": bare_app}
        for port, _ in servers.values():
            send_all(port, calls(runs, token, WARM_UP, BATCH), SENDERS)
        batches = measured(
            f"{SENDERS} senders, {BATCH} points a call",
            servers,
            lambda: calls(runs, token, CALLS, BATCH),
            SENDERS,
            CALLS * BATCH,
        )
        measured(f"{SENDERS} senders, one a call", servers, lambda: calls(runs, token, SINGLES, 1), SENDERS, SINGLES)
    rate_s = CALLS * BATCH / batches.kaiku_s
    stored = sorted_rate()
    held = batches.ratio >= RATIO_MIN and min(rate_s, stored) >= POINTS_A_SECOND_MIN
    print(f"  at least {RATIO_MIN} of the limit and {POINTS_A_SECOND_MIN:,} points/s: {'ok' if held else 'MISSED'}")


def sorted_rate() -> float:
    """Points a second that one worker sorts into their series; nothing is lost and nothing is there twice."""
    waiting = sum(PointBatch.objects.values_list("count", flat=True))
    assert waiting == BATCH * (WARM_UP + ROUNDS * CALLS) + ROUNDS * SINGLES, waiting
    start = time.perf_counter()
    while sort_points(RUNS, timezone.now()):
        pass
    taken_s = time.perf_counter() - start
    assert sum(MetricSeries.objects.values_list("count", flat=True)) == waiting
    print(f"  sorted by one worker: {waiting / taken_s:,.0f} points/s")
    return waiting / taken_s


if __name__ == "__main__":
    if connection.vendor != "postgresql":
        print("runs: skipped, it needs PostgreSQL (DATABASE_URL)")
        sys.exit()
    with empty_database():
        main()
