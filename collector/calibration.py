"""How many counts of the activity accumulator are one second at full use: measured on the node, never assumed.

The scale of MI200's `gfx_activity_acc` is not documented, so all counts are compared with all busy time in the samples,
in idle and busy intervals alike: samples are taken at random instants, so both grow together whatever the pattern of
the load. A power of ten that fits is the scale, for as long as it fits: old evidence fades, so a wrong scale recovers.
If the table has a tick counter (`accumulation_counter`, MI300), the scale is counts per tick.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIT_FRACTION = 0.15
"""How far the estimate may be from a power of ten: three standard deviations of 400 samples' busy time at half use."""

BUSY_S_MIN = 120.0
"""Busy seconds that must have been seen before the scale is trusted."""

BUSY_S_MAX = 6000.0
"""Busy seconds after which all evidence is halved: on a busy node of eight GPUs a quarter of an hour."""

SCALES = (1e-2, 1.0, 1e2, 1e3, 1e4, 1e5, 1e6)


class Calibration:
    """The scale of one node's GPUs; `scale` is None until it is known, and again if nothing fits any more."""

    __slots__ = ("busy", "busy_s", "counts", "scale")

    def __init__(self, scale: float | None = None) -> None:
        self.scale = scale
        self.counts = self.busy = self.busy_s = 0.0

    def learn(self, counts: float, weight: float, util: float, seconds: float) -> None:
        """One interval: accumulator counts, its length in seconds or ticks, the sampled busy percent, its seconds."""
        self.counts += counts
        self.busy += weight * util / 100
        self.busy_s += seconds * util / 100
        if self.busy_s > BUSY_S_MAX:
            self.counts, self.busy, self.busy_s = self.counts / 2, self.busy / 2, self.busy_s / 2
        if self.busy_s >= BUSY_S_MIN:
            self.scale = nearest_scale(self.counts / self.busy)

    def state(self) -> dict[str, Any]:
        return {"scale": self.scale, "counts": self.counts, "busy": self.busy, "busy_s": self.busy_s}

    @classmethod
    def from_state(cls, state: Any) -> Calibration:
        """What an earlier process learned; nothing if it is incomplete or impossible."""
        calibration = cls()
        try:
            counts, busy, busy_s = (float(state[name]) for name in ("counts", "busy", "busy_s"))
        except (KeyError, TypeError, ValueError):
            return calibration
        if 0 <= counts < float("inf") and 0 < busy < float("inf") and 0 < busy_s <= BUSY_S_MAX:
            calibration.counts, calibration.busy, calibration.busy_s = counts, busy, busy_s
            calibration.scale = nearest_scale(counts / busy) if busy_s >= BUSY_S_MIN else None
        return calibration


def nearest_scale(estimate: float) -> float | None:
    """The power of ten that the estimate fits, None between two.

    >>> nearest_scale(97_000.0), nearest_scale(30_000.0)
    (100000.0, None)
    """
    fitting = [scale for scale in SCALES if abs(estimate / scale - 1) <= FIT_FRACTION]
    return fitting[0] if fitting else None
