"""The real parts a test needs; where one is missing the test is left out by name, or fails when all are required."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

IS_ALL_REQUIRED = os.environ.get("KAIKU_TEST_REQUIRE") == "all"


def missing(part: str) -> NoReturn:
    """Leave the running test out because `part` is not on this machine, or fail it when every part is required."""
    if IS_ALL_REQUIRED:
        pytest.fail(f"{part} is required here and missing")
    pytest.skip(f"{part} is not on this machine")
