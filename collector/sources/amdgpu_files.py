"""The driver's files of one node: its devices in order, and how each is read."""

from __future__ import annotations

import os

from collector.gpu_metrics import layout_of, partitions
from collector.sources.base import TWO_DIE_MODELS, SourceError, number

DRIVER = "bus/pci/drivers/amdgpu"
TABLE_SIZE_MAX = 4096

# Values of `current_compute_partition` for a device of several compute dies (MI300); CPX is one GPU for each of them,
# as many as the device's table states.
MODES = {"SPX": 1, "DPX": 2, "TPX": 3, "QPX": 4}
CPX, CPX_PARTITIONS = "CPX", 8


class Device:
    """One device of the driver: `partitions` GPUs as the driver counts them, in the package `module_id` or one of its
    own."""

    __slots__ = ("bus", "is_two_die", "module_id", "partitions", "path")

    def __init__(self, root: str, bus: str, position: int) -> None:
        self.bus, self.path = bus, os.path.join(root, DRIVER, bus)
        self.is_two_die = _device_id(self.path) in TWO_DIE_MODELS
        self.partitions = _partitions(self.path)
        self.module_id: int | None = None
        if self.is_two_die or self.partitions > 1:
            self.module_id = position // 2 if self.is_two_die else position


def devices(root: str) -> list[Device]:
    """The node's devices by PCI address; SourceError if there is no driver."""
    try:
        found = [name for name in os.listdir(os.path.join(root, DRIVER)) if name.count(":") == 2]
    except OSError as error:
        raise SourceError(f"{DRIVER}: {error.strerror}") from error
    if not found:
        raise SourceError(f"{DRIVER} holds no GPU")
    return [Device(root, bus, position) for position, bus in enumerate(sorted(found))]


def opened(path: str, name: str) -> int:
    try:
        return os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SourceError(f"{name} of {os.path.basename(path)}: {error.strerror or error}") from error


def content(path: str, name: str, size: int = 64) -> bytes | None:
    """The first bytes of a file, None if it cannot be read."""
    try:
        fd = os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, size)
    except OSError:
        return None
    finally:
        os.close(fd)


def power_cap_w(path: str) -> float | None:
    """The power cap of the package; hwmon's number is not stable, so its folder is searched."""
    try:
        folders = os.listdir(os.path.join(path, "hwmon"))
    except OSError:
        return None
    for folder in folders:
        microwatt = number(content(os.path.join(path, "hwmon", folder), "power1_cap"))
        if microwatt:
            return microwatt / 1e6
    return None


def _partitions(path: str) -> int:
    mode = (content(path, "current_compute_partition") or b"").decode("ascii", "replace").strip()
    if mode != CPX:
        return MODES.get(mode, 1)
    table = content(path, "gpu_metrics", TABLE_SIZE_MAX) or b""
    layout = layout_of(table)
    counted = partitions(table, layout) if layout else 1
    return counted if counted > 1 else CPX_PARTITIONS


def _device_id(path: str) -> int:
    try:
        return int(content(path, "device") or b"0", 16)
    except ValueError:
        return 0
