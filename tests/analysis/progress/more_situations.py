"""Other situations of training runs beside the use of their GPUs, with what must, must not or may be said.

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


def shuffled(points: Points) -> Points:
    return [points[int(i)] for i in _RNG.permutation(len(points))]


# ---------------------------------------------------------------- hangs that must be said


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


# ---------------------------------------------------------------- looks like a hang: either answer is right


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


# ---------------------------------------------------------------- a hang must not be said


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
        n = 3 if _RNG.random() < 0.5 else 20
        at = [(i, round(t + 55.0 * (i + 1), 1)) for i in range(n) if t + 55.0 * (i + 1) < e]
        p += fall(at, 2.3, 0.4 + float(_RNG.random()))
        t += 55.0 * n + 12
    return dict(
        elapsed_s=e,
        state="TIMEOUT",
        gpus=2,
        use=use_of(e, (0, 60, 2), (60, e, 86, 4)),
        power=250.0,
        series={"val_loss": p},
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
        t += float(np.clip(_RNG.lognormal(4.4, 1.1), 10, 900))
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


# ---------------------------------------------------------------- NaN


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


# ---------------------------------------------------------------- pauses between steps


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
        a = t + float(_RNG.uniform(480, 1500))
        b = a + float(_RNG.uniform(180, 360))
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


CASES: tuple[Case, ...] = tuple(_CASES)
