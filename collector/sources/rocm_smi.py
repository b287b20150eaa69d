"""`rocm-smi --json` of ROCm 4 to 7: every value is text, and every key has had more than one name."""

from __future__ import annotations

import json

from collector.sources.base import number
from collector.sources.smi import Reading, json_in

COMMAND = "rocm-smi --showid --showuse --showmeminfo vram --showpower --showtemp --showclocks --showbus --json".split()

# The spelling of each quantity, newest first (rocm_smi.py of ROCm 4.3, 5.x, 6.x and 7.x).
POWER_KEYS = ("Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)")
TEMPERATURE_KEYS = ("Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)")


def readings(text: str) -> dict[int, Reading]:
    """A reading by the number of each `cardN`, in the order of PCI addresses; raises ValueError if it is not JSON."""
    document = json.loads(json_in(text))
    cards = {name: values for name, values in document.items() if name.startswith("card") and name[4:].isdigit()}
    return {int(name[4:]): _reading(values) for name, values in cards.items()}


def _reading(values: dict[str, str]) -> Reading:
    return Reading(
        util=number(values.get("GPU use (%)")),
        used_bytes=number(values.get("VRAM Total Used Memory (B)")),
        total_bytes=number(values.get("VRAM Total Memory (B)")),
        # None for the secondary die of a package, which older versions show as 0.0 and newer ones as N/A.
        power_w=_first(values, POWER_KEYS) or None,
        temperature_c=_first(values, TEMPERATURE_KEYS),
        gfx_clock_mhz=number(values.get("sclk clock speed:")),
        mem_clock_mhz=number(values.get("mclk clock speed:")),
        device_id=_device_id(values),
        bus=values.get("PCI Bus", "").lower(),
    )


def _device_id(values: dict[str, str]) -> int | None:
    try:
        return int(values.get("Device ID") or values.get("GPU ID") or "", 16)
    except ValueError:
        return None


def _first(values: dict[str, str], keys: tuple[str, ...]) -> float | None:
    found = [value for value in (number(values.get(key)) for key in keys) if value is not None]
    return found[0] if found else None
