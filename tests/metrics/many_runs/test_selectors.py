"""The numbers of many runs in one query: only those that count, and without what is damaged."""

from __future__ import annotations

import pytest

from metrics.many_runs.selectors import figures_of_runs
from metrics.models import NodeSummary
from metrics.selectors import run_metrics
from metrics.services import record_node_summary
from tests.payloads import node_payload

pytestmark = pytest.mark.django_db

ONE, OTHER = ("lumi", 1, 0), ("lumi", 2, 0)


@pytest.fixture
def measured() -> None:
    """A run of two nodes with two GPUs and one, and a run of one GPU."""
    record_node_summary(node_payload([90.0, 50.0], job_id=1, node="nid000001"))
    record_node_summary(node_payload([70.0], job_id=1, node="nid000002"))
    record_node_summary(node_payload([10.0], job_id=2))


@pytest.mark.one_database
def test_each_run_has_what_was_measured_of_it_in_one_query(measured, django_assert_num_queries) -> None:
    with django_assert_num_queries(1):
        found = figures_of_runs({ONE: ("",), OTHER: ("",), ("lumi", 3, 0): ("",)})
    assert found[ONE].nodes == ("nid000001", "nid000002")
    assert found[ONE].gpus.avg_util.tolist() == [90.0, 50.0, 70.0]
    assert found[ONE].gpus.node_index.tolist() == [0, 0, 1]
    assert found[OTHER].gpus.avg_util.tolist() == [10.0]
    assert found["lumi", 3, 0].nodes == ()
    alone = run_metrics(ONE)
    assert found[ONE].hosts.busy_cores_avg.tolist() == alone.hosts.busy_cores_avg.tolist()
    assert found[ONE].gpus.p95_util.tolist() == alone.gpus.p95_util.tolist()


def test_what_others_sent_does_not_count(measured) -> None:
    NodeSummary.objects.filter(node="nid000002").update(sent_by="mallory")
    assert figures_of_runs({ONE: ("", "alice")})[ONE].nodes == ("nid000001",)
    assert figures_of_runs({ONE: ("mallory",)})[ONE].nodes == ("nid000002",)


def test_a_damaged_summary_is_left_out_and_named_in_the_log(measured, caplog) -> None:
    NodeSummary.objects.filter(node="nid000001").update(figures=b"no zlib")
    assert figures_of_runs({ONE: ("",)})[ONE].nodes == ("nid000002",)
    assert "the summary of nid000001 of lumi/1 is damaged" in caplog.text
