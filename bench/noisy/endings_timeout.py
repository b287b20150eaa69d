"""Runs that Slurm stopped at their time limit: at work, long idle, deadlocked, or with idle GPUs beside."""

from __future__ import annotations

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, bursts, from_util, host, node, steady
from bench.noisy.requests_records import codes, hours, shared, whole


def _deadlocked(rng: Rng) -> list[Node]:
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
        nodes.append(from_util(rng, hours(12), util, load, host(rng, 8.9, 143)))
    return nodes


def _notebook(rng: Rng) -> list[Node]:
    """One GPU of a notebook: cells that run for moments, a person who reads and thinks between."""
    util = bursts(rng, int(rng.integers(1300, 1800)), 1, count=34, length=0.0025)
    load = Load((93,), (17.2,), start=0.01)
    return [from_util(rng, hours(8), util, load, host(rng, 0.6, 14, 7, 60, 1, 31), Seen(gpu_ids=(3,)))]


def _starved(rng: Rng) -> list[Node]:
    """Eight GPUs that wait for files again and again, all at the same moments, while the host waits for I/O."""
    steps = int(rng.integers(1200, 1700))
    util = np.stack([steady(rng, steps, 95) for _ in range(8)], axis=1)
    begin = int(0.03 * steps)
    while begin < steps:
        stop = begin + int(rng.integers(14, 30))
        util[begin:stop] = rng.uniform(0, 2, util[begin:stop].shape)
        begin = stop + int(rng.integers(14, 30))
    util[: int(0.01 * steps)] = 0
    cpu = host(rng, 6.1, 212, ranks=8, iowait=0.37, waits_s=(30, 0, 9100))
    return [from_util(rng, hours(6), util, Load((95,) * 8, (47,) * 8, start=0.01), cpu)]


