"""What a run was billed for beyond its GPUs, in one line for below its figures."""

from dataclasses import replace

from jobs.billing import Allocation, gpu_hours
from jobs.hardware import partition_of
from reports.billed import beyond_gpus
from reports.job_report import JobReport
from wire.numbers import hours

SAME_BILL_FRACTION = 0.01
"""How far a bill made from Slurm's record may be from the stated one: above it, other data made the stated one."""


def bill_note(report: JobReport) -> str:
    """The part of the bill of a run that is for cores or host memory beyond its GPUs, and what its used hours are.

    Empty where there is no such part, or where Slurm's record alone does not give the stated bill.
    """
    job, billed = report.job, report.efficiency.gpu_hours
    partition = partition_of(job.cluster, job.partition)
    if partition is None or not billed or job.cpus_allocated is None or job.memory_requested_gb is None:
        return ""
    gpus = report.efficiency.allocated_gpus
    held = Allocation(job.node_count or 1, gpus, job.cpus_allocated, job.memory_requested_gb, bool(job.is_exclusive))
    cause = beyond_gpus(partition, held)
    made = gpu_hours(partition, held, job.walltime_used_s or 0.0)
    alone = gpu_hours(partition, replace(held, cores=0, memory_gb=0.0), job.walltime_used_s or 0.0)
    if not cause or made is None or alone is None or abs(made - billed) > SAME_BILL_FRACTION * billed:
        return ""
    share = "the GPU’s share" if gpus == 1 else "the share of the GPUs"
    said = f"{hours(billed - alone)} of {hours(billed)} GPU-hours are billed for {cause} beyond {share}."
    if report.efficiency.used_gpu_hours is None:
        return said
    return f"{said} Used and unused GPU-hours divide the whole bill by the measured GPU use, also its part for {cause}."
