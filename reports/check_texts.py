"""What is said of a request before it is submitted: its cost, what earlier runs show, risks, places, waits."""

from collections.abc import Callable, Mapping, Sequence

from analysis.check.asked import Asked, Fit
from analysis.check.elsewhere import Offer
from analysis.check.risks import Risk
from analysis.facts import JobFacts
from analysis.queue_waits.effects import Effect
from analysis.queue_waits.ranges import WaitEstimate
from analysis.rightsizing import Recommendation
from analysis.thresholds import LIMITS
from jobs.hardware import clusters
from jobs.sbatch import Shape
from reports.advice import reason
from reports.numbers import exactly, share, to_the_minute, unbroken
from wire.numbers import counted, duration, gigabytes, hours

OF_ALL_RUNS = frozenset({"own_runs", "own_longer_runs"})
"""Advice whose reason names the longest of several runs."""

WHY_NONE = {
    "refused": "Slurm refuses this request, so nothing is suggested for it.",
    "no_name": "Nothing is known of earlier runs: the name of the job does not name a work.",
    "no_runs": "Nothing is suggested: no earlier run of this work is known that ended within a year and counts.",
    "no_partition": "Nothing is suggested: what Slurm would give for this request is not known without a partition that"
    " the site describes.",
    "other_size": "Nothing is suggested: no earlier run of this work had this number of GPUs and nodes.",
    "only_failed": "Nothing is suggested: no run of this size has completed, and the last one does not show what to"
    " change.",
    "fits": "Nothing is suggested: the request fits what earlier runs used.",
    "few_runs": "No time limit is suggested: fewer than 3 runs of this size have completed.",
    "tried": "Nothing is suggested: runs on the number of GPUs that the last report suggests failed, or were billed no"
    " less.",
    "not_kept": "Nothing is suggested: the measurements of the earlier run are no longer stored.",
    "few_fit": "Nothing is suggested: fewer than 3 runs of this size have completed, too few to show that the request"
    " fits.",
    "as_suggested": "The request matches the suggestion from earlier runs on more GPUs. No run of this size is known"
    " yet.",
    "needs_more": "Nothing is suggested: with what earlier runs needed, another request would cost no less, or would"
    " not fit into the partition.",
    "does_not_fit": "Nothing is suggested: the request does not fit the nodes of its partition.",
    "no_gpus": "Nothing is suggested: the partition has no GPUs.",
}
"""Why nothing is suggested (`analysis.check.earlier`)."""


def why_none_text(why: str, request: Asked, account: str, other_projects: Sequence[str]) -> str:
    """Why nothing is suggested, with the names that are the reason.

    >>> why_none_text("other_project", None, "project_2", ["project_1"])
    'Nothing is suggested: no run of this name is known in project_2. Runs of this name exist in project_1.'
    """
    if why == "other_project":
        exist = " and ".join(other_projects)
        return f"Nothing is suggested: no run of this name is known in {account}. Runs of this name exist in {exist}."
    if why == "unknown_partition":
        name = request.options["--partition"].partition(",")[0]
        listed = ", ".join(clusters()[request.cluster].partitions)
        return (
            f"Nothing is suggested: partition {name} is not one of this site's GPU partitions that the portal knows:"
            f" {listed}."
        )
    return WHY_NONE[why]


def accepted_text(obstacle: Fit, wanted: Shape) -> str:
    """What a partition refuses of the request, and what the suggestion does about it."""
    said = why_not_fit(obstacle).rstrip(".")
    if wanted.partition != obstacle.partition.name:
        return f"{said}; {wanted.partition} accepts the suggested request."
    if obstacle.why_not == "walltime" and wanted.walltime_s == obstacle.partition.walltime_max_s:
        return f"{said}: the time limit is cut to that."
    return f"{said}."


def earlier_text(
    runs: int, gpus: tuple[float | None, float], memory_gb: float | None, run_s: float | None, limit_s: float | None
) -> str:
    """The typical earlier run in one line; `gpus` are those used, None where not measured, and those requested.

    >>> earlier_text(5, (2.0, 8.0), 61.0, 11520.0, 86400.0).replace(chr(160), " ")
    '5 runs: 2 of 8 GPUs, 61.0 GB, 3 h 12 min of 1 d 00 h'
    >>> earlier_text(3, (0.0, 8.0), None, None, None).replace(chr(160), " ")
    '3 runs: none of 8 GPUs over 30 %'
    >>> earlier_text(0, (None, 0), None, None, None)
    'None of the earlier runs completed'
    """
    if not runs:
        return "None of the earlier runs completed"
    used, had = gpus
    parts = [counted(had, "GPU") if used is None else f"{used:g} of {counted(had, 'GPU')}"]
    if used == 0:
        # Not that nothing ran: all of them may have been busy, each a little.
        parts = [f"none of {counted(had, 'GPU')} over {LIMITS.active_gpu_percent:g}\u00a0%"]
    if memory_gb is not None:
        parts.append(gigabytes(memory_gb))
    if run_s is not None:
        parts.append(duration(run_s) + ("" if limit_s is None else f" of {duration(limit_s)}"))
    return unbroken(f"{counted(runs, 'run')}: {', '.join(parts)}")


