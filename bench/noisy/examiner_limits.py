"""Steady runs below what the GPUs can do: too many GPUs, kernels that cannot fill them, hosts, power, nothing visible.

Sources: domain.md section 3; facts/lumi.md section 5 (power is the better sign, 300 W and 500 W a module);
facts/peers.md (device-metrics-exporter#34); the shared real traces (one GPU steady at 27 to 36 % for hours).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import A100, HALF_MODULE, Pace, Setup, Span, host, job, node, pauses, stages, wander
from bench.noisy.readings import Floats, Node

UNEXPLAINED = frozenset({"low_use_unexplained"})


def _even(rng: np.random.Generator, span: Span, share: float, count: int, drift: float = 0.02) -> list[Floats]:
    """Loads of GPUs that do the same with small differences, after a short start."""
    return [
        wander(rng, span, stages(span, (0.008, 0.0), (0.992, share * rng.uniform(0.97, 1.03))), drift)
        for _ in range(count)
    ]


def _tiny_model(rng: np.random.Generator) -> list[Node]:
    span = Span(3.2)
    cpu = host(rng, 56, 8.3, 48, 480, ranks=8, threads=7)
    return [node(rng, span, _even(rng, span, 0.24, 8, 0.06), [3.1] * 8, Pace(0.2), cpu, Setup(die_w=170.0))]


def _two_nodes_of_little(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0, 2.0)
    drawn = []
    for _ in range(2):
        cpu = host(rng, 56, 8.2, 70, 480, ranks=8, threads=7)
        drawn.append(node(rng, span, _even(rng, span, 0.205, 8, 0.05), [9.0] * 8, Pace(0.15), cpu))
    return drawn


def _launch_bound(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    cpu = host(rng, 28, 4.3, 30, 240, ranks=4, threads=7)
    return [node(rng, span, _even(rng, span, 0.53, 4, 0.01), [4.1] * 4, Pace(0.1, 0.15), cpu, Setup(die_w=160.0))]


def _small_kernels(rng: np.random.Generator) -> list[Node]:
    span = Span(7.0, 2.0)
    cpu = host(rng, 56, 9.6, 120, 480, ranks=8, threads=7)
    return [node(rng, span, _even(rng, span, 0.58, 8, 0.01), [30.0] * 8, Pace(0.12, 0.15), cpu, Setup(die_w=150.0))]


def _a100_half_power(rng: np.random.Generator) -> list[Node]:
    span = Span(8.0, 5.0)
    cpu = host(rng, 16, 3.0, 40, 120, threads=16)
    return [node(rng, span, _even(rng, span, 0.62, 1, 0.015), [30.0], Pace(0.3, 0.2), cpu, replace(A100, die_w=235.0))]


def _steady_third(rng: np.random.Generator) -> list[Node]:
    span = Span(6.5, 2.0)
    cpu = host(rng, 7, 1.06, 11, 60, threads=7)
    return [node(rng, span, _even(rng, span, 0.315, 1), [9.0], Pace(0.3), cpu, HALF_MODULE)]


def _host_not_read(rng: np.random.Generator) -> list[Node]:
    span = Span(9.0, 2.0)
    return [node(rng, span, _even(rng, span, 0.29, 1, 0.05), [41.0], Pace(0.7), None, HALF_MODULE)]


def _held_and_half_used(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    cpu = host(rng, 14, 2.2, 40, 120, ranks=2, threads=7)
    return [node(rng, span, _even(rng, span, 0.34, 2), [46.0] * 2, Pace(0.4), cpu, Setup(fill_s=15.0))]


def _small_batch_spin(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0, 2.0)
    cpu = host(rng, 56, 8.1, 30, 480, ranks=8, threads=7)
    return [node(rng, span, _even(rng, span, 0.99, 8, 0.004), [6.0] * 8, Pace(0.2, 0.1), cpu, Setup(die_w=37.0))]


def _sockets(rng: np.random.Generator) -> list[Node]:
    span = Span(8.0, 5.0)
    shared = pauses(rng, span, stages(span, (0.01, 0.0), (0.99, 0.97)), every_s=3000, lasting_s=60)
    drawn = []
    for _ in range(4):
        cpu = host(rng, 56, 12.0, 180, 480, ranks=8, threads=7)
        drawn.append(node(rng, span, [shared] * 8, [50.0] * 8, Pace(0.9, 0.2), cpu, Setup(die_w=43.0)))
    return drawn


def _memory_bound(rng: np.random.Generator) -> list[Node]:
    span = Span(5.5, 2.0)
    cpu = host(rng, 56, 8.4, 60, 480, ranks=8, threads=1)
    return [node(rng, span, _even(rng, span, 0.97, 8, 0.005), [35.0] * 8, Pace(0.3), cpu, Setup(die_w=76.0))]


def _throttled(rng: np.random.Generator) -> list[Node]:
    span = Span(7.0, 2.0)
    setup = Setup(die_w=200.0, throttled_fraction=0.16)
    cpu = host(rng, 14, 3.3, 60, 120, ranks=2, threads=7)
    return [node(rng, span, _even(rng, span, 0.97, 2, 0.005), [50.0] * 2, Pace(0.5), cpu, setup)]


def _too_many_threads(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    cpu = host(rng, 56, 54.0, 110, 480, ranks=8, threads=16, pressure_cpu_s=8800.0)
    return [node(rng, span, _even(rng, span, 0.47, 8, 0.1), [30.0] * 8, Pace(0.8, 0.6), cpu)]


def _threads_without_harm(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    cpu = host(rng, 56, 17.0, 110, 480, ranks=8, threads=14, pressure_cpu_s=700.0)
    return [node(rng, span, _even(rng, span, 0.945, 8, 0.01), [30.0] * 8, Pace(0.6), cpu)]


def _decoders(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0)
    cpu = host(rng, 28, 26.8, 150, 240, ranks=4, threads=28, pressure_cpu_s=13_000.0)
    return [node(rng, span, _even(rng, span, 0.355, 4, 0.06), [27.0] * 4, Pace(1.2, 0.6), cpu)]


def _pinned_cores(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0, 2.0)
    cpu = host(rng, 8, 7.95, 60, 240, ranks=8, threads=1)
    return [node(rng, span, _even(rng, span, 0.345, 8, 0.02), [26.0] * 8, Pace(0.3), cpu)]


CASES: tuple[Case, ...] = (
    Case(
        "examiner small network on eight gpus",
        "domain.md, overscaling; facts/lumi.md: small-g with eight GCDs",
        "24 % on each of eight, 3 GB of memory, a quiet host. Work for three GPUs at 70 %: four divide.",
        job("mlp-tabular", 3.2, 5, 8, spelled={"--gpus": "8", "--ntasks": "8", "--cpus-per-task": "7"}),
        _tiny_model,
        "INEFFICIENT",
        frozenset({"overscaling"}),
        sensible=Sensible(gpus=(4,), cores_min=10, memory_min_gb=57, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner strong scaling to a second node",
        "facts/lumi.md section 5: fewer nodes are more efficient",
        "Sixteen GPUs at 20 % with 9 GB each: the grid is too small for two nodes. Work for five at 70 %: one node.",
        job("cfd-strong_x2", 6.0, 9, 16, 2, "standard-g"),
        _two_nodes_of_little,
        "INEFFICIENT",
        frozenset({"overscaling"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner kernel launches limit four gpus",
        "domain.md, kernel_tuning; AMD notes on launch overhead",
        "53 %, steady, 45 to 55 % of the power cap, little memory: kernels too small. Work for three GPUs, so a "
        "count of two would only slow it down.",
        job("fno-burgers", 5.0, 8, 4),
        _launch_bound,
        "ACCEPTABLE",
        frozenset({"kernel_tuning"}),
        frozenset({"overscaling"}),
        Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner small kernels with half of memory in use",
        "domain.md, kernel_tuning",
        "58 % on all eight, half the power, 30 of 64 GB, host with room. Profile it; not a matter of the GPU count.",
        job("gyrokinetics_12", 7.0, 11, 8, partition="standard-g"),
        _small_kernels,
        "ACCEPTABLE",
        frozenset({"kernel_tuning"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner one A100 at half power",
        "domain.md, kernel_tuning; other site, one GPU, power of its own",
        "62 % and 200 of 400 W for eight hours, host and memory with room.",
        job("nerf-scene4", 8.0, 12, 1, partition="gpu", cores=16, memory_gb=120.0, cluster="campus"),
        _a100_half_power,
        "ACCEPTABLE",
        frozenset({"kernel_tuning"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner one gcd steady at 31 % for hours",
        "shared real traces: one GPU steady at 27 to 36 %; issue 13: no dead ends",
        "No pauses, no I/O, memory free, power unknown, one busy core: how a Python loop looks, and how HIP waits.",
        job("gat-molecules", 6.5, 9, 1),
        _steady_third,
        "INEFFICIENT",
        may=UNEXPLAINED | {"cpu_bottleneck"},
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner low use and a host that was not read",
        "domain.md: what is absent is not zero; less data never raises a confidence",
        "29 %, memory well used, nothing known of the host. A next step, and no guess about cores or I/O.",
        job("bert-retrain", 9.0, 14, 1),
        _host_not_read,
        "INEFFICIENT",
        UNEXPLAINED,
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner memory held, a third used, two gpus",
        "domain.md: never flagged is high memory with low use as overscaling; job_defense_shield#2",
        "46 of 64 GB held by the framework, 34 % on both. Nothing else to see: a trial on one GPU is an experiment.",
        job("tf-unet", 4.0, 6, 2),
        _held_and_half_used,
        "INEFFICIENT",
        UNEXPLAINED,
        sensible=Sensible(gpus=(1, 2), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner tiny batch, always busy at a third of the power",
        "facts/lumi.md section 5: GPU % near 100 is no proof; issue 13, rule 10",
        "98 % and 160 of 500 W on one node: the kernels wait on latency. Efficient by the number only.",
        job("rl-atari-bs32", 6.0, 9, 8, partition="standard-g"),
        _small_batch_spin,
        "EFFICIENT",
        frozenset({"busy_but_waiting"}),
    ),
    Case(
        "examiner collectives over sockets on four nodes",
        "facts/lumi.md section 5: RCCL without its Slingshot plugin",
        "96 % busy at 35 % of the power: the collectives spin while TCP carries the gradients.",
        job("roberta-4n", 8.0, 12, 32, 4, "standard-g"),
        _sockets,
        "EFFICIENT",
        frozenset({"busy_but_waiting"}),
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        "examiner bandwidth-bound code at half the power",
        "facts/amd-gpus.md: HBM at 1.6 TB/s; stencils do not heat a GPU",
        "97 % busy at 47 % of the cap: a stencil that streams memory. Not spinning, nothing to say.",
        job("seissol-gpu", 5.5, 8, 8, partition="standard-g"),
        _memory_bound,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner hot module throttled a sixth of the time",
        "domain.md, throttled; facts/lumi.md: a blade's limiter",
        "97 % at the cap, throttled 16 % of the time. For the site to look at.",
        job("megatron-tp2", 7.0, 10, 2),
        _throttled,
        "EFFICIENT",
        frozenset({"throttled"}),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        "examiner sixteen threads for each of eight ranks",
        "facts/lumi.md section 1: 56 cores; domain.md, host_oversubscription",
        "OMP_NUM_THREADS=16 from another machine: 128 threads on 56 cores, all busy, GPUs at 47 %.",
        job("cp2k-h2o-dft", 4.0, 6, 8, partition="standard-g"),
        _too_many_threads,
        "ACCEPTABLE",
        frozenset({"host_oversubscription", "cpu_bottleneck"}),
        sensible=Sensible(gpus=(8,), cores_min=56, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner more threads than cores and no harm",
        "issue 13, rule 9: host_oversubscription needs harm to the GPUs",
        "Eight ranks with 14 threads each, most of them asleep; the GPUs are at 94 %.",
        job("icon-gpu-r2b6", 4.0, 6, 8, partition="standard-g"),
        _threads_without_harm,
        "EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        "examiner video decoding on all cores",
        "facts/lumi.md section 5: data loader",
        "27 of 28 cores decode video, four GPUs wait at 35 %. Fewer cores would halve it again.",
        job("videomae", 5.0, 8, 4),
        _decoders,
        "INEFFICIENT",
        frozenset({"cpu_bottleneck"}),
        frozenset({"host_oversubscription"}),
        Sensible(gpus=(2, 4), cores_min=28, is_ready_to_resubmit=False),
        corrected="112 threads on 28 cores waited for a core 72 % of the time while the GPUs starved: by the "
        "definition of host_oversubscription that holds too",
    ),
    Case(
        "examiner one core for each rank, all of them spinning",
        "domain.md: every rank pinning one core is also how MPI and HIP wait",
        "Eight ranks on eight cores, each at 100 %, GPUs at 34 %: a hint about cores at most, a next step certainly.",
        job("amg-solver", 5.0, 8, 8, cores=8, memory_gb=240.0, cpus_per_task=1),
        _pinned_cores,
        "INEFFICIENT",
        may=UNEXPLAINED | {"cpu_bottleneck"},
        sensible=Sensible(gpus=(4, 8), cores_min=8, is_ready_to_resubmit=False),
    ),
)
