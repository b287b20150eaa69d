"""Runs about requests and endings that no load describes: each is drawn by a function of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cases.drawing import Draw
from cases.readings import Node
from cases.shapes.requests import Host, Load, Rng, Seen, Shape, busy, from_util, host, node, quiet, steady

HOUR_S = 3600


def one_long_batch(rng: Rng) -> list[Node]:
    """One of eight GPUs, nobody knows which, is full in the last moments."""
    fullest = int(rng.integers(0, 8))
    last = tuple(63.93 if index == fullest else 55.0 for index in range(8))
    load = Load((92,) * 8, (50.5,) * 8, swing_gb=5.0, last_gb=last)
    return [node(rng, Shape(round(6.1 * HOUR_S), load, Host(12.1, 171)))]


def full_early_low_later(rng: Rng) -> list[Node]:
    """A search that fills the memory in its first hour, then runs small for hours."""
    steps = int(rng.integers(1000, 1500))
    util = np.stack([steady(rng, steps, 92) for _ in range(2)], axis=1)
    util[: int(0.015 * steps)] = 0
    load = Load((92,) * 2, (63.1,) * 2, start=0.015)
    drawn = from_util(rng, round(5.2 * HOUR_S), util, load, host(rng, Host(6, 40, 14, 120, 2, 9)))
    mem_gb = drawn.mem_gb.copy()
    mem_gb[int(0.24 * steps) :] *= 0.33
    return [Node(drawn.util, mem_gb, drawn.power_w, drawn.cpu, (0, 1), drawn.step_s)]


def deadlocked(rng: Rng) -> list[Node]:
    """Four nodes: a few minutes of training, then every kernel spins in a collective until the limit."""
    nodes = []
    for _ in range(4):
        steps = int(rng.integers(1100, 1500))
        begin, stuck = int(0.015 * steps * rng.uniform(0.8, 1.3)), int(0.055 * steps)
        util = np.zeros((steps, 8))
        for index in range(8):
            util[begin:, index] = steady(rng, steps, 92)[begin:]
            util[stuck:, index] = np.where(rng.random(steps - stuck) < 0.01, rng.uniform(40, 99), 100.0)
        load = Load((100,) * 8, (51.3,) * 8, start=0.015, watts=24)
        nodes.append(from_util(rng, 12 * HOUR_S, util, load, host(rng, Host(8.9, 143))))
    return nodes


def starved(rng: Rng) -> list[Node]:
    """Eight GPUs that wait for files again and again, all at the same moments, while the host waits for I/O."""
    steps = int(rng.integers(1200, 1700))
    util = np.stack([steady(rng, steps, 95) for _ in range(8)], axis=1)
    begin = int(0.03 * steps)
    while begin < steps:
        stop = begin + int(rng.integers(14, 30))
        util[begin:stop] = rng.uniform(0, 2, util[begin:stop].shape)
        begin = stop + int(rng.integers(14, 30))
    util[: int(0.01 * steps)] = 0
    cpu = host(rng, Host(6.1, 212, iowait=0.37, waits_s=(30, 0, 9100)))
    return [from_util(rng, 6 * HOUR_S, util, Load((95,) * 8, (47,) * 8, start=0.01), cpu)]


def one_column_unread(rng: Rng) -> list[Node]:
    """Two GPUs of which only the first could be read; the memory of both is known."""
    load = Load((93, 92), (41, 40))
    util = busy(rng, int(rng.integers(900, 1400)), load)
    util[:, 1] = np.nan
    seen = Seen(has_power=False, gpu_ids=(2, 3), lost=(0.01, 0.03))
    return [from_util(rng, round(6.8 * HOUR_S), util, load, host(rng, Host(5.0, 44, 14, 120, 2, 9)), seen)]


def touched_once(rng: Rng) -> list[Node]:
    """Eight GPUs: six work, two were only opened by a device query that cost a reading or two and some memory."""
    steps = int(rng.integers(1100, 1600))
    util = quiet(rng, steps, 8)
    for index in range(6):
        util[int(0.02 * steps) :, index] = steady(rng, steps, 87)[int(0.02 * steps) :]
    util[int(0.02 * steps), 6:] = 17
    load = Load((87,) * 8, (*(37,) * 6, 0.43, 0.43))
    cpu = host(rng, Host(7.5, 88, ranks=6))
    return [from_util(rng, round(13.2 * HOUR_S), util, load, cpu, Seen(lost=(0.01, 0.02)))]


def one_quiet_node(rng: Rng) -> list[Node]:
    """64 nodes of which one was never started on."""
    idle, used_s, seen = int(rng.integers(5, 60)), round(5.1 * HOUR_S), Seen(steps=300)
    quiet_node = Shape(used_s, Load((0,) * 8, (0.01,) * 8, dips=3), Host(0.4, 4), seen)
    busy_node = Shape(used_s, Load((90,) * 8, (36,) * 8, dips=3), Host(8.4, 84), seen)
    return [node(rng, quiet_node if number == idle else busy_node) for number in range(64)]


def farm(rng: Rng) -> list[Node]:
    """Eight single-GPU programs of one job, each with its own pauses: means differ by a few points only."""
    steps = int(rng.integers(1100, 1600))
    util = np.stack([steady(rng, steps, rng.uniform(84, 93)) for _ in range(8)], axis=1)
    util[: int(0.02 * steps)] = 0
    for index in range(8):
        begin = int(steps * rng.uniform(0.1, 0.9))
        util[begin : begin + int(0.03 * steps), index] = 0
    load = Load((90,) * 8, (24, 27, 25, 31, 24, 26, 29, 25))
    return [from_util(rng, round(8.3 * HOUR_S), util, load, host(rng, Host(9.3, 77)))]


def a_few_points_apart(rng: Rng) -> list[Node]:
    """128 nodes at work, each at its own level; one of them was read late."""
    nodes = []
    for number in range(128):
        load = Load((rng.uniform(84, 89),) * 8, (55,) * 8, start=0.045, dips=3)
        seen = Seen(steps=300, late_clock=0.02 if number == 40 else 0.0)
        nodes.append(node(rng, Shape(round(3.4 * HOUR_S), load, Host(9.4, 150), seen)))
    return nodes


def two_programs(rng: Rng) -> list[Node]:
    """Training, then an evaluation that uses the GPU less: two programs, neither of them stalled."""
    steps = int(rng.integers(1000, 1700))
    change = int(steps * rng.uniform(0.66, 0.72))
    util = np.concatenate([steady(rng, steps, 94)[:change], steady(rng, steps, 57)[change:]])[:, np.newaxis]
    util[: int(0.02 * steps)] = 0
    cpu = host(rng, Host(3.6, 27, 7, 60, 1, 13))
    return [from_util(rng, round(6.9 * HOUR_S), util, Load((90,), (39,)), cpu, Seen(gpu_ids=(0,)))]


RUNS: Mapping[str, Draw] = {
    run.__name__: run
    for run in (
        one_long_batch,
        full_early_low_later,
        deadlocked,
        starved,
        one_column_unread,
        touched_once,
        one_quiet_node,
        farm,
        a_few_points_apart,
        two_programs,
    )
}
