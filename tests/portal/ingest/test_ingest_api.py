"""The ingest calls: what they take, what they refuse and how they say so; 2xx means stored."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from metrics.models import NodeSummary
from metrics.packed_node import unpack_figures
from tests.metrics.stored import stored_gpus, stored_series
from tests.payloads import gpu, record, summary
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

SUMMARIES, RECORDS = "/api/v1/ingest/node-summaries", "/api/v1/ingest/job-records"


@pytest.fixture
def post(client: Client):
    """Send a body as a collector of lumi does; a document is made JSON, bytes go as they are."""
    secret = create_collector_token("nodes", "lumi")

    def send(path: str, document: Any, **headers: str):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        sent = {"Authorization": f"Bearer {secret}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return client.post(path, body, content_type=sent.pop("content-type", "application/json"), headers=sent)

    return send


def errors(answer: Any) -> list[tuple[str, str]]:
    return [(error["path"], error["message"]) for error in answer.json()["errors"]]


def test_a_new_summary_is_created_and_the_same_again_is_known(post) -> None:
    first, second = post(SUMMARIES, summary()), post(SUMMARIES, summary())
    assert (first.status_code, first.json()) == (201, {"accepted": 1, "duplicate": 0, "rejected": []})
    assert (second.status_code, second.json()) == (200, {"accepted": 0, "duplicate": 1, "rejected": []})


def test_a_list_of_job_records_is_taken_whole(post) -> None:
    answer = post(RECORDS, [record(), record(job_id=2), record()])
    assert answer.json() == {"accepted": 2, "duplicate": 1, "rejected": []}


def test_gzip_is_unpacked(post) -> None:
    answer = post(SUMMARIES, gzip.compress(json.dumps(summary()).encode()), content_encoding="gzip")
    assert answer.status_code == 201


def test_unknown_fields_are_ignored(post) -> None:
    assert post(SUMMARIES, summary(colour="blue", gpus=[gpu(0, smell="smoke")])).status_code == 201


def test_the_good_records_of_a_batch_are_kept_and_the_bad_one_is_named(post) -> None:
    bad = summary(node="nid005124", gpus=[gpu(0) | {"avg_util": "high", "samples": 0.5}])
    answer = post(SUMMARIES, [summary(), bad, summary(node="nid005125")])
    assert answer.status_code == 201
    assert answer.json() == {
        "accepted": 2,
        "duplicate": 0,
        "rejected": [
            {
                "index": 1,
                "errors": [
                    {"path": "gpus[0].avg_util", "message": "Expected `float | null`, got `str`"},
                    {"path": "gpus[0].samples", "message": "Expected `int | null`, got `float`"},
                ],
            }
        ],
    }
    assert set(NodeSummary.objects.values_list("node", flat=True)) == {"nid005123", "nid005125"}


def test_a_value_that_cannot_be_true_costs_neither_its_gpu_nor_its_node(post) -> None:
    impossible = {"avg_util": 250.0, "peak_mem_gb": 99, "measured_s": -1, "util_histogram_s": {"101": 1.0}}
    cpu = {"cores_allocated": 56, "idle_fraction": 1.5}
    answer = post(SUMMARIES, summary(gpus=[gpu(0) | impossible, gpu(1)], cpu=cpu))
    assert answer.json() == {"accepted": 1, "duplicate": 0, "rejected": []}
    row, (series,) = stored_gpus()[0], stored_series()
    assert (row["avg_util"], row["peak_mem_gb"], row["measured_s"], series.histogram_s[0]) == (None, None, None, b"")
    assert (row["p95_util"], row["mem_total_gb"]) == (90.0, 64.0)
    assert row["missing"] == {
        "avg_util": "not possible: 250 is above 100",
        "measured_s": "not possible: -1 is below 0",
        "util_histogram_s": "not possible: 101 is not a whole percent",
        "peak_mem_gb": "not possible: 99 GB is above the capacity of 64 GB",
    }
    host = unpack_figures(NodeSummary.objects.get().figures)
    numbers = host.host_numbers()
    assert (numbers["cores_allocated"], numbers["idle_fraction"]) == (56, None)
    assert host.host_missing == {"idle_fraction": "not possible: 1.5 is above 1"}


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (summary(job_id="one"), "job_id", "Expected `int`, got `str`"),
        (summary(job_id=-1), "job_id", "Expected `int` >= 1"),
        (summary(job_id=1.5), "job_id", "Expected `int`, got `float`"),
        (summary(schema="node-summary/2"), "schema", "unknown schema; accepted here: node-summary/1"),
        (summary(schema="job-record/1"), "schema", "unknown schema; accepted here: node-summary/1"),
        ({"cluster": "lumi"}, "schema", "required"),
        ([], None, None),
        (summary(gpus="all"), "gpus", "Expected `array`, got `str`"),
        (summary(gpus=[gpu(0), gpu(0)]), "gpus[1].gpu_id", "GPU 0 is already in this summary"),
        (summary(node="nid\u0000"), "node", None),
        (summary(started_at="yesterday"), "started_at", "Invalid RFC3339 encoded datetime"),
        (summary(started_at="2026-11-20T10:00:00"), "started_at", None),
        (summary(cluster="mahti"), "cluster", "this token is valid for lumi only"),
        (summary(gpus=[gpu(0) | {"gpu_id": None}]), "gpus[0].gpu_id", "Expected `int`, got `null`"),
        (summary(gpus=[gpu(0, None)]), "gpus[0].avg_util", "required, or a reason for it in missing"),
        (summary(cpu=[1]), "cpu[0]", "Expected an object"),
        ("just text", "", "Expected an object"),
        (7, "", "Expected an object"),
        (None, "", "Expected an object"),
    ],
)
def test_a_bad_summary_is_refused_with_the_path_of_its_fault(post, document, path, message) -> None:
    answer = post(SUMMARIES, document)
    if path is None:
        assert (answer.status_code, answer.json()["accepted"]) == (200, 0)
        return
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 422
    assert path in [where for where, _ in errors(answer)]
    assert message is None or (path, message) in errors(answer)
    assert not NodeSummary.objects.exists()


def test_every_wrong_field_is_named_at_once(post) -> None:
    answer = post(RECORDS, {"schema": "job-record/1", "cluster": "lu mi", "job_id": "x", "gpus_requested": -1})
    assert {path for path, _ in errors(answer)} == {
        "cluster",
        "job_id",
        "gpus_requested",
        "user_id",
        "project_id",
        "state",
    }


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_refuses_its_record_only(post, literal: str) -> None:
    bad = json.dumps(summary(node="nid005124", gpus=[gpu(0)])).replace("40.0", literal)
    body = f"[{json.dumps(summary())}, {bad}]".encode()
    answer = post(SUMMARIES, body)
    assert answer.status_code == 201
    (rejected,) = answer.json()["rejected"]
    assert rejected["index"] == 1
    assert rejected["errors"][0]["path"] == "gpus[0].peak_mem_gb"


def test_a_number_beyond_all_bounds_is_refused(post) -> None:
    body = json.dumps(summary()).replace("7.9", "1e999").encode()
    answer = post(SUMMARIES, body)
    assert answer.status_code == 422
    assert not NodeSummary.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1,", b'{"schema": "node-summary/1"} trailing', b"\xff\xfe", b"[" * 100_000],
    ids=["empty", "open", "cut", "trailing", "not utf-8", "deep"],
)
def test_what_is_not_json_is_a_400(post, body: bytes) -> None:
    answer = post(SUMMARIES, body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["title"] == "Bad Request"


def test_a_deeply_nested_unknown_field_does_no_harm(post) -> None:
    body = json.dumps(summary())[:-1].encode() + b', "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    assert post(SUMMARIES, body).status_code in (201, 400, 422)


def test_a_body_over_the_limit_is_a_413_and_nothing_is_stored(post) -> None:
    answer = post(SUMMARIES, b" " * (10 * 2**20) + json.dumps(summary()).encode())
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"


def test_a_gzip_bomb_is_a_413(post) -> None:
    answer = post(SUMMARIES, gzip.compress(b" " * (64 * 2**20)), content_encoding="gzip")
    assert answer.status_code == 413


# Without the time in it, so that every process of the suite calls the tests the same.
SOUND = gzip.compress(b"{}", mtime=0)


@pytest.mark.parametrize("body", [b"no gzip", SOUND[:-4], SOUND + b"more"])
def test_damaged_gzip_is_a_400(post, body: bytes) -> None:
    assert post(SUMMARIES, body, content_encoding="gzip").status_code == 400


def test_other_encodings_and_types_are_a_415(post) -> None:
    assert post(SUMMARIES, b"{}", content_encoding="br").status_code == 415
    assert post(SUMMARIES, b"a=1", content_type="application/x-www-form-urlencoded").status_code == 415


@pytest.mark.parametrize("header", ["", "Bearer wrong", "Bearer ", "Basic YTpi", "Bearer caf\u00e9"])
def test_without_a_known_token_nobody_is_let_in(client: Client, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    answer = client.post(SUMMARIES, b"{}", content_type="application/json", headers=headers)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer["Content-Type"] == "application/problem+json"


def test_a_person_signed_in_cannot_bring_payloads(client: Client, django_user_model) -> None:
    client.force_login(django_user_model.objects.create_user("alice"))
    assert client.post(SUMMARIES, b"{}", content_type="application/json").status_code == 401


def test_names_keep_their_letters_and_lose_their_control_characters(post) -> None:
    post(RECORDS, record(job_name="тест 🚀 <b>\x1b[2J\u202e"))
    assert Job.objects.get().job_name == "тест 🚀 <b>\ufffd[2J\ufffd"


def test_only_resource_options_of_a_request_are_kept(post) -> None:
    post(RECORDS, record(request={"--gpus": "8", "--wrap": "cat secret", "--export": "TOKEN=1", "argv": "x"}))
    assert Job.objects.get().request == {"--gpus": "8"}


def test_a_job_of_5000_nodes_is_taken(post) -> None:
    nodes = [f"nid{number:06d}" for number in range(5000)]
    assert post(RECORDS, record(nodes=nodes, node_count=5000, gpus_allocated=40_000)).status_code == 201
    batch = [summary([90.0], node=node, cpu=None) for node in nodes[:400]]
    assert post(SUMMARIES, batch).json()["accepted"] == 400
    assert len(stored_gpus()) == 400


def test_a_record_that_changes_hands_is_refused_with_its_path(post) -> None:
    post(RECORDS, record())
    answer = post(RECORDS, record(user_id="mallory"))
    assert answer.status_code == 422
    assert errors(answer) == [("user_id", "differs from the stored run of this job")]


def test_a_get_is_not_a_way_in(client: Client) -> None:
    assert client.get(SUMMARIES).status_code in (401, 405)


def test_a_call_of_too_many_records_is_refused_before_it_is_read(post) -> None:
    answer = post(SUMMARIES, gzip.compress(b"[" + b",".join([b"1"] * 1001) + b"]"), content_encoding="gzip")
    assert (answer.status_code, answer.json()["detail"]) == (
        413,
        "This token may send at most 1,000 records in one call.",
    )
    assert len(answer.content) < 500


def test_the_list_of_errors_of_a_call_is_short_and_each_record_has_its_own(post) -> None:
    answer = post(SUMMARIES, [{}] * 1000)
    assert answer.status_code == 422
    assert len(errors(answer)) == 100
    assert [each["index"] for each in answer.json()["rejected"]] == list(range(1000))


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b"{nope", {}, "nodes (lumi): rejected a call of node-summary/1: 400, not JSON"),
        (b"x", {"content_encoding": "gzip"}, "nodes (lumi): rejected a call of node-summary/1: 400, the gzip data"),
        (b"{}", {"content-type": "text/plain"}, "nodes (lumi): rejected a call of node-summary/1: 415, "),
        (b"[1" + b",1" * 1000 + b"]", {}, "nodes (lumi): rejected a call of node-summary/1: 413, "),
        # The first eight digits of the SHA-256 of "another".
        (b"{}", {"Authorization": "Bearer another"}, "token ae448ac8…: rejected a call of node-summary/1: 401, "),
        (b"{}", {"Authorization": ""}, "no token: rejected a call of node-summary/1: 401, "),
    ],
)
def test_the_log_says_which_token_was_turned_away_and_why(post, caplog, body, headers, said) -> None:
    post(SUMMARIES, body, **headers)
    assert [line for line in caplog.messages if line.startswith(said)]
