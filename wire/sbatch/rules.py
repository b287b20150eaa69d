"""Combinations of options that Slurm refuses whatever the cluster is.

Every rule was observed on Slurm 22.05.8, at `sbatch` itself or at its controller.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from wire.sbatch.arrays import is_array
from wire.sbatch.resources import GPU_OPTIONS, MEMORY_OPTIONS
from wire.sbatch.script import Component, Script
from wire.sbatch.value_forms import FORMS, LATE, is_taken
from wire.sbatch.values import minutes

GRES_EQUALS_SINCE = "23.11"
GPU = re.compile(
    r"(?:(?P<type>[^:,]*[^:,\d][^:,]*):)?(?P<count>[+-]?\d{1,20})(?P<unit>[kmgtp]?)(?:(?<=[kmgtp])b)?\Z",
    re.ASCII | re.IGNORECASE,
)
GPUS_END = (1 << 64) - 1
"""From here on it is no number to Slurm."""
TYPE = re.compile(r"[\w.-]*\Z", re.ASCII)
"""What can be the name of a type: anything else is a value that was meant otherwise, such as `$(nproc)`."""
BARE_TYPE = re.compile(r"(?![+-]?\d)[^:,]*\Z", re.ASCII)
HINTS = frozenset("compute_bound memory_bound multithread nomultithread".split())
INSTEAD_OF_HINT = frozenset({"threads-per-core", "ntasks-per-core", "extra-node-info"})
"""Where one of these is set, sbatch drops --hint."""
CONTROLLER = frozenset("array array_het no_value nice reboot time_min gpus gres dependency".split())
"""Codes of what only the controller refuses, when sbatch has read all components."""
NODES_MAX = 1 << 30
UNITS = {unit: 1024**power for power, unit in enumerate(["", *"kmgtp"])}

Refusal = tuple[tuple[str, ...], str, str]
"""The options that it is about, its code, and the sentence."""
Gpus = tuple[str, int]
"""A type, or "" for any, and how many."""


def gpus_of(option: str, text: str) -> list[Gpus] | None:
    """The GPUs of an option by type; of "gres" those among its resources. None where Slurm cannot read it.

    >>> gpus_of("gpus", "mi250:2"), gpus_of("gres", "gpu:4,nvme:1"), gpus_of("gpus", "a:x"), gpus_of("gres", "gpu:")
    ([('mi250', 2)], [('', 4)], None, None)
    """
    found = []
    for element in text.split(","):
        given = element
        if option == "gres":
            name, colon, given = element.replace("=", ":").removeprefix("gres/").partition(":")
            if name != "gpu":
                continue
            if colon and not given:
                return None
            given = given or "1"
        elif not element:
            continue
        gpus = _gpus(given)
        if gpus is None:
            return None
        found.append(gpus)
    return found


def _gpus(element: str) -> Gpus | None:
    found = GPU.match(element)
    if found is None:
        return (element, 1) if BARE_TYPE.match(element) else None
    number = int(found["count"])
    if number >= GPUS_END or (number < 0 and found["type"]):
        return None
    return found["type"] or "", number * UNITS[found["unit"].lower()]


def gpus_named(options: Mapping[str, str]) -> dict[str, int]:
    """How many GPUs each option names that names any."""
    counts = {}
    for option in (*GPU_OPTIONS, "gres"):
        gpus = gpus_of(option, options[option]) if options.get(option) else None
        if gpus:
            counts[option] = sum(number for _, number in gpus)
    return counts


def memory_forms(component: Component) -> tuple[list[str], list[str]]:
    """The memory options that are set: by script or arguments, and by the environment."""
    forms = [form for form in MEMORY_OPTIONS if form in component.options]
    outside = [form for form in forms if form in component.winner and component.winner[form].source == "environment"]
    return [form for form in forms if form not in outside], outside


def check_component(script: Script, component: Component) -> None:
    """Refusals of a combination, with the line of the option that was read last."""
    for names, code, sentence in _refused(script, component):
        line = component.last_line(names)
        where = f"Line {line}: " if line and len(names) == 1 else ""
        script.refuse(code, line, where + sentence, None if code in CONTROLLER else component.index + 1)


def combinations_refused(options: Mapping[str, str]) -> Iterator[Refusal]:
    """How options of tasks, CPUs and GPUs exclude or contradict each other; values as `wire.sbatch.values` writes them.

    >>> [sentence for _, _, sentence in combinations_refused({"gpus": "7", "gpus-per-node": "4"})]
    ['--gpus is not a multiple of the GPUs of each node.']
    """
    yield from _tasks_refused(options)
    yield from _gpus_refused(options)


def memory_refused(forms: Sequence[str]) -> Iterator[Refusal]:
    """Several memory options from one source."""
    if len(forms) > 1:
        names = " and ".join(f"--{form}" for form in forms)
        yield tuple(forms), "memory_forms", f"{names} exclude each other."


def _refused(script: Script, component: Component) -> Iterator[Refusal]:
    options = component.options
    own, outside = memory_forms(component)
    yield from memory_refused(own or outside)
    if not options.keys() & INSTEAD_OF_HINT and options.get("hint", "nomultithread") not in HINTS:
        yield ("hint",), "hint", f"--hint is not one of {', '.join(sorted(HINTS))}."
    if not is_array(options.get("array", "")):
        yield ("array",), "array", "--array cannot be read. Slurm reads numbers and ranges, such as 0-9:3%2."
    if options.get("array") and len(script.components) > 1:
        yield ("array",), "array_het", "A heterogeneous job cannot be an array."
    for name in ("partition", "gres"):
        if options.get(name) == "":
            yield (name,), "no_value", f"--{name} has no value."
    if options.get("nice", "0").startswith("-"):
        yield ("nice",), "nice", "Only administrators may set a --nice below 0."
    if "reboot" in options:
        yield ("reboot",), "reboot", "--reboot is for administrators alone."
    for name in LATE:
        if name in component.winner and is_taken(name, options.get(name, "")) is False:
            yield (name,), name, f"--{name}={options[name][:40]} {FORMS[name].reason}."
    if options.get("time-min") == "UNLIMITED" or _minutes(options, "time-min") > _minutes(options, "time"):
        yield ("time-min",), "time_min", "--time-min is longer than --time."
    counted = {name: value for name, value in options.items() if not own or name not in outside}
    yield from _badly_formed(counted, script.version)
    yield from combinations_refused(counted)


def _badly_formed(options: Mapping[str, str], version: str) -> Iterator[Refusal]:
    for option in (*GPU_OPTIONS, "gres"):
        if options.get(option) and not is_readable(option, options[option]):
            yield (option,), "gpus", f'--{option}={options[option][:40]} cannot be read. Write "2" or "mi250:2".'
    elements = options["gres"].split(",") if options.get("gres") else []
    is_old = version < GRES_EQUALS_SINCE
    if any(not element or (is_old and re.search("[=/]", element)) for element in elements):
        yield ("gres",), "gres", "--gres cannot be read. Write gpu:2 or gpu:mi250:2."


def is_readable(option: str, text: str) -> bool:
    """Whether a GPU option names numbers of GPUs.

    sbatch takes any other word as the name of a type, of which no node has one: the job is refused or waits forever.
    """
    found = gpus_of(option, text)
    return found is not None and all(TYPE.match(kind) for kind, _ in found)


def _tasks_refused(options: Mapping[str, str]) -> Iterator[Refusal]:
    if "ntasks-per-gpu" in options:
        for other in ("ntasks-per-node", "gpus-per-task", "gpus-per-socket"):
            if other in options:
                yield ("ntasks-per-gpu", other), "per_gpu", f"--ntasks-per-gpu and --{other} exclude each other."
    if "cpus-per-gpu" in options and "cpus-per-task" in options:
        yield ("cpus-per-gpu", "cpus-per-task"), "cpus", "--cpus-per-gpu and --cpus-per-task exclude each other."


def _gpus_refused(options: Mapping[str, str]) -> Iterator[Refusal]:
    """How the GPU options of a job bound each other."""
    named = gpus_named(options)
    job, task = named.get("gpus", 0), named.get("gpus-per-task", 0)
    node = named.get("gres", 0) or named.get("gpus-per-node", 0)
    if "mem-per-gpu" in options and not any(named.values()) and "ntasks-per-gpu" not in options:
        yield ("mem-per-gpu",), "no_gpus", "--mem-per-gpu is set, but no GPUs are requested."
    if "ntasks-per-gpu" in options and not any(named.values()) and not options.keys() & {"ntasks", "nodes"}:
        yield ("ntasks-per-gpu",), "no_gpus", "--ntasks-per-gpu needs GPUs, --ntasks or --nodes."
    if "ntasks-per-gpu" in options and not any(named.values()):
        yield from _gpus_of_tasks_refused(options)
    if "gpus-per-socket" in named and "sockets-per-node" not in options:
        yield ("gpus-per-socket",), "sockets", "--gpus-per-socket needs --sockets-per-node."
    is_known = bool(job or tasks_of(options) or re.search(r"\d", options.get("extra-node-info", "")))
    if task and not is_known:
        yield ("gpus-per-task",), "gpus_per_task", "--gpus-per-task needs --ntasks or --gpus."
    types = {bool(kind) for option in named for kind, number in gpus_of(option, options[option]) or () if number}
    if len(types) > 1:
        yield tuple(named), "gpu_types", "GPUs are requested with and without a type."
    wanted = int(options.get("ntasks-per-node", 0))
    if task and node and (node % task or (wanted and node // task != wanted)):
        names = ("gpus-per-node", "gpus-per-task", "ntasks-per-node")
        yield names, "gpu_forms", "The GPUs of each node and of each task, and --ntasks-per-node disagree."
    if job:
        yield from _gpus_of_job_refused(options, job, node, task)


def _gpus_of_tasks_refused(options: Mapping[str, str]) -> Iterator[Refusal]:
    """The GPUs that follow from the tasks where no option names any."""
    tasks, each = int(options.get("ntasks", 0)), int(options["ntasks-per-gpu"])
    if tasks < each or not each:
        return
    if tasks % each:
        yield ("ntasks", "ntasks-per-gpu"), "per_gpu", "--ntasks is not a multiple of --ntasks-per-gpu."
    if tasks // each < nodes_of(options)[0]:
        yield ("ntasks", "ntasks-per-gpu", "nodes"), "gpus_nodes", "--ntasks-per-gpu gives fewer GPUs than --nodes."


def _gpus_of_job_refused(options: Mapping[str, str], job: int, node: int, task: int) -> Iterator[Refusal]:
    least, most = nodes_of(options)
    fewest = min(number for _, number in gpus_of("gpus", options["gpus"]) or [("", 0)])
    if fewest < least:
        yield ("gpus", "nodes"), "gpus_nodes", "--gpus is less than --nodes."
    elif node and job % node:
        yield ("gpus", "gpus-per-node", "gres"), "gpu_forms", "--gpus is not a multiple of the GPUs of each node."
    elif node and not least <= job // node <= most:
        yield ("gpus", "gpus-per-node", "nodes"), "gpu_forms", "--gpus, the GPUs of each node and --nodes disagree."
    tasks = tasks_of(options)
    if task and job % task:
        yield ("gpus", "gpus-per-task"), "gpu_forms", "--gpus is not a multiple of --gpus-per-task."
    elif task and tasks and tasks * task != job:
        yield ("gpus", "gpus-per-task", "ntasks"), "gpu_forms", "--gpus, --gpus-per-task and --ntasks disagree."


def nodes_of(options: Mapping[str, str]) -> tuple[int, int]:
    """Least and most nodes; no more than tasks, as sbatch lowers them.

    >>> nodes_of({"nodes": "2-4"}), nodes_of({"nodes": "4", "ntasks": "3"})
    ((2, 4), (3, 3))
    """
    least, _, most = options.get("nodes", "").partition("-")
    if not least.isdecimal():
        return 1, NODES_MAX
    bounds = int(least), int(most) if most.isdecimal() else int(least)
    tasks = options.get("ntasks", "")
    return (int(tasks), int(tasks)) if tasks and int(tasks) < bounds[0] else bounds


def tasks_of(options: Mapping[str, str]) -> int:
    """The tasks that sbatch knows of; 0 where it leaves them open.

    >>> tasks_of({"ntasks": "8"}), tasks_of({"nodes": "2", "ntasks-per-node": "4"}), tasks_of({"nodes": "1-3"})
    (8, 8, 0)
    """
    if "ntasks" in options:
        return int(options["ntasks"])
    least, most = nodes_of(options)
    if "nodes" in options and least != most:
        return 0
    if "ntasks-per-node" in options:
        return least * int(options["ntasks-per-node"])
    return least if "nodes" in options and "cpus-per-task" not in options else 0


def _minutes(options: Mapping[str, str], name: str) -> int:
    """A limit in minutes; without one, of `time` more than any and of another option none."""
    limit = minutes(options.get(name, "UNLIMITED"))
    return (1 << 62 if name == "time" else 0) if limit is None else limit
