"""The read API: one's own jobs, their GPUs and reports; a stranger finds nothing there."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.models import JobEfficiency
from jobs.models import Membership, Project
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.models import StoredPdf
from reports.services.publishing import publish_due
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST
from tests.roles import set_role

pytestmark = pytest.mark.django_db

JOB = "/api/v1/jobs/lumi/123456/"


@pytest.fixture
def job() -> None:
    """alice's job: two of eight GPUs at 88 %, reported."""
    record_job(job_record(request=WHOLE_REQUEST))
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    record_node_summary(node_payload(gpus=gpus, cpu=TWO_RANKS))
    call_command("analyse_job", "--due", verbosity=0)


def as_user(name: str, **more: bool) -> Client:
    user, _ = get_user_model().objects.get_or_create(username=name, defaults=more)
    client = Client()
    client.force_login(user)
    return client


def test_the_job_says_its_class_findings_recommendations_and_lessons(job) -> None:
    report = as_user("alice").get(JOB).json()
    assert report["schema"] == "job-report/1"
    assert report["job"]["user_id"] == "alice"
    assert report["efficiency"]["job_id"] == 123456
    assert report["efficiency"]["efficiency_class"] == "INEFFICIENT"
    assert report["efficiency"]["avg_gpu_util"] == pytest.approx(22.0)
    bases = {finding["code"]: finding["basis"] for finding in report["findings"]}
    assert bases == {"idle_gpus": "counted", "parallelism_mismatch": "inferred"}
    assert all(finding["lesson"]["url"].startswith("https://") for finding in report["findings"])
    advice = report["recommendations"][0]
    assert advice["recommended_gpus"] == 2
    assert advice["reason"].startswith("Only 2 GPUs showed sustained utilization > 30 %")
    assert advice["diff"][0] == "--gpus-per-node=8 -> --gpus-per-node=2"
    assert (advice["kind"], advice["basis"], advice["request"]) == ("gpus", "active_gpus", [])
    assert report["savings"]["gpu_hours"] == pytest.approx(6.0)


def test_the_gpus_are_a_list_of_measured_columns(job) -> None:
    gpus = as_user("alice").get(f"{JOB}gpus/").json()
    assert len(gpus) == 8
    assert (
        gpus[0] | {"job_id": 123456, "node": "nid005123", "gpu_id": 0, "avg_util": 88.0, "peak_mem_gb": 14.2} == gpus[0]
    )


