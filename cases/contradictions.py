"""Statements that contradict each other in one report: findings, evidence, advice, savings and class are compared.

Works on codes and numbers, never on sentences, so it fits every library of runs. Codes are compared as text: a code
that this version of the rules does not know is never found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis.assess import Assessment
from analysis.efficiency import EfficiencyClass
from analysis.facts import JobFacts
from analysis.findings import Finding
from analysis.next_request import requested_shape
from analysis.rightsizing import Recommendation
from analysis.thresholds import LIMITS
from jobs.billing import Allocation, gpu_hours
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import Shape, apply, parse_block, shape_of

EARLY_END_S = 600.0
"""A run that was cancelled or failed this early allows no conclusion about its GPU use (domain definitions, section
3)."""
EARLY_END_STATES = frozenset({"CANCELLED", "FAILED"})
ENDED_BADLY = frozenset({"FAILED", "TIMEOUT", "OUT_OF_MEMORY"})
"""Ends that need a finding whatever the use: `low_use_unexplained` if nothing else explains them."""
SAVINGS_TOLERANCE_FRACTION = 0.01

# Codes about what GPUs did while they worked: none of them can apply to a run whose GPUs never worked.
OF_WORKING_GPUS = frozenset(
    "parallelism_mismatch idle_gpus load_imbalance overscaling cpu_bottleneck io_or_sync_stall late_start idle_tail"
    " busy_but_waiting kernel_tuning".split()
)
CAUSES_OF_LOW_USE = OF_WORKING_GPUS | {"no_gpu_use", "exclusive_node_underused", "host_oversubscription"}
OF_GPU_USE = CAUSES_OF_LOW_USE - {"host_oversubscription"} | {"low_use_unexplained"}
# Advice from other evidence than this run's own use of its GPUs.
BY_OTHER_RUNS = frozenset({"own_scaling", "own_runs"})
MEMORY_TOLERANCE_GB = 0.05
"""Slurm counts whole megabytes, sacct prints two decimals."""
SHAPE_FIELDS = ("nodes", "gpus", "ntasks", "cores", "memory_gb", "walltime_s", "partition", "is_exclusive")


def contradictions(judged: Assessment) -> list[str]:
    """One line for each pair of statements of this assessment that cannot both be right; empty if it is consistent."""
    return list(dict.fromkeys(line for check in CHECKS for line in check(judged)))


def request_after(judged: Assessment) -> Shape:
    """The request after following all advice, later pieces last; without advice the present one."""
    now = requested_shape(judged.facts)
    return replace(now, **{name: value for advice in judged.recommendations for name, value in _changed(advice, now)})


def codes(judged: Assessment) -> frozenset[str]:
    return frozenset(finding.code.value for finding in judged.findings)


def evidence(judged: Assessment, code: str) -> dict[str, Any]:
    """The numbers behind one finding; empty where it was not raised."""
    return next((dict(finding.evidence) for finding in judged.findings if finding.code.value == code), {})


def is_early_end(facts: JobFacts) -> bool:
    """Whether the run was too short, or ended too early by an error or a cancellation, to judge its GPU use."""
    ended_early = facts.record.state in EARLY_END_STATES and facts.elapsed_s < EARLY_END_S
    return facts.elapsed_s < LIMITS.short_job_s or ended_early


def ended_badly(facts: JobFacts) -> bool:
    return facts.record.state in ENDED_BADLY


def weak_findings(judged: Assessment, confidence_min: float = 0.2) -> list[str]:
    """Inferred findings that are stated with almost no confidence."""
    return [
        f"{finding.code.value} at {finding.confidence:.0%}"
        for finding in judged.findings
        if is_inferred(finding) and finding.confidence < confidence_min
    ]


def is_inferred(finding: Finding) -> bool:
    """Whether a finding states how often it is right: not if it was counted, nor if it names no cause."""
    names_a_cause = finding.code.value != "low_use_unexplained"
    return finding.confidence is not None and not finding.is_fact and names_a_cause


def _no_use_and_use(judged: Assessment) -> Iterator[str]:
    found = codes(judged)
    if "no_gpu_use" in found:
        yield from (f"no_gpu_use beside {other}" for other in sorted(found & OF_WORKING_GPUS))
        if judged.efficiency.effective_gpus:
            yield f"no_gpu_use beside {judged.efficiency.effective_gpus} GPUs in effective use"


def _pairs(judged: Assessment) -> Iterator[str]:
    found = codes(judged)
    if {"gpu_memory_pressure", "gpu_out_of_memory"} <= found:
        yield "gpu_memory_pressure beside gpu_out_of_memory"
    is_hint = evidence(judged, "cpu_bottleneck").get("pattern") == "one_core_per_rank"
    if {"overscaling", "cpu_bottleneck"} <= found and not is_hint:
        yield "overscaling beside cpu_bottleneck"
    if {"timeout", "walltime_overrequest"} <= found:
        yield "timeout beside walltime_overrequest"
    if "busy_but_waiting" in found and evidence(judged, "timeout").get("pattern") == "busy":
        yield "timeout calls the GPUs at work beside busy_but_waiting"
    edges_s = [evidence(judged, code).get("idle_s", 0.0) for code in ("late_start", "idle_tail")]
    if sum(edges_s) > judged.facts.elapsed_s > 0:
        yield f"late_start and idle_tail together last {sum(edges_s):.0f} s of {judged.facts.elapsed_s:.0f} s"


def _counts(judged: Assessment) -> Iterator[str]:
    """Counts in the evidence compared with the counts that were measured."""
    facts = judged.facts
    said = evidence(judged, "idle_gpus").get("idle_gpus", 0)
    idle = int(np.sum(facts.idle_fractions >= LIMITS.idle_gpu_fraction))
    if said > idle:
        yield f"idle_gpus counts {said} GPUs, measured idle are {idle}"
    if said and said >= facts.gpus.count:
        yield f"idle_gpus counts all {said} measured GPUs"
    mismatch = evidence(judged, "parallelism_mismatch")
    if mismatch and judged.efficiency.effective_gpus == judged.efficiency.measured_gpus:
        yield "parallelism_mismatch with all GPUs active"


def _waiting(judged: Assessment) -> Iterator[str]:
    """What a stall points to compared with how long the host waited for files."""
    seen = evidence(judged, "io_or_sync_stall")
    waits = [seen[name] for name in ("io_pressure_fraction", "iowait_fraction") if name in seen]
    has_waited = bool(waits) and max(waits) >= LIMITS.io_wait_fraction
    if has_waited and seen.get("points_to") == "synchronisation":
        yield f"a stall of ranks beside a host that waited for files {max(waits):.0%} of the time"
    if waits and not has_waited and seen.get("points_to") == "io":
        yield f"a stall for files beside a host that waited for them {max(waits):.0%} of the time"


def _shared_ranks(judged: Assessment) -> Iterator[str]:
    """Ranks that share GPUs compared with the ranks and the working GPUs of each node."""
    if evidence(judged, "parallelism_mismatch").get("pattern") != "ranks_share_gpus":
        return
    facts = judged.facts
    is_active = facts.gpus.avg_util > LIMITS.active_gpu_percent
    active = np.bincount(facts.gpus.node_index[is_active], minlength=len(facts.nodes))
    for node, gpus, ranks in zip(facts.nodes, active, facts.hosts.ranks, strict=True):
        if gpus and not ranks > gpus:
            yield f"ranks that share GPUs on {node}, where {ranks:.0f} ranks had {gpus} GPUs"


def _whole_nodes(judged: Assessment) -> Iterator[str]:
    if "exclusive_node_underused" in codes(judged) and not judged.facts.is_exclusive:
        yield "exclusive_node_underused of a job that shared its nodes"


def _class(judged: Assessment) -> Iterator[str]:
    found, name = codes(judged), judged.efficiency.efficiency_class
    if "low_use_unexplained" in found:
        yield from (f"low_use_unexplained beside {cause}" for cause in sorted(found & CAUSES_OF_LOW_USE))
        if name is EfficiencyClass.EFFICIENT and not ended_badly(judged.facts):
            yield "low_use_unexplained in class EFFICIENT"
    if name is EfficiencyClass.UNKNOWN:
        yield from (f"{code} without a measurement of the GPUs" for code in sorted(_of_gpu_use(judged)))


def _early_end(judged: Assessment) -> Iterator[str]:
    if not is_early_end(judged.facts):
        return
    ended = f"a run that ended {judged.facts.record.state} after {judged.facts.elapsed_s:.0f} s"
    yield from (f"{code} of {ended}" for code in sorted(_of_gpu_use(judged)))
    yield from (f"advice on GPUs ({advice.basis}) of {ended}" for advice in _on_gpus(judged))


def _gpu_count(judged: Assessment) -> Iterator[str]:
    """The advised number of GPUs compared with memory, use and the run's allocation."""
    facts = judged.facts
    for advice in _on_gpus(judged):
        gpus = advice.wanted.gpus
        if gpus > facts.allocated_gpus:
            yield f"advice for {gpus} GPUs, more than the {facts.allocated_gpus} of the run"
        if gpus >= facts.allocated_gpus or advice.basis in BY_OTHER_RUNS:
            continue
        for code in ("gpu_out_of_memory", "gpu_memory_pressure"):
            full = evidence(judged, code).get("full_gpus", 0)
            if full and full >= facts.gpus.count:
                yield f"advice for {gpus} GPUs beside {code} on all of them"
        # Overscaling itself means that the work of GPUs above the threshold fits on fewer.
        effective = judged.efficiency.effective_gpus or 0
        if gpus < effective and "overscaling" not in codes(judged):
            yield f"advice for {gpus} GPUs with {effective} in effective use"
        held_gb, each_gb = _working_memory_gb(facts)
        if held_gb > gpus * each_gb and gpus:
            yield f"advice for {gpus} GPUs of {each_gb:g} GB with {held_gb:.0f} GB on those that worked"
        busy = float(np.nansum(facts.gpus.avg_util)) / 100
        if 0 < gpus < busy:
            yield f"advice for {gpus} GPUs with the work of {busy:.1f}"


