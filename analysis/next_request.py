"""The next request as people read it: a diff of their own options where those explain the run, else all options."""

import math
from dataclasses import dataclass, replace

from analysis.facts import JobFacts
from analysis.thresholds import LIMITS, Limits
from jobs.billing import Allocation, gpu_hours
from jobs.hardware import Partition, partition_of, threads_per_core
from jobs.sbatch import (
    OptionChange,
    Shape,
    apply,
    changes_to,
    explains,
    request_block,
    rounded,
    shape_of,
    walltime_text,
)
from jobs.sbatch_values import gpu_options, gpu_type_of
from jobs.sbatch_values import walltime_s as limit_s


@dataclass(frozen=True)
class NextRequest:
    """`changes` are lines of the user's own request, or `block` is the whole request; `shape` is what either gives."""

    shape: Shape
    changes: tuple[OptionChange, ...]
    block: tuple[str, ...]


def requested_shape(facts: JobFacts) -> Shape:
    """The allocation of the run, as a request; the time limit as requested."""
    record, held = facts.record, facts.held
    return Shape(
        nodes=held.nodes,
        gpus=held.gpus,
        ntasks=record.ntasks,
        cores=held.cores or None,
        memory_gb=held.memory_gb or None,
        walltime_s=record.walltime_requested_s,
        partition=record.partition,
        is_exclusive=held.is_exclusive,
    )


def is_spelling_known(facts: JobFacts) -> bool:
    """Whether the recorded options explain the whole allocation of the run; without a GPU option none are known."""
    record = facts.record
    held, threads = requested_shape(facts), threads_per_core(record.cluster)
    return bool(gpu_options(record.request)) and explains(record.request, held, facts.partition, threads)


def next_request(
    facts: JobFacts, wanted: Shape, before: tuple[OptionChange, ...] = (), gpu_type: str = ""
) -> NextRequest | None:
    """How to write `wanted`; `before` are changes that another piece of advice shows already.

    None where the request is known and no change of its lines reaches it, or it asks for that already: the limit of a
    run may have been changed after it was submitted.
    """
    now, request = requested_shape(facts), facts.record.request
    if "--time" in request and wanted == replace(now, walltime_s=wanted.walltime_s) and wanted.walltime_s:
        if limit_s(request["--time"]) == wanted.walltime_s:
            return None
        change = OptionChange("--time", request["--time"], walltime_text(wanted.walltime_s))
        return NextRequest(wanted, (change,), ())
    if wanted.walltime_s and wanted == replace(now, walltime_s=wanted.walltime_s):
        return NextRequest(wanted, (), (f"--time={walltime_text(wanted.walltime_s)}",))
    changed = _changed(facts, now, _written(now, wanted)) if wanted.gpus and not gpu_type else None
    if changed is not None:
        changes, shape = changed
        return NextRequest(shape, tuple(change for change in changes if change not in before), ())
    shape = rounded(wanted)
    return NextRequest(shape, (), request_block(shape, gpu_type or gpu_type_of(request)))


def _written(now: Shape, wanted: Shape) -> Shape:
    """`wanted` in counts that options can express: whole cores a task, whole GB a node; what stays is as it was."""
    whole = rounded(wanted)
    return replace(
        wanted,
        cores=wanted.cores if wanted.cores == now.cores else whole.cores,
        memory_gb=wanted.memory_gb if wanted.memory_gb == now.memory_gb else whole.memory_gb,
    )


def _changed(facts: JobFacts, now: Shape, wanted: Shape) -> tuple[tuple[OptionChange, ...], Shape] | None:
    """The lines to change and what Slurm then gives; None where the spelling is not known or does not reach it."""
    if not is_spelling_known(facts):
        return None
    record, target = facts.record, partition_of(facts.record.cluster, wanted.partition)
    threads = threads_per_core(record.cluster)
    changes = changes_to(record.request, now, wanted, facts.partition, target, threads)
    if changes is None:
        return None
    # Another size gets the nodes that it needs, not those of this run.
    is_same_size = replace(wanted, walltime_s=now.walltime_s) == now
    still = now if is_same_size else replace(now, nodes=0)
    shape = shape_of(apply(record.request, changes), target, still, threads)
    return None if shape is None else (changes, shape)


def bill(partition: Partition | None, shape: Shape, run_s: float) -> float | None:
    """GPU-hours that `shape` is billed for `run_s` seconds; None without a price.

    >>> bill(partition_of("lumi", "small-g"), Shape(nodes=1, gpus=2, cores=14, memory_gb=120.0), 7200.0)
    2.0
    """
    held = Allocation(
        nodes=shape.nodes,
        gpus=shape.gpus,
        cores=shape.cores or 0,
        memory_gb=shape.memory_gb or 0.0,
        is_exclusive=shape.is_exclusive,
    )
    return gpu_hours(partition, held, run_s)


def is_cheaper(facts: JobFacts, wanted: Shape) -> bool:
    """Whether another partition bills less for `wanted`, in the same time; where a price is not known it may."""
    later = bill(partition_of(facts.record.cluster, wanted.partition), wanted, facts.elapsed_s)
    return later is None or facts.gpu_hours is None or later < facts.gpu_hours


def admitted(facts: JobFacts, wanted: Shape, limits: Limits = LIMITS) -> Shape | None:
    """`wanted` within the bounds of another partition; None where that does not allow such a run."""
    target = partition_of(facts.record.cluster, wanted.partition)
    if target is None or wanted.partition == facts.record.partition:
        return wanted
    if target.nodes_max and wanted.nodes > target.nodes_max:
        return None
    longest_s = target.walltime_max_s or math.inf
    if limits.headroom_factor * facts.elapsed_s > longest_s:
        return None
    return replace(wanted, walltime_s=min(wanted.walltime_s, longest_s)) if wanted.walltime_s else wanted
