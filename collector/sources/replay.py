"""A recorded or generated trace instead of hardware, through the same loop: for laptops, tests and the demo.

A trace is JSON lines. The first names the node: `{"gpus": [{"mem_total_gb": 64.0}, …], "interval_s": 1.0}`; each
other is one tick: `{"gpus": [{"util": 90.0, "mem_gb": 10.0, "power_w": 300.0}, null, …]}`, null for a GPU that gave
nothing. GB are 2^30 bytes.
"""

from __future__ import annotations

import json

from collector.sources.base import Gpu, Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BYTES_PER_GB = 2**30


class Replay(Source):
    """The ticks of a trace, one after the other; `has_more` is false after the last."""

    name = "replay"

    def __init__(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as lines:
                header, *self.ticks = [json.loads(line) for line in lines if line.strip()]
            gpus = [_gpu(index, gpu) for index, gpu in enumerate(header["gpus"])]
            self.interval_s = float(header.get("interval_s", 1.0))
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"{path} is not a trace: {error}") from error
        self.position = 0
        super().__init__(gpus)

    @property
    def has_more(self) -> bool:
        return self.position < len(self.ticks)

    def tick(self, dt_s: float) -> None:
        samples = self.ticks[self.position]["gpus"]
        self.position += 1
        for gpu, sample in zip(self.gpus, samples):
            if sample is None:
                gpu.totals.miss("unreadable", "for some of the time: nothing in the trace")
                continue
            gpu.totals.add(dt_s, float(sample["util"]), int(sample.get("mem_gb", 0.0) * BYTES_PER_GB))
            if "power_w" in sample:
                gpu.totals.add_power(dt_s, float(sample["power_w"]))


def _gpu(index: int, described: dict[str, Any]) -> Gpu:
    gpu = Gpu(index)
    gpu.mem_total_bytes = described.get("mem_total_gb", 64.0) * BYTES_PER_GB
    gpu.power_cap_w = described.get("power_cap_w")
    return gpu
