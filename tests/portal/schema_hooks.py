"""What schemathesis cannot know: which cluster its token speaks for, and what no schema can say of a payload.

Loaded by the program itself (`SCHEMATHESIS_HOOKS`).
"""

from __future__ import annotations

import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, GenerationMode, HookContext, Response
from schemathesis.generation.meta import TestPhase

INGEST = "/api/v1/ingest/"
CLUSTER = "lumi"

MEANINGS = re.compile(
    r"lies (in the future|before started_at|further after started_at than any job is long)"
    r"|is not a plausible time of a job|names the same node twice|is not after the tick before it"
    r"|GPU [0-9]+ is already in this (window|summary)|has [0-9]+ points, and at_s has [0-9]+"
    r"|differs from the stored run of this job"
    r"|Invalid RFC3339 encoded datetime"  # the 31st of a short month
    r"|Expected `int( \| null)?`, got `float`"  # 1.0, an integer for JSON Schema
)
"""Why a payload that fits the schema may be refused: what its numbers mean together."""


LISTS = ("/api/v1/jobs/", "/api/v1/works/")
NARROWING = ("own", "days", "job_days", "work", "class", "q", "page")

POLICY = "/api/v1/policy/efficiency"
MONTHS_APART = re.compile(r"is not before until|is outside since and until")


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Payloads of the cluster that the token speaks for: all others would be refused for that alone."""
    if case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL and case.path in LISTS:
        # What follows is the first of the list, which must not be empty.
        case.query = {name: value for name, value in (case.query or {}).items() if name not in NARROWING}
        kwargs.pop("params", None)
    for record in case.body if isinstance(case.body, list) else [case.body]:
        if isinstance(record, dict) and isinstance(record.get("cluster"), str):
            record["cluster"] = CLUSTER
        if isinstance(record, dict) and isinstance(tasks := record.get("array_tasks"), float) and tasks.is_integer():
            # 1.0, an integer for JSON Schema; the document says that integers are written without a fraction.
            record["array_tasks"] = int(tasks)


@schemathesis.check
def refused_for_its_meaning_only(ctx: CheckContext, response: Response, case: Case) -> None:
    """A payload that fits the schema is taken, or refused for what its values mean together."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if not case.path.startswith(INGEST) or response.status_code != 422:
        return
    wrong = [error for record in response.json()["rejected"] for error in record["errors"]]
    unforeseen = [error for error in wrong if not MEANINGS.search(error["message"])]
    assert not unforeseen, f"the schema does not say so: {unforeseen[:3]}"


@schemathesis.check
def months_are_refused_for_their_order_only(ctx: CheckContext, response: Response, case: Case) -> None:
    """Months that fit the schema are answered, refused for what they mean together, or not closed."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE or POLICY not in case.path:
        return
    if response.status_code == 400:
        detail = response.json()["detail"]
        assert MONTHS_APART.search(detail), f"the schema does not say so: {detail}"
