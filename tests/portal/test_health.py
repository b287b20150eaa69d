"""Liveness and readiness, open to a probe that knows nobody."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import AdviceOutcome, SupportCase
from analysis.outcomes.services import settle_due
from analysis.services import analyse_due
from jobs.models import Job, Process, Tally, User, WorkFailure
from jobs.services import record_job
from portal.beat_lease import LEASE
from portal.ingest import tallies
from reports.mail.services.sending import deliver_due
from reports.models import Delivery
from tests.payloads import job_record, summary
from tests.processes import free_ports
from tests.steps import ran
from tests.tokens import create_collector_token

CLASS = r'kaiku_end_to_{}_seconds_bucket{{le="(.+)"}} (.+)'


def send(secret: str, document: dict) -> None:
    headers = {"Authorization": f"Bearer {secret}"}
    Client().post("/api/v1/ingest/node-summaries", json.dumps(document), "application/json", headers=headers)


def scraped() -> list[str]:
    answer = Client(SERVER_NAME="127.0.0.1").get("/metrics")
    assert answer.status_code == 200
    return answer.content.decode().splitlines()


def test_a_living_process_says_so() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_a_process_with_its_database_is_ready() -> None:
    assert Client().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_process_without_its_database_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", unreachable)
    answer = Client().get("/readyz")
    said = answer.json()
    assert (answer.status_code, said["status"]) == (503, "database unreachable")
    states = {"database": "database unreachable", "storing": "unknown", "migrations": "unknown", "worker": "unknown"}
    assert {name: said["parts"][name] for name in states} == states


@pytest.mark.django_db
def test_a_worker_that_is_silent_and_a_broker_that_is_away_are_named_and_keep_no_page_from_its_work(settings) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_ports(1)[0]}/0"
    worker = Process.objects.create(name="host 1 2", kind="worker", version="1", seen_at=timezone.now())
    assert Client().get("/readyz").json()["parts"]["worker"] == "ok"
    Process.objects.filter(pk=worker.pk).update(seen_at=timezone.now() - timedelta(seconds=95))
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    parts = answer.json()["parts"]
    assert (parts["broker"], parts["beat"]) == ("broker unreachable", "unknown")
    assert re.fullmatch(r"not seen for 1 min 3[5-9] s", parts["worker"])


@pytest.mark.django_db
def test_a_release_whose_migrations_are_not_applied_is_not_ready() -> None:
    MigrationRecorder(connection).record_unapplied("analysis", "0001_initial")
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "1 migration not applied")


@pytest.mark.django_db
def test_a_beat_is_known_by_its_lease(shared_cache, settings) -> None:
    settings.REDIS_URL = settings.CACHES["default"]["LOCATION"]
    assert Client().get("/readyz").json()["parts"]["beat"] == "no beat sends"
    shared_cache.set(LEASE, "this one")
    assert Client().get("/readyz").json()["parts"]["beat"] == "ok"


@pytest.mark.django_db
def test_what_the_ingest_answers_and_the_collectors_could_not_do_is_counted_by_reason() -> None:
    secret = create_collector_token("nodes", "lumi")
    send(secret, summary(job_id=1))
    send(secret, summary(job_id=1))
    for job_id, stood_still_s in ((2, 31), (3, 4.5)):
        said = [f"sampling stood still for {stood_still_s} s", 'a "quoted\nreason']
        send(secret, summary(job_id=job_id, errors=said))
    send(secret, summary(job_id=4, node=""))
    send("nobody's", summary(job_id=5))
    lines = scraped()
    assert 'kaiku_node_summaries_total{cluster="lumi"} 3.0' in lines
    assert 'kaiku_collector_failures_total{cluster="lumi",reason="sampling stood still for N s"} 2.0' in lines
    assert [line for line in lines if "quoted" in line and line.endswith(" 2.0")]
    for outcome, times in (("accepted", 3), ("duplicate", 1), ("rejected", 1)):
        assert f'kaiku_ingest_records_total{{kind="node-summary",outcome="{outcome}"}} {times}.0' in lines
    for code, times in ((201, 3), (200, 1), (422, 1), (401, 1), (503, 0)):
        assert f'kaiku_ingest_calls_total{{code="{code}",kind="node-summary"}} {times}.0' in lines
    assert 'kaiku_trouble{trouble="database busy"} 0.0' in lines


@pytest.mark.django_db
def test_reasons_without_end_are_counted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "REASONS_MAX", 2)
    monkeypatch.setattr(tallies.waiting, "_reasons", set())
    secret = create_collector_token("nodes", "lumi")
    for job_id, reason in enumerate(("one", "two", "three", "four", "one"), 1):
        send(secret, summary(job_id=job_id, errors=[reason]))
    reasons = [line.partition("reason=")[2] for line in scraped() if line.startswith("kaiku_collector_failures_total")]
    assert reasons == ['"one"} 2.0', '"other"} 2.0', '"two"} 1.0']
    # After a month without it, a reason gives its place to another.
    long_ago = timezone.now() - timedelta(days=31)
    Tally.objects.filter(labels__contains="two").update(last_at=long_ago)
    send(secret, summary(job_id=9, errors=["five"]))
    reasons = [line.partition("reason=")[2] for line in scraped() if line.startswith("kaiku_collector_failures_total")]
    assert reasons == ['"five"} 1.0', '"one"} 2.0', '"other"} 2.0']


@pytest.mark.django_db
def test_what_collectors_say_of_people_is_no_label() -> None:
    secret = create_collector_token("nodes", "lumi")
    said = ["/users/alice/secret: Permission denied: alice@users.example", " ", "/sys/class/drm/card3: gone"]
    send(secret, summary(job_id=1, errors=said))
    reasons = [line.partition("reason=")[2] for line in scraped() if line.startswith("kaiku_collector_failures_total")]
    assert reasons == [
        '"/sys/class/drm/cardN: gone"} 1.0',
        '"PATH Permission denied: ADDRESS"} 1.0',
        '"no reason given"} 1.0',
    ]


@pytest.mark.django_db
def test_what_the_ingest_answered_while_the_database_was_away_is_counted_once_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", unreachable)
        tallies.waiting.answered("node-summary/1", 503)
        tallies.waiting.write()
    assert 'kaiku_ingest_calls_total{code="503",kind="node-summary"} 0.0' in scraped()
    tallies.waiting.write()
    assert 'kaiku_ingest_calls_total{code="503",kind="node-summary"} 1.0' in scraped()


@pytest.mark.django_db
def test_what_is_set_aside_waits_no_longer_and_what_was_tried_in_vain_does(cast) -> None:
    now = timezone.now()
    ended = now - timedelta(hours=3)
    run = record_job(job_record(ended_at=ended.isoformat()), now=ended) and Job.objects.get()
    WorkFailure.objects.create(kind="judgement", key=run.pk, tries=5, first_at=now, last_at=now, set_aside_at=now)
    Delivery.objects.create(
        user=run.user, attempts=1, created_at=now - timedelta(hours=2), due_at=now + timedelta(hours=1)
    )
    lines = scraped()
    assert {'kaiku_due{kind="judgement"} 0.0', 'kaiku_due{kind="mail"} 1.0'} <= set(lines)
    (age_s,) = (float(line.split()[-1]) for line in lines if line.startswith('kaiku_oldest_due_seconds{kind="mail"'))
    assert 7200 <= age_s < 7300


@pytest.mark.django_db
def test_a_server_of_the_ingest_that_was_there_within_a_day_is_missed() -> None:
    assert Client().get("/readyz").json()["parts"]["ingest"] == "not used"
    at = timezone.now() - timedelta(minutes=3)
    Process.objects.create(name="host 1 2", kind="ingest", version="1", seen_at=at)
    assert re.fullmatch(r"not seen for 3 min 0\d s", Client().get("/readyz").json()["parts"]["ingest"])
    assert 'kaiku_part_up{part="ingest"} 0.0' in scraped()


@pytest.mark.django_db
def test_from_end_to_judgement_report_and_mail_is_measured_once_for_each_job(reported, settings, tmp_path) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    User.objects.filter(username="alice").update(email="alice@users.example")
    for job_id, hours in ((1, 2.5), (2, 0.01), (3, 24 * 8)):
        ended = timezone.now() - timedelta(hours=hours)
        reported(job_id, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())
    # Judged again, as after late data: not counted again.
    Job.objects.update(revision=9)
    assert analyse_due(10) == 3
    deliver_due(10, timezone.now() + timedelta(days=1))
    lines = scraped()
    # 36 s and 9000 s; the job of last week is history.
    for name in ("judgement", "report", "mail"):
        at_most = [(le, float(count)) for le, count in re.findall(CLASS.format(name), "\n".join(lines))]
        counts = dict(at_most)
        assert (counts["60"], counts["3600"], counts["10800"], counts["+Inf"]) == (1, 1, 2, 2), name
        (total,) = re.findall(rf"^kaiku_end_to_{name}_seconds_sum (.+)$", "\n".join(lines), re.MULTILINE)
        assert 9036 <= float(total) < 9236
    assert 'kaiku_judgements_total{nodes="all"} 3.0' in lines
    assert "kaiku_reports_total 3.0" in lines
    assert 'kaiku_mail_messages_total{outcome="sent"} 1.0' in lines


@pytest.mark.django_db
def test_work_that_waits_is_counted_with_its_age() -> None:
    now = timezone.now()
    ended = now - timedelta(hours=3)
    record_job(job_record(ended_at=ended.isoformat()), now=ended)
    lines = scraped()
    assert 'kaiku_due{kind="judgement"} 1.0' in lines
    (age_s,) = (float(line.split()[-1]) for line in lines if line.startswith('kaiku_oldest_due_seconds{kind="judgem'))
    assert 10800 <= age_s < 10900
    analyse_due(10)
    lines = scraped()
    assert {'kaiku_due{kind="judgement"} 0.0', 'kaiku_due{kind="report"} 1.0'} <= set(lines)
    assert 'kaiku_jobs_missing_summaries{age="6h",nodes="all"} 1.0' in lines
    assert 'kaiku_jobs_missing_summaries{age="1h",nodes="all"} 0.0' in lines
    assert 'kaiku_silent_nodes{cluster="lumi"} 1.0' in lines


@pytest.mark.django_db
def test_flags_cases_and_advice_are_counted_without_anybody(cast, flagged) -> None:
    lines = scraped()
    assert {f'kaiku_flags{{kind="{kind}"}} 1.0' for kind in ("user", "project", "work")} <= set(lines)
    assert {'kaiku_support_cases{state="open"} 3.0', 'kaiku_support_cases{state="claimed"} 0.0'} <= set(lines)
    (waited_s,) = (float(line.split()[-1]) for line in lines if line.startswith("kaiku_oldest_unclaimed_case_seconds "))
    # Raised eight days ago, seen after seven.
    assert 86_300 <= waited_s < 86_500
    for case in SupportCase.objects.all():
        cast("erin").post(f"/support/queue/{case.pk}/change/", {"action": "claim", "version": case.version})
    settle_due(10, timezone.now())
    assert ran("escalate") is not None
    lines = scraped()
    assert {'kaiku_support_cases{state="claimed"} 3.0', "kaiku_oldest_unclaimed_case_seconds 0.0"} <= set(lines)
    # All nine jobs were analysed at once, so all but the last of each kind of advice were repeated.
    found = {line.split()[0]: float(line.split()[-1]) for line in lines if line.startswith("kaiku_latest_advice")}
    assert sum(found.values()) == AdviceOutcome.objects.count() > 0
    assert found['kaiku_latest_advice{outcome="open"}'] == AdviceOutcome.objects.filter(status="open").count()
    (at,) = (float(line.split()[-1]) for line in lines if 'ended_timestamp_seconds{step="escalate"}' in line)
    assert abs(at - timezone.now().timestamp()) < 60
    ours = [line for line in lines if re.match("kaiku_(flags|support|oldest_un|latest_adv)", line)]
    assert not any(name in line for line in ours for name in ("alice", "erin", "465000001", "train"))


@pytest.mark.django_db
def test_a_scrape_costs_the_same_queries_however_much_there_is(reported) -> None:
    costs = []
    for job_ids in (range(1, 2), range(2, 30)):
        reported(*job_ids)
        with CaptureQueriesContext(connection) as queries:
            scraped()
        costs.append(len(queries))
    # Of these 14 are of months: each of seven kinds can be late by itself.
    assert costs[0] == costs[1] <= 38


@pytest.mark.django_db
def test_numbers_that_cannot_be_read_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", unreachable)
    answer = Client(SERVER_NAME="127.0.0.1").get("/metrics")
    lines = answer.content.decode().splitlines()
    assert (answer.status_code, "10.0.0.1" in answer.content.decode()) == (200, False)
    assert 'kaiku_trouble{trouble="database unreachable"} 1.0' in lines
    assert [line for line in lines if line.startswith("kaiku_due")] == []
    assert 'kaiku_part_up{part="database"} 0.0' in lines


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("came", "token", "status"),
    [
        ({"REMOTE_ADDR": "10.1.2.3"}, "", 404),
        ({"REMOTE_ADDR": "10.1.2.3"}, "secret", 200),
        ({"REMOTE_ADDR": "10.1.2.3"}, "wrong", 404),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"}, "", 404),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_VIA": "1.1 proxy"}, "", 404),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"}, "", 404),
        ({"REMOTE_ADDR": "::1"}, "", 200),
        ({"REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "testserver"}, "", 404),
        ({"REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "testserver"}, "secret", 200),
    ],
)
def test_numbers_are_for_this_machine_or_for_a_token(settings, came: dict, token: str, status: int) -> None:
    settings.METRICS_TOKEN = "secret"
    client = Client(**{"SERVER_NAME": "127.0.0.1"} | came)
    assert client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {token}").status_code == status


def test_without_a_token_set_none_opens_the_door(settings) -> None:
    settings.METRICS_TOKEN = ""
    assert Client().get("/metrics", HTTP_AUTHORIZATION="Bearer ", REMOTE_ADDR="10.1.2.3").status_code == 404
