"""Situations of training runs beside the use of their GPUs, with what must, must not or may be said.

True: must be said. False: must not be said. None: either is right, because what was measured does not decide it (the story says why).
`power` is the mean over the busy time of the whole run, as a job's record has it, and was computed from the story: so a hang is only
demanded where it lasted long enough to pull that mean below 125 W. Without power, with power of computing (200 W and more), with
GPUs that were idle or not measured after the last step, or in a job that ended by itself (COMPLETED), a hang is never demanded.
`hang_since_s` goes from a minute before the last point to two logging intervals and a minute after it. `nan_since_step` goes from the step
after the last good point to the first bad point. `paused_share` is the true share, give or take a quarter. Ranges that stand beside None
are what must be met if it is said all the same. Use is given in bins as a collector would keep it (120 over the run unless finer).
Standard library and numpy; each case has a seed of its own.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NAN = float("nan")
INF = float("inf")
M = 60.0
H = 3600.0
SPIN = 98.0  # watts of an MI250X die that spins in a waiting kernel
WORK = 305.0  # watts of a die that computes

Points = list[tuple[int, float, float]]


@dataclass(frozen=True)
class Case:
    name: str  # unique
    story: str  # what really happened
    elapsed_s: float  # run time of the Slurm job
    state: str  # COMPLETED, TIMEOUT, FAILED, CANCELLED, OUT_OF_MEMORY
    gpus: int
    use: tuple[tuple[float, float, float], ...]  # (from_s, to_s, mean use in percent); gaps were not measured
    power: float | None  # mean watts per GPU die while busy, over the whole run
    series: dict[str, list[tuple[int, float, float]]]  # name -> [(step, seconds since the job's start, value)]
    hang: bool | None  # True: must be said; False: must not be said; None: either
    hang_since_s: tuple[float, float] | None
    loss_is_nan: bool | None
    nan_since_step: tuple[int, int] | None
    step_pauses: bool | None
    paused_share: tuple[float, float] | None


_CASES: list[Case] = []
_RNG = np.random.default_rng(0)


def situation(build: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """The function's name is the case's name, its docstring the story. Each case has its own seed."""
    global _RNG
    name = build.__name__
    _RNG = np.random.default_rng(zlib.crc32(name.encode()))
    fields: dict[str, Any] = {
        "gpus": 8,
        "state": "COMPLETED",
        "power": WORK,
        "hang": False,
        "hang_since_s": None,
        "loss_is_nan": False,
        "nan_since_step": None,
        "step_pauses": False,
        "paused_share": None,
    }
    fields.update(build())
    fields["series"] = {n: [(int(s), float(t), float(v)) for s, t, v in p] for n, p in fields["series"].items()}
    fields["elapsed_s"] = round(float(fields["elapsed_s"]), 1)
    _CASES.append(Case(name=name, story=" ".join((build.__doc__ or "").split()), **fields))
    return build


def ticks(
    begin: float, end: float, step_s: float, every: int = 1, first: int = 0, pauses: Any = (), jitter: float = 0.04
) -> list[tuple[int, float]]:
    """(step, time) of what a loop logs that takes step_s for a step and logs each `every` steps; no step is made within pauses."""
    out, t, step, stops = [], begin, first, sorted(pauses)
    while True:
        t += step_s * every * float(np.clip(_RNG.normal(1.0, jitter), 0.3, 3.0))
        while stops and t > stops[0][0]:
            a, b = stops.pop(0)
            t += b - a
        if t >= end:
            return out
        step += every
        out.append((step, round(t, 1)))


def fall(at: list[tuple[int, float]], top: float = 4.2, floor: float = 1.3, noise: float = 0.05) -> Points:
    """A loss that falls."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(floor + (top - floor) * math.exp(-3.5 * i / n) + noise * float(_RNG.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def rise(at: list[tuple[int, float]], low: float = 0.1, high: float = 0.8) -> Points:
    """An accuracy that rises."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(high - (high - low) * math.exp(-3.0 * i / n) + 0.01 * float(_RNG.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def level(at: list[tuple[int, float]], value: float, noise: float = 0.0) -> Points:
    return [(s, t, round(value + noise * float(_RNG.normal()), 6) if math.isfinite(value) else value) for s, t in at]


def spoil(points: Points, from_step: int, value: float = NAN, to_step: int | None = None) -> Points:
    """The same points with `value` from a step on (up to and with to_step)."""
    return [(s, t, value if s >= from_step and (to_step is None or s <= to_step) else v) for s, t, v in points]


def onset(points: Points) -> tuple[int, int]:
    """The range in which the last finite value was followed by those that are not: after the last good logged step, up to the first bad one."""
    order = sorted(points, key=lambda p: (p[1], p[0]))
    good = [i for i, p in enumerate(order) if math.isfinite(p[2])]
    if not good:
        return (0, order[0][0])
    return (order[good[-1]][0] + 1, order[good[-1] + 1][0])


def use_of(
    elapsed: float, *phases: tuple[float, ...], bin_s: float | None = None
) -> tuple[tuple[float, float, float], ...]:
    """Means of bins (by default 120 over the run, at least 10 s long) of phases (from, to, level[, noise]). Bins with less than half covered are left out."""
    width = bin_s or max(elapsed / 120.0, 10.0)
    n = max(1, math.ceil(elapsed / width - 1e-9))
    starts = np.array([p[0] for p in phases])
    ends = np.array([p[1] for p in phases])
    levels = np.array([p[2] for p in phases])
    noises = np.array([p[3] if len(p) > 3 else 2.0 for p in phases])
    out = []
    for i in range(n):
        a, b = i * width, min((i + 1) * width, elapsed)
        overlap = np.clip(np.minimum(ends, b) - np.maximum(starts, a), 0.0, None)
        covered = float(overlap.sum())
        if covered < (b - a) / 2:
            continue
        mean = float((overlap * levels).sum()) / covered
        noise = float((overlap * noises).sum()) / covered
        out.append((round(a, 1), round(b, 1), round(float(np.clip(mean + noise * _RNG.normal(), 0.0, 100.0)), 2)))
    return tuple(out)


def with_pauses(
    elapsed: float, pauses: Any, busy: float, low: float, begin: float = 0.0, begin_level: float = 0.0
) -> list[tuple[float, ...]]:
    """Phases: `busy` from `begin` on, `low` within the pauses."""
    out: list[tuple[float, ...]] = [(0.0, begin, begin_level, 0.3)] if begin else []
    t = begin
    for a, b in pauses:
        out += [(t, a, busy), (a, b, low, 0.5)]
        t = b
    if t < elapsed:
        out.append((t, elapsed, busy))
    return out


def cycle(begin: float, end: float, work_s: float, pause_s: float) -> list[tuple[float, float]]:
    """Pauses of pause_s after each work_s."""
    out, t = [], begin + work_s
    while t + pause_s < end:
        out.append((round(t, 1), round(t + pause_s, 1)))
        t += pause_s + work_s
    return out


def share(pauses: Any, elapsed: float, slack: float = 0.25) -> tuple[float, float]:
    """The true share of the run within pauses, give or take a quarter."""
    part = sum(b - a for a, b in pauses) / elapsed
    return (round(part * (1 - slack), 4), round(part * (1 + slack), 4))


def since(at: Any, gap: float, slack: float = 60.0) -> tuple[float, float]:
    """When progress stopped: at the last point, or up to two logging intervals later."""
    last = max(p[1] for p in at)
    return (round(last - slack, 1), round(last + 2 * gap + slack, 1))


def mix(*parts: tuple[float, float]) -> float:
    """Mean watts of (seconds, watts)."""
    return round(sum(s * w for s, w in parts) / sum(s for s, _ in parts), 1)


def shift(points: Points, by: float) -> Points:
    return [(s, round(t + by, 1), v) for s, t, v in points]


def system(elapsed: float, value: float = 97.0, every: float = 10.0, begin: float = 5.0) -> Points:
    """What a tracker's own thread logs: step 0, 1, 2, ... by time, whatever the training does."""
    n = int((elapsed - begin) / every)
    keep = max(1, n // 1500)
    return [
        (i, round(begin + i * every, 1), round(float(np.clip(value + _RNG.normal(), 0, 100)), 1))
        for i in range(0, n, keep)
    ]


# ---------------------------------------------------------------- hangs that must be said


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


# ---------------------------------------------------------------- looks like a hang: either answer is right


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


# ---------------------------------------------------------------- a hang must not be said


@situation
def tracker_gone_for_good_while_the_job_computes():
    """The tracking server went away at 3 h and asynchronous logging lost the rest. The job trained on at 305 W until its limit and wrote checkpoints."""
    e = 24 * H
    at = ticks(120, 3 * H, 2.0, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 120, 2), (120, e, 95)),
        power=WORK,
        series={"train/loss": fall(at)},
    )


