"""Raw windows through the portal: brought by collectors, dropped first under load, read by whoever sees the job."""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from jobs.models import Job, Token, User
from jobs.services import record_job, share_job
from jobs.tokens.models import PREFIXES
from metrics.models import RawWindow
from metrics.services import record_raw_window
from tests.payloads import job_record, raw_payload, raw_samples, record, summary
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

INGEST = "/api/v1/ingest/raw-samples"
CSV, PAGE = "/api/v1/jobs/lumi/123456/raw-samples.csv", "/jobs/lumi/123456/"


@pytest.fixture
def post(client: Client):
    """Send raw windows as a collector of lumi does."""
    secret = create_collector_token("nodes", "lumi")

    def send(document: Any, **headers: str):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        sent = {"Authorization": f"Bearer {secret}"} | headers
        return client.post(INGEST, body, content_type="application/json", headers=sent)

    return send


def rows_of(answer: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answer.getvalue().decode())))


def test_one_window_a_list_and_a_packed_one_are_taken_when_they_are_stored(post) -> None:
    answer = post(raw_samples())
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1, "duplicate": 0, "rejected": []})
    several = [raw_samples(), raw_samples(node="nid005124")]
    again = post(gzip.compress(json.dumps(several).encode()), **{"Content-Encoding": "gzip"})
    assert (again.status_code, again.json()["accepted"], again.json()["duplicate"]) == (202, 1, 1)
    assert post(raw_samples()).status_code == 202
    assert RawWindow.objects.count() == 2


def test_an_impossible_value_is_a_gap_and_a_wrong_shape_is_named_by_record_path_and_message(post) -> None:
    impossible = raw_samples({"gpu_id": 0, "util": [140, 94.5, 1], "mem_gb": [1, 1, 1]})
    assert post(impossible).status_code == 202
    bad = raw_samples(at_s=[0.0, "1", 2.0], node="nid005124")
    answer = post([bad, raw_samples(node="nid005125")])
    assert answer.status_code == 202
    (rejected,) = answer.json()["rejected"]
    assert (rejected["index"], rejected["errors"]) == (
        0,
        [{"path": "at_s[1]", "message": "Expected `float`, got `str`"}],
    )
    alone = post(raw_samples(at_s=[0.0, 2.0, 1.0]))
    assert alone.status_code == 422
    assert alone.json()["errors"] == [{"path": "at_s[2]", "message": "is not after the tick before it"}]


def test_only_a_collector_of_the_cluster_and_only_raw_windows_come_in(post, client: Client) -> None:
    assert client.post(INGEST, b"{}", content_type="application/json").status_code == 401
    personal = client.post(
        INGEST,
        b"{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {PREFIXES[Token.Kind.READ]}x"},
    )
    assert personal.status_code == 401
    for document, path in ((raw_samples(cluster="mahti"), "cluster"), ({"schema": "node-summary/1"}, "schema")):
        answer = post(document)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["path"] == path
    assert not RawWindow.objects.exists()


def shed(answer: Any) -> tuple[int, str, str]:
    assert answer["Content-Type"] == "application/problem+json"
    return answer.status_code, answer["Retry-After"], answer.json()["detail"]


def test_more_windows_than_a_minute_may_bring_are_shed(post, settings) -> None:
    settings.RAW_WINDOWS_PER_MINUTE = 2
    assert post([raw_samples(), raw_samples(node="nid005124")]).status_code == 202
    assert shed(post(raw_samples(node="nid005125"))) == (
        503,
        "60",
        "Raw samples are rejected at the moment: 2 windows arrived within the last minute; the limit is 2.",
    )
    assert RawWindow.objects.count() == 2
    RawWindow.objects.update(received_at=timezone.now() - timedelta(seconds=61))
    assert post(raw_samples(node="nid005125")).status_code == 202


def test_no_more_is_kept_than_the_setting_says(post, settings) -> None:
    settings.RAW_MIB_MAX = 1
    assert post(raw_samples()).status_code == 202
    RawWindow.objects.update(size_bytes=2**20)
    status, retry_after, why = shed(post(raw_samples(node="nid005124")))
    assert (status, retry_after) == (503, "3600")
    assert why == "Raw samples are rejected at the moment: 1 MiB of them are stored; the limit is 1."


def test_a_portal_that_is_behind_with_its_reports_takes_none(post, settings) -> None:
    settings.RAW_BACKLOG_MAX = 2
    ended_at = timezone.now() - timedelta(minutes=30)
    times = {"started_at": ended_at - timedelta(hours=2), "ended_at": ended_at}
    for job_id in range(1, 3):
        record_job(job_record(job_id=job_id, **times))
    assert post(raw_samples()).status_code == 202
    record_job(job_record(job_id=3, **times))
    # One that ended a minute ago still waits for its nodes, and one that was judged waits for nothing.
    record_job(job_record(job_id=4, started_at=ended_at, ended_at=timezone.now() - timedelta(minutes=1)))
    status, retry_after, why = shed(post(raw_samples(node="nid005124")))
    assert (status, retry_after) == (503, "300")
    assert why == "Raw samples are rejected at the moment: more than 2 ended jobs wait for their analysis."
    call_command("analyse_job", "--due", verbosity=0)
    assert post(raw_samples(node="nid005124")).status_code == 202


