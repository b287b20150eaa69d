"""What the next request would be: whole nodes for parts, shares overpaid, counts that the work cannot take."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import IDLE, Host, Work, node, steady
from bench.noisy.inspector_request import HOUR_S, MINUTE_S, run, whole_nodes

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_one_gpu_asked_of_a_whole_node",
        source="public LUMI scripts: standard-g with --gpus-per-node=1",
        story="One GPU requested on standard-g, full at 94 %: EFFICIENT, billed as eight. Next time small-g.",
        record=run(
            "roberta-lv",
            "standard-g",
            10 * HOUR_S,
            14 * HOUR_S,
            gpus=1,
            cores=56,
            memory_gb=480,
            options={"--nodes": "1", "--gpus-per-node": "1", "--ntasks-per-node": "1", "--cpus-per-task": "7"},
        ),
        draw=lambda rng: [node(rng, 10 * HOUR_S, (steady(0.96),), 41.0, Host(56, 4.0, 28, 480, 1, 4), step_s=5)],
        efficiency_class="EFFICIENT",
        must=frozenset({"exclusive_node_underused"}),
        sensible=Sensible(gpus=(1,), memory_min_gb=28, partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_two_of_eight_and_a_time_limit_by_habit",
        source="LUMI training materials: 1-GPU software with many GPUs; maximum walltime by habit",
        story="A whole node for 5 of 48 hours; two GPUs work at 92 %, six never. Two on small-g, and a limit"
        " of six or seven hours.",
        record=run(
            "alphafold-pair",
            "standard-g",
            5 * HOUR_S,
            48 * HOUR_S,
            tasks=2,
            cores=56,
            memory_gb=480,
            options={"--nodes": "1", "--gpus-per-node": "8", "--ntasks": "2", "--cpus-per-task": "28"},
        ),
        draw=lambda rng: [
            node(
                rng,
                5 * HOUR_S,
                (steady(0.94), steady(0.95)) + (IDLE,) * 6,
                (38.0, 36.0) + (0.02,) * 6,
                Host(56, 5.1, 66, 480, 2, 4),
                step_s=4,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"parallelism_mismatch", "exclusive_node_underused", "walltime_overrequest"}),
        may=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(2,), memory_min_gb=66, walltime_min_s=5 * HOUR_S, partitions=("small-g",)),
    ),
    Case(
        name="inspector_second_node_never_joined",
        source="torchrun with --nnodes=1 on two nodes",
        story="The launcher started on the first node only: 8 GPUs at 92 %, 8 at 0 for 9 hours. One node does it.",
        record=run(
            "whisper-ft",
            "standard-g",
            9 * HOUR_S,
            12 * HOUR_S,
            nodes=2,
            tasks=1,
            cores=56,
            memory_gb=480,
            options=whole_nodes(2, tasks=1),
        ),
        draw=lambda rng: [
            node(rng, 9 * HOUR_S, (steady(0.94),) * 8, 50.0, Host(56, 12, 150, 480, 1, 8), step_s=5),
            node(rng, 9 * HOUR_S, (IDLE,) * 8, 0.02, Host(56, 0.1, 2, 480, 1), step_s=5),
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"parallelism_mismatch"}),
        may=frozenset({"idle_gpus", "exclusive_node_underused"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_half_busy_everywhere",
        source="domain.md section 4: work is conserved",
        story="Eight GPUs at 47 % with 4 GB each, a quiet host. Each of them works; 8 x 47 / 70 is six, which no code"
        " that splits by eight can take. A doubtful sign of too many GPUs, and no smaller count to promise.",
        record=run(
            "spectral_dns", "standard-g", 13 * HOUR_S, 18 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(
                rng, 13 * HOUR_S, (steady(0.48, 0.5),) * 8, 4.1, Host(56, 4.0, 20, 480, 8), step_s=10, power_factor=1.1
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"overscaling"}),
        may=frozenset({"kernel_tuning"}),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_three_of_four_trials",
        source="a sweep of three on four GPUs",
        story="Three trials at 87 %, the fourth GPU untouched, half a node shared. Three GPUs cost three slices.",
        record=run(
            "hpo_small",
            "small-g",
            8 * HOUR_S,
            11 * HOUR_S,
            gpus=4,
            tasks=3,
            cores=28,
            memory_gb=240,
            options={"--gpus-per-node": "4", "--ntasks": "3", "--cpus-per-task": "7", "--mem": "240G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                8 * HOUR_S,
                (steady(0.89), steady(0.87), steady(0.90), IDLE),
                (25.0, 24.0, 25.5, 0.02),
                Host(28, 7, 150, 240, 3, 2),
                ids=(0, 1, 2, 3),
                step_s=4,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(3, 4), cores_min=7, memory_min_gb=150, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_cores_of_a_node_for_one_gpu",
        source="public LUMI scripts: --cpus-per-task=56 with one GPU",
        story="One GPU at 90 % with 56 cores, of which three work: seven slices billed for one. The time limit fits.",
        record=run(
            "nerf_batch",
            "small-g",
            6 * HOUR_S,
            8 * HOUR_S,
            gpus=1,
            cores=56,
            memory_gb=60,
            options={"--gpus-per-node": "1", "--ntasks": "1", "--cpus-per-task": "56", "--mem": "60G"},
        ),
        draw=lambda rng: [node(rng, 6 * HOUR_S, (steady(0.93),), 31.0, Host(56, 3.0, 25, 60, 1, 4), ids=(2,))],
        efficiency_class="EFFICIENT",
        must=frozenset({"cores_or_memory_beyond_share"}),
        sensible=Sensible(gpus=(1,), cores_min=3, memory_min_gb=25, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_memory_per_cpu_adds_up",
        source="LUMI: --mem-per-cpu copied from a CPU script",
        story="Two GPUs, 14 cores at 30 GB a core: 420 GB, 64 GB used. Seven slices for two.",
        record=run(
            "gnina-screen",
            "small-g",
            12 * HOUR_S,
            16 * HOUR_S,
            gpus=2,
            cores=14,
            memory_gb=420,
            options={"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem-per-cpu": "30G"},
        ),
        draw=lambda rng: [
            node(rng, 12 * HOUR_S, (steady(0.92),) * 2, 26.0, Host(14, 6, 64, 420, 2, 3), ids=(0, 1), step_s=5)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"cores_or_memory_beyond_share"}),
        sensible=Sensible(gpus=(2,), cores_min=6, memory_min_gb=64, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_forty_minutes_of_two_days",
        source="jobstats: time limit note",
        story="40 minutes of a limit of two days on one full GPU. Only the limit is to be said.",
        record=run(
            "eval_harness",
            "small-g",
            40 * MINUTE_S,
            48 * HOUR_S,
            gpus=1,
            options={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                40 * MINUTE_S,
                (
                    Work(
                        ((0.05, 0.0), (0.95, 0.95)),
                    ),
                ),
                52.0,
                Host(7, 1.5, 40, 60, 1),
                ids=(6,),
                step_s=1,
            )
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"walltime_overrequest"}),
        sensible=Sensible(gpus=(1,), walltime_min_s=40 * MINUTE_S),
    ),
    Case(
        name="inspector_everything_too_big",
        source="omnibus of habits: exclusive small-g for three trials",
        story="--exclusive on small-g: billed as a node. Three GPUs of eight work at 88 %. Shared, with three or four.",
        record=run(
            "sweep_c",
            "small-g",
            16 * HOUR_S,
            24 * HOUR_S,
            tasks=3,
            cores=56,
            memory_gb=480,
            is_exclusive=True,
            options={
                "--nodes": "1",
                "--exclusive": "",
                "--gpus-per-node": "8",
                "--ntasks": "3",
                "--cpus-per-task": "7",
                "--mem": "480G",
            },
        ),
        draw=lambda rng: [
            node(
                rng,
                16 * HOUR_S,
                (steady(0.9), steady(0.88), steady(0.91)) + (IDLE,) * 5,
                (47.0, 45.0, 47.5) + (0.02,) * 5,
                Host(56, 9, 130, 480, 3, 4),
                step_s=10,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"exclusive_node_underused", "parallelism_mismatch"}),
        may=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(3, 4), cores_min=9, memory_min_gb=130),
    ),
    Case(
        name="inspector_eight_ranks_on_one_gpu",
        source="LUMI: no ROCR_VISIBLE_DEVICES wrapper, every rank takes device 0",
        story="Eight ranks share GPU 0 at 94 % and 46 GB; seven GPUs hold nothing. Bind the ranks, or take one GPU.",
        record=run("nekrs_pipe", "standard-g", 4 * HOUR_S, 6 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [
            node(rng, 4 * HOUR_S, (steady(0.93, 0.4),) + (IDLE,) * 7, (46.0,) + (0.02,) * 7, Host(56, 8.1, 60, 480, 8))
        ],
        efficiency_class="WASTED",
        must=frozenset({"parallelism_mismatch", "exclusive_node_underused"}),
        may=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(1, 8), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_one_die_of_each_module",
        source="LUMI docs mistaken for four GPUs a node",
        story="Four ranks on GPUs 0, 2, 4 and 6 at 91 %, for the script counts modules. Half of the node stands idle.",
        record=run(
            "warpx_lwfa",
            "standard-g",
            18 * HOUR_S,
            24 * HOUR_S,
            tasks=4,
            cores=56,
            memory_gb=480,
            options=whole_nodes(1, tasks=4),
        ),
        draw=lambda rng: [
            node(rng, 18 * HOUR_S, (steady(0.93), IDLE) * 4, (53.0, 0.02) * 4, Host(56, 4.4, 80, 480, 4, 1), step_s=10)
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"parallelism_mismatch", "exclusive_node_underused"}),
        may=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(4, 8), memory_min_gb=80),
    ),
    Case(
        name="inspector_four_nodes_for_one_node_of_work",
        source="LUMI responsible use: fewer nodes are more efficient",
        story="32 GPUs evenly at 22 % with 5 GB each: the sum is ten GPUs of work at 70 %. Two whole nodes, not eleven"
        " GPUs and not one node.",
        record=run(
            "vasp_relax",
            "standard-g",
            9 * HOUR_S,
            13 * HOUR_S,
            nodes=4,
            cores=56,
            memory_gb=480,
            options=whole_nodes(4),
        ),
        draw=lambda rng: [
            node(rng, 9 * HOUR_S, (steady(0.225, 0.7),) * 8, 5.2, Host(56, 8.2, 30, 480, 8), step_s=10)
            for _ in range(4)
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"overscaling"}),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_sharded_model_needs_the_memory",
        source="job_defense_shield #2: high memory, low use",
        story="Sharded inference: 58 GB on each of eight GPUs, 22 % busy. Memory needs all eight. No cause is visible,"
        " no GPU can go: profile and batch more.",
        record=run(
            "llama70b_serve_batch",
            "standard-g",
            7 * HOUR_S,
            10 * HOUR_S,
            tasks=1,
            cores=56,
            memory_gb=480,
            options=whole_nodes(1, tasks=1),
        ),
        draw=lambda rng: [
            node(rng, 7 * HOUR_S, (steady(0.225, 0.5),) * 8, 58.0, Host(56, 9.0, 210, 480, 1, 9), step_s=5)
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(8,), memory_min_gb=210, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_one_far_behind",
        source="../shared/data/traces wb-e: one of two GPUs fuller than the other",
        story="GPU 0 at 86 %, GPU 1 at 25 %: both have a process. An uneven split, not an idle GPU; both are needed.",
        record=run(
            "gan_two_nets",
            "small-g",
            10 * HOUR_S,
            14 * HOUR_S,
            gpus=2,
            options={"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                10 * HOUR_S,
                (steady(0.88), steady(0.255)),
                (52.0, 33.0),
                Host(14, 3.0, 50, 120, 2, 3),
                ids=(2, 3),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
)
