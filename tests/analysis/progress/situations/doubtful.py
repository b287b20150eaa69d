"""It looks like a hang, and what was measured does not decide it."""

from __future__ import annotations

from tests.analysis.progress.drawing import SPIN, WORK, H, drawn, fall, mix, since, situation, ticks, use_of


@situation
def half_hung_so_the_mean_power_says_little():
    """A real hang after 12 of 24 hours. The mean power of the whole run (about 200 W) is that of many healthy jobs, so nobody must be blamed for silence."""
    e = 24 * H
    at = ticks(200, 12 * H, 3.0, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 200, 2), (200, 12 * H, 94), (12 * H, e, 100, 0.05)),
        power=mix((12 * H, WORK), (12 * H, SPIN)),
        series={"train/loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 30),
    )


@situation
def hang_with_power_unknown():
    """A real hang, but power was not measured: from the outside it may also be a tracker that lost contact while the job computed."""
    e = 12 * H
    at = ticks(100, 1 * H, 2.0, every=5)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 100, 2), (100, 1 * H, 93), (1 * H, e, 100, 0.05)),
        power=None,
        series={"loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 10),
    )


@situation
def one_point_then_nothing():
    """The loss of step 0 was logged, then the first all-reduce never returned. One point has no pace to compare with."""
    e = 12 * H
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 90, 1), (90, e, 100, 0.05)),
        power=SPIN,
        series={"loss": [(0, 92.0, 10.83)]},
        hang=None,
        hang_since_s=(30, 240),
    )


@situation
def watchdog_ends_the_wait_after_half_an_hour():
    """After ten good hours a collective was stuck; the watchdog aborted the job 30 minutes later. Power is that of the ten hours."""
    e = 10.5 * H
    at = ticks(100, 10 * H, 2.5, every=10)
    return dict(
        elapsed_s=e,
        state="FAILED",
        use=use_of(e, (0, 100, 2), (100, 10 * H, 94), (10 * H, e, 100, 0.05)),
        power=mix((10 * H, WORK), (1800, SPIN)),
        series={"train/loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 25),
    )


@situation
def endless_loop_in_a_kernel_at_full_power():
    """A user's own kernel never ended: no step for ten hours, but the GPU computed at 290 W. Power cannot tell this from a lost tracker."""
    e = 12 * H
    at = ticks(60, 2 * H, 4.0, every=5)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=1,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 95), (2 * H, e, 100, 0.05)),
        power=290.0,
        series={"loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 20),
    )


@situation
def rank_zero_evaluates_until_the_limit():
    """Rank 0 evaluated alone for five hours, seven GPUs waited in a barrier, then the limit came. Nothing was stuck, yet it looks the same as a hang."""
    e = 6 * H
    at = ticks(60, 1 * H, 1.2, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, H, 92), (H, e, 99.2, 0.3)),
        power=mix((H, 300), (5 * H, 112)),
        series={"train/loss": fall(at)},
        hang=None,
        hang_since_s=since(at, 12),
    )


CASES = drawn(__name__)
