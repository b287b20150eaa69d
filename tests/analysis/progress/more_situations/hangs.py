"""Progress stopped for good while the GPUs stayed in use."""

from __future__ import annotations

from tests.analysis.progress.drawing import (
    SPIN,
    WORK,
    H,
    M,
    cycle,
    drawn,
    fall,
    level,
    mix,
    onset,
    share,
    shuffled,
    since,
    situation,
    spoil,
    system,
    ticks,
    use_of,
    with_pauses,
)


@situation
def stuck_in_the_barrier_of_a_checkpoint():
    """Checkpoints are written by all ranks. At step 6,000 one rank's write never returned; the 31 others spun in the barrier after it for 20 hours."""
    e = 22 * H
    at = [p for p in ticks(200, 2 * H, 0.95, every=25) if p[0] <= 6000]
    stop = at[-1][1]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=32,
        use=use_of(e, (0, 200, 2), (200, stop, 93), (stop, e, 96.9, 0.1)),
        power=mix((stop, 318), (e - stop, 97)),
        series={"training/loss": fall(at), "training/tokens_per_s": level(at, 41000, 300)},
        hang=True,
        hang_since_s=since(at, 24),
    )


@situation
def one_rank_had_a_batch_less():
    """The data were not divisible by the ranks: at the end of epoch 1 one rank left the loop and the others waited for its gradients until the limit. Lightning's names."""
    e = 16 * H
    at = ticks(150, 70 * M, 1.9, every=50)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 150, 2), (150, 70 * M, 90), (70 * M, e, 100, 0.05)),
        power=mix((70 * M, 295), (e - 70 * M, 101)),
        series={"train_loss_step": fall(at), "epoch": level(at, 0.0), "lr-AdamW": level(at, 1e-4)},
        hang=True,
        hang_since_s=since(at, 95),
    )


@situation
def hang_with_two_hours_not_measured():
    """Stuck since 1:30 h of 20 h; the collector was restarted and use is not known from 8 h to 10 h. All the rest is at 100 %."""
    e = 20 * H
    at = ticks(60, 1.5 * H, 3.1, every=2)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 1.5 * H, 92), (1.5 * H, 8 * H, 100, 0.05), (10 * H, e, 100, 0.05)),
        power=mix((1.5 * H, WORK), (16.5 * H, SPIN)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 6.2),
    )


@situation
def hang_of_two_gpus():
    """Peer-to-peer copies between the two dies were blocked after a while: both at 100 % and 92 W since minute 18, to the limit of five hours."""
    e = 5 * H
    at = ticks(30, 18 * M, 0.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 30, 2), (30, 18 * M, 85), (18 * M, e, 100, 0)),
        power=mix((18 * M, 280), (e - 18 * M, 92)),
        series={"Train/Loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 5),
    )


@situation
def hang_with_points_sent_twice_and_in_disorder():
    """The client retried, so half the points are there twice, and asynchronous batches came in any order. Stuck since 55 minutes of 14 hours."""
    e = 14 * H
    at = ticks(80, 55 * M, 1.2, every=5)
    p = fall(at)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 80, 2), (80, 55 * M, 92), (55 * M, e, 100, 0.05)),
        power=mix((55 * M, WORK), (e - 55 * M, SPIN)),
        series={"loss": shuffled(p + p[::2])},
        hang=True,
        hang_since_s=since(at, 6),
    )


@situation
def hang_with_the_batch_index_as_step():
    """The step is the index of the batch within its epoch, so it goes 0 to 490 again and again. Stuck in epoch 9 at batch 220, two hours into 24."""
    e = 24 * H
    raw = ticks(60, 2 * H, 1.6, every=10)
    at = [(s % 500, t) for s, t in raw]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, e, 100, 0.05)),
        power=mix((2 * H, WORK), (22 * H, SPIN)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 16),
    )


@situation
def hang_with_seconds_as_steps():
    """The step is the time itself (int(time.time())). Points each 15 s until 40 minutes, then none for 11 hours of spinning."""
    e = 11.7 * H
    at = [(1_790_000_000 + int(t), t) for _, t in ticks(60, 40 * M, 15)]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 40 * M, 92), (40 * M, e, 100, 0.05)),
        power=mix((40 * M, 300), (11 * H, SPIN)),
        series={"train/loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 15),
    )


