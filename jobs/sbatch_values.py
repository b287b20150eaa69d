"""The values of sbatch's resource options: counts, GPUs, memory, time limits, and which combinations sbatch refuses.

Source of the forms: sbatch(1), Slurm 24.05. Source of the refusals: a recording of Slurm 22.05.8
(tests/samples/sbatch) and Slurm's own testsuite/expect/test39.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

GPU_COUNTS = ("--gpus", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket")
MEMORY_OPTIONS = ("--mem", "--mem-per-cpu", "--mem-per-gpu")
TASK_COUNTS = ("--ntasks", "--ntasks-per-node", "--ntasks-per-gpu")
CPU_COUNTS = ("--cpus-per-task", "--cpus-per-gpu")
# sbatch(1), --exclusive: these values share no CPU and no GPU of a node; "user" and "mcs" still share with some jobs.
WHOLE_NODE = ("", "exclusive", "topo")
COUNT_MAX = 10**7

NO_LIMIT = frozenset({"UNLIMITED", "INFINITE", "-1"})
MEMORY = re.compile(r"(?P<number>\d{1,9})(?:(?P<unit>[KMGT])|\?)?\Z", re.ASCII | re.IGNORECASE)
GB_OF_UNIT = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}
MB_PER_GB = 1024
CLOCK = re.compile(
    r"(?:(?P<days>\d{1,6})-(?P<hours>\d{1,6})(?::(?P<minutes>\d{1,6})(?::(?P<seconds>\d{1,6}))?)?"
    r"|(?:(?P<h>\d{1,6}):(?=\d+:))?(?P<m>\d{1,6})(?::(?P<s>\d{1,6}))?)\Z",
    re.ASCII,
)
GPU_TYPE = r"(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]*"
TYPED_COUNT = re.compile(rf"(?:(?P<type>{GPU_TYPE}):)?(?P<count>\d{{1,7}})\Z", re.ASCII)
GRES_GPU = re.compile(rf"(?P<prefix>gres[:/])?gpu(?::(?P<type>{GPU_TYPE}))?(?:[:=](?P<count>\d{{1,7}}))?\Z", re.ASCII)


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


def walltime_text(seconds: float) -> str:
    """Seconds in Slurm's spelling.

    >>> walltime_text(5400), walltime_text(30 * 3600)
    ('01:30:00', '1-06:00:00')
    """
    days, rest = divmod(round(seconds), 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def walltime_s(text: str) -> float | None:
    """The seconds of a time limit, rounded up to whole minutes as Slurm does; None where it is no limit or no time.

    >>> walltime_s("90"), walltime_s("90:30"), walltime_s("1-6"), walltime_s("1-06:30:00"), walltime_s("UNLIMITED")
    (5400.0, 5460.0, 108000.0, 109800.0, None)
    """
    found = CLOCK.match(text)
    if found is None:
        return None
    number = {name: int(value or 0) for name, value in found.groupdict().items()}
    hours = number["days"] * 24 + number["hours"] + number["h"]
    seconds = (hours * 60 + number["minutes"] + number["m"]) * 60 + number["seconds"] + number["s"]
    return math.ceil(seconds / 60) * 60.0 or None


def is_time(text: str) -> bool:
    return CLOCK.match(text) is not None or text.upper() in NO_LIMIT


def memory_gb(text: str) -> float | None:
    """Memory in 2^30 bytes, whole megabytes as Slurm counts them; None where it is not an amount.

    >>> memory_gb("60G"), memory_gb("2048"), memory_gb("1024K"), memory_gb("0"), memory_gb("1.5G")
    (60.0, 2.0, 0.0009765625, 0.0, None)
    """
    found = MEMORY.match(text)
    if found is None:
        return None
    gb = int(found["number"]) * GB_OF_UNIT[(found["unit"] or "M").upper()]
    return math.ceil(gb * MB_PER_GB) / MB_PER_GB


def memory_text(gb: float) -> str | None:
    """Memory in Slurm's spelling where it is a whole number of megabytes above zero.

    >>> memory_text(60.0), memory_text(30.5), memory_text(1 / 3)
    ('60G', '31232M', None)
    """
    megabytes = gb * MB_PER_GB
    if gb <= 0 or megabytes != round(megabytes):
        return None
    return f"{round(gb)}G" if gb == round(gb) else f"{round(megabytes)}M"


def count_of(text: str) -> int | None:
    """A number of tasks or CPUs, at least one.

    >>> count_of("8"), count_of("0"), count_of("eight")
    (8, None, None)
    """
    return int(text) if re.fullmatch("[0-9]{1,7}", text) and int(text) else None


def node_range(text: str) -> tuple[int, int] | None:
    """Least and most nodes.

    >>> node_range("4"), node_range("1-3"), node_range("0")
    ((4, 4), (1, 3), None)
    """
    first, dash, last = text.partition("-")
    least, most = count_of(first), count_of(last if dash else first)
    return (least, most) if least and most and least <= most else None


def gpu_counts(option: str, text: str) -> tuple[GpuCount, ...] | None:
    """The GPU elements of one option, of --gres without its other resources; None where they cannot be read.

    >>> gpu_counts("--gpus", "mi250:8"), gpu_counts("--gres", "nvme:1,gpu:2"), gpu_counts("--gres", "gpu")
    ((GpuCount(type='mi250', count=8),), (GpuCount(type='', count=2),), (GpuCount(type='', count=1),))
    """
    found = []
    for element in text.split(","):
        match = (GRES_GPU if option == "--gres" else TYPED_COUNT).match(element)
        if match:
            found.append(GpuCount(match["type"] or "", int(match["count"] or 1)))
        elif option != "--gres" or re.match(r"(gres[:/])?gpu\b", element):
            return None
    return tuple(found)


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
    match = GRES_GPU.match(element)
    return f"{match['prefix'] or ''}gpu:{typed(match['type'] or '', count)}" if match else element


def without_gpus(gres: str) -> str | None:
    """A --gres list without its GPUs; None where nothing else is in it.

    >>> without_gpus("gpu:8,nvme:1"), without_gpus("gpu:8")
    ('nvme:1', None)
    """
    return ",".join(element for element in gres.split(",") if not GRES_GPU.match(element)) or None


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
    counts = {option: count_of(request[option]) for option in (*TASK_COUNTS, *CPU_COUNTS) if option in request}
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

    >>> refusal({"--mem": "60G", "--mem-per-gpu": "60G"})
    '--mem, --mem-per-cpu and --mem-per-gpu exclude each other'
    >>> refusal({"--gpus": "4", "--gpus-per-node": "2", "--nodes": "2"})
    """
    for option, text in request.items():
        if not _is_sound(option, text):
            return f"{option}={text} cannot be read"
    return next((why for so, why in _conflicts(request, numbers_of(request)) if so), None)


