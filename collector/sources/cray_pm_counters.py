"""HPE Cray's out-of-band counters: energy of each GPU package and of the node, independent of ROCm.

Files such as `accel0_energy` hold `921658274 J 1784929200361701 us`; accelN is one MI250X package, two GPUs
(HPE, "User Access to Compute Node Power Data"; updated at 10 Hz).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.sources.base import Gpu

ROOT = "/sys/cray/pm_counters"


class CrayCounters:
    """Joules since this object was created, of the packages that belong to the job completely and of the node if all
    do."""

    def __init__(self, root: str, gpus: list[Gpu], is_whole_node: bool) -> None:
        self.root = root
        self.gpus = [gpu for gpu in gpus if gpu.power_from == "module"]
        self.names = [f"accel{gpu.module_id}_energy" for gpu in self.gpus]
        if is_whole_node:
            self.names.append("energy")
        self.first_j: dict[str, float] = {}
        self.last_j: dict[str, float] = {}
        self.slow_tick()

    def slow_tick(self) -> None:
        for name in self.names:
            joules = _joules(os.path.join(self.root, name))
            if joules is None:
                continue
            # A counter that fell was reset: that interval is excluded by moving the start along.
            if joules < self.last_j.get(name, joules):
                self.first_j[name] += joules - self.last_j[name]
            self.first_j.setdefault(name, joules)
            self.last_j[name] = joules

    def energy_j(self, name: str) -> float | None:
        return self.last_j[name] - self.first_j[name] if name in self.last_j else None

    def gpu_energies_j(self) -> dict[int, float]:
        """By the GPU index that reports its package."""
        energies = ((gpu.index, self.energy_j(f"accel{gpu.module_id}_energy")) for gpu in self.gpus)
        return {index: joules for index, joules in energies if joules is not None}

    def state(self) -> dict[str, Any]:
        return {"first_j": self.first_j, "last_j": self.last_j}

    def restore(self, state: dict[str, Any]) -> None:
        self.first_j, self.last_j = dict(state["first_j"]), dict(state["last_j"])


def _joules(path: str) -> float | None:
    try:
        with open(path, "rb") as file:
            return float(file.read(64).split()[0])
    except (OSError, ValueError, IndexError):
        return None
