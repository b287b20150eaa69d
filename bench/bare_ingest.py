"""The limit of the ingest: a bare WSGI application that decodes with msgspec and stores with one upsert and one COPY.

It checks nothing, knows no tokens and commits each request separately, in one table of nodes and one of GPUs.
`bench.ingest` serves it with the server of the portal.
"""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import psycopg

NUMBERS = (
    *("avg_util", "p95_util", "peak_mem_gb", "avg_mem_gb", "mem_total_gb", "samples", "measured_s", "active_s"),
    *("idle_s", "gfx_clock_mhz", "power_avg_w", "power_peak_w", "energy_j", "temperature_peak_c"),
)
TABLES = f"""
CREATE TABLE IF NOT EXISTS bare_node (
    id bigserial PRIMARY KEY, cluster text, job_id bigint, attempt int, node text, sequence bigint, started_at text,
    ended_at text, cpu text, UNIQUE (cluster, job_id, attempt, node));
CREATE TABLE IF NOT EXISTS bare_gpu (
    id bigserial PRIMARY KEY, node_id bigint, gpu_id int, {", ".join(f"{name} float8" for name in NUMBERS)},
    timeline bytea, histogram bytea, UNIQUE (node_id, gpu_id));
"""
UPSERT = """
INSERT INTO bare_node (cluster, job_id, attempt, node, sequence, started_at, ended_at, cpu)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (cluster, job_id, attempt, node) DO UPDATE SET sequence = excluded.sequence RETURNING id"""
COPY = f"COPY bare_gpu (node_id, gpu_id, {', '.join(NUMBERS)}, timeline, histogram) FROM STDIN"

of_thread = threading.local()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    sent = msgspec.json.decode(gzip.decompress(body))
    nodes = sent if isinstance(sent, list) else [sent]
    if not hasattr(of_thread, "connection"):
        of_thread.connection = psycopg.connect(os.environ["BARE_DATABASE_URL"], autocommit=True)
    connection = of_thread.connection
    with connection.transaction(), connection.cursor() as cursor:
        keys = [upsert(cursor, node) for node in nodes]
        with cursor.copy(COPY) as copy:
            for key, node in zip(keys, nodes, strict=True):
                for gpu in node["gpus"]:
                    numbers = [gpu.get(name) for name in NUMBERS]
                    series = [msgspec.json.encode(gpu.get(name)) for name in ("timeline", "util_histogram_s")]
                    copy.write_row([key, gpu["gpu_id"], *numbers, *series])
    answer = b'{"accepted":1}'
    start_response("201 Created", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def upsert(cursor: psycopg.Cursor[Any], node: dict[str, Any]) -> int:
    names = ("cluster", "job_id", "attempt", "node", "sequence", "started_at", "ended_at")
    cursor.execute(UPSERT, [*(node[name] for name in names), msgspec.json.encode(node["cpu"]).decode()])
    (key,) = cursor.fetchone() or (0,)
    return int(key)
