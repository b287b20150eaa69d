"""Nodes, people and the site itself telling of one run at the same moment: nothing is lost, nobody is mixed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job
from jobs.services import record_job
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from tests.metrics.stored import stored_gpus
from tests.payloads import job_record, node_payload
from tests.portal.own_runs import alone, own_summary, post, sending_token, told

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

ROUNDS = 8
PATIENCE_S = 60.0
"""Senders wait for each other here however slow the machine is; who waits too long is asked to send again."""


@pytest.fixture(autouse=True)
def own_runs(transactional_db: None, settings, cast) -> None:
    settings.OWN_RUNS = True
    settings.INGEST_PATIENCE_S = PATIENCE_S


def at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each of these answers, all begun when every other is ready."""
    ready = Barrier(len(works))

    def one(work: Callable[[], Any]) -> Any:
        try:
            ready.wait(timeout=PATIENCE_S)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def sender(secret: str, **changes: Any) -> Callable[[], int]:
    return lambda: post(secret, own_summary(**changes)).status_code


@pytest.mark.parametrize("nodes", [2, 6])
def test_nodes_of_one_run_that_send_at_once_are_one_run_with_all_of_them(nodes: int) -> None:
    alice = sending_token()
    names = [f"nid{number:06d}" for number in range(nodes)]
    for job_id in range(1, ROUNDS + 1):
        works = [
            sender(
                alice,
                own_run=told(nodes=None, node_count=None, state="FAILED" if place == 1 else "COMPLETED"),
                node=name,
                job_id=job_id,
                ended_at=f"2026-11-20T12:00:{place:02d}Z",
            )
            for place, name in enumerate(names)
        ]
        assert at_once(works) == [201] * nodes
        run = Job.objects.get(job_id=job_id)
        assert (sorted(run.nodes), run.state) == (names, "FAILED")
        assert run.walltime_used_s == 7200.0 + nodes - 1
        assert run.revision == nodes
    assert NodeSummary.objects.filter(sent_by="alice").count() == ROUNDS * nodes


def test_of_two_people_who_tell_of_one_run_at_once_one_has_it() -> None:
    secrets = {name: sending_token(name) for name in ("alice", "bob")}
    for job_id in range(1, ROUNDS + 1):
        works = [sender(secrets[name], own_run=alone(user_id=name), job_id=job_id) for name in secrets]
        assert sorted(at_once(works)) == [201, 422]
        owner = Job.objects.get(job_id=job_id).user.username
        assert NodeSummary.objects.get(job_id=job_id).sent_by == owner


def test_the_sites_record_at_the_same_moment_has_the_last_word() -> None:
    alice = sending_token()
    for job_id in range(1, ROUNDS + 1):
        site = job_record(job_id=job_id, user_id="bob" if job_id % 2 else "alice")
        answers = at_once([sender(alice, own_run=alone(state="FAILED"), job_id=job_id), partial(record_job, site)])
        assert answers[1] is True
        run = Job.objects.get(job_id=job_id)
        assert (run.user.username, run.state, run.is_told_by_owner) == (site.user_id, "COMPLETED", False)


def test_the_sites_summary_at_the_same_moment_stays() -> None:
    alice = sending_token()
    for job_id in range(1, ROUNDS + 1):
        record_job(job_record(job_id=job_id))
        site = node_payload([10.0] * 8, job_id=job_id, sequence=0)
        own, is_new = at_once([sender(alice, own_run=alone(), job_id=job_id), partial(record_node_summary, site)])
        assert own in (200, 201)
        assert is_new
        assert NodeSummary.objects.get(job_id=job_id).sent_by == ""
    assert [gpu["avg_util"] for gpu in stored_gpus()] == [10.0] * 8 * ROUNDS


def test_the_same_node_twice_at_once_is_counted_once() -> None:
    alice = sending_token()
    for job_id in range(1, ROUNDS + 1):
        assert sorted(at_once([sender(alice, job_id=job_id)] * 3)) == [200, 200, 201]
    assert (Job.objects.count(), len(stored_gpus())) == (ROUNDS, 8 * ROUNDS)
