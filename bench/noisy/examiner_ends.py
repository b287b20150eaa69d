"""Runs by how they ended: short, cancelled, crashed, out of memory, out of time, taken by the system, never on the GPU.

Sources: domain.md sections 2 to 4; facts/lumi.md sections 3, 6 and 7; facts/peers.md section e.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import HALF_MODULE, Pace, Span, host, job, node, pauses, stages, wander
from bench.noisy.readings import Node

SHARE = {"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}
MAY_FAIL = frozenset({"low_use_unexplained", "gpu_out_of_memory"})


def _node_failed(rng: np.random.Generator) -> list[Node]:
    span = Span(3.6)
    load = stages(span, (0.81, 0.97), (0.19, 0.0))
    return [node(rng, span, [load] * 8, [50.0] * 8, Pace(0.6), host(rng, 56, 9, 150, 480, ranks=8, threads=7))]


def _requeued(rng: np.random.Generator) -> list[Node]:
    span = Span(0.4)
    load = stages(span, (1.0, 0.0))
    return [node(rng, span, [load] * 4, [0.1] * 4, Pace(), host(rng, 28, 0.4, 6, 240, ranks=4, threads=7))]


def _crashed_at_once(rng: np.random.Generator) -> list[Node]:
    span = Span(72 / 3600)
    load = stages(span, (0.85, 0.0), (0.15, 0.5))
    return [node(rng, span, [load], [6.0], Pace(0.3), host(rng, 7, 1.1, 5, 60, threads=7), HALF_MODULE)]


def _cancelled_soon(rng: np.random.Generator) -> list[Node]:
    span = Span(8.2 / 60)
    loads = [stages(span, (1.0, 0.0))] * 4
    return [node(rng, span, loads, [0.4] * 4, Pace(), host(rng, 28, 0.9, 12, 240, ranks=4, threads=7))]


def _crashed_late(rng: np.random.Generator) -> list[Node]:
    span = Span(3.2)
    loads = [wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.93)), 0.02) for _ in range(2)]
    return [node(rng, span, loads, [40.0, 40.0], Pace(0.5), host(rng, 14, 3.3, 60, 120, ranks=2, threads=7))]


def _gpu_memory_full(rng: np.random.Generator) -> list[Node]:
    span = Span(0.62)
    load = wander(rng, span, stages(span, (0.05, 0.0), (0.95, 0.94)), 0.02)
    drawn = node(rng, span, [load], [61.0], Pace(0.8), host(rng, 7, 2.1, 30, 60, threads=7), HALF_MODULE)
    mem_gb = drawn.mem_gb.copy()
    mem_gb[int(0.8 * span.size) :] = 63.94
    return [replace(drawn, mem_gb=mem_gb)]


def _host_memory_full(rng: np.random.Generator) -> list[Node]:
    span = Span(0.9)
    load = wander(rng, span, stages(span, (0.08, 0.0), (0.92, 0.87)), 0.03)
    cpu = host(rng, 7, 3.9, 16, 16, threads=7, pressure_memory_s=60.0)
    return [node(rng, span, [load], [22.0], Pace(0.6), cpu | {"oom_kills": 1, "peak_memory_gb": 15.98}, HALF_MODULE)]


def _out_of_time(rng: np.random.Generator) -> list[Node]:
    span = Span(12.0, 2.0)
    load = pauses(rng, span, stages(span, (1.0, 0.965)), every_s=3000, lasting_s=70, to=0.3)
    return [node(rng, span, [load], [49.0], Pace(0.7), host(rng, 7, 2.0, 33, 60, threads=7), HALF_MODULE)]


def _out_of_time_beside_idle(rng: np.random.Generator) -> list[Node]:
    span = Span(10.0, 2.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.955)), 0.01)] + [np.zeros(span.size)] * 3
    return [node(rng, span, loads, [36.0] + [0.02] * 3, Pace(0.4), host(rng, 28, 1.8, 28, 240, threads=28))]


def _never_on_gpu(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    cpu = host(rng, 7, 6.9, 21, 60, ranks=1, threads=7)
    return [node(rng, span, [stages(span, (1.0, 0.0))], [0.02], Pace(), cpu, HALF_MODULE)]


def _device_query_only(rng: np.random.Generator) -> list[Node]:
    span = Span(2.6)
    load = stages(span, (0.002, 0.0), (0.0075, 0.95), (1.0, 0.0))
    return [node(rng, span, [load] * 2, [1.1, 0.9], Pace(0.3), host(rng, 14, 1.2, 9, 120, ranks=2, threads=7))]


def _worked_six_minutes(rng: np.random.Generator) -> list[Node]:
    span = Span(3.5)
    load = stages(span, (0.004, 0.0), (0.03, 0.93), (1.0, 0.0))
    return [node(rng, span, [load] * 4, [30.0] * 4, Pace(0.5), host(rng, 28, 1.1, 40, 240, ranks=4, threads=7))]


def _generous_limit(rng: np.random.Generator) -> list[Node]:
    span = Span(2.1)
    load = wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.93)), 0.02)
    return [node(rng, span, [load], [35.0], Pace(0.5), host(rng, 7, 2.2, 26, 60, threads=7), HALF_MODULE)]


def _not_measured(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    drawn = node(rng, span, [stages(span, (1.0, 0.9))] * 2, [20.0] * 2, Pace(), host(rng, 14, 3, 40, 120, ranks=2))
    nothing = np.full_like(drawn.util, np.nan)
    return [replace(drawn, util=nothing, mem_gb=nothing, power_w=None, errors=("gpu_metrics: permission denied",))]


def _memory_of_four(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    load = wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.94)), 0.02)
    return [node(rng, span, [load], [39.0], Pace(0.5), host(rng, 7, 2.9, 21, 240, threads=7), HALF_MODULE)]


CASES: tuple[Case, ...] = (
    Case(
        "examiner node fails after three hours",
        "domain.md section 2: the system's fault is never counted",
        "97 %, then the node is gone and reads zero until Slurm notices after 40 minutes. Nothing about use.",
        job("gan-hires", 3.6, 12, 8, partition="standard-g", state="NODE_FAIL", exit_code="1:0"),
        _node_failed,
        "EFFICIENT",
    ),
    Case(
        "examiner requeued while it was still loading",
        "facts/lumi.md section 2: requeue is on; issue 13, rule 3",
        "24 idle minutes, then requeued by the system.",
        job("wrf-gpu", 0.4, 10, 4, state="REQUEUED", exit_code="0:0"),
        _requeued,
        "WASTED",
    ),
    Case(
        "examiner crash after 72 seconds",
        "shared real traces wb-c and wb-g: series of short crashes",
        "An exception in the first step. Nothing about GPU use, no smaller request.",
        job("debug_ddpm_17", 72 / 3600, 4, state="FAILED", exit_code="1:0", spelled=SHARE),
        _crashed_at_once,
        "WASTED",
        may=MAY_FAIL,
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner cancelled after eight minutes of import",
        "domain.md section 3, bounds; file-system slowness at import time",
        "The imports took so long that the user gave up. No cause about GPUs, no cut.",
        job("train-big", 8.2 / 60, 24, 4, state="CANCELLED", exit_code="0:15"),
        _cancelled_soon,
        "WASTED",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        "examiner exception after three busy hours",
        "domain.md section 4: `The request fits` is never shown for a run that failed",
        "92 % until Python raised KeyError when saving. The GPUs tell nothing; the failure needs a next step.",
        job("diffusion-v5", 3.2, 10, 2, state="FAILED", exit_code="1:0"),
        _crashed_late,
        "EFFICIENT",
        frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner gpu memory full at the longest batch",
        "PyTorch: torch.OutOfMemoryError is an ordinary exception, exit 1",
        "From 61 to 63.9 of 64 GB, then the exception after 37 minutes.",
        job("pegasus-long", 0.62, 6, state="FAILED", exit_code="1:0", spelled=SHARE),
        _gpu_memory_full,
        "EFFICIENT",
        frozenset({"gpu_out_of_memory"}),
        sensible=Sensible(gpus=(1, 2), is_ready_to_resubmit=False),
        corrected="gpu_memory_pressure was due beside a permitted gpu_out_of_memory: one run has one of them, and full "
        "memory when the program fails by itself is the latter (domain definitions, section 3)",
    ),
    Case(
        "examiner killed for host memory with 16 GB requested",
        "domain.md section 4: after out-of-memory the share that comes free, in full",
        "--mem=16G from a tutorial, killed after 54 minutes. 60 GB cost nothing more.",
        job(
            "tokenizer-fit",
            0.9,
            4,
            memory_gb=16.0,
            state="OUT_OF_MEMORY",
            exit_code="0:125",
            spelled={"--gpus": "1", "--cpus-per-task": "7", "--mem": "16G"},
        ),
        _host_memory_full,
        "EFFICIENT",
        frozenset({"host_out_of_memory"}),
        sensible=Sensible(gpus=(1,), memory_min_gb=60, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner out of time while busy",
        "domain.md, timeout: busy to the end",
        "95 % to the last second of twelve hours. Checkpoints or more time, no smaller request.",
        job("dreambooth_xl", 12.0, 12, state="TIMEOUT", spelled=SHARE | {"--time": "12:00:00"}),
        _out_of_time,
        "EFFICIENT",
        frozenset({"timeout"}),
        sensible=Sensible(gpus=(1,), walltime_min_s=43_200, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner out of time with three idle gpus",
        "facts/peers.md section e: jobstats loses the TIMEOUT advice beside an idle GPU",
        "One GPU busy to the end, three never used. Both must be stated, and the time is for the one that worked.",
        job("solver_4gpu", 10.0, 10, 4, ntasks=1, state="TIMEOUT"),
        _out_of_time_beside_idle,
        "INEFFICIENT",
        frozenset({"timeout", "parallelism_mismatch", "idle_gpus"}),
        sensible=Sensible(gpus=(1,), walltime_min_s=36_000, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner cpu build of torch on a gpu",
        "shared real traces wb-d; facts/lumi.md: CPU-only software gives no warning",
        "Seven cores at full load, the GPU never. Belongs on a CPU partition with its cores.",
        job("lstm-forecast", 4.0, 6),
        _never_on_gpu,
        "WASTED",
        frozenset({"no_gpu_use"}),
        frozenset({"cpu_bottleneck"}),
        Sensible(cores_min=7, memory_min_gb=25, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner gpu test of a minute, then nothing",
        "facts/peers.md section e: one stray sample defeats a zero test",
        "70 s of a self-test on both GPUs, then two and a half hours on one core.",
        job("ase-relax", 2.6, 4, 2),
        _device_query_only,
        "WASTED",
        frozenset({"no_gpu_use"}),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "examiner six minutes of work and a session without end",
        "jobstats#28: idle after a burst; issue 13, rule 4",
        "Four GPUs at 93 % for six minutes, then idle for more than three hours: a tail, not a run without GPUs.",
        job("render-batch", 3.5, 5, 4),
        _worked_six_minutes,
        "WASTED",
        frozenset({"idle_tail"}),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "examiner two hours of two days",
        "facts/lumi.md section 6: max walltime by habit",
        "Healthy, and 4 % of the requested time.",
        job("resnet50-cifar", 2.1, 48, spelled=SHARE | {"--time": "2-00:00:00"}),
        _generous_limit,
        "EFFICIENT",
        frozenset({"walltime_overrequest"}),
        sensible=Sensible(gpus=(1,), walltime_min_s=9_072),
    ),
    Case(
        "examiner gpus that could not be read",
        "domain.md section 2: no measurement is UNKNOWN, never WASTED; facts/peers.md section e",
        "The counters were not readable. Unknown, no word about use, and 30 % of the time limit is still a fact.",
        job("unreadable", 4.0, 13, 2),
        _not_measured,
        "UNKNOWN",
        frozenset({"walltime_overrequest"}),
        sensible=Sensible(gpus=(2,), walltime_min_s=17_280),
    ),
    Case(
        "examiner host memory of four shares for one gcd",
        "facts/lumi.md section 6: small-g, 1 GPU with --mem=256G",
        "--mem=240G out of caution, 21 GB used: four times the bill. The GPU is at 93 %.",
        job(
            "stable-audio",
            5.0,
            8,
            memory_gb=240.0,
            spelled={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem": "240G", "--time": "08:00:00"},
        ),
        _memory_of_four,
        "EFFICIENT",
        frozenset({"cores_or_memory_beyond_share"}),
        sensible=Sensible(gpus=(1,), memory_min_gb=25),
    ),
)
