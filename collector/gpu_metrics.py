"""The binary `gpu_metrics` table of amdgpu: the position of each field in every fixed layout, and two readers of it.

Source: Linux drivers/gpu/drm/amd/include/kgd_pp_interface.h, struct gpu_metrics_v1_0 … v1_8, natural alignment on
x86-64, little endian; a layout is accepted only if the header, the size in it and the bytes read agree. Content
revisions from 1.9 on are not fixed structures; for these the text files are used.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Fields = dict[str, tuple[str, int]]

HEADER = struct.Struct("<HBB")

ENERGY_J = 1.0 / 65536
"""One count of the energy accumulator (smu13_driver_if_aldebaran.h: 15.259 uJ, exactly 2^-16 J)."""

FIRMWARE_TICK_S = 1e-8
"""One count of `firmware_timestamp` (same header: 10 ns resolution)."""

U16_NONE, U32_NONE, U64_NONE = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
"""The value of a field that the driver does not write (smu_cmn_init_soft_gpu_metrics fills with 0xff)."""

# A field by its struct code and its byte offset; fields that a layout lacks are not listed.
_FAST = ("activity", "power_w")
_SLOW = ("hotspot_c", "gfx_clock_mhz", "mem_clock_mhz", "throttle", "energy", "busy_acc", "busy_ticks", "stamp")

_V1_EARLY = {
    "hotspot_c": ("H", 6),
    "activity": ("H", 16),
    "power_w": ("H", 22),
    "energy": ("Q", 24),
    "gfx_clock_mhz": ("H", 54),
    "mem_clock_mhz": ("H", 58),
    "throttle": ("I", 68),
    "busy_acc": ("I", 80),
}


def _late(*, energy: int, stamp: int, gfx_clock: int, mem_clock: int, **counts: int) -> Fields:
    """The fields of a layout from 1.4 on by their offsets."""
    return {
        **{"hotspot_c": ("H", 4), "power_w": ("H", 10), "activity": ("H", 12)},
        **{"energy": ("Q", energy), "stamp": ("Q", stamp)},
        **{"gfx_clock_mhz": ("H", gfx_clock), "mem_clock_mhz": ("H", mem_clock)},
        **{name: ("I", offset) for name, offset in counts.items()},
    }


# (format, content) -> (size in bytes, fields)
LAYOUTS: dict[tuple[int, int], tuple[int, Fields]] = {
    (1, 0): (
        80,
        {
            "hotspot_c": ("H", 18),
            "activity": ("H", 28),
            "power_w": ("H", 34),
            "energy": ("I", 36),
            "gfx_clock_mhz": ("H", 54),
            "mem_clock_mhz": ("H", 58),
            "throttle": ("I", 68),
        },
    ),
    (1, 1): (96, _V1_EARLY),
    (1, 2): (104, {**_V1_EARLY, "stamp": ("Q", 96)}),
    (1, 3): (120, {**_V1_EARLY, "stamp": ("Q", 96)}),
    (1, 4): (288, _late(energy=24, stamp=232, gfx_clock=240, mem_clock=280, throttle=40, busy_acc=56)),
    (1, 5): (360, _late(energy=88, stamp=304, gfx_clock=312, mem_clock=352, throttle=104, busy_acc=120)),
    (1, 6): (1664, _late(energy=16, stamp=256, gfx_clock=264, mem_clock=304, busy_ticks=32, busy_acc=68)),
    (1, 7): (2208, _late(energy=24, stamp=288, gfx_clock=296, mem_clock=336, busy_ticks=40, busy_acc=76)),
}
LAYOUTS[1, 8] = (3872, LAYOUTS[1, 7][1])

PARTITIONS_MAX = 8
DIES = struct.Struct("<8I")
U16 = struct.Struct("<H")
PARTITIONS: dict[tuple[int, int], tuple[int, int, int]] = {
    (1, 6): (306, 312, 168),
    (1, 7): (338, 344, 232),
    (1, 8): (338, 344, 440),
}
"""Offsets of `num_partition` and of `xcp_stats`, and the size of one of its eight entries, which begins with
`gfx_busy_inst`: the busy percent of each compute die (amdgpu_xcp_metrics, v1_0 to v1_2)."""


class Layout:
    """How to read one table: `size` bytes, `fast(blob)` what every tick needs, `slow(blob)` the rest.

    `fast` gives (activity percent, power W), `slow` gives (hot spot C, graphics clock MHz, memory clock MHz, throttle
    bits, energy counts, busy counts, busy ticks, firmware timestamp); raw, so a field that the driver does not write is
    its all-ones value, and one that the layout lacks is None.
    """

    __slots__ = ("fast", "key", "size", "slow")

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key
        self.size, fields = LAYOUTS[key]
        self.fast = _reader(_FAST, fields, self.size)
        self.slow = _reader(_SLOW, fields, self.size)


def layout_of(blob: bytes) -> Layout | None:
    """The layout of a table, None if it is not one of the fixed ones or was truncated."""
    if len(blob) < HEADER.size:
        return None
    size, major, minor = HEADER.unpack_from(blob)
    known = LAYOUTS.get((major, minor))
    if known is None or known[0] != size or len(blob) != size:
        return None
    return Layout((major, minor))


def partitions(blob: bytes, layout: Layout) -> int:
    """Into how many GPUs the device is divided; 1 if the layout does not contain it."""
    place = PARTITIONS.get(layout.key)
    count = int(U16.unpack_from(blob, place[0])[0]) if place else 1
    return count if 1 <= count <= PARTITIONS_MAX else 1


def partition_reader(layout: Layout, partition: int) -> Callable[[bytes], Sequence[Any]] | None:
    """What `Layout.fast` gives, of one partition: its busy percent is the mean of its compute dies. None if the layout
    does not separate partitions."""
    place = PARTITIONS.get(layout.key)
    if place is None:
        return None
    offset, fast = place[1] + partition * place[2], layout.fast

    def read(blob: bytes) -> Sequence[Any]:
        dies = [percent for percent in DIES.unpack_from(blob, offset) if percent != U32_NONE]
        activity = round(sum(dies) / len(dies)) if dies else U16_NONE
        return activity, fast(blob)[1]

    return read


def _reader(names: Sequence[str], fields: Fields, size: int) -> Callable[[bytes], Sequence[Any]]:
    """One unpack for all of `names`, whatever their order in the table."""
    present = sorted((fields[name][1], fields[name][0], name) for name in names if name in fields)
    form, position = "<", 0
    for offset, code, _ in present:
        form += f"{offset - position}x{code}"
        position = offset + struct.calcsize(code)
    unpack = struct.Struct(f"{form}{size - position}x").unpack
    order = [name for _, _, name in present]
    if order == list(names):
        return unpack
    positions = [order.index(name) if name in order else None for name in names]

    def read(blob: bytes) -> Sequence[Any]:
        values = unpack(blob)
        return [None if position is None else values[position] for position in positions]

    return read
