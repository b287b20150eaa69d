"""Learning documents: every one is valid by the published schema, and absent values are named with the reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from analysis.outcomes.services import settle_due
from analysis.predictions.models import Prediction
from analysis.predictions.quantities import Answer
from analysis.services import analyse_due
from jobs.models import Job
from jobs.services import record_job
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from reports.performance.learning.json_schema import FILE, json_schema
from reports.performance.learning.selectors import learning_documents
from tests.payloads import gpu, job_record, node_payload
from tests.reports.conftest import REPORTED_AT

SCHEMA = msgspec.json.decode(FILE.read_bytes())
VALID = Draft202012Validator(SCHEMA)


def documents(**wanted: Any) -> list[dict[str, Any]]:
    """The documents of these runs as JSON, each checked against the published schema."""
    found = [
        msgspec.json.decode(msgspec.json.encode(each)) for each in learning_documents(Job.objects.filter(**wanted))
    ]
    for document in found:
        VALID.validate(document)
    return found


def predicted(job: Job, quantity: str, typical: float, actual: float, **more: Any) -> None:
    made = {
        **{"user": job.user, "project": job.project, "cluster": "lumi", "work_key": job.work_key},
        **{"source": "check", "method": "own_quantiles", "method_version": 1, "runs": 7, "partition": "small-g"},
        **{"quantity": quantity, "typical": typical, "actual": actual, "job": job, "answer": Answer.ANSWERED.value},
        **{"fingerprint": quantity, "given_at": datetime(2026, 11, 19, tzinfo=UTC), "is_shown": True},
    }
    Prediction.objects.create(nodes=1, gpus=8, **made | more)


def test_the_published_file_is_what_the_types_say_and_a_valid_schema() -> None:
    assert json_schema() == SCHEMA, "run: python -m reports.performance.learning.json_schema"
    Draft202012Validator.check_schema(SCHEMA)


def test_a_run_says_what_was_requested_and_what_really_ran(ended: Callable[..., None]) -> None:
    ended(request={"--partition": "small-g", "--gpus-per-node": "8"}, eligible_at="2026-11-20T09:55:00Z")
    (document,) = documents()
    assert document["schema"] == "kaiku-learning/1"
    run = document["job_metadata"]
    assert (run["job_id"], run["job_name"], run["user_id"], run["project_id"], run["partition"]) == (
        *("123456", "train", "alice", "project_465000001"),
        "small-g",
    )
    assert run["request"] == {
        **{"options": {"--partition": "small-g", "--gpus-per-node": "8"}, "partition": "small-g", "gpus": 8},
        **{"ntasks": 8, "cpus_per_task": 7, "memory_gb": 480.0, "walltime_s": 10800.0},
    }
    execution = run["actual_execution"]
    assert (execution["execution_duration"], execution["execution_duration_s"]) == ("2h0m0s", 7200.0)
    assert (execution["success"], execution["node_count"], execution["queue_wait_s"]) == (True, 1, 300.0)
    assert (execution["start_time"], execution["end_time"]) == ("2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z")
    assert "error_details" not in execution
    assert execution["hardware"] == {
        **{"partition": "small-g", "gpu_name": "AMD MI250X GCD", "gpu_memory_gb": 64.0, "gpus": 8, "cpus": 56},
    }


def test_how_well_it_ran_and_what_it_cost(ended: Callable[..., None]) -> None:
    ended()
    (document,) = documents()
    metrics = document["performance_metrics"]
    # Two of eight GPUs at 88 %, the others idle: a mean of 22 %, six of eight idle all the time.
    assert metrics["gpu"] == {
        **{"measured_gpus": 8, "coverage_fraction": 1.0, "is_partial": False, "avg_util_percent": pytest.approx(22.0)},
        **{"lowest_util_percent": 0.0, "highest_util_percent": 88.0, "effective_gpus": 2},
        **{"effective_gpus_fraction": 0.25, "idle_fraction": 0.75},
    }
    assert metrics["memory"]["peak_gpu_mem_gb"] == 14.2
    # 7.9 busy of 56 cores
    assert metrics["host"] == {"cpu_utilization": pytest.approx(7.9 / 56), "busy_cores": 7.9}
    assert document["cost_analysis"] == {
        **{"unit": "GPU-hour", "gpu_hours": 8.0, "wasted_gpu_hours": pytest.approx(6.24)},
        **{"idle_gpu_hours": pytest.approx(6.0), "saved_gpu_hours": pytest.approx(6.0)},
    }
    # The mean of 22 % divided by the highest, 88 %.
    assert document["parallel_results"] == {"load_balance": pytest.approx(0.25), "waiting_fraction": 0.75}
    judgement = document["judgement"]
    assert judgement["efficiency_class"] == "INEFFICIENT"
    assert [finding["code"] for finding in judgement["findings"]] == ["idle_gpus", "parallelism_mismatch"]
    assert judgement["recommendations"][0]["recommended_gpus"] == 2


def test_what_is_absent_is_named_with_its_reason(ended: Callable[..., None]) -> None:
    ended()
    (document,) = documents()
    missing = document["missing"]
    assert missing["performance_metrics.energy.gpu_energy_j"] == "not_measured"
    assert missing["performance_metrics.gpu.throttled_fraction"] == "not_measured"
    assert missing["parallel_results.scaling_efficiency"] == "not_comparable"
    assert missing["parallel_results.communication_overhead"] == "not_measured"
    assert missing["prediction_validation.runtime_accuracy"] == "not_analysed"
    for name in missing:
        part: Any = document
        for step in name.split("."):
            part = part.get(step, {})
        assert part == {}
    # Once the sweep has compared the run with its predictions, it is known that there was none.
    settle_due(10, REPORTED_AT)
    (document,) = documents()
    assert document["missing"]["prediction_validation.runtime_accuracy"] == "not_predicted"


def test_energy_power_waiting_and_throttling_are_those_of_the_report(db) -> None:
    record_job(job_record(gpus_requested=2, gpus_allocated=2, gpus_per_node=2))
    gpus = [
        gpu(0, 60.0, power_avg_w=300.0, power_peak_w=420.0, power_cap_w=500.0, energy_j=2.16e6, throttled_s=720.0),
        gpu(1, 30.0, throttled_s=0.0),
    ]
    host = {
        **{"cores_allocated": 56, "busy_cores_avg": 14.0, "iowait_fraction": 0.05, "pressure_io_s": 1440.0},
        **{"pressure_cpu_s": 72.0, "oom_kills": 0},
    }
    record_node_summary(node_payload(gpus=gpus, cpu=host))
    analyse_due(10)
    (document,) = documents()
    metrics = document["performance_metrics"]
    # 300 W for two hours; the module of two GPUs is read on its first.
    assert metrics["energy"] == {
        **{"gpu_energy_j": 2.16e6, "module_power_avg_w": 300.0, "module_power_peak_w": 420.0},
        "module_power_cap_w": 500.0,
    }
    # 720 of 2 x 7200 measured seconds
    assert metrics["gpu"]["throttled_fraction"] == pytest.approx(0.05)
    # 14 of 56 cores; 72 and 1440 of 7200 s
    assert metrics["host"] == {
        **{"cpu_utilization": 0.25, "busy_cores": 14.0, "pressure_cpu_fraction": pytest.approx(0.01)},
    }
    assert metrics["io"] == {
        **{"io_wait_fraction": pytest.approx(0.2), "iowait_fraction": 0.05},
        "pressure_io_fraction": pytest.approx(0.2),
    }
    assert metrics["memory"]["oom_kills"] == 0
    # (60 + 30) / 2 / 60
    assert document["parallel_results"]["load_balance"] == pytest.approx(0.75)


def test_how_a_work_scales_is_against_its_smallest_number_of_gpus(db) -> None:
    for job_id, gpus, seconds in ((1, 2, 8000), (2, 4, 5000)):
        end = datetime(2026, 11, 20, 10, tzinfo=UTC) + timedelta(seconds=seconds)
        record = job_record(
            **{"job_id": job_id, "gpus_requested": gpus, "gpus_allocated": gpus, "gpus_per_node": gpus},
            **{"walltime_used_s": seconds, "ended_at": end.isoformat()},
        )
        record_job(record)
        record_node_summary(node_payload([90.0] * gpus, job_id=job_id))
    analyse_due(10)
    of_two, of_four = documents()
    assert of_two["parallel_results"]["scaling_efficiency"] == 1.0
    # Twice the GPUs took 5000 s instead of 8000 s: 8000 x 2 / (5000 x 4)
    assert of_four["parallel_results"]["scaling_efficiency"] == pytest.approx(0.8)
    assert (of_four["parallel_results"]["scaling_baseline_gpus"], of_four["parallel_results"]["scaling_runs"]) == (2, 1)


def test_predictions_are_listed_and_validated_by_the_latest_of_each_quantity(ended: Callable[..., None]) -> None:
    ended()
    job = Job.objects.get()
    predicted(job, "run_s", 9000.0, 7200.0, low=6000.0, high=10000.0, promised_fraction=0.8)
    predicted(job, "run_s", 14400.0, 7200.0, source="recommendation", given_at=datetime(2026, 11, 1, tzinfo=UTC))
    predicted(job, "gpu_hours", 10.0, 8.0)
    predicted(job, "run_s", 1.0, 7200.0, method="regression", is_shown=False)
    (document,) = documents()
    made = document["job_metadata"]["predictions"]
    assert [(each["source"], each["quantity"], each["typical"]) for each in made] == [
        ("recommendation", "run_s", 14400.0),
        ("check", "gpu_hours", 10.0),
        ("check", "run_s", 9000.0),
    ]
    assert made[2] | {"low": 6000.0, "high": 10000.0, "promised_fraction": 0.8, "runs": 7, "gpus": 8} == made[2]
    validation = document["prediction_validation"]
    # 7200 / 9000 - 1 = -0.2 and 8 / 10 - 1 = -0.2; the earlier one, 7200 / 14400 - 1 = -0.5, is no longer the latest.
    assert validation["runtime_accuracy"] == pytest.approx(0.8)
    assert validation["cost_accuracy"] == pytest.approx(0.8)
    assert validation["overall_accuracy_score"] == pytest.approx(0.8)
    run_time = validation["quantities"][2]
    assert (run_time["error_fraction"], run_time["is_inside"], run_time["actual"]) == (
        pytest.approx(-0.2),
        True,
        7200.0,
    )
    assert not [name for name in document["missing"] if name.startswith("prediction_validation")]


def test_a_range_that_was_not_stated_because_its_method_missed_its_promise_is_not_exported(
    ended: Callable[..., None],
) -> None:
    ended()
    ranged = {"low": 6000.0, "high": 10000.0, "promised_fraction": 0.8}
    predicted(Job.objects.get(), "run_s", 9000.0, 7200.0, is_range_stated=False, **ranged)
    (document,) = documents()
    (made,) = document["job_metadata"]["predictions"]
    assert (made["typical"], {"low", "high", "promised_fraction"} & set(made)) == (9000.0, set())
    (validated,) = document["prediction_validation"]["quantities"]
    # 7200 / 9000 - 1
    assert (validated["error_fraction"], "is_inside" in validated) == (pytest.approx(-0.2), False)


def test_runs_of_every_kind_are_valid_by_the_schema(ended: Callable[..., None]) -> None:
    hostile = {"job_name": '=1+1\u202e"<script>', "request": {"--gres": "gpu:8", "--time": "03:00:00"}}
    ended(1, gpus=[])
    ended(2, state="FAILED", exit_code="1:0", walltime_used_s=100, **hostile)
    ended(3, state="CANCELLED", started_at=None, walltime_used_s=None, exit_code="")
    ended(4, partition="unknown", gpus_requested=None, gpus_per_node=None, ntasks=None, memory_requested_gb=None)
    ended(5, gpus_allocated=0, gpus_requested=None, gpus_per_node=None, partition="small", gpus=[])
    many = [f"nid{number:06}" for number in range(3000)]
    ended(6, nodes=many, node_count=3000, gpus_allocated=24000, gpus_requested=24000, partition="standard-g")
    found = {int(each["job_metadata"]["job_id"]): each for each in documents()}
    assert found[1]["judgement"]["not_judged_because"] == "not_measured"
    assert found[1]["missing"]["performance_metrics.gpu.avg_util_percent"] == "not_measured"
    assert found[2]["job_metadata"]["actual_execution"]["error_details"] == "failed (exit code 1)"
    assert found[2]["job_metadata"]["actual_execution"]["execution_duration"] == "1m40s"
    assert "\u202e" not in found[2]["job_metadata"]["job_name"]
    assert "execution_duration" not in found[3]["job_metadata"]["actual_execution"]
    assert found[3]["missing"]["performance_metrics.gpu.avg_util_percent"] == "not_analysed"
    assert "judgement" not in found[3]
    assert found[4]["missing"]["cost_analysis.gpu_hours"] == "not_known"
    assert found[5]["job_metadata"]["actual_execution"]["hardware"]["gpus"] == 0
    assert found[6]["job_metadata"]["actual_execution"]["node_count"] == 3000
    assert "nid00" not in msgspec.json.encode(found[6]).decode()


def test_the_measurements_of_a_stranger_do_not_count(ended: Callable[..., None]) -> None:
    ended()
    NodeSummary.objects.update(sent_by="mallory")
    (document,) = documents()
    assert "lowest_util_percent" not in document["performance_metrics"]["gpu"]


def test_one_damaged_summary_leaves_the_other_runs_whole(ended: Callable[..., None], caplog) -> None:
    ended(1, 2)
    NodeSummary.objects.filter(job_id=1).update(figures=b"no zlib")
    damaged, other = documents()
    assert "highest_util_percent" not in damaged["performance_metrics"]["gpu"]
    assert other["performance_metrics"]["gpu"]["highest_util_percent"] == 88.0
    assert "lumi/1 is damaged" in caplog.text


@pytest.mark.one_database
def test_the_queries_do_not_grow_with_the_runs(ended: Callable[..., None], django_assert_num_queries) -> None:
    ended(1, 2, 3)
    # The runs, their measurements, predictions, findings and advice; and the one work that they belong to.
    with django_assert_num_queries(7):
        assert len(documents()) == 3