@situation
def hang_ended_by_an_operator():
    """A network switch failed at 3 h; 128 GPUs spun for 30 hours until an operator cancelled the job for maintenance."""
    e = 33 * H
    at = ticks(600, 3 * H, 7.5, every=2)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        gpus=128,
        use=use_of(e, (0, 600, 2), (600, 3 * H, 96), (3 * H, e, 99.9, 0.05)),
        power=mix((3 * H, 335), (30 * H, 96)),
        series={"lm loss": fall(at, 10, 3.2), "iteration-time": level(at, 7.5, 0.1)},
        hang=True,
        hang_since_s=since(at, 15),
    )


@situation
def hang_in_a_run_with_sparse_logging():
    """Logs every 200 steps, that is each nine minutes. The last point came at 1:40 h; then 26 hours of spinning."""
    e = 28 * H
    stop = 105 * M
    at = ticks(100, stop, 2.7, every=200, jitter=0.02)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=16,
        use=use_of(e, (0, 100, 2), (100, stop, 94), (stop, e, 100, 0.05)),
        power=mix((stop, 310), (e - stop, SPIN)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 540),
    )


@situation
def hang_after_checkpoint_pauses():
    """Trained for 100 minutes with a checkpoint of a minute each ten minutes, then got stuck within a step for 20 hours. The pauses before are real, but no longer matter."""
    e = 22 * H
    stop = 100 * M
    stops = cycle(60, stop, 600, 60)
    at = ticks(60, stop, 2.0, every=5, pauses=stops)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, *with_pauses(stop, stops, 93, 2, 60), (stop, e, 100, 0.05), bin_s=120),
        power=mix((stop, 295), (e - stop, SPIN)),
        series={"train/loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 10),
        step_pauses=None,
        paused_share=share(stops, e),
    )


@situation
def hang_with_mlflow_system_metrics():
    """mlflow's monitor thread logs power and memory to the end, each ten seconds; the training loop has been silent since 35 minutes, at 95 W by those very figures."""
    e = 10 * H
    at = ticks(60, 35 * M, 0.7, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, 35 * M, 90), (35 * M, e, 100, 0.02)),
        power=mix((35 * M, 300), (e - 35 * M, 95)),
        series={
            "loss": fall(at),
            "system/gpu_0_power_usage_watts": system(e, 95),
            "system/system_memory_usage_megabytes": system(e, 60),
            "system/network_transmit_megabytes": system(e, 50),
        },
        hang=True,
        hang_since_s=since(at, 7),
    )


@situation
def nan_and_then_a_hang():
    """The loss was NaN from step 100 on; at step 400 a rank crashed on a bad index and the others spun for 20 hours. The hang is what cost; NaN may be said too."""
    e = 20.2 * H
    at = [p for p in ticks(60, H, 1.1, every=5) if p[0] <= 400]
    p = spoil(fall(at), 100)
    stop = at[-1][1]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, stop, 92), (stop, e, 87.5, 0.05)),
        power=mix((stop, 290), (e - stop, SPIN)),
        series={"train_loss": p},
        hang=True,
        hang_since_s=since(at, 5.5),
        loss_is_nan=None,
        nan_since_step=onset(p),
    )


@situation
def hang_of_a_run_that_slowed_down_before():
    """A failing link: steps took 1 s, then 3 s, then 10 s, and from 1:00 h on there was none for 17 hours."""
    e = 18 * H
    at = ticks(60, 30 * M, 1.0, every=10)
    at += ticks(30 * M, 45 * M, 3.0, every=10, first=at[-1][0])
    at += ticks(45 * M, 60 * M, 10.0, every=10, first=at[-1][0])
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=16,
        use=use_of(e, (0, 60, 2), (60, 30 * M, 93), (30 * M, 60 * M, 98, 0.5), (60 * M, e, 100, 0.02)),
        power=mix((H, 230), (17 * H, 97)),
        series={"train/loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 100),
    )


@situation
def hang_of_a_simulation():
    """Not machine learning: a solver that logs its residual each time step was stuck in a halo exchange after 50 minutes, and spun for eleven hours."""
    e = 12 * H
    at = ticks(30, 50 * M, 0.35, every=20)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=8,
        use=use_of(e, (0, 30, 2), (30, 50 * M, 82), (50 * M, e, 100, 0.05)),
        power=mix((50 * M, 260), (e - 50 * M, SPIN)),
        series={"residual": fall(at, 1.0, 0.001, 0.0), "kinetic_energy": level(at, 5.1, 0.01)},
        hang=True,
        hang_since_s=since(at, 7),
    )


CASES = drawn(__name__)
