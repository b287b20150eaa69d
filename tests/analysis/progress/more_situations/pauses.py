"""Pauses between steps, and dips of the GPU use that have other reasons."""

from __future__ import annotations

import numpy as np

from tests.analysis.progress.drawing import (
    H,
    M,
    cycle,
    dice,
    drawn,
    fall,
    level,
    share,
    shift,
    shuffled,
    situation,
    ticks,
    use_of,
    with_pauses,
)


@situation
def large_checkpoints_of_a_large_model():
    """64 GPUs; each half hour a checkpoint of three minutes with all GPUs at 1 %."""
    e = 12 * H
    stops = cycle(300, e, 1800, 180)
    at = ticks(300, e - 5, 6.0, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=64,
        use=use_of(e, *with_pauses(e, stops, 95, 1, 300), bin_s=60),
        series={"lm loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def validation_after_epochs_of_different_length():
    """Epochs of 8 to 25 minutes, each followed by a validation of three to six minutes on the CPU."""
    e = 8 * H
    stops, t = [], 60.0
    while True:
        a = t + float(dice().uniform(480, 1500))
        b = a + float(dice().uniform(180, 360))
        if b > e - 60:
            break
        stops.append((a, b))
        t = b
    at = ticks(60, e - 5, 1.2, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 90, 3, 60), bin_s=60),
        series={"Loss/train": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def two_long_evaluations():
    """Two full evaluations on the CPU, 40 minutes each, in a run of eight hours. The GPUs stood idle in both."""
    e = 8 * H
    stops = [(2.5 * H, 2.5 * H + 40 * M), (5.6 * H, 5.6 * H + 40 * M)]
    at = ticks(60, e - 5, 1.5, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 94, 0.5, 60)),
        series={"train/loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def evaluation_that_logs_its_own_batches():
    """Each 15 minutes four minutes of evaluation with GPUs at 8 %, in which `eval/batch_time` is logged each five seconds. The training's steps pause."""
    e = 6 * H
    stops = cycle(60, e, 900, 240)
    at = ticks(60, e - 5, 1.5, every=5, pauses=stops)
    own = [(i, round(t, 1)) for i, t in enumerate(x for a, b in stops for x in np.arange(a + 5, b, 5.0).tolist())]
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 93, 8, 60), bin_s=60),
        series={"train/loss": fall(at), "eval/batch_time": level(own, 4.9, 0.1)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def reload_with_some_use():
    """Each six minutes the next shard is loaded and decoded on the GPUs for 75 s, at about 22 % instead of 95 %."""
    e = 4 * H
    stops = cycle(60, e, 360, 75)
    at = ticks(60, e - 5, 0.9, every=5, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=2,
        use=use_of(e, *with_pauses(e, stops, 95, 22, 60), bin_s=15),
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def evaluation_uses_the_gpus_better_than_training():
    """Training is bound by its loader at 25 %; the evaluation of three minutes each twelve runs at 95 %. Low use is not in the pauses, on the contrary."""
    e = 5 * H
    stops = cycle(60, e, 720, 180)
    at = ticks(60, e - 5, 2.0, every=3, pauses=stops)
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 25, 95, 60), bin_s=60),
        power=210.0,
        series={"train/loss": fall(at)},
    )


@situation
def dips_far_faster_than_the_log():
    """Each minute 15 s of loading; but points come each ten minutes only, at an even pace. Pauses cannot be seen from the steps, so they must not be claimed."""
    e = 8 * H
    stops = cycle(60, e, 45, 15)
    at = ticks(60, e - 5, 600, jitter=0.01)
    return dict(
        elapsed_s=e,
        gpus=2,
        use=use_of(e, *with_pauses(e, stops, 94, 2, 60), bin_s=15),
        power=270.0,
        series={"train/loss": fall(at)},
    )


@situation
def low_use_throughout():
    """A loader with one worker: use about 30 % all the time, steps regular. No pauses."""
    e = 6 * H
    at = ticks(60, e - 5, 4.0, every=2)
    return dict(
        elapsed_s=e, gpus=4, use=use_of(e, (0, 60, 2), (60, e, 31, 4)), power=190.0, series={"train_loss": fall(at)}
    )


@situation
def idle_before_and_after():
    """An hour of unpacking before the first step and an hour of packing after the last one, GPUs idle in both; none between steps."""
    e = 6 * H
    at = ticks(H, 5 * H, 1.5, every=10)
    return dict(
        elapsed_s=e, use=use_of(e, (0, H, 0, 0.1), (H, 5 * H, 93), (5 * H, e, 0, 0.1)), series={"train/loss": fall(at)}
    )


