"""The sentences of each finding, made from its evidence. Concrete, and without blame."""

from collections.abc import Callable, Mapping

from analysis.facts import JobFacts
from analysis.findings import STOPPED, Finding, FindingCode
from reports.finding_texts_progress import flat_counter, loss_is_nan, step_pauses
from reports.finding_texts_spread import (
    exclusive_node_underused,
    idle_gpus,
    load_imbalance,
    no_gpu_use,
    overscaling,
    parallelism_mismatch,
)
from reports.numbers import share
from reports.run_view import NEARLY_ALL, Evidence, Run, run_view
from reports.unexplained import waits, without_cause
from wire.numbers import counted, duration, gigabytes, percent


def finding_text(finding: Finding, facts: JobFacts, advised_gpus: int | None = None) -> str:
    """The sentences of one finding of this run; `advised_gpus` is the smaller count that its report suggests."""
    return TEXTS[finding.code](finding.evidence, run_view(facts, advised_gpus))


def _cpu_bottleneck(seen: Evidence, run: Run) -> str:
    return (
        f"The working GPUs were busy {percent(seen['gpu_util_percent'])} of the time while"
        f" {seen['busy_cores']:.1f} of {counted(seen['cores_allocated'], 'CPU core')} were busy"
        f" ({share(seen['busy_fraction'])}): the host is probably the bottleneck. {_more_cores(run)}"
    )


def _more_cores(run: Run) -> str:
    """What to do where the cores are the bottleneck: use those that come with the GPUs, where the job did not."""
    if run.cores_per_gpu and 0 < run.cores < run.cores_per_gpu * run.gpus:
        return (
            f"The job was allocated {counted(run.cores, 'core')}, but {run.cores_per_gpu * run.gpus:,} come with its"
            f" {counted(run.gpus, 'GPU')}: request {run.cores_per_gpu} for each GPU and let the program use them."
        )
    return "Move work from the cores to the GPUs, or prepare the data in a separate job without GPUs."


def _host_oversubscription(seen: Evidence, _: Run) -> str:
    return (
        f"On {seen['node']}, {counted(seen['ranks'], 'rank')} ran {seen['threads']:,} threads on"
        f" {counted(seen['cores_allocated'], 'core')}, and some of them waited for a core"
        f" {share(seen['cpu_pressure_fraction'])} of the time. Set OMP_NUM_THREADS and the number of loader"
        f" workers so that the ranks together run {seen['cores_allocated']:,} threads."
    )


def _io_or_sync_stall(seen: Evidence, run: Run) -> str:
    points_to, pattern = seen["points_to"], seen["pattern"]
    if pattern == "again_and_again":
        stopped = (
            f"All GPUs stopped {seen['stalls']:,} times, in total {share(seen['lost_fraction'])} of the time in which"
            " they had work"
        )
        if points_to == "synchronisation":
            return f"{stopped}, while the host was mostly idle{_little_io(seen)}. {RANKS_WAIT} {SLOW_RANK}"
        return f"{stopped}, while the host waited for files ({waits(seen)}). {FILES} {FASTER_FILES}"
    if pattern == "steady":
        return (
            f"The working GPUs were busy {percent(seen['gpu_util_percent'])} of the time while the host waited for"
            f" files ({waits(seen)}): input or output probably slows them down all the time. {FASTER_FILES}"
        )
    fall = (
        f"GPU use fell from {percent(seen['first_third_percent'])} in the first third to"
        f" {percent(seen['later_percent'])} afterwards."
    )
    if points_to == "io":
        return f"{fall} The host waited for files in that time ({waits(seen)}). {FILES} {FASTER_FILES}"
    if points_to == "synchronisation":
        return f"{fall} The host was mostly idle in that time{_little_io(seen)}. {RANKS_WAIT} {SLOW_RANK}"
    return (
        f"{fall} What the host did in that time was not measured; waiting for files or for other ranks is likely. Look"
        f" at a running job with {run.tools.look}."
    )


FILES = "Input or output is the likely cause."
FASTER_FILES = "Pack small files into a few large ones, or read ahead in more processes."
RANKS_WAIT = "This points to ranks waiting for each other."
SLOW_RANK = "Let each rank print the time of its steps, and look at a rank that is always last or that writes alone."


