"""Recent use of nodes whose run goes on: kept with the summary, replaced by a later one, gone with the final one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.expiry.services import forget_runs
from metrics.models import NodeSummary, RunningNode
from metrics.running.selectors import running_keys, running_nodes
from metrics.selectors import revisions, run_metrics
from metrics.services import record_node_summaries, record_node_summary
from tests.payloads import decoded, interim, node_payload

pytestmark = pytest.mark.django_db

KEY = ("lumi", 123456, 0)
STARTED_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
TEN_PAST = STARTED_AT + timedelta(minutes=10)


def recorded(now: datetime, **changes: Any) -> bool:
    return record_node_summary(decoded(interim(**changes)), now)


def test_the_recent_use_of_a_node_comes_back_as_numbers(now: datetime) -> None:
    assert recorded(now, utils=[90.0] * 4, power_w=150.5, busy_cores=3.25, memory_gb=[1.0, None, 2.5])
    found = running_nodes(KEY)
    assert (found.nodes, found.started_at, found.measured_until) == (("nid005123",), (STARTED_AT,), (TEN_PAST,))
    assert found.received_at == (now,)
    assert (found.recent_s.tolist(), found.busy_cores.tolist()) == ([600.0], [3.25])
    # Of two GPUs of a module one reports: 0 and 2.
    assert found.power_w == {("nid005123", 0): 150.5, ("nid005123", 2): 150.5}
    ((at_s, gb),) = found.memory
    # Buckets of 60 s: their middles are 30 s and 150 s; the one between was not measured.
    assert (at_s.tolist(), gb.tolist()) == ([30.0, 150.0], [1.0, 2.5])


def test_a_node_that_measured_nothing_recent_has_no_numbers(now: datetime) -> None:
    record_node_summary(node_payload(final=False, cpu=None), now)
    found = running_nodes(KEY)
    assert np.isnan(found.recent_s).all()
    assert np.isnan(found.busy_cores).all()
    assert [points.tolist() for points in found.memory[0]] == [[], []]
    assert found.power_w == {}


def test_a_run_without_nodes_that_go_on_has_none(now: datetime) -> None:
    record_node_summary(node_payload(), now)
    found = running_nodes(KEY)
    assert (found.nodes, found.recent_s.size, found.memory, found.power_w) == ((), 0, (), {})
    assert running_keys("lumi", [123456]) == {}


def test_a_later_summary_replaces_and_an_earlier_one_changes_nothing(now: datetime) -> None:
    for sequence, busy_cores, is_new in ((2, 20.0, True), (1, 10.0, False), (2, 11.0, False), (3, 30.0, True)):
        assert recorded(now + timedelta(hours=sequence), sequence=sequence, busy_cores=busy_cores) is is_new
        kept = RunningNode.objects.get()
        assert kept.figures["busy_cores"] == (20.0 if sequence < 3 else 30.0)
        assert kept.received_at == now + timedelta(hours=2 if sequence < 3 else 3)


@pytest.mark.parametrize("sequence", [1, 3, 4])
def test_the_final_summary_ends_it_whatever_its_number(now: datetime, sequence: int) -> None:
    recorded(now, sequence=3)
    before = revisions([123456])[KEY].revision
    assert record_node_summary(node_payload(sequence=sequence), now)
    assert RunningNode.objects.count() == 0
    assert NodeSummary.objects.get().is_final
    assert revisions([123456])[KEY].revision > before
    assert not recorded(now, sequence=9), "what was under way when the final one came"
    assert (RunningNode.objects.count(), NodeSummary.objects.get().is_final) == (0, True)


def test_the_word_that_nothing_was_measured_ends_it_and_keeps_what_was_measured(now: datetime) -> None:
    recorded(now, utils=[70.0])
    said = node_payload(gpus=[{"gpu_id": 0, "missing": {"avg_util": "no prolog ran"}}], sequence=0)
    assert not record_node_summary(said, now)
    assert run_metrics(KEY).gpus.avg_util.tolist() == [70.0]
    assert RunningNode.objects.count() == 0


def test_the_last_bucket_of_memory_ends_where_measuring_did(now: datetime) -> None:
    # 600 s in buckets of 240 s: 0 to 240, 240 to 480, 480 to 600.
    cpu = {"memory_timeline": {"step_s": 240.0, "gb": [1.0, 2.0, 3.0]}}
    recorded(now, cpu=cpu)
    assert running_nodes(KEY).memory[0][0].tolist() == [120.0, 360.0, 540.0]


def test_the_nodes_of_a_run_end_one_by_one(now: datetime) -> None:
    nodes = [f"nid{number:06d}" for number in range(4)]
    record_node_summaries([decoded(interim(node=node)) for node in nodes], now)
    record_node_summaries([decoded(interim(node=nodes[0], job_id=7)), decoded(interim(node=nodes[0], attempt=1))], now)
    ends = [node_payload(node=node, sequence=2) for node in nodes[:2]]
    record_node_summaries([*ends, decoded(interim(node=nodes[2], sequence=2))], now)
    assert running_nodes(KEY).nodes == (nodes[2], nodes[3])
    assert running_nodes(("lumi", 7, 0)).nodes == running_nodes(("lumi", 123456, 1)).nodes == (nodes[0],)


def test_which_runs_go_on_is_one_query(now: datetime) -> None:
    for node, sequence, minutes in (("a", 1, 1), ("b", 4, 5), ("c", 1, 3)):
        recorded(now + timedelta(minutes=minutes), node=node, sequence=sequence)
    recorded(now, job_id=7)
    recorded(now, job_id=8)
    with CaptureQueriesContext(connection) as queries:
        found = running_keys("lumi", [123456, 7, 9])
    assert len(queries) == 1
    # 1 + 4 + 1; the last one came after five minutes.
    assert found[KEY] == (3, 6, now + timedelta(minutes=5), TEN_PAST)
    assert found["lumi", 7, 0] == (1, 1, now, TEN_PAST)
    assert len(found) == 2
    assert running_keys("other", [123456]) == {}


def test_what_owners_send_of_their_own_runs_is_not_recent_use(now: datetime) -> None:
    record_node_summary(decoded(interim()), now, sent_by="alice")
    assert RunningNode.objects.count() == 0
    recorded(now)
    assert not record_node_summary(node_payload(sequence=9), now, sent_by="alice")
    assert RunningNode.objects.count() == 1


def test_a_batch_of_nodes_takes_as_many_statements_as_one_node(now: datetime) -> None:
    counts = []
    for nodes in (2, 60):
        names = [f"nid{number:06d}" for number in range(nodes)]
        record_node_summaries([decoded(interim(node=node)) for node in names], now)
        with CaptureQueriesContext(connection) as queries:
            record_node_summaries([node_payload(node=node, sequence=2) for node in names], now)
        counts.append(sum("metrics_runningnode" in query["sql"] for query in queries))
    assert counts == [1, 1]
    assert RunningNode.objects.count() == 0


def test_nothing_is_kept_of_a_run_that_is_forgotten(now: datetime) -> None:
    recorded(now)
    recorded(now, job_id=7)
    forget_runs([KEY])
    assert RunningNode.objects.get().job_id == 7
