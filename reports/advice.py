"""What each recommendation says to people: the reason for it, and what its savings assume."""

from __future__ import annotations

from collections.abc import Callable

from analysis.facts import JobFacts
from analysis.rightsizing import Recommendation
from analysis.savings import Savings
from reports.numbers import counted, duration, gigabytes, percent


def reason(advice: Recommendation, facts: JobFacts) -> str:
    """Why to ask for something else next time."""
    said = REASONS[advice.basis](advice)
    if advice.wanted.partition != facts.record.partition:
        said += f"; {advice.wanted.partition} bills by GPU, {facts.record.partition} by whole node"
    return f"{said}."


def assumption(saved: Savings) -> str:
    """What the saved GPU-hours take for granted."""
    if saved.assumption == "same_busy_gpu_seconds":
        return f"the same busy GPU time at 70 % use, which takes {duration(saved.run_s)}"
    if saved.assumption == "own_run_time":
        return f"the {duration(saved.run_s)} that your own run on that many GPUs took"
    return f"the same run time of {duration(saved.run_s)}"


def _active_gpus(advice: Recommendation) -> str:
    seen = advice.evidence
    active = counted(int(seen["active_gpus"]), "GPU")
    said = f"Only {active} showed sustained utilization > {seen['threshold_percent']:g} %"
    asked = advice.wanted.gpus
    return said if asked <= seen["active_gpus"] else f"{said}; {counted(asked, 'GPU')} are the nearest whole nodes"


def _gpu_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"Only {counted(int(seen['active_gpus']), 'GPU')} showed sustained utilization, and"
        f" {counted(int(seen['memory_gpus']), 'GPU')} hold the {gigabytes(float(seen['peak_memory_total_gb']))} of GPU"
        " memory that was used"
    )


def _no_gpu_use(advice: Recommendation) -> str:
    return "No GPU showed sustained utilization; one is enough to try whether the program uses it"


def _overscaling(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The work of {counted(int(seen['gpus']), 'GPU')} at {percent(float(seen['avg_util_percent']))} fits on"
        f" {counted(int(seen['busy_gpus']), 'GPU')} at {seen['target_percent']:g} %"
    )


def _peak_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The job used at most {gigabytes(float(seen['peak_memory_gb']))} of the"
        f" {gigabytes(float(seen['memory_gb']))} of host memory it asked for, which alone raises its bill; a fifth more"
        " than the peak is enough"
    )


def _own_scaling(advice: Recommendation) -> str:
    seen = advice.evidence
    fewer, all_gpus = counted(int(seen["scaling_gpus"]), "GPU"), counted(int(seen["gpus"]), "GPU")
    return (
        f"Your own run on {fewer} took {duration(float(seen['run_s']))}, this one on {all_gpus}"
        f" {duration(float(seen['elapsed_s']))}: the others added less than they cost"
    )


def _busy_cores(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The job kept {float(seen['busy_cores']):.1f} of {counted(int(seen['cores']), 'core')} busy, and the cores"
        f" alone raise its bill; {seen['recommended_cores']} are enough"
    )


def _host_share(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The job used at most {gigabytes(float(seen['peak_memory_gb']))} of {gigabytes(float(seen['memory_gb']))} of"
        f" host memory and kept {float(seen['busy_cores']):.1f} of {counted(int(seen['cores']), 'core')} busy; together"
        " they raise its bill"
    )


def _out_of_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"Host memory ran out at {gigabytes(float(seen['memory_gb']))}; up to {gigabytes(float(seen['share_gb']))} come"
        " with the GPUs at no further cost"
    )


def _own_runs(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The longest of your last comparable runs took {duration(float(seen['longest_run_s']))}; a limit of"
        f" {duration(float(seen['recommended_walltime_s']))} leaves a fifth to spare and often starts sooner"
    )


def _run_time(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The job ran for {duration(float(seen['walltime_used_s']))}; a limit of"
        f" {duration(float(seen['recommended_walltime_s']))} leaves a fifth to spare and often starts sooner"
    )


REASONS: dict[str, Callable[[Recommendation], str]] = {
    "active_gpus": _active_gpus,
    "gpu_memory": _gpu_memory,
    "no_gpu_use": _no_gpu_use,
    "overscaling": _overscaling,
    "peak_memory": _peak_memory,
    "own_scaling": _own_scaling,
    "busy_cores": _busy_cores,
    "host_share": _host_share,
    "out_of_memory": _out_of_memory,
    "run_time": _run_time,
    "own_runs": _own_runs,
}
