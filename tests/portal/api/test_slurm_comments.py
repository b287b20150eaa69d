"""The comments for Slurm: whose jobs, which of them, in which order, and who may read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from analysis.comments.services import number_comments
from analysis.models import SlurmComment
from analysis.services import analyse_job
from jobs.models import AuditEntry, Job, Token, User
from jobs.services import record_job
from jobs.tokens.services import issue_token
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.tokens import create_collector_token, site_token

pytestmark = pytest.mark.django_db

PATH, PAGE = "/api/v1/slurm-comments", "/settings/slurm/"
CHECKED = 'id="id_is_on" checked'
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
"""The sample job ended on the 20th of November 2026."""


@pytest.fixture(autouse=True)
def allowed(settings) -> None:
    settings.SLURM_COMMENTS = True


@pytest.fixture
def operator(db: None) -> Client:
    return bearing(site_token(Token.Kind.COMMENTS, "operator", cluster="lumi", days=30))


def bearing(secret: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {secret}"})


def opt_in(*names: str, since: datetime = LONG_AGO) -> None:
    for name in names:
        User.objects.update_or_create(username=name, defaults={"slurm_comments_since": since})


def judged(job_id: int, *, user: str = "alice", use: float = 24.8, now: datetime | None = None, **record: Any) -> Job:
    """A judged run whose eight GPUs were busy to `use` percent; measured again if it was before."""
    record_job(job_record(job_id=job_id, user_id=user, **record))
    attempt, cluster = record.get("attempt", 0), record.get("cluster", "lumi")
    sequence = SlurmComment.objects.filter(job__job_id=job_id).count() + int(use * 10) + 1
    gpus = [gpu(index, use) for index in range(8)]
    payload = node_payload(gpus=gpus, job_id=job_id, attempt=attempt, cluster=cluster, sequence=sequence)
    record_node_summary(payload)
    job = Job.objects.get(cluster=cluster, job_id=job_id, attempt=attempt)
    analyse_job(job.pk, now)
    return job


def read(client: Client, since: int = 0, **query: int) -> tuple[dict[int, str], int]:
    answer = client.get(PATH, {"since": since, **query})
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert {comment["cluster"] for comment in found["comments"]} <= {"lumi"}
    return {comment["job_id"]: comment["text"] for comment in found["comments"]}, found["next_since"]


def test_only_runs_of_people_who_opted_in_and_that_ended_since(operator: Client) -> None:
    opt_in("alice")
    opt_in("bob", since=timezone.now())
    judged(1, use=24.8)
    judged(2, user="bob")
    judged(3, user="carol")
    judged(4, cluster="mahti")
    assert read(operator) == ({1: "kaiku:class=inefficient;util=24;v=1"}, 1)
    assert set(SlurmComment.objects.values_list("job__job_id", flat=True)) == {1, 4}


def test_a_new_judgement_comes_again_with_its_new_text_and_the_same_text_does_not(operator: Client) -> None:
    opt_in("alice")
    run, _ = judged(1, use=24.8), judged(2, use=90.0)
    first, since = read(operator)
    assert (first, since) == (
        {1: "kaiku:class=inefficient;util=24;v=1", 2: "kaiku:class=efficient;util=90;v=1"},
        2,
    )
    assert read(operator, since) == ({}, 2)
    analyse_job(run.pk)
    assert read(operator, since) == ({}, 2)
    judged(1, use=60.2)
    changed = {1: "kaiku:class=acceptable;util=60;v=1"}
    assert read(operator, since) == (changed, 3)
    # Asked again from the same place, or from the beginning: the newest text of each, once.
    assert read(operator, since) == (changed, 3)
    assert read(operator) == (changed | {2: "kaiku:class=efficient;util=90;v=1"}, 3)


def test_pages_are_bounded_and_together_everything(operator: Client) -> None:
    opt_in("alice")
    for job_id in range(1, 6):
        judged(job_id)
    found, since = {}, 0
    for size in (2, 2, 1, 0):
        texts, since = read(operator, since, limit=2)
        assert len(texts) == size
        found |= texts
    assert (set(found), since) == ({1, 2, 3, 4, 5}, 5)


def test_what_opting_out_ends_and_opting_in_again_does_not_bring_back(operator: Client, client: Client) -> None:
    opt_in("alice")
    run = judged(1)
    client.force_login(User.objects.get(username="alice"))
    assert CHECKED in client.get(PAGE).content.decode()
    client.post(PAGE, {})
    assert not SlurmComment.objects.exists()
    assert read(operator) == ({}, 0)
    client.post(PAGE, {"is_on": "on"})
    since = User.objects.get(username="alice").slurm_comments_since
    assert since is not None
    assert timezone.now() - since < timedelta(minutes=1)
    analyse_job(run.pk)
    assert read(operator) == ({}, 0)
    client.post(PAGE, {"is_on": "on"})
    assert User.objects.get(username="alice").slurm_comments_since == since


def test_a_comment_that_was_judged_while_its_owner_opted_out_is_not_read(operator: Client) -> None:
    opt_in("alice")
    judged(1)
    User.objects.update(slurm_comments_since=None)
    assert read(operator)[0] == {}


def test_only_the_latest_attempt_and_no_number_of_a_whole_array(operator: Client) -> None:
    opt_in("alice")
    judged(1, state="NODE_FAIL")
    judged(1, attempt=1, use=90.0)
    judged(2, state="REQUEUED")
    # Slurm gives one task the number of its array: sacctmgr would change all tasks.
    judged(10, array_job_id=10, array_task_id=3)
    judged(11, array_job_id=10, array_task_id=1)
    assert read(operator)[0] == {
        1: "kaiku:class=efficient;util=90;v=1",
        11: "kaiku:class=inefficient;util=24;v=1",
    }


def test_a_comment_says_which_attempt_it_is_about(operator: Client) -> None:
    opt_in("alice")
    judged(1, state="NODE_FAIL")
    judged(1, attempt=1, started_at="2026-11-20T10:30:00.7+00:00")
    assert operator.get(PATH).json()["comments"] == [
        {
            "cluster": "lumi",
            "job_id": 1,
            "started_at": "2026-11-20T10:30:00Z",
            "text": "kaiku:class=inefficient;util=24;v=1",
        }
    ]


def test_a_class_that_people_do_not_see_is_not_told(operator: Client) -> None:
    opt_in("alice")
    judged(1, state="NODE_FAIL")
    assert read(operator)[0] == {1: "kaiku:class=unknown;v=1"}


def test_what_only_the_owner_reported_has_none(operator: Client) -> None:
    opt_in("alice")
    run = judged(1)
    Job.objects.filter(pk=run.pk).update(is_told_by_owner=True)
    assert read(operator)[0] == {}


def test_a_place_that_was_never_given_is_of_another_database(operator: Client) -> None:
    opt_in("alice")
    judged(1)
    assert read(operator, 2**63 - 1) == ({1: "kaiku:class=inefficient;util=24;v=1"}, 1)


@pytest.mark.parametrize(
    "query", ["since=-1", "since=x", "since=9223372036854775808", "limit=0", "limit=1001", "limit="]
)
def test_what_is_no_number_is_a_problem(operator: Client, query: str) -> None:
    assert operator.get(f"{PATH}?{query}").status_code == 400


def test_no_other_token_reads_comments_and_this_one_reads_nothing_else(operator: Client, cast) -> None:
    cast("alice")
    alice, now = User.objects.get(username="alice"), timezone.now()
    others = (
        create_collector_token("nodes", "lumi"),
        issue_token(alice, name="mine", days=30, now=now),
        site_token(Token.Kind.POLICY, "slurm", days=30),
        site_token(Token.Kind.COMMENTS, "old", cluster="lumi", days=-1),
        "kaiku_comments_guessed",
    )
    assert [bearing(secret).get(PATH).status_code for secret in others] == [401] * 5
    paths = ("/api/v1/jobs/", "/api/v1/whoami/", "/api/v1/flags", "/api/v1/policy/efficiency.json")
    assert [operator.get(path).status_code for path in paths] == [401] * 4
    assert operator.post("/api/v1/ingest/job-records", {}, "application/json").status_code == 401
    assert operator.post(PATH).status_code == 403


def test_switched_off_nothing_is_stored_shown_or_answered(operator: Client, client: Client, settings) -> None:
    opt_in("alice")
    settings.SLURM_COMMENTS = False
    judged(1)
    assert not SlurmComment.objects.exists()
    assert operator.get(PATH).status_code == 404
    client.force_login(User.objects.get(username="alice"))
    assert client.get(PAGE).status_code == client.post(PAGE, {"is_on": "on"}).status_code == 404
    assert PAGE.encode() not in client.get("/settings/").content
    settings.SLURM_COMMENTS = True
    assert PAGE.encode() in client.get("/settings/").content


def test_the_page_says_who_may_read_it_what_is_written_and_that_it_stays(client: Client) -> None:
    User.objects.create(username="alice")
    client.force_login(User.objects.get(username="alice"))
    said = " ".join(client.get(PAGE).content.decode().split())
    assert "on LUMI, all users can read the comments of all jobs" in said
    assert "kaiku:class=inefficient;util=24;v=1" in said
    assert "What was written stays in Slurm" in said
    assert CHECKED not in said


def test_a_token_is_made_once_for_one_cluster_and_revoked(capsys) -> None:
    call_command("create_token", "--kind", "comments", "operator", "--cluster", "lumi")
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("kaiku_comments_")
    assert not Token.objects.filter(digest__contains=secret).exists()
    assert bearing(secret).get(PATH).status_code == 200
    for wrong in (("operator", "--cluster", "lumi"), ("new",), ("new", "--cluster", "lumi,*")):
        with pytest.raises(CommandError):
            call_command("create_token", "--kind", "comments", *wrong)
    call_command("create_token", "--kind", "comments", "operator", "--revoke")
    assert bearing(secret).get(PATH).status_code == 401
    written = AuditEntry.objects.filter(kind="comment_token").order_by("pk").values_list("action", "name")
    assert list(written) == [("token_made", "operator"), ("token_revoked", "operator")]


@pytest.mark.postgresql
def test_a_page_reads_an_index_however_many_runs_there_are(operator: Client) -> None:
    """50,000 comments, of which a page of 500 is asked: no table is read as a whole."""
    opt_in("alice")
    run = judged(1)
    with connection.cursor() as cursor:
        columns = ", ".join(
            f'"{field.column}"' for field in Job._meta.concrete_fields if field.column not in ("id", "job_id")
        )
        cursor.execute(
            f"INSERT INTO jobs_job (job_id, {columns})"
            f" SELECT 1000 + n, {columns} FROM jobs_job, generate_series(1, 50000) n"
        )
        cursor.execute(
            "INSERT INTO analysis_slurmcomment (job_id, cluster, text, position)"
            " SELECT id, 'lumi', 'kaiku', job_id FROM jobs_job WHERE id <> %s",
            [run.pk],
        )
        for table in ("jobs_job", "analysis_slurmcomment"):
            cursor.execute(f"ANALYZE {table}")
    page = SlurmComment.objects.filter(cluster="lumi", position__gt=30_000).order_by("position")
    plans = [
        page.select_related("job__user")[:500].explain(),
        SlurmComment.objects.filter(cluster="lumi", position=None).order_by("job")[:1000].explain(),
    ]
    assert "comments_in_order" in plans[0]
    assert "comments_to_number" in plans[1]
    assert not [plan for plan in plans if "Seq Scan on jobs_job" in plan or "Seq Scan on analysis" in plan]
    assert number_comments("lumi") == 1
