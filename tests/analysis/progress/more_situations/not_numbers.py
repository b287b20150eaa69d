"""A loss that is no number, for good or for a while."""

from __future__ import annotations

from tests.analysis.progress.drawing import (
    INF,
    NAN,
    H,
    M,
    cycle,
    drawn,
    fall,
    level,
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
def total_and_parts_are_nan():
    """A detector: loss_cls, loss_bbox and loss are NaN from step 1,240 to the limit, 14 hours later."""
    e = 15 * H
    at = ticks(120, e - 5, 2.4, every=20)
    series = {
        n: spoil(fall(at, top, low), 1240)
        for n, top, low in (("loss", 3, 1), ("loss_cls", 1.6, 0.5), ("loss_bbox", 1.4, 0.5))
    }
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series=series | {"lr": level(at, 0.02)},
        use=use_of(e, (0, 120, 2), (120, e, 91)),
        loss_is_nan=True,
        nan_since_step=onset(series["loss"]),
    )


@situation
def fairseq_nll_loss_is_inf():
    """train/nll_loss is inf from update 5,000 of 40,000; the overflow was never noticed."""
    e = 20 * H
    p = spoil(fall(ticks(90, e - 5, 1.75, every=100)), 5000, INF)
    return dict(
        elapsed_s=e,
        gpus=16,
        series={"train/nll_loss": p, "train/ups": level([(s, t) for s, t, _ in p], 0.57, 0.01)},
        use=use_of(e, (0, 90, 2), (90, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def training_loss_in_words_is_nan():
    """ "Training Loss" and "Validation Loss", capitals and spaces. NaN from epoch 3 to epoch 25."""
    e = 13 * H
    at = ticks(60, e - 5, 30 * M, jitter=0.005)
    p = spoil(fall(at), 3)
    return dict(
        elapsed_s=e,
        series={"Training Loss": p, "Validation Loss": spoil(fall(at, 4.2, 1.7), 3)},
        use=use_of(e, (0, 60, 2), (60, e, 91)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nan_with_points_in_reverse_order():
    """NaN since step 700 of 9,000; the newest point comes first."""
    e = 4 * H
    p = spoil(fall(ticks(60, e - 5, 1.6, every=10)), 700)
    return dict(
        elapsed_s=e,
        series={"loss": p[::-1]},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def only_validation_loss_is_logged_and_nan():
    """Only val_loss is logged, once an epoch. It was good for nine epochs and NaN for 31 more: the model is broken since."""
    e = 21 * H
    p = spoil(fall(ticks(100, e - 5, 31 * M, jitter=0.01)), 10)
    return dict(
        elapsed_s=e,
        gpus=4,
        series={"val_loss": p},
        use=use_of(e, (0, 100, 2), (100, e, 90)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def first_now_and_then_and_later_for_good():
    """Single NaN points at steps 1,000, 1,800 and 2,300 that recovered, and from step 3,100 on nothing but NaN for six hours."""
    e = 8 * H
    p = fall(ticks(60, e - 5, 2.0, every=10))
    for s in (1000, 1800, 2300):
        p = spoil(p, s, to_step=s)
    p = spoil(p, 3100)
    return dict(
        elapsed_s=e,
        series={"train_loss": p},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nan_in_a_resumed_run():
    """This job went on from step 20,000; NaN came at step 21,500 and stayed for the other eleven hours."""
    e = 12 * H
    before = [p for p in ticks(-40 * H, -14 * H, 4.5, every=100) if p[0] <= 20_000]
    at = ticks(150, e - 5, 2.2, every=20, first=20_000)
    p = spoil(fall(before + at), 21_500)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=32,
        series={"lm loss": p},
        use=use_of(e, (0, 150, 2), (150, e, 95)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nan_with_all_points_at_step_zero():
    """Every point has step 0; the loss is NaN since half an hour after the start, for seven hours."""
    e = 7.5 * H
    at = [(0, t) for _, t in ticks(60, e - 5, 15)]
    p = [(s, t, v if t < 30 * M else NAN) for s, t, v in fall(at)]
    return dict(
        elapsed_s=e, series={"loss": p}, use=use_of(e, (0, 60, 2), (60, e, 94)), loss_is_nan=True, nan_since_step=(0, 0)
    )


@situation
def nan_with_checkpoint_pauses():
    """NaN from step 2,000 on; meanwhile a checkpoint of the useless weights each 20 minutes, two minutes with idle GPUs. Both are true."""
    e = 8 * H
    stops = cycle(60, e, 1200, 120)
    p = spoil(fall(ticks(60, e - 5, 1.5, every=10, pauses=stops)), 2000)
    return dict(
        elapsed_s=e,
        series={"train/loss": p},
        use=use_of(e, *with_pauses(e, stops, 94, 1, 60), bin_s=60),
        loss_is_nan=True,
        nan_since_step=onset(p),
        step_pauses=True,
        paused_share=share(stops, e),
    )


@situation
def nan_in_the_job_before_this_one():
    """The first job ended in NaN from step 7,000 to 7,400. This one began at the checkpoint of step 6,000 and is well, to step 14,000."""
    e = 6 * H
    before = spoil(fall([p for p in ticks(-20 * H, -8 * H, 2.6, every=20) if p[0] <= 7400], 4, 2), 7000)
    at = ticks(120, e - 5, 2.6, every=20, first=6000)
    return dict(elapsed_s=e, series={"loss": before + fall(at, 2.2, 1.4)}, use=use_of(e, (0, 120, 2), (120, e, 94)))


@situation
def nan_during_warm_up():
    """The loss scale began too high: NaN in the first 30 steps, then well for five hours."""
    e = 5 * H
    p = spoil(fall(ticks(60, e - 5, 1.3, every=2)), 0, to_step=30)
    return dict(elapsed_s=e, series={"loss": p}, use=use_of(e, (0, 60, 2), (60, e, 94)))


@situation
def nan_now_and_then_to_the_end():
    """Every 13th logged batch is all padding, so its loss is NaN, up to the last point but one. The others fall as they should."""
    e = 5 * H
    p = fall(ticks(60, e - 5, 1.3, every=10))
    n = len(p)
    p = [(s, t, NAN if (n - 2 - i) % 13 == 0 else v) for i, (s, t, v) in enumerate(p)]
    return dict(elapsed_s=e, series={"train_loss": p}, use=use_of(e, (0, 60, 2), (60, e, 94)))


@situation
def validation_loss_nan_but_training_well():
    """The validation set is empty on this node, so val_loss is NaN in every epoch. Training is well."""
    e = 6 * H
    at, val = ticks(60, e - 5, 1.3, every=10), ticks(60, e - 5, 20 * M, jitter=0.01)
    return dict(
        elapsed_s=e,
        series={"train_loss": fall(at), "val_loss": level(val, NAN)},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
    )


@situation
def reward_nan_until_the_first_episode():
    """episode_return_mean is NaN until the first episode has ended, at 20 minutes."""
    e = 5 * H
    at = ticks(60, e - 5, 12, every=1)
    return dict(
        elapsed_s=e,
        gpus=1,
        series={
            "episode_return_mean": spoil(rise(at, -100, 200), 0, to_step=100),
            "loss/policy": level(at, 0.03, 0.01),
        },
        use=use_of(e, (0, 60, 2), (60, e, 70, 5)),
        power=190.0,
    )


@situation
def gradient_norm_inf_now_and_then():
    """grad_norm is inf whenever the loss scaler backs off, some forty times and in the last point. The loss is fine."""
    e = 6 * H
    at = ticks(60, e - 5, 1.5, every=10)
    g = [(s, t, INF if i % 35 == 0 or i == len(at) - 1 else v) for i, (s, t, v) in enumerate(level(at, 0.9, 0.1))]
    return dict(
        elapsed_s=e, series={"train/loss": fall(at), "train/grad_norm": g}, use=use_of(e, (0, 60, 2), (60, e, 94))
    )


@situation
def learning_rate_finder_in_its_own_series():
    """lr_find/loss ended in NaN after five minutes, as it should. train/loss is fine for seven hours."""
    e = 7.2 * H
    find = ticks(60, 340, 1.0, every=2)
    at = ticks(360, e - 5, 1.0, every=25)
    return dict(
        elapsed_s=e,
        series={"lr_find/loss": spoil(fall(find, 4, 3), 230), "train/loss": fall(at)},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
    )


@situation
def gan_logged_in_turn():
    """A GAN logs one row a step; in every second row lossG is NaN as only the discriminator was trained. The last row is such a one."""
    e = 5 * H
    at = ticks(60, e - 5, 0.9, every=15)
    n = len(at)
    g = [(s, t, NAN if (n - 1 - i) % 2 == 0 else v) for i, (s, t, v) in enumerate(fall(at, 3, 1))]
    return dict(
        elapsed_s=e, gpus=4, series={"lossG": g, "lossD": fall(at, 1.4, 0.7)}, use=use_of(e, (0, 60, 2), (60, e, 90))
    )


@situation
def no_loss_but_undefined_scores():
    """f1/class_3 and auroc are NaN to the end since that class has no sample; the loss is called mae and falls. lossless_ratio is inf."""
    e = 5 * H
    at = ticks(60, e - 5, 2.0, every=10)
    return dict(
        elapsed_s=e,
        gpus=2,
        series={
            "mae": fall(at),
            "f1/class_3": level(at, NAN),
            "auroc": level(at, NAN),
            "lossless_ratio": level(at, INF),
        },
        use=use_of(e, (0, 60, 2), (60, e, 92)),
    )


@situation
def perplexity_overflows_but_the_loss_is_finite():
    """A byte-level loss summed over long documents: exp of it overflows, so perplexity is inf in every point. The loss itself falls."""
    e = 6 * H
    at = ticks(60, e - 5, 1.8, every=10)
    return dict(
        elapsed_s=e,
        series={"loss": fall(at, 2200, 900, 5), "perplexity": level(at, INF)},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
    )


@situation
def the_logger_drops_nan():
    """The loss became NaN at step 3,000 and the logger leaves out what is not a number: its series just ends, while lr and throughput go on to the end."""
    e = 9 * H
    at = ticks(60, e - 5, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series={
            "train/loss": fall([p for p in at if p[0] < 3000]),
            "lr": level(at, 1e-4),
            "samples_per_second": level(at, 512, 5),
        },
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=None,
    )


@situation
def one_of_eight_trials_is_nan():
    """Eight independent trials, one for each GPU; trial 5 was NaN from step 400 and went on to the end, the seven others are well."""
    e = 6 * H
    series = {f"trial_{k}/loss": fall(ticks(60, e - 5, 2.0, every=25)) for k in range(8)}
    series["trial_5/loss"] = spoil(series["trial_5/loss"], 400)
    return dict(elapsed_s=e, series=series, use=use_of(e, (0, 60, 2), (60, e, 90)), loss_is_nan=None)


@situation
def nan_and_waiting_in_the_debugger():
    """At the first NaN points the script opened a debugger, and eight GPUs stood idle for five hours until the limit. The GPUs did not go on."""
    e = 6 * H
    p = fall(ticks(60, H, 1.5, every=1))
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series={"loss": spoil(p, p[-3][0])},
        use=use_of(e, (0, 60, 2), (60, H, 93), (H, e, 0, 0.05)),
        loss_is_nan=None,
    )


@situation
def learning_rate_range_test_alone():
    """A job of its own to find the learning rate: the loss blew up to inf and NaN in the last 20 steps, as intended, and the script ended by itself."""
    e = 11 * M
    p = fall(ticks(40, e - 3, 1.5, every=2), 4.0, 3.2)
    return dict(
        elapsed_s=e,
        gpus=1,
        series={"loss": spoil(p, p[-10][0])},
        use=use_of(e, (0, 40, 2), (40, e, 90)),
        power=265.0,
        loss_is_nan=None,
    )


@situation
def nan_in_two_of_forty_minutes():
    """NaN in the last two of 40 minutes, seen and cancelled by its owner. True, but little was lost."""
    e = 40 * M
    p = fall(ticks(30, e - 2, 0.5, every=5))
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        gpus=1,
        series={"loss": spoil(p, p[-46][0])},
        use=use_of(e, (0, 30, 2), (30, e, 91)),
        power=270.0,
        loss_is_nan=None,
    )


CASES = drawn(__name__)
