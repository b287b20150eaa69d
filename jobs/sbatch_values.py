"""A request in numbers, its values read as `wire.sbatch` reads them, and which combinations sbatch refuses.

Source of the refusals: a recording of Slurm 22.05.8
(tests/samples/sbatch) and Slurm's own testsuite/expect/test39.4.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from wire.sbatch import resources
from wire.sbatch.resources import CPU_OPTIONS, GPU_OPTIONS, TASK_OPTIONS
from wire.sbatch.rules import combinations_refused, gpus_of, is_readable, memory_refused
from wire.sbatch.table import VERSIONS
from wire.sbatch.values import ValueRefused, count, gres, megabytes, minutes, nodes, time

Value = TypeVar("Value")

GPU_COUNTS, TASK_COUNTS, CPU_COUNTS, MEMORY_OPTIONS = (
    tuple(f"--{name}" for name in names) for names in (GPU_OPTIONS, TASK_OPTIONS, CPU_OPTIONS, resources.MEMORY_OPTIONS)
)
COUNTS = (*TASK_COUNTS, *CPU_COUNTS)
# sbatch(1), --exclusive: these values share no CPU and no GPU of a node; "user" and "mcs" still share with some jobs.
WHOLE_NODE = ("", "exclusive", "topo")
COUNT_MAX = 10**7
MB_PER_GB = 1024
VALUES_KEPT = 4096
"""The search for the shortest change reads the same few values again and again."""
GRES_PREFIX = re.compile(r"gres[:/]")


@dataclass(frozen=True)
class GpuCount:
    """One element of a GPU option: a type, or "" for any, and how many."""

    type: str
    count: int


@dataclass(frozen=True)
class Numbers:
    """The counts that a request names; None where it names none. `nodes` is least and most."""

    nodes: tuple[int, int] | None
    ntasks: int | None
    ntasks_per_node: int | None
    ntasks_per_gpu: int | None
    cpus_per_task: int | None
    cpus_per_gpu: int | None
    gpus: int | None
    gpus_per_node: int | None
    gpus_per_task: int | None
    gpus_per_socket: int | None

    @property
    def has_gpus(self) -> bool:
        forms = (self.gpus, self.gpus_per_node, self.gpus_per_task, self.gpus_per_socket)
        return any(forms) or bool(self.ntasks_per_gpu and self.ntasks and not any(form == 0 for form in forms))


def walltime_s(text: str) -> float | None:
    """The seconds of a time limit, rounded up to whole minutes as Slurm does; None where it is no limit or no time.

    >>> walltime_s("90"), walltime_s("90:30"), walltime_s("1-6"), walltime_s("1-06:30:00"), walltime_s("UNLIMITED")
    (5400.0, 5460.0, 108000.0, 109800.0, None)
    """
    limit = _read(minutes, text)
    return None if limit is None else limit * 60.0


def is_time(text: str) -> bool:
    return _read(time, text) is not None


@lru_cache(maxsize=VALUES_KEPT)
def memory_gb(text: str) -> float | None:
    """Memory in 2^30 bytes, whole megabytes as Slurm counts them; None where it is not an amount.

    >>> memory_gb("60G"), memory_gb("2048"), memory_gb("1024K"), memory_gb("0"), memory_gb("1.5G")
    (60.0, 2.0, 0.0009765625, 0.0, None)
    """
    amount = _read(megabytes, text)
    return None if amount is None else amount / MB_PER_GB


def memory_text(gb: float) -> str | None:
    """Memory in Slurm's spelling where it is a whole number of megabytes above zero.

    >>> memory_text(60.0), memory_text(30.5), memory_text(1 / 3)
    ('60G', '31232M', None)
    """
    megabytes = gb * MB_PER_GB
    if gb <= 0 or megabytes != round(megabytes):
        return None
    return f"{round(gb)}G" if gb == round(gb) else f"{round(megabytes)}M"


@lru_cache(maxsize=VALUES_KEPT)
def count_of(text: str) -> int | None:
    """A number of tasks or CPUs, at least one.

    >>> count_of("8"), count_of("0"), count_of("eight")
    (8, None, None)
    """
    number = int(_read(lambda written: count(written, 1), text) or 0)
    return number if 0 < number <= COUNT_MAX else None


@lru_cache(maxsize=VALUES_KEPT)
def node_range(text: str) -> tuple[int, int] | None:
    """Least and most nodes.

    >>> node_range("4"), node_range("1-3"), node_range("0"), node_range("1,4")
    ((4, 4), (1, 3), None, None)
    """
    least, _, most = (_read(lambda written: nodes(written, VERSIONS[0]), text) or "0").partition("-")
    bounds = int(least), int(most or least)
    return bounds if bounds[0] > 0 and bounds[1] <= COUNT_MAX else None


@lru_cache(maxsize=VALUES_KEPT)
def gpu_counts(option: str, text: str) -> tuple[GpuCount, ...] | None:
    """The GPU elements of one option, of --gres without its other resources; None where they cannot be read.

    >>> gpu_counts("--gpus", "mi250:8"), gpu_counts("--gres", "nvme:1,gpu:2"), gpu_counts("--gres", "gpu")
    ((GpuCount(type='mi250', count=8),), (GpuCount(type='', count=2),), (GpuCount(type='', count=1),))
    """
    name = option.removeprefix("--")
    given = gres(text) if name == "gres" else text
    found = (gpus_of(name, given) or []) if is_readable(name, given) else None
    if found is None or not (found or name == "gres") or not all(0 <= number <= COUNT_MAX for _, number in found):
        return None
    return tuple(GpuCount(*each) for each in found)


def recounted(option: str, text: str, count: int) -> str | None:
    """The value of a GPU option with another count, type and other resources kept; None for a mixture of types.

    >>> recounted("--gpus", "mi250:8", 2), recounted("--gres", "gpu:mi250:8,nvme:1", 2), recounted("--gres", "gpu", 2)
    ('mi250:2', 'gpu:mi250:2,nvme:1', 'gpu:2')
    """
    counts = gpu_counts(option, text)
    if counts is None or len(counts) != 1:
        return None
    if option != "--gres":
        return typed(counts[0].type, count)
    return ",".join(_recounted_gres(element, count) for element in text.split(","))


def _recounted_gres(element: str, count: int) -> str:
    counts = gpu_counts("--gres", element)
    prefix = GRES_PREFIX.match(element)
    return f"{prefix[0] if prefix else ''}gpu:{typed(counts[0].type, count)}" if counts else element


def without_gpus(gres: str) -> str | None:
    """A --gres list without its GPUs; None where nothing else is in it.

    >>> without_gpus("gpu:8,nvme:1"), without_gpus("gpu:8")
    ('nvme:1', None)
    """
    return ",".join(element for element in gres.split(",") if not gpu_counts("--gres", element)) or None


def typed(gpu_type: str, count: int) -> str:
    return f"{gpu_type}:{count}" if gpu_type else str(count)


def gpu_type_of(request: Mapping[str, str]) -> str:
    """The type that every GPU option of the request names; "" where they name none, or several."""
    types = {gpu.type for option, text in request.items() for gpu in _elements(option, text)}
    return types.pop() if len(types) == 1 else ""


def gpu_options(request: Mapping[str, str]) -> tuple[str, ...]:
    """The options that name GPUs; a --gres of other resources is not one of them."""
    return tuple(option for option, text in request.items() if _elements(option, text))


def numbers_of(request: Mapping[str, str]) -> Numbers:
    """The counts of a request whose values are sound (`refusal` is None)."""
    gpus = {option: sum(gpu.count for gpu in _elements(option, request[option])) for option in gpu_options(request)}
    counts = {option: count_of(request[option]) for option in COUNTS if option in request}
    return Numbers(
        nodes=node_range(request["--nodes"]) if "--nodes" in request else None,
        ntasks=counts.get("--ntasks"),
        ntasks_per_node=counts.get("--ntasks-per-node"),
        ntasks_per_gpu=counts.get("--ntasks-per-gpu"),
        cpus_per_task=counts.get("--cpus-per-task"),
        cpus_per_gpu=counts.get("--cpus-per-gpu"),
        gpus=gpus.get("--gpus"),
        gpus_per_node=gpus.get("--gpus-per-node", gpus.get("--gres")),
        gpus_per_task=gpus.get("--gpus-per-task"),
        gpus_per_socket=gpus.get("--gpus-per-socket"),
    )


def refusal(request: Mapping[str, str]) -> str | None:
    """Why sbatch refuses this combination of options, whatever the partition; None where it accepts it.

    Where the recordings do not show how Slurm resolves two options that disagree, they count as refused.
    `--sockets-per-node` is not recorded: a node counts as one socket, as LUMI's are.

    >>> refusal({"--mem": "60G", "--mem-per-gpu": "60G"})
    '--mem and --mem-per-gpu exclude each other.'
    >>> refusal({"--gpus": "4", "--gpus-per-node": "2", "--nodes": "2"})
    """
    for option, text in request.items():
        if not _is_sound(option, text):
            return f"{option}={text} cannot be read."
    options = {"sockets-per-node": "1"} | {option.removeprefix("--"): text for option, text in request.items()}
    if "--nodes" in request:
        options["nodes"] = "{}-{}".format(*node_range(request["--nodes"]) or ())
    options |= {name: str(count_of(text)) for name, text in options.items() if f"--{name}" in COUNTS}
    if "--gres" in request:
        options["gres"] = gres(request["--gres"])
    memory = [name for name in resources.MEMORY_OPTIONS if name in options]
    for _, _, sentence in chain(memory_refused(memory), combinations_refused(options)):
        return sentence
    return next((why for so, why in _unclear(request, numbers_of(request)) if so), None)


def _is_sound(option: str, text: str) -> bool:
    if option in GPU_COUNTS or option == "--gres":
        return gpu_counts(option, text) is not None
    if option in COUNTS:
        return count_of(text) is not None
    if option == "--nodes":
        return node_range(text) is not None
    if option in MEMORY_OPTIONS:
        # Only --mem=0 has a meaning: the whole node.
        gb = memory_gb(text)
        return gb is not None and (gb > 0 or option == "--mem")
    return option != "--time" or is_time(text)


def _read(reader: Callable[[str], Value], text: str) -> Value | None:
    try:
        return reader(text)
    except ValueRefused:
        return None


def _elements(option: str, text: str) -> tuple[GpuCount, ...]:
    return (gpu_counts(option, text) or ()) if option in GPU_COUNTS or option == "--gres" else ()


def _unclear(request: Mapping[str, str], n: Numbers) -> Iterator[tuple[object, str]]:
    """Pairs of a condition and what it means when it holds, of what `wire.sbatch.rules` leaves to the controller."""
    yield from _unclear_tasks(n)
    yield from _unclear_gpus(request, n)


def _unclear_tasks(n: Numbers) -> Iterator[tuple[object, str]]:
    per_gpu = n.ntasks_per_gpu
    if per_gpu:
        yield n.nodes and n.nodes[0] != n.nodes[1], "--ntasks-per-gpu excludes a range of nodes."
        yield n.ntasks and n.ntasks % per_gpu, "--ntasks is not a multiple of --ntasks-per-gpu."
        gpus = n.gpus or (n.gpus_per_node and n.nodes and n.gpus_per_node * n.nodes[0])
        yield n.ntasks and gpus and n.ntasks != gpus * per_gpu, "--ntasks, --ntasks-per-gpu and the GPUs disagree."
    if n.ntasks and n.ntasks_per_node and n.nodes:
        yield n.ntasks > n.nodes[1] * n.ntasks_per_node, "--ntasks is more than --nodes and --ntasks-per-node allow."


def _unclear_gpus(request: Mapping[str, str], n: Numbers) -> Iterator[tuple[object, str]]:
    job, node, task = n.gpus, n.gpus_per_node, n.gpus_per_task
    if {"--gres", "--gpus-per-node"} <= set(gpu_options(request)):
        same = gpu_counts("--gres", request["--gres"]) == gpu_counts("--gpus-per-node", request["--gpus-per-node"])
        yield not same, "--gres and --gpus-per-node disagree."
    if job is not None and node is not None:
        yield bool(job) != bool(node), "--gpus and the GPUs of each node disagree."
    if task is None:
        return
    yield not task and n.has_gpus, "--gpus-per-task is 0 while other options request GPUs."
    if node is not None and task:
        fixed = n.nodes and n.nodes[0] == n.nodes[1] and n.ntasks
        yield (
            fixed and n.nodes and n.ntasks != n.nodes[0] * (node // task),
            "--gpus-per-node, --gpus-per-task and --ntasks disagree.",
        )