def cost_text(
    unit: str,
    at_limit: tuple[float | None, float | None],
    typical: tuple[float | None, float | None],
    tasks: int = 1,
    needs_s: float | None = None,
) -> str:
    """What a request costs: (hours, seconds) at its limit, and typically; without seconds where lengths differ.

    `needs_s` is how long runs typically take, whatever the limit is.

    >>> cost_text("GPU-hour", (96.0, 86400.0), (12.8, 11520.0)).replace(chr(160), " ")
    '96.0 GPU-hours at its time limit of 1 d 00 h; typically 12.8 (3 h 12 min)'
    >>> cost_text("GPU-hour", (16.0, 14400.0), (16.0, 14400.0), needs_s=43380.0).replace(chr(160), " ")
    '16.0 GPU-hours at its time limit of 4 h 00 min; runs typically take 12 h 03 min, so it ends there unfinished'
    """
    parts = []
    if at_limit[0] is not None:
        of_limit = "" if at_limit[1] is None else f" of {exactly(at_limit[1])}"
        parts.append(f"{hours(at_limit[0])} {unit}s at its time limit{of_limit}")
    else:
        parts.append("The cost at its time limit is not known: the request sets no limit")
    is_ended = needs_s is not None and at_limit[1] is not None and needs_s > at_limit[1]
    if is_ended:
        parts.append(f"runs typically take {duration(needs_s)}, so it ends there unfinished")
    elif typical[0] is not None:
        named = "" if at_limit[0] is not None else f" {unit}s"
        in_time = "" if typical[1] is None else f" ({duration(typical[1])})"
        parts.append(f"typically {hours(typical[0])}{named}{in_time}")
    of_tasks = f", for all {tasks:,} tasks" if tasks > 1 else ""
    return unbroken("; ".join(parts) + of_tasks)


def suggestion_text(
    runs: int, job_id: int | None, saves: float | None, unit: str, gpus: int | None = None, completed: int | None = None
) -> str:
    """What a suggestion rests on, and what it saves where that is known; `gpus` of a run of another size.

    Without a job it is only what the partition needs to accept the request.

    >>> suggestion_text(5, 17, 9.0, "GPU-hour").replace(chr(160), " ")
    'From 5 runs of this size, like job 17: 9.00 GPU-hours less for a run of typical length.'
    >>> suggestion_text(6, 17, None, "GPU-hour", completed=4)
    'From 6 runs of this size (4 completed), like job 17.'
    """
    if job_id is None:
        return "The request as Slurm accepts it; it rests on no earlier run."
    if gpus is not None:
        said = f"From runs on {counted(gpus, 'GPU')}, like job {job_id}"
        return unbroken(f"{said}: how long runs take as requested is not known, so no saving is stated.")
    of_them = "" if completed in (None, runs) else f" ({completed:,} completed)"
    said = f"From {counted(runs, 'run')} of this size{of_them}, like job {job_id}"
    return unbroken(
        f"{said}." if saves is None else f"{said}: {hours(saves)} {unit}s less for a run of typical length."
    )


def work_gpus_text(gpus: int, job_id: int) -> str:
    """What the request of the whole work is, beside the answer for one size.

    >>> work_gpus_text(2, 17).replace(chr(160), " ")
    'The page of this work suggests 2 GPUs (from job 17), of all sizes that completed.'
    """
    suggested = counted(gpus, "GPU") if gpus else "no GPU"
    return unbroken(f"The page of this work suggests {suggested} (from job {job_id}), of all sizes that completed.")


def reason_text(advice: Recommendation, facts: JobFacts) -> str:
    """The reason of a report, with the job that it is about; what all earlier runs show is about no single one."""
    said = reason(advice, facts)
    return said if advice.basis in OF_ALL_RUNS else f"Job {facts.record.job_id}: {said}"


