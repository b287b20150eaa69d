"""One run for advisors and models, `kaiku-learning/1`: what was requested and predicted, what really ran, how well.

Members that mean the same in the learning format of the AWS Slurm Burst Advisor (ASBA, `PerformanceFeedback`) have its
names, types and units; `docs/performance-export.md` compares the two. A value that is not known is absent, because
ASBA's durations do not accept null; `missing` names each measured one with the reason. No command lines, no directories
and no names of nodes.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Meta

from analysis.efficiency import EfficiencyClass
from reports.from_rows import struct_from

SCHEMA: Final = "kaiku-learning/1"
"""Members may be added to this version; any other change gets a new number."""

Fraction = Annotated[float, Meta(ge=0, le=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
GoDuration = Annotated[
    str,
    Meta(
        pattern=r"^([0-9]+h)?([0-9]+m)?[0-9]+(\.[0-9]+)?(s|ms|µs|ns)$",
        description="as Go writes a time.Duration, such as 2h0m0s",
    ),
]
Reason = Literal["not_analysed", "not_measured", "not_known", "not_predicted", "not_comparable", "not_applicable"]


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the document; members with a default are absent where they are not known."""

    @classmethod
    def of(cls, row: object, **more: Any) -> Self:
        """The part with what a row has under the same names, but for `more`."""
        return struct_from(cls, row, **more)


class Request(Part, frozen=True, kw_only=True):
    """What was requested; `options` are the resource options in the user's own spelling, empty where not known."""

    options: dict[str, str]
    partition: Annotated[str, Meta(description="value of --partition")] | None = None
    gpus: Count | None = None
    nodes: Count | None = None
    ntasks: Count | None = None
    cpus_per_task: Annotated[int, Meta(ge=0, description="physical cores")] | None = None
    memory_gb: Annotated[float, Meta(ge=0, description="over all nodes, 2^30 bytes")] | None = None
    walltime_s: NotNegative | None = None
    is_exclusive: bool | None = None


class MadePrediction(Part, frozen=True, kw_only=True):
    """What was predicted before the run, for this partition, number of nodes and of GPUs.

    `typical` in the unit of the quantity; the run is within `low` to `high` in `promised_fraction` of all cases.
    """

    source: Literal["recommendation", "check", "wait"]
    quantity: Literal["run_s", "gpus", "memory_gb", "gpu_hours", "wait_s"]
    method: str
    method_version: Count
    partition: str
    nodes: Count
    gpus: Count
    typical: float
    runs: Annotated[int, Meta(ge=0, description="earlier runs behind it")]
    given_at: datetime
    low: float | None = None
    high: float | None = None
    promised_fraction: Fraction | None = None


class Hardware(Part, frozen=True, kw_only=True):
    """What was allocated; one GPU of LUMI-G is one GCD, half of an MI250X module."""

    partition: str | None = None
    gpu_name: str | None = None
    gpu_memory_gb: NotNegative | None = None
    gpus: Count | None = None
    cpus: Annotated[int, Meta(ge=0, description="physical cores")] | None = None
    is_exclusive: bool | None = None


class ActualExecution(Part, frozen=True, kw_only=True):
    """What really ran. ASBA: execution_duration, success, error_details, node_count, start_time, end_time."""

    success: bool
    state: Annotated[str, Meta(description="Slurm's state")]
    hardware: Hardware
    execution_duration: GoDuration | None = None
    execution_duration_s: NotNegative | None = None
    error_details: str | None = None
    exit_code: Annotated[str, Meta(description="code:signal")] | None = None
    node_count: Count | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    queue_wait_s: NotNegative | None = None


class JobMetadata(Part, frozen=True, kw_only=True):
    """The run. ASBA: job_id (a text), job_name, user_id, project_id, partition."""

    job_id: Annotated[str, Meta(pattern="^[0-9]+$")]
    cluster: str
    attempt: Count
    user_id: str
    project_id: str
    request: Request
    predictions: list[MadePrediction]
    actual_execution: ActualExecution
    job_name: str | None = None
    partition: str | None = None
    qos: str | None = None
    work_key: str | None = None
    array_job_id: Count | None = None
    array_task_id: Count | None = None
    submit_time: datetime | None = None


class Validated(Part, frozen=True, kw_only=True):
    """One prediction against the run: `error_fraction` is actual / typical - 1."""

    source: str
    quantity: str
    method: str
    answer: Annotated[str, Meta(description="answered; exceeded: a run that did not complete was already beyond it")]
    typical: float
    actual: float | None = None
    error_fraction: float | None = None
    is_inside: Annotated[bool, Meta(description="whether it was within low to high")] | None = None


