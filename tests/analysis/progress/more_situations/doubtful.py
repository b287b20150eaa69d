"""It looks like a hang, and what was measured does not decide it."""

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
    shift,
    since,
    situation,
    ticks,
    use_of,
)


@situation
def hung_for_two_thirds():
    """A real hang from 4 h to 12 h. The mean power of 167 W is between spinning and computing."""
    e = 12 * H
    at = ticks(60, 4 * H, 2.0, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 4 * H, 93), (4 * H, e, 100, 0.05)),
        power=mix((4 * H, WORK), (8 * H, SPIN)),
        series={"loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 20),
    )


@situation
def a_thread_of_the_script_beats_on():
    """The script's own thread logs `heartbeat` each minute and did so to the end, while training was stuck since 1 h. A rule may be misled by it."""
    e = 12 * H
    at = ticks(60, H, 1.5, every=10)
    beat = [(i, 60.0 * i) for i in range(1, 720)]
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, H, 93), (H, e, 100, 0.05)),
        power=mix((H, WORK), (11 * H, SPIN)),
        series={"train/loss": fall(at), "heartbeat": level(beat, 1.0)},
        hang=None,
        hang_since_s=since(at, 15),
    )


@situation
def two_points_then_spinning():
    """Two points within a minute, then twelve hours of spinning at 96 W. Two points are a thin base for a pace."""
    e = 12 * H
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, e, 100, 0.05)),
        power=96.0,
        series={"loss": [(10, 92.0, 9.1), (20, 131.0, 8.7)]},
        hang=None,
        hang_since_s=(30, 400),
    )


@situation
def half_the_gpus_spin():
    """One of two nodes failed silently: its eight GPUs at 0 %, the other eight wait at 100 %: a hang, with half the GPUs in use."""
    e = 15 * H
    at = ticks(60, H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=16,
        use=use_of(e, (0, 60, 2), (60, H, 93), (H, e, 50, 0.05)),
        power=mix((2 * H, WORK), (14 * H, SPIN)),
        series={"train/loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 15),
    )


@situation
def the_users_own_timeout_ended_the_wait():
    """`timeout 11h python train.py || true`: a real hang since 1 h, but Slurm says COMPLETED."""
    e = 11 * H
    at = ticks(60, H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, H, 93), (H, e, 100, 0.05)),
        power=mix((H, WORK), (10 * H, SPIN)),
        series={"train/loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 15),
    )


@situation
def cancelled_after_twelve_minutes_of_silence():
    """The owner watched it: twelve minutes without a step after two good hours, and cancelled. Probably stuck, but power is that of the good hours."""
    e = 2 * H + 12 * M
    at = ticks(60, 2 * H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="CANCELLED",
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, e, 100, 0.05)),
        power=mix((2 * H, WORK), (12 * M, SPIN)),
        series={"loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 15),
    )


@situation
def small_model_whose_tracker_was_lost():
    """A small model at 108 W all along; the tracker was lost at 2 h, the job trained on until its limit. Nothing measured tells this from a hang."""
    e = 12 * H
    at = ticks(60, 2 * H, 0.6, every=50)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(e, (0, 60, 2), (60, e, 97, 0.8)),
        power=108.0,
        series={"loss": fall(at)},
        hang=None,
        hang_since_s=None,
    )


@situation
def hang_and_a_clock_an_hour_behind():
    """A real hang since 1:30 h of 20 h on a host whose clock is an hour behind: that it hung is clear, since when is not."""
    e = 20 * H
    at = ticks(60, 1.5 * H, 1.5, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, 1.5 * H, 93), (1.5 * H, e, 100, 0.05)),
        power=mix((1.5 * H, WORK), (18.5 * H, SPIN)),
        series={"loss": shift(fall(at), -H)},
        hang=None,
        hang_since_s=(0.4 * H, 1.6 * H),
    )


CASES = drawn(__name__)
