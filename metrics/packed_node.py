"""The measurements of a node's GPUs and host as two columns of bytes, and back.

`figures` holds the numbers and what is missing; `series`, which is deleted earlier, the timelines and histograms.
Both are zlib of msgpack. One row a node instead of one a GPU takes a third of the space and a tenth of the time.
"""

import math
import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from metrics.gpu_fields import GPU_FIELDS
from metrics.packing import Packed, pack_histogram, pack_numbers, pack_timeline
from metrics.payloads import CpuPayload, NodePayload

GPU_NUMBERS = tuple(field.name for field in GPU_FIELDS)
"""The columns of `Figures.numbers`, in their order. New ones are added at the end: rows without them have no value."""

NUMBER_BYTES = 8
WHOLE_NUMBERS = {field.name for field in GPU_FIELDS if field.is_whole}

HOST_NUMBERS = (
    *("cores_allocated", "busy_cores_avg", "user_fraction", "system_fraction", "iowait_fraction", "idle_fraction"),
    *("ranks", "threads_per_rank", "peak_memory_gb", "peak_memory_anon_gb", "memory_limit_gb", "oom_kills"),
    *("pressure_cpu_s", "pressure_memory_s", "pressure_io_s"),
)
"""The entries of `Figures.host`, in their order; new ones are added at the end."""

ZLIB_LEVEL = 1
"""Eight GPUs of the sample jobs take 3.8 kB at level 1, at level 6 2 % less in more than twice the time."""


class Figures(msgspec.Struct, array_like=True, frozen=True):
    """For g GPUs: `numbers` is float64 `(g, len(GPU_NUMBERS))`, NaN where nothing was measured.

    `host` is None where the node sent nothing about its host.
    """

    numbers: bytes = b""
    pci_bus: tuple[str, ...] = ()
    missing: tuple[dict[str, str], ...] = ()
    host: tuple[float | int | None, ...] | None = None
    host_missing: dict[str, str] = {}

    def table(self) -> NDArray[np.float64]:
        """The numbers as `(g, len(GPU_NUMBERS))`."""
        gpus = len(self.pci_bus)
        known = len(self.numbers) // (NUMBER_BYTES * gpus) if gpus else len(GPU_NUMBERS)
        rows = np.frombuffer(self.numbers, dtype="<f8").reshape(gpus, known)
        lacking = len(GPU_NUMBERS) - known
        return np.pad(rows, ((0, 0), (0, lacking)), constant_values=np.nan) if lacking else rows

    def gpus(self) -> list[dict[str, Any]]:
        """One mapping a GPU: `GPU_NUMBERS`, `pci_bus` and `missing`; None where nothing was measured."""
        rows = zip(self.table().tolist(), self.pci_bus, self.missing, strict=True)
        return [
            {**dict(map(_read, GPU_NUMBERS, numbers)), "pci_bus": bus, "missing": missing}
            for numbers, bus, missing in rows
        ]

    def host_numbers(self) -> dict[str, float | int | None]:
        """`HOST_NUMBERS` by name; empty where the node sent nothing about its host."""
        return dict(zip(HOST_NUMBERS, self.host or (), strict=False))


class Series(msgspec.Struct, array_like=True, frozen=True):
    """For each GPU the width of its buckets, two packed timelines and a packed histogram, each empty where not sent."""

    step_s: tuple[float | None, ...] = ()
    util: tuple[bytes, ...] = ()
    mem_gb: tuple[bytes, ...] = ()
    histogram_s: tuple[bytes, ...] = ()


_figures, _series = msgspec.msgpack.Decoder(Figures), msgspec.msgpack.Decoder(Series)


def pack_node(payload: NodePayload) -> tuple[bytes, bytes]:
    """`(figures, series)` of a summary, its GPUs in the order of their numbers."""
    gpus = sorted(payload.gpus, key=lambda gpu: gpu.gpu_id)
    cpu = payload.cpu
    figures = Figures(
        numbers=pack_numbers([getattr(gpu, name) for gpu in gpus for name in GPU_NUMBERS]),
        pci_bus=tuple(gpu.pci_bus or "" for gpu in gpus),
        missing=tuple(gpu.missing for gpu in gpus),
        host=None if cpu is None else tuple(getattr(cpu, name) for name in HOST_NUMBERS),
        host_missing={} if cpu is None else cpu.missing,
    )
    timelines = [gpu.timeline for gpu in gpus]
    series = Series(
        step_s=tuple(timeline.step_s if timeline else None for timeline in timelines),
        util=tuple(pack_timeline(timeline.util) if timeline else b"" for timeline in timelines),
        mem_gb=tuple(pack_timeline(timeline.mem_gb) if timeline else b"" for timeline in timelines),
        histogram_s=tuple(pack_histogram(gpu.util_histogram_s) for gpu in gpus),
    )
    return pack(figures), pack(series)


def pack(part: Figures | Series) -> bytes:
    """The bytes of one column."""
    return zlib.compress(msgspec.msgpack.encode(part), ZLIB_LEVEL)


def unpack_figures(packed: Packed) -> Figures:
    """The content of `figures`. Raises zlib.error or msgspec.MsgspecError where it was damaged."""
    return _figures.decode(zlib.decompress(packed))


def unpack_series(packed: bytes, gpus: int) -> Series:
    """The content of `series` for this many GPUs; empty for each where it is no longer stored."""
    if not packed:
        return Series((None,) * gpus, *((b"",) * gpus for _ in range(3)))
    return _series.decode(zlib.decompress(packed))


def host_peak_gb(cpu: CpuPayload | None) -> float | None:
    """Host memory of a node at its fullest, in 2^30 bytes, without files' cached pages where that was measured."""
    if cpu is None or cpu.peak_memory_gb is None:
        return None
    return cpu.peak_memory_gb if cpu.peak_memory_anon_gb is None else cpu.peak_memory_anon_gb


def _read(name: str, value: float) -> tuple[str, float | int | None]:
    if math.isnan(value):
        return name, None
    return name, int(value) if name in WHOLE_NUMBERS else value
