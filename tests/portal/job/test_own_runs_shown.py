"""Own runs on pages and in the API: said to be so, in no sum but their owner's, and gone once the site denies them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from analysis.answers.selectors import given_in_month
from analysis.models import Feedback, JobEfficiency
from analysis.selectors import comparable_runs, due_jobs
from analysis.services import analyse_due
from jobs.models import Job, JobShare, User
from jobs.services import record_job
from jobs.tallies.selectors import tallies
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from reports.models import Report
from tests.payloads import job_record, node_payload
from tests.portal.own_runs import PROJECT, alone, own_summary, post, sending_token, told

pytestmark = pytest.mark.django_db

JOB, API = "/jobs/lumi/123456/", "/api/v1/jobs/lumi/123456/"
MEASURED = "These numbers were measured by the owner's own run of the collector, not by the site."
ALONE = "The details of the job were reported by its owner alone and have not been confirmed by the site."
BEGAN, ENDED = timezone.now() - timedelta(hours=4), timezone.now() - timedelta(hours=2)
LATELY = {"started_at": BEGAN.isoformat(), "ended_at": ENDED.isoformat()}


@pytest.fixture(autouse=True)
def allowed(settings, cast) -> None:
    """The cast, on a portal that takes own runs."""
    settings.OWN_RUNS = True


def own(owner: str = "alice", job_id: int = 123456, **changes: Any) -> None:
    """A run of two hours on one node that only its owner tells of, judged and reported."""
    secret = sending_token(owner, name=f"run {job_id}")
    document = own_summary(alone(user_id=owner, **changes), job_id=job_id, **LATELY)
    assert post(secret, document).status_code == 201
    judge()


def judge() -> None:
    call_command("analyse_job", "--due", verbosity=0)


def by_site(job_id: int = 123456, **changes: Any) -> None:
    record_job(job_record(**{"job_id": job_id, **LATELY} | changes))
    judge()


def words(content: bytes) -> str:
    return " ".join(content.decode().replace("&#x27;", "'").replace("\\#", "#").split())


@pytest.mark.one_database
def test_every_rendering_says_where_it_comes_from(cast) -> None:
    own()
    client = cast("alice")
    for path in (JOB, *(f"{API}report.{name}" for name in ("html", "md", "txt", "json"))):
        content = words(b"".join(client.get(path)))
        assert MEASURED in content, path
        assert ALONE in content, path
    assert client.get(f"{API}report.pdf").content.startswith(b"%PDF")
    found = client.get(API).json()
    assert (found["origin"], found["is_told_by_owner"]) == (f"{MEASURED} {ALONE}", True)
    listed = client.get("/api/v1/jobs/").json()["results"]
    assert [(row["job_id"], row["is_told_by_owner"]) for row in listed] == [(123456, True)]


def test_what_the_site_confirms_is_said_no_longer_and_what_it_measures_itself_neither(cast) -> None:
    own()
    by_site()
    content = words(cast("alice").get(JOB).content)
    assert MEASURED in content
    assert ALONE not in content
    record_node_summary(node_payload([90.0] * 8, sequence=0, **LATELY))
    judge()
    content = words(cast("alice").get(JOB).content)
    assert "own run of the collector" not in content
    assert "90.0 %" in content


def test_a_run_that_the_owner_measured_on_some_nodes_says_on_how_many(cast) -> None:
    by_site(nodes=["nid005123", "nid005124"], node_count=2, gpus_allocated=16)
    record_node_summary(node_payload(node="nid005124", **LATELY))
    post(sending_token(), own_summary(**LATELY))
    judge()
    said = cast("alice").get(API).json()["origin"]
    assert said == "The numbers of 1 of 2 nodes were measured by the owner's own run of the collector, not by the site."


def test_an_ordinary_run_says_nothing_of_it(cast, reported) -> None:
    reported()
    found = cast("alice").get(API).json()
    assert (found["origin"], found["is_told_by_owner"]) == ("", False)
    assert "own run of the collector" not in cast("alice").get(JOB).content.decode()


def test_a_run_waits_for_all_the_nodes_that_its_owner_tells_of() -> None:
    secret, now = sending_token(), timezone.now()
    times = {"started_at": BEGAN.isoformat(), "ended_at": now.isoformat()}
    post(secret, own_summary(**times))
    assert list(due_jobs(now)) == []
    post(secret, own_summary(node="nid005124", **times))
    assert len(list(due_jobs(now))) == 1


def test_the_sites_summary_opens_the_run_again_though_its_sequence_is_lower() -> None:
    by_site()
    post(sending_token(), own_summary(alone(), sequence=7, **LATELY))
    judge()
    # 16 GPU-hours of two at 88 %: 22 % over all eight.
    assert JobEfficiency.objects.get().avg_gpu_util == pytest.approx(22.0)
    record_node_summary(node_payload([90.0] * 8, sequence=0, **LATELY))
    assert analyse_due(10, timezone.now()) == 1
    assert JobEfficiency.objects.get().avg_gpu_util == pytest.approx(90.0)


def test_a_run_that_the_site_says_is_anothers_is_theirs_and_keeps_nothing_of_the_first(cast) -> None:
    own()
    run = Job.objects.get()
    Feedback.objects.create(job=run, user=run.user, code="verdict", is_right=True, rules_version="1", given_at=BEGAN)
    JobShare.objects.create(job=run, shared_at=BEGAN, expires_at=timezone.now() + timedelta(days=3))
    assert Report.objects.exists()
    record_job(job_record(user_id="bob", **LATELY))
    assert [model.objects.count() for model in (JobEfficiency, Report, Feedback, JobShare)] == [0] * 4
    judge()
    assert cast("alice").get(JOB).status_code == cast("alice").get(f"{API}gpus/").status_code == 404
    bob = cast("bob")
    assert bob.get(f"{API}gpus/").json() == []
    found = bob.get(API).json()
    assert found["job"]["user_id"] == "bob"
    assert (found["efficiency"]["efficiency_class"], found["origin"]) == ("UNKNOWN", "")
    page = words(bob.get(JOB).content)
    assert "alice" not in page
    assert "88.0 %" not in page
    assert NodeSummary.objects.get().sent_by == "alice"
    assert post(sending_token("bob"), own_summary(alone(user_id="bob"), **LATELY)).status_code == 201
    judge()
    assert len(bob.get(f"{API}gpus/").json()) == 8


def test_a_run_that_the_site_says_is_another_projects_is_made_anew_and_stays_measured(cast) -> None:
    own(project_id=None)
    assert Job.objects.get().project.name == "own-alice"
    by_site(project_id="project_465000001")
    run = Job.objects.get()
    assert (run.project.name, run.is_told_by_owner) == ("project_465000001", False)
    assert len(cast("carol").get(f"{API}gpus/").json()) == 8
    assert "own-alice" not in cast("carol").get(JOB).content.decode()


def test_a_job_has_one_owner_over_all_its_attempts(cast) -> None:
    own(job_id=5)
    by_site(job_id=5, attempt=1, user_id="bob")
    assert list(Job.objects.values_list("user__username", "attempt")) == [("bob", 1)]
    assert post(sending_token("bob"), own_summary(alone(user_id="bob"), job_id=5, **LATELY)).status_code == 201


def test_what_the_site_measured_is_not_shown_to_whoever_tells_that_the_run_is_theirs(cast) -> None:
    """bob's run, of which the site's record has not come yet; one of its nodes is all that alice needs to name."""
    record_node_summary(node_payload([66.0] * 8, node="nid005999", **LATELY))
    own()
    client = cast("alice")
    nodes = {row["node"] for row in client.get(f"{API}gpus/").json()}
    assert nodes == {"nid005123"}
    assert b"66.0" not in client.get(JOB).content
    assert client.get(API).json()["efficiency"]["avg_gpu_util"] == pytest.approx(22.0)
    by_site(job_id=6, job_name="train_v2", started_at=ENDED.isoformat(), ended_at=timezone.now().isoformat())
    (earlier,) = comparable_runs(Job.objects.get(job_id=6))
    # The 80.2 GB of alice's own node, whatever the other one had.
    NodeSummary.objects.filter(node="nid005999").update(host_peak_gb=444.0)
    assert earlier == comparable_runs(Job.objects.get(job_id=6))[0]
    assert earlier.host_peak_gb == 80.2


def project_page(client: Client) -> str:
    return words(client.get(f"/projects/{PROJECT}/?days=30").content)


def test_the_owner_finds_the_run_in_every_sum_and_the_pi_in_none(cast) -> None:
    own()
    alice, carol = cast("alice"), cast("carol")
    # Eight GPUs on small-g for two hours: 0.5 x 2 x 8.
    assert JobEfficiency.objects.get().gpu_hours == pytest.approx(8.0)
    assert "No jobs counted" not in project_page(alice)
    assert "No jobs counted" not in words(alice.get("/history/?days=30").content)
    assert "not included" not in project_page(alice)
    assert "No jobs counted" in project_page(carol)
    left_out = "1 job reported only by its owner is not included in these sums."
    assert left_out in project_page(carol)
    everything = words(carol.get("/history/?days=30&of=all").content)
    assert left_out in everything
    assert "No jobs counted" in everything
    summed = carol.get(f"/api/v1/projects/{PROJECT}/summary/?days=30").json()
    assert (summed["jobs"], summed["gpu_hours"], summed["owner_reported_jobs"]) == (0, 0, 1)
    by_site()
    summed = carol.get(f"/api/v1/projects/{PROJECT}/summary/?days=30").json()
    assert (summed["jobs"], summed["gpu_hours"], summed["owner_reported_jobs"]) == (1, pytest.approx(8.0), 0)
    assert "not included" not in project_page(carol)


def test_the_pis_own_untold_runs_stay_in_the_pis_own_pages(cast) -> None:
    own("carol")
    own("alice", job_id=2)
    carol = cast("carol")
    assert "No jobs counted" not in words(carol.get("/history/?days=30").content)
    assert "2 jobs reported only by their owners are not included" in words(
        carol.get("/history/?days=30&of=all").content
    )
    lines = b"".join(carol.get("/jobs.csv")).decode().splitlines()
    assert lines[0].endswith(",reported_by_owner_only")
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["True", "True"]


def test_what_people_say_of_such_runs_is_in_no_sum_over_people() -> None:
    own()
    run = Job.objects.get()
    Feedback.objects.create(job=run, user=run.user, code="verdict", is_right=True, rules_version="1", given_at=BEGAN)
    month = BEGAN.date().replace(day=1)
    assert list(given_in_month(month)) == []
    by_site()
    assert list(given_in_month(month)) == [("verdict", run.user_id, 1, 0)]


def test_the_page_of_a_personal_project_says_what_it_is_and_nobody_else_finds_it(cast) -> None:
    own(project_id=None)
    page = words(cast("alice").get("/projects/own-alice/?days=30").content)
    assert "Your own runs outside any project; nobody else is in it." in page
    assert "No jobs counted" not in page
    assert {cast(name).get("/projects/own-alice/").status_code for name in ("bob", "carol", "erin", "grace")} == {404}


def test_staff_are_not_shown_personal_projects_as_missing_in_a_directory(cast) -> None:
    own(project_id=None)
    assert b"own-alice" not in cast("erin").get("/support/directory/").content


def test_the_numbers_of_whoever_runs_the_site_hear_of_its_own_collectors_only() -> None:
    post(sending_token(), own_summary(alone(), errors=["a label of one's own"], cluster="desk", **LATELY))
    counted = tallies()
    assert counted["kaiku_ingest_records"] == {("node-summary", "accepted"): 1}
    assert "kaiku_node_summaries" not in counted
    assert "kaiku_collector_failures" not in counted


def test_two_nodes_are_one_run_on_the_page(cast) -> None:
    secret = sending_token()
    for node in ("nid005124", "nid005123"):
        post(secret, own_summary(told(), node=node, **LATELY))
    judge()
    page = words(cast("alice").get(JOB).content)
    assert "nid005123, nid005124" in page
    assert User.objects.get(username="alice").jobs.count() == 1
    assert MEASURED in page
