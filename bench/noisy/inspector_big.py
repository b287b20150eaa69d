"""Big runs with one odd GPU or node, and big runs that are low everywhere."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import IDLE, Host, Work, node, steady
from bench.noisy.inspector_request import HOUR_S, run, whole_nodes

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_one_idle_of_512",
        source="issue 13: never 1,023 of 1,024",
        story="64 nodes at 94 %, GPU 5 of one node never touched: look at that node, keep the size.",
        record=run(
            "ocean_1km",
            "standard-g",
            10 * HOUR_S,
            12 * HOUR_S,
            nodes=64,
            cores=56,
            memory_gb=480,
            options=whole_nodes(64),
        ),
        draw=lambda rng: [
            node(
                rng,
                10 * HOUR_S,
                tuple(IDLE if (number, gpu) == (37, 5) else steady(0.96, 2.1) for gpu in range(8)),
                tuple(0.02 if (number, gpu) == (37, 5) else 44.0 for gpu in range(8)),
                Host(56, 9, 90, 480, 8),
                step_s=60,
            )
            for number in range(64)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(512,)),
    ),
    Case(
        name="inspector_one_idle_node_of_32",
        source="a task file with 31 hosts",
        story="31 nodes at 93 %, the last one never touched. A thing to look at, not 248 GPUs to ask for.",
        record=run(
            "les_channel",
            "standard-g",
            8 * HOUR_S,
            12 * HOUR_S,
            nodes=32,
            cores=56,
            memory_gb=480,
            options=whole_nodes(32),
        ),
        draw=lambda rng: [
            node(
                rng,
                8 * HOUR_S,
                (steady(0.95) if number < 31 else IDLE,) * 8,
                40.0 if number < 31 else 0.02,
                Host(56, 9 if number < 31 else 0.1, 80 if number < 31 else 2, 480, 8),
                step_s=60,
            )
            for number in range(32)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"idle_gpus"}),
        may=frozenset({"exclusive_node_underused"}),
        sensible=Sensible(gpus=(256,), partitions=("standard-g",)),
    ),
    Case(
        name="inspector_one_throttled_node_of_16",
        source="omnistat variance by node; LUMI node power limiter",
        story="One of 16 nodes runs hot, throttled 45 % of the time, at 36 % while the others do 92 % of independent"
        " work. The node stands far below: imbalance, with throttling beside it; the size stays.",
        record=run(
            "farm_of_models",
            "standard-g",
            9 * HOUR_S,
            12 * HOUR_S,
            nodes=16,
            cores=56,
            memory_gb=480,
            options=whole_nodes(16),
        ),
        draw=lambda rng: [
            node(
                rng,
                9 * HOUR_S,
                (steady(0.37 if number == 6 else 0.94),) * 8,
                36.0,
                Host(56, 9, 90, 480, 8),
                step_s=30,
                throttled=0.45 if number == 6 else 0.0,
            )
            for number in range(16)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"load_imbalance"}),
        may=frozenset({"throttled"}),
        sensible=Sensible(gpus=(128,)),
    ),
    Case(
        name="inspector_one_rank_died_quietly",
        source="ensemble runs: one member crashes, the others go on",
        story="64 ensemble members; one crashed after a quarter of the run and its GPU stood still while the others"
        " went on at 93 %. It worked, so it is no idle GPU and no idle tail of the job.",
        record=run(
            "ens64_s2s",
            "standard-g",
            12 * HOUR_S,
            16 * HOUR_S,
            nodes=8,
            cores=56,
            memory_gb=480,
            options=whole_nodes(8),
        ),
        draw=lambda rng: [
            node(
                rng,
                12 * HOUR_S,
                tuple(
                    Work(((0.01, 0), (0.24, 0.95), (0.75, 0.0))) if (number, gpu) == (2, 3) else steady(0.95)
                    for gpu in range(8)
                ),
                29.0,
                Host(56, 9, 100, 480, 8),
                step_s=20,
            )
            for number in range(8)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="inspector_sixteen_nodes_at_a_third",
        source="LUMI: RCCL without the OFI plugin, users saw a factor of two",
        story="128 GPUs evenly at 36 %, 34 GB each, quiet host, no I/O. Perhaps the network, but nothing measured says"
        " so: low use without a visible cause, with things to try. Memory forbids 'too many GPUs'.",
        record=run(
            "unet_era5_ddp",
            "standard-g",
            11 * HOUR_S,
            16 * HOUR_S,
            nodes=16,
            cores=56,
            memory_gb=480,
            options=whole_nodes(16),
        ),
        draw=lambda rng: [
            node(rng, 11 * HOUR_S, (steady(0.365, 0.6),) * 8, 34.0, Host(56, 9.5, 140, 480, 8, 2), step_s=30)
            for _ in range(16)
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(128,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_timeout_with_an_idle_node",
        source="combination: 8 nodes, one unused, limit reached",
        story="Seven of eight nodes at 92 % to the time limit, the eighth never touched. Limit and idle node are"
        " both said; seven nodes or eight with the host list fixed.",
        record=run(
            "fusion_gk",
            "standard-g",
            24 * HOUR_S,
            24 * HOUR_S,
            state="TIMEOUT",
            nodes=8,
            cores=56,
            memory_gb=480,
            options=whole_nodes(8),
        ),
        draw=lambda rng: [
            node(
                rng,
                24 * HOUR_S,
                (IDLE if number == 7 else steady(0.94),) * 8,
                0.02 if number == 7 else 47.0,
                Host(56, 0.2 if number == 7 else 9, 100, 480, 8),
                step_s=60,
            )
            for number in range(8)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"idle_gpus", "timeout"}),
        may=frozenset({"exclusive_node_underused", "low_use_unexplained"}),
        sensible=Sensible(gpus=(56, 64), walltime_min_s=24 * HOUR_S, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_quarter_of_the_nodes_work",
        source="srun -n without -N: ranks packed on the first nodes",
        story="16 nodes requested, all ranks on the first four: 32 GPUs at 92 %, 96 untouched. Four nodes.",
        record=run(
            "pic_scan",
            "standard-g",
            6 * HOUR_S,
            9 * HOUR_S,
            nodes=16,
            tasks=2,
            cores=56,
            memory_gb=480,
            options={"--nodes": "16", "--gpus-per-node": "8", "--ntasks": "32"},
        ),
        draw=lambda rng: [
            node(
                rng,
                6 * HOUR_S,
                (steady(0.94) if number < 4 else IDLE,) * 8,
                50.0 if number < 4 else 0.02,
                Host(56, 8.4 if number < 4 else 0.1, 60 if number < 4 else 2, 480, 8 if number < 4 else 1),
                step_s=30,
            )
            for number in range(16)
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"parallelism_mismatch"}),
        may=frozenset({"idle_gpus", "exclusive_node_underused"}),
        sensible=Sensible(gpus=(32,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_eight_nodes_read_for_long",
        source="file-per-process reading at the start of a big run",
        story="All 64 GPUs wait 100 minutes of five hours for the initial state, then 93 %. Late start; the size fits.",
        record=run(
            "restart_lustre",
            "standard-g",
            5 * HOUR_S,
            7 * HOUR_S,
            nodes=8,
            cores=56,
            memory_gb=480,
            options=whole_nodes(8),
        ),
        draw=lambda rng: [
            node(
                rng,
                5 * HOUR_S,
                (Work(((0.335, 0.0), (0.665, 0.95))),) * 8,
                33.0,
                Host(56, 8, 130, 480, 8, io_wait=0.3, iowait_fraction=0.05),
                step_s=10,
            )
            for _ in range(8)
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"late_start"}),
        may=frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(64,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_four_gpus_in_turns",
        source="issue 13, class 10: GPUs used in turns",
        story="Layers split over four GPUs and one batch at a time: each works 23 % of every second, one after another;"
        " 26 GB each. Not four GPUs' work, though no GPU is idle. Any of these names is fair; praise is not.",
        record=run(
            "naive_pipeline",
            "small-g",
            8 * HOUR_S,
            12 * HOUR_S,
            gpus=4,
            tasks=1,
            options={"--gpus-per-node": "4", "--ntasks": "1", "--cpus-per-task": "28", "--mem": "240G"},
        ),
        draw=lambda rng: [
            node(
                rng, 8 * HOUR_S, (steady(0.235, 2.0),) * 4, 26.0, Host(28, 1.5, 30, 240, 1), ids=(0, 1, 2, 3), step_s=5
            )
        ],
        efficiency_class="INEFFICIENT",
        may=frozenset({"low_use_unexplained", "parallelism_mismatch", "overscaling"}),
        sensible=Sensible(gpus=(2, 4), is_ready_to_resubmit=False),
    ),
)