def _is_sound(option: str, text: str) -> bool:
    if option in GPU_COUNTS or option == "--gres":
        return gpu_counts(option, text) is not None
    if option in TASK_COUNTS or option in CPU_COUNTS:
        return count_of(text) is not None
    if option == "--nodes":
        return node_range(text) is not None
    if option in MEMORY_OPTIONS:
        # Only --mem=0 has a meaning: the whole node.
        gb = memory_gb(text)
        return gb is not None and (gb > 0 or option == "--mem")
    return option != "--time" or is_time(text)


def _elements(option: str, text: str) -> tuple[GpuCount, ...]:
    return (gpu_counts(option, text) or ()) if option in GPU_COUNTS or option == "--gres" else ()


def _conflicts(request: Mapping[str, str], n: Numbers) -> Iterator[tuple[object, str]]:
    """Pairs of a condition and what it means when it holds."""
    yield (
        sum(option in request for option in MEMORY_OPTIONS) > 1,
        "--mem, --mem-per-cpu and --mem-per-gpu exclude each other",
    )
    yield n.cpus_per_task and n.cpus_per_gpu, "--cpus-per-task and --cpus-per-gpu exclude each other"
    # --cpus-per-gpu without GPUs is accepted, and has no effect.
    yield "--mem-per-gpu" in request and not n.has_gpus, "--mem-per-gpu is set, but no GPU is requested"
    yield (
        "--ntasks-per-gpu" in request and not (n.has_gpus or n.ntasks or n.nodes),
        "--ntasks-per-gpu needs GPUs, --ntasks or --nodes",
    )
    types = {bool(gpu.type) for option, text in request.items() for gpu in _elements(option, text)}
    yield len(types) > 1, "GPUs are requested with and without a type"
    yield from _task_conflicts(n)
    yield from _gpu_conflicts(request, n)


