"""One run of a work as its page counts with it: the record, the request and the judgement in one row."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from analysis.comparable import Throughput
from analysis.thresholds import LIMITS
from jobs.records import ENDED_STATES, SYSTEM_FAILURES
from jobs.sbatch import Shape
from jobs.work_key import is_trial

COMPLETED, CANCELLED, TIMEOUT = "COMPLETED", "CANCELLED", "TIMEOUT"


@dataclass(frozen=True)
class PastRun:
    """A run of some work; `gpus` and `cores` are what it was allocated, None is not known or not measured.

    `gpu_hours` are billed, `effective_gpus` those with sustained use, `busy_cores` and `host_peak_gb` over all nodes,
    `uncounted_reason` is why no statistics count it, `recommended_gpus` the advice of its report and
    `saved_gpu_hours` what that would have saved, `throughput_per_s` what its script logged, in `throughput_unit`.
    """

    pk: int
    cluster: str
    job_id: int
    attempt: int
    state: str
    ended_at: datetime
    job_name: str = ""
    partition: str = ""
    nodes: int | None = None
    gpus: int | None = None
    ntasks: int | None = None
    cpus_per_task: int | None = None
    cores: int | None = None
    memory_gb: float | None = None
    is_exclusive: bool | None = None
    walltime_s: float | None = None
    elapsed_s: float | None = None
    request: Mapping[str, str] = field(default_factory=dict)
    is_told_by_owner: bool = False
    gpu_hours: float | None = None
    avg_gpu_util: float | None = None
    effective_gpus: int | None = None
    busy_cores: float | None = None
    host_peak_gb: float | None = None
    io_wait_fraction: float | None = None
    peak_gpu_mem_gb: float | None = None
    is_judged: bool = False
    uncounted_reason: str = ""
    finding_codes: str = ""
    recommended_gpus: int | None = None
    saved_gpu_hours: float | None = None
    throughput_unit: str = ""
    throughput_per_s: float | None = None

    @property
    def allocation(self) -> Shape:
        """What it was allocated, as a request."""
        return Shape(
            nodes=self.nodes or 1,
            gpus=self.gpus or 0,
            ntasks=self.ntasks,
            cores=self.cores or None,
            memory_gb=self.memory_gb or None,
            walltime_s=self.walltime_s,
            partition=self.partition,
            is_exclusive=bool(self.is_exclusive),
        )

    @property
    def is_completed(self) -> bool:
        return self.state == COMPLETED

    @property
    def is_failure(self) -> bool:
        """Whether it ended without success, and nobody cancelled it; a trial may reach its limit."""
        return self.state in ENDED_STATES - {COMPLETED, CANCELLED} and not self.is_cut_trial

    @property
    def is_own_failure(self) -> bool:
        """The same where the system did not end it."""
        return self.is_failure and self.state not in SYSTEM_FAILURES

    @property
    def is_trial(self) -> bool:
        """Whether `kaiku trial` wrote it: a short run, compared with other trials alone."""
        return is_trial(self.job_name)

    @property
    def is_cut_trial(self) -> bool:
        """Whether it is a trial that reached its limit: it shows use, and no run time."""
        return self.is_trial and self.state == TIMEOUT

    @property
    def is_comparable(self) -> bool:
        """Whether its run time can be compared with others: run to its end, on GPUs, not too short, no trial."""
        return not self.is_trial and self._has_run_time(LIMITS.short_job_s)

    @property
    def throughput(self) -> Throughput | None:
        """What its script logged to have done a second; None where that is not known or the run was too short."""
        per_s, is_long = self.throughput_per_s, (self.elapsed_s or 0.0) >= LIMITS.short_job_s
        is_known = per_s is not None and math.isfinite(per_s) and per_s > 0
        if not is_known or not is_long or self.is_trial or self.state not in (COMPLETED, TIMEOUT):
            return None
        return Throughput(self.throughput_unit, per_s or 0.0)

    @property
    def is_measured_trial(self) -> bool:
        """Whether it is a trial whose run time can be compared with that of other trials."""
        return self.is_trial and self._has_run_time(LIMITS.trial_min_s)

    def _has_run_time(self, least_s: float) -> bool:
        return self.is_completed and bool(self.gpus) and (self.elapsed_s or 0.0) >= least_s