@situation
def tracker_down_for_an_hour():
    """The tracker was down from 2 h to 3 h; points before and after are complete and the steps show that training went on meanwhile."""
    e = 6 * H
    at = [p for p in ticks(60, e, 1.4, every=10) if not 2 * H < p[1] < 3 * H]
    return dict(elapsed_s=e, state="COMPLETED", use=use_of(e, (0, 60, 2), (60, e, 94)), series={"loss": fall(at)})


@situation
def last_forty_minutes_lost_in_the_buffer():
    """A node failed; what the client had buffered in the last 40 minutes was lost with it. Until then everything was well."""
    e = 7 * H
    at = ticks(100, e - 40 * M, 3.0, every=5)
    return dict(
        elapsed_s=e,
        state="FAILED",
        gpus=16,
        use=use_of(e, (0, 100, 2), (100, e, 96)),
        power=320.0,
        series={"train/loss": fall(at)},
    )


@situation
def healthy_epochs_of_half_an_hour_cut_by_the_limit():
    """Logs only by epoch. The time limit came 27 minutes into the 16th epoch."""
    e = 8 * H
    at = ticks(180, e - 26 * M, 1800, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 180, 2), (180, e, 93)),
        series={"train/loss": fall(at), "val/acc": rise(at)},
    )


@situation
def slow_last_steps():
    """A growing problem: each step takes longer than the one before. The last one, of about a quarter of an hour, was not done when the limit came."""
    e = 5 * H
    at, t, d = [], 60.0, 20.0
    while t + d < e:
        t += d
        d *= 1.06
        at.append((len(at) + 1, round(t, 1)))
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, e, 96)),
        power=280.0,
        series={"objective": fall(at)},
    )


