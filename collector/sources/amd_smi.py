"""`amd-smi metric --json` of ROCm 6 and 7: a list, or `gpu_data` around it; any leaf or block may be "N/A"."""

from __future__ import annotations

import json

from collector.sources.smi import Reading, json_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Without PCIe: reading its bandwidth sleeps one second per GPU in the kernel (amdsmi pull request 15).
COMMAND = "amd-smi metric --usage --mem-usage --power --temperature --clock --json".split()
BYTES_PER_MB = 2**20


def readings(text: str) -> dict[int, Reading]:
    """A reading by GPU number; raises ValueError if it is not JSON."""
    document = json.loads(json_in(text))
    listed = document["gpu_data"] if isinstance(document, dict) else document
    return {int(gpu["gpu"]): _reading(gpu) for gpu in listed}


def _reading(gpu: dict[str, Any]) -> Reading:
    return Reading(
        util=_value(gpu, "usage", "gfx_activity"),
        used_bytes=_bytes(gpu, "used_vram"),
        total_bytes=_bytes(gpu, "total_vram"),
        power_w=_value(gpu, "power", "socket_power") or None,
        temperature_c=_value(gpu, "temperature", "hotspot"),
        gfx_clock_mhz=_value(gpu, "clock", "gfx_0", "clk"),
        mem_clock_mhz=_value(gpu, "clock", "mem_0", "clk"),
    )


def _bytes(gpu: dict[str, Any], name: str) -> float | None:
    megabytes = _value(gpu, "mem_usage", name)
    return None if megabytes is None else megabytes * BYTES_PER_MB


def _value(block: Any, *path: str) -> float | None:
    """The number at a path of blocks, bare or as {"value", "unit"}; None if any step is missing or "N/A"."""
    for name in (*path, "value"):
        if isinstance(block, dict) and name in block:
            block = block[name]
        elif name != "value":
            return None
    return float(block) if isinstance(block, (int, float)) else None
