"""The sentences of each finding, made from its evidence. Kind, concrete, no blame.

Evidence that was stored under earlier rules may lack a `pattern`: its sentence then says what those rules meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.thresholds import LIMITS
from reports.numbers import counted, duration, gigabytes, percent, share
from reports.unexplained import waits, without_cause
from reports.vendor import ANY, Tools, short_test, tools_of

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What a sentence needs to know of the run beside its evidence; `has_idled`: no measured GPU ever had work."""

    tools: Tools = ANY
    nodes: int = 1
    gpus: int = 1
    short_test: str = "a short test job"
    has_idled: bool = False


def finding_text(finding: Finding, facts: JobFacts) -> str:
    """The sentences of one finding of this run."""
    record = facts.record
    run = Run(
        tools=tools_of(record.cluster, record.partition),
        nodes=facts.held.nodes,
        gpus=facts.allocated_gpus,
        short_test=short_test(record.cluster),
        has_idled=facts.gpus.count > 0 and not np.any(facts.did_work),
    )
    return TEXTS[finding.code](finding.evidence, run)


def _no_gpu_use(seen: Evidence, _: Run) -> str:
    subject = "The GPU was" if seen["gpus"] == 1 else f"All {seen['gpus']:,} GPUs were"
    idle = f"{subject} idle for {share(seen['idle_fraction'])} of {duration(seen['elapsed_s'])}."
    busy_cores = seen.get("busy_cores")
    if busy_cores is None:
        return f"{idle} The program probably ran on the CPU cores alone, or ended before it reached the GPUs."
    cores = f"{busy_cores:.1f} CPU cores were busy meanwhile"
    if busy_cores > LIMITS.pinned_cores_per_rank_max:
        return f"{idle} {cores}: the work ran on the CPU cores."
    if busy_cores >= LIMITS.pinned_cores_per_rank_min:
        return f"{idle} About one CPU core was busy meanwhile: the program ran there, or waited."
    return f"{idle} {cores}: the program waited for something, or ended early while the job went on."


def _parallelism_mismatch(seen: Evidence, run: Run) -> str:
    gpus, active = counted(seen["gpus"], "GPU"), seen["active_gpus"]
    pattern = seen.get("pattern")
    if pattern == "in_turns":
        return (
            f"The {gpus} took turns: at any time only about {active:,} of them worked, at"
            f" {percent(seen['active_util_percent'])}. One step probably waits for the other, as in a pipeline without"
            " overlap, or in models that run one after another."
        )
    worked = (
        f"{active:,} of {gpus} worked, at {percent(seen['active_util_percent'])} on average; the others were at"
        f" {percent(seen['inactive_util_percent'])}."
    )
    if pattern == "ranks_share_gpus":
        return (
            f"{worked} The {seen['ranks']:,} ranks of the job shared the working GPUs: let each rank select a GPU of"
            f" its own, {run.tools.select_gpu}."
        )
    if pattern == "one_gpu_of_each_module" and active == 1:
        return f"{worked} The two share a module: each GPU of a module needs a process of its own."
    return f"{worked} {MISMATCHES.get(pattern or '', MISMATCHES[''])}"


MISMATCHES = {
    "": "The job probably started fewer processes that use a GPU than it had GPUs, or several on the same one.",
    "fewer_processes": "The job probably started fewer processes that use a GPU than it had GPUs.",
    "one_gpu_of_each_module": (
        "The working ones are one GPU of each module: a module holds two GPUs, and each of them needs a process of its"
        " own."
    ),
    "memory_without_work": (
        "Processes hold memory on the others but give them no work: look at how the work is divided, or whether the"
        " program opens every GPU that it sees."
    ),
}


def _idle_gpus(seen: Evidence, _: Run) -> str:
    verb = "was" if seen["idle_gpus"] == 1 else "were"
    return (
        f"{seen['idle_gpus']:,} of {counted(seen['gpus'], 'GPU')} {verb} idle for {share(seen['idle_fraction'])} of"
        f" {duration(seen['elapsed_s'])} ({seen['gpu_list']})."
    )


def _exclusive_node_underused(seen: Evidence, _: Run) -> str:
    return (
        f"{seen['partition']} gives and bills whole nodes: {counted(seen['nodes'], 'node')} with"
        f" {counted(seen['gpus'], 'GPU')}, of which {seen['active_gpus']:,} worked. A partition that bills by GPU, or"
        " fewer nodes, costs less for the same work."
    )


def _load_imbalance(seen: Evidence, _: Run) -> str:
    if seen.get("pattern") == "stopped_early":
        return (
            f"{seen['early_gpus']:,} of {seen['active_gpus']:,} working GPUs stopped up to {duration(seen['early_s'])}"
            f" before the last one and had no work since ({seen['gpu_list']}). Let them take their work from a common"
            " list, or run each part as a job of its own."
        )
    return (
        f"Of {seen['active_gpus']:,} working GPUs the least busy was at {percent(seen['lowest_util_percent'])}, the"
        f" busiest at {percent(seen['highest_util_percent'])}. The ones that did less probably waited for the others"
        f" (below the mean: {seen['gpu_list']})."
    )


