"""Storing node summaries: later replaces earlier, whole or not at all; and reading them back as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.selectors import collector_token, gpu_rows, revisions, run_metrics
from metrics.services import create_collector_token, record_node_summary
from tests.payloads import gpu, node_payload

pytestmark = pytest.mark.django_db

KEY = ("lumi", 123456, 0)


def test_a_summary_comes_back_as_arrays() -> None:
    assert record_node_summary(node_payload([90.0, 20.0]))
    metrics = run_metrics(KEY)
    assert metrics.nodes == ("nid005123",)
    assert metrics.gpus.avg_util.tolist() == [90.0, 20.0]
    assert metrics.gpus.histogram_s[1, 20] == 7200.0
    assert metrics.series.util.shape == (120, 2)
    assert metrics.hosts.busy_cores_avg.tolist() == [7.9]
    assert np.isnan(metrics.gpus.power_avg_w).all()


def test_a_summary_may_come_before_its_job_record() -> None:
    record_node_summary(node_payload())
    assert revisions([123456]) == {KEY: (2, 1)}


def test_the_same_summary_again_is_known() -> None:
    record_node_summary(node_payload())
    assert not record_node_summary(node_payload())
    assert (NodeSummary.objects.count(), GpuSummary.objects.count(), CpuSummary.objects.count()) == (1, 8, 1)


def test_a_later_sequence_replaces_everything_the_earlier_one_said() -> None:
    record_node_summary(node_payload([10.0] * 8, sequence=1, final=False))
    assert record_node_summary(node_payload([90.0] * 4, sequence=2, cpu=None))
    assert run_metrics(KEY).gpus.avg_util.tolist() == [90.0] * 4
    assert CpuSummary.objects.count() == 0


def test_an_earlier_sequence_that_comes_late_changes_nothing() -> None:
    record_node_summary(node_payload([90.0], sequence=5))
    assert not record_node_summary(node_payload([10.0], sequence=4))
    assert run_metrics(KEY).gpus.avg_util.tolist() == [90.0]


def test_every_change_makes_the_revision_grow() -> None:
    seen = [0]
    for payload in (
        node_payload(sequence=0, final=False),
        node_payload(sequence=0, node="nid005124"),
        node_payload(sequence=1),
    ):
        record_node_summary(payload)
        seen.append(revisions([123456])[KEY][0])
    assert seen == [0, 1, 2, 3]


def test_a_gpu_that_cannot_be_stored_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = node_payload()
    duplicated = type(payload)(
        **{name: getattr(payload, name) for name in payload.__struct_fields__ if name != "gpus"},
        gpus=(payload.gpus[0], payload.gpus[0]),
    )
    with pytest.raises(Exception, match=r"(?i)unique"):
        record_node_summary(duplicated)
    assert not NodeSummary.objects.exists()


def test_what_was_not_measured_is_named_once() -> None:
    missing = {"pcie_bandwidth": "unsupported"}
    record_node_summary(node_payload(gpus=[gpu(0, missing=missing), gpu(1, missing=missing)]))
    assert run_metrics(KEY).not_measured == ("pcie_bandwidth: unsupported",)


def test_the_gpus_of_a_run_are_rows_by_node_and_gpu() -> None:
    record_node_summary(node_payload([90.0, 20.0], node="nid005124"))
    record_node_summary(node_payload([80.0]))
    rows = gpu_rows(KEY)
    assert [(row["job_id"], row["node"], row["gpu_id"], row["avg_util"]) for row in rows] == [
        (123456, "nid005123", 0, 80.0),
        (123456, "nid005124", 0, 90.0),
        (123456, "nid005124", 1, 20.0),
    ]
    assert "timeline_util" not in rows[0]


def test_a_run_without_measurements_has_no_nodes() -> None:
    assert run_metrics(KEY).nodes == ()
    assert run_metrics(KEY).gpus.count == 0


def test_the_number_of_queries_does_not_grow_with_the_gpus() -> None:
    counts = []
    for job_id, utils in ((1, [90.0]), (2, [90.0] * 8)):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            record_node_summary(node_payload(utils, job_id=job_id))
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8


def test_all_gpus_are_one_statement_and_on_postgresql_an_unnest() -> None:
    with CaptureQueriesContext(connection) as queries:
        record_node_summary(node_payload())
    (insert,) = [query["sql"] for query in queries if 'INTO "metrics_gpusummary"' in query["sql"]]
    assert connection.vendor != "postgresql" or "UNNEST" in insert.upper()


def test_a_token_is_stored_hashed_and_found_by_its_secret_only() -> None:
    secret = create_collector_token("nodes", "lumi")
    stored = CollectorToken.objects.get()
    assert secret not in (stored.digest, stored.name)
    assert collector_token(secret) == stored
    assert collector_token(stored.digest) is None
    assert collector_token("") is None


def test_a_revoked_token_opens_nothing(now) -> None:
    secret = create_collector_token("nodes", "lumi")
    CollectorToken.objects.update(revoked_at=now)
    assert collector_token(secret) is None


def test_nodes_that_began_a_little_or_much_later_are_laid_on_one_clock() -> None:
    # Buckets of 60 s: 10 s late is the same bucket, 50 s late the next one.
    points = {"timeline": {"step_s": 60.0, "util": [90.0, 80.0], "mem_gb": [1.0, 2.0]}}
    starts = {"a": "2026-11-20T10:00:00Z", "b": "2026-11-20T10:00:10Z", "c": "2026-11-20T10:00:50Z"}
    for name, started_at in starts.items():
        gpus = [gpu(0, 85.0, **points), gpu(1, 85.0, timeline=None)]
        record_node_summary(node_payload(node=name, started_at=started_at, gpus=gpus))
    series = run_metrics(("lumi", 123456, 0)).series
    nan = np.nan
    expected = [[90, nan, 90, nan, nan, nan], [80, nan, 80, nan, 90, nan], [nan, nan, nan, nan, 80, nan]]
    assert np.array_equal(series.util, expected, equal_nan=True)
    assert series.mem_gb[2, 4] == 2.0
