"""The ways to spell a wanted shape in sbatch options: the user's own options first, then replacements.

An edit maps options to new values; None leaves the option out. `shape_of` decides which edit reaches the shape.
"""

from collections.abc import Iterator, Mapping
from itertools import product

from jobs.hardware import Partition
from jobs.sbatch_shape import Shape, memory_option, shape_of
from jobs.sbatch_values import (
    CPU_COUNTS,
    MEMORY_OPTIONS,
    gpu_options,
    gpu_type_of,
    memory_text,
    recounted,
    typed,
    without_gpus,
)

Edit = Mapping[str, str | None]


def edited(request: Mapping[str, str], edit: Edit) -> dict[str, str]:
    """The request with the edit made."""
    merged: dict[str, str | None] = {**request, **edit}
    return {option: value for option, value in merged.items() if value is not None}


def edits_towards(
    request: Mapping[str, str], now: Shape, target: Shape, partition: Partition | None, threads_per_core: int
) -> Iterator[dict[str, str | None]]:
    """Every useful way to spell the target's counts: the user's own options before replacements."""
    bare = {option: text for option, text in request.items() if option not in (*CPU_COUNTS, *MEMORY_OPTIONS)}
    node_edits: tuple[Edit, ...] = ({}, {"--nodes": str(target.nodes)})
    for parts in product(node_edits, _gpu_edits(request, target), _task_edits(request, target)):
        edit = {option: value for part in parts for option, value in part.items()}
        shape = shape_of(edited(bare, edit), partition, now)
        if shape is None or not shape.ntasks:
            continue
        same = shape.gpus == target.gpus and target.ntasks in (None, shape.ntasks)
        if shape.nodes == target.nodes and not same:
            continue
        cores, memory = _core_edits(request, target, shape.ntasks), _memory_edits(request, target, threads_per_core)
        for more in product(cores, memory):
            yield {**edit, **more[0], **more[1]}


def _gpu_edits(request: Mapping[str, str], target: Shape) -> Iterator[Edit]:
    """The user's own GPU options, each unchanged or with a new count; then --gpus-per-node or --gpus instead."""
    options = gpu_options(request)
    counts = {
        "--gpus": target.gpus,
        "--gpus-per-task": _quotient(target.gpus, target.ntasks),
        **dict.fromkeys(("--gpus-per-node", "--gres", "--gpus-per-socket"), _quotient(target.gpus, target.nodes)),
    }
    own: list[tuple[Edit, ...]] = []
    for option in options:
        count = counts[option]
        text = recounted(option, request[option], count) if count else None
        own.append(({}, {option: text}) if text else ({},))
    for parts in product(*own):
        yield {option: value for part in parts for option, value in part.items()}
    removed: dict[str, str | None] = {
        option: without_gpus(request[option]) if option == "--gres" else None for option in options
    }
    gpu_type = gpu_type_of(request)
    for option in ("--gpus-per-node", "--gpus") if target.gpus else ():
        if count := counts[option]:
            yield {**removed, option: typed(gpu_type, count)}
    if not target.gpus:
        yield removed


def _task_edits(request: Mapping[str, str], target: Shape) -> Iterator[Edit]:
    """The user's own task options, each unchanged, recounted or left out; then --ntasks in addition or instead."""
    if target.ntasks is None:
        yield {}
        return
    counts = {
        "--ntasks": target.ntasks,
        "--ntasks-per-node": _quotient(target.ntasks, target.nodes),
        "--ntasks-per-gpu": _quotient(target.ntasks, target.gpus),
    }
    own: list[tuple[Edit, ...]] = []
    for option, count in counts.items():
        recount: Edit = {option: str(count)}
        if option in request:
            own.append(({}, recount, {option: None}) if count else ({}, {option: None}))
        elif option == "--ntasks":
            own.append(({}, recount))
    for parts in product(*own):
        yield {option: value for part in parts for option, value in part.items()}


def _core_edits(request: Mapping[str, str], target: Shape, ntasks: int) -> Iterator[Edit]:
    """The user's own option for cores, unchanged or with a new count; else --cpus-per-task, or its default of one."""
    yield {}
    if target.cores is None:
        return
    per_gpu, per_task = _quotient(target.cores, target.gpus), _quotient(target.cores, ntasks)
    if "--cpus-per-gpu" in request and per_gpu:
        yield {"--cpus-per-gpu": str(per_gpu)}
    if per_task:
        yield {"--cpus-per-gpu": None, "--cpus-per-task": str(per_task)}
    if target.cores == ntasks:
        yield {"--cpus-per-gpu": None}


def _memory_edits(request: Mapping[str, str], target: Shape, threads_per_core: int) -> Iterator[Edit]:
    """The user's own memory option, unchanged or with a new value; else --mem."""
    yield {}
    if target.memory_gb is None:
        return
    own = memory_option(request)
    threads = (target.cores or 0) * threads_per_core
    share = {"--mem-per-gpu": target.gpus, "--mem-per-cpu": threads}.get(own or "", 0)
    if own and share and (text := memory_text(target.memory_gb / share)):
        yield {own: text}
    if text := memory_text(target.memory_gb / target.nodes):
        yield {**dict.fromkeys(MEMORY_OPTIONS, None), "--mem": text}


def _quotient(count: int, shares: int | None) -> int | None:
    """`count` in equal whole shares; None where there are no such shares."""
    return count // shares if shares and not count % shares else None