def _overscaling(seen: Evidence, _: Run) -> str:
    return (
        f"All {seen['gpus']:,} GPUs were evenly used, but only {percent(seen['avg_util_percent'])} on average, and none"
        f" needed more than {gigabytes(seen['peak_memory_gb'])} ({share(seen['peak_memory_fraction'])}) of its memory."
        " The work would fit on fewer GPUs, or each GPU could take more of it."
    )


def _cpu_bottleneck(seen: Evidence, _: Run) -> str:
    working = f"The working GPUs were busy {percent(seen['gpu_util_percent'])} of the time while "
    if "busy_cores_per_rank" in seen:  # an earlier rule: one busy core for each rank
        return (
            f"{working}each of the {seen['ranks']:,} ranks kept about one CPU core busy"
            f" ({seen['busy_cores_per_rank']:.2f} cores a rank): the part of the program that runs on one core may set"
            " the pace."
        )
    return (
        f"{working}{seen['busy_cores']:.1f} of {counted(seen['cores_allocated'], 'CPU core')} were busy"
        f" ({share(seen['busy_fraction'])}): the host probably sets the pace."
    )


def _host_oversubscription(seen: Evidence, _: Run) -> str:
    return (
        f"On {seen['node']}, {counted(seen['ranks'], 'rank')} ran {seen['threads']:,} threads on"
        f" {counted(seen['cores_allocated'], 'core')}, and some of them waited for a core"
        f" {share(seen['cpu_pressure_fraction'])} of the time. As many threads as cores are faster."
    )


def _io_or_sync_stall(seen: Evidence, _: Run) -> str:
    pattern = seen.get("pattern")
    if pattern == "again_and_again":
        return (
            f"All GPUs stopped {seen['stalls']:,} times, together {share(seen['lost_fraction'])} of the time in which"
            f" they had work, while the host waited for files ({waits(seen)}). Input or output is the likely cause."
        )
    if pattern == "steady":
        return (
            f"The working GPUs were busy {percent(seen['gpu_util_percent'])} of the time while the host waited for"
            f" files ({waits(seen)}): input or output probably holds them back all the time."
        )
    fall = (
        f"GPU use fell from {percent(seen['first_third_percent'])} in the first third to"
        f" {percent(seen['later_percent'])} afterwards. "
    )
    if seen["points_to"] == "io":
        return f"{fall}The host waited for files in that time ({waits(seen)}), so input or output is the likely cause."
    if seen["points_to"] == "synchronisation":
        return f"{fall}The host was quiet and did not wait for files, which points to ranks waiting for each other."
    return f"{fall}What the host did in that time was not measured; waiting for files or for other ranks is likely."


def _late_start(seen: Evidence, _: Run) -> str:
    return (
        f"For the first {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: installing, unpacking, reading or preparing data can be done before the GPUs are allocated."
    )


def _idle_tail(seen: Evidence, _: Run) -> str:
    return (
        f"For the last {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: look for a process that does not end, or move the steps after the GPU work into a job of"
        " their own."
    )


def _busy_but_waiting(seen: Evidence, run: Run) -> str:
    drew = (
        f"The GPUs showed {percent(seen['busy_percent'])} busy, but {_modules(seen)} drew {seen['power_w']:.0f} W on"
        f" average ({share(seen['power_fraction'])} of the cap)."
    )
    small = "many small kernels or a small batch"
    if run.nodes > 1:
        where = f"for a collective across nodes ({run.tools.collectives}), or in a deadlock"
        return f"{drew} Kernels that only wait look like this: {where}. So do {small}."
    if run.gpus > 1:
        where = f"for another GPU of the node ({run.tools.collectives}), or in a deadlock"
        return f"{drew} Kernels that only wait look like this: {where}. So do {small}."
    return f"{drew} On a single GPU {small} look like this, and kernels that wait in a loop."


def _kernel_tuning(seen: Evidence, run: Run) -> str:
    return (
        f"The GPUs were steadily busy at {percent(seen['busy_percent'])} while {_modules(seen)} drew"
        f" {share(seen['power_fraction'])} of the power cap, with cores and GPU memory to spare. Try larger batches and"
        f" fewer small kernels, and look for gaps between kernels with {run.tools.profiler}."
    )


def _modules(seen: Evidence) -> str:
    return "the one module measured" if seen["modules"] == 1 else f"the {seen['modules']:,} modules"


def _throttled(seen: Evidence, _: Run) -> str:
    return (
        f"{seen['throttled_gpus']:,} of {counted(seen['gpus'], 'GPU')} were slowed for heat or power, together"
        f" {share(seen['throttled_fraction'])} of the time. The machine causes this, not your program; the support team"
        " can look at the node if it happens again."
    )


def _gpu_memory_pressure(seen: Evidence, _: Run) -> str:
    return (
        f"In this job {_full_gpus(seen)}. A slightly larger input may not fit. Frameworks that reserve memory in"
        " advance look the same."
    )


