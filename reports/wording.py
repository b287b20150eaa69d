"""The headline, the verdict and the titles of a report."""

from collections.abc import Iterator

from analysis.assess import Assessment
from analysis.efficiency import EfficiencyClass
from analysis.facts import JobFacts
from analysis.findings import STOPPED, Finding, FindingCode
from analysis.phases import Course
from reports.blocked import why_not_fewer
from reports.ending import COMPLETED, SHORT_JOB, predicate
from reports.numbers import share
from wire.numbers import counted, duration, percent

TITLES = {
    FindingCode.NO_GPU_USE: "The GPUs were not used",
    FindingCode.PARALLELISM_MISMATCH: "Only some of the GPUs were used",
    FindingCode.IDLE_GPUS: "Some GPUs stayed idle",
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: "Whole node billed, few GPUs used",
    FindingCode.LOAD_IMBALANCE: "Work was spread unevenly over the GPUs",
    FindingCode.OVERSCALING: "More GPUs than needed",
    FindingCode.CPU_BOTTLENECK: "The GPUs waited for the CPU",
    FindingCode.HOST_OVERSUBSCRIPTION: "More threads than CPU cores",
    FindingCode.IO_OR_SYNC_STALL: "The GPUs waited for files or for each other",
    FindingCode.LATE_START: "The GPUs started late",
    FindingCode.IDLE_TAIL: "The GPUs were idle at the end of the job",
    FindingCode.BUSY_BUT_WAITING: "GPUs showed as busy but drew little power",
    FindingCode.LOSS_IS_NAN: "The loss was not a number",
    FindingCode.STEP_PAUSES: "Pauses between steps lowered GPU use",
    FindingCode.KERNEL_TUNING: "GPU kernels could run faster",
    FindingCode.THROTTLED: "The hardware slowed the GPUs down",
    FindingCode.GPU_MEMORY_PRESSURE: "GPU memory was nearly full",
    FindingCode.GPU_OUT_OF_MEMORY: "GPU memory probably ran out",
    FindingCode.HOST_OUT_OF_MEMORY: "Host memory ran out",
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: "Unused cores or memory raised the bill",
    FindingCode.TIMEOUT: "The time limit ended the job",
    FindingCode.WALLTIME_OVERREQUEST: "Much more time was requested than used",
    FindingCode.LOW_USE_UNEXPLAINED: "We found no clear cause",
}
STOPPED_TITLE = "The GPUs were busy, but no step was made"
TITLES_OF_PATTERNS = {
    (FindingCode.PARALLELISM_MISMATCH, "in_turns"): "The GPUs took turns",
    (FindingCode.LOAD_IMBALANCE, "stopped_early"): "Some GPUs stopped early",
    (FindingCode.IO_OR_SYNC_STALL, "fallen"): "GPU use fell after the start",
    (FindingCode.IO_OR_SYNC_STALL, "again_and_again"): "The GPUs stopped repeatedly",
    (FindingCode.IO_OR_SYNC_STALL, "steady"): "The GPUs waited for files",
    (FindingCode.LOW_USE_UNEXPLAINED, "low_use"): "We found no clear cause of the low GPU use",
    (FindingCode.LOW_USE_UNEXPLAINED, "failed"): "The program failed, and we found no clear cause",
}

VERDICTS = {
    EfficiencyClass.EFFICIENT: "The GPUs were busy most of the time.",
    EfficiencyClass.ACCEPTABLE: "The GPUs were busy for much of the time but could be used more.",
    EfficiencyClass.INEFFICIENT: "The GPUs had no work most of the time.",
    EfficiencyClass.WASTED: "The GPUs were hardly used.",
    EfficiencyClass.UNKNOWN: "No GPU measurements of this job were received, so its GPU use cannot be judged.",
}
UNREADABLE = "The GPU measurements of this job were not readable, so its GPU use cannot be judged."
SPUN = "The GPUs showed as busy but probably waited for much of the time."

OWNER_ALONE = "The details of the job were reported by its owner alone and have not been confirmed by the site."

EXPLAIN_A_FAILURE = frozenset({FindingCode.GPU_OUT_OF_MEMORY, FindingCode.HOST_OUT_OF_MEMORY})

COURSES = {
    Course.STEADY: "steady",
    Course.BURSTS: "in bursts",
    Course.FALLING: "falling after the start",
    Course.UNEVEN: "uneven",
    Course.UNKNOWN: "too few measurements to describe",
}

ALL_WELL = "No change needed."
BUT = "See the points listed below."
NEXT = "Start with the causes below."
STEPS = "We found no clear cause; steps to try are below."
RELEASE = "Most of them could be released."
READ_OUTPUT = "They do not explain why it failed: read the last lines of its output."
TOO_EARLY = "It ended too early for a judgement of its GPU use."

