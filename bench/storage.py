"""The database size of a judged and reported job and of a node summary, with indexes, and that of a year of LUMI.

`python -m bench.storage` sends `--jobs` varied sample jobs through ingest, analysis, reports and the planning of mail.
DATABASE_URL names the PostgreSQL server, where a test database is created and removed; without it the whole SQLite file
is measured. Sizes are those after VACUUM, bytes for each job or summary. Everything is then deleted as by `manage.py
expire`, and summaries of whole nodes are measured separately, because most of LUMI's are of whole nodes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis.expiry.services import thin_measurements  # noqa: E402
from analysis.models import FindingRow, JobEfficiency, RecommendationRow  # noqa: E402
from analysis.services import analyse_due  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from demo.generate import sample_jobs  # noqa: E402
from jobs.models import Job, User  # noqa: E402
from metrics.models import NodeSummary  # noqa: E402
from portal.expiry import remove_runs  # noqa: E402
from portal.ingest.body import records  # noqa: E402
from portal.ingest.services import KINDS, ingest  # noqa: E402
from reports.mail.services.planning import plan_due  # noqa: E402
from reports.models import Delivery, Report  # noqa: E402
from reports.services.publishing import publish_due  # noqa: E402

SEED, JOBS = 2026, 3000
JOBS_A_PERSON, PEOPLE_A_PROJECT = 20, 3
TOGETHER, WHOLE_NODE_GPUS = 500, 8
KEPT_DAYS, SERIES_DAYS, YEAR_DAYS = 1100, 400, 365

JOB_BYTES_MAX = NODE_BYTES_MAX = 5_000
LUMI_JOBS, LUMI_SUMMARIES = 2_000_000, 6_000_000
"""Of a year."""

OF_JOBS: tuple[type[Model], ...] = (Job, JobEfficiency, FindingRow, RecommendationRow, Report, Delivery)
"""The tables to which every judged and reported job adds rows."""


@dataclass(frozen=True)
class Table:
    """One table: its rows, and in bytes what they take, what PostgreSQL stores beside them, and each index."""

    name: str
    rows: int
    heap_bytes: int
    toast_bytes: int
    index_bytes: dict[str, int]

    @property
    def parts_bytes(self) -> tuple[int, int, int, int]:
        indexes = sum(self.index_bytes.values())
        return self.heap_bytes, self.toast_bytes, indexes, self.heap_bytes + self.toast_bytes + indexes


def fill(jobs: int) -> None:
    """Sample jobs through the real services, until nothing more is due."""
    people = max(jobs // JOBS_A_PERSON, PEOPLE_A_PROJECT)
    call_command("seed_lessons", verbosity=0)
    projects, until = people // PEOPLE_A_PROJECT, timezone.now()
    for job in sample_jobs(seed=SEED, jobs=jobs, users=people, projects=projects, until=until):
        outcome = ingest(records(job.to_json()), list(KINDS))
        assert not outcome.rejected, outcome.rejected
    User.objects.update(email="somebody@users.example")
    for step in (analyse_due, publish_due):
        while step(TOGETHER):
            continue
    plan_due(people)


def fill_whole_nodes(count: int) -> None:
    """This many summaries of nodes that a job uses exclusively, each of another run."""
    made = sample_jobs(seed=SEED, jobs=JOBS, until=timezone.now())
    whole = [node for job in made for node in job.summaries if len(node["gpus"]) == WHOLE_NODE_GPUS]
    for number in range(count):
        summary = whole[number % len(whole)] | {"job_id": number + 1, "node": f"nid{number % 2978:06d}"}
        outcome = ingest([summary], list(KINDS))
        assert not outcome.rejected, outcome.rejected


def of_nodes() -> list[type[Model]]:
    """The tables of what collectors sent, those with rows."""
    return [model for model in apps.get_app_config("metrics").get_models() if model._default_manager.exists()]


def table(model: type[Model]) -> Table:
    """The sizes of a table in PostgreSQL."""
    name = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_table_size(oid), coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0)"
            " FROM pg_class WHERE oid = %s::regclass",
            [name],
        )
        whole, toast = cursor.fetchone()
        cursor.execute(
            "SELECT indexrelid::regclass::text, pg_relation_size(indexrelid) FROM pg_index"
            " WHERE indrelid = %s::regclass",
            [name],
        )
        return Table(name, model._default_manager.count(), whole - toast, toast, dict(cursor.fetchall()))


def vacuum(how: str = "") -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM {how}")


def lines(tables: list[Table], each: int, *, with_indexes: bool) -> Iterator[str]:
    """Bytes of each table for each job or summary."""
    yield f"  {'table':32}{'rows':>9}" + "".join(f"{name:>9}" for name in ("heap", "toast", "indexes", "all"))
    for found in tables:
        yield f"  {found.name:32}{found.rows:9,}" + "".join(f"{part / each:9,.0f}" for part in found.parts_bytes)
        for name, size in sorted(found.index_bytes.items(), key=lambda pair: -pair[1]) if with_indexes else ():
            yield f"      {name:55}{size / each:9,.0f}"


def measured_bytes(what: str, models: list[type[Model]], each: int, bytes_max: int, *, with_indexes: bool) -> float:
    """Print the tables of jobs or of summaries; the bytes of all of them for each one."""
    tables = [table(model) for model in models]
    print(f"{each:,} {what}, bytes for each")
    print("\n".join(lines(tables, each, with_indexes=with_indexes)))
    size = sum(found.parts_bytes[-1] for found in tables) / each
    print(f"  in all {size:,.0f} (<= {bytes_max:,}) {'ok' if size <= bytes_max else 'MISSED'}\n")
    return size


def show_postgresql(*, with_indexes: bool) -> None:
    vacuum("ANALYZE")
    jobs, summaries = Job.objects.count(), NodeSummary.objects.count()
    job_bytes = measured_bytes("jobs", list(OF_JOBS), jobs, JOB_BYTES_MAX, with_indexes=with_indexes)
    print(f"with {summaries:,} summaries of their nodes, whole or shared:")
    show_expiry("removed", "runs", remove_runs)
    fill_whole_nodes(summaries)
    vacuum("FULL ANALYZE")
    models, what = of_nodes(), f"summaries of nodes with {WHOLE_NODE_GPUS} GPUs"
    node_bytes = measured_bytes(what, models, summaries, NODE_BYTES_MAX, with_indexes=with_indexes)
    show_expiry("thinned", "summaries", thin_measurements)
    vacuum("FULL ANALYZE")
    thinned_bytes = sum(table(model).parts_bytes[-1] for model in models) / summaries
    print(f"  without use over time: {thinned_bytes:,.0f} bytes\n")
    print("\n".join(year(job_bytes, node_bytes, thinned_bytes)))


def show_expiry(done: str, what: str, remove: Callable[..., Any]) -> None:
    """How fast one kind is deleted."""
    start = time.perf_counter()
    count = sum(remove(timezone.now() + timedelta(days=1)))
    print(f"  {count / (time.perf_counter() - start):,.0f} {what} {done} a second")


def year(job_bytes: float, node_bytes: float, thinned_bytes: float) -> Iterator[str]:
    """A year of LUMI, and the steady state in which as much is deleted as arrives, from the bytes of each job and
    summary."""
    jobs, summaries = job_bytes * LUMI_JOBS / 1e9, node_bytes * LUMI_SUMMARIES / 1e9
    yield (
        f"a year of LUMI: {jobs:,.0f} GB of jobs, {summaries:,.0f} GB of node summaries,"
        f" {jobs + summaries:,.0f} GB in all"
    )
    kept_jobs = jobs * KEPT_DAYS / YEAR_DAYS
    days_bytes = node_bytes * SERIES_DAYS + thinned_bytes * (KEPT_DAYS - SERIES_DAYS)
    kept = days_bytes * LUMI_SUMMARIES / YEAR_DAYS / 1e9
    yield (
        f"kept for {KEPT_DAYS:,} days, series for {SERIES_DAYS}: {kept_jobs:,.0f} GB of jobs, {kept:,.0f} GB of node"
        f" summaries, {kept_jobs + kept:,.0f} GB in all"
    )
    yield f"ten times as much: {10 * (kept_jobs + kept):,.0f} GB"


def show_sqlite() -> None:
    jobs, summaries = Job.objects.count(), NodeSummary.objects.count()
    vacuum()
    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        size = cursor.fetchone()[0]
    print(f"{jobs:,} jobs with {summaries:,} node summaries: {size / jobs:,.0f} bytes of the file for each job")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--indexes", action="store_true", help="each index by name")
    asked = parser.parse_args()
    with empty_database():
        fill(asked.jobs)
        if connection.vendor == "postgresql":
            show_postgresql(with_indexes=asked.indexes)
        else:
            show_sqlite()


if __name__ == "__main__":
    main()
