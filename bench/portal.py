"""Every page with very many jobs in PostgreSQL: p50 and p95 of the page and of its queries, beside a bare SELECT.

`python -m bench.portal` loads 200,000 jobs, `--jobs 2000000` ten times as many; `--keep` keeps them for the next time.
DATABASE_URL names the server, where a test database is created and removed. Each page is requested by a person, by a PI
of 4,000 jobs and by one of 100,000, whom `bench.many_jobs` describes. The bare SELECT reads the rows that a page of
Jobs shows. Last come the pages for operators.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("DATABASE_URL", "postgres://postgres@127.0.0.1:5432/kaiku_bench")
os.environ["ALLOWED_HOSTS"] = "testserver,127.0.0.1"
os.environ["API_CALLS_PER_MINUTE"] = os.environ["DOWNLOADS_PER_MINUTE"] = "1000000"

import django

django.setup()

from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import setup_databases, teardown_databases  # noqa: E402
from django.urls import get_resolver  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis.models import JobEfficiency, SilentNode, SweepMark  # noqa: E402
from analysis.rollups.services import note_all, roll_up_due  # noqa: E402
from analysis.selectors import CHANGES  # noqa: E402
from bench.many_jobs import load  # noqa: E402
from jobs.models import Job, Membership, User  # noqa: E402
from jobs.runs.services import key_of_work  # noqa: E402
from jobs.selectors import visible_jobs  # noqa: E402
from jobs.tallies.kinds import COLLECTOR_FAILURES, KINDS, Times  # noqa: E402
from jobs.tallies.services import add  # noqa: E402
from reports.selectors import REPORTED  # noqa: E402

TARGET_MS = 150
REPEATS = 20
PEOPLE = ("person", "pi", "heavy")
PAGES = (
    *("/", "/jobs/", "/jobs/?sort=wasted", "/jobs/?sort=use&efficiency_class=WASTED", "/jobs/?finding=timeout"),
    *("/jobs/?q=train_7", "/jobs/?q=nothing", "/jobs/?partition=dev-g&state=FAILED", "deep", "{job}"),
    *(
        "/jobs/?sort=gpus",
        "/jobs/?sort=class",
        "/jobs/?sort=finding&state=FAILED",
        "/jobs/?group=work",
        "/work/{work}/",
    ),
    *("/history/?days=7", "/history/?days=30", "/history/?days=90", "/history/?days=365", "/history/?of=all&days=365"),
    *("/projects/", "/projects/{project}/?days=90", "/projects/{project}/?days=365"),
    *("/projects/{project}/grant-report/", "/embed/last-jobs.json?n=20"),
    *("/jobs.csv?partition=dev-g", "/api/v1/jobs/", "/learn/", "/about/"),
    *(
        "/api/v1/jobs/?own=1&days=90&sort=wasted&limit=200",
        "/api/v1/jobs/latest/",
        "/api/v1/works/",
        "/api/v1/works/{work}/",
    ),
    *("/api/v1/insights/", "/api/v1/insights/?days=365", "/api/v1/hints/", "/api/v1/check"),
)
SLOWER = {"/projects/{project}/grant-report/": 500}
"""Two years beside each other, which people open some times a year."""

OPERATING = {"/metrics": 50, "/readyz": 50, "/system/": TARGET_MS}
REASONS, SILENT = 200, 300
DEEP_PAGES = 20
ROWS_AWAITED = 2  # of a file: its head and the first row
BARE = "SELECT * FROM jobs_job WHERE user_id = %s ORDER BY ended_at DESC LIMIT 25"


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
    parser.add_argument("--keep", action="store_true", help="keep the database for the next time")
    parser.add_argument("--only", default="", help="only pages whose address contains this")
    asked = parser.parse_args()
    if connection.vendor != "postgresql":
        raise SystemExit("the benchmark of the pages needs PostgreSQL: set DATABASE_URL")
    databases = setup_databases(0, interactive=False, keepdb=asked.keep, serialized_aliases=set())
    try:
        if not Job.objects.exists():
            start = time.perf_counter()
            load(asked.jobs, timezone.now())
            print(f"loaded in {time.perf_counter() - start:.0f} s")
            start = time.perf_counter()
            note_all(timezone.now())
            # A round ends after some minutes, whatever is left.
            days = sum(iter(lambda: roll_up_due(sys.maxsize, timezone.now()), 0))
            print(f"{days:,} days of projects rolled up in {time.perf_counter() - start:.0f} s")
            with connection.cursor() as cursor:
                cursor.execute("VACUUM ANALYZE analysis_personday, analysis_projectday, analysis_workday")
        assert get_resolver().url_patterns
        gc.collect()
        gc.freeze()  # as `portal.asgi` does
        for name in PEOPLE:
            show_person(User.objects.get(username=name), asked.only)
        show_operating(asked.only)
    finally:
        teardown_databases(databases, verbosity=0, keepdb=asked.keep)


def show_person(user: User, only: str) -> None:
    """All pages as one person gets them; of a file its first rows."""
    client = Client()
    client.force_login(user)
    membership = Membership.objects.select_related("project").get(user=user)
    seen = membership.project.jobs.count() if membership.role == Membership.Role.PI else user.jobs.count()
    bare_ms = times_ms(lambda: bare(user))[0]
    print(
        f"\n{user.username} sees {seen:,} of {Job.objects.count():,} jobs; a bare SELECT of 25 takes {bare_ms:.2f} ms"
    )
    print(f"  {'page':42} {'p50':>8} {'p95':>8}   {'queries: number, p50, p95':26} (p95 <= {TARGET_MS} ms)")
    run = visible_jobs(user).order_by("-ended_at").first()
    assert run
    own = run_of(user) or run
    for page in PAGES:
        if only in page:
            names = {"job": f"/jobs/{run.cluster}/{run.job_id}/", "work": own.work_key}
            path = page.format(project=membership.project.name, **names)
            if page == "/api/v1/check":
                show(client, page, TARGET_MS, asked_check(own))
            elif page != "/api/v1/jobs/latest/" or own.user_id == user.pk:
                show(client, path if page != "deep" else deep(client), SLOWER.get(page, TARGET_MS))


def run_of(user: User) -> Job | None:
    """The latest own run with a name of its own, whose work its name and project find from now on."""
    run = user.jobs.exclude(work_key="").order_by("-ended_at").first()
    if run is not None:
        key = key_of_work(run.cluster, run.user, run.project, run.job_name, "")
        if run.work_key != key:
            user.jobs.filter(work_key=run.work_key).update(work_key=key)
            JobEfficiency.objects.filter(user=user, work_key=run.work_key).update(work_key=key)
            with connection.cursor() as cursor:
                cursor.execute("VACUUM jobs_job, analysis_jobefficiency")
            run.work_key = key
    return run


def asked_check(run: Job) -> dict[str, Any]:
    """The next submission of a work, with every part of the answer."""
    options = {"--partition": "small-g", "--nodes": "1", "--gpus-per-node": "8", "--time": "1-00:00:00"}
    component = {"job_name": run.job_name, "options": options}
    return {"schema": "check-request/1", "elsewhere": True, "components": [component]}


def show_operating(only: str) -> None:
    """The answers to a scraper, a health check and an administrator with as many counters as possible."""
    now = timezone.now()
    for name in (CHANGES, REPORTED):
        SweepMark.objects.update_or_create(name=name, defaults={"at": now})
    add(*(COLLECTOR_FAILURES.of("lumi", f"reason {number}") for number in range(REASONS)))
    add(*(kind.of(60.0, *("a" for _ in kind.labels)) for kind in KINDS if isinstance(kind, Times)))
    silent = (SilentNode(cluster="lumi", node=f"nid{number:06}", since=now, last_at=now) for number in range(SILENT))
    SilentNode.objects.bulk_create(silent, ignore_conflicts=True)
    administrator, _ = User.objects.get_or_create(username="administrator", is_superuser=True)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(administrator)
    print(f"\noperators of a portal of {Job.objects.count():,} jobs")
    for path, target_ms in OPERATING.items():
        if only in path:
            show(client, path, target_ms)


def bare(user: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute(BARE, [user.pk])
        cursor.fetchall()


def deep(client: Client) -> str:
    """The address of the page after many pages of Jobs, or of the last page."""
    path = "/jobs/"
    for _ in range(DEEP_PAGES):
        found = re.search(r'rel="next" href="([^"]+)"', client.get(path).content.decode())
        if found is None:
            break
        path = "/jobs/" + found[1].replace("&amp;", "&")
    return path


class QueryClock:
    """Adds up the time of queries, for each page separately."""

    def __init__(self) -> None:
        self.count, self.taken_ms = 0, 0.0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            self.count += 1
            self.taken_ms += (time.perf_counter() - start) * 1e3


def show(client: Client, path: str, target_ms: float, sent: dict[str, Any] | None = None) -> None:
    clocks: list[QueryClock] = []

    def ask() -> None:
        clocks.append(QueryClock())
        with connection.execute_wrapper(clocks[-1]):
            answer: Any = client.get(path) if sent is None else client.post(path, sent, content_type="application/json")
            content = list(islice(answer.streaming_content, ROWS_AWAITED)) if answer.streaming else answer.content
            answer.close()
        assert answer.status_code == 200, f"{path} answers {answer.status_code}"
        assert content, path

    p50_ms, p95_ms = times_ms(ask)
    queries_ms = sorted(clock.taken_ms for clock in clocks[1:])
    told = f"{clocks[-1].count:3} {queries_ms[REPEATS // 2]:7.1f} ms {queries_ms[int(REPEATS * 0.95) - 1]:7.1f} ms"
    verdict = "ok" if p95_ms <= target_ms else "MISSED"
    print(f"  {path[:42]:42} {p50_ms:5.1f} ms {p95_ms:5.1f} ms   {told:26} {verdict}", flush=True)


if __name__ == "__main__":
    main()