UNCOUNTED = {
    "short": (f"The job ran for less than {SHORT_JOB}: it is shown here but not counted in any statistic."),
    "system_failure": "The system ended this job, not you: it is shown here but not counted in any statistic.",
}

NO_CAUSES = {
    "unmeasured": "Without GPU measurements, no cause can be named.",
    "system": "The system ended this job, so its GPU use does not show how your program performs.",
    "early": "The job was too short, or ended too early, to look for causes.",
    "well": "No problem was found.",
    "partial": "No problem was found in the part that was measured.",
    "ended": "No problem was found in what ran until then.",
    "below": "We found no clear cause.",
}
FITS = "The request fits the job; no change needed."
NO_ADVICE = {
    "unmeasured": "Without GPU measurements, no request can be suggested.",
    "system": "No change needed: the system ended this job.",
    "early": "The job was too short, or ended too early, to derive another request.",
    "well": FITS,
    "causes": "No better request can be derived; start with the findings.",
    "steps": "No better request can be derived; the findings list steps to try.",
    "": "No better request can be derived.",
}


def title(finding: Finding) -> str:
    """The title of one finding: that of its pattern where there is one, else that of its code."""
    if STOPPED in finding.evidence:
        return STOPPED_TITLE
    return TITLES_OF_PATTERNS.get((finding.code, str(finding.evidence.get("pattern", ""))), TITLES[finding.code])


def kind_title(code: str, shown: str) -> str:
    """What lists and filters call a finding whose page shows it by the title of its pattern; empty for others.

    >>> kind_title("io_or_sync_stall", "GPU use fell after the start")
    'The GPUs waited for files or for each other'
    """
    has_pattern = shown == STOPPED_TITLE or any(
        code == kind and shown == text for (kind, _), text in TITLES_OF_PATTERNS.items()
    )
    general = TITLES[FindingCode(code)] if has_pattern else ""
    return "" if general.lower() in shown.lower() else general


def headline(judged: Assessment) -> str:
    """The first sentence of a report: how the job ended, then how much of its GPUs it used."""
    seen, end = judged.efficiency, predicate(judged.facts.record)
    gpus, time = _measured_gpus(judged)
    use = percent(seen.avg_gpu_util)
    kept = f"Your job kept {gpus} busy {use} of {time}"
    if seen.avg_gpu_util is None:
        return f"Your job {end}; its GPU use was not measured" if end else "The GPU use of your job was not measured"
    if end and not judged.facts.is_use_judged:
        return f"Your job {end}"
    if not end and not judged.facts.is_use_judged:
        return f"Your job completed after {duration(judged.facts.elapsed_s)}"
    if not end and use == percent(0.0):
        return f"Your job did not use {gpus}{_while_measured(judged)}"
    was = "was" if min(seen.allocated_gpus, seen.measured_gpus) == 1 else "were"
    verb = "showed as" if _spun(judged) else was
    if end:
        return f"Your job {end}; {gpus} {verb} busy {use} of {time}"
    return f"Your job completed; {gpus} {verb} busy {use} of {time}" if verb != was else kept


def _measured_gpus(judged: Assessment) -> tuple[str, str]:
    """The GPUs and the time that a sentence speaks of: of a partial run only what was measured."""
    seen = judged.efficiency
    of_all = "its GPU" if seen.allocated_gpus == 1 else f"its {counted(seen.allocated_gpus, 'GPU')}"
    if not seen.is_partial:
        return of_all, "the time"
    if seen.measured_gpus < seen.allocated_gpus:
        return f"the {seen.measured_gpus:,} measured of {of_all}", "the time"
    return of_all, "the measured time"


def _while_measured(judged: Assessment) -> str:
    """The restriction to the measured time, for a run whose GPUs were all measured for a part of it."""
    seen = judged.efficiency
    if not seen.is_partial or seen.measured_gpus < seen.allocated_gpus:
        return ""
    return f" while {'it was' if seen.allocated_gpus == 1 else 'they were'} measured"


def measured_nodes(facts: JobFacts) -> int:
    """On how many nodes of the run a GPU was measured."""
    return len(set(facts.gpus.node_index.tolist()))


def verdict(judged: Assessment) -> str:
    """The class in words: first what was not measured, last why a run is not counted."""
    return " ".join(_verdict(judged))


