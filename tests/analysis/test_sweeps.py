"""What is due is known from what changed, not searched among all that ever was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis import services
from analysis.models import JobEfficiency, SweepMark
from analysis.selectors import changed_since
from analysis.services import analyse_changed, analyse_due
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import job_record, node_payload

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def run(job_id: int, now: datetime = NOW, **changes: object) -> None:
    record_job(job_record(job_id=job_id, **changes), now=now)
    record_node_summary(node_payload(job_id=job_id), now=now)


def judged() -> list[int]:
    return sorted(JobEfficiency.objects.values_list("job__job_id", flat=True))


def test_the_first_sweep_looks_at_everything_and_the_next_ones_at_what_changed() -> None:
    run(1, NOW - timedelta(days=400))
    assert changed_since() is None
    assert analyse_changed(10, NOW) == 1
    # Five minutes for silent nodes, ten for what is committed late.
    assert changed_since() == NOW - timedelta(minutes=15)
    run(2, NOW + timedelta(seconds=1))
    assert analyse_changed(10, NOW + timedelta(seconds=2)) == 1
    assert judged() == [1, 2]


def test_after_an_outage_nothing_that_came_meanwhile_is_passed_over() -> None:
    assert analyse_changed(10, NOW) == 0
    for job_id in range(1, 8):
        run(job_id, NOW + timedelta(hours=job_id))
    later = NOW + timedelta(days=3)
    assert [analyse_changed(3, later) for _ in range(4)] == [3, 3, 1, 0]
    assert judged() == list(range(1, 8))


def test_the_mark_stays_while_there_is_more_to_do() -> None:
    analyse_changed(10, NOW)
    for job_id in (1, 2, 3):
        run(job_id, NOW)
    analyse_changed(2, NOW + timedelta(hours=5))
    assert SweepMark.objects.get(name="changes").at == NOW
    analyse_changed(2, NOW + timedelta(hours=5))
    assert SweepMark.objects.get(name="changes").at == NOW + timedelta(hours=5)


def test_a_run_that_waits_for_its_nodes_is_not_passed_over() -> None:
    analyse_changed(10, NOW - timedelta(hours=1))
    ended = NOW - timedelta(minutes=4)
    record_job(job_record(job_id=1, ended_at=ended.isoformat()), now=NOW)
    assert analyse_changed(10, NOW) == 0
    assert analyse_changed(10, NOW + timedelta(minutes=1)) == 1


def test_an_end_in_the_future_is_waited_for_no_longer_than_others() -> None:
    analyse_changed(10, NOW)
    record_job(job_record(job_id=1, ended_at="2026-12-24T12:00:00Z"), now=NOW)
    assert analyse_changed(10, NOW + timedelta(minutes=5)) == 1


def test_what_failed_is_tried_again_although_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    run(1)
    with monkeypatch.context() as patch:
        patch.setattr(services, "fresh_assessment", lambda job: {}["missing"])
        assert analyse_changed(10, NOW) == 0
    hours_later = NOW + timedelta(hours=6)
    SweepMark.objects.update(at=hours_later)
    assert analyse_changed(10, hours_later) == 1


@pytest.mark.one_database
def test_a_sweep_costs_the_same_however_many_jobs_there_are() -> None:
    def queries() -> int:
        for _ in range(3):
            analyse_changed(10, NOW + timedelta(days=3))
        with CaptureQueriesContext(connection) as captured:
            analyse_changed(10, NOW + timedelta(days=3))
        return len(captured)

    run(1)
    analyse_changed(10, NOW + timedelta(days=2))
    few = queries()
    for job_id in range(2, 60):
        run(job_id)
    analyse_due(100, NOW + timedelta(days=2))
    assert queries() == few


def test_new_rules_judge_what_older_ones_judged_newest_first_and_behind_new_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "LOOKED_AT_TOGETHER", 2)
    for job_id in range(1, 6):
        run(job_id)
        analyse_changed(10, NOW)
    JobEfficiency.objects.filter(job__job_id__in=(1, 2, 4, 5)).update(rules_version="2020.1")
    run(6)
    assert analyse_changed(10, NOW) == 1
    again = []
    for _ in range(4):
        analyse_changed(10, NOW)
        again.append(sorted(JobEfficiency.objects.filter(revision=2).values_list("job__job_id", flat=True)))
    # Runs 6 and 5 are looked at first, then 4 and 3, then 2 and 1.
    assert again == [[5], [4, 5], [1, 2, 4, 5], [1, 2, 4, 5]]
    assert not JobEfficiency.objects.filter(rules_version="2020.1").exists()
    assert Job.objects.count() == 6
