"""Nodes that go silent, and jobs that came without all of their summaries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from analysis.models import JobEfficiency, SilentNode
from analysis.services import analyse_due, analyse_job
from analysis.silence.selectors import jobs_missing_summaries, silent_nodes
from analysis.silence.services import forget_silent_nodes
from jobs.models import Job
from jobs.services import record_job
from jobs.tallies.selectors import tallies
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from tests.payloads import job_record, node_payload
from tests.processes import PATIENCE_S, wait_until

pytestmark = pytest.mark.django_db

NODES = ("nid005123", "nid005124")


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def ran(job_id: int, ended_at: datetime, heard: tuple[str, ...] = NODES, nodes: tuple[str, ...] = NODES) -> None:
    """A job of some nodes, of which those in `heard` sent a summary."""
    moments = {"started_at": ended_at - timedelta(hours=2), "ended_at": ended_at}
    record_job(job_record(job_id=job_id, nodes=list(nodes), node_count=len(nodes), **moments), now=ended_at)
    for node in heard:
        measured = {name: at.isoformat() for name, at in moments.items()}
        record_node_summary(node_payload(job_id=job_id, node=node, **measured))


def silent() -> list[tuple[str, datetime, datetime, int]]:
    return list(silent_nodes(timezone.now()).values_list("node", "since", "last_at", "runs"))


def test_a_node_is_silent_from_its_first_run_without_a_summary_until_the_next_with_one(now: datetime) -> None:
    first, second, third = (now - timedelta(hours=hours) for hours in (6, 4, 2))
    ran(1, first, heard=NODES[:1])
    ran(2, second, heard=NODES[:1])
    analyse_due(10, now)
    assert silent() == [("nid005124", first, second, 2)]
    # Judged once more, as after a change of its record: still two runs.
    Job.objects.filter(job_id=1).update(revision=9, changed_at=now)
    assert analyse_due(10, now) == 1
    assert silent() == [("nid005124", first, second, 2)]
    ran(3, third)
    analyse_due(10, now)
    assert silent() == []


def test_runs_that_are_judged_one_after_the_other_are_counted(now: datetime) -> None:
    ends = [now - timedelta(hours=hours) for hours in (6, 4, 2)]
    for job_id, ended_at in enumerate(ends, 1):
        ran(job_id, ended_at, heard=NODES[:1])
        analyse_due(10, now)
    assert silent() == [("nid005124", ends[0], ends[2], 3)]


def test_a_summary_that_comes_late_ends_the_silence(now: datetime) -> None:
    ended_at = now - timedelta(hours=3)
    ran(1, ended_at, heard=())
    analyse_due(10, now)
    assert [node for node, *_ in silent()] == list(NODES)
    for node in NODES:
        record_node_summary(node_payload(job_id=1, node=node))
    analyse_due(10, now)
    assert silent() == []


def test_a_node_that_sent_a_summary_of_a_later_run_is_not_silent_whichever_is_judged_first(now: datetime) -> None:
    ran(2, now - timedelta(hours=1))
    analyse_due(10, now)
    ran(1, now - timedelta(hours=2), heard=NODES[:1])
    analyse_due(10, now)
    assert silent() == []


@pytest.mark.parametrize("days", [1.1, 90])
def test_history_that_somebody_brings_in_makes_no_node_silent(now: datetime, days: float) -> None:
    ran(1, now - timedelta(days=days), heard=())
    analyse_due(10, now)
    assert silent() == []


def test_a_node_known_by_its_short_name_is_the_same(now: datetime) -> None:
    ran(1, now - timedelta(hours=2), heard=("nid005123.lumi.csc.fi",), nodes=("nid005123",))
    analyse_due(10, now)
    assert silent() == []
    assert JobEfficiency.objects.get().missing_nodes == 0


def test_a_node_that_is_silent_by_its_short_name_is_heard_by_its_long_one(now: datetime) -> None:
    ran(1, now - timedelta(hours=4), heard=(), nodes=("nid005123",))
    analyse_due(10, now)
    ran(2, now - timedelta(hours=2), heard=("nid005123.lumi.csc.fi",), nodes=("nid005123",))
    analyse_due(10, now)
    assert silent() == []


def test_a_node_that_ran_nothing_for_a_month_is_forgotten(now: datetime) -> None:
    for node, days in (("gone", 31), ("here", 29)):
        at = now - timedelta(days=days)
        SilentNode.objects.create(cluster="lumi", node=node, since=at, last_at=at)
    assert [node for node, *_ in silent()] == ["here"]
    assert sum(forget_silent_nodes(now)) == 1
    assert [row.node for row in SilentNode.objects.all()] == ["here"]


def test_jobs_that_miss_summaries_are_counted_by_age(now: datetime) -> None:
    for job_id, (hours, heard) in enumerate(((0.5, ()), (3, NODES[:1]), (12, ()), (100, ()), (200, ()), (3, NODES)), 1):
        ran(job_id, now - timedelta(hours=hours), heard=heard)
    analyse_due(10, now)
    counts = jobs_missing_summaries(now)
    assert {key: count for key, count in counts.items() if count} == {
        ("all", "1h"): 1,
        ("some", "6h"): 1,
        ("all", "1d"): 1,
        ("all", "7d"): 1,
    }
    assert len(counts) == 8


def test_a_run_that_only_its_owner_tells_of_is_not_counted(now: datetime) -> None:
    ran(1, now - timedelta(hours=3), heard=())
    analyse_due(10, now)
    JobEfficiency.objects.update(is_told_by_owner=True)
    assert not +jobs_missing_summaries(now)


def test_what_people_measure_themselves_makes_no_node_silent_and_none_heard(now: datetime) -> None:
    at = now - timedelta(hours=5)
    SilentNode.objects.create(cluster="lumi", node=NODES[0], since=at, last_at=at)
    ran(1, now - timedelta(hours=2), heard=NODES[:1])
    Job.objects.update(is_told_by_owner=True)
    NodeSummary.objects.update(sent_by=Job.objects.get().user.username)
    analyse_due(10, now)
    assert [node for node, *_ in silent()] == [NODES[0]]
    assert "kaiku_judgements" not in tallies()
    # The same once the site's record is there: only its own collectors are missed.
    Job.objects.update(is_told_by_owner=False, revision=9, changed_at=now)
    analyse_due(10, now)
    assert sorted(node for node, *_ in silent()) == list(NODES)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_no_judgement_waits_for_a_row_of_a_node_that_another_holds(now: datetime) -> None:
    ran(1, now - timedelta(hours=2))
    at = now - timedelta(hours=5)
    SilentNode.objects.create(cluster="lumi", node=NODES[0], since=at, last_at=at)

    def judge() -> bool:
        try:
            return analyse_job(Job.objects.get().pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            list(SilentNode.objects.select_for_update())
            judging = thread.submit(judge)
            wait_until("the judgement", JobEfficiency.objects.exists)
            assert not judging.done()
        assert judging.result(PATIENCE_S)
    assert not SilentNode.objects.exists()
