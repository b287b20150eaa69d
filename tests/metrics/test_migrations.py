"""Rows of GPUs and hosts become columns of their node, with every number."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from metrics.packing import pack_histogram, pack_timeline
from metrics.selectors import gpu_rows, host_peaks_gb, run_metrics
from tests.metrics.stored import stored_hosts

BEFORE, AFTER = ("metrics", "0004_tokens_of_nodes_and_who_sent_it"), ("metrics", "0008_running_nodes")
KEY = ("lumi", 7, 0)


def migrate(to: tuple[str, str]):
    executor = MigrationExecutor(connection)
    executor.migrate([to])
    return executor.loader.project_state([to]).apps


@pytest.mark.django_db(transaction=True)
def test_what_was_stored_a_row_a_gpu_is_packed(now) -> None:
    before = migrate(BEFORE)
    node, gpu, cpu = (before.get_model("metrics", name) for name in ("NodeSummary", "GpuSummary", "CpuSummary"))
    try:
        for name in ("nid000001", "nid000002"):
            row = node.objects.create(
                cluster="lumi", job_id=7, node=name, sequence=1, is_final=True, errors=[], changed_at=now
            )
            for index in (1, 0):
                gpu.objects.create(
                    summary=row,
                    gpu_id=index,
                    avg_util=10.0 + index,
                    missing={"energy_j": "unsupported"},
                    timeline_step_s=60.0,
                    timeline_util=pack_timeline([10.0, None]),
                    timeline_mem_gb=pack_timeline([1.0, 2.0]),
                    histogram_s=pack_histogram({10: 120.0}),
                )
        cpu.objects.create(summary=row, cores_allocated=56, peak_memory_gb=99.0, peak_memory_anon_gb=88.5, missing={})
    finally:
        migrate(AFTER)
    assert [(gpu["node"], gpu["gpu_id"], gpu["avg_util"]) for gpu in gpu_rows(KEY)] == [
        ("nid000001", 0, 10.0),
        ("nid000001", 1, 11.0),
        ("nid000002", 0, 10.0),
        ("nid000002", 1, 11.0),
    ]
    assert [(host["node"], host["cores_allocated"]) for host in stored_hosts()] == [("nid000002", 56)]
    assert host_peaks_gb("lumi", [7]) == {KEY: 88.5}
    metrics = run_metrics(KEY)
    assert metrics.not_measured == ("energy_j: unsupported",)
    assert (metrics.series.step_s, metrics.series.mem_gb[1].tolist()) == (60.0, [2.0] * 4)
    assert metrics.gpus.histogram_s[:, 10].tolist() == [120.0] * 4
