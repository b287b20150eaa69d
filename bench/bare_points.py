"""The limit of points of runs: a bare WSGI application that decodes with msgspec and stores each point with one COPY.

It checks nothing, knows no tokens and commits each request separately. `bench.runs` serves it with the server of the
portal.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import psycopg

TABLES = """
CREATE TABLE IF NOT EXISTS bare_point (run text, name text, step bigint, at float8, value float8);
CREATE INDEX IF NOT EXISTS bare_point_of_run ON bare_point (run, name, step);
"""
COPY = "COPY bare_point (run, name, step, at, value) FROM STDIN"

of_thread = threading.local()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    run, points = environ["PATH_INFO"].split("/")[4], msgspec.json.decode(body)
    if not hasattr(of_thread, "connection"):
        of_thread.connection = psycopg.connect(os.environ["BARE_DATABASE_URL"], autocommit=True)
    with of_thread.connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for point in points:
            copy.write_row([run, point["name"], point["step"], point["time"], point["value"]])
    answer = b'{"accepted":1}'
    start_response("201 Created", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]