def test_summaries_and_records_are_taken_whatever_happens_to_raw_windows(post, client: Client, settings) -> None:
    settings.RAW_WINDOWS_PER_MINUTE = 0
    assert post(raw_samples()).status_code == 503
    headers = {"Authorization": f"Bearer {create_collector_token('others', 'lumi')}"}
    for path, document in (("node-summaries", summary()), ("job-records", record())):
        answer = client.post(f"/api/v1/ingest/{path}", document, content_type="application/json", headers=headers)
        assert answer.status_code == 201


def test_a_file_of_them_is_stored_by_hand_whatever_the_load(tmp_path, settings) -> None:
    settings.RAW_WINDOWS_PER_MINUTE = 0
    file = tmp_path / "raw.jsonl"
    file.write_text("\n".join(json.dumps(raw_samples(node=node)) for node in ("nid005123", "nid 5")))
    with pytest.raises(CommandError, match="1 record was rejected; all others are stored"):
        call_command("ingest", str(file))
    assert RawWindow.objects.get().node == "nid005123"


def test_the_samples_come_as_csv_with_one_row_a_gpu_and_tick(cast, reported) -> None:
    reported()
    second = {"gpu_id": 1, "util": [0, -0.0, 100], "mem_gb": [None, 63.98, 0.5]}
    first = raw_samples()["gpus"][0]
    record_raw_window(raw_payload(first, second))
    record_raw_window(raw_payload(node="nid005122", at_s=[0.0, 30.0, 600.25], started_at="2026-11-20T12:50:00+01:00"))
    answer = cast("alice").get(CSV)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="kaiku-lumi-123456-raw-samples.csv"'
    assert rows_of(answer) == [
        ["node", "gpu_id", "at", "util_percent", "mem_gb"],
        ["nid005122", "0", "2026-11-20T11:50:00.000Z", "93.0", "9.81"],
        ["nid005122", "0", "2026-11-20T11:50:30.000Z", "94.5", "9.81"],
        ["nid005122", "0", "2026-11-20T12:00:00.250Z", "", ""],
        ["nid005123", "0", "2026-11-20T11:50:00.000Z", "93.0", "9.81"],
        ["nid005123", "0", "2026-11-20T11:50:00.610Z", "94.5", "9.81"],
        ["nid005123", "0", "2026-11-20T11:50:01.900Z", "", ""],
        ["nid005123", "1", "2026-11-20T11:50:00.000Z", "0.0", ""],
        ["nid005123", "1", "2026-11-20T11:50:00.610Z", "0.0", "63.98"],
        ["nid005123", "1", "2026-11-20T11:50:01.900Z", "100.0", "0.5"],
    ]


def test_they_open_for_whom_the_report_opens_and_not_without_a_window(cast, reported) -> None:
    reported()
    assert cast("alice").get(CSV).status_code == 404
    record_raw_window(raw_payload())
    people = ("alice", "carol", "bob", "dave", "erin", "frank", "grace")
    assert {name: cast(name).get(CSV).status_code for name in people} == dict(
        zip(people, (200, 200, 404, 404, 404, 404, 404), strict=True)
    )
    assert Client().get(CSV).status_code == 401
    share_job(Job.objects.get(), days=7, note="why?", now=timezone.now())
    assert cast("erin").get(CSV).status_code == 200


def test_each_attempt_has_its_own(cast, reported) -> None:
    reported(attempt=1)
    reported()
    record_raw_window(raw_payload())
    alice = cast("alice")
    assert alice.get(CSV).status_code == 404
    assert alice.get(f"{CSV}?attempt=0").status_code == 200
    assert "raw samples" not in alice.get(PAGE).content.decode()
    assert f'href="{CSV}?attempt=0"' in alice.get(f"{PAGE}?attempt=0").content.decode()


def shown(client: Client) -> str:
    """The downloads of the job's page as people read them."""
    page = client.get(PAGE).content.decode()
    _, _, downloads = page.partition('<details class="more"')
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", "", "<" + downloads.partition("</ul>")[0])))


def test_the_page_links_them_with_their_length_and_their_last_day(cast, reported, settings) -> None:
    reported()
    alice = cast("alice")
    assert "raw samples" not in shown(alice)
    User.objects.filter(username="alice").update(time_zone="Europe/Helsinki")
    # Arrived on the 20th at 22:30 UTC, which is the 21st in Helsinki; seven days are the 28th.
    record_raw_window(raw_payload(), timezone.datetime.fromisoformat("2026-11-20T22:30:00Z"))
    assert "raw samples of the last 10 minutes kept until 2026-11-28" in shown(alice)
    assert f'href="{CSV}?attempt=0"' in alice.get(PAGE).content.decode()
    settings.RAW_DAYS = 0
    assert shown(alice).rstrip().endswith("raw samples of the last 10 minutes")


def test_a_window_of_less_than_a_minute_and_one_without_a_report_are_linked_too(cast) -> None:
    record_job(job_record())
    record_raw_window(raw_payload(ended_at="2026-11-20T11:50:20Z"))
    assert "raw samples of the last minute kept until" in shown(cast("alice"))


def test_a_person_may_download_so_many_within_a_minute(cast, reported, settings, monkeypatch) -> None:
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    reported()
    record_raw_window(raw_payload())
    settings.DOWNLOADS_PER_MINUTE = 1
    alice = cast("alice")
    assert [alice.get(CSV).status_code for _ in range(2)] == [200, 429]
