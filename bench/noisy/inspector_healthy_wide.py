"""Healthy runs on many nodes and on other sites' machines that look ill at a glance."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import A100_40, H100, MI300X, V100, Host, Work, epochs, node, only_the_mean, steady
from bench.noisy.inspector_request import HOUR_S, elsewhere, run, whole_nodes

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_sixteen_nodes_one_slower",
        source="LLview 9479418: 256 GPUs at 96 %, called low CPU load by other tools",
        story="16 nodes at 94 %, one of them at 83 %: the spread of a real machine. 14 of 56 cores busy is normal.",
        record=run(
            "llm_tp2_pp4",
            "standard-g",
            14 * HOUR_S,
            20 * HOUR_S,
            nodes=16,
            cores=56,
            memory_gb=480,
            options=whole_nodes(16),
        ),
        draw=lambda rng: [
            node(
                rng,
                14 * HOUR_S,
                (steady(0.85 if number == 11 else 0.96, 3.4),) * 8,
                52.0,
                Host(56, 14, 180, 480, 8, 2),
                step_s=30,
            )
            for number in range(16)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(128,)),
    ),
    Case(
        name="inspector_one_summary_of_eight_lost",
        source="slurmctld and slow file systems: an epilog that did not finish",
        story="Seven of eight nodes reported, coverage 87 %. The eighth is unknown, not idle, and its GPUs stay.",
        record=run("icon_r2b9", "standard-g", 5.5 * HOUR_S, 8 * HOUR_S, nodes=8, cores=56, memory_gb=480),
        draw=lambda rng: [
            node(rng, 5.5 * HOUR_S, (steady(0.93, 0.6),) * 8, 33.0, Host(56, 9, 90, 480, 8), step_s=10)
            for _ in range(7)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="inspector_half_of_the_nodes_silent",
        source="domain.md section 2, partial reports",
        story="Two of four nodes reported. What is measured is at 94 %: partial, and no reason to halve the request.",
        record=run(
            "nequip-train",
            "standard-g",
            10 * HOUR_S,
            14 * HOUR_S,
            nodes=4,
            cores=56,
            memory_gb=480,
            options=whole_nodes(4),
        ),
        draw=lambda rng: [
            node(rng, 10 * HOUR_S, (steady(0.96),) * 8, 46.0, Host(56, 9, 110, 480, 8), step_s=10) for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="inspector_names_with_the_domain",
        source="mixed host names in Slurm and on nodes",
        story="Slurm says nid007101, the node calls itself nid007101.lumi.local. It is one node, and fully measured.",
        record=run(
            "mace_mp0",
            "standard-g",
            4 * HOUR_S,
            6 * HOUR_S,
            nodes=2,
            cores=56,
            memory_gb=480,
            nodes_requested=2,
            options=whole_nodes(2),
        )
        | {"nodes": ["nid007101", "nid007102"]},
        draw=lambda rng: [
            node(
                rng,
                4 * HOUR_S,
                (steady(0.94),) * 8,
                39.0,
                Host(56, 12, 100, 480, 8),
                name=f"nid00710{number}.lumi.local",
                step_s=4,
            )
            for number in (1, 2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="inspector_four_nodes_with_one_gpu_each",
        source="LUMI: --gpus across nodes splits oddly",
        story="Four ranks, each on one GPU of another shared node, all at 92 %. Odd, but it works and wastes nothing.",
        record=run(
            "replica_exchange",
            "small-g",
            16 * HOUR_S,
            24 * HOUR_S,
            nodes=4,
            gpus=1,
            options={"--nodes": "4", "--gpus-per-node": "1", "--ntasks-per-node": "1", "--cpus-per-task": "7"},
        ),
        draw=lambda rng: [
            node(rng, 16 * HOUR_S, (steady(0.94, 0.4),), 9.0, Host(7, 1.1, 7, 60, 1), ids=(gpu,), step_s=10)
            for gpu in (1, 4, 7, 2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="inspector_checkpoints_of_a_big_model",
        source="BLOOM and LUMI extreme-scale notes: sharded checkpoints",
        story="24 nodes save every hour for a minute and a half; all GPUs stand still then. 2.5 % of an EFFICIENT run.",
        record=run(
            "poro_34b",
            "standard-g",
            22 * HOUR_S,
            30 * HOUR_S,
            nodes=24,
            cores=56,
            memory_gb=480,
            options=whole_nodes(24),
        ),
        draw=lambda rng: [
            node(
                rng,
                22 * HOUR_S,
                (epochs(0.97, 3600, 90, 0.0, 8.0),) * 8,
                59.0,
                Host(56, 10, 250, 480, 8, 2, io_wait=0.02),
                step_s=45,
            )
            for _ in range(24)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(192,)),
    ),
    Case(
        name="inspector_h100_full",
        source="another site: 4 x H100 of 80 GB, no profile, no price",
        story="One full H100 node on a cluster that no profile knows: 94 % busy at 570 of 700 W. Nothing to say.",
        record=elsewhere(
            "fjord",
            "nemo-asr",
            "accel",
            12 * HOUR_S,
            18 * HOUR_S,
            gpus=4,
            cores=96,
            memory_gb=720,
            options={"--gres": "gpu:h100:4", "--ntasks": "4", "--cpus-per-task": "24", "--mem": "720G"},
        ),
        draw=lambda rng: [
            node(rng, 12 * HOUR_S, (steady(0.96),) * 4, 66.0, Host(96, 21, 300, 720, 4, 6), device=H100, step_s=5)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="inspector_v100_with_a_grabbing_library",
        source="JAX documentation: 75 % of the memory is taken at the start",
        story="Two V100 of 16 GB, JAX holds 12 GB on each from the first second. 91 % busy; memory tells nothing here.",
        record=elsewhere(
            "puhti2",
            "brax_ppo",
            "gpu",
            6 * HOUR_S,
            9 * HOUR_S,
            gpus=2,
            cores=20,
            memory_gb=64,
            options={"--gres": "gpu:v100:2", "--cpus-per-task": "10", "--mem": "64G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                6 * HOUR_S,
                (steady(0.93, 0.5),) * 2,
                12.0,
                Host(20, 6.0, 22, 64, 2, 3),
                device=V100,
                step_s=5,
                ids=(0, 1),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_smallest_payload_full",
        source="the contract: only gpu_id and avg_util are required",
        story="A site with its own exporter sends four means around 90 % and nothing else. Healthy, as far as it goes.",
        record=elsewhere("vega2", "prod_wrf", "gpu", 8 * HOUR_S, 12 * HOUR_S, gpus=4, cores=128, memory_gb=480),
        draw=lambda rng: [
            node(
                rng,
                8 * HOUR_S,
                (steady(0.93),) * 4,
                20.0,
                None,
                device=A100_40,
                power_factor=None,
                step_s=10,
                fields=only_the_mean(4),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="inspector_mi300x_inference",
        source="another site: 8 x MI300X, vLLM batch inference",
        story="Offline inference fills 178 of 192 GB by design (the KV cache), 95 % busy at 600 W. Nothing to say.",
        record=elsewhere(
            "aurinko",
            "vllm_offline",
            "mi300",
            3 * HOUR_S,
            4 * HOUR_S,
            gpus=8,
            tasks=1,
            cores=96,
            memory_gb=1400,
            options={"--gpus-per-node": "8", "--ntasks": "1", "--exclusive": ""},
            is_exclusive=True,
        ),
        draw=lambda rng: [
            node(rng, 3 * HOUR_S, (steady(0.97, 0.3),) * 8, 178.0, Host(96, 18, 420, 1400, 1, 20), device=MI300X)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="inspector_zero_or_hundred",
        source="omnistat MI250X notes: use is naturally near 0 or 100",
        story="Steps of four seconds on one GPU, each with a second of gathering: the counter shows 0 or 100 and"
        " never the mean of 78. No power on this die. A fair run; nothing recurs but its own step.",
        record=run(
            "mcmc_gpu",
            "small-g",
            13 * HOUR_S,
            18 * HOUR_S,
            gpus=1,
            options={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [
            node(rng, 13 * HOUR_S, (steady(0.81, 4.1),), 21.0, Host(7, 1.6, 18, 60, 1), ids=(7,), step_s=5)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="inspector_cold_cache_at_first",
        source="first epoch from Lustre, later ones from the page cache",
        story="The first tenth of the run reads from disk and sits at 55 %, then 93 %. It went up, not down: no stall.",
        record=run(
            "dino_v2", "standard-g", 9 * HOUR_S, 12 * HOUR_S, nodes=2, cores=56, memory_gb=480, options=whole_nodes(2)
        ),
        draw=lambda rng: [
            node(
                rng,
                9 * HOUR_S,
                (Work(((0.01, 0), (0.1, 0.56), (0.89, 0.96))),) * 8,
                43.0,
                Host(56, 17, 330, 480, 8, 6, io_wait=0.07, iowait_fraction=0.02),
                step_s=10,
            )
            for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="inspector_busy_host_fair_gpus",
        source="domain.md section 3: cpu_bottleneck below 70 % only",
        story="46 of 56 cores work beside GPUs at 80 % and 415 of 500 W: QM/MM that uses both.",
        record=run(
            "qmmm_prod", "standard-g", 28 * HOUR_S, 36 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(
                rng,
                28 * HOUR_S,
                (steady(0.83, 0.8),) * 8,
                27.0,
                Host(56, 46, 210, 480, 8, 6, cpu_wait=0.06),
                step_s=10,
                power_factor=1.18,
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), cores_min=46, memory_min_gb=210),
    ),
    Case(
        name="inspector_policy_and_rollouts",
        source="../shared/data/traces wb-a: reinforcement learning with uneven phases",
        story="Rollouts and learning take turns at other moments on each GPU: dips to half, mean 84 %.",
        record=run(
            "grpo_math", "standard-g", 11 * HOUR_S, 16 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(
                rng,
                11 * HOUR_S,
                tuple(epochs(0.97, 260 + 17 * gpu, 60, 0.5) for gpu in range(8)),
                58.0,
                Host(56, 15, 200, 480, 8, 3),
                step_s=5,
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)
