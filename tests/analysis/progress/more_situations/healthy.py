"""It may look like a hang, and is none."""

from __future__ import annotations

from tests.analysis.progress.drawing import (
    H,
    M,
    Points,
    dice,
    drawn,
    fall,
    level,
    rise,
    shift,
    shuffled,
    situation,
    ticks,
    use_of,
)


@situation
def use_is_not_known_since_the_last_step():
    """Steps stopped at 2 h, and the node's collector died at 2 h as well. Whether the GPUs were in use afterwards is not known, so nobody can say it as a fact."""
    e = 12 * H
    at = ticks(60, 2 * H, 1.5, every=10)
    return dict(
        elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, 2 * H, 93)), power=300.0, series={"loss": fall(at)}
    )


@situation
def nothing_was_measured():
    """No collector on the node: use and power are unknown. The log ends at 1 h of 10."""
    e = 10 * H
    return dict(elapsed_s=e, state="TIMEOUT", use=(), power=None, series={"loss": fall(ticks(60, H, 1.5, every=10))})


@situation
def notebook_left_open_over_lunch():
    """An interactive session: two short trainings, then the notebook stayed open for five hours with idle GPUs until the limit."""
    e = 8 * H
    one, two = ticks(20 * M, 50 * M, 0.8, every=10), ticks(2 * H, 2.6 * H, 0.8, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(
            e,
            (0, 20 * M, 0, 0.1),
            (20 * M, 50 * M, 80),
            (50 * M, 2 * H, 0, 0.1),
            (2 * H, 2.6 * H, 80),
            (2.6 * H, e, 0, 0.1),
        ),
        power=240.0,
        series={"loss": fall(one) + fall(two)},
        step_pauses=None,
    )


@situation
def sleeps_after_the_training():
    """Training ended at 3 h; `sleep infinity` at the end of the script kept eight idle GPUs for nine hours more."""
    e = 12 * H
    at = ticks(60, 3 * H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 3 * H, 93), (3 * H, e, 0, 0.05)),
        power=300.0,
        series={"train/loss": fall(at)},
    )


@situation
def epochs_that_grow():
    """A curriculum: each epoch has longer sequences than the one before, from 6 minutes to 75. The limit came 70 minutes into the last."""
    e = 9 * H
    at, t, d = [], 90.0, 360.0
    while t + d < e:
        t += d
        d *= 1.19
        at.append((len(at) + 1, round(t, 1)))
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 90, 2), (90, e, 94)),
        power=300.0,
        series={"train_loss": fall(at), "val_loss": fall(at, 4, 1.6)},
    )


@situation
def logs_less_often_later():
    """Logs each 10 steps up to step 1,000 and each 5,000 afterwards; the next point would have come 20 minutes after the end. A light model of 115 W."""
    e = 5 * H
    at = ticks(30, 30 + 1000 * 0.5, 0.5, every=10)
    at += ticks(530, 4.3 * H, 0.5, every=5000, first=1000, jitter=0.01)
    return dict(elapsed_s=e, gpus=2, use=use_of(e, (0, 30, 2), (30, e, 95, 1)), power=115.0, series={"loss": fall(at)})


@situation
def test_set_predicted_for_three_hours():
    """After training the whole archive was predicted, without any metric, at full power, until the limit."""
    e = 8 * H
    at = ticks(60, 5 * H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 5 * H, 93), (5 * H, e, 97)),
        power=310.0,
        series={"train/loss": fall(at)},
    )


@situation
def test_metrics_have_steps_of_their_own():
    """Training ended at 2 h with step 8,000; the test that followed logs `test/psnr` by image to the end. Progress never stopped. A light network, 125 W."""
    e = 6 * H
    at = ticks(60, 2 * H, 0.9, every=20)
    test = ticks(2 * H + 30, e - 5, 4.0, every=3)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 92), (2 * H, e, 90, 3)),
        power=125.0,
        series={"train/loss": fall(at), "test/psnr": rise(test, 20, 32)},
    )


@situation
def tracker_lost_but_the_job_completed():
    """A light job at 120 W. The tracker's token expired at 5 h, so later points were refused; the script ended by itself at 9 h with all its work done."""
    e = 9 * H
    at = ticks(60, 5 * H, 1.5, every=10)
    return dict(
        elapsed_s=e, gpus=1, use=use_of(e, (0, 60, 2), (60, e, 98, 0.5)), power=120.0, series={"loss": fall(at)}
    )


@situation
def local_time_taken_for_utc():
    """Helsinki's time was sent as if it were UTC: all points are two hours late, most lie after the job's end."""
    e = 3 * H
    at = ticks(60, e - 5, 1.0, every=10)
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 93)), series={"train/loss": shift(fall(at), 2 * H)})


@situation
def clock_set_right_in_mid_run():
    """The clock was 40 minutes behind and was set right at 2 h: a gap of 40 minutes in the points, none in the steps."""
    e = 5 * H
    p = fall(ticks(60, e - 5, 1.5, every=10))
    p = [(s, round(t - 40 * M, 1) if t < 2 * H else t, v) for s, t, v in p]
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94)), series={"train/loss": p})


@situation
def healthy_in_disorder():
    """Asynchronous logging sent batches in any order; all points are there, to the end."""
    e = 4 * H
    at = ticks(60, e - 5, 1.2, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        series={"loss": shuffled(fall(at)), "lr": shuffled(level(at, 1e-4))},
    )


@situation
def four_seeds_in_one_series():
    """Four processes, one for each GPU, log into the same run: every step comes four times, interleaved, and they end at different times. The last one to the end."""
    e = 4 * H
    p: Points = []
    for k in range(4):
        p += fall(ticks(60, e * (0.7 + 0.1 * k) - 5, 1.5, every=10))
    p.sort(key=lambda x: x[1])
    return dict(
        elapsed_s=e,
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, 0.7 * e, 93), (0.7 * e, 0.8 * e, 70), (0.8 * e, 0.9 * e, 47), (0.9 * e, e, 24)),
        power=280.0,
        series={"loss": p},
    )


@situation
def optuna_with_forty_trials():
    """Optuna, one trial after another, each with steps 0 to 20, bad ones pruned after three. The last one was in its 12th epoch at the limit."""
    e = 6 * H
    p: Points = []
    t = 60.0
    while t < e - 60:
        n = 3 if dice().random() < 0.5 else 20
        at = [(i, round(t + 55.0 * (i + 1), 1)) for i in range(n) if t + 55.0 * (i + 1) < e]
        p += fall(at, 2.3, 0.4 + float(dice().random()))
        t += 55.0 * n + 12
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 86, 4)),
        power=250.0,
        series={"val_loss": p},
    )


CASES = drawn(__name__)
