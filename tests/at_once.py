"""Workers that begin at the same moment, each with its own connection to the database."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from tests.processes import PATIENCE_S

WORKERS = 4


def at_once(work: Callable[[], Any]) -> list[Any]:
    """The answers of all workers, each started when every other is ready."""
    ready = Barrier(WORKERS)

    def one(_: int) -> Any:
        try:
            ready.wait(timeout=PATIENCE_S)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, range(WORKERS)))
