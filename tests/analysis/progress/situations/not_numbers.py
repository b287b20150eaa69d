"""A loss that is no number, for good or for a while."""

from __future__ import annotations

from tests.analysis.progress.drawing import (
    INF,
    NAN,
    H,
    drawn,
    fall,
    level,
    onset,
    rise,
    situation,
    spoil,
    ticks,
    use_of,
)


@situation
def loss_nan_for_nine_hours():
    """The loss was NaN from step 4,210 on, one hour into the run; the job went on for nine hours at full power and wrote useless checkpoints."""
    e = 10 * H
    p = spoil(fall(ticks(60, e - 5, 0.85, every=10)), 4210)
    return dict(
        elapsed_s=e,
        series={"train_loss": p, "lr": level([(s, t) for s, t, _ in p], 1e-3)},
        use=use_of(e, (0, 60, 2), (60, e, 95)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def loss_nan_for_one_step():
    """Mixed precision: the loss was NaN in one logged step, the scaler skipped it, and all was well again."""
    e = 5 * H
    p = fall(ticks(60, e - 5, 1.2, every=5))
    p = spoil(p, p[700][0], to_step=p[700][0])
    return dict(elapsed_s=e, series={"loss": p}, use=use_of(e, (0, 60, 2), (60, e, 95)))


@situation
def only_the_auxiliary_loss_is_nan():
    """train/aux_loss is the mean over an empty set and NaN from step 500 on; it is not part of train/loss, which falls to the end."""
    e = 5 * H
    at = ticks(60, e - 5, 1.2, every=10)
    return dict(
        elapsed_s=e,
        series={"train/loss": fall(at), "train/aux_loss": spoil(fall(at, 1.0, 0.3), 500)},
        use=use_of(e, (0, 60, 2), (60, e, 95)),
    )


@situation
def accuracy_undefined_from_the_start():
    """The accuracy of a class that never occurs is NaN in every point. The loss is fine."""
    e = 4 * H
    at = ticks(60, e - 5, 1.2, every=10)
    return dict(
        elapsed_s=e,
        series={"loss": fall(at), "accuracy_class_7": level(at, NAN), "accuracy": rise(at)},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
    )


@situation
def loss_inf_for_good():
    """The learning rate was too high: inf from step 300 on, for the other four hours."""
    e = 4.2 * H
    p = spoil(fall(ticks(60, e - 5, 1.5, every=10), 6.0, 5.0), 300, INF)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series={"loss": p},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nan_in_the_very_last_point():
    """The last batch had one sample and its loss was NaN: one point, two seconds before the end of ten hours."""
    e = 10 * H
    p = fall(ticks(60, e - 2, 3.0, every=10))
    return dict(elapsed_s=e, series={"loss": spoil(p, p[-1][0])}, use=use_of(e, (0, 60, 2), (60, e, 94)))


@situation
def nan_in_the_last_minute():
    """NaN in the last 50 s before the limit, in ten points. True, but of no weight."""
    e = 8 * H
    p = fall(ticks(60, e - 2, 1.0, every=5))
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series={"loss": spoil(p, p[-10][0])},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=None,
    )


@situation
def nan_and_the_script_stopped_at_once():
    """The script checks its loss: at the first NaN it raised an error and the job failed four seconds later. Nothing was wasted."""
    e = 3 * H
    p = fall(ticks(60, e - 4, 1.0, every=1)[-4000:])
    return dict(
        elapsed_s=e, state="FAILED", series={"train/loss": spoil(p, p[-1][0])}, use=use_of(e, (0, 60, 2), (60, e, 94))
    )


@situation
def nan_in_tensorboard_style():
    """Loss/train logged each 50 steps, NaN from the point of step 1,500 to the limit; Loss/test of the epochs after that is NaN too."""
    e = 12 * H
    p = spoil(fall(ticks(60, e - 5, 1.4, every=50)), 1500)
    v = spoil(fall(ticks(60, e - 5, H, jitter=0.01), 4, 1.8), 1)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        series={"Loss/train": p, "Loss/test": v},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def both_losses_of_a_gan_are_nan():
    """A GAN: lossD and lossG both NaN since step 9,000 of 60,000."""
    e = 6 * H
    at = ticks(60, e - 5, 0.35, every=100)
    g, d = spoil(fall(at, 3, 1), 9000), spoil(fall(at, 1.4, 0.6), 9000)
    return dict(
        elapsed_s=e,
        gpus=4,
        series={"lossG": g, "lossD": d},
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        loss_is_nan=True,
        nan_since_step=onset(g),
    )


@situation
def perplexity_is_nan():
    """Only the perplexity is logged; NaN since step 2,000 of 15,000."""
    e = 7 * H
    p = spoil(fall(ticks(60, e - 5, 1.6, every=20), 900, 20, 1), 2000)
    return dict(
        elapsed_s=e,
        series={"perplexity": p},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def validation_loss_with_a_space_is_nan():
    """Keras-like: "loss" and "val loss" by epoch, both NaN from epoch 4 to epoch 40."""
    e = 10 * H
    at = ticks(60, e - 5, 900, jitter=0.01)
    p, v = spoil(fall(at), 4), spoil(fall(at, 4.3, 1.6), 4)
    return dict(
        elapsed_s=e,
        gpus=1,
        series={"loss": p, "val loss": v},
        use=use_of(e, (0, 60, 2), (60, e, 88)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nll_collapsed_to_minus_infinity():
    """A variance went to zero: nll is -inf from step 800 on, for six hours."""
    e = 6.5 * H
    p = spoil(fall(ticks(60, e - 5, 2.0, every=10), 2, -8), 800, -INF)
    return dict(
        elapsed_s=e,
        gpus=2,
        series={"nll": p},
        use=use_of(e, (0, 60, 2), (60, e, 91)),
        loss_is_nan=True,
        nan_since_step=onset(p),
    )


@situation
def nan_from_the_first_step():
    """Wrong initialisation: no point of the loss was ever a number, for seven hours."""
    e = 7 * H
    p = level(ticks(60, e - 5, 1.5, every=10), NAN)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        series={"train/loss": p, "train/grad_norm": p},
        use=use_of(e, (0, 60, 2), (60, e, 94)),
        loss_is_nan=True,
        nan_since_step=(0, p[0][0]),
    )


@situation
def nan_then_rolled_back_to_a_checkpoint():
    """NaN from step 6,000 to 6,200; the script loaded the checkpoint of step 5,500 by itself and went on well from there, to step 15,000."""
    e = 6 * H
    one = spoil(fall([p for p in ticks(60, e, 1.3, every=10) if p[0] <= 6200], 4.2, 2.4), 6000)
    two = fall(ticks(one[-1][1] + 60, e - 5, 1.3, every=10, first=5500), 2.5, 1.4)
    return dict(elapsed_s=e, series={"loss": one + two}, use=use_of(e, (0, 60, 2), (60, e, 94)))


@situation
def other_metrics_with_loss_in_their_names():
    """best_val_loss is inf as no validation ever ran, loss_scale is inf in bf16, gloss_score is NaN; train/loss itself is fine."""
    e = 5 * H
    at = ticks(60, e - 5, 1.5, every=10)
    return dict(
        elapsed_s=e,
        series={
            "train/loss": fall(at),
            "best_val_loss": level(at, INF),
            "loss_scale": level(at, INF),
            "gloss_score": level(at, NAN),
        },
        use=use_of(e, (0, 60, 2), (60, e, 94)),
    )


@situation
def validation_loss_padded_with_nan():
    """The logger writes a whole row each 10 steps and fills what was not computed with NaN: val/loss is a number each 500 steps only, and its last rows are padding."""
    e = 6 * H
    at = ticks(60, e - 5, 1.5, every=10)
    v = [(s, t, x if s % 500 == 0 else NAN) for s, t, x in fall(at, 4, 1.7)]
    return dict(elapsed_s=e, series={"train/loss": fall(at), "val/loss": v}, use=use_of(e, (0, 60, 2), (60, e, 94)))


CASES = drawn(__name__)
