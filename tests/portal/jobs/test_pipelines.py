"""Pipelines on the list by work: recognised from stored times, shown with their sum to who sees the jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import WorkPipeline
from analysis.works.services import store_pipelines
from jobs.models import Job, User
from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import text

pytestmark = pytest.mark.django_db
BY_WORK = "/jobs/?group=work"


def passes(count: int, first: int = 1, user: str = "alice") -> None:
    """A training of two hours each day, and an evaluation that waited for it with a dependency."""
    for number in range(count):
        ended = timezone.now() - timedelta(days=number + 1)
        submitted = (ended - timedelta(hours=3)).isoformat()
        for place, (name, at) in enumerate((("train", ended - timedelta(hours=2)), ("evaluate", ended))):
            times = {
                "submitted_at": submitted,
                "eligible_at": at.isoformat(),
                "started_at": (at + timedelta(minutes=20 * place)).isoformat(),
                "ended_at": (at + timedelta(hours=2)).isoformat(),
            }
            record_job(job_record(job_id=first + 2 * number + place, job_name=name, user_id=user, **times))
    store_pipelines(User.objects.get(username=user).pk, timezone.now())


def test_a_dependency_makes_one_line_of_two_works(cast) -> None:
    passes(6)
    answer = cast("alice").get(BY_WORK)
    (row,) = answer.context["pipelines"]
    assert [name for name, _ in row.works] == ["train", "evaluate"]
    assert (row.sums.passes, row.sums.runs) == (6, 12)
    assert f"/work/{Job.objects.get(job_id=1).work_key}/" in row.works[0][1]
    assert "regularly follows one another" in answer.content.decode()


@pytest.mark.parametrize(("name", "is_shown"), [("alice", True), ("carol", True), ("bob", False), ("grace", False)])
def test_who_sees_the_jobs_sees_the_pipeline(cast, name: str, *, is_shown: bool) -> None:
    client = cast(name)
    passes(6)
    passes(1, first=500, user=name)
    assert bool(client.get(BY_WORK).context["pipelines"]) is is_shown


def test_a_filtered_list_and_the_list_of_jobs_have_none(cast) -> None:
    passes(6)
    alice = cast("alice")
    assert alice.get(f"{BY_WORK}&q=train").context["pipelines"] == []
    assert "Pipelines" not in text(alice, "/jobs/")


def test_pipelines_without_a_run_for_long_are_not_shown_and_are_replaced(cast) -> None:
    passes(6)
    alice = cast("alice")
    before = WorkPipeline.objects.get().pk
    store_pipelines(User.objects.get(username="alice").pk, timezone.now())
    assert WorkPipeline.objects.get().pk == before, "nothing changed"
    WorkPipeline.objects.update(latest_at=timezone.now() - timedelta(days=91))
    assert alice.get(BY_WORK).context["pipelines"] == []
    Job.objects.filter(job_name="evaluate").update(job_name="other", work_key="")
    store_pipelines(User.objects.get(username="alice").pk, timezone.now())
    assert not WorkPipeline.objects.exists()


def test_the_queries_do_not_grow_with_the_pipelines(cast) -> None:
    passes(6)
    alice = cast("alice")
    alice.get(BY_WORK)
    with CaptureQueriesContext(connection) as few:
        alice.get(BY_WORK)
    row = WorkPipeline.objects.get()
    for _ in range(10):
        row.pk = None
        row.save()
    with CaptureQueriesContext(connection) as many:
        assert len(alice.get(BY_WORK).context["pipelines"]) == 11
    assert len(many) == len(few)
