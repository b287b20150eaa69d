"""Runs on other sites' clusters, which no profile describes: the payload's own capacity, cap and cores must serve."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import A40, A100_40, H100, IDLE, V100, Host, Work, node, only_the_mean, steady
from bench.noisy.inspector_request import HOUR_S, elsewhere

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_h100_hang_seen_by_power",
        source="device-metrics-exporter #34, on NVIDIA as well",
        story="Four H100 at 97 % and 150 of 700 W for two hours until a watchdog failed the run: NCCL waits, no work.",
        record=elsewhere(
            "fjord",
            "fsdp-8b",
            "accel",
            2 * HOUR_S,
            24 * HOUR_S,
            state="FAILED",
            gpus=4,
            cores=96,
            memory_gb=720,
            options={"--gres": "gpu:h100:4", "--ntasks": "4", "--mem": "720G"},
        ),
        draw=lambda rng: [
            node(
                rng, 2 * HOUR_S, (steady(0.995),) * 4, 61.0, Host(96, 4.2, 140, 720, 4), device=H100, power_factor=0.15
            )
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"busy_but_waiting"}),
        may=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_a100_waits_for_32_cores",
        source="another site: 32 cores for one A100",
        story="30 of 32 allocated cores augment images, the A100 gets 31 %. The host is the limit; no core may go.",
        record=elsewhere(
            "campus9",
            "augment_live",
            "gpu",
            15 * HOUR_S,
            20 * HOUR_S,
            gpus=1,
            cores=32,
            memory_gb=128,
            options={"--gres": "gpu:1", "--cpus-per-task": "32", "--mem": "128G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                15 * HOUR_S,
                (steady(0.32, 1.9),),
                18.0,
                Host(32, 30.3, 90, 128, 1, 32, cpu_wait=0.15),
                device=A100_40,
                ids=(1,),
                step_s=5,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(gpus=(1,), cores_min=30, memory_min_gb=90, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_seven_of_eight_a100",
        source="jobstats: class by mean hides an idle GPU",
        story="Seven of eight A100 at 93 %, one untouched: 81 % on average, EFFICIENT, and an idle GPU all the same.",
        record=elsewhere(
            "karst",
            "bio_md",
            "a100",
            20 * HOUR_S,
            30 * HOUR_S,
            gpus=8,
            tasks=7,
            cores=128,
            memory_gb=960,
            options={"--gres": "gpu:a100:8", "--ntasks": "7", "--cpus-per-task": "18"},
        ),
        draw=lambda rng: [
            node(
                rng,
                20 * HOUR_S,
                (steady(0.95),) * 7 + (IDLE,),
                (9.0,) * 7 + (0.4,),
                Host(128, 8, 44, 960, 7),
                device=A100_40,
                step_s=10,
            )
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(7, 8)),
    ),
    Case(
        name="inspector_two_zeros_and_nothing_else",
        source="the contract's smallest payload; jobstats: 0 % note",
        story="A foreign exporter sends avg_util 0 for both GPUs and nothing more. Three hours. A mean of 0 is idle.",
        record=elsewhere(
            "vega2", "rsync_weekly", "gpu", 3 * HOUR_S, 4 * HOUR_S, gpus=2, tasks=1, cores=16, memory_gb=64
        ),
        draw=lambda rng: [
            node(rng, 3 * HOUR_S, (IDLE,) * 2, 0.0, None, device=A40, power_factor=None, fields=only_the_mean(2))
        ],
        efficiency_class="WASTED",
        must=frozenset({"no_gpu_use"}),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_four_means_one_nought",
        source="the contract's smallest payload",
        story="Only means: 86, 85, 87 and 0. Nobody can say when, but the fourth GPU did nothing in seven hours.",
        record=elsewhere(
            "vega2", "ensemble-3", "gpu", 7 * HOUR_S, 10 * HOUR_S, gpus=4, tasks=3, cores=32, memory_gb=256
        ),
        draw=lambda rng: [
            node(
                rng,
                7 * HOUR_S,
                (steady(0.88), steady(0.87), steady(0.89), IDLE),
                20.0,
                None,
                device=A100_40,
                power_factor=None,
                fields=only_the_mean(4),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(3, 4), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_a40_at_a_third_for_a_day",
        source="issue 13: one GPU steady at 27 to 36 % for hours, 'nothing stood out'",
        story="A molecule network in small batches on one A40: 31 % for 22 hours, 6 GB, quiet host, 110 of 300 W. No"
        " cause in the numbers; a bigger batch or several runs on the GPU are to be tried.",
        record=elsewhere(
            "campus9",
            "geom_pretrain",
            "shared-a40",
            22 * HOUR_S,
            30 * HOUR_S,
            gpus=1,
            cores=8,
            memory_gb=64,
            options={"--gres": "gpu:a40:1", "--cpus-per-task": "8", "--mem": "64G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                22 * HOUR_S,
                (steady(0.315, 0.3),),
                6.1,
                Host(8, 1.3, 10, 64, 1, 2),
                device=A40,
                step_s=10,
                ids=(3,),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_two_a40_fuller_and_emptier",
        source="../shared/data/traces wb-e; issue 13: untrue mismatch while processes ran on both",
        story="Two A40, 42 and 12 GB, 38 and 22 % busy: both work, little. Neither mismatch nor too many GPUs.",
        record=elsewhere(
            "campus9",
            "prism_vqa",
            "shared-a40",
            6 * HOUR_S,
            8 * HOUR_S,
            gpus=2,
            tasks=1,
            cores=16,
            memory_gb=128,
            options={"--gres": "gpu:a40:2", "--cpus-per-task": "16", "--mem": "128G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                6 * HOUR_S,
                (steady(0.385, 1.1), steady(0.225, 1.1)),
                (41.9, 12.0),
                Host(16, 2.4, 40, 128, 1, 6),
                device=A40,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        may=frozenset({"load_imbalance"}),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_federated_clients_on_the_cpu",
        source="../shared/data/traces wb-d: federated learning on the CPU with an idle GPU, to 13 h",
        story="Clients train on 22 of 24 cores for 13 hours, the V100 is never touched. CPU work, with its cores.",
        record=elsewhere(
            "puhti2",
            "fedavg_chem",
            "gpu",
            13 * HOUR_S,
            18 * HOUR_S,
            gpus=1,
            tasks=1,
            cores=24,
            memory_gb=96,
            options={"--gres": "gpu:v100:1", "--cpus-per-task": "24", "--mem": "96G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                13 * HOUR_S,
                (IDLE,),
                0.5,
                Host(24, 22, 60, 96, 1, 24, cpu_wait=0.05),
                device=V100,
                ids=(2,),
                step_s=10,
            )
        ],
        efficiency_class="WASTED",
        must=frozenset({"no_gpu_use"}),
        may=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(cores_min=22, memory_min_gb=60, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_v100_stages_then_trains",
        source="another site: staging inside the job",
        story="Two hours of copying, then four at 92 % on two V100 at 15.5 of 15.8 GB. Late start, full GPU memory.",
        record=elsewhere(
            "puhti2",
            "retina_seg",
            "gpu",
            6 * HOUR_S,
            8 * HOUR_S,
            gpus=2,
            cores=20,
            memory_gb=128,
            options={"--gres": "gpu:v100:2", "--ntasks": "2", "--mem": "128G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                6 * HOUR_S,
                (Work(((0.335, 0.0), (0.665, 0.95))),) * 2,
                15.5,
                Host(20, 4, 60, 128, 2, 3),
                device=V100,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"late_start", "gpu_memory_pressure"}),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
)
