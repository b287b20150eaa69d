"""The source that this node offers: the driver's files or library, otherwise a vendor's command; or the one in the
settings."""

from __future__ import annotations

from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from collector.sources.base import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.calibration import Calibration
    from collector.config import Config

# All others import what a sampling process with open files never needs, so their modules are imported by name.
COMMANDS = ("rocm_smi", "amd_smi", "nvidia_smi")
NAMES = ("amdgpu_sysfs", "nvml", *COMMANDS)


def source(config: Config, indices: list[int] | None, calibration: Calibration) -> Source:
    """The first source that can read the job's GPUs; SourceError states why each could not."""
    wanted = NAMES if config.source == "auto" else (config.source,)
    reasons = []
    for name in wanted:
        try:
            if name == "amdgpu_sysfs":
                return AmdgpuSysfs(config.sysfs_root, indices, calibration)
            if name == "nvml":
                return _by_library(indices)
            if name in COMMANDS:
                return _by_command(name, indices)
            reasons.append(f"unknown source {name}")
        except SourceError as error:
            reasons.append(str(error))
    raise SourceError("; ".join(reasons))


def _by_library(indices: list[int] | None) -> Source:
    made: Source = __import__("collector.sources.nvml", fromlist=["Nvml"]).Nvml(indices)
    return made


def _by_command(name: str, indices: list[int] | None) -> Source:
    vendor = __import__(f"collector.sources.{name}", fromlist=["readings"])
    smi = __import__("collector.sources.smi", fromlist=["SmiSource"])
    made: Source = smi.SmiSource(name.replace("_", "-"), vendor.COMMAND, vendor.readings, indices)
    return made
