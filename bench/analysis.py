"""One judgement from stored summaries at 8 to 23,824 GPUs, beside one bare numpy pass over the same arrays.

The limit is reading every array once: the sum of each column, histogram and timeline, without any decision. "assess" is
the judgement of arrays in memory, "from rows" first reads the summaries from the database; "x" is the ratio to a bare
pass. Run by `make bench`.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

from django.db.models import Model

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
from django.db import connection  # noqa: E402

from analysis.assess import assess  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from cases.scorecard import drawn  # noqa: E402
from jobs.records import JobRecord  # noqa: E402
from metrics.models import NodeSummary  # noqa: E402
from metrics.payloads import NodePayload  # noqa: E402
from metrics.selectors import run_metrics  # noqa: E402
from metrics.series import GpuColumns, HostColumns, RunMetrics  # noqa: E402
from metrics.services import record_node_summary  # noqa: E402

NODES = (1, 100, 1000, 2978)
KIND = "collective_hang"
REPEATS_MIN, BUDGET_S = 5, 0.5
MEGABYTE = 2**20

# The time for small numbers of GPUs is fixed; the limits are for the two ends (a job on 8 GPUs, and on all of LUMI-G).
SECONDS_MAX = {8: 0.002, 23_824: 1.0}
MEGABYTES_MAX = {23_824: 300}
# From stored rows, for a job on all of LUMI-G: one of the two limits, because machines and their load differ.
FROM_ROWS_GPUS, FROM_ROWS_SECONDS_MAX, FROM_ROWS_PASSES_MAX = 23_824, 0.2, 40


def main() -> None:
    job = drawn(KIND, 1)
    record_node_summary(msgspec.convert(job.summaries[0], NodePayload, str_keys=True))
    print(f"{connection.vendor}; least of {REPEATS_MIN} or more; the limit is one bare numpy pass over the same arrays")
    print(f"  {'GPUs':>7}{'numpy':>11}{'assess':>11}{'':>9}{'from rows':>11}{'':>9}{'peak memory':>14}")
    for job_id, nodes in enumerate(NODES, start=1_000_000):
        names = store(job_id, nodes)
        record = run_record(job.record, job_id, names)
        report(record, ("lumi", job_id, 0))


def report(record: JobRecord, key: tuple[str, int, int]) -> None:
    """One line of the table; an assertion if a limit is exceeded."""
    limit_s, assess_s = in_memory(record, run_metrics(key))
    whole_s = best_s(lambda: assess(record, run_metrics(key)))
    tracemalloc.start()
    assess(record, run_metrics(key))
    peak_mb = tracemalloc.get_traced_memory()[1] / MEGABYTE
    tracemalloc.stop()
    gpus = record.gpus_allocated or 0
    print(
        f"  {gpus:7,}{limit_s * 1000:8.2f} ms{assess_s * 1000:8.2f} ms{assess_s / limit_s:7.1f} x"
        f"{whole_s * 1000:8.1f} ms{whole_s / limit_s:7.1f} x{peak_mb:11.1f} MB"
    )
    if gpus == FROM_ROWS_GPUS:
        print(f"  from rows: {target(whole_s, limit_s)}")
    assert assess_s <= SECONDS_MAX.get(gpus, 1.0), "the judgement takes longer than its limit"
    assert peak_mb <= MEGABYTES_MAX.get(gpus, 300), "the judgement uses more memory than its limit"


def target(whole_s: float, limit_s: float) -> str:
    """Whether a judgement from stored rows is within one of its limits, and the limits in words."""
    is_held = whole_s <= FROM_ROWS_SECONDS_MAX or whole_s <= FROM_ROWS_PASSES_MAX * limit_s
    promise = f"{FROM_ROWS_SECONDS_MAX * 1000:.0f} ms or {FROM_ROWS_PASSES_MAX} bare passes"
    return f"at most {promise}: {'ok' if is_held else 'MISSED'}"


def in_memory(record: JobRecord, metrics: RunMetrics) -> tuple[float, float]:
    """Seconds of the bare pass and of the judgement, of the same arrays."""
    return best_s(lambda: bare_pass(metrics)), best_s(lambda: assess(record, metrics))


Row = TypeVar("Row", bound=Model)


def store(job_id: int, nodes: int) -> list[str]:
    """As many copies of the one stored node as the run has nodes, with their rows; the names of the nodes."""
    node = NodeSummary.objects.get(job_id=123456)
    names = [f"nid{5000 + index:06d}" for index in range(nodes)]
    NodeSummary.objects.bulk_create(copied(node, job_id=job_id, node=name) for name in names)
    return names


def copied(row: Row, **changes: object) -> Row:
    columns = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if field.name != "id"}
    made: Row = type(row)(**columns | changes)
    return made


def run_record(like: dict[str, object], job_id: int, nodes: list[str]) -> JobRecord:
    gpus = 8 * len(nodes)
    changes = {"job_id": job_id, "nodes": nodes, "node_count": len(nodes), "gpus_allocated": gpus}
    return msgspec.convert(like | changes | {"gpus_requested": gpus}, JobRecord)


def bare_pass(metrics: RunMetrics) -> float:
    """Every number read once."""
    total = float(np.sum(metrics.series.util)) + float(np.sum(metrics.series.mem_gb))
    for columns, kind in ((metrics.gpus, GpuColumns), (metrics.hosts, HostColumns)):
        total += sum(float(np.sum(getattr(columns, column.name))) for column in fields(kind))
    return total


def best_s(step: Callable[[], object]) -> float:
    """The shortest time of `step`, which runs for half a second and at least five times, because others share the
    machine."""
    times: list[float] = []
    while len(times) < REPEATS_MIN or sum(times) < BUDGET_S:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    with empty_database():
        main()