def _working_memory_gb(facts: JobFacts) -> tuple[float, float]:
    """Peaks of the GPUs that worked, together, and the capacity of one; infinite if it is not known."""
    capacities_gb = facts.memory_capacity_gb[~np.isnan(facts.memory_capacity_gb)]
    each_gb = float(np.min(capacities_gb)) if capacities_gb.size else np.inf
    return float(np.nansum(facts.gpus.peak_mem_gb[facts.did_work])), each_gb


def _time(judged: Assessment) -> Iterator[str]:
    facts, now, wanted = judged.facts, requested_shape(judged.facts), request_after(judged)
    if wanted.walltime_s is None or wanted.walltime_s == now.walltime_s:
        return
    if wanted.walltime_s < facts.elapsed_s:
        yield f"a time limit of {wanted.walltime_s:.0f} s for a run of {facts.elapsed_s:.0f} s"
    is_longer = now.walltime_s is not None and wanted.walltime_s > now.walltime_s
    if is_longer and "busy_but_waiting" in codes(judged):
        yield "advice for more time beside busy_but_waiting"
    if is_longer and "walltime_overrequest" in codes(judged):
        yield "advice for more time beside walltime_overrequest"
    if not is_longer and "timeout" in codes(judged):
        yield "advice for less time beside timeout"