def _verdict(judged: Assessment) -> Iterator[str]:
    seen = judged.efficiency
    nodes, on = judged.facts.held.nodes, measured_nodes(judged.facts)
    if seen.is_partial:
        where = f", on {on:,} of {nodes:,} nodes" if on < nodes else ""
        yield (
            f"Partial: only {share(seen.coverage_fraction)} of the GPU time was measured{where}. Everything below is"
            " less certain, and unused GPU-hours are those of the measured part."
        )
    elif 0 < on < nodes:
        yield f"Measured on {on:,} of {nodes:,} nodes."
    if seen.avg_gpu_util is None:
        yield UNREADABLE if judged.facts.unread_gpus else VERDICTS[EfficiencyClass.UNKNOWN]
    elif judged.facts.is_use_judged:
        yield from _of_use(judged)
    elif not seen.uncounted_reason:
        yield TOO_EARLY
    yield from _next(judged)
    if seen.uncounted_reason:
        yield UNCOUNTED[seen.uncounted_reason]


def _of_use(judged: Assessment) -> Iterator[str]:
    """The class of a run whose use is judged."""
    sentence = SPUN if _spun(judged) else VERDICTS[judged.efficiency.efficiency_class]
    is_one = judged.facts.allocated_gpus == 1
    yield sentence.replace("The GPUs were", "The GPU was").replace("The GPUs", "The GPU") if is_one else sentence
    were_used = all(finding.code is not FindingCode.NO_GPU_USE for finding in judged.findings)
    is_wasted = judged.efficiency.efficiency_class is EfficiencyClass.WASTED
    if is_wasted and were_used and not is_one and _frees_most(judged):
        yield RELEASE


def _next(judged: Assessment) -> Iterator[str]:
    """Where to read next after the verdict."""
    codes = {finding.code for finding in judged.findings}
    if judged.facts.is_use_judged and _is_well(judged) and not _spun(judged):
        if codes or judged.recommendations:
            yield BUT
        elif not judged.efficiency.is_partial:
            yield ALL_WELL
    elif FindingCode.LOW_USE_UNEXPLAINED in codes:
        yield STEPS
    elif codes:
        yield NEXT
        if judged.facts.record.state == "FAILED" and not codes & EXPLAIN_A_FAILURE:
            yield READ_OUTPUT


def _is_well(judged: Assessment) -> bool:
    is_efficient = judged.efficiency.efficiency_class is EfficiencyClass.EFFICIENT
    return is_efficient and judged.facts.record.state == COMPLETED


def origin(own_nodes: int, nodes: int, *, is_told_by_owner: bool) -> str:
    """The source of the numbers and of the job's record where it is not the site; empty where it is.

    >>> origin(1, 2, is_told_by_owner=False)
    "The numbers of 1 of 2 nodes were measured by the owner's own run of the collector, not by the site."
    """
    which = "These numbers" if own_nodes == nodes else f"The numbers of {own_nodes:,} of {nodes:,} nodes"
    measured = f"{which} were measured by the owner's own run of the collector, not by the site." if own_nodes else ""
    return " ".join(filter(None, (measured, OWNER_ALONE if is_told_by_owner else "")))


def no_causes(judged: Assessment) -> str:
    """The text shown in place of findings; empty where there are any."""
    if judged.findings:
        return ""
    situation = _situation(judged)
    if situation:
        return NO_CAUSES[situation]
    if judged.efficiency.efficiency_class is not EfficiencyClass.EFFICIENT:
        return NO_CAUSES["below"]
    if judged.facts.record.state != COMPLETED:
        return NO_CAUSES["ended"]
    return NO_CAUSES["partial" if judged.efficiency.is_partial else "well"]


def no_advice(judged: Assessment) -> str:
    """The text shown in place of recommendations; empty where there are any.

    Only a completed, Efficient run without findings is reported to fit its request.
    """
    if judged.recommendations:
        return ""
    codes = {finding.code for finding in judged.findings}
    situation = _situation(judged)
    blocked = why_not_fewer(judged.facts, frozenset(codes))
    if blocked:
        return blocked
    if FindingCode.LOW_USE_UNEXPLAINED in codes:
        return NO_ADVICE["steps"]
    if codes:
        return NO_ADVICE["causes"]
    if situation:
        return NO_ADVICE[situation]
    return NO_ADVICE["well" if _is_well(judged) and not judged.efficiency.is_partial else ""]


def _situation(judged: Assessment) -> str:
    """Why the GPU use of a run cannot be judged: "system", "unmeasured", "early", or "" where it can."""
    if judged.facts.record.is_system_failure:
        return "system"
    if judged.efficiency.avg_gpu_util is None:
        return "unmeasured"
    return "" if judged.facts.is_use_judged else "early"


def _spun(judged: Assessment) -> bool:
    return any(finding.code is FindingCode.BUSY_BUT_WAITING for finding in judged.findings)


def _frees_most(judged: Assessment) -> bool:
    """Whether the advice releases more than half of the GPUs."""
    return any(
        advice.recommended_gpus is not None and advice.recommended_gpus * 2 < judged.facts.allocated_gpus
        for advice in judged.recommendations
    )
