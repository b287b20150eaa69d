"""What is documented is what is written and taken: one grammar for the maker, the check, the schema and the import."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from analysis.anonymous.bands import COLUMNS, GPUS, LEVELS, Run, coarsened, finest
from analysis.anonymous.checking import GRAMMAR
from analysis.anonymous.lines import Line, json_schema

DOCS = Path(__file__).resolve().parents[3] / "docs"
SIZES = (None, 0, 1, 2, 4, 5, 8, 9, 16, 17, 64, 65, 256, 257, 10**6)
HOURS = (None, 0.0, 0.99, 1.0, 4.0, 11.9, 12.0, 24.0, 48.0, 1e9, float("nan"), float("inf"), -1.0)
PERCENT = (None, 0.0, 4.9, 5.0, 14.96, 15.0, 25.0, 40.0, 55.0, 70.0, 85.0, 100.0)
STATES = ("COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "DEADLINE", "")


def test_the_published_schema_is_that_of_the_lines() -> None:
    assert json.loads((DOCS / "kaiku-institutional-1.schema.json").read_text()) == json_schema()


def test_every_value_that_can_be_made_is_documented() -> None:
    runs = [Run(1, 1, 1.0, gpus=size) for size in SIZES] + [Run(1, 1, 1.0, run_time_h=hours) for hours in HOURS]
    runs += [Run(1, 1, 1.0, gpu_use_percent=each, gpu_memory_percent=each) for each in PERCENT]
    runs += [Run(1, 1, 1.0, state=state) for state in STATES]
    runs += [Run(1, 1, 1.0, partition_type=each) for each in ("shared", "whole_nodes")]
    validator = Draft202012Validator(json_schema())
    for values in {coarsened(finest(run), level) for run in runs for level in LEVELS}:
        row = {"key": "0" * 16, **dict(zip(COLUMNS, values, strict=True))}
        assert list(validator.iter_errors(row)) == []
        assert msgspec.convert(row, Line).values == values


def test_the_check_knows_the_same_columns() -> None:
    assert tuple(GRAMMAR) == ("key", *COLUMNS)


@pytest.mark.parametrize(
    ("gpus", "band"),
    [(None, "unknown"), (0, "unknown"), (1, "1"), (2, "2"), (3, "3-4"), (8, "5-8"), (9, "9-16"), (257, "257+")],
)
def test_sizes_are_bands(gpus: int | None, band: str) -> None:
    assert GPUS.name(gpus) == band
