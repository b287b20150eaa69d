"""From one run, with everything that is known of it, to its learning document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.efficiency import EfficiencyClass
from analysis.facts import JobFacts
from analysis.scaling import Scaling
from jobs.records import JobRecord
from reports.performance.learning.document import (
    SCHEMA,
    ActualExecution,
    Advice,
    CostAnalysis,
    Hardware,
    JobMetadata,
    JudgedFinding,
    Judgement,
    LearningDocument,
    MadePrediction,
    Part,
    PredictionValidation,
    Reason,
    Request,
    Validated,
)
from reports.performance.learning.go_duration import go_duration
from reports.performance.learning.measured import parallel_results, performance_metrics
from reports.performance.rows import PerformanceRow

COST, RUN_TIME = "gpu_hours", "run_s"
NEVER_MEASURED = "parallel_results.communication_overhead"
"""The time in communication: nothing on the nodes measures it."""


@dataclass(frozen=True)
class Known:
    """One ended run: its row, its record, and what was judged, predicted and compared; `facts` None before analysis.

    `is_compared`: nothing is left to be done for its predictions.
    """

    row: PerformanceRow
    record: JobRecord
    facts: JobFacts | None = None
    is_compared: bool = False
    scaled: Scaling | None = None
    predictions: Sequence[MadePrediction] = ()
    validated: Sequence[Validated] = ()
    findings: Sequence[JudgedFinding] = ()
    advice: Sequence[Advice] = ()


def learning_document(known: Known) -> LearningDocument:
    """The document of one run."""
    row = known.row
    parts: dict[str, Part] = {
        "prediction_validation": _validation(known.validated),
        "performance_metrics": performance_metrics(row, known.facts),
        "parallel_results": parallel_results(row, known.facts, known.scaled),
        "cost_analysis": CostAnalysis(
            unit=row.billing_unit, **{name: getattr(row, name) for name in CostAnalysis.__struct_fields__[1:]}
        ),
    }
    made: dict[str, Any] = {**parts, "missing": dict(_missing(parts, known))}
    return LearningDocument(schema=SCHEMA, job_metadata=_metadata(known), judgement=_judgement(known), **made)


def _metadata(known: Known) -> JobMetadata:
    row = known.row
    same = ("cluster", "attempt", "user_id", "project_id", "job_name", "partition", "qos", "work_key")
    return JobMetadata(
        job_id=str(row.job_id),
        request=Request(
            options=dict(known.record.request),
            partition=row.partition_requested,
            gpus=row.gpus_requested,
            nodes=row.nodes_requested,
            ntasks=row.ntasks,
            cpus_per_task=row.cpus_per_task,
            memory_gb=row.memory_requested_gb,
            walltime_s=row.walltime_requested_s,
            is_exclusive=row.is_exclusive,
        ),
        predictions=list(known.predictions),
        actual_execution=_execution(row),
        array_job_id=row.array_job_id,
        array_task_id=row.array_task_id,
        submit_time=row.submitted_at,
        **{name: getattr(row, name) for name in same},
    )


def _execution(row: PerformanceRow) -> ActualExecution:
    used_s = row.walltime_used_s
    return ActualExecution(
        success=bool(row.success),
        state=row.state,
        hardware=Hardware(
            partition=row.partition,
            gpu_name=row.gpu_name,
            gpu_memory_gb=row.gpu_memory_gb,
            gpus=row.gpus_allocated,
            cpus=row.cpus_allocated,
            is_exclusive=row.is_exclusive,
        ),
        execution_duration=None if used_s is None else go_duration(used_s),
        execution_duration_s=used_s,
        error_details=row.error_details,
        exit_code=row.exit_code,
        node_count=row.node_count,
        start_time=row.started_at,
        end_time=row.ended_at,
        queue_wait_s=row.queue_wait_s,
    )


def _validation(validated: Sequence[Validated]) -> PredictionValidation:
    """`validated` in the order in which the predictions were given."""
    accuracies = {
        each.quantity: max(0.0, 1.0 - abs(each.error_fraction))
        for each in validated
        if each.error_fraction is not None and each.quantity in (COST, RUN_TIME)
    }
    return PredictionValidation(
        quantities=list(validated),
        cost_accuracy=accuracies.get(COST),
        runtime_accuracy=accuracies.get(RUN_TIME),
        overall_accuracy_score=sum(accuracies.values()) / len(accuracies) if accuracies else None,
    )


def _judgement(known: Known) -> Judgement | None:
    row = known.row
    if row.efficiency_class is None or row.rules_version is None or row.analysed_at is None:
        return None
    return Judgement(
        efficiency_class=EfficiencyClass(row.efficiency_class),
        findings=list(known.findings),
        recommendations=list(known.advice),
        rules_version=row.rules_version,
        analysed_at=row.analysed_at,
        not_judged_because=row.not_judged_because,
    )


def _missing(parts: dict[str, Part], known: Known) -> Iterator[tuple[str, Reason]]:
    for section, part in parts.items():
        for name in _absent(section, part):
            yield name, _reason(name, known)
    yield NEVER_MEASURED, "not_measured"


def _absent(path: str, part: Part) -> Iterator[str]:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if isinstance(value, Part):
            yield from _absent(f"{path}.{name}", value)
        elif value is None:
            yield f"{path}.{name}"


def _reason(name: str, known: Known) -> Reason:
    """Why this value is absent, as near as the row shows it."""
    row = known.row
    section, _, rest = name.partition(".")
    if section == "prediction_validation":
        return "not_predicted" if known.is_compared else "not_analysed"
    if rest == "unit":
        return "not_known"
    if row.analysed_at is None:
        return "not_analysed"
    if section == "parallel_results" and rest.startswith("scaling"):
        return "not_comparable"
    if rest == "load_balance" and row.measured_gpus == 1:
        return "not_applicable"
    if section != "cost_analysis":
        return "not_measured"
    if row.billing_unit is None:
        return "not_known"
    return "not_applicable" if rest == "saved_gpu_hours" else "not_measured"
