"""The texts of each recommendation: its reason, the lines of its request, and what its savings assume."""

from collections.abc import Callable, Mapping, Sequence

from analysis.comparable import is_hint
from analysis.facts import JobFacts
from analysis.rightsizing import Recommendation, RecommendationKind
from analysis.savings import Savings
from analysis.thresholds import LIMITS
from reports.billed import billed_as
from reports.kept import kept
from reports.numbers import share
from wire.numbers import counted, duration, gigabytes, percent

OTHER_HARDWARE = frozenset({"cpu_work", "smaller_gpu"})
"""Advice of these bases changes the partition, so it prints a complete request even where the options are known."""


def reason(advice: Recommendation, facts: JobFacts) -> str:
    """Why another request is suggested, how its cores and host memory were derived, and what else it is billed for."""
    said = REASONS[advice.basis](advice)
    bill = [billed] if (billed := billed_as(advice, facts)) else []
    if advice.kind is not RecommendationKind.GPUS:
        return "; ".join([said, *bill]) + "."
    if advice.wanted.partition != facts.record.partition and advice.basis not in OTHER_HARDWARE:
        said += f"; {advice.wanted.partition} bills by GPU, {facts.record.partition} by whole node"
    elif facts.held.is_exclusive and not advice.wanted.is_exclusive and advice.wanted.gpus:
        said += f"; without --exclusive, {advice.wanted.partition} bills only the GPUs that you request"
    return "; ".join([said, *kept(advice, facts), *bill]) + "."


def assumption(saved: Savings, facts: JobFacts, advised: Sequence[Recommendation]) -> str:
    """What the saved GPU-hours assume, with the GPU use that the same work gives on fewer GPUs."""
    if saved.assumption == "same_busy_gpu_seconds" and advised and advised[0].wanted.gpus:
        gpus = advised[0].wanted.gpus
        busy_gpu_s = facts.allocated_gpus * facts.elapsed_s * (facts.avg_gpu_util or 0.0) / 100
        use = percent(100 * busy_gpu_s / (gpus * saved.run_s))
        return f"the same busy GPU time, which keeps {counted(gpus, 'GPU')} busy {use} of {duration(saved.run_s)}"
    if saved.assumption == "own_run_time" and any(advice.evidence.get("by_throughput") for advice in advised):
        return f"the {duration(saved.run_s)} that this work takes at the throughput of your own runs on that many GPUs"
    if saved.assumption == "own_run_time":
        return f"the {duration(saved.run_s)} that your own runs on that many GPUs take (median)"
    return f"the same run time of {duration(saved.run_s)}"


def _active_gpus(advice: Recommendation) -> str:
    seen = advice.evidence
    active, filled = int(seen["active_gpus"]), int(seen.get("busy_gpus", 0))
    said = _sustained(advice)
    if filled > active and filled == seen.get("needed_gpus"):
        said += f"; the use of all GPUs together equals {counted(filled, 'GPU')} at {_fill_percent(advice):.0f} %"
    return said + _nearest(advice, int(seen.get("needed_gpus", active)))


def _gpu_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    memory = int(seen["memory_gpus"])
    return (
        f"{_sustained(advice)}, and the {gigabytes(float(seen['peak_memory_total_gb']))} of GPU memory that was used"
        f" fit on {counted(memory, 'GPU')}{_nearest(advice, memory)}"
    )


def _no_gpu_use(advice: Recommendation) -> str:
    said = "No GPU showed sustained utilization; one is enough to find out why"
    asked = advice.wanted.gpus
    return said if asked <= 1 else f"{said}; the minimum in {advice.wanted.partition} is {counted(asked, 'GPU')}"


def _overscaling(advice: Recommendation) -> str:
    seen = advice.evidence
    filled, active = int(seen["busy_gpus"]), int(seen.get("active_gpus", 0))
    said = (
        f"The work of {counted(int(seen['gpus']), 'GPU')} at {percent(float(seen['avg_util_percent']))} fits on"
        f" {counted(filled, 'GPU')} at {_fill_percent(advice):.0f} %"
    )
    needed = int(seen.get("needed_gpus", filled))
    if needed > filled and needed == active:
        threshold = float(seen.get("threshold_percent", LIMITS.active_gpu_percent))
        said += f", but {active:,} showed sustained utilization > {threshold:g} %"
    unmeasured = int(seen.get("unmeasured_gpus", 0))
    if unmeasured:
        said += f"; {_not_measured(unmeasured)}, so none of them is left out"
    return said + _nearest(advice, needed)


