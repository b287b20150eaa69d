"""The values of one GPU so far: sums, peaks and a histogram that never grow, and a timeline of limited length."""

from __future__ import annotations

import struct

from wire.payloads import HISTOGRAM_BINS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Bucket = tuple[float, ...]

BUCKET = struct.Struct("<4d")
PERCENTS = tuple(float(percent) for percent in range(HISTOGRAM_BINS))

POINTS_MAX = 120
"""Fewer than the 240 that the portal accepts, so that the payload of a whole node stays below 12 kB."""


class GpuTotals:
    """Rolling sums of one GPU. `util` is busy percent 0..100, memory is bytes, every sample counts for `dt_s`.

    `hist` contains the seconds at each whole percent, so that a sample of whole percents is one addition; `util_rest_s`
    is the difference of other samples to theirs. `busy_acc` counts of the activity accumulator came in `busy_weight` of
    its own units, which are `busy_s` seconds.
    """

    hist: list[float]
    reasons: dict[str, str]
    util_rest_s: float
    mem_byte_s: float
    mem_s: float
    mem_peak: float
    samples: float
    power_w_s: float
    power_s: float
    power_peak_w: float
    energy_j: float
    energy_s: float
    throttled_s: float
    throttle_s: float
    temperature_peak_c: float
    gfx_clock_sum: float
    gfx_clock_count: float
    mem_clock_sum: float
    mem_clock_count: float
    busy_acc: float
    busy_weight: float
    busy_s: float

    __slots__ = tuple(__annotations__)

    def __init__(self) -> None:
        self.hist = [0.0] * HISTOGRAM_BINS
        self.reasons = {}
        for name in _SUMS:
            setattr(self, name, 0.0)

    @property
    def measured_s(self) -> float:
        return sum(self.hist)

    @property
    def util_s(self) -> float:
        """Busy percent times seconds."""
        return sum(map(float.__mul__, self.hist, PERCENTS)) + self.util_rest_s

    def add(self, dt_s: float, util: float, used_bytes: int) -> None:
        """One sample of use and memory; both must be known."""
        self.add_util(dt_s, util)
        self.add_memory(dt_s, used_bytes)

    def add_memory(self, dt_s: float, used_bytes: float) -> None:
        """Memory in use for `dt_s`."""
        self.mem_byte_s += used_bytes * dt_s
        self.mem_s += dt_s
        if used_bytes > self.mem_peak:
            self.mem_peak = used_bytes

    def add_util(self, dt_s: float, util: float) -> None:
        """One sample of use alone, if memory could not be read."""
        percent = int(util + 0.5)
        self.hist[percent] += dt_s
        self.util_rest_s += (util - percent) * dt_s
        self.samples += 1

    def add_power(self, dt_s: float, power_w: float) -> None:
        self.power_w_s += power_w * dt_s
        self.power_s += dt_s
        if power_w > self.power_peak_w:
            self.power_peak_w = power_w

    def add_clocks(self, gfx_mhz: float | None, mem_mhz: float | None) -> None:
        if gfx_mhz is not None:
            self.gfx_clock_sum += gfx_mhz
            self.gfx_clock_count += 1
        if mem_mhz is not None:
            self.mem_clock_sum += mem_mhz
            self.mem_clock_count += 1

    def miss(self, name: str, reason: str) -> None:
        """Record why `name` has no number, or not for all of the time; the first reason is kept."""
        self.reasons.setdefault(name, reason)

    def state(self) -> dict[str, Any]:
        kept = {"hist": self.hist, "reasons": self.reasons, "measured_s": self.measured_s, "util_s": self.util_s}
        return {**kept, **{name: getattr(self, name) for name in _SUMS}}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GpuTotals:
        totals = cls()
        totals.hist, totals.reasons = list(state["hist"]), dict(state["reasons"])
        for name in _SUMS:
            setattr(totals, name, state.get(name, 0.0))
        return totals


_SUMS = [name for name in GpuTotals.__slots__ if name not in ("hist", "reasons")]


class Timeline:
    """Mean busy percent and memory of every GPU by bucket of `step_s`; when full, neighbours merge and it doubles.

    A bucket is the growth of a GPU's sums since the bucket began, so a tick costs only one comparison here. A sample
    belongs to the bucket in which it was taken: the caller that adds one closes the buckets before it first.
    """

    __slots__ = ("_marks", "_rows", "ends_s", "gpus", "step_s")

    def __init__(self, gpus: list[GpuTotals], step_s: float) -> None:
        self.gpus = gpus
        self.step_s = step_s
        # Per GPU its buckets packed in an array: as objects they would be a twentieth of the whole process.
        self._rows = [bytearray() for _ in gpus]
        self.ends_s = step_s
        self._marks = [sums(gpu) for gpu in gpus]

    def advance(self, now_s: float) -> None:
        """Close every bucket that ends before `now_s` seconds after the start; buckets in a gap stay empty."""
        while now_s > self.ends_s:
            self._close()
            self.ends_s += self.step_s
            if len(self._rows[0]) >= POINTS_MAX * BUCKET.size:
                self._double()

    def finish(self) -> None:
        """Close the last bucket as it is."""
        if any(sums(gpu) != mark for gpu, mark in zip(self.gpus, self._marks)):
            self._close()

    def _close(self) -> None:
        for index, gpu in enumerate(self.gpus):
            util_s, measured_s, mem_byte_s, mem_s = now = sums(gpu)
            before = self._marks[index]
            grown = util_s - before[0], measured_s - before[1], mem_byte_s - before[2], mem_s - before[3]
            self._rows[index] += BUCKET.pack(*grown)
            self._marks[index] = now

    def _double(self) -> None:
        for index, row in enumerate(self._rows):
            points = list(BUCKET.iter_unpack(row))
            merged = (map(float.__add__, first, second) for first, second in zip(points[::2], points[1::2]))
            self._rows[index] = bytearray().join(BUCKET.pack(*point) for point in merged)
        self.step_s *= 2
        self.ends_s = (len(self._rows[0]) // BUCKET.size + 1) * self.step_s

    def state(self) -> dict[str, Any]:
        rows = [bytes(row) for row in self._rows]
        return {"step_s": self.step_s, "ends_s": self.ends_s, "rows": rows, "marks": self._marks}

    @classmethod
    def from_state(cls, gpus: list[GpuTotals], state: dict[str, Any]) -> Timeline:
        timeline = cls(gpus, state["step_s"])
        timeline.ends_s = state["ends_s"]
        timeline._rows = [bytearray(row) for row in state["rows"]]
        timeline._marks = list(state["marks"])
        return timeline


def buckets(state: dict[str, Any], position: int) -> list[Bucket]:
    """Of one GPU in a timeline's state: (busy percent-seconds, seconds, byte-seconds, seconds of memory) by bucket."""
    return list(BUCKET.iter_unpack(state["rows"][position]))


def sums(gpu: GpuTotals) -> Bucket:
    """What a bucket, or a raw sample, is the growth of."""
    return gpu.util_s, gpu.measured_s, gpu.mem_byte_s, gpu.mem_s