class PredictionValidation(Part, frozen=True, kw_only=True):
    """The predictions against the run. An accuracy is 1 - |error_fraction| of the latest of its quantity, at least 0.

    ASBA: cost_accuracy (GPU-hours), runtime_accuracy, overall_accuracy_score, the mean of the two that are known.
    """

    quantities: list[Validated]
    cost_accuracy: Fraction | None = None
    runtime_accuracy: Fraction | None = None
    overall_accuracy_score: Fraction | None = None


class GpuMetrics(Part, frozen=True, kw_only=True):
    """Over the measured GPUs; utilisation in percent of the time, weighted by measured time."""

    measured_gpus: Count | None = None
    coverage_fraction: Fraction | None = None
    is_partial: bool | None = None
    avg_util_percent: NotNegative | None = None
    lowest_util_percent: NotNegative | None = None
    highest_util_percent: NotNegative | None = None
    effective_gpus: Count | None = None
    effective_gpus_fraction: Fraction | None = None
    idle_fraction: Fraction | None = None
    throttled_fraction: Fraction | None = None


class MemoryMetrics(Part, frozen=True, kw_only=True):
    """GPU memory of the fullest GPU, and host memory: the fullest node times the number of nodes; GB is 2^30 bytes."""

    peak_gpu_mem_gb: NotNegative | None = None
    peak_gpu_mem_fraction: NotNegative | None = None
    host_peak_gb: NotNegative | None = None
    oom_kills: Count | None = None


class HostMetrics(Part, frozen=True, kw_only=True):
    """The processors. ASBA: cpu_utilization, the busy share of the allocated cores."""

    cpu_utilization: Fraction | None = None
    busy_cores: NotNegative | None = None
    pressure_cpu_fraction: NotNegative | None = None


class IoMetrics(Part, frozen=True, kw_only=True):
    """Shares of the run time, as means of the nodes; `io_wait_fraction` is the larger of the other two."""

    io_wait_fraction: NotNegative | None = None
    iowait_fraction: NotNegative | None = None
    pressure_io_fraction: NotNegative | None = None


class EnergyMetrics(Part, frozen=True, kw_only=True):
    """Energy of the GPUs, only where every module was read; power of one module, which is two GPUs on LUMI-G."""

    gpu_energy_j: NotNegative | None = None
    module_power_avg_w: NotNegative | None = None
    module_power_peak_w: NotNegative | None = None
    module_power_cap_w: NotNegative | None = None


class PerformanceMetrics(Part, frozen=True, kw_only=True):
    gpu: GpuMetrics
    memory: MemoryMetrics
    host: HostMetrics
    io: IoMetrics
    energy: EnergyMetrics
    throughput_per_s: NotNegative | None = None
    throughput_unit: str | None = None


class ParallelResults(Part, frozen=True, kw_only=True):
    """How the work was divided. ASBA: scaling_efficiency, load_balance.

    `load_balance` is the mean use of the GPUs divided by that of the busiest. `scaling_efficiency` is the speed for
    each GPU against runs of the same work on `scaling_baseline_gpus`; above 1 where more GPUs do more each.
    `waiting_fraction` is the share of the GPU time in which the GPUs were idle.
    """

    scaling_efficiency: NotNegative | None = None
    scaling_baseline_gpus: Count | None = None
    scaling_runs: Annotated[int, Meta(ge=0, description="runs on as many GPUs as this one")] | None = None
    load_balance: Fraction | None = None
    waiting_fraction: Fraction | None = None


class CostAnalysis(Part, frozen=True, kw_only=True):
    """The bill in the site's unit; wasted: bill x (1 - mean use); saved: what the suggested request would save."""

    unit: str | None = None
    gpu_hours: NotNegative | None = None
    wasted_gpu_hours: NotNegative | None = None
    idle_gpu_hours: NotNegative | None = None
    saved_gpu_hours: NotNegative | None = None


class JudgedFinding(Part, frozen=True, kw_only=True):
    code: str
    confidence: Fraction


class Advice(Part, frozen=True, kw_only=True):
    kind: str
    basis: str
    recommended_gpus: Count | None = None


class Judgement(Part, frozen=True, kw_only=True):
    """The report of the run in short; `efficiency_class` is UNKNOWN where the use is not judged."""

    efficiency_class: EfficiencyClass
    findings: list[JudgedFinding]
    recommendations: list[Advice]
    rules_version: str
    analysed_at: datetime
    not_judged_because: str | None = None


class LearningDocument(Part, frozen=True, kw_only=True):
    """One run that has ended."""

    schema: Literal["kaiku-learning/1"]
    job_metadata: JobMetadata
    prediction_validation: PredictionValidation
    performance_metrics: PerformanceMetrics
    parallel_results: ParallelResults
    cost_analysis: CostAnalysis
    missing: Annotated[
        dict[str, Reason], Meta(description="each value that is absent though it could be measured, and why")
    ]
    judgement: Judgement | None = None