@situation
def final_evaluation_without_steps():
    """After the last step the model was evaluated on five benchmarks for 50 minutes; only the results were printed. The job ended well."""
    e = 4 * H
    at = ticks(60, e - 50 * M, 1.1, every=10)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e - 50 * M, 94), (e - 50 * M, e, 81)),
        power=285.0,
        series={"train/loss": fall(at)},
    )


@situation
def rank_zero_evaluates_and_the_job_ends_well():
    """Short fine-tuning, then rank 0 evaluated alone for two hours while seven GPUs spun in a barrier. Wasteful, but nothing hung: it completed."""
    e = 2.5 * H
    at = ticks(60, 25 * M, 1.0, every=5)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 25 * M, 92), (25 * M, e, 99.0, 0.4)),
        power=mix((25 * M, 290), (125 * M, 118)),
        series={"train/loss": fall(at)},
    )


@situation
def resumed_at_step_5000():
    """The second job of a run: its first point is step 5010, its last 9990. All well."""
    e = 4 * H
    at = ticks(120, e - 20, 2.85, every=10, first=5000)
    return dict(elapsed_s=e, use=use_of(e, (0, 120, 2), (120, e, 94)), series={"train/loss": fall(at, 2.1, 1.5)})


@situation
def resumed_with_steps_repeated():
    """The first job died at step 5000, this one began at the checkpoint of 4000 and repeated 4000 to 5000. The first job's points are in the same run, hours before this job's start."""
    e = 3 * H
    before = [(s, t) for s, t in ticks(-14 * H, -2 * H, 5.0, every=10) if s <= 5000]
    at = ticks(90, e - 15, 5.0, every=10, first=4000)
    return dict(elapsed_s=e, use=use_of(e, (0, 90, 2), (90, e, 93)), series={"train/loss": fall(before + at)})


@situation
def train_by_step_and_validation_by_epoch():
    """train/loss by step to the end, val/loss by epoch: its counter is at 7 when the other one is at 8,000, and its last point is 40 minutes old."""
    e = 6 * H
    at, val = ticks(60, e - 10, 2.6, every=10), ticks(60, e - 40 * M, 45 * M, jitter=0.005)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        series={"train/loss": fall(at), "val/loss": fall(val, 3.9, 1.6)},
    )


