"""Healthy runs with a bad-looking neighbour, phase or request, among them other sites and shared GPUs' numbers.

Sources: facts/lumi.md, facts/peers.md, facts/amd-gpus.md, domain.md sections 2 and 3 for the bounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import A100, HALF_MODULE, Pace, Span, host, job, node, pauses, stages, wander
from bench.noisy.readings import Node


def _noisy_neighbour(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.945)), 0.01) for _ in range(4)]
    cpu = host(rng, 28, 6.1, 90, 240, ranks=4, threads=7, iowait=0.17, pressure_io_s=2900.0, pressure_cpu_s=160.0)
    return [node(rng, span, loads, [31.0] * 4, Pace(0.4), cpu)]


def _campus(rng: np.random.Generator) -> list[Node]:
    span = Span(10.5, 5.0)
    shared = pauses(rng, span, stages(span, (0.01, 0.0), (0.99, 0.95)), every_s=5400, lasting_s=240, to=0.3)
    cpu = host(rng, 64, 22, 260, 480, ranks=4, threads=16)
    return [node(rng, span, [shared] * 4, [71.0] * 4, Pace(0.8), cpu, replace(A100, throttled_fraction=0.028))]


def _rollouts(rng: np.random.Generator) -> list[Node]:
    span = Span(8.0, 2.0)
    rollout = pauses(rng, span, stages(span, (0.01, 0.0), (0.99, 0.97)), every_s=330, lasting_s=50, to=0.35)
    learner = pauses(rng, span, stages(span, (0.01, 0.0), (0.99, 0.93)), every_s=330, lasting_s=85, to=0.1)
    cpu = host(rng, 56, 15.0, 300, 480, ranks=8, threads=7)
    return [node(rng, span, [rollout] * 6 + [learner] * 2, [55.0] * 6 + [59.0] * 2, Pace(0.9), cpu)]


def _leak(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    load = wander(rng, span, stages(span, (1.0, 0.955)), 0.01)
    drawn = node(rng, span, [load], [38.0], Pace(0.5), host(rng, 7, 2.0, 33, 60, threads=7), HALF_MODULE)
    return [replace(drawn, mem_gb=drawn.mem_gb + np.linspace(0, 18, span.size)[:, None])]


def _cores_that_work(rng: np.random.Generator) -> list[Node]:
    span = Span(6.2)
    load = wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.85)), 0.05, over_s=300)
    cpu = host(rng, 16, 14.6, 102, 120, ranks=1, threads=16, pressure_cpu_s=900.0)
    return [node(rng, span, [load], [29.0], Pace(0.5), cpu, HALF_MODULE)]


def _converged(rng: np.random.Generator) -> list[Node]:
    span = Span(3.1)
    loads = [wander(rng, span, stages(span, (0.02, 0.1), (0.98, 0.93)), 0.02) for _ in range(2)]
    return [node(rng, span, loads, [52.0, 50.0], Pace(0.6), host(rng, 14, 5.0, 70, 120, ranks=2, threads=7))]


def _refinement(rng: np.random.Generator) -> list[Node]:
    span = Span(4.5)
    growth = np.clip(0.42 + 1.1 * np.linspace(0, 1, span.size) ** 0.7, 0, 0.98)
    loads = [wander(rng, span, growth, 0.03) for _ in range(8)]
    drawn = node(rng, span, loads, [41.0] * 8, Pace(0.3), host(rng, 56, 9.0, 95, 480, ranks=8, threads=7))
    return [replace(drawn, mem_gb=drawn.mem_gb * np.linspace(0.3, 1, span.size)[:, None])]


def _evaluated(rng: np.random.Generator) -> list[Node]:
    span = Span(4.4)
    load = wander(rng, span, stages(span, (0.015, 0.0), (0.67, 0.97), (0.315, 0.43)), 0.02)
    return [node(rng, span, [load], [40.0], Pace(0.4), host(rng, 7, 2.2, 29, 60, threads=7), HALF_MODULE)]


def _half_measured(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.92)), 0.02) for _ in range(2)]
    drawn = node(rng, span, loads, [30.0, 30.0], Pace(0.6), host(rng, 14, 4.0, 60, 120, ranks=2, threads=7))
    util = drawn.util.copy()
    util[int(0.57 * span.size) :] = np.nan
    return [replace(drawn, util=util, errors=("sampler ended before the job",))]


def _smoke(rng: np.random.Generator) -> list[Node]:
    span = Span(245 / 3600)
    load = stages(span, (0.14, 0.0), (0.86, 0.96))
    return [node(rng, span, [load], [11.0], Pace(0.5), host(rng, 7, 1.4, 9, 60, threads=7), HALF_MODULE)]


def _domains(rng: np.random.Generator) -> list[Node]:
    span = Span(5.2, 2.0)
    weights = (0.98, 0.94, 0.95, 0.88, 0.83, 0.86, 0.79, 0.755)
    loads = [wander(rng, span, stages(span, (1.0, weight)), 0.02) for weight in weights]
    return [node(rng, span, loads, [24.0] * 8, Pace(0.25), host(rng, 56, 8.6, 70, 480, ranks=8, threads=7))]


def _one_node_silent(rng: np.random.Generator) -> list[Node]:
    span = Span(7.0, 2.0)
    drawn = []
    for _ in range(3):
        loads = [wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.94)), 0.015) for _ in range(8)]
        drawn.append(node(rng, span, loads, [56.0] * 8, Pace(0.8), host(rng, 56, 13, 190, 480, ranks=8, threads=7)))
    return drawn


CASES: tuple[Case, ...] = (
    Case(
        "examiner neighbour hammers the file system",
        "facts/lumi.md section 6: metadata slowness since January 2026; host numbers of a shared node",
        "Host pressure and I/O wait are high all the time, the four GPUs are at 94 %. This run does not wait.",
        job("qe-phonon_0012", 4.0, 6, 4),
        _noisy_neighbour,
        "EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        "examiner four A100 at another site, a little throttled",
        "facts/peers.md, a campus cluster; jobs/sites/example_a100.toml",
        "90 %, 340 of 400 W, 16 cores and 120 GB a GPU which is this site's share, throttled 2.8 % of the time.",
        job("nemo-asr", 10.5, 16, 4, partition="gpu", cores=64, memory_gb=480.0, cluster="campus"),
        _campus,
        "EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        "examiner reinforcement learning in two roles",
        "shared real traces wb-a: uneven phases of RL on eight GPUs",
        "Six GPUs generate and two learn. Each waits for the other within five minutes, none for long: 84 and 72 %.",
        job("grpo-qwen7b", 8.0, 12, 8, partition="standard-g", ntasks=1),
        _rollouts,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner memory that grows for five hours",
        "PyTorch caching allocator with variable lengths",
        "From 38 to 56 of 64 GB: 88 %, still below what anybody calls pressure.",
        job("t5-var-len", 5.0, 8, 1),
        _leak,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        "examiner sixteen cores for one gcd, all of them at work",
        "domain.md section 4: what was used stays; facts/lumi.md section 3",
        "A GCD with 16 cores and 120 GB costs two slices; 14.6 cores and 102 GB were used, the GPU at 84 %. "
        "Cutting to 7 cores would starve it.",
        job(
            "openfold-train",
            6.2,
            9,
            1,
            cores=16,
            memory_gb=120.0,
            cpus_per_task=16,
            spelled={"--gpus": "1", "--cpus-per-task": "16", "--mem": "120G", "--time": "09:00:00"},
        ),
        _cores_that_work,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=16, memory_min_gb=105),
    ),
    Case(
        "examiner cancelled because it had converged",
        "users stop their own training; state CANCELLED by the owner",
        "91 % for three hours of a day's request, then scancel. A cancelled run is no walltime case and no failure.",
        job("segformer_b3", 3.1, 24, 2, state="CANCELLED", exit_code="0:15"),
        _converged,
        "EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        "examiner adaptive mesh that grows into its node",
        "AMReX: grids refine as the front moves",
        "Use rises from 42 to 98 % in the first half while memory grows with it. The grid needs the whole node later.",
        job("amr-flame", 4.5, 7, 8, partition="standard-g"),
        _refinement,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner evaluation after training",
        "domain.md section 3: two clear phases are not a stall",
        "Two thirds training at 97 %, then generation for the benchmark at 43 %. The mean is 78 and nothing waits.",
        job("sft-then-eval", 4.4, 6, spelled={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem": "60G"}),
        _evaluated,
        "EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        "examiner sampler that ended before the job",
        "domain.md section 2: PARTIAL below 80 % coverage",
        "57 % of the time was measured, at 91 %. The report is partial; what it saw is healthy.",
        job("schnet-qm9", 6.0, 9, 2),
        _half_measured,
        "EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        "examiner four-minute smoke test",
        "domain.md section 2: under five minutes nothing is counted",
        "245 s of 30 minutes on the debug queue, busy once loaded. Neither walltime nor anything else.",
        job("smoke", 245 / 3600, 0.5, partition="dev-g"),
        _smoke,
        "EFFICIENT",
    ),
    Case(
        "examiner sloping load over the domains",
        "domain decomposition of a coastline; domain.md: 30 points and 0.25",
        "From 97 down to 75 % over eight ranks. Real, usual, and below the bound that anybody would act on.",
        job("nemo-ocean-gpu", 5.2, 8, 8, partition="standard-g"),
        _domains,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner one of four nodes sent nothing",
        "facts/amd-gpus.md: a collector may die; domain.md section 2",
        "Three nodes at 93 %, the fourth is not measured. Not measured is not idle: no smaller node count.",
        job("gpt-neox-13b", 7.0, 11, 32, 4, "standard-g"),
        _one_node_silent,
        "EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
)