def _task_conflicts(n: Numbers) -> Iterator[tuple[object, str]]:
    per_gpu = n.ntasks_per_gpu
    if per_gpu:
        others = (n.gpus_per_task, n.gpus_per_socket, n.ntasks_per_node)
        yield (
            any(other is not None for other in others),
            "--ntasks-per-gpu excludes --gpus-per-task, --gpus-per-socket and --ntasks-per-node",
        )
        yield n.nodes and n.nodes[0] != n.nodes[1], "--ntasks-per-gpu excludes a range of nodes"
        yield n.ntasks and n.ntasks % per_gpu, "--ntasks is not a multiple of --ntasks-per-gpu"
        gpus = n.gpus or (n.gpus_per_node and n.nodes and n.gpus_per_node * n.nodes[0])
        yield n.ntasks and gpus and n.ntasks != gpus * per_gpu, "--ntasks, --ntasks-per-gpu and the GPUs disagree"
    if n.ntasks and n.ntasks_per_node and n.nodes:
        yield n.ntasks > n.nodes[1] * n.ntasks_per_node, "--ntasks is more than --nodes and --ntasks-per-node allow"


def _gpu_conflicts(request: Mapping[str, str], n: Numbers) -> Iterator[tuple[object, str]]:
    """How the GPU options of a job bound each other: per job >= per node >= per task, and whole multiples."""
    job, node, task = n.gpus, n.gpus_per_node, n.gpus_per_task
    least, most = n.nodes or (1, COUNT_MAX)
    if {"--gres", "--gpus-per-node"} <= set(gpu_options(request)):
        same = gpu_counts("--gres", request["--gres"]) == gpu_counts("--gpus-per-node", request["--gpus-per-node"])
        yield not same, "--gres and --gpus-per-node disagree"
    yield job and job < least, "--gpus is less than --nodes"
    if job is not None and node is not None:
        yield not node or job % node, "--gpus is not a multiple of --gpus-per-node or --gres"
        yield node and not least <= job // node <= most, "--gpus, --gpus-per-node or --gres, and --nodes disagree"
    if task is None:
        return
    yield not task and n.has_gpus, "--gpus-per-task is 0 while other options request GPUs"
    tasks = n.ntasks or n.ntasks_per_node
    yield not tasks and job is None, "--gpus-per-task needs --ntasks or --gpus"
    if job is not None and task:
        yield job % task, "--gpus is not a multiple of --gpus-per-task"
        yield n.ntasks and n.ntasks * task != job, "--gpus, --gpus-per-task and --ntasks disagree"
    if node is not None and task:
        yield node % task, "--gpus-per-node or --gres is not a multiple of --gpus-per-task"
        wanted = n.ntasks_per_node
        yield wanted and wanted * task != node, "--gpus-per-node, --gpus-per-task and --ntasks-per-node disagree"
        fixed = n.nodes and least == most and n.ntasks
        yield fixed and n.ntasks != least * (node // task), "--gpus-per-node, --gpus-per-task and --ntasks disagree"