def _host(judged: Assessment) -> Iterator[str]:
    """Cores and host memory advised below what the run used."""
    facts, now, wanted = judged.facts, requested_shape(judged.facts), request_after(judged)
    busy_cores, peaks_gb = facts.hosts.busy_cores_avg, facts.hosts.peak_memory_gb
    busy = float(np.nansum(busy_cores))
    if wanted.cores and wanted.cores != now.cores and wanted.cores < busy:
        yield f"{wanted.cores} cores advised, {busy:.1f} were busy"
    if wanted.memory_gb is None or wanted.memory_gb == now.memory_gb or not np.any(~np.isnan(peaks_gb)):
        return
    # The fullest nodes are the ones that stay.
    needed_gb = float(np.sort(peaks_gb[~np.isnan(peaks_gb)])[-wanted.nodes :].sum())
    if wanted.memory_gb < needed_gb:
        yield f"{wanted.memory_gb:.1f} GB of host memory advised, {needed_gb:.1f} GB were used"


def _savings(judged: Assessment) -> Iterator[str]:
    """A claimed saving compared with the bill of what is advised."""
    saved, facts = judged.savings, judged.facts
    if saved is None or saved.gpu_hours <= 0:
        return
    wanted = request_after(judged)
    if saved.assumption == "same_busy_gpu_seconds" and wanted.gpus:
        busy_gpu_s = facts.allocated_gpus * facts.elapsed_s * (judged.efficiency.avg_gpu_util or 0.0) / 100
        use_percent = 100 * busy_gpu_s / (wanted.gpus * saved.run_s)
        if use_percent > LIMITS.target_percent * (1 + SAVINGS_TOLERANCE_FRACTION) or saved.run_s < facts.elapsed_s:
            yield f"a saving in {saved.run_s:.0f} s on {wanted.gpus} GPUs, which the work fills to {use_percent:.0f} %"
    held = Allocation(wanted.nodes, wanted.gpus, wanted.cores or 0, wanted.memory_gb or 0.0, wanted.is_exclusive)
    later = gpu_hours(partition_of(facts.record.cluster, wanted.partition), held, saved.run_s)
    # A partition without GPUs is billed in another currency.
    later, before = later if wanted.gpus else 0.0, facts.gpu_hours
    if later is None or before is None:
        yield "a saving without a price"
    elif later >= before:
        yield f"a saving of {saved.gpu_hours:.2f} GPU-hours and no advice that lowers the bill"
    elif saved.gpu_hours > (before - later) * (1 + SAVINGS_TOLERANCE_FRACTION):
        yield f"a saving of {saved.gpu_hours:.2f} GPU-hours where the advised request saves {before - later:.2f}"


