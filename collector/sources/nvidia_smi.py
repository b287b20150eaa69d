"""`nvidia-smi --query-gpu`, so that a site with other GPUs can start; memory is in MiB."""

from __future__ import annotations

from collector.sources.base import number
from collector.sources.smi import Reading

QUERY = (
    "index,pci.bus_id,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,"
    "clocks.current.graphics,clocks.current.memory"
)
COMMAND = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
BYTES_PER_MB = 2**20


def readings(text: str) -> dict[int, Reading]:
    """A reading by GPU index; raises ValueError for a line that does not have the form of the query."""
    return dict(_line(line) for line in text.splitlines() if line.strip())


def _line(line: str) -> tuple[int, Reading]:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != QUERY.count(",") + 1:
        raise ValueError("not a line of the query")
    util, used, total, power_w, temperature_c, gfx_mhz, mem_mhz = (number(cell) for cell in cells[2:])
    return int(cells[0]), Reading(
        bus=cells[1].lower(),
        util=util,
        used_bytes=None if used is None else used * BYTES_PER_MB,
        total_bytes=None if total is None else total * BYTES_PER_MB,
        power_w=power_w,
        temperature_c=temperature_c,
        gfx_clock_mhz=gfx_mhz,
        mem_clock_mhz=mem_mhz,
    )
