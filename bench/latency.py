"""From the last acknowledged payload of a job to its report, for one node and for all 2,978 of LUMI-G.

A real worker does the work: the local one (`manage.py worker`), or with REDIS_URL one of Celery that is woken up by
arriving data. The limit is the bare judgement and report of the same job in this process; the rest of the time is the
waiting between the steps. Needs PostgreSQL (DATABASE_URL). Run by `make bench`, within two minutes on a quiet machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis.services import judge  # noqa: E402
from bench.analysis import store  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.services import record_job  # noqa: E402
from metrics.services import record_node_summary  # noqa: E402
from portal.ingest.nudges import nudges  # noqa: E402
from reports.models import Report  # noqa: E402
from reports.services.publishing import publish  # noqa: E402
from tests.payloads import job_record, node_payload  # noqa: E402

SECONDS_MAX = {1: 3.0, 2978: 10.0}
REPEATS = 3
PATIENCE_S, REST_S, POLL_S = 120.0, 4.0, 0.02
GPUS_A_NODE = 8


def main() -> None:
    record_node_summary(node_payload())
    kind = "Celery" if settings.REDIS_URL else "the local worker"
    print(f"from the last acknowledgement to the report, by {kind}; median of {REPEATS}")
    print(f"  {'nodes':>6}{'report after':>15}{'bare steps':>13}{'':>9}{'at most':>11}")
    with worker() as is_there:
        for place, (nodes, seconds_max) in enumerate(SECONDS_MAX.items(), start=1):
            runs = [arrival(1000 * place + repeat, nodes, is_there) for repeat in range(REPEATS)]
            took_s, bare_s = (sorted(column)[REPEATS // 2] for column in zip(*runs, strict=True))
            verdict = "ok" if took_s <= seconds_max else "MISSED"
            print(
                f"  {nodes:6,}{took_s:13.2f} s{bare_s:11.2f} s{took_s / bare_s:7.1f} x{seconds_max:9.0f} s  {verdict}",
                flush=True,
            )


def arrival(job_id: int, nodes: int, is_there: Callable[[], bool]) -> tuple[float, float]:
    """Seconds from the last payload of a job to its report, and those of the bare steps."""
    took_s = report_s(job_id, nodes, is_there)
    began_s = time.perf_counter()
    judged = judge(Job.objects.get(job_id=job_id).pk, timezone.now(), lambda job, revision: False)
    assert judged is not None
    assert publish(judged.row.pk, judged=judged)
    return took_s, time.perf_counter() - began_s


def report_s(job_id: int, nodes: int, is_there: Callable[[], bool]) -> float:
    """Seconds from the last payload of a job to its report."""
    names = [*store(job_id, nodes - 1), "nid009999"]
    gpus = GPUS_A_NODE * nodes
    # It has ended only now; otherwise nothing would wait for the last node.
    ended_at = timezone.now()
    times = {"started_at": ended_at - timedelta(hours=2), "ended_at": ended_at}
    size = {"nodes": names, "node_count": nodes, "gpus_allocated": gpus, "gpus_requested": gpus}
    record_job(job_record(job_id=job_id, **size, **times))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    time.sleep(REST_S)
    assert not Report.objects.filter(job__job_id=job_id).exists(), "a node is missing"
    record_node_summary(node_payload(job_id=job_id, node=names[-1]))
    nudges.arrived()
    began_s = time.perf_counter()
    while not Report.objects.filter(job__job_id=job_id).exists():
        assert time.perf_counter() - began_s < PATIENCE_S, "no report"
        assert is_there(), "the worker ended"
        time.sleep(POLL_S)
    return time.perf_counter() - began_s


@contextmanager
def worker() -> Iterator[Callable[[], bool]]:
    """One worker process on the same database; whether it is still running."""
    database = connection.settings_dict
    address = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    environment = os.environ | {"DATABASE_URL": f"postgres://{address}/{database['NAME']}"}
    celery = ["-m", "celery", "-A", "portal", "worker", "--concurrency", "1", "--loglevel", "ERROR"]
    command = [sys.executable, *(celery if settings.REDIS_URL else ["manage.py", "worker"])]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(REST_S)
        yield lambda: process.poll() is None
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    if connection.vendor != "postgresql":
        print("latency: skipped, it needs PostgreSQL (DATABASE_URL)")
    else:
        with empty_database():
            main()