def _gpu_out_of_memory(seen: Evidence, _: Run) -> str:
    return (
        f"The program failed, and {_full_gpus(seen)}: its output probably names an allocation that did not fit. A"
        " smaller batch, or more GPUs to share the memory, avoids it."
    )


def _full_gpus(seen: Evidence) -> str:
    full = seen["full_gpus"]
    subject = "its GPU" if seen["gpus"] == 1 else f"{full:,} of {counted(seen['gpus'], 'GPU')}"
    return (
        f"{subject} came close to the end of {'its' if full == 1 else 'their'} memory"
        f" ({gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['capacity_gb'])}; {seen['gpu_list']})"
    )


def _host_out_of_memory(seen: Evidence, _: Run) -> str:
    ended = "Slurm ended the job because it passed its host memory."
    if seen.get("oom_kills"):
        ended = f"The kernel ended {seen['oom_kills']:,} of the job's processes for lack of memory."
    if "peak_memory_gb" not in seen:
        return ended
    limit = f" of a limit of {gigabytes(seen['memory_limit_gb'])}" if "memory_limit_gb" in seen else ""
    return f"{ended} The fullest node reached {gigabytes(seen['peak_memory_gb'])}{limit}."


def _cores_or_memory_beyond_share(seen: Evidence, _: Run) -> str:
    used = []
    if "peak_memory_gb" in seen:
        used.append(f"{gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['memory_gb'])} of host memory")
    if "busy_cores" in seen:
        used.append(f"{seen['busy_cores']:.1f} of {counted(seen['cores'], 'core')}")
    return (
        f"The job used {' and '.join(used)}. What it requested is billed like {counted(seen['billed_slices'], 'GPU')};"
        f" {counted(seen['needed_slices'], 'GPU')} would have been enough."
    )


def _timeout(seen: Evidence, run: Run) -> str:
    ended = f"The job reached its time limit of {duration(seen['walltime_requested_s'])}."
    final_percent = seen.get("final_util_percent")
    pattern = seen.get("pattern")
    if pattern is None and final_percent is not None:
        pattern = "busy" if final_percent >= LIMITS.active_gpu_percent else "idle"
    at_end = f" ({percent(final_percent)} at the end)" if final_percent is not None else ""
    if run.has_idled:
        return f"{ended} No GPU had work in that time: find out why before you request more time."
    if pattern == "spinning":
        return (
            f"{ended} The GPUs showed as busy{at_end} but drew little power: they probably waited, in a deadlock or for"
            f" a collective that never ended ({run.tools.collectives}). Find what they waited for; a longer limit"
            " would not help."
        )
    if pattern == "busy":
        return (
            f"{ended} The GPUs were still busy{at_end}: work may have been lost. A longer limit, or checkpoints and a"
            " follow-up job, keeps it."
        )
    if pattern == "idle":
        return (
            f"{ended} The GPUs had little to do by then{at_end}: look for a hang or a step that never ends before you"
            " request more time."
        )
    return f"{ended} Whether it was still working is not known; checkpoints keep what was done."


def _walltime_overrequest(seen: Evidence, _: Run) -> str:
    return (
        f"The job used {duration(seen['walltime_used_s'])} of {duration(seen['walltime_requested_s'])}"
        f" ({share(seen['used_fraction'])}). This costs nothing, but a shorter limit often starts sooner."
    )


def _low_use_unexplained(seen: Evidence, run: Run) -> str:
    return without_cause(seen, run.tools, run.short_test)


TEXTS: Mapping[FindingCode, Callable[[Evidence, Run], str]] = {
    FindingCode.NO_GPU_USE: _no_gpu_use,
    FindingCode.PARALLELISM_MISMATCH: _parallelism_mismatch,
    FindingCode.IDLE_GPUS: _idle_gpus,
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: _exclusive_node_underused,
    FindingCode.LOAD_IMBALANCE: _load_imbalance,
    FindingCode.OVERSCALING: _overscaling,
    FindingCode.CPU_BOTTLENECK: _cpu_bottleneck,
    FindingCode.HOST_OVERSUBSCRIPTION: _host_oversubscription,
    FindingCode.IO_OR_SYNC_STALL: _io_or_sync_stall,
    FindingCode.LATE_START: _late_start,
    FindingCode.IDLE_TAIL: _idle_tail,
    FindingCode.BUSY_BUT_WAITING: _busy_but_waiting,
    FindingCode.KERNEL_TUNING: _kernel_tuning,
    FindingCode.THROTTLED: _throttled,
    FindingCode.GPU_MEMORY_PRESSURE: _gpu_memory_pressure,
    FindingCode.GPU_OUT_OF_MEMORY: _gpu_out_of_memory,
    FindingCode.HOST_OUT_OF_MEMORY: _host_out_of_memory,
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: _cores_or_memory_beyond_share,
    FindingCode.TIMEOUT: _timeout,
    FindingCode.WALLTIME_OVERREQUEST: _walltime_overrequest,
    FindingCode.LOW_USE_UNEXPLAINED: _low_use_unexplained,
}
