"""Runs of one GPU, and runs in which no GPU did anything. One GPU of a module has no power reading of its own."""

from __future__ import annotations

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, from_util, host, node, steady
from bench.noisy.requests_records import codes, hours, shared, whole


def _two_programs(rng: Rng) -> list[Node]:
    """Training, then an evaluation that uses the GPU less: two programs, neither of them stalled."""
    steps = int(rng.integers(1000, 1700))
    change = int(steps * rng.uniform(0.66, 0.72))
    util = np.concatenate([steady(rng, steps, 94)[:change], steady(rng, steps, 57)[change:]])[:, np.newaxis]
    util[: int(0.02 * steps)] = 0
    cpu = host(rng, 3.6, 27, 7, 60, 1, 13)
    return [from_util(rng, hours(6.9), util, Load((90,), (39,)), cpu, Seen(gpu_ids=(0,)))]


CASES: tuple[Case, ...] = (
    Case(
        name="single_gpu_busy_all_day",
        source="LUMI AI guide 01: --gpus-per-node=1 --cpus-per-task=7 --mem-per-gpu=60G, the recommended request",
        story="Exactly the recommended request for one GPU, and the GPU is busy. Healthy.",
        record=shared(1, 20.4, 24, job_name="train_llm", asked={"--mem": None, "--mem-per-gpu": "60G"}),
        draw=lambda rng: [node(rng, hours(20.4), Load((97,), (51,)), host(rng, 3.8, 33, 7, 60, 1, 14))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=4, memory_min_gb=33),
    ),
    Case(
        name="single_gpu_with_readings_of_zero_and_hundred",
        source="omnistat mi250x notes: use is naturally near 0 or 100; traces wb-b (real)",
        story="Four of five readings are 100, the rest 0: short kernels sampled now and then, not stalls. Healthy.",
        record=shared(1, 7.4, 9, job_name="geom3d"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.4),
                Load((82,), (16,), is_pulsing=True),
                host(rng, 2.9, 14, 7, 60, 1, 8),
                Seen(gpu_ids=(5,)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="single_gpu_training_then_evaluation",
        source="traces wb-b (real): runs with a second, quieter phase",
        story="Two thirds training at 94 %, then an evaluation near 57 %. A different program, not a stall: healthy.",
        record=shared(1, 6.9, 8, job_name="train_and_eval.sh"),
        draw=_two_programs,
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="single_gpu_with_a_short_tail",
        source="LUMI user guide: compressing and copying results at the end",
        story="The last tenth packs results on the host. That is ordinary: healthy.",
        record=shared(1, 4.4, 5, job_name="train_pack"),
        draw=lambda rng: [
            node(
                rng,
                hours(4.4),
                Load((95,), (30,), end=0.9, keeps_memory=False),
                host(rng, 2.6, 21, 7, 60, 1, 8),
                Seen(gpu_ids=(2,)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(4.4)),
    ),
    Case(
        name="single_gpu_short_run_with_imports",
        source="LUMI AI guide: Python imports from Lustre take a minute or two",
        story="80 seconds of imports are a large share of a seven-minute run, and still only imports. Healthy.",
        record=shared(1, 0.1225, 0.2, partition="dev-g", job_name="infer_one"),
        draw=lambda rng: [
            node(rng, 441, Load((98,), (20,), start=0.17, dips=0), host(rng, 2.0, 12, 7, 60, 1, 7), Seen(gpu_ids=(3,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="single_gpu_fed_by_too_few_cores",
        source="docs.csc.fi gpu-ml: num_workers and data preparation; LUMI AI guide 05",
        story="All seven cores decode images without pause while the GPU idles two thirds of the time.",
        record=shared(1, 9.8, 12, job_name="train_jpeg"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.8),
                Load((33,), (22,), is_pulsing=True),
                host(rng, 7.2, 30, 7, 60, 1, 9, waits_s=(2100, 0, 40)),
                Seen(gpu_ids=(6,)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        may=codes("host_oversubscription"),
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=30),
    ),
    Case(
        name="single_gpu_after_two_hours_of_unpacking",
        source="LUMI AI guide 04: unpacking a data set inside the job",
        story="The first third of the run unpacked archives on the host. The GPU waited with nothing to do.",
        record=shared(1, 6.2, 8, job_name="untar_and_train"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.2),
                Load((95,), (29,), start=0.35),
                host(rng, 2.2, 37, 7, 60, 1, 8, iowait=0.03, waits_s=(4, 0, 700)),
                Seen(gpu_ids=(4,)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        sensible=Sensible(gpus=(1,), memory_min_gb=37),
    ),
    Case(
        name="single_gpu_with_analysis_on_the_host_after",
        source="peers: jobstats#28 (idle after a burst is missed by the mean); LUMI: use LUMI-C for analysis",
        story="Simulation in the first half, statistics on the cores in the second. The tail needs no GPU.",
        record=shared(1, 8.7, 11, job_name="md_then_analysis"),
        draw=lambda rng: [
            node(
                rng,
                hours(8.7),
                Load((95,), (5.5,), end=0.55, keeps_memory=False),
                host(rng, 2.7, 25, 7, 60, 1, 7),
                Seen(gpu_ids=(1,)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(1,), cores_min=3, memory_min_gb=25),
    ),
    Case(
        name="single_gpu_half_used_and_the_host_unread",
        source="jobstats: with data missing all notes are suppressed; users still want an answer",
        story="One GPU near half use, nothing else was read. What was ruled out is little; say that, with what to try.",
        record=shared(1, 5.9, 7, job_name="train_tabular"),
        draw=lambda rng: [node(rng, hours(5.9), Load((53,), (12,), is_pulsing=True), None, Seen(gpu_ids=(7,)))],
        efficiency_class="ACCEPTABLE",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="single_gpu_run_of_ninety_seconds",
        source="Site policy: runs under 5 minutes get no finding about GPU use",
        story="A version check. The GPU did nothing, and nobody should be bothered.",
        record=shared(1, 0.025, 0.0333, partition="dev-g", job_name="hello_gpu"),
        draw=lambda rng: [node(rng, 90, Load((0,), (0.01,)), host(rng, 0.5, 1, 7, 60, 1, 1), Seen(gpu_ids=(0,)))],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="no_gpu_use_by_a_federated_learner",
        source="traces wb-d (real): federated learning on the CPU with an idle GPU, up to 13 h",
        story="The model was never moved to the GPU: hours of zeros with a stray reading or two.",
        record=shared(1, 12.6, 15, job_name="fed_chem"),
        draw=lambda rng: [
            node(rng, hours(12.6), Load((0,), (0.44,)), host(rng, 2.3, 11, 7, 60, 1, 12), Seen(gpu_ids=(5,)))
        ],
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="no_gpu_use_on_two_whole_nodes",
        source="lumi.md section 6: CPU-only software on GPU nodes",
        story="An MPI code without a GPU build filled the cores of two LUMI-G nodes. It belongs on LUMI-C.",
        record=whole(
            2, 7.2, 9, tasks=56, job_name="openfoam", asked={"--ntasks-per-node": "56", "--cpus-per-task": "1"}
        ),
        draw=lambda rng: [
            node(rng, hours(7.2), Load((0,) * 8, (0.011,) * 8), host(rng, 54.4, 160, ranks=56, threads=1))
            for _ in range(2)
        ],
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        may=codes("exclusive_node_underused", "cpu_bottleneck"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="no_gpu_use_by_eight_ranks_in_a_wrong_container",
        source="LUMI AI factory #13: 'No HIP GPUs are available' after setting visibility twice",
        story="Eight ranks, each fell back to the CPU without a word. All GPUs zero from start to end.",
        record=shared(8, 3.8, 4.5, job_name="llm_eval", asked={"--gpus-per-node": None, "--gpus": "8"}),
        draw=lambda rng: [
            node(rng, hours(3.8), Load((0,) * 8, (0.011,) * 8), host(rng, 19.0, 120, ranks=8, threads=9))
        ],
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="tail_of_post_processing_on_four_nodes",
        source="omnistat: iteration view (idle phases); LUMI: post-processing belongs in a job of its own",
        story="Four nodes simulate for two thirds of the run; then one core merges files while 32 GPUs wait.",
        record=whole(4, 6.1, 8, job_name="seissol"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.1),
                Load((93,) * 8, (42,) * 8, end=0.64, keeps_memory=False),
                host(rng, 6.0 if number == 0 else 5.2, 105, waits_s=(4, 0, 210)),
            )
            for number in range(4)
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(32,)),
    ),
)