@situation
def warm_up_metrics_end_early():
    """Warm-up logs `train/warmup_loss` for 500 steps; the main phase logs `train/loss` to the end. The first series is flat since 20 minutes, and that is right."""
    e = 8 * H
    warm = ticks(60, 20 * M, 2.3, every=5)
    at = ticks(20 * M, e - 10, 2.3, every=20, first=500)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 92)),
        series={"train/warmup_loss": fall(warm), "train/loss": fall(at)},
    )


@situation
def healthy_with_all_points_at_step_zero():
    """log_metric without a step: the counter is 0 in all points, but they come to the very end and the loss falls."""
    e = 5 * H
    at = [(0, t) for _, t in ticks(60, e - 5, 20)]
    return dict(
        elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 94)), power=295.0, series={"loss": fall(at)}
    )


@situation
def two_points_only():
    """One metric, two points: epoch 1 at 55 minutes, epoch 2 at 1:50 h; the limit came at 2:40 h in epoch 3."""
    e = 160 * M
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 90)),
        power=270.0,
        series={"loss": [(1, 55 * M, 2.31), (2, 110 * M, 1.87)]},
    )


@situation
def small_model_at_low_power():
    """A small recurrent net: GPUs at 97 % but only 104 W, since its kernels are tiny. Steps come to the last second."""
    e = 10 * H
    at = ticks(30, e - 3, 0.9, every=40)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 30, 2), (30, e, 97, 0.8)),
        power=104.0,
        series={"nll": fall(at)},
    )


@situation
def logs_at_powers_of_two():
    """Logs at steps 1, 2, 4, 8, ...: the last point is at 57 % of the run, since the next one would have come after the end. Light kernels, 112 W."""
    e = 6 * H
    at = [(2**k, round(60 + 0.75 * 2**k, 1)) for k in range(0, 15)]
    at = [p for p in at if p[1] < e]
    return dict(
        elapsed_s=e, gpus=1, use=use_of(e, (0, 60, 2), (60, e, 96, 1.0)), power=112.0, series={"loss": fall(at)}
    )


@situation
def clock_an_hour_behind():
    """The host's clock is an hour behind: points begin an hour before the job and seem to end an hour before its end. It trained throughout."""
    e = 5 * H
    at = ticks(60, e - 5, 2.0, every=10)
    return dict(
        elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 94)), series={"train/loss": shift(fall(at), -H)}
    )


@situation
def clock_an_hour_ahead():
    """The clock is an hour ahead (a time zone): points lie after the job's end. It trained throughout."""
    e = 5 * H
    at = ticks(60, e - 5, 2.0, every=10)
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94)), series={"train/loss": shift(fall(at), H)})


@situation
def healthy_with_points_in_reverse_order():
    """The newest point comes first; all well."""
    e = 3 * H
    at = ticks(60, e - 5, 1.0, every=10)
    return dict(
        elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 94)), series={"loss": fall(at)[::-1], "acc": rise(at)[::-1]}
    )


@situation
def learning_rate_finder_then_training():
    """A learning-rate finder ran 300 steps until the loss was NaN, as it should; then training began at step 0 and went well."""
    e = 4 * H
    find = ticks(60, 60 + 300 * 0.9, 0.9, every=2)
    at = ticks(400, e - 5, 0.9, every=20)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 93)),
        series={"loss": spoil(fall(find, 4.2, 3.9), 280) + fall(at)},
    )


@situation
def reinforcement_learning_with_irregular_steps():
    """RL: episodes of very different length, so updates come after 5 s to 9 minutes. The last gap of 8 minutes is one of many."""
    e = 6 * H
    at, t = [], 60.0
    while True:
        t += float(np.clip(_RNG.lognormal(4.0, 1.0), 5, 540))
        if t > e - 480:
            break
        at.append((len(at) * 64 + 64, round(t, 1)))
    e = round(at[-1][1] + 480, 1)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=4,
        use=use_of(e, (0, 60, 2), (60, e, 78, 6)),
        power=215.0,
        series={"episode_reward": rise(at, -200, 180), "policy_loss": level(at, 0.02, 0.01), "value_loss": fall(at)},
    )


@situation
def second_script_without_metrics():
    """The job ran two scripts one after another: the first logged to 1000 steps in two hours, the second one logged nothing and computed for three hours."""
    e = 5 * H
    at = [p for p in ticks(60, 2 * H, 7.0, every=5) if p[0] <= 1000]
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, 2 * H + 90, 2), (2 * H + 90, e, 90)),
        power=292.0,
        series={"train/loss": fall(at)},
    )