def risk_text(risk: Risk) -> str:
    """One risk with its counts.

    >>> risk_text(Risk("timeout", 3, 5, 14400.0, 18000.0)).replace(chr(160), " ")
    '3 of the last 5 runs of this size took longer than 4 h 00 min (up to 5 h 00 min) or were ended by such a limit.'
    """
    size = "other sizes" if risk.is_other_size else "this size"
    texts = _RISKS_OF_OTHER_SIZES if risk.is_other_size else _RISKS
    return unbroken(f"{risk.runs:,} of the last {counted(risk.of, 'run')} of {size} {texts[risk.code](risk)}.")


def raised_text(risk: Risk, wanted: Shape) -> str:
    """Why the suggestion has more time or memory than the rules of a report give.

    >>> long = Risk("timeout", 1, 3, 14400.0, 36960.0)
    >>> raised_text(long, Shape(1, 8, walltime_s=45000.0)).replace(chr(160), " ")
    'The time limit is 12 h 30 min: 1 of the last 3 runs of this size took longer than 4 h 00 min (up to 10 h 16 min) \
or were ended by such a limit.'
    """
    if risk.code == "timeout":
        return f"The time limit is {duration(wanted.walltime_s)}: {risk_text(risk)}"
    return f"The host memory is {gigabytes(wanted.memory_gb)}: {risk_text(risk)}"


def _timeout(risk: Risk) -> str:
    limit = duration(risk.requested)
    if risk.worst is None:
        return f"{'was' if risk.runs == 1 else 'were'} ended by a time limit of {limit} or more"
    return f"took longer than {limit} (up to {duration(risk.worst)}) or were ended by such a limit"


def _memory(risk: Risk) -> str:
    requested = gigabytes(risk.requested)
    if risk.worst is None:
        return f"ran out of host memory with {requested} or more"
    return f"needed more than {requested} of host memory (up to {gigabytes(risk.worst)})"


def _other_timeout(risk: Risk) -> str:
    limit = duration(risk.requested)
    if risk.worst is None:
        return (
            f"reached a time limit; on the requested GPUs they would need {limit} or more even without scaling losses"
        )
    took = f"on the requested GPUs they would take up to {duration(risk.worst)} even without scaling losses"
    return f"took too long for a limit of {limit}: {took}"


def _other_memory(risk: Risk) -> str:
    requested = gigabytes(risk.requested)
    if risk.is_in_all:
        return _memory(risk)
    if risk.worst is None:
        return f"ran out of host memory with at least the {requested} for each GPU that are requested now"
    return f"needed up to {gigabytes(risk.worst)} of host memory for each GPU in use; requested are {requested}"


_RISKS: Mapping[str, Callable[[Risk], str]] = {
    "timeout": _timeout,
    "out_of_memory": _memory,
    "gpu_out_of_memory": lambda risk: "probably ran out of GPU memory",
    "failed": lambda risk: "failed by themselves",
}
_RISKS_OF_OTHER_SIZES: Mapping[str, Callable[[Risk], str]] = {
    **_RISKS,
    "timeout": _other_timeout,
    "out_of_memory": _other_memory,
    "gpu_out_of_memory": lambda risk: "probably ran out of GPU memory, on as many GPUs as requested now or more",
}


def why_not_fit(fit: Fit) -> str:
    """Why a partition cannot run a request; empty where it can."""
    partition, node = fit.partition, fit.partition.node
    match fit.why_not:
        case "nodes":
            said = f"{partition.name} allows at most {counted(partition.nodes_max or 0, 'node')} for a job"
        case "walltime":
            said = f"{partition.name} allows at most {duration(partition.walltime_max_s)}"
        case "gpu_type":
            said = f"The GPUs of {partition.name} are of the type {node.gres_type}"
        case "node_size":
            said = (
                f"A node of {partition.name} has {counted(node.gpus, 'GPU')}, {counted(node.cores, 'core')} and"
                f" {gigabytes(node.host_memory_gb)}: the requested tasks, cores, GPUs or memory do not fit"
            )
        case _:
            return ""
    return unbroken(f"{said}.")


def refused_text(request: Asked, fit: Fit | None, everywhere: Sequence[Fit] = ()) -> str | None:
    """What Slurm would refuse; None where nothing shows that it would.

    `everywhere` is the request in all partitions, which counts where it names none.
    """
    if request.refused:
        return request.refused
    if fit is None and everywhere and all(each.why_not in ("node_size", "gpu_type") for each in everywhere):
        names = ", ".join(each.partition.name for each in everywhere)
        return f"No partition that the site describes ({names}) has nodes for this request."
    return (why_not_fit(fit) or None) if fit is not None else None


