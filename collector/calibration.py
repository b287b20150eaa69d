"""How many counts of the activity accumulator make one second at full use: learned on the node, never assumed.

The scale of MI200's `gfx_activity_acc` is not documented, so it is compared with the sampled busy percent until a
power of ten fits steadily; only then may it replace the samples' mean. Where the table has a tick counter
(`accumulation_counter`, MI300), the scale is counts per tick.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIT_FRACTION = 0.15
"""How far an estimate may lie from a power of ten; the samples themselves are filtered by the firmware."""

BUSY_WEIGHT_MIN = 120.0
"""Busy seconds (or hundreds of ticks) that must have been seen before the scale is trusted."""

FITS_IN_A_ROW = 5
SCALES = (1e-2, 1.0, 1e2, 1e3, 1e4, 1e5, 1e6)


class Calibration:
    """The scale of one node's GPUs; `scale` is None until it is known."""

    __slots__ = ("counts", "fits", "scale", "weight")

    def __init__(self, scale: float | None = None) -> None:
        self.scale = scale
        self.counts = self.weight = 0.0
        self.fits = 0

    def learn(self, counts: float, weight: float, util: float) -> None:
        """One interval: accumulator counts, its length (seconds or ticks) and the sampled busy percent."""
        if self.scale is not None or util < 50.0 or weight <= 0:
            return
        busy = weight * util / 100
        self.counts += counts
        self.weight += busy
        nearest = nearest_scale(counts / busy)
        agrees = nearest is not None and nearest == nearest_scale(self.counts / self.weight)
        self.fits = self.fits + 1 if agrees else 0
        if self.fits >= FITS_IN_A_ROW and self.weight >= BUSY_WEIGHT_MIN:
            self.scale = nearest

    def state(self) -> dict[str, Any]:
        return {"scale": self.scale, "counts": self.counts, "weight": self.weight, "fits": self.fits}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Calibration:
        calibration = cls(state["scale"])
        calibration.counts, calibration.weight, calibration.fits = state["counts"], state["weight"], state["fits"]
        return calibration


def nearest_scale(estimate: float) -> float | None:
    """The power of ten that the estimate fits, None between two.

    >>> nearest_scale(97_000.0), nearest_scale(30_000.0)
    (100000.0, None)
    """
    fitting = [scale for scale in SCALES if abs(estimate / scale - 1) <= FIT_FRACTION]
    return fitting[0] if fitting else None
