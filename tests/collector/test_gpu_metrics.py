"""The binary table: every fixed layout by header and size, and nothing else."""

from __future__ import annotations

import struct

import pytest

from collector.gpu_metrics import LAYOUTS, layout_of
from tests.collector.fake_node import table

SIZES = {0: 80, 1: 96, 2: 104, 3: 120, 4: 288, 5: 360, 6: 1664, 7: 2208, 8: 3872}
# Byte offsets of (activity, power, energy), kgd_pp_interface.h: written again here, field by field, on purpose.
OFFSETS = {
    0: (28, 34, 36),
    1: (16, 22, 24),
    2: (16, 22, 24),
    3: (16, 22, 24),
    4: (12, 10, 24),
    5: (12, 10, 88),
    6: (12, 10, 16),
    7: (12, 10, 24),
    8: (12, 10, 24),
}


def blob(content: int, **values: int) -> bytearray:
    """A table of ones with a header, and the named fields set."""
    made = bytearray(b"\xff" * SIZES[content])
    struct.pack_into("<HBB", made, 0, SIZES[content], 1, content)
    activity, power, energy = OFFSETS[content]
    struct.pack_into("<H", made, activity, values.get("activity", 0xFFFF))
    struct.pack_into("<H", made, power, values.get("power_w", 0xFFFF))
    struct.pack_into("<I" if content == 0 else "<Q", made, energy, values.get("energy", 0xFFFFFFFF))
    return made


@pytest.mark.parametrize("content", SIZES)
def test_every_layout_is_known_by_header_and_size_and_read_at_its_offsets(content: int) -> None:
    made = bytes(blob(content, activity=87, power_w=412, energy=65536 * 5))
    layout = layout_of(made)
    assert (layout.key, layout.size) == ((1, content), SIZES[content])
    assert tuple(layout.fast(made))[:2] == (87, 412)
    assert layout.slow(made)[4] == 65536 * 5


def test_mi250x_says_all_that_is_read() -> None:
    made = table(activity=93, power_w=401, energy=1 << 41, busy_acc=12345, stamp=777, throttle=4, hotspot_c=61)
    layout = layout_of(made)
    assert tuple(layout.fast(made)) == (93, 401)
    # hot spot, graphics clock, memory clock, throttle bits, energy, busy counts, no tick counter, timestamp.
    assert list(layout.slow(made)) == [61, 1700, 1600, 4, 1 << 41, 12345, None, 777]


def test_what_is_not_exactly_a_known_table_is_left_to_the_text_files() -> None:
    made = bytes(blob(3))
    assert layout_of(b"") is None
    assert layout_of(made[:-1]) is None
    assert layout_of(made + b"\0") is None
    assert layout_of(struct.pack("<HBB", 120, 1, 9) + made[4:]) is None
    assert layout_of(struct.pack("<HBB", 120, 2, 3) + made[4:]) is None
    # An early draft of 1.6 had another size (kernel commit 00dedab07b52): only 1664 is this layout.
    assert layout_of(struct.pack("<HBB", 1000, 1, 6) + bytes(996)) is None
    assert len(LAYOUTS) == 9
