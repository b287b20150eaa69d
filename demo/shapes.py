"""Curves of GPU use over a run: each draws what the sampler would have read on every GPU, in busy percent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Range = tuple[float, float]

Curve = Callable[[np.random.Generator, Floats, int], Floats]
"""From the instants `x` `(F,)`, 0..1 of the run, and a number of GPUs G to busy percent `(F, G)`."""

START_UP_FRACTION = 0.02
NOISE_PERCENT = 4.0
STRAY_FRACTION = 0.002
CHECKPOINTS = 10
CHECKPOINT_FRACTION = 0.003
"""A checkpoint keeps the GPUs waiting for this share of the run."""


def steady(low: float, high: float) -> Curve:
    """Starting up, then one level between `low` and `high` percent on all GPUs, with noise."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        return np.where(x[:, None] < START_UP_FRACTION, 0.0, _level(rng, x, gpus, (low, high)))

    return curve


def training(low: float, high: float) -> Curve:
    """`steady`, with a short dip for every checkpoint."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        since_checkpoint = (x * CHECKPOINTS) % 1 / CHECKPOINTS
        return np.where(since_checkpoint[:, None] < CHECKPOINT_FRACTION, 5.0, steady(low, high)(rng, x, gpus))

    return curve


def some_busy(active: int, low: float, high: float) -> Curve:
    """The first `active` GPUs steadily busy, every other one without any work."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        util = steady(low, high)(rng, x, gpus)
        util[:, active:] = _strays(rng, x, gpus - active)
        return util

    return curve


def falling(first: Range, later: Range) -> Curve:
    """The level `first` for a third of the run, then `later` to its end."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        before, after = steady(*first)(rng, x, gpus), steady(*later)(rng, x, gpus)
        return np.where(x[:, None] < 1 / 3, before, after)

    return curve


def cut_off(after: float, before: Curve) -> Curve:
    """Another curve for the share `after` of the run, then nothing: a hang, or an end nobody noticed."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        return np.where(x[:, None] < after, before(rng, x, gpus), 0.0)

    return curve


def delayed(until: float, low: float, high: float) -> Curve:
    """Nothing for the share `until` of the run, then steadily busy: preparing, compiling, reading."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        return np.where(x[:, None] < until, 0.0, steady(low, high)(rng, x, gpus))

    return curve


def graded(low: float, high: float) -> Curve:
    """Steadily busy, the first GPU at `low` percent, the last at `high`, the others evenly between."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        return steady(0.0, 0.0)(rng, x, gpus) + np.where(x < START_UP_FRACTION, 0.0, 1.0)[:, None] * np.linspace(
            low, high, gpus
        )

    return curve


def stalling(periods: int, fraction: float, low: float, high: float) -> Curve:
    """Steadily busy, but at 5 percent for `fraction` of each of the equal `periods`: long checkpoints."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        return np.where(((x * periods) % 1 < fraction)[:, None], 5.0, steady(low, high)(rng, x, gpus))

    return curve


def all_but_last(idle: int, low: float, high: float) -> Curve:
    """All GPUs steadily busy but the last `idle`, which have no work."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        util = steady(low, high)(rng, x, gpus)
        util[:, gpus - idle :] = _strays(rng, x, idle)
        return util

    return curve


def alternating(periods: int, busy_fraction: float) -> Curve:
    """100 percent for `busy_fraction` of each of the equal `periods`, 0 for the rest of it, on all GPUs at once."""

    def curve(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
        is_busy = (x * periods) % 1 < busy_fraction
        return np.repeat(np.where(is_busy, 100.0, 0.0)[:, None], gpus, axis=1)

    return curve


def no_work() -> Curve:
    """No work, all the time; a stray reading now and then is not work."""
    return _strays


def _level(rng: np.random.Generator, x: Floats, gpus: int, level: Range) -> Floats:
    """One level for the job, a little different on each GPU, with a slow swing and the noise of single readings.

    The swing makes three whole turns, so that no part of a run lies above another by chance.
    """
    base = rng.uniform(*level) + rng.normal(0.0, 1.0, gpus)
    swing = np.sin(2 * np.pi * (3 * x + rng.uniform()))[:, None] * NOISE_PERCENT / 4
    return base + swing + rng.normal(0.0, NOISE_PERCENT, (x.size, gpus))


def _strays(rng: np.random.Generator, x: Floats, gpus: int) -> Floats:
    """Idle GPUs as they are read: nothing, but for single readings when a process opens the device."""
    shape = (x.size, gpus)
    return np.where(rng.uniform(size=shape) < STRAY_FRACTION, rng.uniform(2.0, 40.0, shape), 0.0)


SHAPES: Mapping[str, Callable[..., Curve]] = {
    shape.__name__: shape
    for shape in (
        all_but_last,
        alternating,
        cut_off,
        delayed,
        falling,
        graded,
        no_work,
        some_busy,
        stalling,
        steady,
        training,
    )
}


def curve_of(described: Mapping[str, Sequence[Any]]) -> Curve:
    """The curve of a table with one name, which is given the values of its list; a table among them is a curve."""
    ((name, values),) = described.items()
    return SHAPES[name](*(curve_of(value) if isinstance(value, Mapping) else value for value in values))
