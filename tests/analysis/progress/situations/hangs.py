"""Progress stopped for good while the GPUs stayed in use."""

from __future__ import annotations

from tests.analysis.progress.drawing import (
    SPIN,
    WORK,
    H,
    M,
    drawn,
    fall,
    level,
    mix,
    rise,
    shift,
    since,
    situation,
    system,
    ticks,
    use_of,
)


@situation
def collective_hang_after_two_hours():
    """Trained well for two hours, then one rank was stuck in an all-reduce; the other GPUs spun in it for 22 hours until the time limit."""
    e = 24 * H
    at = ticks(240, 2 * H + 130, 1.6, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 240, 1), (240, 2 * H + 130, 94), (2 * H + 130, e, 100, 0.05)),
        power=mix((2 * H, WORK), (22 * H, SPIN)),
        series={"train/loss": fall(at), "train/lr": level(at, 3e-4)},
        hang=True,
        hang_since_s=since(at, 16),
    )


@situation
def collective_hang_many_nodes_two_days():
    """64 GPUs, five hours of pretraining, then a network error left every rank waiting in RCCL. Nobody looked for two days."""
    e = 48 * H
    at = ticks(900, 5 * H, 11.0, every=1)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=64,
        use=use_of(e, (0, 900, 3), (900, 5 * H, 97), (5 * H, e, 100, 0)),
        power=mix((5 * H, 330), (43 * H, SPIN)),
        series={"loss": fall(at, 10.4, 3.1), "grad_norm": level(at, 0.8, 0.05)},
        hang=True,
        hang_since_s=since(at, 11),
    )


@situation
def one_rank_died_the_others_spin():
    """One of eight processes died without a word (its GPU at 0 %), the seven others waited for it at 100 % for the remaining eleven hours."""
    e = 12 * H
    at = ticks(120, 50 * M, 0.9, every=20)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 120, 2), (120, 50 * M, 91), (50 * M, e, 87.5, 0.1)),
        power=mix((50 * M, WORK), (11.2 * H, 97)),
        series={"train_loss": fall(at), "epoch": level(at, 0.0)},
        hang=True,
        hang_since_s=since(at, 18),
    )


@situation
def hang_at_exit_after_the_last_step():
    """All 20,000 steps were done and the model was saved, but the process group could not be destroyed: the job did not end and spun for 9 hours."""
    e = 10 * H
    at = ticks(60, 40 * M, 0.116, every=100)
    at = [p for p in at if p[0] <= 20_000]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, at[-1][1], 88), (at[-1][1], e, 100, 0.02)),
        power=mix((40 * M, 290), (9.3 * H, 96)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 12, 90),
    )


@situation
def hang_cancelled_by_its_owner():
    """Stuck since minute 40. The owner saw in the morning that the log had not moved for nine hours, and cancelled the job."""
    e = 9.6 * H
    at = ticks(100, 40 * M, 2.2, every=5)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        gpus=16,
        use=use_of(e, (0, 100, 1), (100, 40 * M, 93), (40 * M, e, 100, 0.05)),
        power=mix((40 * M, 310), (e - 40 * M, 99)),
        series={"Loss/train": fall(at)},
        hang=True,
        hang_since_s=since(at, 11),
    )


@situation
def hang_while_system_metrics_go_on():
    """Training is stuck in a barrier since 1:15 h, but the tracker's own thread goes on logging the GPUs' use with steps 0, 1, 2, ... to the end."""
    e = 12 * H
    at = ticks(180, 75 * M, 1.1, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 180, 1), (180, 75 * M, 95), (75 * M, e, 100, 0)),
        power=mix((75 * M, 300), (10.75 * H, SPIN)),
        series={
            "train/loss": fall(at),
            "system/gpu_0_utilization": system(e, 99),
            "system/gpu_1_utilization": system(e, 99),
            "system/cpu_utilization": system(e, 12),
        },
        hang=True,
        hang_since_s=since(at, 11),
    )


