"""GPUs through a vendor's command, for nodes whose driver files are not readable: slower, more expensive, never in
parallel."""

from __future__ import annotations

import time

from collector.commands import output
from collector.sources.base import TWO_DIE_MODELS, Gpu, Source, SourceError, share_power

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIMEOUT_S = 8.0
"""rocm_smi_lib waits 5 s for a mutex that a killed process may have left locked (rocm_smi_lib issue 88)."""

BACK_OFF_S_MAX = 600.0
INTERVAL_S_MIN = 10.0
"""A call costs about 0.08 s of a core (measured): a tenth of a hertz keeps it below one percent."""


class Reading:
    """What a command reported about one GPU; None is not reported. Memory in bytes."""

    util: float | None
    used_bytes: float | None
    total_bytes: float | None
    power_w: float | None
    temperature_c: float | None
    gfx_clock_mhz: float | None
    mem_clock_mhz: float | None
    bus: str | None
    device_id: int | None

    __slots__ = tuple(__annotations__)

    def __init__(self, **values: float | str | None) -> None:
        for name in Reading.__slots__:
            setattr(self, name, values.get(name))


class SmiSource(Source):
    """`command` is run once an interval; `readings` turns its output into a reading by GPU index."""

    interval_min_s = INTERVAL_S_MIN
    hang_s = TIMEOUT_S + 4.0
    needs_root = True

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        readings: Callable[[str], dict[int, Reading]],
        indices: list[int] | None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.name, self.command, self.readings, self.timeout_s = name, list(command), readings, timeout_s
        self.failures, self.silent_until = 0, 0.0
        found = self._read()
        wanted = indices if indices is not None else sorted(found)
        unknown = [index for index in wanted if index not in found]
        if unknown:
            raise SourceError(f"{name} does not list GPU {unknown[0]}")
        super().__init__([_gpu(index, found[index]) for index in wanted])
        share_power(self.gpus, [found[index].power_w is not None for index in wanted])

    def tick(self, dt_s: float) -> None:
        if time.monotonic() < self.silent_until:
            return
        try:
            found = self._read()
        except SourceError as error:
            self.failures += 1
            self.silent_until = time.monotonic() + min(self.timeout_s * 2**self.failures, BACK_OFF_S_MAX)
            for gpu in self.gpus:
                gpu.totals.miss("unreadable", f"for some of the time: {error}")
            return
        self.failures = 0
        for gpu in self.gpus:
            _add(gpu, dt_s, found.get(gpu.index, Reading()))

    def _read(self) -> dict[int, Reading]:
        try:
            _, printed = output(self.command, self.timeout_s)
            found = self.readings(printed)
        except TimeoutError as error:
            raise SourceError(f"{self.name} did not answer within {self.timeout_s:g} s") from error
        except OSError as error:
            raise SourceError(f"{self.name}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"{self.name} printed an unknown format") from error
        if not found:
            raise SourceError(f"{self.name} listed no GPU")
        return found


def _gpu(index: int, reading: Reading) -> Gpu:
    gpu = Gpu(index, reading.bus or "", index // 2 if reading.device_id in TWO_DIE_MODELS else None)
    gpu.mem_total_bytes = reading.total_bytes
    gpu.totals.miss("energy", "not read through this source")
    return gpu


def _add(gpu: Gpu, dt_s: float, reading: Reading) -> None:
    totals = gpu.totals
    if reading.util is None or not 0 <= reading.util <= 100:
        totals.miss("unreadable", "for some of the time: no busy percent")
        return
    if reading.used_bytes is None or reading.used_bytes > (gpu.mem_total_bytes or float("inf")):
        totals.miss("peak_mem_gb", "no usable reading for some of the time")
        totals.add_util(dt_s, reading.util)
    else:
        totals.add(dt_s, reading.util, int(reading.used_bytes))
    if gpu.power_from and reading.power_w is not None:
        totals.add_power(dt_s, reading.power_w)
    if reading.temperature_c is not None:
        totals.temperature_peak_c = max(totals.temperature_peak_c, reading.temperature_c)
    totals.add_clocks(reading.gfx_clock_mhz, reading.mem_clock_mhz)


def json_in(text: str) -> str:
    """The JSON document inside whatever else a tool printed before and after it.

    >>> json_in('WARNING: groups\\n{"card0": {}}\\n')
    '{"card0": {}}'
    """
    starts = [position for position in (text.find("{"), text.find("[")) if position >= 0]
    end = max(text.rfind("}"), text.rfind("]"))
    return text[min(starts) : end + 1] if starts and end >= 0 else ""
