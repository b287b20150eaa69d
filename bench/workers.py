"""Ended jobs judged and reported by 1, 2, 4 and 8 worker processes at once, as a ratio to one of them.

The limit is the machine: as many times one worker as it has processors, because the database uses the same ones. Work
that two workers checked was done in vain: none is allowed except a single piece at the end of a list. Needs PostgreSQL
(DATABASE_URL), because the embedded database has one worker. Run by `make bench`, within two minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis import services as analysis  # noqa: E402
from analysis.models import JobEfficiency, SweepMark  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from jobs.models import Job, WorkFailure  # noqa: E402
from jobs.services import record_job  # noqa: E402
from metrics.services import record_node_summary  # noqa: E402
from reports.models import Report  # noqa: E402
from reports.services import publishing  # noqa: E402
from tests.payloads import job_record, node_payload  # noqa: E402

JOBS, BATCH_SIZE = 240, 200
WORKERS = (1, 2, 4, 8)
TWICE_MAX = 0.01


def main() -> None:
    for job_id in range(1, JOBS + 1):
        record_job(job_record(job_id=job_id))
        record_node_summary(node_payload(job_id=job_id))
    print(f"{JOBS} jobs of one node, judged and reported; {os.cpu_count()} processors, with the database on them")
    print(f"  {'workers':>7}{'jobs/s':>9}{'of one':>9}{'CPU a job':>12}{'statements':>12}{'checked twice':>18}")
    alone = 0.0
    for workers in WORKERS:
        jobs_s, cpu_s, statements, twice = at_once(workers)
        alone = alone or jobs_s
        print(
            f"  {workers:7}{jobs_s:9.1f}{jobs_s / alone:7.2f} x{cpu_s * 1e3:9.1f} ms{statements:12.1f}{twice:18}",
            flush=True,
        )
        assert twice <= TWICE_MAX * JOBS, "workers did the same work"


def at_once(workers: int) -> tuple[float, float, float, int]:
    """Jobs a second of this many workers, their CPU seconds and statements for each, and what they checked in vain."""
    for model in (Report, JobEfficiency, SweepMark, WorkFailure):
        model.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    database = connection.settings_dict
    address = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    environment = os.environ | {"DATABASE_URL": f"postgres://{address}/{database['NAME']}"}
    command = [sys.executable, "-m", "bench.workers", "worker"]
    jobs = Job.objects.values_list("pk", flat=True)[:workers]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    started = [subprocess.Popen([*command, str(job)], **pipes) for job in jobs]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for process in started:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [json.loads(process.communicate()[0]) for process in started]
    took_s = time.perf_counter() - began
    assert Report.objects.count() == JobEfficiency.objects.filter(revision=1).count() == JOBS
    cpu_s, statements = (sum(each[name] for each in told) / JOBS for name in ("cpu_s", "statements"))
    return JOBS / took_s, cpu_s, statements, sum(sum(each["seen"].values()) for each in told) - 2 * JOBS


def work(first_job: int) -> None:
    """One worker: waits for the start, does what is due, and returns how many pieces it checked.

    Work that a process does only once is done before: it judges one job, and reverts that.
    """
    with transaction.atomic():
        judged = analysis.judge(first_job, timezone.now(), lambda job, revision: False)
        assert judged
        publishing.publish(judged.row.pk, judged=judged)
        transaction.set_rollback(True)
    seen: Counter[str] = Counter()
    analysis.judge = counted(seen, analysis.judge)
    publishing.publish = counted(seen, publishing.publish)
    print("ready", flush=True)
    sys.stdin.readline()
    began_s, asked = time.process_time(), Counter[str]()
    with connection.execute_wrapper(counted(asked, lambda execute, *arguments: execute(*arguments))):
        while publishing.follow_up(BATCH_SIZE):
            continue
    told = {"seen": seen, "cpu_s": time.process_time() - began_s, "statements": asked.total()}
    print(json.dumps(told))


def counted(seen: Counter[str], step: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(step)
    def counting(*arguments: Any, **options: Any) -> Any:
        seen[step.__name__] += 1
        return step(*arguments, **options)

    return counting


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(int(sys.argv[2]))
    elif connection.vendor != "postgresql":
        print("workers: skipped, it needs PostgreSQL (DATABASE_URL)")
    else:
        with empty_database():
            main()
