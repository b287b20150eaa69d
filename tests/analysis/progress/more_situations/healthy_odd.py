"""Further runs that may look like a hang, and are none."""

from __future__ import annotations

import numpy as np

from tests.analysis.progress.drawing import (
    SPIN,
    WORK,
    H,
    M,
    dice,
    drawn,
    fall,
    level,
    mix,
    situation,
    system,
    ticks,
    use_of,
)


@situation
def network_stalled_twice():
    """Twice for 25 minutes a slow switch kept all ranks waiting at 100 %; each time they went on. Slow, but not stuck for good."""
    e = 7 * H
    stops = [(2 * H, 2 * H + 25 * M), (5 * H, 5 * H + 25 * M)]
    at = ticks(60, e - 5, 1.5, every=10, pauses=stops)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=32,
        use=use_of(
            e,
            (0, 60, 2),
            (60, 2 * H, 94),
            (*stops[0], 100, 0.05),
            (stops[0][1], 5 * H, 94),
            (*stops[1], 100, 0.05),
            (stops[1][1], e, 94),
        ),
        power=mix((6.2 * H, WORK), (0.8 * H, SPIN)),
        series={"train/loss": fall(at)},
    )


@situation
def out_of_memory_after_forty_steps():
    """Host memory ran out in step 41, five minutes after the start."""
    e = 5 * M
    at = ticks(60, e - 5, 5.8)
    return dict(
        elapsed_s=e,
        state="OUT_OF_MEMORY",
        use=use_of(e, (0, 60, 2), (60, e, 88)),
        power=280.0,
        series={"loss": fall(at)},
    )


@situation
def only_a_final_score():
    """One point in all: the score at the end."""
    e = 6 * H
    return dict(
        elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 92)), power=290.0, series={"final_bleu": [(0, e - 8, 31.4)]}
    )


@situation
def only_constants_at_the_start():
    """n_params and dataset_size were logged as metrics at the start, nothing later. Healthy, ended well. Nothing says how far it got."""
    e = 6 * H
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        power=290.0,
        series={"n_params": [(0, 31.0, 1.3e9)], "dataset_size": [(0, 31.1, 4.1e6)]},
    )


@situation
def step_is_the_epoch_and_epochs_are_long():
    """Points each 30 s, but their step is the epoch's number, and epoch 3 lasted the last four hours. The counter is flat, the points are not. Light kernels, 118 W."""
    e = 12 * H
    raw = ticks(60, e - 20, 30)
    at = [(int(t // (4 * H)) + 1, t) for _, t in raw]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 96, 1)),
        power=118.0,
        series={"train_loss": fall(at)},
    )


@situation
def steps_count_down():
    """The step is the number of iterations left: 9,000 down to 0."""
    e = 4 * H
    at = ticks(60, e - 5, 1.6, every=10)
    top = at[-1][0]
    return dict(
        elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 93)), series={"loss": fall([(top - s, t) for s, t in at])}
    )


@situation
def restarted_within_the_job():
    """The job script starts the training again when it fails: it failed at 3 h, GPUs idle for twelve minutes, then it went on from a checkpoint 300 steps back."""
    e = 8 * H
    one = ticks(60, 3 * H, 1.5, every=10)
    two = ticks(3 * H + 12 * M, e - 5, 1.5, every=10, first=one[-1][0] - 300)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 3 * H, 93), (3 * H, 3 * H + 12 * M, 0, 0.1), (3 * H + 12 * M, e, 93)),
        series={"train/loss": fall(one + two)},
        step_pauses=None,
    )


@situation
def node_without_network_trains_on():
    """The node that logs lost its way to the tracker at 6 h for good. 64 GPUs trained on at 310 W for 18 hours, until the limit."""
    e = 24 * H
    at = ticks(400, 6 * H, 4.4, every=5)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=64,
        use=use_of(e, (0, 400, 2), (400, e, 95)),
        power=310.0,
        series={"lm loss": fall(at)},
    )


