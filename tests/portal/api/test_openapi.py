"""The OpenAPI document: valid, whole, and of one mind with what the API takes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import jsonschema
import pytest
from django.test import Client
from openapi_spec_validator import validate

from portal.ingest.body import records
from portal.ingest.services import KINDS
from portal.ingest.services import check as check_payloads
from portal.urls import urlpatterns
from tests.payloads import gpu, raw_samples, record, summary
from tests.portal.own_runs import RECORDS, SUMMARIES, own_summary, told


@pytest.fixture(scope="module")
def document() -> dict:
    return Client().get("/api/schema/").json()


def test_it_is_valid(document: dict) -> None:
    validate(document)


def test_every_address_of_the_api_is_in_it(document: dict) -> None:
    routes = [str(each.pattern).lstrip("^") for each in urlpatterns if "api/v1/" in str(each.pattern)]
    patterns = [re.compile(re.sub(r"<str:\w+>", r"[^/]+", route)) for route in routes]
    named = {"cluster": "lumi", "job_id": 1, "project": "p", "key": "0" * 32, "pk": 1, "run_id": "0" * 32}
    examples = [path.strip("/").format(**named) for path in document["paths"]]
    for pattern in patterns:
        assert any(pattern.match(example + end) for example in examples for end in ("", "/")), pattern.pattern


def check(document: dict, name: str, payload: dict) -> None:
    jsonschema.validate(payload, {"$ref": f"#/components/schemas/{name}", "components": document["components"]})


def test_what_the_api_takes_fits_it_and_what_it_refuses_does_not(document: dict) -> None:
    check(document, "NodePayload", summary([90.0, 0.0]))
    check(document, "JobRecord", record(eligible_at="2026-11-20T09:55:00Z"))
    check(document, "RawSamplesPayload", raw_samples())
    with pytest.raises(jsonschema.ValidationError, match=r"101\.0 is greater than the maximum"):
        check(document, "NodePayload", summary(gpus=[gpu(0, 101.0)]))
    with pytest.raises(jsonschema.ValidationError, match="does not match"):
        check(document, "NodePayload", summary(node="nid 1; rm"))


def test_what_an_owner_tells_of_a_run_is_part_of_a_summary_and_so_is_who_may_send_it(document: dict) -> None:
    check(document, "NodePayload", own_summary())
    check(document, "NodePayload", own_summary(dict.fromkeys(told())))
    with pytest.raises(jsonschema.ValidationError):
        check(document, "NodePayload", own_summary(told(node_count=-1)))
    paths = document["paths"]
    letting_in = {
        path: [name for each in paths[path]["post"]["security"] for name in each] for path in (SUMMARIES, RECORDS)
    }
    assert letting_in == {SUMMARIES: ["collectorToken", "ownRunToken"], RECORDS: ["collectorToken"]}
    assert "429" in paths[SUMMARIES]["post"]["responses"]


def test_people_read_the_same_calls() -> None:
    page = Client().get("/api/docs/").content.decode()
    assert "POST /api/v1/ingest/node-summaries" in page
    assert "GET /api/v1/jobs/{cluster}/{job_id}/report.pdf" in page


def test_what_a_payload_is_called_is_a_constant_that_may_not_be_left_out(document: dict) -> None:
    kinds = {
        "NodePayload": "node-summary/1",
        "JobRecord": "job-record/1",
        "RawSamplesPayload": "raw-samples/1",
        "JobReport": "job-report/1",
    }
    for name, constant in kinds.items():
        described = document["components"]["schemas"][name]
        assert described["properties"]["schema"]["const"] == constant
        assert "schema" in described["required"]
    with pytest.raises(jsonschema.ValidationError, match="'node-summary/1' was expected"):
        check(document, "NodePayload", summary(schema="node-summary/2"))
    with pytest.raises(jsonschema.ValidationError, match="'schema' is a required property"):
        check(document, "JobRecord", {name: value for name, value in record().items() if name != "schema"})


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("NodePayload", summary(gpus=[{"gpu_id": 0}])),
        ("NodePayload", summary(gpus=[{"gpu_id": 0, "avg_util": None}])),
        ("NodePayload", summary(started_at="1999-12-31T23:59:59Z")),
        ("NodePayload", summary(started_at="2026-11-20T23:59:60Z")),
        ("NodePayload", summary(started_at="2026-11-20T10:00:00")),
        ("NodePayload", summary(gpus=[gpu(0, util_histogram_s={"ten": 1.0})])),
        ("JobRecord", record(nodes=["nid1", "nid1"])),
    ],
)
def test_what_the_code_refuses_the_document_does_too(document: dict, name: str, payload: dict) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check(document, name, payload)
    assert problems_of(payload)


def test_a_reason_stands_for_a_number_that_is_not_there(document: dict) -> None:
    check(document, "NodePayload", summary(gpus=[{"gpu_id": 0, "missing": {"avg_util": "unsupported"}}]))


def test_each_link_leads_to_a_call_and_fills_its_path(document: dict) -> None:
    calls = {call["operationId"]: call for path in document["paths"].values() for call in path.values()}
    assert len(calls) == sum(len(path) for path in document["paths"].values())
    followed = {name: answers(call)[0].get("links", {}) for name, call in calls.items()}
    for links in followed.values():
        for link in links.values():
            taken = {parameter["name"]: parameter for parameter in calls[link["operationId"]]["parameters"]}
            needed = {name for name, parameter in taken.items() if parameter["in"] == "path"}
            assert needed <= set(link["parameters"]) <= set(taken)
    assert {"getJob", "listGpus", "getReportPdf", "getReportJson", "getProjectSummary"} <= set(followed["listJobs"])
    assert {"listGpus", "getReportMd", "getRawSamples", "getProjectSummary"} <= set(followed["getJob"])


def answers(call: dict) -> list[dict]:
    """What a call answers when all goes well."""
    return [answer for status, answer in call["responses"].items() if status.startswith("2")]


def problems_of(payload: dict) -> list:
    """Why the ingest refuses a payload."""
    return check_payloads(records(json.dumps(payload).encode()), KINDS, datetime(2026, 11, 21, tzinfo=UTC)).rejected


@pytest.mark.django_db
def test_numbers_of_a_query_that_make_no_sense_are_refused(cast) -> None:
    carol = cast("carol")
    summed = "projects/project_465000001/summary/?days"
    for path in ("jobs/?page_size=0", "jobs/?page_size=x", "jobs/?page_size=", f"{summed}=8"):
        answer = carol.get(f"/api/v1/{path}")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), path
        assert "ErrorDetail" not in answer.json()["detail"]
    for path in ("jobs/?page_size=1000", "jobs/?page=1", f"{summed}=7"):
        assert carol.get(f"/api/v1/{path}").status_code == 200, path