def _fill_percent(advice: Recommendation) -> float:
    """How busy the smaller number of GPUs would be with the same work."""
    seen = advice.evidence
    return float(seen["gpus"]) * float(seen["avg_util_percent"]) / max(float(seen["busy_gpus"]), 1.0)


def _sustained(advice: Recommendation) -> str:
    """How many GPUs worked; those that were not measured are counted as needed, not as used."""
    seen = advice.evidence
    unmeasured = int(seen.get("unmeasured_gpus", 0))
    active = int(seen["active_gpus"]) - unmeasured
    threshold = float(seen.get("threshold_percent", LIMITS.active_gpu_percent))
    noun = "measured GPU" if unmeasured else "GPU"
    subject = f"Only {counted(active, noun)}" if active else f"No {noun}"
    said = f"{subject} showed sustained utilization > {threshold:g} %"
    return f"{said}; {_not_measured(unmeasured)}" if unmeasured else said


def _not_measured(gpus: int) -> str:
    return f"{counted(gpus, 'GPU')} {'was' if gpus == 1 else 'were'} not measured and may have worked"


def _nearest(advice: Recommendation, needed: int) -> str:
    """Why more GPUs are suggested than are needed; empty where they are not."""
    asked, nodes = advice.wanted.gpus, advice.wanted.nodes
    if asked <= max(needed, 1):
        return ""
    if advice.wanted.is_exclusive or nodes > 1:
        return f"; {counted(asked, 'GPU')} on {counted(nodes, 'node')} are the nearest whole nodes"
    return f"; {asked:,} is the nearest count that the work divides into evenly"


def _own_scaling(advice: Recommendation) -> str:
    seen = advice.evidence
    fewer, all_gpus = counted(int(seen["scaling_gpus"]), "GPU"), counted(int(seen["gpus"]), "GPU")
    is_one = seen.get("own_runs") == 1
    took = f"run on {fewer} took" if is_one else f"runs on {fewer} take"
    if seen.get("by_throughput"):
        speed = f"the speed that your own {'run' if is_one else 'runs'} on {fewer} measured"
        said = (
            f"By measured throughput this work takes {duration(float(seen['run_s']))} at {speed}, and this run on"
            f" {all_gpus} took {duration(float(seen['elapsed_s']))}"
        )
    else:
        said = (
            f"Your own {took} {duration(float(seen['run_s']))}{'' if is_one else ' (median)'}, this one on {all_gpus}"
            f" took {duration(float(seen['elapsed_s']))}"
        )
    if not is_hint(seen):
        return f"{said}: the additional GPUs added more cost than speed"
    return f"{said}; this is only a hint without a stated saving, because {_doubt(seen, fewer)}"


def _doubt(seen: Mapping[str, float | int], fewer: str) -> str:
    """Why runs on another number of GPUs do not show what this one would have saved."""
    if seen.get("is_noisy"):
        return "runs on the same number of GPUs differ by more than a factor of two"
    if seen.get("is_longer"):
        return "this run took more than twice as long on more GPUs, which another input may explain"
    return f"there is only one run on {fewer}"


def _cpu_work(advice: Recommendation) -> str:
    partition = advice.wanted.partition
    said = (
        f"No GPU was used while {float(advice.evidence['busy_cores']):.1f} CPU cores were busy: this work belongs on"
        f" the CPU partition {partition}, which bills core-hours, so no saving in GPU-hours is stated"
    )
    longest_s = advice.evidence.get("longest_run_s")
    if longest_s is None:
        return said
    return f"{said}; the time limit is raised: the longest of your last comparable runs took {duration(longest_s)}"


def _smaller_gpu(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"The GPU was busy {percent(float(seen['avg_util_percent']))} of the time and filled at most"
        f" {gigabytes(float(seen['peak_memory_gb']))} of memory: a part of a GPU with"
        f" {gigabytes(float(seen['smaller_memory_gb']))} and {share(float(seen['smaller_share_fraction']))} of the"
        f" compute is enough, in {advice.wanted.partition}"
    )


def _peak_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"{_used_at_most(seen)} of the {gigabytes(float(seen['memory_gb']))} of host memory that it requested, which"
        " alone raises its bill;"
        f" {_spare(advice)} more than the peak is enough"
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
        f"{_used_at_most(seen)} of {gigabytes(float(seen['memory_gb']))} of host memory"
        f" and kept {float(seen['busy_cores']):.1f} of {counted(int(seen['cores']), 'core')} busy; together"
        " they raise its bill"
    )


def _used_at_most(seen: Mapping[str, float | int]) -> str:
    """The peak from which the memory follows: of this run, or of the user's own ones where they needed more."""
    peak = gigabytes(float(seen["peak_memory_gb"]))
    if "own_runs_peak_gb" not in seen:
        return f"The job used at most {peak}"
    return f"Your comparable runs used up to {gigabytes(float(seen['own_runs_peak_gb']))}, and the job used {peak}"


