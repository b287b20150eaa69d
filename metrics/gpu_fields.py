"""Every number that a node sends of one GPU, described once: its name, its unit, and what it is over the run.

The name is the key of the payload, the column of what is stored and the entry of a row. The packed columns and the
OpenAPI document follow from this table; `tests/metrics/test_gpu_fields.py` holds the payload's types, the arrays that
are judged, the collector's bounds and the hardware table of a job's page to it.

To add one: its line at the end here, its type in `metrics.payloads.GpuPayload`, and where the collector measures it.
"""

from dataclasses import dataclass
from typing import Literal

Over = Literal["fixed", "mean", "95th percentile", "peak", "total"]


@dataclass(frozen=True)
class GpuField:
    """One number: `over` says what it is over the run; `is_judged` whether `metrics.series.GpuColumns` has it.

    >>> GpuField("power_avg_w", "mean", "W", "Power of its module").meaning
    'Power of its module: mean over the run, in W'
    """

    name: str
    over: Over
    unit: str
    what: str
    is_judged: bool = True
    is_whole: bool = False

    @property
    def meaning(self) -> str:
        """The same in words."""
        over = "" if self.over == "fixed" else f": {self.over} over the run"
        return f"{self.what}{over}" + (f", in {self.unit}" if self.unit else "")


GPU_FIELDS = (
    GpuField("gpu_id", "fixed", "", "Number of the GPU on its node", is_whole=True),
    GpuField("module_id", "fixed", "", "Number of the module that it is part of", is_whole=True),
    GpuField("avg_util", "mean", "%", "Time in which the GPU was busy"),
    GpuField("p95_util", "95th percentile", "%", "Time in which the GPU was busy"),
    GpuField("peak_mem_gb", "peak", "GiB", "GPU memory in use"),
    GpuField("avg_mem_gb", "mean", "GiB", "GPU memory in use", is_judged=False),
    GpuField("mem_total_gb", "fixed", "GiB", "GPU memory that there is"),
    GpuField("samples", "total", "", "Readings of the GPU", is_whole=True),
    GpuField("measured_s", "total", "s", "Time that was measured"),
    GpuField("active_s", "total", "s", "Time in which the GPU was not idle"),
    GpuField("idle_s", "total", "s", "Time in which the GPU was idle"),
    GpuField("gfx_clock_mhz", "mean", "MHz", "Clock of the compute units", is_judged=False),
    GpuField("mem_clock_mhz", "mean", "MHz", "Clock of the memory", is_judged=False),
    GpuField("power_avg_w", "mean", "W", "Power of its module"),
    GpuField("power_peak_w", "peak", "W", "Power of its module"),
    GpuField("power_cap_w", "fixed", "W", "Power cap of its module"),
    GpuField("energy_j", "total", "J", "Energy of its module"),
    GpuField("temperature_peak_c", "peak", "°C", "Temperature", is_judged=False),
    GpuField("pcie_bandwidth_mb_s", "mean", "MB/s", "Transfers over PCIe", is_judged=False),
    GpuField("throttled_s", "total", "s", "Time at a lowered clock"),
)
"""In the order of the packed columns (`metrics.packed_node`): new ones come at the end."""
