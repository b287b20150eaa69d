"""The HTTP API as an OpenAPI document, generated from the structs that decode payloads, so that both always agree.

As data and as a page; open to everyone, because it contains nothing about any job.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.policy.figures import SCHEMA as POLICY_EXPORT
from analysis.policy.raised import FLAGS_SCHEMA
from jobs.records import SCHEMA as JOB_RECORD
from metrics.gpu_fields import GPU_FIELDS
from portal.api.answers import Problem
from portal.api.operation import ACCESS, COLLECTOR, COMMENTS, LOGGER, PERSON, POLICY, PROGRAM, READER, SENDER, Operation
from portal.api.operations import OPERATIONS, QUERY
from portal.ingest.senders import RECORDS_MAX
from reports.job_report import SCHEMA as JOB_REPORT
from wire.names import SLUG
from wire.payloads import NODE_SUMMARY, RAW_SAMPLES

REFERENCES = "#/components/schemas/{name}"
PROBLEM = "application/problem+json"
SCHEMES = {
    **{
        name: {"type": "http", "scheme": "bearer", "description": description}
        for name, description in (
            ("collectorToken", "Created with `manage.py create_token`."),
            ("personalToken", "Created under Settings, API tokens; read-only."),
            (
                "ownRunToken",
                "Created under Settings, API tokens, if the site allows it; sends node summaries of own runs.",
            ),
            ("policyToken", "Created with `manage.py create_token --kind policy`; reads the policy figures alone."),
            ("loggingToken", "Created under Settings, API tokens; logs experiments and runs of your own."),
            (
                "commentToken",
                "Created with `manage.py create_token --kind comments`; reads the comments for Slurm alone.",
            ),
        )
    },
    "portalSession": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
}
LETS_IN = {
    COLLECTOR: ("collectorToken",),
    SENDER: ("collectorToken", "ownRunToken"),
    PERSON: ("personalToken", "portalSession"),
    PROGRAM: ("personalToken",),
    COMMENTS: ("commentToken",),
    LOGGER: ("loggingToken", "portalSession"),
    READER: ("personalToken", "loggingToken", "portalSession"),
    POLICY: ("policyToken", "personalToken", "portalSession"),
}
PATH: dict[str, dict[str, Any]] = {
    "cluster": {"type": "string", "pattern": f"^{SLUG}$"},
    "job_id": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "project": {"type": "string", "pattern": f"^{SLUG}$"},
    "key": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "pk": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "run_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}
"""The parts of an address, as in the records (`jobs.records`)."""

CONSTANTS = {
    "NodePayload": NODE_SUMMARY,
    "JobRecord": JOB_RECORD,
    "RawSamplesPayload": RAW_SAMPLES,
    "JobReport": JOB_REPORT,
    "PolicyExport": POLICY_EXPORT,
    "FlagList": FLAGS_SCHEMA,
}
"""The value of the member `schema` of each of these; it is required."""

INSTANT = (
    r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
"""A time of a job: in this century, with its offset, without leap seconds (`wire.times.YEARS`, msgspec)."""

PERCENT_KEYS = r"^(0|[1-9][0-9]{0,2})$"
"""The bins of a histogram; a histogram with bins above 100 percent is dropped as a whole."""

KNOWN_OR_NAMED = [
    {"required": ["avg_util"], "properties": {"avg_util": {"type": "number"}}},
    {"required": ["missing"], "properties": {"missing": {"required": ["avg_util"]}}},
]
"""A GPU's mean use is present, or `missing` states why it is not (`metrics.payloads.problems`)."""

DESCRIPTION = (
    "Post-job GPU feedback. Integers are written without a fraction. Rules that a schema cannot express (a run"
    " begins before it ends, no time is more than a day ahead, no node and no GPU occurs twice, all series of a window"
    " have one length, a token is valid for its cluster) are answered with 422 and the path of the field."
)


