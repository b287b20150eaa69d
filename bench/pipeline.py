"""From payload to report: each step's time for one job, as a ratio to a limit measured in the same run.

The limit of ingest is one committed transaction that stores the same payload as a single JSON row: storing cannot be
less. The limit of decoding is `json.loads` of the same bytes, which checks nothing. Run by `make bench`; the database
is the test database of DATABASE_URL, SQLite without it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from analysis.services import analyse_job  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.records import SCHEMA as JOB_RECORD  # noqa: E402
from metrics.models import NodeSummary  # noqa: E402
from portal.ingest.body import records  # noqa: E402
from portal.ingest.services import KINDS, ingest  # noqa: E402
from reports.selectors import due_efficiencies, report_row  # noqa: E402
from reports.services.formats import rendered  # noqa: E402
from reports.services.publishing import publish  # noqa: E402
from tests.payloads import record, summary  # noqa: E402

REPEATS = 60
WARM_UP = 3


def median_s(step: Callable[[int], object], repeats: int = REPEATS) -> float:
    """Median seconds of `step(i)` after a few that do not count."""
    times = []
    for index in range(repeats + WARM_UP):
        start = time.perf_counter()
        step(index)
        times.append(time.perf_counter() - start)
    return sorted(times[WARM_UP:])[repeats // 2]


def main() -> None:
    call_command("check", verbosity=0)
    bodies = [json.dumps(summary(job_id=1000 + index)).encode() for index in range(REPEATS + WARM_UP)]
    jobs = [json.dumps(record(job_id=1000 + index)).encode() for index in range(REPEATS + WARM_UP)]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE bench_limit (body text)")

    def one_row(index: int) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO bench_limit VALUES (%s)", [bodies[index].decode()])

    store_limit_s = median_s(one_row)
    loads_s = median_s(lambda index: json.loads(bodies[index]))
    decode_s = median_s(lambda index: list(records(bodies[index])))
    summary_s = median_s(lambda index: ingest(records(bodies[index]), list(KINDS)))
    record_s = median_s(lambda index: ingest(records(jobs[index]), [JOB_RECORD]))
    assert NodeSummary.objects.count() == Job.objects.count() == REPEATS + WARM_UP
    runs = list(Job.objects.order_by("pk"))
    analyse_s = median_s(lambda index: analyse_job(runs[index].pk))
    judged = list(due_efficiencies().values_list("pk", flat=True))
    publish_s = median_s(lambda index: publish(judged[index]))
    rows = [(run, row) for run in runs if (row := report_row(run))]
    text_s = median_s(lambda index: rendered(*rows[index], "txt"))
    pdf_s = median_s(lambda index: rendered(*rows[index], "pdf"), repeats=5)

    print(f"{connection.vendor}, one node of 8 GPUs, {len(bodies[0])} bytes; median of {REPEATS}")
    for name, seconds, limit_s, limit in (
        ("split a body into records", decode_s, loads_s, "json.loads"),
        ("ingest a node summary", summary_s, store_limit_s, "one committed row"),
        ("ingest a job record", record_s, store_limit_s, "one committed row"),
        ("analyse", analyse_s, store_limit_s, "one committed row"),
        ("publish", publish_s, store_limit_s, "one committed row"),
        ("text", text_s, store_limit_s, "one committed row"),
        ("PDF with figures", pdf_s, store_limit_s, "one committed row"),
    ):
        print(f"  {name:28}{seconds * 1000:9.2f} ms  {seconds / limit_s:8.1f} x {limit} ({limit_s * 1000:.2f} ms)")
    total_s = summary_s + record_s + analyse_s + publish_s
    print(f"  {'payload to report':28}{total_s * 1000:9.2f} ms")


if __name__ == "__main__":
    with empty_database():
        main()