def _little_io(seen: Evidence) -> str:
    """That the host did not wait for files, with the numbers where there are any."""
    return f" and hardly waited for files ({waits(seen)})" if waits(seen) else ""


def _late_start(seen: Evidence, _: Run) -> str:
    return (
        f"For the first {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: installing, unpacking, reading or preparing data can be done before the GPUs are allocated."
    )


def _idle_tail(seen: Evidence, _: Run) -> str:
    return (
        f"For the last {duration(seen['idle_s'])} of {duration(seen['elapsed_s'])} ({share(seen['idle_fraction'])}) no"
        " GPU had work: look for a process that does not end, or move the steps after the GPU work into a"
        " separate job."
    )


def _busy_but_waiting(seen: Evidence, run: Run) -> str:
    if STOPPED in seen:
        return flat_counter(seen, run)
    drew = (
        f"The GPUs showed {percent(seen['busy_percent'])} busy, but {_modules(seen, run)} drew {seen['power_w']:.0f} W"
        f" on average ({share(seen['power_fraction'])} of the power cap)."
    )
    small = "many small kernels or a small batch"
    if run.gpus == 1:
        return (
            f"{drew} On a single GPU {small} look like this, and so do kernels that wait in a loop. Profile a few"
            f" minutes with {run.tools.profiler}."
        )
    across = "a collective across nodes" if run.nodes > 1 else "another GPU of the node"
    return (
        f"{drew} Kernels that only wait, for {across} ({run.tools.collectives}) or in a deadlock, look like this. So do"
        f" {small}. Compare the last lines that each rank wrote: one that is behind holds up the others."
    )


def _kernel_tuning(seen: Evidence, run: Run) -> str:
    return (
        f"The GPUs were steadily busy at {percent(seen['busy_percent'])} while {_modules(seen, run)} drew"
        f" {share(seen['power_fraction'])} of the power cap, with cores and GPU memory still free. Try larger batches"
        f" and fewer small kernels, and look for gaps between kernels with {run.tools.profiler}."
    )


def _modules(seen: Evidence, run: Run) -> str:
    """What power is reported for: modules, where several GPUs share one."""
    noun = "GPU" if run.gpus_per_module == 1 else "module"
    return f"the one {noun} measured" if seen["modules"] == 1 else f"the {counted(seen['modules'], noun)}"


def _throttled(seen: Evidence, run: Run) -> str:
    return (
        f"{seen['throttled_gpus']:,} of {counted(seen['gpus'], 'GPU')} were slowed for heat or power, together"
        f" {share(seen['throttled_fraction'])} of {run.time(seen['elapsed_s'])}. The hardware causes this, not your"
        " program; the support team can look at the node if it happens again."
    )


def _gpu_memory_pressure(seen: Evidence, _: Run) -> str:
    return (
        f"In this job {_full_gpus(seen)}. A slightly larger input may not fit; frameworks that reserve memory in"
        " advance look the same. Use a smaller batch or mixed precision before you use a larger input."
    )


def _gpu_out_of_memory(seen: Evidence, _: Run) -> str:
    return (
        f"The program failed, and {_full_gpus(seen)}: its output probably shows a failed allocation. A"
        " smaller batch, or more GPUs to share the memory, avoids it."
    )


def _full_gpus(seen: Evidence) -> str:
    full = seen["full_gpus"]
    subject = "its GPU" if seen["gpus"] == 1 else f"{full:,} of {counted(seen['gpus'], 'GPU')}"
    return (
        f"{subject} nearly filled {'its' if full == 1 else 'their'} memory"
        f" ({gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['capacity_gb'])}; {seen['gpu_list']})"
    )


def _host_out_of_memory(seen: Evidence, _: Run) -> str:
    ended = "Slurm ended the job because it exceeded its host memory."
    if seen.get("oom_kills"):
        ended = f"The kernel ended {seen['oom_kills']:,} of the job's processes for lack of memory."
    step = "Read the data in parts, or start fewer processes that each hold a copy of it."
    if "peak_memory_gb" not in seen:
        return f"{ended} {step}"
    limit = f" of a limit of {gigabytes(seen['memory_limit_gb'])}" if "memory_limit_gb" in seen else ""
    return f"{ended} The fullest node reached {gigabytes(seen['peak_memory_gb'])}{limit}. {step}"


