"""A suggestion with the time and the memory that earlier runs show to be needed: never what a risk says cannot work."""

from dataclasses import replace

from analysis.check.asked import Asked, asked
from analysis.check.earlier import FITS, NEEDS_MORE, Earlier, stands_for
from analysis.check.risks import Risk, risks, size_risks
from analysis.check.suggestion import Suggestion
from analysis.next_request import bill
from analysis.rightsizing import RecommendationKind
from analysis.savings import GPU_HOURS_MIN
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import READING_ORDER, OptionChange, Shape, apply, changes_to, parse_block, request_block, rounded

TIME, MEMORY = "timeout", "out_of_memory"


def enough(request: Asked, found: Earlier, given: Suggestion | None, why: str) -> tuple[Suggestion | None, str]:
    """The suggestion with enough time and memory for the runs that its risks are of; None where no request has it.

    Without a suggestion one is made where completed runs of the same size needed more memory than is requested.
    """
    shape = request.shape
    if given is None and why == FITS and shape is not None:
        like, _ = stands_for(found, request)
        given = Suggestion((), (), shape, (), None, like, len(found.same_size), None, None)
    if given is None or shape is None or given.like is None:
        return given, why
    short = _larger(_short(request, found, shape), _short(request, found, given.wanted))
    wanted = _with_enough(request, shape, given.wanted, short)
    if wanted is None:
        return None, NEEDS_MORE
    raised = given if wanted == given.wanted else _raised(request, shape, given, wanted, short)
    if not raised.changes and not raised.block:
        return None, why
    if given.saves is not None and raised.saves is None:
        # What is needed costs as much as the request: there is nothing to gain.
        return None, NEEDS_MORE
    return (None, NEEDS_MORE) if _is_at_a_failing_size(request, found, raised) else (raised, "")


def _short(request: Asked, found: Earlier, held: Shape) -> dict[str, Risk]:
    """The risks of too little time and memory if the request had those of `held`."""
    shape = request.shape
    if shape is None:
        return {}
    tried = replace(
        shape,
        walltime_s=held.walltime_s or shape.walltime_s,
        memory_gb=shape.memory_gb if held.memory_gb is None else held.memory_gb,
    )
    every = risks(found, replace(request, shape=tried))
    return {risk.code: risk for risk in every if risk.code in (TIME, MEMORY) and risk.needed is not None}


def _larger(one: dict[str, Risk], other: dict[str, Risk]) -> dict[str, Risk]:
    """Of each code the risk that needs more."""
    pairs = ((code, [each[code] for each in (one, other) if code in each]) for code in (TIME, MEMORY))
    return {code: max(found, key=lambda risk: risk.needed or 0.0) for code, found in pairs if found}


def _with_enough(request: Asked, shape: Shape, wanted: Shape, short: dict[str, Risk]) -> Shape | None:
    """The suggested shape with what the risks need, within what its partition has; None where that is too little."""
    target = partition_of(request.cluster, wanted.partition)
    time, memory = short.get(TIME), short.get(MEMORY)
    limit_s = wanted.walltime_s or shape.walltime_s
    if time is not None and limit_s is not None:
        most_s = (target.walltime_max_s if target else None) or float("inf")
        limit_s = max(limit_s, min(time.needed or 0.0, most_s))
        if limit_s < (time.least or 0.0):
            return None
        wanted = replace(wanted, walltime_s=limit_s)
    memory_gb = wanted.memory_gb
    if memory is not None and memory_gb is not None:
        most_gb = target.node.host_memory_gb * wanted.nodes if target else float("inf")
        memory_gb = max(memory_gb, min(memory.needed or 0.0, most_gb))
        if memory_gb < (memory.least or 0.0):
            return None
        if memory_gb > (wanted.memory_gb or 0.0):
            wanted = rounded(replace(wanted, memory_gb=memory_gb))
    return wanted


def _raised(request: Asked, shape: Shape, given: Suggestion, wanted: Shape, short: dict[str, Risk]) -> Suggestion:
    """The suggestion for another shape: its lines, what it saves then, and the reasons that still hold."""
    changes: tuple[OptionChange, ...] = ()
    block = given.block
    if given.block:
        fresh = parse_block(request_block(wanted))
        options = parse_block(given.block) | {name: fresh[name] for name in ("--mem", "--time") if name in fresh}
        block = tuple(f"{name}={options[name]}" if options[name] else name for name in READING_ORDER if name in options)
    else:
        target, threads = partition_of(request.cluster, wanted.partition), threads_per_core(request.cluster)
        found = changes_to(request.options, shape, wanted, request.partition, target, threads)
        changes, block = (found, ()) if found is not None else ((), request_block(wanted))
    is_longer = (wanted.walltime_s or 0.0) > (given.wanted.walltime_s or 0.0)
    is_larger = (wanted.memory_gb or 0.0) > (given.wanted.memory_gb or 0.0)
    dropped = {RecommendationKind.WALLTIME: is_longer, RecommendationKind.HOST_MEMORY: is_larger}
    return replace(
        given,
        changes=changes,
        block=block,
        wanted=wanted,
        advice=tuple(each for each in given.advice if not dropped.get(each.kind, False)),
        saves=_saves(request, given, wanted),
        raised=tuple(risk for code, risk in short.items() if (is_longer if code == TIME else is_larger)),
    )


def _saves(request: Asked, given: Suggestion, wanted: Shape) -> float | None:
    """GPU-hours that remain where the shape is billed for more than the one of the suggestion."""
    target = partition_of(request.cluster, wanted.partition)
    if given.saves is None or given.run_s is None:
        return given.saves
    before, after = bill(target, given.wanted, given.run_s), bill(target, wanted, given.run_s)
    if before is None or after is None:
        return given.saves
    saves = given.saves + before - after
    return saves if saves >= GPU_HOURS_MIN else None


def _is_at_a_failing_size(request: Asked, found: Earlier, given: Suggestion) -> bool:
    """Whether runs of the work fail at the suggested size by more than chance."""
    options = parse_block(given.block) if given.block else apply(request.options, given.changes)
    after = asked(request.cluster, options)
    splits = size_risks(found, replace(after, shape=after.shape or given.wanted))
    return any(split.size in ("gpus", "nodes") or not split.is_above for _, split in splits)
