"""From one run, with everything that is known of it, to its learning document."""

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
from reports.performance.learning.measured import parallel_results, performance_metrics
from reports.performance.rows import PerformanceRow

COST, RUN_TIME = "gpu_hours", "run_s"
NEVER_MEASURED = "parallel_results.communication_overhead"
"""The time in communication: nothing on the nodes measures it."""

SECOND_NS, MINUTE_S, HOUR_S = 1_000_000_000, 60, 3600
SMALLER = (("ms", 1_000_000), ("µs", 1_000))
"""The units in which Go writes what is less than a second."""


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
        "cost_analysis": CostAnalysis.of(row, unit=row.billing_unit),
    }
    made: dict[str, Any] = {**parts, "missing": dict(_missing(parts, known))}
    return LearningDocument(schema=SCHEMA, job_metadata=_metadata(known), judgement=_judgement(known), **made)


def _metadata(known: Known) -> JobMetadata:
    row = known.row
    return JobMetadata.of(
        row,
        job_id=str(row.job_id),
        request=Request.of(
            row,
            options=dict(known.record.request),
            partition=row.partition_requested,
            gpus=row.gpus_requested,
            nodes=row.nodes_requested,
            memory_gb=row.memory_requested_gb,
            walltime_s=row.walltime_requested_s,
        ),
        predictions=list(known.predictions),
        actual_execution=_execution(row),
        submit_time=row.submitted_at,
    )


def _execution(row: PerformanceRow) -> ActualExecution:
    used_s = row.walltime_used_s
    return ActualExecution.of(
        row,
        success=bool(row.success),
        hardware=Hardware.of(row, gpus=row.gpus_allocated, cpus=row.cpus_allocated),
        execution_duration=None if used_s is None else go_duration(used_s),
        execution_duration_s=used_s,
        start_time=row.started_at,
        end_time=row.ended_at,
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
    return Judgement.of(
        row,
        efficiency_class=EfficiencyClass(row.efficiency_class),
        findings=list(known.findings),
        recommendations=list(known.advice),
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


def go_duration(seconds: float) -> str:
    """What `time.Duration.String()` returns (Go, package time), to the nanosecond.

    >>> go_duration(7200.0), go_duration(90.5), go_duration(59), go_duration(0.25), go_duration(0)
    ('2h0m0s', '1m30.5s', '59s', '250ms', '0s')
    """
    total_ns = round(seconds * SECOND_NS)
    if 0 < total_ns < SECOND_NS:
        return _below_a_second(total_ns)
    whole_s, rest_ns = divmod(total_ns, SECOND_NS)
    hours, minutes, left_s = whole_s // HOUR_S, whole_s % HOUR_S // MINUTE_S, whole_s % MINUTE_S
    text = f"{left_s}{_fraction(rest_ns, SECOND_NS)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _below_a_second(total_ns: int) -> str:
    for unit, size_ns in SMALLER:
        if total_ns >= size_ns:
            return f"{total_ns // size_ns}{_fraction(total_ns % size_ns, size_ns)}{unit}"
    return f"{total_ns}ns"


def _fraction(rest: int, whole: int) -> str:
    """The digits after the point, without zeros at the end; empty for none."""
    digits = f"{rest:0{len(str(whole)) - 1}d}".rstrip("0")
    return f".{digits}" if digits else ""
