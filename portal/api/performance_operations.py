"""The calls that export runs for analysts and models, and their query parameters."""

from __future__ import annotations

from typing import Any

from portal.api.operation import ANYONE, Operation
from portal.performance_reading import BOUND_PATTERN
from reports.performance.learning.document import LearningDocument
from reports.performance.services import BY_ENDING

ENDED: dict[str, Any] = {"type": "string", "pattern": BOUND_PATTERN}
PERFORMANCE_QUERY: dict[str, dict[str, Any]] = {
    "ended_since": {
        "name": "since",
        "description": "Only runs that ended at this time or later; a day begins at midnight in UTC.",
        "schema": ENDED,
    },
    "ended_until": {
        "name": "until",
        "description": "Only runs that ended before this time. 400 where it is not after `since`.",
        "schema": ENDED,
    },
}
WHAT = {
    "json": "as a learning document (`kaiku-learning/1`)",
    "jsonl": "as JSON lines, a row for each run (`kaiku-performance/1`)",
    "csv": "as CSV, a row for each run",
    "parquet": "as a Parquet file, a row for each run",
    "txt": "as the comment that Slurm's accounting gets",
}
OF_ONE_RUN = {ending: f"getPerformance{ending.capitalize()}" for ending in BY_ENDING}


def _answer(ending: str, document: Any) -> dict[int, Any]:
    return {200: document if ending == "json" else str}


def _content_type(ending: str) -> str:
    return BY_ENDING[ending].content_type.partition(";")[0]


PERFORMANCE_OPERATIONS = (
    *(
        Operation(
            name,
            "get",
            f"/api/v1/jobs/{{cluster}}/{{job_id}}/performance.{ending}",
            f"A run that has ended, {WHAT[ending]}.",
            _answer(ending, LearningDocument),
            content_types=(_content_type(ending),),
            query=("attempt",),
        )
        for ending, name in OF_ONE_RUN.items()
    ),
    *(
        Operation(
            f"listOwnPerformance{ending.capitalize()}",
            "get",
            f"/api/v1/performance.{ending}",
            f"All of your own runs that have ended, {WHAT[ending]}, in the order of their ends.",
            _answer(ending, list[LearningDocument]),
            content_types=(_content_type(ending),),
            query=("ended_since", "ended_until"),
        )
        for ending in BY_ENDING
    ),
    Operation(
        "getLearningSchema",
        "get",
        "/api/schema/kaiku-learning-1.json",
        "The JSON Schema of learning documents.",
        {200: dict[str, Any]},
        access=ANYONE,
    ),
    Operation(
        "getPerformanceDictionary",
        "get",
        "/api/schema/kaiku-performance-1.json",
        "The columns of the tables of runs: types, units, sources and meaning.",
        {200: dict[str, Any]},
        access=ANYONE,
    ),
)