@situation
def generates_text_after_fine_tuning():
    """Fine-tuning of half an hour, then text was generated for six hours at 240 W with bursts; the owner had enough and cancelled."""
    e = 6.6 * H
    at = ticks(120, 35 * M, 1.1, every=5)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        gpus=4,
        use=use_of(e, (0, 120, 2), (120, 35 * M, 93), (35 * M, e, 84, 5)),
        power=245.0,
        series={"train/loss": fall(at)},
    )


@situation
def debug_metrics_of_the_first_hour():
    """The user logs gradient norms for the first 2,000 steps only, to look for trouble. There was none, and it completed after a day."""
    e = 24 * H
    at = [p for p in ticks(90, 2 * H, 2.1, every=5) if p[0] <= 2000]
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 90, 2), (90, e, 95)),
        power=315.0,
        series={"grad_norm/layer_0": level(at, 0.7, 0.1), "grad_norm/layer_11": level(at, 0.4, 0.1)},
    )


@situation
def molecular_dynamics_with_energies():
    """A simulation that logs energies each 10,000 steps, every eight minutes, to the end. 180 W is usual for it."""
    e = 24 * H
    at = ticks(60, e - 200, 0.048, every=10_000, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(e, (0, 60, 2), (60, e, 89, 2)),
        power=180.0,
        series={"potential_energy": level(at, -1.2e6, 900), "temperature": level(at, 300, 1)},
    )


@situation
def line_search_with_long_iterations():
    """L-BFGS: iterations of 10 s to 15 minutes, as the line search needs them. The last was 14 minutes under way at the limit."""
    e = 6 * H
    at, t = [], 30.0
    while True:
        t += float(np.clip(dice().lognormal(4.4, 1.1), 10, 900))
        if t > e - 840:
            break
        at.append((len(at) + 1, round(t, 1)))
    e = round(at[-1][1] + 840, 1)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(e, (0, 30, 2), (30, e, 97, 1)),
        power=270.0,
        series={"objective": fall(at, 900, 3, 1)},
    )


@situation
def epoch_metrics_and_a_long_last_validation():
    """val_loss by epoch each 40 minutes; the last, full validation took 70 minutes at 100 % and ended well with the job."""
    e = 6 * H
    at = ticks(60, e - 70 * M, 40 * M, jitter=0.005)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e - 70 * M, 92), (e - 70 * M, e - 5, 99, 0.5), (e - 5, e, 5)),
        power=250.0,
        series={"val_loss": fall(at)},
    )


@situation
def failed_with_an_error_at_once():
    """A wrong shape in the last batch of the epoch: an error, and the job failed three seconds after its last point."""
    e = 95 * M
    at = ticks(60, e - 3, 1.0, every=3)
    return dict(
        elapsed_s=e,
        state="FAILED",
        gpus=1,
        use=use_of(e, (0, 60, 2), (60, e, 90)),
        power=260.0,
        series={"train/loss": fall(at)},
    )


@situation
def light_model_with_long_epochs_cut_by_the_limit():
    """A light model, 109 W throughout, that logs by epoch each 50 minutes. The limit came 46 minutes after the last point, within the next epoch."""
    e = 12 * H
    at = [p for p in ticks(60, e, 50 * M, jitter=0.004) if p[1] < e - 10 * M]
    e = at[-1][1] + 46 * M
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(e, (0, 60, 2), (60, e, 98, 0.5)),
        power=109.0,
        series={"val_loss": fall(at)},
    )


@situation
def training_goes_on_after_the_system_metrics_ended():
    """The tracker's monitor thread died at 1 h, so system/ metrics end there; the training's own points come to the last minute. 116 W, small kernels."""
    e = 10 * H
    at = ticks(60, e - 20, 0.8, every=40)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 97, 0.8)),
        power=116.0,
        series={"loss": fall(at), "system/gpu_0_utilization": system(H, 97), "system/cpu_utilization": system(H, 14)},
    )


CASES = drawn(__name__)