@situation
def hang_of_a_script_that_logs_by_epoch():
    """Logs once an epoch, every 30 minutes. After six epochs nothing came for 33 hours; the GPUs spun until the limit."""
    e = 36 * H
    at = ticks(300, 3.3 * H, 1800, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 300, 2), (300, 3.2 * H, 92), (3.2 * H, e, 100, 0.05)),
        power=mix((3.2 * H, 300), (32.8 * H, SPIN)),
        series={"train/loss": fall(at), "val/acc": rise(at)},
        hang=True,
        hang_since_s=since(at, 1800),
    )


@situation
def hang_with_points_in_reverse_order():
    """As the first hang, but the tracker hands out the newest point first."""
    e = 12 * H
    at = ticks(90, 30 * M, 1.0, every=5)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 90, 2), (90, 30 * M, 90), (30 * M, e, 100, 0.05)),
        power=mix((30 * M, 300), (11.5 * H, SPIN)),
        series={"loss": fall(at)[::-1]},
        hang=True,
        hang_since_s=since(at, 5),
    )


@situation
def hang_of_a_resumed_run():
    """The run went on in a second job at step 5000, made 900 more steps and got stuck. The points of the first job lie before this job's start."""
    e = 24 * H
    before = [(s, t) for s, t in ticks(-30 * H, -22 * H, 5.7, every=10) if s <= 5000]
    at = ticks(200, 200 + 900 * 5.7, 5.7, every=10, first=5000)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 200, 2), (200, at[-1][1], 93), (at[-1][1], e, 100, 0.05)),
        power=mix((5200, WORK), (e - 5200, SPIN)),
        series={"train/loss": fall(before + at)},
        hang=True,
        hang_since_s=since(at, 57),
    )


@situation
def hang_with_counters_by_step_and_by_epoch():
    """train/loss by step, val/loss by epoch. Both stopped in the fourth epoch, at 1:50 h of 24 h; all GPUs at 100 % since."""
    e = 24 * H
    stop = 110 * M
    at, val = ticks(60, stop, 1.3, every=10), ticks(60, stop, 30 * M, jitter=0.005)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, stop, 92), (stop, e, 100, 0.03)),
        power=mix((stop, WORK), (e - stop, SPIN)),
        series={"train/loss": fall(at), "val/loss": fall(val, 3.9, 1.6)},
        hang=True,
        hang_since_s=since(at, 13),
    )


@situation
def hang_within_an_hour():
    """A short job: five minutes of steps, then 55 minutes of waiting in a broadcast until the one-hour limit."""
    e = 1 * H
    at = ticks(40, 340, 0.8, every=2)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 40, 1), (40, 340, 90), (340, e, 100, 0.1)),
        power=mix((300, 300), (3260, SPIN)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 2),
    )


@situation
def hang_with_a_clock_a_minute_behind():
    """The same, on a host whose clock is 70 s behind: the first points seem to lie before the job's start."""
    e = 8 * H
    at = ticks(30, 25 * M, 1.5, every=4)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 30, 2), (30, 25 * M, 91), (25 * M, e, 100, 0.05)),
        power=mix((25 * M, 300), (e - 25 * M, SPIN)),
        series={"train_loss": shift(fall(at), -70)},
        hang=True,
        hang_since_s=(since(at, 6)[0] - 80, since(at, 6)[1]),
    )


@situation
def hang_in_the_first_validation():
    """After 1000 steps only rank 0 entered the validation, which gathers from all ranks: it never ended. No val metric was ever logged."""
    e = 6 * H
    at = [p for p in ticks(75, 30 * M, 1.2, every=10) if p[0] <= 1000]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 75, 1), (75, at[-1][1], 89), (at[-1][1], e, 100, 0.05)),
        power=mix((1200, 300), (e - 1200, 97)),
        series={"train/loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 12),
    )


@situation
def hang_with_all_points_at_step_zero():
    """log_metric without a step: every point has step 0, one each 20 s. The points ended at 50 min, the spinning GPUs 23 hours later."""
    e = 24 * H
    at = [(0, t) for _, t in ticks(60, 50 * M, 20)]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 50 * M, 92), (50 * M, e, 100, 0.05)),
        power=mix((50 * M, WORK), (e - 50 * M, SPIN)),
        series={"loss": fall(at)},
        hang=True,
        hang_since_s=since(at, 20),
    )


CASES = drawn(__name__)
