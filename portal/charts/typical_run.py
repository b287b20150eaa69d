"""The typical run of a work in words and numbers, its failed runs, and the sizes at which its runs fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analysis.findings import FindingCode
from analysis.works.failure_sizes import FailureSize
from analysis.works.failures import Failures, SharedTrait
from analysis.works.patterns import KindOfWork, Patterns, Spread, WorkloadKind, without_use
from analysis.works.runs import PastRun
from reports.insight_texts import no_use_text
from reports.numbers import share, unbroken
from reports.wording import TITLES
from wire.numbers import counted, duration, gigabytes, percent

KIND_NAMES = {
    WorkloadKind.GPU: "GPU-bound",
    WorkloadKind.CPU: "CPU-bound",
    WorkloadKind.MEMORY: "Memory-bound",
    WorkloadKind.IO: "I/O-bound",
    WorkloadKind.WAITING: "Waiting",
}
KIND_TEXTS = {
    WorkloadKind.GPU: "its GPUs are busy",
    WorkloadKind.CPU: "its GPUs wait for busy cores",
    WorkloadKind.MEMORY: "its memory filled up",
    WorkloadKind.IO: "it waits for files",
    WorkloadKind.WAITING: "its GPUs wait while neither cores nor files are the cause, or only spin",
}
NAMES: dict[str, tuple[str, Callable[[float], str]]] = {
    "gpu_use": ("GPU use", lambda value: unbroken(percent(value))),
    "gpu_memory": ("GPU memory, fullest GPU", lambda value: _whole(gigabytes(value))),
    "cores": ("Busy CPU cores", lambda value: f"{value:,.1f}"),
    "host_memory": ("Host memory", lambda value: _whole(gigabytes(value))),
    "run_time": ("Run time", lambda value: _whole(duration(value))),
}
FAILED_HOW = {"memory": "Out of memory", "time": "Time limit reached", "failed": "Failed"}


@dataclass(frozen=True)
class SpreadRow:
    """One quantity; `middle_half` is empty for few runs."""

    name: str
    median: str
    middle_half: str
    runs: int


@dataclass(frozen=True)
class Typical:
    """The typical run; `kind` and `evidence` are empty where use was not measured."""

    of: Patterns
    rows: tuple[SpreadRow, ...]
    kind: str
    kind_text: str
    evidence: tuple[str, ...]


def typical(found: Patterns) -> Typical:
    """The patterns of a work as its page shows them."""
    kind = found.kind
    name = "" if kind is None else KIND_NAMES[kind.kind] if kind.kind else "No clear kind"
    return Typical(
        found,
        tuple(_row(each) for each in found.spreads),
        name,
        KIND_TEXTS[kind.kind] if kind and kind.kind else "",
        _evidence(kind) if kind else (),
    )


def _row(found: Spread) -> SpreadRow:
    name, shown = NAMES[found.name]
    half = "" if found.low is None or found.high is None else f"{shown(found.low)} – {shown(found.high)}"
    return SpreadRow(name, shown(found.median), half, found.runs)


def _evidence(kind: KindOfWork) -> tuple[str, ...]:
    """The measured numbers that a kind rests on."""
    runs = counted(kind.measured, "measured run")
    of_kind = f"{kind.runs:,} of {runs}" if kind.kind else f"no kind in more than half of {runs}"
    numbers = (
        ("median GPU use", kind.gpu_fraction),
        ("busy part of the cores", kind.cores_fraction),
        ("I/O wait", kind.io_fraction),
    )
    counts = (("filled the memory", kind.memory_runs), ("kept GPUs busy at low power", kind.spinning_runs))
    return (
        of_kind,
        *(f"{name} {unbroken(share(value))}" for name, value in numbers if value is not None),
        *(f"{count:,} {what}" for what, count in counts if count),
    )


def size_sentence(found: FailureSize) -> str:
    """A failure that depends on a size, with its counts.

    >>> size_sentence(FailureSize("memory", "gpus", 8, 4, 5, 0, 12)).replace(chr(160), " ")
    'Out of memory: 4 of 5 runs with more than 8 GPUs, 0 of 12 with 8 GPUs or fewer.'
    """
    limit = _size(found.size, found.limit)
    less = "fewer" if found.size in ("gpus", "nodes", "ntasks") else "less"
    above = f"{found.failed_above:,} of {{}} with more than {limit}"
    below = f"{found.failed_below:,} of {{}} with {limit} or {less}"
    parts = [(above, found.runs_above), (below, found.runs_below)]
    (first, runs), (second, others) = parts if found.is_above else parts[::-1]
    return f"{FAILED_HOW[found.failure]}: {first.format(counted(runs, 'run'))}, {second.format(f'{others:,}')}."


def _size(name: str, value: float) -> str:
    match name:
        case "memory_gb":
            return f"{_whole(gigabytes(value))} of memory"
        case "walltime_s":
            return f"a time limit of {_whole(duration(value))}"
    return _whole(counted(value, {"gpus": "GPU", "nodes": "node", "ntasks": "task"}[name]))


def _whole(text: str) -> str:
    """A number and its unit on one line."""
    return text.replace(" ", "\u00a0")


def unused_text(runs: Sequence[PastRun]) -> str:
    """That runs of a work, the latest first, used no GPU at all; empty where every one used its GPUs."""
    found = without_use(runs)
    return no_use_text(found.runs, found.of, found.gpu_hours, is_over=found.is_over) if found else ""


@dataclass(frozen=True)
class FailureList:
    """The counts, and what the failed runs had in common, sentence by sentence."""

    of: Failures
    common: tuple[str, ...]


def failure_list(failed: Failures, sizes: Iterable[FailureSize] = ()) -> FailureList:
    """The states with their sentences, those about sizes first."""
    findings = tuple(
        f"{TITLES[FindingCode(code)]}: found in {runs:,} of {counted(failed.judged, 'failed run')} with a report."
        for code, runs in failed.findings
        if code in TITLES
    )
    return FailureList(
        failed, (*(size_sentence(found) for found in sizes), *(_sentence(trait) for trait in failed.traits), *findings)
    )


def _sentence(trait: SharedTrait) -> str:
    completed = f"{trait.completed:,} of {counted(trait.completed_of, 'completed run')}"
    return f"All failed runs had {_named(trait)}; so had {completed} ({share(trait.completed / trait.completed_of)})."


def _named(trait: SharedTrait) -> str:
    """One thing that runs were given, with its number.

    >>> _named(SharedTrait("gpus", 8, 0, 4)), _named(SharedTrait("walltime_s", 3600.0, 0, 4))
    ('8 GPUs', 'a time limit of 1 h 00 min')
    """
    match trait.name, trait.value:
        case "partition", value:
            return f"the partition {value}"
        case "memory_gb", float() | int() as value:
            return f"{gigabytes(float(value))} of memory"
        case "walltime_s", float() | int() as value:
            return f"a time limit of {duration(value)}"
        case name, int() as value:
            return counted(value, {"gpus": "GPU", "nodes": "node", "ntasks": "task"}[name])
        case name, value:
            return f"{name} {value}"
