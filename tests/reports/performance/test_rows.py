"""One row a run: what it requested, how it ended, what it cost and how well it used its GPUs; unknown is never zero."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from jobs.models import Job
from jobs.services import record_job
from reports.performance.judged_row import STORED
from reports.performance.rows import COLUMNS, SOURCES, PerformanceRow
from reports.performance.selectors import performance_rows
from tests.payloads import job_record


def the_row(job_id: int = 123456) -> PerformanceRow:
    (row,) = performance_rows(Job.objects.filter(job_id=job_id))
    return row


def test_a_judged_run_has_its_request_its_end_its_bill_and_its_use(ended: Callable[..., None]) -> None:
    ended(request={"--partition": "small-g", "--gpus-per-node": "8"}, eligible_at="2026-11-20T09:55:00Z")
    row = the_row()
    assert (row.cluster, row.job_id, row.attempt, row.user_id, row.project_id) == (
        *("lumi", 123456, 0, "alice"),
        "project_465000001",
    )
    assert (row.partition_requested, row.partition, row.gpu_name, row.gpu_memory_gb) == (
        *("small-g", "small-g", "AMD MI250X GCD"),
        64,
    )
    assert (row.gpus_requested, row.gpus_allocated, row.node_count, row.ntasks, row.cpus_allocated) == (8, 8, 1, 8, 56)
    assert (row.walltime_requested_s, row.walltime_used_s, row.memory_requested_gb) == (10800.0, 7200.0, 480.0)
    # It could start at 09:55 and did at 10:00.
    assert row.queue_wait_s == 300.0
    assert row.started_at == datetime(2026, 11, 20, 10, tzinfo=UTC)
    assert (row.state, row.success, row.error_details) == ("COMPLETED", True, None)
    # 2 h x 0.5 x max(56 cores / 8 = 7, 480 GB / 64 = 7.5 -> 8, 8 GPUs) = 8 GPU-hours
    assert (row.gpu_hours, row.billing_unit) == (8.0, "GPU-hour")
    # Two of eight GPUs at 88 %, the others at 0: a mean of 2 x 88 / 8 = 22 %.
    assert row.avg_gpu_util_percent == pytest.approx(22.0)
    # 8 x (1 - 0.22), and six of eight idle.
    assert row.wasted_gpu_hours == pytest.approx(6.24)
    assert row.idle_gpu_hours == pytest.approx(6.0)
    assert row.saved_gpu_hours == pytest.approx(6.0)
    assert (row.efficiency_class, row.not_judged_because) == ("INEFFICIENT", None)
    assert row.finding_codes == "idle_gpus parallelism_mismatch"
    assert (row.measured_gpus, row.effective_gpus, row.effective_gpus_fraction) == (8, 2, 0.25)
    # 14.2 of 64 GB; 7.9 busy cores and 80.2 GB on its only node
    assert (row.peak_gpu_mem_gb, row.peak_gpu_mem_fraction) == (14.2, pytest.approx(0.221875))
    assert (row.busy_cores, row.host_peak_gb, row.coverage_fraction) == (7.9, 80.2, 1.0)
    assert (row.gpu_energy_j, row.io_wait_fraction, row.throughput_unit) == (None, None, None)


def test_what_was_not_measured_is_none_and_the_class_unknown(ended: Callable[..., None]) -> None:
    ended(gpus=[])
    row = the_row()
    assert (row.efficiency_class, row.not_judged_because) == ("UNKNOWN", "not_measured")
    unknown = ("avg_gpu_util_percent", "wasted_gpu_hours", "idle_gpu_hours", "peak_gpu_mem_gb", "busy_cores")
    assert {getattr(row, name) for name in unknown} == {None}
    assert (row.coverage_fraction, row.measured_gpus, row.missing_nodes) == (0.0, 0, 1)
    assert row.gpu_hours == 8.0


def test_a_run_that_ended_within_minutes_keeps_its_mean_but_has_no_class(ended: Callable[..., None]) -> None:
    ended(state="FAILED", exit_code="137:0", walltime_used_s=400)
    row = the_row()
    assert (row.efficiency_class, row.not_judged_because) == ("UNKNOWN", "ended_early")
    assert row.avg_gpu_util_percent is not None
    assert (row.success, row.error_details) == (False, "failed (exit code 137, which means signal 9)")


@pytest.mark.django_db
def test_a_run_without_gpus_that_still_runs_has_neither_success_nor_judgement() -> None:
    record_job(
        job_record(
            state="RUNNING",
            **{"partition": "small", "gpus_requested": None, "gpus_per_node": None, "gpus_allocated": 0},
            **{"ended_at": None, "walltime_used_s": None, "exit_code": "", "job_name": "", "request": {}},
        )
    )
    row = the_row()
    assert (row.success, row.error_details, row.ended_at, row.exit_code, row.job_name) == (None,) * 5
    assert (row.gpus_requested, row.gpus_allocated, row.gpu_name, row.billing_unit) == (None, 0, None, None)
    assert (row.efficiency_class, row.not_judged_because, row.analysed_at, row.gpu_hours) == (None,) * 4
    assert row.partition_requested is None


def test_the_columns_are_described_with_their_unit_and_their_source() -> None:
    assert tuple(column.name for column in COLUMNS) == PerformanceRow.__struct_fields__
    assert all(column.description and column.source in SOURCES for column in COLUMNS)
    units = {"_s": "s", "_gb": "GB", "_percent": "percent", "_fraction": "fraction", "_j": "J"}
    named = {column.name: column.unit for column in COLUMNS if "per_s" not in column.name}
    for name, unit in named.items():
        assert unit == units.get(f"_{name.rpartition('_')[2]}", "billing_unit" if name.endswith("gpu_hours") else "")


def test_no_column_has_nodes_command_lines_or_directories() -> None:
    assert not {"nodes", "request", "script_key"} & {column.name for column in COLUMNS}
    assert "nodes" not in STORED


@pytest.mark.one_database
def test_any_number_of_runs_is_one_query(ended: Callable[..., None], django_assert_num_queries) -> None:
    ended(1, 2, 3)
    with django_assert_num_queries(1):
        assert [row.job_id for row in performance_rows(Job.objects.all())] == [1, 2, 3]
    with django_assert_num_queries(1):
        latest = performance_rows(Job.objects.select_related("user", "project").order_by("-job_id"))
        assert [row.job_id for row in latest] == [3, 2, 1]
