"""Pauses between steps, and dips of the GPU use that have other reasons."""

from __future__ import annotations

import math

from tests.analysis.progress.drawing import (
    INF,
    H,
    M,
    cycle,
    dice,
    drawn,
    fall,
    onset,
    rise,
    share,
    situation,
    spoil,
    ticks,
    use_of,
    with_pauses,
)


@situation
def checkpoint_every_ten_minutes():
    """After each ten minutes of training a checkpoint of 90 s, while the GPUs were at 2 %."""
    e = 6 * H
    stops = cycle(60, e, 600, 90)
    at = ticks(60, e - 5, 2.0, every=5, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 94, 2, 60), bin_s=30),
        series={"train/loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def checkpoint_pauses_seen_in_coarse_use():
    """After each 25 minutes of training a checkpoint of four minutes, in a run of 12 hours whose use is known in bins of six minutes only: each pause is a mild dip of one bin or two."""
    e = 12 * H
    stops = cycle(60, e, 1500, 240)
    at = ticks(60, e - 5, 2.0, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 94, 2, 60)),
        series={"train/loss": fall(at)},
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def evaluation_on_the_cpu_after_each_epoch():
    """Each epoch of 20 minutes is followed by five minutes in which metrics were computed on the CPU; val/loss is logged at the end of each."""
    e = 10 * H
    stops = cycle(90, e, 1200, 300)
    at = ticks(90, e - 5, 1.5, every=10, pauses=stops)
    val = [(i + 1, b) for i, (_, b) in enumerate(stops)]
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 92, 6, 90), bin_s=60),
        series={"train/loss": fall(at), "val/loss": fall(val, 4, 1.8)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def data_reloaded_after_each_part():
    """Data come in parts: five minutes of training, one minute of loading the next part with idle GPUs."""
    e = 3 * H
    stops = cycle(45, e, 300, 60)
    at = ticks(45, e - 5, 0.8, every=5, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 91, 1, 45), bin_s=15),
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def rollouts_between_updates():
    """RL: two minutes of simulation on the CPU, then one minute of updates, each minibatch logged. The GPUs are in use in the updates only."""
    e = 5 * H
    stops = [(30.0, 150.0)] + [(a, b) for a, b in cycle(150, e, 60, 120)]
    at = ticks(150, e - 5, 1.5, every=2, pauses=stops[1:])
    return dict(
        elapsed_s=e,
        gpus=2,
        use=use_of(e, *with_pauses(e, stops[1:], 90, 2, 150, 1), bin_s=15),
        power=260.0,
        series={"policy_loss": fall(at, 0.5, 0.1, 0.02)},
        step_pauses=True,
        paused_share=share(stops[1:], e),
    )


@situation
def evaluation_with_gpus_in_use():
    """Each ten minutes an evaluation of two minutes on the GPUs themselves: gaps between steps, but no dip in use."""
    e = 5 * H
    stops = cycle(60, e, 600, 120)
    at = ticks(60, e - 5, 1.5, every=5, pauses=stops)
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94), bin_s=30), series={"train/loss": fall(at)})


@situation
def slow_loader_within_each_step():
    """Each step of 8 s waits 4 s for data: use jumps between 0 and 95 %, steps come regularly. There are no pauses between steps."""
    e = 2 * H
    at = ticks(60, e - 5, 8.0, jitter=0.02)
    return dict(
        elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 47, 15), bin_s=10), power=240.0, series={"train/loss": fall(at)}
    )


@situation
def dips_elsewhere_than_the_gaps():
    """The tracker lost points in three spells of five minutes; the dips of use come from a throttled file system at other times, and steps just get slower there."""
    e = 6 * H
    dips = [(0.8 * H, 1.1 * H), (2.6 * H, 2.9 * H), (4.4 * H, 4.7 * H)]
    lost = [(1.8 * H, 1.9 * H), (3.6 * H, 3.7 * H), (5.3 * H, 5.4 * H)]
    at: list[tuple[int, float]] = []
    t = 60.0
    while t < e - 10:
        t += (24 if any(a < t < b for a, b in dips) else 10) * float(dice().normal(1, 0.04))
        at.append((len(at) * 10 + 10, round(t, 1)))
    at = [p for p in at if not any(a < p[1] < b for a, b in lost)]
    return dict(
        elapsed_s=e, use=use_of(e, *with_pauses(e, dips, 93, 38, 60), bin_s=60), series={"train/loss": fall(at)}
    )