def wait_text(wait: WaitEstimate) -> str:
    """The range of a wait, with what it rests on.

    A wait is never turned into a clock time.
    """
    low, starts = to_the_minute(wait.low_s), counted(wait.starts, "comparable start")
    return unbroken(
        f"{low} to {to_the_minute(wait.high_s)}, typically {to_the_minute(wait.typical_s)} ({starts}; such ranges held"
        f" for {share(wait.coverage)} of {wait.coverage_submissions:,} earlier submissions)"
    )


def sooner_text(effect: Effect, what: str) -> str:
    """By how much jobs like the suggested request started sooner."""
    return unbroken(
        f"Jobs like the requested one waited {effect.low_factor:.1f} to {effect.high_factor:.1f} times as long here as"
        f" jobs with {what}, typically {effect.typical_factor:.1f} times ({effect.starts:,} against"
        f" {effect.smaller_starts:,} starts)."
    )


def allocation_text(project: str, takes: float, left: float, unit: str) -> str:
    """What a request takes of what is left of an allocation.

    >>> allocation_text("project_465000001", 96.0, 1200.0, "GPU-hour").replace(chr(160), " ")
    'At its limit it takes 96.0 of the 1,200.0 GPU-hours that project_465000001 has left (8 %).'
    """
    if left <= 0:
        return unbroken(f"{project} has no {unit}s left, as its directory states.")
    part = f"At its limit it takes {hours(takes)} of the {hours(left)} {unit}s that {project} has left"
    return unbroken(f"{part} ({share(takes / left)}).")


def allocation_risk_text(project: str, takes: float, left: float, unit: str) -> str:
    """A job that takes more than is left.

    >>> allocation_risk_text("project_465000001", 96.0, 12.5, "GPU-hour").replace(chr(160), " ")
    'At its limit the job takes 96.0 GPU-hours, and project_465000001 has 12.5 left.'
    """
    had = f"{hours(left)} left" if left > 0 else f"no {unit}s left, as its directory states"
    return unbroken(f"At its limit the job takes {hours(takes)} {unit}s, and {project} has {had}.")


def why_not_there(offer: Offer) -> str:
    """Why a run does not fit another platform; empty where it does."""
    there = offer.platform
    match offer.why_not:
        case "nodes":
            said = f"{there.name} allows at most {counted(there.nodes_max or 0, 'node')}"
        case "walltime":
            said = f"{there.name} allows at most {duration(there.walltime_max_s)}"
        case "gpu_memory":
            said = f"Earlier runs filled more than the {gigabytes(there.gpu_memory_gb)} of a GPU of {there.name}"
        case "host_memory":
            said = f"A node of {there.name} has {gigabytes(there.host_memory_gb)} of host memory"
        case "cores":
            said = f"A node of {there.name} has {counted(there.cores_per_node or 0, 'core')}"
        case _:
            return ""
    return unbroken(f"{said}.")


def offer_text(offer: Offer, at: str) -> str:
    """The cost in another place, and what is known of the run time there; `at` is "limit" or "typical"."""
    there = offer.platform
    length = "at the time limit" if at == "limit" else "for the typical run time"
    if offer.cost is None:
        return unbroken(f"{counted(offer.gpus, 'GPU')} of {there.name}: the cost is not known")
    said = f"{hours(offer.cost)} {there.unit} {length} on {counted(offer.gpus, 'GPU')}"
    if offer.is_measured:
        return unbroken(
            f"{said}, with the measured run time of {duration(offer.run_s)} ({there.run_time_factor_source})"
        )
    return unbroken(f"{said} if runs take as long there as here, which is not known: its GPUs are {there.gpu_name}")


def choice_text(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Whether a right-sized request makes another place the cheapest, by unit of the cost.

    >>> choice_text({"EUR": "cloud"}, {"EUR": "small-g"})
    'With the suggested request small-g costs least instead of cloud (in EUR).'
    >>> choice_text({}, {"GPU-hour": "small-g"})
    'With the suggested request small-g costs least (in GPU-hours).'
    """
    said = []
    for unit in dict.fromkeys((*before, *after)):
        first, then = before.get(unit), after.get(unit)
        named = f"{unit}s" if unit == "GPU-hour" else unit
        if first == then:
            said.append(f"{then} costs least (in {named}), as it is and with the suggested request.")
        elif then is None:
            said.append(f"As it is, {first} costs least (in {named}).")
        elif first is None:
            said.append(f"With the suggested request {then} costs least (in {named}).")
        else:
            said.append(f"With the suggested request {then} costs least instead of {first} (in {named}).")
    return " ".join(said)
