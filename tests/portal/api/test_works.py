"""One's own works as programs read them: whose they are, what they add up to, and what a call costs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Job
from jobs.services import record_job
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

QUERIES_MAX = 16
"""Two of them find the session and the person."""


def times(hours_ago: float, run_s: float = 7200) -> dict[str, object]:
    ended_at = timezone.now() - timedelta(hours=hours_ago)
    started_at = ended_at - timedelta(seconds=run_s)
    return {"started_at": started_at.isoformat(), "ended_at": ended_at.isoformat(), "walltime_used_s": run_s}


@pytest.fixture
def alice(cast, reported) -> Client:
    """Three runs of `train` on eight GPUs, of which two were used; one of `evaluate`; one run without a name."""
    for job_id, hours_ago in ((1, 130), (2, 100), (3, 30)):
        reported(job_id, job_name=f"train_v{job_id}", **times(hours_ago))
    record_job(job_record(job_id=4, job_name="evaluate", **times(20)))
    record_job(job_record(job_id=5, job_name="bash", **times(10)))
    return cast("alice")


def key(job_id: int = 1) -> str:
    return Job.objects.get(job_id=job_id).work_key


def test_the_works_are_ones_own_the_latest_first(alice, cast) -> None:
    works = alice.get("/api/v1/works/").json()["works"]
    assert [(work["name"], work["jobs"]) for work in works] == [("evaluate", 1), ("train_v3", 3)]
    train = works[1]
    # Three runs of two hours on a whole node: 4 GPU-hours an hour each. 2 of 8 GPUs at 88 % are 22 %: 5.28 of 24.
    assert train["gpu_hours"] == pytest.approx(24.0)
    assert train["used_gpu_hours"] == pytest.approx(5.28)
    assert train["use_percent"] == pytest.approx(22.0)
    assert train["classes"] == {"INEFFICIENT": 3}
    assert train["finding"]["jobs"] == 3
    assert train["url"] == f"/work/{key()}/"
    assert [work["gpu_hours"] for work in works if work["name"] == "evaluate"] == [None]
    assert cast("carol").get("/api/v1/works/").json()["works"] == []


def test_works_are_narrowed_and_nonsense_is_refused(alice) -> None:
    assert [work["jobs"] for work in alice.get("/api/v1/works/?days=3&q=TRAIN").json()["works"]] == [1]
    # A name that no run has, but whose runs would be of this work; a name that is no part of one's own.
    assert [work["jobs"] for work in alice.get("/api/v1/works/?q=train-2026_v9").json()["works"]] == [3]
    assert alice.get("/api/v1/works/?q=trains").json()["works"] == []
    assert len(alice.get("/api/v1/works/?limit=1").json()["works"]) == 1
    for query in ("days=0", "days=367", "days=", "limit=201", "limit=x", "q=%00", "q=" + "x" * 300):
        assert alice.get(f"/api/v1/works/?{query}").status_code == 400, query


def test_one_work_says_what_its_page_shows(alice) -> None:
    work = alice.get(f"/api/v1/works/{key()}/").json()
    assert (work["name"], work["owner"], work["is_own"], work["jobs"]) == ("train_v3", "alice", True, 3)
    typical = work["typical"]
    assert typical["runs"] == 3
    assert typical["gpus_used"] == {"n": 3, "typical": 2, "low": None, "high": None}
    assert typical["run_time_s"]["typical"] == 7200
    assert (typical["success_rate"], typical["completed"], typical["decided"]) == (1.0, 3, 3)
    assert work["advice"]["diff"][0] == "--gpus-per-node=8 -> --gpus-per-node=2"
    # Each run of two hours at 4 GPU-hours an hour would be 2 hours at 1: 6 less, three times.
    assert (work["advice"]["saves_gpu_hours"], work["advice"]["from_runs"]) == (pytest.approx(18.0), 3)
    assert "--gpus-per-node=2" in work["best_request"]["request"]
    assert [(point["gpus"], point["n"], point["speedup"]) for point in work["scaling"]["points"]] == [(8, 3, None)]
    assert work["scaling"]["knee_gpus"] is None
    assert work["saved"] is None


@pytest.mark.parametrize(("name", "status"), [("carol", 200), ("bob", 404), ("dave", 404), ("erin", 404)])
def test_a_work_is_its_owners_and_the_pis(alice, cast, name: str, status: int) -> None:
    answer = cast(name).get(f"/api/v1/works/{key()}/")
    assert answer.status_code == status
    if status == 200:
        assert (answer.json()["owner"], answer.json()["is_own"]) == ("alice", False)


def test_the_latest_job_is_the_askers_own(alice, cast) -> None:
    assert alice.get("/api/v1/jobs/latest/").json()["job"]["job_id"] == 5
    assert alice.get("/api/v1/jobs/latest/?work=train_v9").json()["job"]["job_id"] == 3
    assert alice.get(f"/api/v1/jobs/latest/?work={key(4)}").json()["job"]["job_id"] == 4
    assert alice.get("/api/v1/jobs/latest/?work=bash").status_code == 404
    assert cast("carol").get("/api/v1/jobs/latest/").status_code == 404
    assert cast("carol").get(f"/api/v1/jobs/latest/?work={key()}").status_code == 404


def test_a_run_that_goes_on_is_not_the_latest(alice) -> None:
    record_job(job_record(job_id=9, state="RUNNING", ended_at=None, walltime_used_s=None))
    assert alice.get("/api/v1/jobs/latest/").json()["job"]["job_id"] == 5


def listed(client: Client, query: str) -> list[int]:
    answer = client.get(f"/api/v1/jobs/?{query}")
    assert answer.status_code == 200, query
    page = answer.json()
    assert page["count"] == len(page["results"])
    return [run["job_id"] for run in page["results"]]


def test_the_list_of_jobs_is_narrowed(alice, cast) -> None:
    assert listed(alice, "own=1") == [5, 4, 3, 2, 1]
    assert listed(alice, "work=train") == [3, 2, 1]
    assert listed(alice, f"work={key(4)}") == [4]
    assert listed(alice, "work=nothing_like_it") == []
    assert listed(alice, "work=.") == []
    assert listed(alice, "days=3&work=train") == [3]
    assert listed(alice, "class=INEFFICIENT") == [3, 2, 1]
    assert listed(alice, "sort=wasted") == [3, 2, 1]
    assert (listed(alice, "job_id=4"), listed(alice, "job_id=4&work=train"), listed(alice, "job_id=99")) == (
        [4],
        [],
        [],
    )
    carol = cast("carol")
    assert (listed(carol, "job_id=4"), listed(cast("dave"), "job_id=4")) == ([4], [])
    assert listed(carol, "sort=latest") == [5, 4, 3, 2, 1]
    assert listed(carol, "own=1") == []
    assert listed(cast("dave"), f"work={key()}") == []
    for query in (
        "days=0",
        "class=GOOD",
        "sort=best",
        "limit=501",
        "limit=0",
        "own=yes",
        "job_id=0",
        "job_id=x",
        "job_id=",
    ):
        assert alice.get(f"/api/v1/jobs/?{query}").status_code == 400, query


@pytest.mark.one_database
def test_calls_cost_a_fixed_number_of_queries(alice, reported) -> None:
    paths = ("works/", f"works/{key()}/", "jobs/latest/?work=train", "jobs/?own=1&work=train&sort=wasted&limit=500")

    def queries() -> list[int]:
        counts = []
        for path in paths:
            with CaptureQueriesContext(
                connection,
            ) as captured:
                assert alice.get(f"/api/v1/{path}").status_code == 200
            counts.append(len(captured))
        return counts

    before = queries()
    reported(*range(20, 40), job_name="train", **times(5))
    assert queries() == before
    assert max(before) <= QUERIES_MAX, before
