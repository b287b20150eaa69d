"""AMD GPUs straight from the driver's files: two reads per GPU and tick, on descriptors that stay open.

Source of the file names and their units: Linux drivers/gpu/drm/amd/pm/amdgpu_pm.c. `pcie_bw` is never read: it
sleeps one second in the kernel and restarts counters that others use.
"""

from __future__ import annotations

import os
import struct

from collector.sources.amdgpu_die import Die
from collector.sources.amdgpu_files import devices
from collector.sources.base import Gpu, Source, SourceError, share_power

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.calibration import Calibration


def gpus_on_node(root: str) -> int:
    """How many GPUs Slurm and HIP count on this node; zero if there is no driver."""
    try:
        return sum(device.partitions for device in devices(root))
    except SourceError:
        return 0


class AmdgpuSysfs(Source):
    """The GPUs of the job. `indices` are Slurm's, which count dies and partitions of devices by PCI address."""

    name = "amdgpu_sysfs"

    def __init__(self, root: str, indices: list[int] | None, calibration: Calibration) -> None:
        on_node = [(device, part) for device in devices(root) for part in range(device.partitions)]
        wanted = indices if indices is not None else list(range(len(on_node)))
        if any(index >= len(on_node) for index in wanted):
            raise SourceError(f"the job has GPU {max(wanted)}, the driver knows {len(on_node)} GPUs")
        self.calibration = calibration
        self.covered_s = 0.0
        self.ticks = 0
        self.dies = [Die(*on_node[index], Gpu(index, on_node[index][0].bus)) for index in wanted]
        super().__init__([die.gpu for die in self.dies])
        for parts in {die.parts for die in self.dies}:
            alike = [die for die in self.dies if die.parts == parts]
            share_power([die.gpu for die in alike], [die.has_power for die in alike], parts)
        for die in self.dies:
            die.take_power()
        self._arrange()

    def _arrange(self) -> None:
        """The reads of each GPU at a tick, in one piece; a GPU whose reads hung is not read for a while."""
        self.resting = [die for die in self.dies if die.is_resting]
        awake = [die for die in self.dies if not die.is_resting]
        self.rows = [(die, die.fast, die.table_fd, die.size, die.gpu.totals.hist) for die in awake]
        # Memory in use changes slowly, if at all: each tick reads it of every other GPU, the first tick of all.
        used = [(die, die.used_fd) for die in awake if die.used_fd is not None]
        self.used_rows = used[::2], used[1::2]

    def tick(self, dt_s: float) -> None:
        # Everything inline: a call for each GPU would cost as much as a read.
        pread = os.pread
        if self.resting:
            self._leave_alone()
        for die, fast, table_fd, size, hist in self.rows:
            try:
                activity, power_w = fast(pread(table_fd, size, 0))
                # An IndexError is a percent above 100, which is the value in a table that was not written.
                hist[activity] += dt_s
                if power_w > die.power_peak_w:
                    die.take_power_peak(power_w)
            except (OSError, ValueError, IndexError, struct.error) as error:
                self._failed(die, error)
        for die, used_fd in self.used_rows[self.ticks & 1] if self.ticks else self.used_rows[0] + self.used_rows[1]:
            try:
                written = pread(used_fd, 32, 0)
                if written != die.used_written:
                    die.take_memory(written, self.covered_s)
            except (OSError, ValueError) as error:
                die.lose_memory(error, self.covered_s)
                if isinstance(error, TimeoutError):
                    self._failed(die, error)
        self.covered_s += dt_s
        self.ticks += 1

    def _failed(self, die: Die, error: Exception) -> None:
        die.failed(error)
        if die.is_resting:
            die.lose_memory(error, self.covered_s)
            self._arrange()

    def _leave_alone(self) -> None:
        """Some reads hung: those GPUs are not read for a while, and have no samples meanwhile."""
        self._arrange()
        for die in self.resting:
            die.lost_ticks += 1

    def slow_tick(self, dt_s: float) -> None:
        self.settle()
        for die in self.dies:
            die.slow_tick(dt_s, self.calibration)
        self._arrange()

    def settle(self) -> None:
        for die in self.dies:
            die.settle(self.covered_s, self.ticks)

    def pause(self, dt_s: float) -> None:
        for die in self.dies:
            die.forget_use()

    def state(self) -> dict[str, Any]:
        return {"dies": [die.counters for die in self.dies]}

    def restore(self, state: dict[str, Any]) -> None:
        for die, counters in zip(self.dies, state["dies"]):
            die.restore(counters, self.covered_s, self.ticks)
        self._arrange()
