"""Costs and waits of a check as parts of its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from analysis.check.asked import Asked, Fit, asked, other_starts
from analysis.check.suggestion import Suggestion
from analysis.next_request import bill
from analysis.queue_waits.effects import Smaller
from analysis.queue_waits.ranges import WaitEstimate
from analysis.queue_waits.selectors import WaitHistory, smaller_request, wait_estimate
from jobs.hardware import Partition, partition_of
from jobs.models import Project, User
from jobs.sbatch import Shape
from jobs.selectors import allocations_of, own_memberships
from portal.api.check_answers import (
    CheckAllocation,
    ComponentAnswer,
    CostAnswer,
    PartitionAnswer,
    RiskAnswer,
    TextAnswer,
    WaitAnswer,
)
from reports.billed import billed_shape
from reports.check_texts import allocation_risk_text, allocation_text, cost_text, sooner_text, wait_text, why_not_fit
from reports.numbers import unbroken
from wire.numbers import counted, duration, hours

WAITS_MAX = 4
"""In so many partitions the wait is estimated, that of the request first: each reads up to 3,000 starts."""

GPU_HOUR = "GPU-hour"
ALLOCATION = "allocation"
"""The code of the risk that a job takes more than its project has left."""


@dataclass
class Waits:
    """The estimates of one component, each made once."""

    user: User
    project: Project | None
    history: WaitHistory
    made: dict[tuple[str, str, Shape], WaitEstimate | None] = field(default_factory=dict)

    def of(self, cluster: str, partition: str, shape: Shape) -> WaitAnswer | None:
        """The range of the wait; None where the data show none, or enough partitions were asked for."""
        key = cluster, partition, shape
        if key not in self.made:
            if len(self.made) >= WAITS_MAX:
                return None
            project = self.project.pk if self.project else None
            of_jobs = (cluster, partition, shape.nodes, shape.gpus, shape.walltime_s)
            self.made[key] = wait_estimate(*of_jobs, project, self.history.at, user=self.user.pk, history=self.history)
        wait = self.made[key]
        if wait is None:
            return None
        return WaitAnswer(wait.low_s, wait.typical_s, wait.high_s, wait.starts, wait.coverage, wait_text(wait))


def cost_of(partition: Partition | None, shape: Shape | None, typical_s: float | None, tasks: int) -> CostAnswer | None:
    """What a request costs for all tasks; None without a price, or where neither length is known."""
    if partition is None or partition.price is None or shape is None:
        return None
    limit_s, needs_s = shape.walltime_s, typical_s
    # No run is longer than its limit.
    typical_s = min(typical_s, limit_s) if typical_s is not None and limit_s else typical_s
    at_limit, typical = (_billed(partition, shape, run_s, tasks) for run_s in (limit_s, typical_s))
    if at_limit is None and typical is None:
        return None
    unit = partition.price.unit
    text = cost_text(unit, (at_limit, limit_s), (typical, typical_s), tasks, needs_s)
    beyond = unbroken(billed_shape(partition, shape))
    return CostAnswer(unit, at_limit, typical, f"{text}; {beyond}" if beyond else text)


def with_other_starts(cost: CostAnswer | None, request: Asked, tasks: int) -> CostAnswer | None:
    """The cost, with what it is at the limit where Slurm may start the job otherwise: elsewhere, or on more nodes.

    Of several partitions Slurm takes the one that starts it first, and of a range of nodes as many as are free.
    """
    if cost is None or request.shape is None or cost.at_limit is None:
        return cost
    others = []
    for name, nodes in other_starts(request):
        partition = partition_of(request.cluster, name)
        more = {"--nodes": str(nodes)} if nodes else {}
        shape = asked(request.cluster, {**request.options, **more, "--partition": name}).shape
        at_limit = cost_of(partition, shape, None, tasks)
        if at_limit is None or at_limit.at_limit is None or at_limit.at_limit == cost.at_limit:
            continue
        where = f"in {name}" if name != request.shape.partition else ""
        where = " ".join(filter(None, (where, f"on {counted(nodes, 'node')}" if nodes else "")))
        others.append(f"{hours(at_limit.at_limit)} {where}")
    if not others:
        return cost
    return msgspec.structs.replace(cost, text=f"{cost.text}; at the limit up to {' or '.join(others)}")


def _billed(partition: Partition, shape: Shape, run_s: float | None, tasks: int) -> float | None:
    billed = None if run_s is None else bill(partition, shape, run_s)
    return None if billed is None else billed * tasks


def total_cost(costs: Sequence[CostAnswer | None]) -> CostAnswer | None:
    """All components together; None where the cost of one is not known, or is in another unit."""
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs) or len({cost.unit for cost in known}) > 1:
        return None
    if len(known) == 1:
        return known[0]
    at_limit, typical = _sum([cost.at_limit for cost in known]), _sum([cost.typical for cost in known])
    if at_limit is None and typical is None:
        return None
    unit, together = known[0].unit, f"{counted(len(known), 'component')} together"
    return CostAnswer(unit, at_limit, typical, f"{together}: {cost_text(unit, (at_limit, None), (typical, None), 1)}")


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def in_partition(
    fit: Fit, request: Asked, typical_s: float | None, tasks: int, wait: WaitAnswer | None
) -> PartitionAnswer:
    """The request in one partition; the typical cost where runs of the same nodes show how long they take."""
    is_same = request.partition is not None and fit.partition.node == request.partition.node
    cost = cost_of(fit.partition, fit.shape, typical_s if is_same else None, tasks) if not fit.why_not else None
    price = fit.partition.price
    return PartitionAnswer(
        partition=fit.partition.name,
        fits=not fit.why_not,
        why_not=why_not_fit(fit) or None,
        cost_at_limit=cost.at_limit if cost else None,
        cost_typical=cost.typical if cost else None,
        unit=price.unit if price else None,
        is_requested=fit.partition.name in request.options.get("--partition", "").split(","),
        wait=wait,
    )


def shorter_wait(request: Asked, given: Suggestion | None, history: WaitHistory) -> TextAnswer | None:
    """Whether jobs like the suggested request started sooner in the same partition; None unless the data show it."""
    shape = request.shape
    if given is None or shape is None or given.wanted.partition != shape.partition:
        return None
    wanted = given.wanted
    less_s = wanted.walltime_s if (wanted.walltime_s or 0.0) < (shape.walltime_s or 0.0) else None
    fewer = wanted.gpus if wanted.gpus < shape.gpus else None
    if less_s is None and fewer is None:
        return None
    smaller = Smaller(less_s, fewer, wanted.nodes if fewer else None)
    comparable = (request.cluster, shape.partition, shape.nodes, shape.gpus, shape.walltime_s)
    effect = smaller_request(*comparable, smaller, history.at, history)
    if effect is None:
        return None
    what = [f"a limit of about {duration(less_s)}"] if less_s else []
    what += [counted(fewer, "GPU")] if fewer else []
    return TextAnswer(sooner_text(effect, " and ".join(what)))


def own_project(user: User, name: str) -> Project | None:
    """The project of this name where the person is a member of it: one query."""
    membership = own_memberships(user).filter(project__name=name).first() if name else None
    return membership.project if membership else None


def allocation_of(project: Project | None, cost: CostAnswer | None) -> CheckAllocation | None:
    """What a job takes of what its project has left, where a directory counts the use: one query."""
    if project is None or cost is None or cost.at_limit is None or cost.unit != GPU_HOUR:
        return None
    row = allocations_of([project]).get(project.pk)
    if row is None or row.used_gpu_hours is None:
        return None
    left, takes = max(row.gpu_hours - row.used_gpu_hours, 0.0), cost.at_limit
    text = allocation_text(project.name, takes, left, GPU_HOUR)
    return CheckAllocation(project.name, left, GPU_HOUR, takes, 100 * takes / left if left else None, text)


def with_allocation(components: Sequence[ComponentAnswer], allocation: CheckAllocation | None) -> list[ComponentAnswer]:
    """The components with the allocation that they share; where the job takes more than is left, the first states it
    as a risk."""
    shown = [msgspec.structs.replace(component, allocation=allocation) for component in components]
    if allocation is not None and shown and allocation.takes > allocation.left:
        text = allocation_risk_text(allocation.project, allocation.takes, allocation.left, allocation.unit)
        risk = RiskAnswer(ALLOCATION, text, 0, 0)
        shown[0] = msgspec.structs.replace(shown[0], risks=[risk, *shown[0].risks])
    return shown