@situation
def long_compile_before_the_first_step():
    """The model was compiled for 25 minutes before step 1, with idle GPUs; then all went well. That is a start, not a pause between steps."""
    e = 4 * H
    at = ticks(25 * M, e - 5, 1.0, every=10)
    return dict(elapsed_s=e, use=use_of(e, (0, 25 * M, 1, 0.3), (25 * M, e, 95)), series={"train/loss": fall(at)})


@situation
def data_staged_before_the_first_step():
    """50 minutes of copying data to the node, then four hours of steps without a break."""
    e = 5 * H
    at = ticks(50 * M, e - 5, 2.0, every=10)
    return dict(
        elapsed_s=e, gpus=16, use=use_of(e, (0, 50 * M, 0, 0.1), (50 * M, e, 95)), series={"train/loss": fall(at)}
    )


@situation
def checkpoint_once_an_hour_until_the_limit():
    """24 GPUs; once an hour a checkpoint over a slow network took seven minutes at 1 %. Ended by its limit."""
    e = 24 * H
    stops = cycle(200, e, H, 420)
    at = ticks(200, e - 5, 4.0, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=24,
        use=use_of(e, *with_pauses(e, stops, 95, 1, 200), bin_s=120),
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def evaluation_pauses_beside_noisy_use():
    """Use is uneven within training (about 72 %), and 10 % in the eight minutes of evaluation after each 30 minutes. Use is known in bins of three minutes."""
    e = 6 * H
    stops = cycle(60, e, 1800, 480)
    at = ticks(60, e - 5, 2.5, every=10, pauses=stops, jitter=0.12)
    phases = [(a, b, v, 6.0 if v > 50 else 1.0) for a, b, v, *_ in with_pauses(e, stops, 72, 10, 60)]
    val = [(i + 1, b) for i, (_, b) in enumerate(stops)]
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *phases),
        power=250.0,
        series={"train/loss": fall(at), "val/miou": rise(val)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def pauses_with_points_each_hundred_seconds():
    """A point each 100 s; after each 20 minutes the data were shuffled on disk for six minutes with idle GPUs, so that gaps of nearly eight minutes alternate with those of 100 s."""
    e = 8 * H
    stops = cycle(60, e, 1200, 360)
    at = ticks(60, e - 5, 1.0, every=100, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=2,
        use=use_of(e, *with_pauses(e, stops, 93, 0, 60), bin_s=60),
        power=275.0,
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def a_stall_of_the_loader_now_and_then():
    """Every fiftieth step waits 40 s for the loader's queue, GPUs idle. One may call that a slow loader within the step or a pause between steps."""
    e = 4 * H
    stops = cycle(60, e, 100, 40)
    at = ticks(60, e - 5, 2.0, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 93, 2, 60), bin_s=10),
        series={"train/loss": fall(at)},
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def use_falls_and_rises_while_steps_are_even():
    """Another job on the same file system came and went: use waved between 55 and 95 %, but the steps, which log each minute, came evenly, as the loader's queue levelled it."""
    e = 6 * H
    at = ticks(60, e - 5, 6.0, every=10, jitter=0.02)
    waves = [(60 + i * 600.0, min(60 + (i + 1) * 600.0, e), 75 + 20 * math.sin(i * 1.1)) for i in range(36)]
    return dict(
        elapsed_s=e, gpus=4, use=use_of(e, (0, 60, 2), *waves, bin_s=60), power=260.0, series={"train/loss": fall(at)}
    )


@situation
def first_inf_then_nan():
    """The loss went to inf at step 2,000 and to NaN 40 steps later, and stayed so for five hours until its owner cancelled."""
    e = 6 * H
    p = spoil(spoil(fall(ticks(60, e - 5, 1.4, every=10)), 2000, INF), 2040)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        series={"Loss/train": p},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


CASES = drawn(__name__)
