"""A line through the end of a course of memory: when it reaches a limit, with the error of the fit; pure."""

from dataclasses import dataclass

import numpy as np

from analysis.early.thresholds import EarlyLimits
from metrics.series import Floats

SECONDS_PER_HOUR = 3600.0
EXACT_FRACTION = 1e-6
"""Points that are off a line by less of its rise differ by rounding alone."""
STARTS = (0.1, 0.3, 0.5)
"""A line may begin after so much of a course: the longest steady rise counts, without the start of the program."""
DEGREES_MIN = 3
"""With fewer independent points than five the error of a line is not known."""


@dataclass(frozen=True)
class Trend:
    """A steady rise: `now_gb` at the last point, `slope_gb_per_h` with its 95 % range, seen for `seen_s` seconds from
    `since_s` after the job's start on. The line passes `middle_gb` in the middle, `middle_before_s` before the end."""

    since_s: float
    seen_s: float
    now_gb: float
    slope_gb_per_h: float
    slope_low_gb_per_h: float
    slope_high_gb_per_h: float
    middle_gb: float
    middle_before_s: float

    def full_in_s(self, limit_gb: float) -> tuple[float, float]:
        """In how many seconds from the last point the limit is reached, at the earliest and at the latest.

        The lines pass the middle of the points, which is known best.
        """
        left_gb = limit_gb - self.middle_gb
        return (
            max(left_gb / self.slope_high_gb_per_h * SECONDS_PER_HOUR - self.middle_before_s, 0.0),
            max(left_gb / self.slope_low_gb_per_h * SECONDS_PER_HOUR - self.middle_before_s, 0.0),
        )


def steady_rise(at_s: Floats, gb: Floats, limits: EarlyLimits) -> Trend | None:
    """The trend of the longest end of a course, of half of it or more, that rises steadily; None where none does, or
    where it fell before.

    Staircases of few steps, a rise that levels out and memory that is freed again are no trend.
    """
    known = ~np.isnan(gb) & ~np.isnan(at_s)
    at_s, gb = at_s[known], gb[known]
    if at_s.size < limits.trend_points_min or at_s[-1] - at_s[0] < limits.trend_s:
        return None
    starts_s = (at_s[0] + np.array(STARTS) * (at_s[-1] - at_s[0])).clip(max=at_s[-1] - limits.trend_s)
    trends = (_trend_from(float(start_s), at_s, gb, limits) for start_s in np.unique(starts_s))
    return next((trend for trend in trends if trend is not None), None)


def _trend_from(start_s: float, at_s: Floats, gb: Floats, limits: EarlyLimits) -> Trend | None:
    chosen = at_s >= start_s
    times_h, values = (at_s[chosen] - at_s[-1]) / SECONDS_PER_HOUR, gb[chosen]
    if values.size < limits.trend_points_min or not _rises(times_h, values, limits):
        return None
    if _fell(gb, values, limits):
        return None
    slope, error = _fit(times_h, values, limits)
    if error >= slope:
        return None
    return Trend(
        since_s=float(at_s[chosen][0]),
        seen_s=float(-times_h[0] * SECONDS_PER_HOUR),
        now_gb=float(values[-1]),
        slope_gb_per_h=slope,
        slope_low_gb_per_h=slope - error,
        slope_high_gb_per_h=slope + error,
        middle_gb=float(np.mean(values)),
        middle_before_s=float(-np.mean(times_h) * SECONDS_PER_HOUR),
    )


def _rises(times_h: Floats, values: Floats, limits: EarlyLimits) -> bool:
    """Whether a line explains the course, its last third rises as the whole does, and no part of it is flat."""
    if float(np.std(values)) == 0:
        return False
    fits = float(np.corrcoef(times_h, values)[0, 1])
    if fits < limits.trend_fit:
        return False
    whole = float(np.polyfit(times_h, values, 1)[0])
    is_last = times_h >= times_h[0] / 3
    last = float(np.polyfit(times_h[is_last], values[is_last], 1)[0]) if np.count_nonzero(is_last) > 2 else 0.0
    edges_h = np.linspace(times_h[0], times_h[-1], limits.trend_parts + 1)
    parts = np.diff(np.interp(edges_h, times_h, values)) / np.diff(edges_h)
    # Between most points of a staircase nothing is added, whatever the noise.
    flat = np.diff(values) < limits.trend_flat_rise * (values[-1] - values[0]) / (values.size - 1)
    is_even = bool(np.all(parts >= limits.trend_part_min * whole) and np.mean(flat) <= limits.trend_flat_fraction)
    return is_even and limits.trend_last_third_min * whole <= last <= limits.trend_last_third_max * whole


def _fell(whole: Floats, values: Floats, limits: EarlyLimits) -> bool:
    """Whether the course ever fell by a part of the rise in the fitted part: something frees memory."""
    rise = float(np.max(values) - np.min(values))
    falls = np.maximum.accumulate(whole) - whole
    return float(np.max(falls)) > limits.trend_fall_fraction * rise


def _fit(times_h: Floats, values: Floats, limits: EarlyLimits) -> tuple[float, float]:
    """Slope by least squares, and how far the true one may be from it at 95 %.

    Neighbouring residuals are alike, so that there are fewer independent points than points: their number is lowered by
    the correlation of neighbours. Student's t of 95 % is 1.96 times 1 + 1.6 / degrees of freedom, from three on.
    """
    slope, at_end = np.polyfit(times_h, values, 1)
    rest = values - (slope * times_h + at_end)
    squares = float(np.sum(rest**2))
    if squares <= values.size * (EXACT_FRACTION * float(np.ptp(values))) ** 2:
        return float(slope), 0.0
    alike = max(float(np.sum(rest[1:] * rest[:-1])) / squares, 0.0)
    free = values.size * (1 - alike) / (1 + alike) - 2
    if free < DEGREES_MIN:
        return float(slope), np.inf
    error = np.sqrt(squares / free / np.sum((times_h - np.mean(times_h)) ** 2))
    return float(slope), limits.trend_certainty * (1 + 1.6 / free) * float(error)