def document(operations: tuple[Operation, ...] = OPERATIONS) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these operations."""
    types = [kind for operation in operations for kind in (operation.takes, *_kinds(operation)) if kind]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=REFERENCES)
    known = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        taken = next(known) if operation.takes else None
        answered = {status: _one_of(answer, known) for status, answer in _answered(operation) if answer}
        paths.setdefault(operation.path, {})[operation.method] = _described(operation, taken, answered)
    _tighten(components)
    described = {
        "openapi": "3.1.0",
        "info": {"title": "Kaiku", "version": "1", "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": SCHEMES,
        },
    }
    # Python's anchors in the dialect of JSON Schema, and every default as plain JSON.
    written = msgspec.json.encode(described).replace(rb"\\A", b"^").replace(rb"\\Z", b"$")
    plain: dict[str, Any] = msgspec.json.decode(written)
    return plain


def _answered(operation: Operation) -> list[tuple[int, Any]]:
    """Every status whose answer is not a problem, and what it has."""
    return [*operation.answers.items(), *operation.refusals.items()]


def _kinds(operation: Operation) -> Iterator[Any]:
    for _, answer in _answered(operation):
        yield from answer if isinstance(answer, tuple) else (answer,)


def _one_of(answer: Any, known: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return {"anyOf": [next(known) for _ in answer]} if isinstance(answer, tuple) else next(known)


def _tighten(components: dict[str, Any]) -> None:
    """Add to the payloads' schemas what the types of their structs cannot express."""
    for name, constant in CONSTANTS.items():
        components[name]["properties"]["schema"] = {"type": "string", "const": constant}
        components[name]["required"] = sorted({*components[name]["required"], "schema"})
    for name in ("NodePayload", "JobRecord", "RawSamplesPayload"):
        for member in components[name]["properties"].values():
            for kind in (member, *member.get("anyOf", ())):
                if kind.get("format") == "date-time":
                    kind["pattern"] = INSTANT
    components["JobRecord"]["properties"]["nodes"]["uniqueItems"] = True
    components["GpuPayload"]["anyOf"] = KNOWN_OR_NAMED
    for field in GPU_FIELDS:
        components["GpuPayload"]["properties"][field.name]["description"] = field.meaning
    for kind in components["GpuPayload"]["properties"]["util_histogram_s"]["anyOf"]:
        if kind["type"] == "object":
            kind["propertyNames"] = {"pattern": PERCENT_KEYS}


def _described(operation: Operation, taken: Any, answered: dict[int, Any]) -> dict[str, Any]:
    described = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": [{scheme: []} for scheme in LETS_IN.get(operation.access, ())],
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": schema}
                for name, schema in PATH.items()
                if f"{{{name}}}" in operation.path
            ),
            *({"name": name, "in": "query", **QUERY[name]} for name in operation.query),
        ],
        "responses": _answers(operation, answered) | _problems(operation),
    }
    if taken is not None:
        for kind in taken.get("anyOf", ()):
            if kind.get("type") == "array":
                kind["maxItems"] = RECORDS_MAX
        described["requestBody"] = {
            "required": True,
            "content": {form: {"schema": taken} for form in operation.taken_types},
        }
    return described


def _answers(operation: Operation, answered: dict[int, Any]) -> dict[str, Any]:
    links = {name: {"operationId": name, "parameters": values} for name, values in operation.links.items()}
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            **({"content": {form: {"schema": answered[status]} for form in operation.content_types}} if answer else {}),
            **({"links": links} if links and status in operation.answers else {}),
        }
        for status, answer in _answered(operation)
    }


def _problems(operation: Operation) -> dict[str, Any]:
    refused = {"content": {PROBLEM: {"schema": {"$ref": REFERENCES.format(name="Problem")}}}}
    return {str(status): {"description": HTTPStatus(status).phrase} | refused for status in operation.problems}


@require_safe
def schema(request: HttpRequest) -> JsonResponse:
    """The OpenAPI document."""
    return JsonResponse(document())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The calls as a page."""
    return render(
        request, "portal/api/api_docs.html", {"operations": [(call, ACCESS[call.access]) for call in OPERATIONS]}
    )
