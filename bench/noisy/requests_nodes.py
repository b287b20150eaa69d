"""Whole nodes and the GPUs on them: billed and unused, idle for the whole run, or rightly so."""

from __future__ import annotations

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, from_util, host, node, quiet, steady
from bench.noisy.requests_records import codes, hours, shared, whole

EXCLUSIVE = {"--exclusive": ""}


def _first(working: int, percent: float, mem_gb: float, of: int = 8) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Percent and memory of a node on which only the first GPUs work."""
    rest = of - working
    return (percent,) * working + (0.0,) * rest, (mem_gb,) * working + (0.011,) * rest


def _touched_once(rng: Rng) -> list[Node]:
    """Eight GPUs: six work, two were only opened by a device query that cost a reading or two and some memory."""
    steps = int(rng.integers(1100, 1600))
    util = quiet(rng, steps, 8)
    for index in (0, 1, 2, 3, 4, 5):
        util[int(0.02 * steps) :, index] = steady(rng, steps, 87)[int(0.02 * steps) :]
    util[int(0.02 * steps), 6:] = 17
    load = Load((87,) * 8, (*(37,) * 6, 0.43, 0.43))
    return [from_util(rng, hours(13.2), util, load, host(rng, 7.5, 88, ranks=6), Seen(lost=(0.01, 0.02)))]


def _one_quiet_node(rng: Rng) -> list[Node]:
    """64 nodes of which one was never started on."""
    idle = int(rng.integers(5, 60))
    return [
        node(
            rng,
            hours(5.1),
            Load((0,) * 8 if number == idle else (90,) * 8, (0.01,) * 8 if number == idle else (36,) * 8, dips=3),
            host(rng, 0.4 if number == idle else 8.4, 4 if number == idle else 84),
            Seen(steps=300),
        )
        for number in range(64)
    ]


def _farm(rng: Rng) -> list[Node]:
    """Eight single-GPU programs of one job, each with its own pauses: means differ by a few points only."""
    steps = int(rng.integers(1100, 1600))
    util = np.stack([steady(rng, steps, rng.uniform(84, 93)) for _ in range(8)], axis=1)
    util[: int(0.02 * steps)] = 0
    for index in range(8):
        begin = int(steps * rng.uniform(0.1, 0.9))
        util[begin : begin + int(0.03 * steps), index] = 0
    return [from_util(rng, hours(8.3), util, Load((90,) * 8, (24, 27, 25, 31, 24, 26, 29, 25)), host(rng, 9.3, 77))]


CASES: tuple[Case, ...] = (
    Case(
        name="node_billed_for_one_requested_gpu",
        source="LUMI user scripts: standard-g with --gpus-per-node=1 (lumi.md section 6); jobstats#14",
        story="One GPU requested in standard-g: eight are allocated and billed, one worked.",
        record=whole(1, 8.1, 10, tasks=1, job_name="rl_ppo", asked={"--gpus-per-node": "1", "--cpus-per-task": "7"})
        | {"gpus_requested": 1, "cpus_per_task": 7},
        draw=lambda rng: [node(rng, hours(8.1), Load(*_first(1, 93, 14)), host(rng, 4.6, 22, ranks=1, threads=21))],
        efficiency_class="WASTED",
        must=codes("exclusive_node_underused"),
        may=codes("idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(
            gpus=(1,), cores_min=5, memory_min_gb=22, partitions=("small-g",), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="node_taken_exclusively_for_two_gpus",
        source="LUMI billing page: --exclusive on small-g pays the full node",
        story="Two GPUs with --exclusive, to be alone. The node's other six were billed and stood idle.",
        record=whole(
            1, 5.6, 7, tasks=2, partition="small-g", job_name="bench_pair", asked={"--gpus-per-node": "2", **EXCLUSIVE}
        )
        | {"gpus_requested": 2},
        draw=lambda rng: [node(rng, hours(5.6), Load(*_first(2, 94, 33)), host(rng, 5.5, 40, ranks=2, threads=14))],
        efficiency_class="INEFFICIENT",
        must=codes("exclusive_node_underused"),
        may=codes("idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(
            gpus=(2,), cores_min=5, memory_min_gb=40, partitions=("small-g",), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="node_with_one_task_on_each_of_four_nodes",
        source="LUMI: reserving more GPUs is not enough; torchrun left out (AI guide 05)",
        story="One process a node, so 4 of 32 GPUs worked. Four GPUs fit in half of one node.",
        record=whole(4, 6.4, 8, tasks=1, job_name="ddp_one_per_node"),
        draw=lambda rng: [
            node(rng, hours(6.4), Load(*_first(1, 92, 40)), host(rng, 4.1, 30, ranks=1, threads=18)) for _ in range(4)
        ],
        efficiency_class="WASTED",
        must=codes("exclusive_node_underused", "parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(4, 8), cores_min=16, memory_min_gb=120, is_ready_to_resubmit=False),
    ),
    Case(
        name="node_half_used_by_four_ranks",
        source="jobstats#34 and LUMI TM 201: wrong visibility variables hide half of the GPUs",
        story="Eight GPUs requested in standard-g, four ranks started. Four GPUs belong in small-g.",
        record=whole(1, 9.7, 12, tasks=4, job_name="cp2k"),
        draw=lambda rng: [node(rng, hours(9.7), Load(*_first(4, 95, 29)), host(rng, 13.5, 110, ranks=4, threads=14))],
        efficiency_class="ACCEPTABLE",
        must=codes("exclusive_node_underused", "parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(4,), cores_min=13, memory_min_gb=110, is_ready_to_resubmit=False),
    ),
    Case(
        name="node_taken_exclusively_on_dev_g",
        source="LUMI user scripts: --gpus=1 --exclusive",
        story="A debugging run of two hours on one GPU held a whole node of the small dev-g partition.",
        record=whole(
            1,
            2.2,
            3,
            tasks=1,
            partition="dev-g",
            job_name="debug_amp",
            asked={"--gpus-per-node": None, "--gpus": "1", "--cpus-per-task": "7", **EXCLUSIVE},
        )
        | {"gpus_requested": 1, "cpus_per_task": 7, "is_exclusive": None},
        draw=lambda rng: [node(rng, hours(2.2), Load(*_first(1, 88, 19)), host(rng, 3.2, 18, ranks=1, threads=11))],
        efficiency_class="WASTED",
        must=codes("exclusive_node_underused"),
        may=codes("idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(gpus=(1,), partitions=("dev-g", "small-g"), is_ready_to_resubmit=False),
    ),
    Case(
        name="node_idle_beside_a_working_one",
        source="reportseff#37: 20 nodes allocated, 1 used; omnistat averages a GPU id over the nodes",
        story="The launcher started on the first node only; the second one was billed and never used.",
        record=whole(2, 7.9, 10, job_name="deepspeed"),
        draw=lambda rng: [
            node(rng, hours(7.9), Load((95,) * 8, (51,) * 8), host(rng, 9.9, 140), Seen(lost=(0.01, 0.02))),
            node(rng, hours(7.9), Load((0,) * 8, (0.011,) * 8), host(rng, 0.2, 3, ranks=0, threads=0)),
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch", "idle_gpus"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(gpus=(8,), cores_min=9, memory_min_gb=140, is_ready_to_resubmit=False),
    ),
    Case(
        name="idle_gpus_two_of_eight",
        source="lilbee#677 and jobstats: one stray reading defeats a test for exactly zero",
        story="Six ranks on eight GPUs. The other two were opened once, hold a context, and never worked.",
        record=whole(1, 13.2, 16, tasks=6, job_name="gpaw"),
        draw=_touched_once,
        efficiency_class="ACCEPTABLE",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(6, 8)),
    ),
    Case(
        name="idle_gpu_one_of_eight",
        source="peers: measured head-to-head, '8 GPUs, 1 idle, mean 83 %': class Efficient hides it",
        story="Seven ranks on eight GPUs. The class is fine; the idle GPU is something to look at.",
        record=shared(8, 10.8, 13, tasks=7, cores=56, job_name="ensemble7"),
        draw=lambda rng: [
            node(rng, hours(10.8), Load(*_first(7, 94, 26)), host(rng, 8.8, 75, ranks=7), Seen(lost=(0.01, 0.02)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="idle_node_of_sixty_four",
        source="LUMI: gpu_check and bad nodes; one node of many is looked at, not cut out of the request",
        story="One of 64 nodes stayed idle in a healthy run. 512 GPUs remain the size of this work.",
        record=whole(64, 5.1, 6, job_name="gromacs_ensemble"),
        draw=_one_quiet_node,
        efficiency_class="EFFICIENT",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(512,)),
    ),
    Case(
        name="idle_half_of_a_node_in_small_g",
        source="LUMI AI guide 05: torchrun --nproc_per_node left at 4 of 8",
        story="Eight GPUs of small-g, four processes. Shared, so nobody calls the node exclusive.",
        record=shared(8, 7.1, 9, tasks=4, cores=56, job_name="torchrun4"),
        draw=lambda rng: [node(rng, hours(7.1), Load(*_first(4, 96, 44)), host(rng, 7.3, 96, ranks=4, threads=13))],
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(4,), cores_min=7, memory_min_gb=96, is_ready_to_resubmit=False),
    ),
    Case(
        name="exclusive_node_fully_used",
        source="LUMI user guide: --exclusive with --mem=480G for proper binding on small-g",
        story="--exclusive on small-g with all eight GPUs at work. That is what it is for: healthy.",
        record=whole(1, 22.7, 30, partition="small-g", job_name="bind_test", asked={**EXCLUSIVE, "--mem": "480G"}),
        draw=lambda rng: [node(rng, hours(22.7), Load((92,) * 8, (45,) * 8), host(rng, 10.1, 120))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="node_farm_of_single_gpu_programs",
        source="LUMI training: packing eight independent programs on a node to fill standard-g",
        story="Eight independent runs with their own pauses share a node. Uneven by a few points: healthy.",
        record=whole(1, 8.3, 10, job_name="farm.sh", asked={"--ntasks-per-node": "8", "--gpus-per-task": "1"}),
        draw=_farm,
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="nodes_one_hundred_and_twenty_eight_at_work",
        source="LUMI AI workshop 09, extreme scale; omnistat PR#314 (64 nodes overwhelm an export)",
        story="1024 GPUs, start-up of some minutes, node to node a few points apart: healthy.",
        record=whole(128, 3.4, 4, job_name="llm_scale"),
        draw=lambda rng: [
            node(
                rng,
                hours(3.4),
                Load((rng.uniform(84, 89),) * 8, (55,) * 8, start=0.045, dips=3),
                host(rng, 9.4, 150),
                Seen(steps=300, late_clock=0.02 if number == 40 else 0.0),
            )
            for number in range(128)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1024,)),
    ),
)
