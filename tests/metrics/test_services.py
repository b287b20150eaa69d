"""Storing node summaries: later replaces earlier, whole or not at all; and reading them back as arrays."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.models import NodeSummary
from metrics.packed_node import pack, unpack_figures
from metrics.packing import pack_numbers
from metrics.selectors import gpu_rows, host_peaks_gb, revisions, run_metrics
from metrics.services import record_node_summaries, record_node_summary
from tests.metrics.stored import stored_gpus, stored_hosts
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
    assert revisions([123456])[KEY][:2] == (2, {"": 1})


def test_the_same_summary_again_is_known() -> None:
    record_node_summary(node_payload())
    assert not record_node_summary(node_payload())
    assert (NodeSummary.objects.count(), len(stored_gpus())) == (1, 8)


def test_a_later_sequence_replaces_everything_the_earlier_one_said() -> None:
    record_node_summary(node_payload([10.0] * 8, sequence=1, final=False))
    assert record_node_summary(node_payload([90.0] * 4, sequence=2, cpu=None))
    assert run_metrics(KEY).gpus.avg_util.tolist() == [90.0] * 4
    assert stored_hosts() == []


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


OWN, ANOTHERS, SITE = "alice", "bob", ""


@pytest.mark.parametrize(
    ("first", "second", "is_new"),
    [
        ((SITE, 0), (OWN, 9), False),
        ((OWN, 9), (SITE, 0), True),
        ((OWN, 9), (SITE, 9), True),
        ((OWN, 3), (OWN, 3), False),
        ((OWN, 3), (OWN, 4), True),
        ((ANOTHERS, 9), (OWN, 0), True),
    ],
)
def test_the_site_comes_before_an_owner_and_the_run_decides_whose_the_owners_are(first, second, is_new: bool) -> None:
    for (sender, sequence), util in ((first, 10.0), (second, 90.0)):
        taken = record_node_summary(node_payload([util], sequence=sequence), sent_by=sender)
    assert taken is is_new
    kept = NodeSummary.objects.get()
    assert (kept.sent_by, kept.sequence) == (second if is_new else first)
    assert [gpu["avg_util"] for gpu in stored_gpus()] == [90.0 if is_new else 10.0]


def test_the_revision_grows_though_a_lower_sequence_replaces() -> None:
    seen = []
    for sender, sequence in ((OWN, 9), (SITE, 0), (SITE, 1), (SITE, 50)):
        record_node_summary(node_payload(sequence=sequence), sent_by=sender)
        seen.append(revisions([123456])[KEY].revision)
    # 9 + 1; one more each time, until the sequence alone is ahead: 50 + 1.
    assert seen == [10, 11, 12, 51]


def test_only_what_the_caller_says_counts_is_read() -> None:
    record_node_summary(node_payload([10.0]))
    record_node_summary(node_payload([20.0], node="nid005124"), sent_by=OWN)
    record_node_summary(node_payload([30.0], node="nid005125"), sent_by=ANOTHERS)
    for senders, expected in (
        ((SITE,), {"nid005123": 10.0}),
        ((OWN,), {"nid005124": 20.0}),
        ((SITE, OWN), {"nid005123": 10.0, "nid005124": 20.0}),
    ):
        metrics = run_metrics(KEY, senders)
        assert dict(zip(metrics.nodes, metrics.gpus.avg_util.tolist(), strict=True)) == expected
        assert {row["node"]: row["avg_util"] for row in gpu_rows(KEY, senders)} == expected
        assert metrics.own_nodes == tuple(set(expected) - {"nid005123"})
    assert run_metrics(KEY).nodes == ("nid005123",), "nobody but the site, unless the caller knows more"
    assert revisions([123456])[KEY].final_nodes == {SITE: 1, OWN: 1, ANOTHERS: 1}
    assert host_peaks_gb("lumi", [123456], ("nobody",)) == {}
    assert host_peaks_gb("lumi", [123456], (OWN,)) == {KEY: 80.2}


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


def test_any_number_of_nodes_and_gpus_are_one_statement_on_postgresql() -> None:
    counts = []
    for job_id, nodes, gpus in ((1, 1, 1), (2, 1, 8), (3, 50, 8)):
        payloads = [node_payload([90.0] * gpus, job_id=job_id, node=f"nid{node:06d}") for node in range(nodes)]
        with CaptureQueriesContext(connection) as queries:
            assert record_node_summaries(payloads) == [True] * nodes
        counts.append(sum("INSERT" in query["sql"] for query in queries))
    assert counts == ([1, 1, 1] if connection.vendor == "postgresql" else [1, 1, 50])


def test_one_node_several_times_in_one_call_is_as_if_it_came_one_by_one() -> None:
    said = [(1, 10.0), (3, 30.0), (2, 20.0), (3, 99.0), (4, 40.0)]
    payloads = [node_payload([util], sequence=sequence) for sequence, util in said]
    assert record_node_summaries([*payloads, node_payload(node="nid005124")]) == [True, True, False, False, True, True]
    assert [gpu["avg_util"] for gpu in stored_gpus(node="nid005123")] == [40.0]
    # (4 + 1) and (1 + 1), though four rows were written.
    assert revisions([123456])[KEY].revision == 7


def test_every_number_and_word_of_a_summary_comes_back() -> None:
    one = gpu(3, 41.5, pci_bus="c1:00.0", energy_j=123456789.25, missing={"power_cap_w": "unsupported"}, module_id=None)
    record_node_summary(node_payload(gpus=[one, gpu(1, None, missing={"avg_util": "no permission"})]))
    first, second = gpu_rows(KEY)
    assert (first["gpu_id"], first["avg_util"], first["missing"]) == (1, None, {"avg_util": "no permission"})
    assert (second["gpu_id"], second["module_id"], second["samples"], second["pci_bus"]) == (3, None, 7200, "c1:00.0")
    assert type(second["samples"]) is int
    assert (second["energy_j"], second["avg_util"]) == (123456789.25, 41.5)
    assert second["missing"] == {"power_cap_w": "unsupported"}
    (host,) = stored_hosts()
    assert (host["cores_allocated"], host["busy_cores_avg"], host["oom_kills"]) == (56, 7.9, None)


def test_a_row_that_lacks_the_newest_columns_reads_as_not_measured() -> None:
    record_node_summary(node_payload([90.0, 20.0]))
    row = NodeSummary.objects.get()
    figures = unpack_figures(row.figures)
    older = pack_numbers(figures.table()[:, :-2].ravel().tolist())
    row.figures = pack(msgspec.structs.replace(figures, numbers=older, host=figures.host[:3]))
    row.save()
    assert [gpu["avg_util"] for gpu in gpu_rows(KEY)] == [90.0, 20.0]
    assert {gpu["throttled_s"] for gpu in gpu_rows(KEY)} == {None}
    assert np.isnan(run_metrics(KEY).gpus.throttled_s).all()
    assert np.isnan(run_metrics(KEY).hosts.oom_kills).all()


def test_a_run_whose_series_are_no_longer_kept_has_its_numbers() -> None:
    record_node_summary(node_payload([90.0, 20.0]))
    NodeSummary.objects.update(series=b"")
    metrics = run_metrics(KEY)
    assert metrics.gpus.avg_util.tolist() == [90.0, 20.0]
    assert np.isnan(metrics.gpus.histogram_s).all()
    assert metrics.series.util.shape == (0, 2)


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
