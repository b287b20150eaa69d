"""A NUL character in any part of a request is a bad request everywhere, on each database, and never a fault."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse

from portal.ingest.door import SCHEMAS
from tests.payloads import raw_samples, record, summary
from tests.portal.test_access import TABLE
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

MANY_FIELDS = {"my-jobs", "jobs-csv", "api-jobs", "admin:jobs_user_changelist"}
INGEST = {"api-node-summaries", "api-job-records", "api-ingest-raw-samples"}
FIELDS = (
    "q project partition state efficiency_class finding since until sort array page page_size attempt days language"
    " next username password name title o p e all code verdict object_id node group"
).split()
ADMIN_FILTERS = (
    "is_active__exact",
    "role__exact",
    "kind__exact",
    "project__is_listed__exact",
    "user__id__exact",
    "q",
    "o",
    "e",
    "p",
)


@pytest.fixture(params=["grace", "erin", "alice", "nobody"])
def client(request: pytest.FixtureRequest, cast, reported) -> Client:
    """An administrator, a member of staff, an owner with a job, or nobody; their faults are answers."""
    reported(123456)
    client = Client() if request.param == "nobody" else cast(request.param)
    client.raise_request_exception = False
    return client


def addresses() -> list[tuple[str, str]]:
    table = {name: parts for name, (parts, _) in TABLE.items()} | {"opt-out": {"token": "x"}}
    return [(name, reverse(name, kwargs=parts)) for name, parts in table.items()]


def test_no_address_takes_it_in_a_query(client: Client) -> None:
    for name, path in addresses():
        fields = FIELDS if name in MANY_FIELDS else ADMIN_FILTERS if name.endswith("_changelist") else ("q",)
        for field in () if name in INGEST else fields:
            assert client.get(path, {field: "a\0b"}).status_code == 400, (path, field)


def test_no_address_takes_it_as_the_name_of_a_field_or_in_a_form(client: Client) -> None:
    for name, path in addresses():
        if name not in INGEST:
            assert client.get(f"{path}?%00=x").status_code == 400, path
            assert client.post(path, {"name": "a\0b"}).status_code == 400, path
            assert client.post(path, {"a\0b": "x"}).status_code == 400, path
            urlencoded = client.post(path, "name=a%00b", content_type="application/x-www-form-urlencoded")
            assert urlencoded.status_code == 400, path


def test_no_part_of_a_path_takes_it(client: Client) -> None:
    for name, (parts, _) in TABLE.items():
        for part, value in parts.items():
            path = reverse(name, kwargs=parts).replace(quote(str(value)), f"{quote(str(value))[:-1]}%00", 1)
            assert "%00" in path, part
            assert client.get(path).status_code == 400, path
    for path in ("/%00", "/nowhere/%00/", "/api/v1/nowhere/%00/", "/static/%00", "/admin/jobs/user/%00/change/"):
        assert client.get(path).status_code == 400, path


@pytest.mark.parametrize("cookie", ["sessionid", "csrftoken", "kaiku_tz", "messages"])
def test_no_cookie_takes_it_not_even_in_the_spelling_of_cookies(client: Client, cookie: str) -> None:
    for value in ('"a\\000b"', "a\0b"):
        for path in ("/", "/jobs/", "/api/v1/jobs/", "/admin/"):
            answer = client.get(path, headers={"cookie": f"{cookie}={value}"})
            assert answer.status_code == 400, (path, value)


def test_the_answer_is_a_page_for_people_and_a_problem_for_programs(cast) -> None:
    page, problem = (cast("alice").get(f"{path}?x=%00") for path in ("/jobs/", "/api/v1/jobs/"))
    assert b"Bad request" in page.content.partition(b"<h1>")[2].partition(b"</h1>")[0]
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert (problem.status_code, problem["Content-Type"]) == (400, "application/problem+json")
    assert problem.json()["title"] == "Bad Request"


PAYLOADS = dict(zip(SCHEMAS, (summary([90.0]), record(), raw_samples()), strict=True))
SPOILT = ("\\u0000", "\\ud800", "\\udfff\\ud800")


@pytest.mark.parametrize("spoilt", SPOILT)
@pytest.mark.parametrize("path", SCHEMAS)
def test_every_text_of_a_payload_is_cleaned_or_refused(path: str, spoilt: str) -> None:
    """Each text of a payload, one by one, also as the name of a member."""
    secret = create_collector_token("nodes", "lumi")
    client = Client(headers={"authorization": f"Bearer {secret}"}, raise_request_exception=False)
    text = json.dumps(
        PAYLOADS[path] | {"job_name": "n", "errors": ["e"], "script_key": "k", "request": {"--gpus": "8"}}
    )
    pieces = text.split('"')
    statuses = {}
    for place in range(1, len(pieces), 2):
        spoilt_text = '"'.join([*pieces[:place], f"{pieces[place]}{spoilt}", *pieces[place + 1 :]])
        answer = client.post(path, spoilt_text, content_type="application/json")
        statuses[pieces[place]] = answer.status_code
    assert set(statuses.values()) <= {200, 201, 202, 422}, statuses


@pytest.mark.parametrize("query", ["%ED%A0%80", "%ff", "%C0%80", "%F4%90%80%80", "%F0%9F%98"])
def test_what_is_no_character_at_all_is_no_fault_either(cast, query: str) -> None:
    client = cast("grace")
    for name, path in addresses():
        fields = FIELDS if name == "my-jobs" else ("q", "o")
        for field in () if name in INGEST else fields:
            assert client.get(f"{path}?{field}={query}").status_code < 500, (path, field)
    for path in (f"/projects/{query}/", f"/api/v1/projects/{query}/summary/", f"/nowhere/{query}"):
        assert client.get(path).status_code < 500, path
