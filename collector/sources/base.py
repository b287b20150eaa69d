"""What every source of GPU numbers offers to the sampling loop."""

from __future__ import annotations

from collector.totals import GpuTotals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# PCI device ids whose two dies share one package and its power sensor: MI250X and MI250 (amdgpu_drv.c).
TWO_DIE_MODELS = (0x7408, 0x740C)


class SourceError(Exception):
    """A source that cannot be used on this node; the message states why."""


class Gpu:
    """One GPU of the job: `index` is Slurm's, `module_id` the package it shares with its neighbour, or None."""

    __slots__ = ("bus", "index", "mem_total_bytes", "module_id", "power_cap_w", "power_from", "totals")

    def __init__(self, index: int, bus: str = "", module_id: int | None = None) -> None:
        self.index = index
        self.bus = bus
        self.module_id = module_id
        self.mem_total_bytes: float | None = None
        self.power_cap_w: float | None = None
        # "gpu": a number of its own; "module": of it and its neighbour; "": none, because the primary die reports it or
        # for a reason in the totals.
        self.power_from = "gpu"
        self.totals = GpuTotals()

    def state(self) -> dict[str, Any]:
        named = {name: getattr(self, name) for name in Gpu.__slots__ if name != "totals"}
        return {**named, "totals": self.totals.state()}


class Source:
    """One way to read the job's GPUs: `tick` adds a sample to each GPU's totals, `slow_tick` what may be read less
    often.

    Neither raises for a GPU that cannot be read: it records this in the totals and the time stays unmeasured. A read
    that does not answer within `hang_s` is interrupted by a TimeoutError; if it happens in foreign code (`is_foreign`),
    the process ends instead. `needs_root`: it opens files at every tick that not everybody may read.
    """

    name = ""
    interval_min_s = 0.0
    hang_s = 2.0
    is_foreign = False
    needs_root = False

    def __init__(self, gpus: list[Gpu]) -> None:
        self.gpus = gpus

    def tick(self, dt_s: float) -> None:
        """One sample of every GPU, which counts for `dt_s`; each source implements it."""

    def slow_tick(self, dt_s: float) -> None:
        """Values that need not be read at every tick; most sources have none."""

    def settle(self) -> None:
        """Bring the totals up to the last tick, if a source postpones some of its work."""

    def pause(self, dt_s: float) -> None:
        """The job was suspended for `dt_s`: nothing in that time is use."""

    def state(self) -> dict[str, Any]:
        """What a restarted collector needs beside the totals."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""


def share_power(gpus: list[Gpu], reporting: list[bool], parts: int = 2) -> None:
    """Decide whose power is whose: a package's power counts for the job only if it has all parts, on the GPU that
    reports it.

    `reporting` states which of `gpus` report power at all; a GPU without `module_id` has a sensor of its own.
    """
    held = [gpu.module_id for gpu in gpus]
    told = {gpu.module_id for gpu, has_power in zip(gpus, reporting) if has_power}
    for gpu, has_power in zip(gpus, reporting):
        is_package = gpu.module_id is not None
        gpu.power_from = ""
        if is_package and held.count(gpu.module_id) < parts:
            gpu.totals.miss("power", "shared module: its other GPU is not this job's")
        elif has_power:
            gpu.power_from = "module" if is_package else "gpu"
        elif not is_package or gpu.module_id not in told:
            gpu.totals.miss("power", "not reported for this GPU")


def number(text: bytes | str | None) -> float | None:
    """A number that may be surrounded by text or missing: `(1700Mhz)`, `N/A`, empty.

    >>> number("(1700Mhz)"), number("45.0"), number("N/A (Secondary die)"), number("None"), number(b"12 ")
    (1700.0, 45.0, None, None, 12.0)
    """
    if text is None:
        return None
    written = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    digits = written.strip().lstrip("(")
    end = 0
    while end < len(digits) and (digits[end].isdigit() or digits[end] in ".-"):
        end += 1
    try:
        return float(digits[:end])
    except ValueError:
        return None
