"""The sweep that determines what became of advice: from real judgements, again when they change, and once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from analysis.history.periods import last_days
from analysis.history.selectors import savings_of_works
from analysis.models import AdviceDay, AdviceDue, AdviceOutcome, RecommendationRow
from analysis.outcomes.selectors import saved_by, saved_by_work, sums_by_kind
from analysis.outcomes.services import settle_due
from analysis.services import analyse_job
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.analysis.outcomes.histories import SMALL
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run(job_id: int, days_ago: float, gpus: int = 8, **record: object) -> Job:
    """A run of two hours in which two GPUs worked at 88 %, judged five minutes after its end."""
    ended = NOW - timedelta(days=days_ago)
    times = {"started_at": (ended - 2 * HOUR).isoformat(), "ended_at": ended.isoformat()}
    shape = SMALL if gpus == 2 else {"request": WHOLE_REQUEST}
    record_job(
        job_record(**{"job_id": job_id, "submitted_at": (ended - 3 * HOUR).isoformat()} | times | shape | record)
    )
    used = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(gpus)]
    record_node_summary(node_payload(gpus=used, cpu=TWO_RANKS, job_id=job_id, **times))
    job = Job.objects.get(job_id=job_id)
    analyse_job(job.pk, ended + timedelta(minutes=5))
    return job


def settle() -> int:
    return settle_due(100, NOW)


def outcome(job_id: int, kind: str = "gpus") -> AdviceOutcome:
    return AdviceOutcome.objects.get(job__job_id=job_id, kind=kind)


def test_a_followed_recommendation_is_stored_with_what_it_claimed_and_saved() -> None:
    first, second = run(1, 3), run(2, 2, gpus=2)
    assert settle() == 1
    found = outcome(1)
    claimed = first.efficiency.saved_gpu_hours
    assert (found.status, found.following_runs, found.first_job) == ("followed", 1, second.pk)
    # 8 GPUs for two hours bill 8 GPU-hours, 2 of them 2; the report claimed that.
    assert (found.claimed_gpu_hours, found.realised_gpu_hours) == (pytest.approx(claimed), pytest.approx(6.0))
    assert claimed == pytest.approx(6.0)
    assert found.given_at == NOW - timedelta(days=3) + timedelta(minutes=5)
    assert (found.util_percent_after, found.gpu_hours_after) == (pytest.approx(88.0), pytest.approx(2.0))
    assert settle() == 0, "nothing is due"


def test_nothing_came_later_and_then_something_did() -> None:
    run(1, 3)
    settle()
    assert outcome(1).status == "open"
    run(2, 2)
    settle()
    assert (outcome(1).status, outcome(2).status) == ("not_followed", "open")
    run(3, 1, gpus=2)
    settle()
    assert (outcome(1).status, outcome(2).status) == ("not_followed", "followed")


def test_when_advice_was_given_stays_whatever_is_judged_again() -> None:
    first = run(1, 3)
    settle()
    analyse_job(first.pk, NOW)
    run(2, 2, gpus=2)
    settle()
    assert outcome(1).status == "followed", "the first judgement came before the second run"


def test_advice_that_nobody_answered_goes_with_its_judgement_and_answered_advice_stays() -> None:
    first = run(1, 3)
    settle()
    RecommendationRow.objects.all().delete()
    AdviceDue.objects.create(user=first.user, work_key=first.work_key, noted_at=NOW)
    settle()
    assert not AdviceOutcome.objects.exists()
    analyse_job(first.pk, first.ended_at + timedelta(minutes=5))
    run(2, 2, gpus=2)
    settle()
    RecommendationRow.objects.filter(efficiency__job=first).delete()
    AdviceDue.objects.create(user=first.user, work_key=first.work_key, noted_at=NOW)
    settle()
    assert outcome(1).status == "followed"


def test_other_projects_other_people_and_unnamed_work_are_apart() -> None:
    run(1, 3)
    run(2, 2, gpus=2, project_id="project_465000002")
    run(3, 2, gpus=2, user_id="bob")
    run(4, 2, gpus=2, job_name="bash")
    settle()
    assert outcome(1).status == "open"
    assert not AdviceOutcome.objects.filter(work_key="").exists()


def test_what_only_its_owner_reported_answers_nothing() -> None:
    run(1, 3)
    second = run(2, 2, gpus=2)
    Job.objects.filter(pk=second.pk).update(is_told_by_owner=True)
    settle()
    assert outcome(1).status == "open"


def test_a_run_of_a_cpu_partition_follows_advice_to_go_there() -> None:
    first = run(1, 3)
    wanted = {"nodes": 1, "gpus": 0, "partition": "small", "cores": 56, "memory_gb": 480.0}
    RecommendationRow.objects.filter(kind="gpus").update(basis="cpu_work", wanted=wanted)
    ended = NOW - timedelta(days=1)
    none = {"gpus_allocated": 0, "gpus_requested": 0, "gpus_per_node": 0, "partition": "small"}
    times = {"started_at": (ended - 2 * HOUR).isoformat(), "ended_at": ended.isoformat(), "submitted_at": None}
    record_job(job_record(job_id=2, **none, **times))
    AdviceDue.objects.create(user=first.user, work_key=first.work_key, noted_at=NOW)
    settle()
    assert (outcome(1).status, outcome(1).dimensions) == ("followed", "gpus partition")


def test_sums_are_of_the_person_and_of_the_period_in_which_advice_was_given() -> None:
    first = run(1, 40)
    run(2, 30, gpus=2)
    run(3, 20, gpus=2)
    run(4, 10, user_id="bob")
    settle()
    saved = saved_by(Q(user=first.user))
    # 8 - 2 GPU-hours, twice.
    assert (saved.runs, saved.saved_gpu_hours, saved.since) == (2, pytest.approx(12.0), NOW - timedelta(days=30))
    (row,) = [row for row in sums_by_kind([Q(user=first.user)], last_days(NOW, 90)) if row.kind == "gpus"]
    assert (row.given, row.answered, row.followed, row.runs, row.compared_runs) == (1, 1, 1, 2, 2)
    assert (row.claimed_gpu_hours, row.realised_gpu_hours) == (pytest.approx(12.0), pytest.approx(12.0))
    assert [row for row in sums_by_kind([Q(user=first.user)], last_days(NOW, 7)) if row.kind == "gpus"] == []
    assert saved_by(Q(user=0)).since is None


def test_a_run_that_follows_advice_of_two_reports_is_saved_once() -> None:
    first = run(1, 40)
    # Two GPUs with the memory of four: 4 GPU-hours instead of 8, and its own report advises less memory.
    run(2, 30, gpus=2, memory_requested_gb=240.0)
    run(3, 20, gpus=2)
    settle()
    assert outcome(2, "host_memory").following_runs == 1
    # 8 - 4 of the second run and 8 - 2 of the third, which followed both reports.
    saved = saved_by(Q(user=first.user))
    assert (saved.runs, saved.saved_gpu_hours) == (2, pytest.approx(10.0))
    assert saved_by_work(first.user_id, first.work_key) == saved
    kinds = {row.kind: row.realised_gpu_hours for row in sums_by_kind([Q(user=first.user)], last_days(NOW, 90))}
    # 8 - 4 and 8 - 2; 4 - 2: each kind by itself.
    assert (kinds["gpus"], kinds["host_memory"]) == (pytest.approx(10.0), pytest.approx(2.0))


def test_what_was_followed_is_no_longer_an_open_saving_whatever_was_advised() -> None:
    first, month = run(1, 5, gpus=2, memory_requested_gb=240.0), last_days(NOW, 30)
    # The memory of four GPUs bills 4 GPU-hours instead of 2.
    (work,) = savings_of_works(Q(user=first.user), month).works
    assert (work.jobs, work.gpu_hours) == (1, pytest.approx(2.0))
    # 97 GB were advised. 100 are nearly that, but 28 cores are those of four GPUs: 2 GPU-hours can be saved again.
    run(2, 4, gpus=2, memory_requested_gb=100.0, cpus_allocated=28)
    settle()
    assert outcome(1, "host_memory").status == "followed"
    found = savings_of_works(Q(user=first.user), month)
    assert [(work.jobs, work.gpu_hours) for work in found.works] == [(1, pytest.approx(2.0))]
    assert found.changed_gpu_hours == pytest.approx(2.0)


def test_the_queries_of_one_work_do_not_grow_with_its_runs() -> None:
    counts = []
    for ids in (range(1, 3), range(3, 12)):
        for job_id in ids:
            run(job_id, 30 - job_id)
        with CaptureQueriesContext(connection) as queries:
            settle()
        counts.append(len(queries))
    assert counts[1] <= counts[0] + 2, counts


def test_with_a_run_goes_what_became_of_its_advice_and_the_command_determines_it_again() -> None:
    first = run(1, 3)
    run(2, 2, gpus=2)
    settle()
    AdviceOutcome.objects.all().delete()
    printed = StringIO()
    call_command("settle_advice", "--all", stdout=printed)
    assert printed.getvalue() == "advice on 1 work looked at\n"
    assert outcome(1).status == "followed"
    first.delete()
    assert not AdviceOutcome.objects.filter(kind="gpus").exists()
    assert saved_by(Q(user=first.user)).runs == 1, "sums stay"


def test_the_sums_of_a_day_are_those_of_its_outcomes_whatever_changes() -> None:
    first = run(1, 3)
    settle()
    assert (AdviceDay.objects.get(kind="gpus").given, AdviceDay.objects.get(kind="gpus").runs) == (1, 0)
    run(2, 2, gpus=2)
    run(3, 1, gpus=2)
    settle()
    (day,) = AdviceDay.objects.filter(kind="gpus")
    assert (day.given, day.answered, day.followed, day.runs, day.compared_runs) == (1, 1, 1, 2, 2)
    assert (day.claimed_gpu_hours, day.realised_gpu_hours) == (pytest.approx(12.0), pytest.approx(12.0))
    assert day.first_at == NOW - timedelta(days=2)
    RecommendationRow.objects.filter(efficiency__job=first).delete()
    AdviceOutcome.objects.update(later_runs=0)
    AdviceDue.objects.create(user=first.user, work_key=first.work_key, noted_at=NOW)
    settle()
    assert not AdviceDay.objects.filter(kind="gpus").exists()


def test_a_later_run_without_gpus_is_found_although_nothing_judges_it() -> None:
    run(1, 3)
    wanted = {"nodes": 1, "gpus": 0, "partition": "small", "cores": 56, "memory_gb": 480.0}
    RecommendationRow.objects.filter(kind="gpus").update(basis="cpu_work", wanted=wanted)
    settle()
    assert outcome(1).status == "open"
    assert settle() == 0, "it waits"
    ended = NOW - timedelta(days=1)
    none = {"gpus_allocated": 0, "gpus_requested": 0, "gpus_per_node": 0, "partition": "small"}
    times = {name: (ended - 2 * HOUR).isoformat() for name in ("submitted_at", "started_at")}
    record_job(job_record(job_id=2, **none, **times, ended_at=ended.isoformat()))
    assert settle() == 1
    assert outcome(1).status == "followed"
    assert settle() == 0