CASES: tuple[Case, ...] = (
    Case(
        name="timeout_at_work_until_the_last_second",
        source="peers: jobstats TIMEOUT note ('request more' without a number); LUMI user guide, small-g",
        story="A language model is fine-tuned on 8 GPUs; the limit cuts it in full swing. Only time was missing.",
        record=shared(8, 24.004, 24, state="TIMEOUT", exit_code="0:0", job_name="sft-7b"),
        draw=lambda rng: [node(rng, hours(24.004), Load((95,) * 8, (53,) * 8), host(rng, 11.3, 188))],
        efficiency_class="EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(24), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_idle_long_before_the_limit",
        source="LUMI user guide: an idle hang after a crash is still billed (responsible use, 2023-08)",
        story="One rank died at two fifths; the others slept until the limit. More time is wrong.",
        record=whole(1, 10.002, 10, state="TIMEOUT", job_name="ddp-resnet"),
        draw=lambda rng: [node(rng, hours(10.002), Load((94,) * 8, (38,) * 8, end=0.39, dips=3), host(rng, 3.4, 97))],
        efficiency_class="INEFFICIENT",
        must=codes("timeout", "idle_tail"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_spinning_in_a_collective",
        source="ROCm/device-metrics-exporter#34: 100 % busy while deadlocked in RCCL; ai-infrastructure.net NCCL hang",
        story="Four nodes enter a collective that never returns. Busy 100 %, each module near 140 W, 12 hours long.",
        record=whole(4, 12.003, 12, state="TIMEOUT", job_name="pretrain-moe"),
        draw=_deadlocked,
        efficiency_class="EFFICIENT",
        must=codes("timeout", "busy_but_waiting"),
        sensible=Sensible(gpus=(32,), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_with_an_idle_gpu_beside",
        source="peers: measured head-to-head, 'TIMEOUT and one idle GPU of two' (jobstats loses the timeout advice)",
        story="A program for one GPU was given two. Both facts count: it ran out of time, and half of it was unused.",
        record=shared(2, 6.001, 6, state="TIMEOUT", tasks=1, job_name="gromacs_md"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.001),
                Load((98, 0), (7.4, 0.01), dips=2),
                host(rng, 6.6, 9, 14, 120, 1, 14),
                Seen(gpu_ids=(4, 5), lost=(0.01, 0.03)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("timeout", "idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(gpus=(1,), cores_min=6, memory_min_gb=9, is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_without_any_gpu_work",
        source="LUMI training paow-2026: CUDA binaries do not run on LUMI, CPU-only code gives no warning",
        story="A wheel built for CUDA found no GPU and computed on seven cores until the limit.",
        record=shared(1, 8.002, 8, state="TIMEOUT", job_name="segment_cells", asked={"--mem": "60000M"}),
        draw=lambda rng: [node(rng, hours(8.002), Load((0,), (0.01,)), host(rng, 6.8, 21, 7, 60, 1, 9))],
        efficiency_class="WASTED",
        must=codes("timeout", "no_gpu_use"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_at_the_longest_limit_of_the_partition",
        source="LUMI user guide: standard-g allows 2 days; long trainings are chains of restarts from checkpoints",
        story="16 nodes worked for two days. No longer limit exists there; the next run continues from a checkpoint.",
        record=whole(16, 48.003, 48, state="TIMEOUT", job_name="pretrain-13b", asked={"--time": "2-00:00:00"}),
        draw=lambda rng: [
            node(rng, hours(48.003), Load((91,) * 8, (57,) * 8, dips=24), host(rng, 12.2, 160), Seen(steps=900))
            for _ in range(16)
        ],
        efficiency_class="EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(128,), walltime_min_s=hours(48), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_of_a_short_test_on_dev_g",
        source="LUMI user guide: dev-g is for debugging, at most 3 hours",
        story="Thirty minutes were too short for the first epoch on one GPU. The GPU was busy all along.",
        record=shared(1, 0.503, 0.5, state="TIMEOUT", partition="dev-g", job_name="epoch1"),
        draw=lambda rng: [
            node(
                rng, hours(0.503), Load((88,), (31,), start=0.06), host(rng, 3.1, 24, 7, 60, 1, 12), Seen(gpu_ids=(6,))
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(0.5), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_ends_a_notebook",
        source="peers: cBio/cbio-cluster#261 (no walltime warning for interactive jobs); LUMI web interface, Jupyter",
        story="A notebook session ends at its limit, as all do. Low use in short bursts, with nothing that waited.",
        record=shared(
            1, 8.001, 8, state="TIMEOUT", partition="small-g", job_name="sys/dashboard/sys/ood-jupyter", tasks=1
        ),
        draw=_notebook,
        efficiency_class="WASTED",
        must=codes("low_use_unexplained"),
        may=codes("timeout"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="timeout_with_low_use_and_no_sign_why",
        source="docs.csc.fi gpu-ml: use consistently below 50 % is worth attention",
        story="One GPU near a third, readings 0 or 100; quiet host, no I/O wait, half of the memory. Two facts.",
        record=shared(
            1, 15.002, 15, state="TIMEOUT", job_name="rl_agent", asked={"--mem": "56G"}, memory_requested_gb=56.0
        ),
        draw=lambda rng: [
            node(
                rng,
                hours(15.002),
                Load((32,), (33.5,), is_pulsing=True),
                host(rng, 1.7, 19, 7, 56, 1, 5),
                Seen(gpu_ids=(1,)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("timeout", "low_use_unexplained"),
        sensible=Sensible(gpus=(1,), walltime_min_s=hours(15), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_while_waiting_for_files",
        source="LUMI: metadata slowness since the January 2026 update; user guide, many small files on Lustre",
        story="All eight GPUs stop together again and again, the host waits for I/O 37 % of its time, then the limit.",
        record=shared(8, 6.002, 6, state="TIMEOUT", job_name="imagenet_jpg"),
        draw=_starved,
        efficiency_class="ACCEPTABLE",
        must=codes("timeout", "io_or_sync_stall"),
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(6), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_and_no_summary_arrived",
        source="omnistat: needs 5 samples or refuses; peers list 'insufficient data' as a gap of all tools",
        story="The collector sent nothing. The state alone still tells that the time was too short or the run hung.",
        record=whole(2, 4.004, 4, state="TIMEOUT", job_name="lammps"),
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
        must=codes("timeout"),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_after_three_minutes",
        source="Slurm: --time=3 is minutes; a habit from systems where it is hours",
        story="The user wrote --time=3 and meant hours. Too short to judge the GPU; the time limit is the news.",
        record=shared(1, 0.0522, 0.05, state="TIMEOUT", job_name="train", asked={"--time": "3"}),
        draw=lambda rng: [
            node(rng, 188, Load((91,), (22,), start=0.38, dips=0), host(rng, 2.8, 11, 7, 60, 1, 9), Seen(gpu_ids=(0,)))
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("timeout"),
        sensible=Sensible(gpus=(1,), walltime_min_s=180, is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_during_the_last_upload",
        source="LUMI user guide, LUMI-O: copying results at the end of a job",
        story="The work was done, the last twentieth copied results and hit the limit. That is no long idle tail.",
        record=whole(1, 20.002, 20, state="TIMEOUT", job_name="icon-atm"),
        draw=lambda rng: [
            node(rng, hours(20.002), Load((90,) * 8, (44,) * 8, end=0.95, keeps_memory=False), host(rng, 8.4, 131))
        ],
        efficiency_class="EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(19), is_ready_to_resubmit=False),
    ),
    Case(
        name="timeout_one_gpu_of_a_billed_node",
        source="LUMI responsible use 2023-08: do not use standard-g if you cannot use all GPUs",
        story="A serial program requested all of a node, used GPU 0, and ran out of time. Seven eighths sat idle.",
        record=whole(1, 18.003, 18, state="TIMEOUT", tasks=1, job_name="pyscf_scan"),
        draw=lambda rng: [
            node(rng, hours(18.003), Load((89, *(0,) * 7), (21, *(0.01,) * 7)), host(rng, 5.2, 33, ranks=1, threads=56))
        ],
        efficiency_class="WASTED",
        must=codes("timeout", "exclusive_node_underused", "parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(1,), cores_min=5, memory_min_gb=33, walltime_min_s=hours(18), partitions=("small-g",)),
    ),
)
