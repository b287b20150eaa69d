"""The real parts a test needs; where one is missing the test is left out by name, or fails when all are required."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
import redis

IS_ALL_REQUIRED = os.environ.get("KAIKU_TEST_REQUIRE") == "all"
REDIS_URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/15")


def missing(part: str) -> NoReturn:
    """Leave the running test out because `part` is not on this machine, or fail it when every part is required."""
    if IS_ALL_REQUIRED:
        pytest.fail(f"{part} is required here and missing")
    pytest.skip(f"{part} is not on this machine")


def empty_redis() -> None:
    """Empty the Redis of the tests; a test without one is left out."""
    try:
        redis.from_url(REDIS_URL).flushdb()
    except redis.ConnectionError:
        missing("Redis")
