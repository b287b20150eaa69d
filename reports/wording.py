"""What each finding says to people: a title and a few sentences made from its evidence. Kind, concrete, no blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analysis.efficiency import Efficiency, EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.phases import Course
from reports.numbers import counted, duration, gigabytes, percent, share

Evidence = Mapping[str, Any]

TITLES = {
    FindingCode.NO_GPU_USE: "The GPUs were not used",
    FindingCode.PARALLELISM_MISMATCH: "Only part of the GPUs did the work",
    FindingCode.IDLE_GPUS: "Some GPUs stayed idle",
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: "Whole nodes for part of their GPUs",
    FindingCode.LOAD_IMBALANCE: "The GPUs shared the work unevenly",
    FindingCode.OVERSCALING: "More GPUs than the work filled",
    FindingCode.CPU_BOTTLENECK: "The GPUs waited for the CPU",
    FindingCode.HOST_OVERSUBSCRIPTION: "More threads than CPU cores",
    FindingCode.IO_OR_SYNC_STALL: "GPU use fell after the start",
    FindingCode.LATE_START: "The GPUs began late",
    FindingCode.IDLE_TAIL: "The GPUs were done before the job ended",
    FindingCode.BUSY_BUT_WAITING: "Busy GPUs that drew little power",
    FindingCode.KERNEL_TUNING: "Room in the GPU kernels",
    FindingCode.THROTTLED: "The hardware slowed the GPUs down",
    FindingCode.GPU_MEMORY_PRESSURE: "GPU memory was nearly full",
    FindingCode.GPU_OUT_OF_MEMORY: "GPU memory probably ran out",
    FindingCode.HOST_OUT_OF_MEMORY: "Host memory ran out",
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: "Unused cores or memory raised the bill",
    FindingCode.TIMEOUT: "The time limit ended the job",
    FindingCode.WALLTIME_OVERREQUEST: "Much more time was requested than used",
    FindingCode.LOW_USE_UNEXPLAINED: "We found no clear cause",
}

VERDICTS = {
    EfficiencyClass.EFFICIENT: "The GPUs were kept busy.",
    EfficiencyClass.ACCEPTABLE: "The GPUs were busy for a fair part of the time; there is room for more.",
    EfficiencyClass.INEFFICIENT: "The GPUs waited most of the time. The causes below are where to start.",
    EfficiencyClass.WASTED: "The GPUs had very little to do. A small change may free most of them.",
    EfficiencyClass.UNKNOWN: "No GPU measurement of this job arrived, so its GPU use cannot be judged.",
}

COURSES = {
    Course.STEADY: "steady",
    Course.BURSTS: "in bursts",
    Course.FALLING: "falling after the start",
    Course.UNEVEN: "uneven",
    Course.UNKNOWN: "too few points to tell its course",
}

ALL_WELL = "Nothing needs to change for their sake."
BUT = "Even so, there is something to look at below."

UNCOUNTED = {
    "short": "The job ran for less than five minutes: it is summarised here and not counted in any statistic.",
    "system_failure": "The system ended this job, not you: it is summarised here and not counted in any statistic.",
}


def headline(judged: Efficiency) -> str:
    """The one sentence that someone reads who reads one sentence."""
    if judged.avg_gpu_util is None:
        return "The GPU use of your job was not measured"
    gpus = "its GPU" if judged.allocated_gpus == 1 else f"its {judged.allocated_gpus:,} GPUs"
    return f"Your job kept {gpus} busy {percent(judged.avg_gpu_util)} of the time"


def verdict(judged: Efficiency, *, has_causes: bool = False) -> str:
    """The class in words, what was missing first, and why a run does not count where it does not."""
    sentences = [VERDICTS[judged.efficiency_class]]
    if judged.efficiency_class is EfficiencyClass.EFFICIENT:
        sentences.append(BUT if has_causes else ALL_WELL)
    if judged.is_partial:
        sentences.insert(
            0,
            f"Partial: only {share(judged.coverage_fraction)} of the GPU time was measured, so everything below is"
            " less certain.",
        )
    if judged.uncounted_reason:
        sentences.append(UNCOUNTED[judged.uncounted_reason])
    return " ".join(sentences)


def finding_text(finding: Finding) -> str:
    """The sentences of one finding."""
    return TEXTS[finding.code](finding.evidence)


def _no_gpu_use(seen: Evidence) -> str:
    subject = "The GPU was" if seen["gpus"] == 1 else f"All {seen['gpus']:,} GPUs were"
    return (
        f"{subject} idle for {share(seen['idle_fraction'])} of {duration(seen['elapsed_s'])}. The program probably"
        " ran on the CPU cores alone, or ended before it reached the GPUs."
    )


def _parallelism_mismatch(seen: Evidence) -> str:
    return (
        f"{seen['active_gpus']:,} of {counted(seen['gpus'], 'GPU')} worked, at {percent(seen['active_util_percent'])}"
        f" on average; the others stood at {percent(seen['inactive_util_percent'])}. The job probably started fewer"
        " processes that use a GPU than it had GPUs, or several on the same one."
    )


def _idle_gpus(seen: Evidence) -> str:
    verb = "was" if seen["idle_gpus"] == 1 else "were"
    return (
        f"{seen['idle_gpus']:,} of {counted(seen['gpus'], 'GPU')} {verb} idle for {share(seen['idle_fraction'])} of"
        f" {duration(seen['elapsed_s'])} ({seen['gpu_list']})."
    )


def _cpu_bottleneck(seen: Evidence) -> str:
    working = f"The working GPUs were busy {percent(seen['gpu_util_percent'])} of the time while "
    if seen["pattern"] == "one_core_per_rank":
        return (
            f"{working}each of the {seen['ranks']:,} ranks kept about one CPU core busy"
            f" ({seen['busy_cores_per_rank']:.2f} cores a rank): the part of the program that runs on one core is"
            " likely to set the pace."
        )
    return (
        f"{working}{seen['busy_cores']:.1f} of {counted(seen['cores_allocated'], 'CPU core')} were busy"
        f" ({share(seen['busy_fraction'])}): the host is likely to set the pace."
    )


def _overscaling(seen: Evidence) -> str:
    return (
        f"All {seen['gpus']:,} GPUs were evenly used, but only {percent(seen['avg_util_percent'])} on average, and none"
        f" needed more than {gigabytes(seen['peak_memory_gb'])} ({share(seen['peak_memory_fraction'])}) of its memory."
        " The work would fit on fewer GPUs, or each GPU could take more of it."
    )


def _io_or_sync_stall(seen: Evidence) -> str:
    fall = (
        f"GPU use fell from {percent(seen['first_third_percent'])} in the first third to"
        f" {percent(seen['later_percent'])} afterwards. "
    )
    if seen["points_to"] == "io":
        return f"{fall}The host waited for files in that time ({_waits(seen)}), so input or output is the likely cause."
    if seen["points_to"] == "synchronisation":
        return f"{fall}The host was quiet and did not wait for files, which points to ranks waiting for each other."
    return f"{fall}What the host did in that time was not measured; waiting for files or for other ranks is likely."


def _waits(seen: Evidence) -> str:
    parts = []
    if "io_pressure_fraction" in seen:
        parts.append(f"I/O pressure {share(seen['io_pressure_fraction'])} of the time")
    if "iowait_fraction" in seen:
        parts.append(f"I/O wait {share(seen['iowait_fraction'])} of the cores")
    return ", ".join(parts)


def _host_out_of_memory(seen: Evidence) -> str:
    ended = "Slurm ended the job because it passed its host memory."
    if seen.get("oom_kills"):
        ended = f"The kernel ended {seen['oom_kills']:,} of the job's processes for lack of memory."
    if "peak_memory_gb" not in seen:
        return ended
    limit = f" of a limit of {gigabytes(seen['memory_limit_gb'])}" if "memory_limit_gb" in seen else ""
    return f"{ended} The fullest node reached {gigabytes(seen['peak_memory_gb'])}{limit}."


def _timeout(seen: Evidence) -> str:
    ended = f"The job reached its time limit of {duration(seen['walltime_requested_s'])}. "
    if "final_util_percent" not in seen:
        return f"{ended}Whether it was still working is not known; checkpoints keep what was done."
    if seen["final_util_percent"] >= 30:
        return (
            f"{ended}The GPUs were still busy ({percent(seen['final_util_percent'])} at the end): work may have been"
            " lost. A longer limit, or checkpoints and a follow-up job, keeps it."
        )
    return (
        f"{ended}The GPUs had little to do by then ({percent(seen['final_util_percent'])} at the end): look for a hang"
        " or a step that never ends before asking for more time."
    )


def _walltime_overrequest(seen: Evidence) -> str:
    return (
        f"The job used {duration(seen['walltime_used_s'])} of {duration(seen['walltime_requested_s'])}"
        f" ({share(seen['used_fraction'])}). This costs nothing, but a shorter limit often starts sooner."
    )


def _exclusive_node_underused(seen: Evidence) -> str:
    return (
        f"{seen['partition']} gives and bills whole nodes: {counted(seen['nodes'], 'node')} with"
        f" {counted(seen['gpus'], 'GPU')}, of which {seen['active_gpus']:,} worked. A partition that bills by GPU, or"
        " fewer nodes, costs less for the same work."
    )


def _load_imbalance(seen: Evidence) -> str:
    return (
        f"Of {seen['active_gpus']:,} working GPUs the least busy stood at {percent(seen['lowest_util_percent'])}, the"
        f" busiest at {percent(seen['highest_util_percent'])}. The ones that did less probably waited for the others"
        f" (below the mean: {seen['gpu_list']})."
    )


def _host_oversubscription(seen: Evidence) -> str:
    return (
        f"On {seen['node']}, {counted(seen['ranks'], 'rank')} ran {seen['threads']:,} threads on"
        f" {counted(seen['cores_allocated'], 'core')}, and some of them waited for a core"
        f" {share(seen['cpu_pressure_fraction'])} of the time. As many threads as cores are faster."
    )


def _late_start(seen: Evidence) -> str:
    return (
        f"For the first {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: installing, unpacking, reading or preparing data can be done before the GPUs are held."
    )


def _idle_tail(seen: Evidence) -> str:
    return (
        f"For the last {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: look for a process that does not end, or move the steps after the GPU work into a job of"
        " their own."
    )


def _busy_but_waiting(seen: Evidence) -> str:
    return (
        f"The GPUs showed {percent(seen['busy_percent'])} busy, but {_modules(seen)} drew {seen['power_w']:.0f} W on"
        f" average ({share(seen['power_fraction'])} of the cap). Kernels that only wait look like this: for a"
        " collective across nodes, or in a deadlock."
    )


def _kernel_tuning(seen: Evidence) -> str:
    return (
        f"The GPUs were steadily busy at {percent(seen['busy_percent'])} while {_modules(seen)} drew"
        f" {share(seen['power_fraction'])} of the power cap, with cores and GPU memory to spare. Larger batches, fewer"
        " small kernels or a profile of them are where the room is."
    )


def _modules(seen: Evidence) -> str:
    return "the one module measured" if seen["modules"] == 1 else f"the {seen['modules']:,} modules"


def _throttled(seen: Evidence) -> str:
    return (
        f"{seen['throttled_gpus']:,} of {counted(seen['gpus'], 'GPU')} were slowed for heat or power, together"
        f" {share(seen['throttled_fraction'])} of the time. That is the machine's doing, not yours; the support team"
        " can look at the node if it comes again."
    )


def _gpu_memory_pressure(seen: Evidence) -> str:
    return (
        f"{_full_gpus(seen)}. The job went well; a slightly larger input may not fit."
        " Frameworks that reserve memory ahead look the same."
    )


def _gpu_out_of_memory(seen: Evidence) -> str:
    return (
        f"The program failed, and {_full_gpus(seen)}: its output probably names an allocation that did not fit. A"
        " smaller batch, or more GPUs to share the memory, avoids it."
    )


def _full_gpus(seen: Evidence) -> str:
    return (
        f"{seen['full_gpus']:,} of {counted(seen['gpus'], 'GPU')} came close to the end of their memory"
        f" ({gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['capacity_gb'])}; {seen['gpu_list']})"
    )


def _cores_or_memory_beyond_share(seen: Evidence) -> str:
    used = []
    if "peak_memory_gb" in seen:
        used.append(f"{gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['memory_gb'])} of host memory")
    if "busy_cores" in seen:
        used.append(f"{seen['busy_cores']:.1f} of {counted(seen['cores'], 'core')}")
    return (
        f"The job used {' and '.join(used)}. What it asked for is billed like {counted(seen['billed_slices'], 'GPU')};"
        f" {seen['needed_slices']:,} would have been enough."
    )


TEXTS: Mapping[FindingCode, Callable[[Evidence], str]] = {
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
}
