"""sbatch options: from a wanted shape to the changed options, in the spelling the user wrote.

Source of the option names and value forms: sbatch(1), Slurm 24.05.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

GPU_OPTIONS = ("--gpus", "--gpus-per-node", "--gres", "--gpus-per-task")
GRES_GPU = re.compile(r"(?P<name>(?:gres[:/])?gpu(?::[A-Za-z][\w-]*)?)(?::\d+)?\Z")
COUNT = re.compile(r"(?P<type>(?:[A-Za-z][\w-]*:)?)\d+\Z")


@dataclass(frozen=True)
class Shape:
    """A request: `cores` and `memory_gb` (2^30 bytes) over all nodes; None is not known or not asked for."""

    nodes: int
    gpus: int
    ntasks: int | None = None
    cores: int | None = None
    memory_gb: float | None = None
    walltime_s: float | None = None
    partition: str = ""
    is_exclusive: bool = False


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


def option_changes(request: Mapping[str, str], now: Shape, wanted: Shape) -> tuple[OptionChange, ...]:
    """The options to change so that a job like `now` asks for `wanted`, each in the form the user wrote it.

    Where the user's own spelling is not known (a record from sacct), the plainest option stands for it. An
    option whose value stays the same is left out.
    """
    spelled = {**_spelled_out(request, now), **request}
    advised = (
        (option, spelled[option], _advised(option, spelled[option], now, wanted))
        for option in sorted(spelled, key=_reading_order)
    )
    changes = [OptionChange(option, old, new) for option, old, new in advised if new is not None and new != old]
    if "--exclusive" in request and now.is_exclusive and not wanted.is_exclusive:
        changes.append(OptionChange("--exclusive", request["--exclusive"], ""))
    return tuple(changes)


def walltime_text(seconds: float) -> str:
    """Seconds in Slurm's spelling.

    >>> walltime_text(5400), walltime_text(30 * 3600)
    ('01:30:00', '1-06:00:00')
    """
    days, rest = divmod(round(seconds), 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


READING_ORDER = (
    "--partition --nodes --gpus --gpus-per-node --gres --gpus-per-task --ntasks --ntasks-per-node"
    " --cpus-per-task --cpus-per-gpu --mem --mem-per-gpu --time"
).split()


def _reading_order(option: str) -> tuple[int, str]:
    return (READING_ORDER.index(option) if option in READING_ORDER else len(READING_ORDER)), option


def _spelled_out(request: Mapping[str, str], now: Shape) -> dict[str, str]:
    """Plain options for what the request must have held but does not show."""
    plain: dict[str, str] = {}
    if not any(option in request for option in GPU_OPTIONS):
        plain["--gpus"] = str(now.gpus)
    if now.ntasks and not {"--ntasks", "--ntasks-per-node", "--ntasks-per-gpu"} & request.keys():
        plain["--ntasks"] = str(now.ntasks)
    if now.walltime_s and "--time" not in request:
        plain["--time"] = walltime_text(now.walltime_s)
    if now.partition and "--partition" not in request:
        plain["--partition"] = now.partition
    return plain


def _advised(option: str, written: str, now: Shape, wanted: Shape) -> str | None:
    """The new value of one option in its own form, the old one where nothing changes, None where none is known."""
    return dict(_values(written, now, wanted)).get(option)


def _values(written: str, now: Shape, wanted: Shape) -> Iterator[tuple[str, str]]:
    gpus_per_node = math.ceil(wanted.gpus / wanted.nodes)
    yield "--gres", _gres(written, gpus_per_node)
    yield "--gpus", _counted(written, wanted.gpus)
    yield "--gpus-per-node", _counted(written, gpus_per_node)
    if wanted.ntasks:
        yield "--gpus-per-task", _counted(written, math.ceil(wanted.gpus / wanted.ntasks))
    if wanted.partition:
        yield "--partition", wanted.partition
    if wanted.nodes != now.nodes:
        yield "--nodes", str(wanted.nodes)
    if wanted.ntasks and wanted.ntasks != now.ntasks:
        yield "--ntasks", str(wanted.ntasks)
        yield "--ntasks-per-node", str(math.ceil(wanted.ntasks / wanted.nodes))
    if wanted.cores and wanted.cores != now.cores:
        yield "--cpus-per-task", str(max(wanted.cores // (wanted.ntasks or 1), 1))
        yield "--cpus-per-gpu", str(max(wanted.cores // wanted.gpus, 1))
    if wanted.memory_gb is not None and wanted.memory_gb != now.memory_gb:
        yield "--mem", f"{math.ceil(wanted.memory_gb / wanted.nodes)}G"
        yield "--mem-per-gpu", f"{math.ceil(wanted.memory_gb / wanted.gpus)}G"
    if wanted.walltime_s and wanted.walltime_s != now.walltime_s:
        yield "--time", walltime_text(wanted.walltime_s)


def _counted(written: str, count: int) -> str:
    """A GPU count with the type the user wrote: `mi250:8` keeps `mi250:`."""
    spelled = COUNT.match(written)
    return f"{spelled['type'] if spelled else ''}{count}"


def _gres(written: str, count: int) -> str:
    """A --gres list with its GPU element recounted and all others kept.

    >>> _gres("gpu:mi250:8,nvme:1", 2)
    'gpu:mi250:2,nvme:1'
    """
    elements = (GRES_GPU.match(element) or element for element in written.split(","))
    return ",".join(e if isinstance(e, str) else f"{e['name']}:{count}" for e in elements)
