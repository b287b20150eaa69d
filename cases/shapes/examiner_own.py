"""Runs of the examiner that no list of loads describes: each is drawn by a function of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cases.drawing import Draw
from cases.readings import Node
from cases.shapes.examiner import HALF_MODULE, Pace, Setup, Span, host, node, stages, wander

Rng = np.random.Generator


def leak(rng: Rng) -> list[Node]:
    """Memory that grows by 18 GB over five hours."""
    span = Span(5.0)
    load = wander(rng, span, stages(span, (1.0, 0.955)), 0.01)
    drawn = node(rng, span, [load], [38.0], Pace(0.5), host(rng, 7, 2.0, 33, 60, threads=7), HALF_MODULE)
    return [replace(drawn, mem_gb=drawn.mem_gb + np.linspace(0, 18, span.size)[:, None])]


def refinement(rng: Rng) -> list[Node]:
    """A mesh that grows into its node: more work and more memory all the time."""
    span = Span(4.5)
    growth = np.clip(0.42 + 1.1 * np.linspace(0, 1, span.size) ** 0.7, 0, 0.98)
    loads = [wander(rng, span, growth, 0.03) for _ in range(8)]
    drawn = node(rng, span, loads, [41.0] * 8, Pace(0.3), host(rng, 56, 9.0, 95, 480, ranks=8, threads=7))
    return [replace(drawn, mem_gb=drawn.mem_gb * np.linspace(0.3, 1, span.size)[:, None])]


def half_measured(rng: Rng) -> list[Node]:
    """The sampler ended before the job."""
    span = Span(6.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.92)), 0.02) for _ in range(2)]
    drawn = node(rng, span, loads, [30.0, 30.0], Pace(0.6), host(rng, 14, 4.0, 60, 120, ranks=2, threads=7))
    util = drawn.util.copy()
    util[int(0.57 * span.size) :] = np.nan
    return [replace(drawn, util=util, errors=("sampler ended before the job",))]


def gpu_memory_full(rng: Rng) -> list[Node]:
    """The longest batch fills the GPU's memory in the last fifth."""
    span = Span(0.62)
    load = wander(rng, span, stages(span, (0.05, 0.0), (0.95, 0.94)), 0.02)
    drawn = node(rng, span, [load], [61.0], Pace(0.8), host(rng, 7, 2.1, 30, 60, threads=7), HALF_MODULE)
    mem_gb = drawn.mem_gb.copy()
    mem_gb[int(0.8 * span.size) :] = 63.94
    return [replace(drawn, mem_gb=mem_gb)]


def not_measured(rng: Rng) -> list[Node]:
    """No reading of any GPU was possible."""
    span = Span(4.0)
    drawn = node(rng, span, [stages(span, (1.0, 0.9))] * 2, [20.0] * 2, Pace(), host(rng, 14, 3, 40, 120, ranks=2))
    nothing = np.full_like(drawn.util, np.nan)
    return [replace(drawn, util=nothing, mem_gb=nothing, power_w=None, errors=("gpu_metrics: permission denied",))]


def trials(rng: Rng) -> list[Node]:
    """Eight trials that end one after another, in any order."""
    span = Span(5.0)
    ends = rng.permutation([0.31, 0.42, 0.5, 0.61, 0.66, 0.78, 0.9, 1.0])
    loads = [stages(span, (0.01, 0.0), (end - 0.01, 0.95), (1.0, 0.0)) for end in ends]
    cpu = host(rng, 56, 6.0, 90, 480, ranks=8, threads=7)
    return [node(rng, span, loads, [21.0] * 8, Pace(0.4), cpu, Setup(offset_s=20.0))]


def hung_collective(rng: Rng) -> list[Node]:
    """After 42 minutes all GPUs spin at 151 W a module until the limit."""
    span = Span(12.0, 5.0)
    worked = int(0.058 * span.size)
    drawn = []
    for _ in range(2):
        load = stages(span, (0.058, 0.95), (0.942, 1.0))
        one = node(rng, span, [load] * 8, [54.0] * 8, Pace(0.7, 0.1), host(rng, 56, 8.1, 150, 480, ranks=8, threads=7))
        assert one.power_w is not None
        power_w, util = one.power_w.copy(), one.util.copy()
        power_w[worked:] = rng.normal(151, 4, power_w[worked:].shape)
        util[worked:] = np.where(np.isnan(util[worked:]), np.nan, 100.0)
        drawn.append(replace(one, power_w=power_w, util=util))
    return drawn


def layers_in_turn(rng: Rng) -> list[Node]:
    """Four GPUs of which one works at a time, three seconds each."""
    span = Span(4.0)
    turn = (np.arange(span.size) * span.step_s) % 12.0
    jitter = rng.normal(0, 0.3, span.size)
    loads = [np.where((turn + jitter >= 3 * rank) & (turn + jitter < 3 * rank + 2.8), 0.97, 0.0) for rank in range(4)]
    cpu = host(rng, 28, 1.1, 70, 240, ranks=1, threads=7)
    return [node(rng, span, loads, [52.0, 53.0, 53.0, 49.0], Pace(0.3), cpu, Setup(offset_s=0.5))]


def quiet_service(rng: Rng) -> list[Node]:
    """Requests by the hour of the day, with single bursts."""
    span = Span(24.0, 5.0)
    day = 0.14 + 0.16 * np.sin(np.linspace(-1.3, 5.0, span.size)) + rng.gamma(0.6, 0.12, span.size)
    loads = [wander(rng, span, np.clip(day, 0.0, 1.0), 0.2, over_s=400)]
    cpu = host(rng, 7, 1.2, 35, 60, threads=7)
    return [node(rng, span, loads, [57.4], Pace(3.0, 0.8), cpu, Setup(has_power=False, fill_s=30.0))]


RUNS: Mapping[str, Draw] = {
    run.__name__: run
    for run in (
        leak,
        refinement,
        half_measured,
        gpu_memory_full,
        not_measured,
        trials,
        hung_collective,
        layers_in_turn,
        quiet_service,
    )
}