@pytest.mark.parametrize(
    ("name", "content_type", "start"),
    [
        ("html", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ("md", "text/markdown; charset=utf-8", b"#"),
        ("txt", "text/plain; charset=utf-8", b""),
        ("pdf", "application/pdf", b"%PDF-"),
        ("json", "application/json", b"{"),
    ],
)
def test_the_report_comes_in_every_format(job, name: str, content_type: str, start: bytes) -> None:
    answer = as_user("alice").get(f"{JOB}report.{name}")
    assert answer["Content-Type"] == content_type
    assert answer["Content-Disposition"] == f'attachment; filename="kaiku-lumi-123456.{name}"'
    assert answer.content.lstrip().lower().startswith(start.lower())
    assert len(answer.content) > 500


def test_a_pdf_is_made_once(job) -> None:
    client = as_user("alice")
    made = client.get(f"{JOB}report.pdf").content
    assert client.get(f"{JOB}report.pdf").content == made
    # A new judgement that says the same keeps it, one that says something else does not.
    JobEfficiency.objects.update(revision=F("revision") + 1)
    assert publish_due(10) == 1
    assert bytes(StoredPdf.objects.get().content) == made
    JobEfficiency.objects.update(revision=F("revision") + 1, avg_gpu_util=77.0)
    assert publish_due(10) == 1
    assert not StoredPdf.objects.exists()


@pytest.mark.parametrize("path", [JOB, f"{JOB}gpus/", f"{JOB}report.json", f"{JOB}report.pdf"])
def test_only_owner_and_pi_find_the_job(job, path: str) -> None:
    carol, _ = get_user_model().objects.get_or_create(username="carol")
    bob, _ = get_user_model().objects.get_or_create(username="bob")
    set_role(carol, Project.objects.get(), Membership.Role.PI)
    set_role(bob, Project.objects.get(), Membership.Role.MEMBER)
    erin = {"is_staff": True, "is_superuser": True}
    statuses = [as_user(name).get(path).status_code for name in ("alice", "carol", "bob", "dave")]
    assert [*statuses, as_user("erin", **erin).get(path).status_code] == [200, 200, 404, 404, 404]
    assert Client().get(path).status_code == 401


def test_the_list_holds_the_record_and_the_class(job) -> None:
    record_job(job_record(job_id=7, state="RUNNING", ended_at=None))
    answer = as_user("alice").get("/api/v1/jobs/").json()
    assert answer["count"] == 2
    by_id = {item["job_id"]: item for item in answer["results"]}
    assert by_id[123456]["efficiency"]["efficiency_class"] == "INEFFICIENT"
    assert by_id[7]["efficiency"] is None
    assert as_user("dave").get("/api/v1/jobs/").json()["count"] == 0


@pytest.mark.one_database
def test_the_list_costs_the_same_queries_for_one_job_and_for_fifty() -> None:
    client, counts = as_user("alice"), []
    for ids in (range(1, 2), range(2, 51)):
        for job_id in ids:
            record_job(job_record(job_id=job_id))
        call_command("analyse_job", "--due", verbosity=0)
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/api/v1/jobs/?page_size=100").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_job_without_a_report_yet_shows_its_record() -> None:
    record_job(job_record())
    client = as_user("alice")
    assert client.get(JOB).json()["efficiency"] is None
    assert client.get(f"{JOB}report.json").status_code == 404


def test_attempts_are_told_apart(job) -> None:
    record_job(job_record(attempt=1, state="FAILED"))
    client = as_user("alice")
    assert client.get(JOB).json()["job"]["attempt"] == 1
    assert client.get(f"{JOB}?attempt=0").json()["job"]["attempt"] == 0
    assert client.get(f"{JOB}?attempt=2").status_code == 404
    assert client.get(f"{JOB}?attempt=x").status_code == 404


def test_an_unknown_format_or_job_is_not_found(job) -> None:
    client = as_user("alice")
    assert client.get(f"{JOB}report.docx").status_code == 404
    assert client.get("/api/v1/jobs/lumi/9999999999999999/").status_code == 404
    assert client.get(JOB.replace("lumi", "mahti")).json()["title"] == "Not Found"


@pytest.mark.parametrize("verb", ["get", "post", "delete"])
def test_a_call_that_there_is_none_of_is_a_problem_and_a_page_that_there_is_none_of_a_page(client, verb: str) -> None:
    answer = getattr(client, verb)("/api/v1/nothing/")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["detail"] == "There is no such call; /api/docs/ lists all calls."
    assert "This page does not exist" in getattr(client, verb)("/nothing/").content.decode()


def test_a_forgotten_slash_is_forgiven(client) -> None:
    assert client.get("/api/v1/jobs")["Location"] == "/api/v1/jobs/"


@pytest.mark.parametrize(
    ("state", "minutes", "classes"),
    [("FAILED", 8, "UNKNOWN"), ("COMPLETED", 3, "UNKNOWN"), ("COMPLETED", 8, "INEFFICIENT")],
)
def test_a_run_that_is_not_judged_has_no_class(db, state: str, minutes: int, classes: str) -> None:
    """At 22 % on average; failed before ten minutes, or shorter than five, it is not judged anywhere."""
    times = {"started_at": "2026-11-20T10:00:00Z", "ended_at": f"2026-11-20T10:0{minutes}:00Z"}
    record_job(job_record(state=state, walltime_used_s=60.0 * minutes, **times))
    gpus = [gpu(index, 88.0 if index < 2 else 0.0) for index in range(8)]
    record_node_summary(node_payload(gpus=gpus, **times))
    call_command("analyse_job", "--due", verbosity=0)
    alice = as_user("alice")
    assert alice.get(JOB).json()["efficiency"]["efficiency_class"] == classes
    (listed,) = alice.get("/api/v1/jobs/").json()["results"]
    assert listed["efficiency"]["efficiency_class"] == classes
    assert alice.get(f"{JOB}report.json").json()["efficiency"]["efficiency_class"] == classes
    shown = "Not judged" if classes == "UNKNOWN" else "Inefficient"
    assert f'class="class-name">{shown}' in alice.get("/jobs/lumi/123456/").content.decode()
    assert f",{'NOT_JUDGED' if classes == 'UNKNOWN' else classes}," in b"".join(alice.get("/jobs.csv")).decode()


@pytest.mark.parametrize(
    ("name", "width", "said"),
    [
        ("txt", "19", "width must be a whole number from 20 to 78."),
        ("txt", "79", "width must be a whole number from 20 to 78."),
        ("txt", "wide", "width must be a whole number from 20 to 78."),
        ("txt", "", "width must be a whole number from 20 to 78."),
        ("md", "50", "width applies to report.txt alone."),
    ],
)
def test_another_width_of_the_report_is_refused_with_its_bounds(
    cast, reported, name: str, width: str, said: str
) -> None:
    reported()
    answer = cast("alice").get(f"{JOB}report.{name}", {"width": width})
    assert (answer.status_code, answer.json()["detail"]) == (400, said)


def test_the_report_as_text_has_the_width_that_is_requested(cast, reported) -> None:
    reported()
    client = cast("alice")
    usual, narrow = (client.get(f"{JOB}report.txt{query}").content.decode() for query in ("", "?width=40"))
    assert usual == client.get(f"{JOB}report.txt?width=78").content.decode()
    longest = max(len(line) for line in narrow.splitlines() if "#SBATCH" not in line and "http" not in line)
    assert longest <= 40 < max(map(len, usual.splitlines()))
