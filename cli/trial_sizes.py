"""The same request on another number of GPUs: tasks, cores and memory follow the GPUs as the script has them.

Per GPU everything stays as it is: with 8 tasks, 56 cores and 480 GB for 8 GPUs, 2 GPUs have 2 tasks, 14 cores and
120 GB; a single task for each node stays single, and gets the cores of its GPUs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wire.sbatch.rewriting import Change
from wire.sbatch.rules import gpus_named, nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PER_NODE = ("gpus-per-node", "gres")
LAST_COUNT = re.compile(r"(^|:)[+-]?\d+[km]?\Z", re.IGNORECASE)
GPU_COUNT = re.compile(r"(?P<name>(?:^|,)(?:gres/)?gpu(?:[:=][^:,=]*[^:,\d=][^:,=]*)?)(?:[:=]\d+[km]?)?(?=,|$)")
MEMORY = re.compile(r"(\d+)([KMGT]?)\Z")


class Size(NamedTuple):
    """A number of GPUs on nodes: all of them, and those of each node."""

    gpus: int
    nodes: int

    @property
    def per_node(self) -> int:
        return self.gpus // self.nodes


class NoSize(Exception):
    """Why the script cannot have this number of GPUs, for people."""


def size_of(options: Mapping[str, str], node_gpus: int | None = None) -> Size:
    """The size of a request as the parser reads it; `node_gpus` are those that a node of the partition has.

    Raises NoSize for a request without GPUs, or in a form that leaves their number open.

    >>> size_of({"gpus-per-node": "8", "nodes": "2"}), size_of({"gpus": "mi250:4"})
    (Size(gpus=16, nodes=2), Size(gpus=4, nodes=1))
    """
    named = {name: found for name, found in gpus_named(options).items() if found > 0}
    if "gpus-per-socket" in named:
        raise NoSize("with --gpus-per-socket the sizes cannot be derived: write --gpus-per-node")
    nodes = nodes_of(options)[0]
    if "gpus" in named:
        gpus = named["gpus"]
        nodes = nodes if "nodes" in options else -(-gpus // node_gpus) if node_gpus else 1
    elif per_node := next((named[name] for name in PER_NODE if name in named), 0):
        gpus = per_node * nodes
    elif "gpus-per-task" in named and (tasks := _tasks(options, nodes)):
        gpus = named["gpus-per-task"] * tasks
        nodes = nodes if "nodes" in options else -(-gpus // node_gpus) if node_gpus else 1
    else:
        raise NoSize("the script requests no GPUs")
    if gpus % nodes:
        raise NoSize(f"{gpus} GPUs are not the same number on each of {nodes} nodes")
    return Size(gpus, nodes)


def sizes_between(most: int) -> list[int]:
    """Powers of two up to a number of GPUs, and that number.

    >>> sizes_between(8), sizes_between(6)
    ([1, 2, 4, 8], [1, 2, 4, 6])
    """
    powers = [1 << place for place in range(most.bit_length())]
    return sorted({*powers, most})


def resized(options: Mapping[str, str], now: Size, gpus: int, node_gpus: int | None = None) -> list[Change]:
    """The options to change so that a request has another number of GPUs. Raises NoSize."""
    room = node_gpus or now.per_node
    nodes = -(-gpus // room)
    if gpus % nodes:
        raise NoSize(f"{gpus} GPUs are not the same number on each of {nodes} nodes with up to {room}")
    size = Size(gpus, nodes)
    wanted = {**_gpu_options(options, size), **_task_options(options, now, size)}
    if "nodes" in options or (nodes > 1 and not options.keys() & {"gpus", "gpus-per-task"}):
        wanted["nodes"] = str(nodes)
    if "mem" in options:
        wanted["mem"] = _memory(options["mem"], now, size)
    return [
        Change(f"--{name}", options.get(name, ""), value)
        for name, value in wanted.items()
        if options.get(name, "") != value
    ]


def _gpu_options(options: Mapping[str, str], size: Size) -> dict[str, str]:
    """Every option that names GPUs, with its type as it is."""
    wanted = {}
    for name in gpus_named(options):
        count = size.gpus if name == "gpus" else size.per_node
        if name == "gpus-per-task":
            continue
        if name == "gres":
            wanted[name] = GPU_COUNT.sub(rf"\g<name>:{count}", options[name])
        elif "," in options[name]:
            raise NoSize(f"--{name} names several types of GPUs")
        elif LAST_COUNT.search(options[name]):
            wanted[name] = LAST_COUNT.sub(rf"\g<1>{count}", options[name])
        else:
            wanted[name] = f"{options[name]}:{count}"
    return wanted


def _task_options(options: Mapping[str, str], now: Size, size: Size) -> dict[str, str]:
    """Tasks in all and on each node, and the cores of each."""
    wanted = {}
    each = gpus_named(options).get("gpus-per-task", 0)
    if each and size.gpus % each:
        raise NoSize(f"{size.gpus} GPUs are not a multiple of --gpus-per-task={each}")
    if "ntasks" in options:
        tasks = _scaled(int(options["ntasks"]), (now.gpus, now.nodes), (size.gpus, size.nodes), "--ntasks")
        wanted["ntasks"] = str(tasks)
    if "ntasks-per-node" in options:
        here = _scaled(int(options["ntasks-per-node"]), (now.per_node, 1), (size.per_node, 1), "--ntasks-per-node")
        wanted["ntasks-per-node"] = str(here)
    if "cpus-per-task" in options:
        before = (_tasks(options, now.nodes) or now.nodes) * size.gpus
        after = (_tasks({**options, **wanted}, size.nodes) or size.nodes) * now.gpus
        wanted["cpus-per-task"] = str(max(1, -(-int(options["cpus-per-task"]) * before // after)))
    return wanted


def _scaled(tasks: int, now: tuple[int, int], size: tuple[int, int], option: str) -> int:
    """Tasks for another (GPUs, nodes): as many for each GPU, or one for each node, as before."""
    if tasks == now[1] and tasks != now[0]:
        return size[1]
    if tasks * size[0] % now[0]:
        raise NoSize(f"{option}={tasks} for {now[0]} GPUs cannot be divided for {size[0]}")
    return tasks * size[0] // now[0]


def _tasks(options: Mapping[str, str], nodes: int) -> int:
    """All tasks that the options name; 0 where they name none."""
    if "ntasks" in options:
        return int(options["ntasks"])
    return int(options.get("ntasks-per-node", 0)) * nodes


def _memory(written: str, now: Size, size: Size) -> str:
    """Memory of each node, for its GPUs; all of a node's stays all.

    >>> _memory("480G", Size(8, 1), Size(2, 1)), _memory("0", Size(8, 1), Size(1, 1))
    ('120G', '0')
    """
    found = MEMORY.match(written)
    if found is None:
        return written
    return f"{-(-int(found[1]) * size.per_node // now.per_node)}{found[2]}"