def _refused(judged: Assessment) -> Iterator[str]:
    """A request that Slurm would reject, or that is the same as the present one."""
    facts, now, wanted = judged.facts, requested_shape(judged.facts), request_after(judged)
    if not judged.recommendations:
        return
    if wanted == now and not any(advice.changes for advice in judged.recommendations):
        yield "advice that changes nothing"
    partition = partition_of(facts.record.cluster, wanted.partition)
    if partition is None:
        return
    node = partition.node
    bounds = (
        ("nodes", wanted.nodes, partition.nodes_max),
        ("GPUs", wanted.gpus, wanted.nodes * node.gpus),
        ("cores", wanted.cores or 0, wanted.nodes * node.cores),
        ("GB of host memory", wanted.memory_gb or 0.0, wanted.nodes * node.host_memory_gb),
        ("seconds", wanted.walltime_s or 0.0, partition.walltime_max_s),
    )
    yield from (
        f"advice for {asked:g} {name} on {wanted.nodes} nodes of {wanted.partition}, which gives {most:g}"
        for name, asked, most in bounds
        if most is not None and asked > most
    )


def _printed(judged: Assessment) -> Iterator[str]:
    """What Slurm allocates for the printed request, compared with the request from which the savings are computed."""
    facts, now, wanted = judged.facts, requested_shape(judged.facts), request_after(judged)
    advice, cluster = judged.recommendations, facts.record.cluster
    partition = partition_of(cluster, wanted.partition)
    changes = [change for piece in advice for change in piece.changes]
    blocks = [piece.request for piece in advice if piece.request]
    # A time limit alone is changed in its own line, whatever is known of the other ones.
    block = parse_block(blocks[-1]) if blocks else {}
    options = block.keys() | {change.option for change in changes}
    if partition is None or not wanted.gpus or not options - {"--time"}:
        return
    request = block or apply(facts.record.request, changes)
    given = shape_of(request, partition, now, threads_per_core(cluster))
    if given is None:
        yield f"Slurm rejects the printed request {request}"
        return
    for name in ("partition", "nodes", "gpus", "cores", "memory_gb", "walltime_s"):
        gives, claimed = getattr(given, name), getattr(wanted, name)
        is_close = name == "memory_gb" and abs((gives or 0.0) - (claimed or 0.0)) <= MEMORY_TOLERANCE_GB * wanted.nodes
        if claimed is not None and gives != claimed and not is_close:
            yield f"the printed request gives {name} {gives}, claimed are {claimed}"


def _same_option(judged: Assessment) -> Iterator[str]:
    """Two pieces of advice that change one option, or one part of the request, in two ways."""
    now = requested_shape(judged.facts)
    for one, other in combinations(judged.recommendations, 2):
        ours, theirs = ({change.option: change.recommended for change in advice.changes} for advice in (one, other))
        options = [option for option in ours.keys() & theirs.keys() if ours[option] != theirs[option]]
        first, second = dict(_changed(one, now)), dict(_changed(other, now))
        fields = [name for name in first.keys() & second.keys() if first[name] != second[name]]
        yield from (f"{one.kind} and {other.kind} change {name} in two ways" for name in sorted(options + fields))


def _of_gpu_use(judged: Assessment) -> frozenset[str]:
    """The findings that judge GPU use; one that only states that a run ended badly without a visible cause does not."""
    explained = {"low_use_unexplained"} if ended_badly(judged.facts) else set()
    return codes(judged) & OF_GPU_USE - explained


def _changed(advice: Recommendation, now: Shape) -> Iterator[tuple[str, Any]]:
    """The fields of the request that one piece of advice changes."""
    for name in SHAPE_FIELDS:
        value = getattr(advice.wanted, name)
        if value != getattr(now, name):
            yield name, value


def _on_gpus(judged: Assessment) -> list[Recommendation]:
    now = requested_shape(judged.facts)
    return [advice for advice in judged.recommendations if advice.wanted.gpus != now.gpus]


CHECKS: tuple[Callable[[Assessment], Iterator[str]], ...] = (
    _no_use_and_use,
    _pairs,
    _counts,
    _waiting,
    _shared_ranks,
    _whole_nodes,
    _class,
    _early_end,
    _gpu_count,
    _time,
    _host,
    _savings,
    _refused,
    _printed,
    _same_option,
)