@situation
def two_scripts_with_the_same_metrics():
    """A loop over two seeds in one job, logged into one run: steps go to 3000 and begin again at 10."""
    e = 4 * H
    one, two = ticks(60, 2 * H, 2.3, every=10), ticks(2 * H + 60, e - 5, 2.3, every=10)
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, 2 * H, 93), (2 * H, 2 * H + 60, 3), (2 * H + 60, e, 93)),
        series={"loss": fall(one) + fall(two)},
        step_pauses=None,
    )


@situation
def ray_tune_stops_bad_trials():
    """Ray Tune with eight trials at a time; bad ones were stopped early, so most series end in the first hours, one of them with NaN."""
    e = 8 * H
    series: dict[str, Points] = {}
    for k in range(24):
        begin = 60 + (k // 8) * 2.6 * H
        end = begin + (2.5 * H if k % 8 < 2 else 0.3 * H + 0.2 * H * (k % 5))
        series[f"trial_{k:05d}/loss"] = fall(ticks(begin, end, 60), 4.0, 1.0 + 0.1 * (k % 8))
    series["trial_00003/loss"] = spoil(series["trial_00003/loss"], len(series["trial_00003/loss"]) - 2)
    return dict(elapsed_s=e, state="COMPLETED", use=use_of(e, (0, 60, 2), (60, e, 76, 5)), power=255.0, series=series)


@situation
def loader_deadlock_with_idle_gpus():
    """The data loader's workers were killed and the main process waited for them: steps stopped at 1 h, and the GPUs were at 0 % for the other eleven."""
    e = 12 * H
    at = ticks(60, 1 * H, 1.4, every=10)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        use=use_of(e, (0, 60, 2), (60, H, 85), (H, e, 0.0, 0.05)),
        power=280.0,
        series={"train/loss": fall(at)},
    )


@situation
def file_system_stall_then_it_goes_on():
    """The file system stood still for 40 minutes; rank 0 waited for a file, the others spun at 100 %. Then training went on to the end."""
    e = 8 * H
    stall = (3 * H, 3 * H + 40 * M)
    at = ticks(60, e - 5, 2.0, every=10, pauses=[stall])
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, stall[0], 93), (*stall, 100, 0.1), (stall[1], e, 93)),
        power=mix((7.3 * H, WORK), (0.7 * H, SPIN)),
        series={"train/loss": fall(at)},
    )


@situation
def no_points_at_all():
    """The run was created but nothing was ever logged. The GPUs spun from the start. Without a counter nobody can say that progress stopped."""
    e = 6 * H
    return dict(elapsed_s=e, state="TIMEOUT", use=use_of(e, (0, 60, 2), (60, e, 100, 0.05)), power=SPIN, series={})


@situation
def system_metrics_only():
    """The user logs no metric, only the tracker's own system metrics were stored, and its thread died at 2 h. The job trained on."""
    e = 9 * H
    return dict(
        elapsed_s=e,
        use=use_of(e, (0, 60, 2), (60, e, 95)),
        power=300.0,
        series={"system/gpu_0_utilization": system(2 * H, 95), "system/cpu_utilization": system(2 * H, 30)},
    )


@situation
def time_limit_in_mid_epoch():
    """A healthy run that the limit cut two thirds through an epoch; the last point is 9 s before the end."""
    e = 12 * H
    at, val = ticks(150, e - 9, 1.7, every=20), ticks(150, e, 70 * M, jitter=0.01)
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=32,
        use=use_of(e, (0, 150, 2), (150, e, 93)),
        power=315.0,
        series={"train/loss": fall(at), "val/loss": fall(val, 3.9, 1.7)},
    )


@situation
def uploaded_afterwards_with_one_time():
    """Logged offline and uploaded at the end: all 900 points have the time of the upload, a minute before the job's end."""
    e = 6 * H
    at = [(10 * (i + 1), round(e - 60 + 0.01 * i, 2)) for i in range(900)]
    return dict(elapsed_s=e, use=use_of(e, (0, 60, 2), (60, e, 92)), series={"train/loss": fall(at)})


# ---------------------------------------------------------------- NaN


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


# ---------------------------------------------------------------- pauses between steps


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
        t += (24 if any(a < t < b for a, b in dips) else 10) * float(_RNG.normal(1, 0.04))
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


CASES: tuple[Case, ...] = tuple(_CASES)
