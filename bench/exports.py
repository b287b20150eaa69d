"""The export of runs in each format, streamed from PostgreSQL: rows a second against a bare COPY of the same columns.

`python -m bench.exports` loads 100,000 made-up jobs (`bench.many_jobs`), `--jobs 2000000` twenty times as many, and
`--keep` keeps them for the next time. DATABASE_URL names the server, where a test database is created and removed. The
limit is `COPY (SELECT …) TO STDOUT` of the columns that a row is made of, in the same order, read and thrown away.
Each format runs in a process of its own, whose peak memory is compared with that of a tenth of the rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("DATABASE_URL", "postgres://postgres@127.0.0.1:5432/kaiku_bench")

import django

django.setup()

from django.db import connection, connections  # noqa: E402
from django.test.utils import setup_databases, teardown_databases  # noqa: E402
from django.utils import timezone  # noqa: E402

from bench.many_jobs import load  # noqa: E402
from jobs.models import Job  # noqa: E402
from reports.performance.judged_row import STORED  # noqa: E402
from reports.performance.services import FORMATS  # noqa: E402

MEASURED = ("csv", "jsonl", "parquet")
RATIO_MIN = {"csv": 0.05, "jsonl": 0.05, "parquet": 0.05}
MEMORY_RATIO_MAX = 1.3


def main() -> None:
    """Print each ratio with its limit; AssertionError if one is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--keep", action="store_true", help="keep the database for the next time")
    asked = parser.parse_args()
    if connection.vendor != "postgresql":
        sys.exit("the benchmark of exports needs PostgreSQL: set DATABASE_URL")
    databases = setup_databases(0, interactive=False, keepdb=asked.keep, serialized_aliases=set())
    try:
        if not Job.objects.exists():
            load(asked.jobs, timezone.now())
        jobs = Job.objects.count()
        bare_s = in_process("", jobs)[0]
        print(f"bare COPY of {jobs:,} rows: {jobs / bare_s:,.0f} rows/s")
        for form in MEASURED:
            took_s, written_bytes, peak_mb = in_process(form, jobs)
            few_mb = in_process(form, jobs // 10)[2]
            ratio = bare_s / took_s
            print(
                f"{form}: {jobs / took_s:,.0f} rows/s, {ratio:.2f} of the bare COPY (at least {RATIO_MIN[form]});"
                f" {written_bytes / 1e6:,.0f} MB; peak memory {peak_mb:.0f} MB, {peak_mb / few_mb:.2f} times that of"
                f" a tenth (at most {MEMORY_RATIO_MAX})",
                flush=True,
            )
            assert ratio >= RATIO_MIN[form], "an export takes too long for each row"
            assert peak_mb <= MEMORY_RATIO_MAX * few_mb, "memory grows with the rows"
    finally:
        teardown_databases(databases, verbosity=0, keepdb=asked.keep)


def in_process(form: str, rows: int) -> tuple[float, int, float]:
    """Seconds, bytes and peak memory in MB of one export, or of the bare COPY, in a process of its own."""
    connections.close_all()
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (form, rows, connection.settings_dict["NAME"]))


def measured(form: str, rows: int, database: str) -> tuple[float, int, float]:
    """The same, in the process itself."""
    connection.settings_dict["NAME"] = database
    runs = Job.objects.order_by("pk")
    last = runs.values_list("pk", flat=True)[rows - 1]
    started_s = time.perf_counter()
    written = sum(map(len, FORMATS[form].write(runs.filter(pk__lte=last)) if form else copied()))
    took_s = time.perf_counter() - started_s
    return took_s, written, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def copied() -> Iterator[bytes]:
    """All rows as PostgreSQL sends them."""
    query = str(Job.objects.order_by("pk").values_list(*STORED.values()).query)
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        for part in copy:
            yield bytes(part)


if __name__ == "__main__":
    main()