@situation
def one_idle_gpu():
    """Seven of eight GPUs at 95 %, one never used. Use is even, at 83 %, and steps too."""
    e = 5 * H
    at = ticks(60, e - 5, 1.5, every=10)
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 83)), series={"train/loss": fall(at)})


@situation
def tracker_gap_and_a_dip_elsewhere():
    """The tracker was down for half an hour at 2 h, while GPUs were busy. At 4 h a slow file system halved the use for half an hour; steps came on at half the pace."""
    e = 6 * H
    at = ticks(60, 4 * H, 1.5, every=10)
    at += ticks(4 * H, 4.5 * H, 3.0, every=10, first=at[-1][0])
    at += ticks(4.5 * H, e - 5, 1.5, every=10, first=at[-1][0])
    at = [p for p in at if not 2 * H < p[1] < 2.5 * H]
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 4 * H, 93), (4 * H, 4.5 * H, 46), (4.5 * H, e, 93)),
        series={"train/loss": fall(at)},
    )


@situation
def tiny_checkpoints():
    """A checkpoint of five seconds each 20 minutes. They are pauses, but of 0.4 % of the run: hardly worth a word."""
    e = 6 * H
    stops = cycle(60, e, 1200, 5)
    at = ticks(60, e - 5, 0.5, every=4, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 94, 2, 60)),
        series={"loss": fall(at)},
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def pauses_are_the_smaller_part():
    """Use is 50 % within steps because of the loader, and 1 % in checkpoints of a minute each 15 minutes. The pauses are real and explain only their own dips."""
    e = 5 * H
    stops = cycle(60, e, 900, 60)
    at = ticks(60, e - 5, 2.0, every=3, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 50, 1, 60), bin_s=30),
        power=230.0,
        series={"train/loss": fall(at)},
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def pauses_with_points_in_disorder():
    """Checkpoints of two minutes each quarter of an hour; the points arrived in any order."""
    e = 6 * H
    stops = cycle(60, e, 900, 120)
    at = ticks(60, e - 5, 1.5, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 94, 1, 60), bin_s=60),
        series={"train/loss": shuffled(fall(at))},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def pauses_with_the_batch_index_as_step():
    """The step is the batch within the epoch; after each epoch of 500 batches five minutes of evaluation on the CPU."""
    e = 7 * H
    stops = cycle(60, e, 1000, 300)
    at = [(s % 500, t) for s, t in ticks(60, e - 5, 2.0, every=5, pauses=stops)]
    return dict(
        elapsed_s=e,
        gpus=2,
        use=use_of(e, *with_pauses(e, stops, 92, 3, 60), bin_s=60),
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def pauses_with_all_points_at_step_zero():
    """No steps are given, only times: points each ten seconds, with six minutes of silence and idle GPUs after each half hour."""
    e = 6 * H
    stops = cycle(60, e, 1800, 360)
    at = [(0, t) for _, t in ticks(60, e - 5, 10.0, pauses=stops)]
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, *with_pauses(e, stops, 93, 1, 60), bin_s=60),
        series={"loss": fall(at)},
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def pauses_and_a_clock_twenty_seconds_ahead():
    """Evaluation of five minutes each 20 minutes with idle GPUs; the points' clock is 20 s ahead, so gaps and dips are shifted a little."""
    e = 8 * H
    stops = cycle(60, e, 1200, 300)
    at = ticks(60, e - 30, 1.5, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        use=use_of(e, *with_pauses(e, stops, 93, 2, 60), bin_s=60),
        series={"train/loss": shift(fall(at), 20)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def long_pauses_in_coarse_use():
    """A day's run whose use is known in bins of twelve minutes: after each two hours the ensemble was saved and checked for 40 minutes with idle GPUs."""
    e = 24 * H
    stops = cycle(120, e, 2 * H, 40 * M)
    at = ticks(120, e - 5, 5.0, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=16,
        use=use_of(e, *with_pauses(e, stops, 92, 1, 120)),
        series={"loss": fall(at)},
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def gaps_in_the_log_at_other_times_than_dips():
    """Points are sent in bursts (five minutes of silence each 20, the tracker's quota), and GPUs dip for five minutes each 20 as well, ten minutes later, while steps come on evenly."""
    e = 6 * H
    dips = cycle(60, e, 900, 300)
    lost = [(a - 600, b - 600) for a, b in dips]
    at = [p for p in ticks(60, e - 5, 1.5, every=10) if not any(a < p[1] < b for a, b in lost)]
    return dict(
        elapsed_s=e, gpus=4, use=use_of(e, *with_pauses(e, dips, 93, 40, 60), bin_s=60), series={"train/loss": fall(at)}
    )


CASES = drawn(__name__)
