"""Runs whose use changes over time, and why: staging, stalls, hangs, hosts that work alone, services without requests.

Sources: domain.md section 3; facts/lumi.md sections 5 and 6 (named mistakes, file-system slowness, idle hangs after a
crash); facts/peers.md (device-metrics-exporter#34: 100 % while deadlocked; jobstats#28: idle after a burst).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import HALF_MODULE, Pace, Setup, Span, host, job, node, pauses, stages, wander
from bench.noisy.readings import Node

LOST = Sensible(is_ready_to_resubmit=False)


def _starved_loader(rng: np.random.Generator) -> list[Node]:
    span = Span(3.3)
    load = pauses(rng, span, stages(span, (1.0, 0.94)), every_s=520, lasting_s=200, to=0.04)
    cpu = host(rng, 7, 1.5, 30, 60, threads=7, iowait=0.24, pressure_io_s=4200.0)
    return [node(rng, span, [load], [33.0], Pace(0.6), cpu, HALF_MODULE)]


def _slow_file_system(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0, 2.0)
    load = stages(span, (0.31, 0.94), (0.69, 0.29))
    loads = [wander(rng, span, load, 0.07, over_s=200) for _ in range(8)]
    cpu = host(rng, 56, 8.0, 150, 480, ranks=8, threads=7, iowait=0.14, pressure_io_s=9100.0)
    return [node(rng, span, loads, [35.0] * 8, Pace(1.4, 0.6), cpu)]


def _trials(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    ends = rng.permutation([0.31, 0.42, 0.5, 0.61, 0.66, 0.78, 0.9, 1.0])
    loads = [stages(span, (0.01, 0.0), (end - 0.01, 0.95), (1.0, 0.0)) for end in ends]
    cpu = host(rng, 56, 6.0, 90, 480, ranks=8, threads=7)
    return [node(rng, span, loads, [21.0] * 8, Pace(0.4), cpu, Setup(offset_s=20.0))]


def _host_analysis(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0)
    load = stages(span, (0.01, 0.0), (0.51, 0.96), (0.48, 0.0))
    return [node(rng, span, [load], [37.0], Pace(0.5), host(rng, 7, 4.1, 44, 60, threads=7), HALF_MODULE)]


def _copying(rng: np.random.Generator) -> list[Node]:
    span = Span(2.5)
    load = stages(span, (0.31, 0.0), (0.69, 0.96))
    cpu = host(rng, 14, 3.2, 100, 120, ranks=2, threads=7, iowait=0.06, pressure_io_s=1700.0)
    return [node(rng, span, [load, load], [48.0, 46.0], Pace(0.5), cpu)]


def _hung_collective(rng: np.random.Generator) -> list[Node]:
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


def _deadlock(rng: np.random.Generator) -> list[Node]:
    span = Span(10.0, 5.0)
    load = stages(span, (0.098, 0.955), (0.902, 0.0))
    return [node(rng, span, [load] * 8, [52.0] * 8, Pace(0.6), host(rng, 56, 1.3, 160, 480, ranks=8, threads=7))]


def _left_open(rng: np.random.Generator) -> list[Node]:
    span = Span(5.6)
    load = stages(span, (0.03, 0.0), (0.088, 0.86), (0.882, 0.0))
    return [node(rng, span, [load], [26.0], Pace(1.1, 0.5), host(rng, 7, 0.3, 19, 60, threads=7), HALF_MODULE)]


def _layers_in_turn(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    turn = (np.arange(span.size) * span.step_s) % 12.0
    jitter = rng.normal(0, 0.3, span.size)
    loads = [np.where((turn + jitter >= 3 * rank) & (turn + jitter < 3 * rank + 2.8), 0.97, 0.0) for rank in range(4)]
    cpu = host(rng, 28, 1.1, 70, 240, ranks=1, threads=7)
    return [node(rng, span, loads, [52.0, 53.0, 53.0, 49.0], Pace(0.3), cpu, Setup(offset_s=0.5))]


def _checkpoints(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    shared = pauses(rng, span, stages(span, (1.0, 0.955)), every_s=1250, lasting_s=430)
    drawn = []
    for _ in range(2):
        cpu = host(rng, 56, 5.0, 260, 480, ranks=8, threads=7, iowait=0.07, pressure_io_s=5600.0)
        drawn.append(node(rng, span, [shared] * 8, [57.0] * 8, Pace(0.8), cpu))
    return drawn


def _scored_on_host(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    load = pauses(rng, span, stages(span, (1.0, 0.94)), every_s=930, lasting_s=310)
    cpu = host(rng, 7, 6.6, 39, 60, threads=7, pressure_cpu_s=5200.0)
    return [node(rng, span, [load], [30.0], Pace(0.5), cpu, HALF_MODULE)]


def _staged_both_ends(rng: np.random.Generator) -> list[Node]:
    span = Span(8 / 3)
    load = stages(span, (0.25, 0.0), (0.5, 0.96), (0.25, 0.0))
    cpu = host(rng, 7, 2.0, 51, 60, threads=7, iowait=0.05, pressure_io_s=900.0)
    return [node(rng, span, [load], [28.0], Pace(0.4), cpu, HALF_MODULE)]


def _object_store(rng: np.random.Generator) -> list[Node]:
    span = Span(1.5)
    shared = pauses(rng, span, stages(span, (1.0, 0.95)), every_s=740, lasting_s=525)
    drawn = []
    for _ in range(2):
        cpu = host(rng, 56, 2.2, 120, 480, ranks=8, threads=7)
        drawn.append(node(rng, span, [shared] * 8, [41.0] * 8, Pace(0.6), cpu))
    return drawn


def _quiet_service(rng: np.random.Generator) -> list[Node]:
    span = Span(24.0, 5.0)
    day = 0.14 + 0.16 * np.sin(np.linspace(-1.3, 5.0, span.size)) + rng.gamma(0.6, 0.12, span.size)
    loads = [wander(rng, span, np.clip(day, 0.0, 1.0), 0.2, over_s=400)]
    cpu = host(rng, 7, 1.2, 35, 60, threads=7)
    return [node(rng, span, loads, [57.4], Pace(3.0, 0.8), cpu, replace(HALF_MODULE, fill_s=30.0))]


CASES: tuple[Case, ...] = (
    Case(
        "examiner image folder that starves one gcd",
        "facts/lumi.md section 5: many small files",
        "Every nine minutes the shard is exhausted and the loader opens small files for three: I/O wait 24 %.",
        job("mae-pretrain_3", 3.3, 5, spelled={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}),
        _starved_loader,
        "ACCEPTABLE",
        frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner file system slows down after two hours",
        "facts/lumi.md section 6: metadata slowness since January 2026",
        "94 %, then 29 % on all eight for the rest while ranks wait for I/O. The work still needs eight GPUs' seconds.",
        job("pangu-ft", 6.0, 9, 8, partition="standard-g"),
        _slow_file_system,
        "ACCEPTABLE",
        frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner hyperparameter trials end one by one",
        "Ray Tune; domain.md section 3: GPUs that end one after another are not a stall",
        "Eight trials of unequal length in one job: each GPU is done when its trial is, the job when the last one is.",
        job("tune_asha_seed42", 5.0, 7, 8, ntasks=1),
        _trials,
        "ACCEPTABLE",
        frozenset({"load_imbalance"}),
        sensible=LOST,
    ),
    Case(
        "examiner half the job analyses on the cores",
        "domain.md section 3: two clear phases; facts/lumi.md: CPU-only software on a GPU node",
        "96 % for three hours, then clustering on seven cores for three: a job of its own without GPU.",
        job("docking-and-cluster", 6.0, 8, 1),
        _host_analysis,
        "ACCEPTABLE",
        frozenset({"idle_tail"}),
        sensible=Sensible(gpus=(1,), cores_min=5, memory_min_gb=48, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner data copied for three quarters of an hour",
        "facts/lumi.md section 1: no local disk, /tmp is memory",
        "47 of 150 minutes go into copying to /tmp before the first kernel; then 96 %. No stall of the training.",
        job("clip-webdataset", 2.5, 4, 2),
        _copying,
        "ACCEPTABLE",
        frozenset({"late_start"}),
        sensible=Sensible(gpus=(2,), memory_min_gb=105, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner sixteen gpus spin in a collective for eleven hours",
        "facts/peers.md: 100 % while deadlocked in RCCL; facts/lumi.md: power is the better sign",
        "After 42 minutes one rank is gone and all others read 100 % at 150 W a module until the limit.",
        job("llama-cpt-8b", 12.0, 12, 16, 2, "standard-g", state="TIMEOUT", exit_code="0:0"),
        _hung_collective,
        "EFFICIENT",
        frozenset({"busy_but_waiting", "timeout"}),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner deadlock with idle gpus until the limit",
        "facts/lumi.md section 6: idle hang after a crash is still billed",
        "An hour at 95 %, then nothing for nine until TIMEOUT. The GPUs worked, so this is not a run without GPUs, and "
        "memory says that all eight are needed.",
        job("mpnn-ddp", 10.0, 10, 8, partition="standard-g", state="TIMEOUT"),
        _deadlock,
        "WASTED",
        frozenset({"idle_tail", "timeout"}),
        frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner notebook left open over the afternoon",
        "facts/lumi.md section 6; domain.md: idle_tail and no_gpu_use share the cases",
        "Half an hour of work, then five hours in which nobody typed, ended by scancel.",
        job("jupyter", 5.6, 8, 1, state="CANCELLED"),
        _left_open,
        "WASTED",
        frozenset({"idle_tail"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner four gpus in turn by device_map auto",
        "Hugging Face Accelerate: layers spread over GPUs run one after another",
        "One process, 207 GB of weights, one GPU at a time: each at 23 %. Memory needs four, so fewer would not run.",
        job("infer-70b", 4.0, 6, 4, ntasks=1, spelled={"--gpus": "4", "--ntasks": "1", "--cpus-per-task": "28"}),
        _layers_in_turn,
        "INEFFICIENT",
        may=frozenset({"low_use_unexplained", "parallelism_mismatch"}),
        sensible=Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner seven-minute checkpoints every twenty",
        "issue 13, rule 8: periodic stalls count without a fall",
        "Both nodes stop together while one file is written by one rank: a third of the time.",
        job("gencast-large", 5.0, 8, 16, 2, "standard-g"),
        _checkpoints,
        "ACCEPTABLE",
        frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner predictions scored on seven busy cores",
        "NLP metrics in Python after each epoch",
        "Ten minutes of GPU, five of scoring on all cores. The GPU waits for cores, nothing waits for I/O.",
        job("mt-eval-loop", 4.0, 6, 1),
        _scored_on_host,
        "ACCEPTABLE",
        frozenset({"cpu_bottleneck"}),
        sensible=Sensible(gpus=(1,), cores_min=7, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner unpacking before and packing after",
        "facts/lumi.md: container images and tar files on Lustre",
        "40 minutes of unpacking, 80 of work, 40 of tar. Both ends belong into jobs without a GPU.",
        job("relion-refine", 8 / 3, 4, 1),
        _staged_both_ends,
        "ACCEPTABLE",
        frozenset({"late_start", "idle_tail"}),
        sensible=Sensible(gpus=(1,), memory_min_gb=55, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner shards streamed from an object store",
        "LUMI-O streaming; domain.md: all GPUs fall together while the host idles",
        "Sixteen GPUs stop together for nine minutes of every thirteen. No I/O wait, since a socket is no disk.",
        job("stream-laion", 1.5, 2, 16, 2, "standard-g"),
        _object_store,
        "INEFFICIENT",
        frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(16, 8), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner language model service with few requests",
        "vLLM reserves 90 % of memory; users stop the service by scancel",
        "A service for a workshop: 57 GB held, 20 % use, nothing wrong. A smaller share does not exist.",
        job("vllm-serve", 24.0, 48, 1, state="CANCELLED"),
        _quiet_service,
        "INEFFICIENT",
        may=frozenset({"low_use_unexplained", "io_or_sync_stall"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
)
