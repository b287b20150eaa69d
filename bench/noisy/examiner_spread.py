"""Runs whose GPUs differ: fewer processes than GPUs, one GPU that stands still, uneven ranks, nodes without work.

Sources: domain.md sections 3 and 4; facts/lumi.md section 6 (named mistakes); facts/peers.md section e.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.examiner_draw import A100, Pace, Setup, Span, host, job, node, pauses, stages, wander
from bench.noisy.readings import Floats, Node

ONE_PROCESS = frozenset({"parallelism_mismatch", "idle_gpus"})
WHOLE = {"--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "1", "--cpus-per-task": "56"}


def _quiet(span: Span) -> Floats:
    return np.zeros(span.size)


def _coupled(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0, 2.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.96)), 0.01)]
    loads += [wander(rng, span, stages(span, (1.0, 0.19 + 0.01 * rank)), 0.05) for rank in range(7)]
    cpu = host(rng, 56, 9.0, 120, 480, ranks=8, threads=7)
    return [node(rng, span, loads, [33.0] + [25.0] * 7, Pace(0.5), cpu)]


def _data_parallel(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0)
    loads = [stages(span, (0.01, 0.0), (0.99, share)) for share in (0.90, 0.345, 0.35, 0.34)]
    loads = [wander(rng, span, load, 0.02) for load in loads]
    cpu = host(rng, 28, 2.9, 60, 240, ranks=1, threads=28)
    return [node(rng, span, loads, [58.0, 29.0, 29.0, 29.0], Pace(0.5), cpu)]


def _one_crashed_early(rng: np.random.Generator) -> list[Node]:
    span = Span(9.0, 2.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.93)), 0.015) for _ in range(7)]
    loads.insert(5, stages(span, (0.24, 0.93), (0.76, 0.0)))
    cpu = host(rng, 56, 8.0, 60, 480, ranks=8, threads=1)
    return [node(rng, span, loads, [19.0] * 8, Pace(0.3), cpu)]


def _one_of_eight_idle(rng: np.random.Generator) -> list[Node]:
    span = Span(6.5, 2.0)
    loads = [wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.955)), 0.01) for _ in range(7)]
    loads.insert(3, _quiet(span))
    cpu = host(rng, 56, 12.0, 160, 480, ranks=7, threads=7)
    return [node(rng, span, loads, [45.0] * 3 + [0.02] + [45.0] * 4, Pace(0.6), cpu)]


def _cuda_zero(rng: np.random.Generator) -> list[Node]:
    span = Span(8.0, 2.0)
    load = pauses(rng, span, stages(span, (1.0, 0.95)), every_s=1800, lasting_s=60)
    loads = [load] + [_quiet(span)] * 7
    cpu = host(rng, 56, 3.1, 40, 480, ranks=1, threads=56)
    return [node(rng, span, loads, [44.0] + [0.02] * 7, Pace(0.7), cpu)]


def _grabs_everywhere(rng: np.random.Generator) -> list[Node]:
    span = Span(3.7)
    loads = [wander(rng, span, stages(span, (0.02, 0.0), (0.98, 0.92)), 0.02)]
    loads += [stages(span, (0.02, 0.0), (0.0006, 0.05), (1.0, 0.0)) for _ in range(3)]
    cpu = host(rng, 28, 3.0, 66, 240, ranks=1, threads=28)
    return [node(rng, span, loads, [58.5] * 4, Pace(0.6), cpu, Setup(fill_s=10.0))]


def _two_for_one(rng: np.random.Generator) -> list[Node]:
    span = Span(11.0, 2.0)
    load = wander(rng, span, stages(span, (0.01, 0.0), (0.99, 0.975)), 0.01)
    return [node(rng, span, [load, _quiet(span)], [37.0, 0.02], Pace(0.4), host(rng, 14, 2.0, 30, 120, threads=14))]


def _every_other_die(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0, 2.0)
    work = [wander(rng, span, stages(span, (1.0, 0.945)), 0.015) for _ in range(4)]
    loads = [load for pair in zip(work, [_quiet(span)] * 4, strict=True) for load in pair]
    cpu = host(rng, 56, 4.6, 90, 480, ranks=4, threads=14)
    return [node(rng, span, loads, [48.0, 0.02] * 4, Pace(0.5), cpu)]


def _all_on_the_first(rng: np.random.Generator) -> list[Node]:
    span = Span(4.0)
    loads = [wander(rng, span, stages(span, (1.0, 0.94)), 0.02)] + [_quiet(span)] * 7
    cpu = host(rng, 56, 8.2, 50, 480, ranks=8, threads=7)
    return [node(rng, span, loads, [27.0] + [0.02] * 7, Pace(0.2), cpu)]


def _first_node_only(rng: np.random.Generator) -> list[Node]:
    span = Span(6.0, 5.0)
    shared = pauses(rng, span, stages(span, (0.01, 0.0), (0.99, 0.94)), every_s=2000, lasting_s=80)
    drawn = [node(rng, span, [shared] * 8, [46.0] * 8, Pace(0.7), host(rng, 56, 14, 150, 480, ranks=8, threads=7))]
    for _ in range(3):
        idle = host(rng, 56, 0.15, 5, 480, ranks=0, threads=0)
        drawn.append(node(rng, span, [_quiet(span)] * 8, [0.02] * 8, Pace(), idle))
    return drawn


def _small_task_on_whole_node(rng: np.random.Generator) -> list[Node]:
    span = Span(20.0, 5.0)
    load = wander(rng, span, stages(span, (1.0, 0.91)), 0.02)
    cpu = host(rng, 56, 2.3, 34, 480, ranks=1, threads=56)
    return [node(rng, span, [load] + [_quiet(span)] * 7, [25.0] + [0.02] * 7, Pace(0.4), cpu)]


def _campus_half(rng: np.random.Generator) -> list[Node]:
    span = Span(7.0, 5.0)
    loads = [wander(rng, span, stages(span, (1.0, share)), 0.02) for share in (0.94, 0.93, 0.0, 0.0)]
    cpu = host(rng, 64, 9.0, 140, 400, ranks=2, threads=16)
    return [node(rng, span, loads, [52.0, 52.0, 0.4, 0.4], Pace(0.5), cpu, replace(A100, capacity_gb=80.0))]


def _slow_node(rng: np.random.Generator) -> list[Node]:
    span = Span(5.0, 5.0)
    drawn = []
    for share in (0.94, 0.93, 0.36, 0.94):
        loads = [wander(rng, span, stages(span, (1.0, share)), 0.02) for _ in range(8)]
        drawn.append(node(rng, span, loads, [38.0] * 8, Pace(0.4), host(rng, 56, 10, 90, 480, ranks=8, threads=7)))
    return drawn


CASES: tuple[Case, ...] = (
    Case(
        "examiner seven ranks wait for the first",
        "coupled codes whose first rank does the solve; domain.md: a GPU at 25 % beside others has a process",
        "GPU 0 at 96 %, seven at 19 to 25 %: processes everywhere, badly divided. Not fewer processes than GPUs.",
        job("pic-coupled", 5.0, 8, 8, partition="standard-g"),
        _coupled,
        "INEFFICIENT",
        frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(4, 8), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner torch DataParallel gathers on gpu 0",
        "PyTorch documentation: DistributedDataParallel is recommended over DataParallel",
        "One process drives four GPUs; the first does the loss and holds twice the memory.",
        job("dp-baseline", 6.0, 9, 4, ntasks=1, spelled={"--gpus": "4", "--ntasks": "1", "--cpus-per-task": "28"}),
        _data_parallel,
        "ACCEPTABLE",
        frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner one of eight replicas dies after two hours",
        "domain.md: one that stopped early while they went on",
        "Seven finish, number five crashed at a quarter and its GPU stands still. The mean of 84 hides it.",
        job("remd-8", 9.0, 14, 8, partition="standard-g"),
        _one_crashed_early,
        "EFFICIENT",
        frozenset({"load_imbalance"}),
    ),
    Case(
        "examiner seven ranks on eight gpus",
        "domain.md section 2: a class never hides an idle GPU; facts/peers.md section e",
        "Seven at 95 %, one never touched. Efficient by the mean, and still something to say.",
        job("prod_run_07", 6.5, 10, 8, partition="standard-g", ntasks=7),
        _one_of_eight_idle,
        "EFFICIENT",
        frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(7, 8)),
    ),
    Case(
        "examiner one process with device cuda:0 on eight gcds",
        "facts/lumi.md section 6: 1-GPU software with many GCDs",
        "The oldest mistake, with the loader's 3 cores: a single GCD does it all on a shared partition.",
        job("train_py", 8.0, 12, 8, ntasks=1, spelled={"--gpus": "8", "--ntasks": "1", "--cpus-per-task": "56"}),
        _cuda_zero,
        "WASTED",
        ONE_PROCESS,
        sensible=Sensible(gpus=(1,), cores_min=4, memory_min_gb=48, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner TensorFlow holds four gpus and uses one",
        "TensorFlow guide: by default it maps nearly all memory of all visible GPUs; job_defense_shield#2",
        "58 of 64 GB on all four after the first second, kernels only on one. Held memory is no need.",
        job("keras-fit", 3.7, 6, 4, ntasks=1),
        _grabs_everywhere,
        "INEFFICIENT",
        ONE_PROCESS,
        sensible=Sensible(gpus=(1,), memory_min_gb=60, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner second gpu never touched for eleven hours",
        "facts/peers.md section e",
        "Two GCDs requested, one process. Half the bill.",
        job("gnn-sweep_3", 11.0, 16, 2, ntasks=1, spelled={"--gpus-per-node": "2", "--mem": "120G"}),
        _two_for_one,
        "ACCEPTABLE",
        ONE_PROCESS,
        sensible=Sensible(gpus=(1,), memory_min_gb=36, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner one die of each module",
        "issue 13, rule 10; MI250X taken for one GPU by users who count modules",
        "Four ranks on GPUs 0, 2, 4 and 6: the user counts four MI250X, Slurm eight GPUs.",
        job("nekrs-4gpu", 5.0, 8, 8, partition="standard-g", ntasks=4),
        _every_other_die,
        "ACCEPTABLE",
        ONE_PROCESS | {"exclusive_node_underused"},
        sensible=Sensible(gpus=(4, 8), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner eight ranks on the first gpu",
        "facts/lumi.md sections 2 and 6: no ROCR_VISIBLE_DEVICES=$SLURM_LOCALID in the wrapper",
        "All ranks chose device 0, which is full, and seven GPUs are idle. Each rank needs its own, or one will do.",
        job("lammps-8r", 4.0, 6, 8, partition="standard-g", spelled=WHOLE | {"--ntasks-per-node": "8"}),
        _all_on_the_first,
        "WASTED",
        ONE_PROCESS | {"exclusive_node_underused"},
        sensible=Sensible(gpus=(1, 8), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner torchrun on the first of four nodes",
        "LUMI AI guide, chapter 5: torchrun without srun starts on one node only",
        "Eight GPUs at 90 %, 24 on three other nodes never used. One node does it.",
        job("ddp-multinode", 6.0, 10, 32, 4, "standard-g", ntasks=4),
        _first_node_only,
        "INEFFICIENT",
        ONE_PROCESS,
        frozenset({"exclusive_node_underused"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner single-gpu run on standard-g for twenty hours",
        "facts/lumi.md section 3: one GCD on standard-g costs eight times small-g",
        "A habit copied from a colleague's script. 80 GPU-hours for what costs ten on small-g.",
        job("alphafold-long", 20.0, 30, 8, partition="standard-g", ntasks=1, spelled=WHOLE),
        _small_task_on_whole_node,
        "WASTED",
        ONE_PROCESS | {"exclusive_node_underused"},
        sensible=Sensible(gpus=(1,), partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        "examiner two of four A100 at another site",
        "facts/peers.md: a campus cluster; shared node",
        "Two processes on four A100. 47 % on average, two never used.",
        job("yolo-train", 7.0, 10, 4, partition="gpu", cores=64, memory_gb=400.0, ntasks=2, cluster="campus"),
        _campus_half,
        "ACCEPTABLE",
        ONE_PROCESS,
        sensible=Sensible(gpus=(2,), cores_min=11, memory_min_gb=168, is_ready_to_resubmit=False),
    ),
    Case(
        "examiner one node of four far below",
        "facts/lumi.md section 1: a limiter, a bad link; domain.md: one far below the others",
        "Independent shards; the third node waits between its steps and shows 36 % while three are at 93 %.",
        job("tokenise-embed", 5.0, 8, 32, 4, "standard-g"),
        _slow_node,
        "EFFICIENT",
        frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(32,)),
    ),
)
