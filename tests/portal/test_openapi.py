"""The OpenAPI document: valid, whole, and of one mind with what the API takes."""

from __future__ import annotations

import re

import jsonschema
import pytest
from django.test import Client
from openapi_spec_validator import validate

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
    examples = [path.strip("/").format(cluster="lumi", job_id=1, project="p") for path in document["paths"]]
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