def _out_of_memory(advice: Recommendation) -> str:
    seen = advice.evidence
    return (
        f"Host memory ran out at {gigabytes(float(seen['memory_gb']))}; up to {gigabytes(float(seen['share_gb']))} come"
        " with the GPUs at no extra cost"
    )


def _more_memory(advice: Recommendation) -> str:
    held_gb, wanted_gb = float(advice.evidence["memory_gb"]), float(advice.evidence["recommended_memory_gb"])
    said = f"Host memory ran out at {gigabytes(held_gb)}; try {gigabytes(wanted_gb)} first"
    if not advice.evidence.get("raises_bill", 1):
        return f"{said}, which does not raise the bill"
    return f"{said}, which raises the bill: memory beyond the share of the GPUs is billed"


def _more_time(advice: Recommendation) -> str:
    had_s, wanted_s = float(advice.evidence["walltime_requested_s"]), float(advice.evidence["recommended_walltime_s"])
    return (
        f"The GPUs worked until the limit of {duration(had_s)}; how long the work takes is not known, so"
        f" try {duration(wanted_s)} first"
    )


def _own_longer_runs(advice: Recommendation) -> str:
    seen = advice.evidence
    said = (
        f"The longest of your last comparable runs took {duration(float(seen['longest_run_s']))}; the limit of"
        f" {duration(float(seen['walltime_requested_s']))} was too short"
    )
    return f"{said}; {slower}" if (slower := _slower(advice)) else said


def _run_time(advice: Recommendation) -> str:
    return f"The job ran for {duration(float(advice.evidence['walltime_used_s']))}; {_limit(advice)}"


def _own_runs(advice: Recommendation) -> str:
    longest = duration(float(advice.evidence["longest_run_s"]))
    return f"The longest of your last comparable runs took {longest}; {_limit(advice)}"


def _limit(advice: Recommendation) -> str:
    """The suggested time limit, which already allows for a longer run on fewer GPUs."""
    limit = duration(float(advice.evidence["recommended_walltime_s"]))
    slower = _slower(advice)
    if slower:
        return f"{slower}, for which a limit of {limit} leaves at least {_spare(advice)} to spare"
    return f"a limit of {limit} leaves at least {_spare(advice)} to spare and often lets the job start sooner"


def _slower(advice: Recommendation) -> str:
    """How long a run on fewer GPUs may take, where that is longer than the runs that were measured."""
    allowed_s, gpus = advice.evidence.get("allowed_run_s"), advice.evidence.get("recommended_gpus")
    return "" if allowed_s is None or not gpus else f"on {counted(gpus, 'GPU')} a run may take {duration(allowed_s)}"


def _spare(advice: Recommendation) -> str:
    return share(float(advice.evidence.get("headroom_factor", LIMITS.headroom_factor)) - 1)


REASONS: dict[str, Callable[[Recommendation], str]] = {
    "active_gpus": _active_gpus,
    "gpu_memory": _gpu_memory,
    "no_gpu_use": _no_gpu_use,
    "cpu_work": _cpu_work,
    "smaller_gpu": _smaller_gpu,
    "overscaling": _overscaling,
    "own_scaling": _own_scaling,
    "peak_memory": _peak_memory,
    "busy_cores": _busy_cores,
    "host_share": _host_share,
    "out_of_memory": _out_of_memory,
    "more_memory": _more_memory,
    "more_time": _more_time,
    "own_longer_runs": _own_longer_runs,
    "run_time": _run_time,
    "own_runs": _own_runs,
}


ADVICE_TITLES = {
    "active_gpus": "Request only the GPUs you use",
    "gpu_memory": "Request only the GPUs whose memory you fill",
    "no_gpu_use": "Try one GPU before you request more",
    "cpu_work": "Move work without GPUs to a CPU partition",
    "smaller_gpu": "Request a part of a GPU",
    "overscaling": "Request fewer GPUs and keep them busier",
    "own_scaling": "Request the number of GPUs that still scales",
    "peak_memory": "Request only the host memory you use",
    "busy_cores": "Request only the CPU cores you use",
    "host_share": "Request only the cores and host memory you use",
    "out_of_memory": "Request the host memory that comes with your GPUs",
    "more_memory": "Request more host memory",
    "more_time": "Request a longer time limit",
    "own_longer_runs": "Request a time limit that fits your earlier runs",
    "run_time": "Request a time limit near the run time",
    "own_runs": "Request a time limit near the run time of your earlier runs",
}
