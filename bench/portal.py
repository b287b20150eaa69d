"""Every page with very many jobs in PostgreSQL: p50 and p95 of the page and of its queries, beside a bare SELECT.

`python -m bench.portal` loads 200,000 jobs, `--jobs 2000000` ten times as many; DATABASE_URL names the server, on which
a test database is made and removed. The limit of a page is one SELECT of the rows that it shows.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")

import django

django.setup()

from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext, setup_databases, teardown_databases  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis.efficiency import classify  # noqa: E402
from analysis.models import JobEfficiency  # noqa: E402
from jobs.models import Job, Membership, Project, User  # noqa: E402

TARGET_MS = 150
REPEATS = 20
BATCH_ROWS = 5000
DAYS = 400
JOBS_A_PROJECT = 4000
USERS_A_PROJECT = 8
PARTITIONS = ("small-g", "standard-g", "dev-g")
PAGES = (
    *("/", "/jobs/", "/jobs/?sort=wasted", "/jobs/?page=100", "/jobs/?q=train_7", "/history/?of=all&days=365"),
    *("/projects/", "/projects/{project}/?days=365", "/learn/", "/about/"),
)
BARE = "SELECT * FROM jobs_job WHERE project_id = %s ORDER BY ended_at DESC LIMIT 25"


def load(jobs: int) -> None:
    """Projects of a few users each, with jobs spread over the last year; the first user leads the first project."""
    now, dice = timezone.now(), random.Random(1)
    projects = Project.objects.bulk_create(
        Project(name=f"project_{465000001 + index}") for index in range(max(jobs // JOBS_A_PROJECT, 1))
    )
    users = User.objects.bulk_create(User(username=f"user{index}") for index in range(len(projects) * USERS_A_PROJECT))
    Membership.objects.create(user=users[0], project=projects[0], role=Membership.Role.PI)

    def rows() -> Iterator[Job]:
        for job_id in range(jobs):
            project = dice.randrange(len(projects))
            ended = now - timedelta(seconds=dice.uniform(0, DAYS * 86400))
            yield Job(
                cluster="lumi",
                job_id=job_id,
                user=users[project * USERS_A_PROJECT + dice.randrange(USERS_A_PROJECT)],
                project=projects[project],
                job_name=f"train_{job_id % 97}",
                partition=dice.choice(PARTITIONS),
                state="COMPLETED",
                node_count=1,
                gpus_allocated=8,
                walltime_used_s=7200.0,
                started_at=ended - timedelta(hours=2),
                ended_at=ended,
                changed_at=ended,
            )

    made = rows()
    while batch := list(islice(made, BATCH_ROWS)):
        JobEfficiency.objects.bulk_create(_judged(job, dice) for job in Job.objects.bulk_create(batch))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _judged(job: Job, dice: random.Random) -> JobEfficiency:
    util = dice.betavariate(4, 2) * 100
    return JobEfficiency(
        job=job,
        efficiency_class=classify(util).value,
        avg_gpu_util=util,
        coverage_fraction=1.0,
        is_partial=False,
        allocated_gpus=8,
        measured_gpus=8,
        gpu_hours=8.0,
        wasted_gpu_hours=8.0 * (1 - util / 100),
        uncounted_reason="",
        rules_version="bench",
        revision=1,
        job_revision=1,
        metrics_revision=1,
        analysed_at=job.ended_at,
    )


def times_ms(step: Callable[[], object]) -> tuple[float, float]:
    """p50 and p95 of a step after one that does not count."""
    step()
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        step()
        taken.append((time.perf_counter() - start) * 1e3)
    taken.sort()
    return taken[REPEATS // 2], taken[int(REPEATS * 0.95) - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200_000)
    jobs = parser.parse_args().jobs
    if connection.vendor != "postgresql":
        raise SystemExit("the bench of the pages wants PostgreSQL: set DATABASE_URL")
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        load(jobs)
        client = Client()
        client.force_login(User.objects.get(username="user0"))
        name = Project.objects.order_by("pk").values_list("name", flat=True)[0]
        bare_ms = times_ms(bare)[0]
        print(f"{jobs:,} jobs, a PI of {JOBS_A_PROJECT:,}; a bare SELECT of 25 rows takes {bare_ms:.2f} ms")
        print(f"  {'page':38} {'p50':>8} {'p95':>8}  {'queries':>9}   (p95 <= {TARGET_MS} ms)")
        for path in PAGES:
            show(client, path.format(project=name))
    finally:
        teardown_databases(databases, verbosity=0)


def bare() -> None:
    with connection.cursor() as cursor:
        cursor.execute(BARE, [Project.objects.order_by("pk").values_list("pk", flat=True)[0]])
        cursor.fetchall()


def show(client: Client, path: str) -> None:
    p50_ms, p95_ms = times_ms(lambda: client.get(path).content)
    with CaptureQueriesContext(connection) as queries:
        client.get(path)
    query_ms = sum(float(query["time"]) for query in queries.captured_queries) * 1e3
    verdict = "ok" if p95_ms <= TARGET_MS else "MISSED"
    print(f"  {path:38} {p50_ms:5.1f} ms {p95_ms:5.1f} ms  {query_ms:6.1f} ms   {verdict}")


if __name__ == "__main__":
    main()
