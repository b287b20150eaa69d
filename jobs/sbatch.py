"""sbatch options: the shape that a request gives, and which of its lines must change for another shape.

Every function is pure. A request maps long option names to values, `{"--gpus-per-node": "mi250:8"}`; a flag's value is
"". Source of the option names and value forms: sbatch(1), Slurm 24.05.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from jobs.hardware import Partition
from jobs.sbatch_edits import Edit, edited, edits_towards
from jobs.sbatch_shape import Shape as Shape
from jobs.sbatch_shape import explains as explains
from jobs.sbatch_shape import has_whole_nodes, is_same_memory
from jobs.sbatch_shape import shape_of as shape_of
from jobs.sbatch_values import memory_text, node_range, typed
from jobs.sbatch_values import refusal as refusal
from jobs.sbatch_values import walltime_s as walltime_s
from wire.sbatch.resources import RESOURCES
from wire.times import walltime_text as walltime_text

READING_ORDER = [f"--{name}" for name in RESOURCES]


@dataclass(frozen=True)
class OptionChange:
    """One option as it was and as advised; an empty `recommended` leaves it out, an empty `requested` adds it."""

    option: str
    requested: str
    recommended: str

    def __str__(self) -> str:
        """The line of the advisory diff.

        >>> str(OptionChange("--gpus", "8", "2"))
        '--gpus=8 -> --gpus=2'
        >>> str(OptionChange("--exclusive", "", ""))
        '--exclusive -> (leave out)'
        >>> str(OptionChange("--mem", "", "120G"))
        '(not set) -> --mem=120G'
        """
        if self.recommended and not self.requested:
            return f"(not set) -> {self.option}={self.recommended}"
        before = f"{self.option}={self.requested}" if self.requested else self.option
        return f"{before} -> {self.option}={self.recommended}" if self.recommended else f"{before} -> (leave out)"


def apply(request: Mapping[str, str], changes: Iterable[OptionChange]) -> dict[str, str]:
    """The request with the changes made.

    >>> apply({"--gpus": "8", "--nodes": "2"}, [OptionChange("--gpus", "8", "2"), OptionChange("--nodes", "2", "")])
    {'--gpus': '2'}
    """
    return edited(request, {change.option: change.recommended or None for change in changes})


def changes_to(
    request: Mapping[str, str],
    now: Shape,
    wanted: Shape,
    partition_now: Partition | None,
    partition_wanted: Partition | None,
    threads_per_core: int = 1,
) -> tuple[OptionChange, ...] | None:
    """The fewest lines to change so that `request`, which gave `now`, gives `wanted`; None where none reach it.

    Each keeps the user's own option and GPU type where it can express the shape; otherwise another option replaces
    it. Memory that was requested stays requested, also where it is the default. What `wanted` has as None stays
    open. Whole nodes come with all their cores, and with at least `wanted.memory_gb`; GPUs there and tasks anywhere
    that `wanted` leaves as `now` has them keep their lines.

    >>> from jobs.hardware import partition_of
    >>> small = partition_of("lumi", "small-g")
    >>> now = Shape(nodes=1, gpus=8, ntasks=8, cores=56, memory_gb=480.0)
    >>> wanted = Shape(nodes=1, gpus=2, ntasks=2, cores=14, memory_gb=120.0)
    >>> request = {"--gpus": "8", "--ntasks": "8", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}
    >>> [str(change) for change in changes_to(request, now, wanted, small, small)]
    ['--gpus=8 -> --gpus=2', '--ntasks=8 -> --ntasks=2']
    """
    given = shape_of(request, partition_now, now, threads_per_core)
    if given is None or (wanted.partition != now.partition and _is_beyond_limits(wanted, partition_wanted)):
        return None
    target = _target(given, now, wanted, partition_wanted)
    stated = _stated(given, target, partition_wanted)
    is_resized = not _is_same_size(now, wanted)
    still = replace(now, nodes=0) if is_resized else now
    edits = (stated | edit for edit in edits_towards(request, still, target, partition_wanted, threads_per_core))
    for changes in sorted((_changes(request, edit) for edit in edits), key=_length):
        asked = apply(request, changes)
        reached = shape_of(asked, partition_wanted, still, threads_per_core)
        if reached is None or (is_resized and not _states_nodes(asked, reached)):
            continue
        if _meets(reached, target, partition_wanted):
            return changes
    return None


def request_block(wanted: Shape, gpu_type: str = "") -> tuple[str, ...]:
    """The complete request for `wanted` in the plainest options; what is not known is left out.

    It gives `rounded(wanted)`.

    >>> wanted = Shape(nodes=1, gpus=2, ntasks=2, cores=14, memory_gb=120.0, walltime_s=14400.0, partition="small-g")
    >>> " ".join(request_block(wanted))
    '--partition=small-g --nodes=1 --gpus-per-node=2 --ntasks-per-node=2 --cpus-per-task=7 --mem=120G --time=04:00:00'
    """
    shape = rounded(wanted)
    per_node = not shape.gpus % shape.nodes
    gpus = typed(gpu_type, shape.gpus // shape.nodes if per_node else shape.gpus)
    block = {
        "--partition": shape.partition,
        "--nodes": str(shape.nodes),
        "--gpus-per-node" if per_node else "--gpus": gpus if shape.gpus else "",
    }
    if shape.ntasks:
        even = not shape.ntasks % shape.nodes
        block["--ntasks-per-node" if even else "--ntasks"] = str(shape.ntasks // shape.nodes if even else shape.ntasks)
    if shape.cores:
        share, option = _core_share(shape)
        block[option] = str(shape.cores // share)
    if shape.memory_gb:
        block["--mem"] = memory_text(shape.memory_gb / shape.nodes) or ""
    if shape.walltime_s:
        block["--time"] = walltime_text(shape.walltime_s)
    lines = tuple(f"{option}={value}" for option, value in block.items() if value)
    return (*lines, "--exclusive") if shape.is_exclusive else lines


def parse_block(block: Iterable[str]) -> dict[str, str]:
    """The request made of option strings.

    >>> parse_block(("--nodes=1", "--exclusive"))
    {'--nodes': '1', '--exclusive': ''}
    """
    return {option: value for option, _, value in (line.partition("=") for line in block)}


def rounded(wanted: Shape) -> Shape:
    """The shape that `request_block(wanted)` gives on shared nodes: never less than `wanted` in anything.

    Tasks are at least one a node, and so are GPUs where there are any; cores are a multiple of the tasks (where those
    are not known of the GPUs, without any of the nodes), memory is whole GB on each node, the time limit whole minutes.

    >>> rounded(Shape(nodes=1, gpus=3, ntasks=4, cores=21, memory_gb=100.5))
    Shape(nodes=1, gpus=3, ntasks=4, cores=24, memory_gb=101.0, walltime_s=None, partition='', is_exclusive=False)
    """
    nodes = wanted.nodes
    ntasks = max(wanted.ntasks, nodes) if wanted.ntasks else None
    gpus = max(wanted.gpus, nodes) if wanted.gpus else 0
    share, _ = _core_share(replace(wanted, gpus=gpus, ntasks=ntasks))
    return replace(
        wanted,
        gpus=gpus,
        ntasks=ntasks,
        cores=math.ceil(wanted.cores / share) * share if wanted.cores else None,
        memory_gb=float(math.ceil(wanted.memory_gb / nodes) * nodes) if wanted.memory_gb else None,
        walltime_s=math.ceil(wanted.walltime_s / 60) * 60.0 if wanted.walltime_s else None,
    )


def _core_share(shape: Shape) -> tuple[int, str]:
    """The unit in which a block counts cores, and its option: an unknown number of tasks is not guessed."""
    if shape.ntasks:
        return shape.ntasks, "--cpus-per-task"
    return (shape.gpus, "--cpus-per-gpu") if shape.gpus else (shape.nodes, "--cpus-per-task")


def _target(given: Shape, now: Shape, wanted: Shape, partition: Partition | None) -> Shape:
    """What the changed request has to give: `wanted`, without what stays and the request does not name.

    Steps may have started other tasks than the request names, and whole nodes have more GPUs than it names.
    """
    if has_whole_nodes(given, partition) and wanted.partition == now.partition and wanted.nodes == now.nodes:
        wanted = replace(wanted, gpus=given.gpus if wanted.gpus == now.gpus else wanted.gpus)
    if wanted.memory_gb == now.memory_gb and wanted.nodes == given.nodes and is_same_memory(given, now):
        wanted = replace(wanted, memory_gb=given.memory_gb)
    return replace(wanted, ntasks=None) if wanted.ntasks == now.ntasks != given.ntasks else wanted


def _is_same_size(now: Shape, wanted: Shape) -> bool:
    """Whether only the time limit differs, so that nodes which the request does not name stay as they were."""
    return replace(wanted, walltime_s=None) == replace(now, walltime_s=None)


def _length(changes: tuple[OptionChange, ...]) -> tuple[int, int]:
    """The length of a diff; of two equally long ones, the one that adds fewer options is shorter."""
    return len(changes), sum(not change.requested for change in changes)


def _states_nodes(request: Mapping[str, str], shape: Shape) -> bool:
    """Whether --nodes, where set, is the allocated number: a range, or more nodes than tasks, may give any number."""
    return "--nodes" not in request or node_range(request["--nodes"]) == (shape.nodes, shape.nodes)


def _is_beyond_limits(wanted: Shape, partition: Partition | None) -> bool:
    """More nodes or time than the partition allows."""
    if partition is None:
        return False
    too_many = partition.nodes_max is not None and wanted.nodes > partition.nodes_max
    return too_many or (partition.walltime_max_s is not None and (wanted.walltime_s or 0.0) > partition.walltime_max_s)


def _meets(reached: Shape, target: Shape, partition: Partition | None) -> bool:
    """Whether a request's shape is the target, in all that the target names."""
    exact = (
        (reached.nodes, reached.gpus) == (target.nodes, target.gpus)
        and target.ntasks in (None, reached.ntasks)
        and target.walltime_s in (None, reached.walltime_s)
        and target.partition in ("", reached.partition)
    )
    if has_whole_nodes(reached, partition):
        enough = target.memory_gb is None or (reached.memory_gb or 0.0) >= target.memory_gb
        return exact and enough and has_whole_nodes(target, partition)
    return (
        exact
        and not target.is_exclusive
        and target.cores in (None, reached.cores)
        and (target.memory_gb is None or reached.memory_gb == target.memory_gb)
    )


def _changes(request: Mapping[str, str], edit: Edit) -> tuple[OptionChange, ...]:
    """The options whose value an edit alters, in the order in which a request reads best."""
    changed = (option for option, value in edit.items() if request.get(option) != value)
    order = sorted(changed, key=READING_ORDER.index)
    return tuple(OptionChange(option, request.get(option, ""), edit[option] or "") for option in order)


def _stated(given: Shape, target: Shape, partition: Partition | None) -> dict[str, str | None]:
    """Partition, time limit and --exclusive: each has one spelling."""
    stated: dict[str, str | None] = {}
    if target.partition not in ("", given.partition):
        stated["--partition"] = target.partition
    if target.walltime_s and target.walltime_s != given.walltime_s:
        stated["--time"] = walltime_text(target.walltime_s)
    if given.is_exclusive and not has_whole_nodes(target, partition):
        stated["--exclusive"] = None
    return stated