def _cores_or_memory_beyond_share(seen: Evidence, _: Run) -> str:
    used = []
    if "peak_memory_gb" in seen:
        used.append(f"{gigabytes(seen['peak_memory_gb'])} of {gigabytes(seen['memory_gb'])} of host memory")
    if "busy_cores" in seen:
        used.append(f"{seen['busy_cores']:.1f} of {counted(seen['cores'], 'core')}")
    return (
        f"The job used {' and '.join(used)}. Its request is billed like {counted(seen['billed_slices'], 'GPU')};"
        f" {counted(seen['needed_slices'], 'GPU')} would have been enough."
    )


def _timeout(seen: Evidence, run: Run) -> str:
    ended = f"The job reached its time limit of {duration(seen['walltime_requested_s'])}."
    final_percent = seen.get("final_util_percent")
    pattern = seen.get("pattern")
    at_end = f" ({percent(final_percent)} at the end)" if final_percent is not None else ""
    if run.has_idled:
        measured = "in that time" if run.coverage_fraction >= NEARLY_ALL else "while it was measured"
        return f"{ended} No GPU had work {measured}: find out why before you request more time."
    if pattern == "spinning":
        return (
            f"{ended} The GPUs showed as busy{at_end} but drew little power: they probably waited, in a deadlock or for"
            f" a collective that never ended ({run.tools.collectives}). Find what they waited for; a longer limit"
            " would not help."
        )
    if pattern == "busy" and run.has_longest_limit:
        return (
            f"{ended} The GPUs were still busy{at_end}: work may have been lost. This is the longest limit in"
            f" {run.partition}: write checkpoints, and let a follow-up job continue from the last one."
        )
    if pattern == "busy":
        return (
            f"{ended} The GPUs were still busy{at_end}: work may have been lost. A longer limit, or checkpoints and a"
            " follow-up job, would keep it."
        )
    if pattern == "idle":
        return (
            f"{ended} The GPUs had little to do at the end{at_end}: look for a hang or a step that never ends before"
            " you request more time."
        )
    return f"{ended} Whether it was still working is not known; checkpoints save completed work."


def _walltime_overrequest(seen: Evidence, _: Run) -> str:
    return (
        f"The job used {duration(seen['walltime_used_s'])} of {duration(seen['walltime_requested_s'])}"
        f" ({share(seen['used_fraction'])}). This costs nothing, but a job with a shorter limit often starts sooner."
    )


TEXTS: Mapping[FindingCode, Callable[[Evidence, Run], str]] = {
    FindingCode.NO_GPU_USE: no_gpu_use,
    FindingCode.PARALLELISM_MISMATCH: parallelism_mismatch,
    FindingCode.IDLE_GPUS: idle_gpus,
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: exclusive_node_underused,
    FindingCode.LOAD_IMBALANCE: load_imbalance,
    FindingCode.OVERSCALING: overscaling,
    FindingCode.CPU_BOTTLENECK: _cpu_bottleneck,
    FindingCode.HOST_OVERSUBSCRIPTION: _host_oversubscription,
    FindingCode.IO_OR_SYNC_STALL: _io_or_sync_stall,
    FindingCode.LATE_START: _late_start,
    FindingCode.IDLE_TAIL: _idle_tail,
    FindingCode.BUSY_BUT_WAITING: _busy_but_waiting,
    FindingCode.LOSS_IS_NAN: loss_is_nan,
    FindingCode.STEP_PAUSES: step_pauses,
    FindingCode.KERNEL_TUNING: _kernel_tuning,
    FindingCode.THROTTLED: _throttled,
    FindingCode.GPU_MEMORY_PRESSURE: _gpu_memory_pressure,
    FindingCode.GPU_OUT_OF_MEMORY: _gpu_out_of_memory,
    FindingCode.HOST_OUT_OF_MEMORY: _host_out_of_memory,
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: _cores_or_memory_beyond_share,
    FindingCode.TIMEOUT: _timeout,
    FindingCode.WALLTIME_OVERREQUEST: _walltime_overrequest,
    FindingCode.LOW_USE_UNEXPLAINED: without_cause,
}
