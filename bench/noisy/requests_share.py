"""Cores and host memory beside the GPUs of a shared partition: requested and unused, or rightly requested.

LUMI bills small-g and dev-g by the largest of cores / 8, memory / 64 GB and GPUs, each rounded up.
"""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.requests_drawing import Load, Seen, host, node
from bench.noisy.requests_records import codes, hours, shared, whole

CASES: tuple[Case, ...] = (
    Case(
        name="share_one_gpu_with_half_of_the_memory",
        source="LUMI user scripts: small-g with 1 GPU and --mem=256G pays fourfold (lumi.md, section 6)",
        story="A well-used GPU with 240 GB beside it, of which 21 were used. Four slices are billed instead of one.",
        record=shared(1, 7.6, 9, memory_gb=240, job_name="train_bert"),
        draw=lambda rng: [
            node(rng, hours(7.6), Load((92,), (38,)), host(rng, 4.2, 21, 7, 240, 1, 14), Seen(gpu_ids=(3,)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(1,), cores_min=5, memory_min_gb=22, partitions=("small-g",)),
    ),
    Case(
        name="share_one_gpu_with_all_cores",
        source="LUMI user scripts: --cpus-per-task=56 with one GPU",
        story="56 cores beside one GPU, three of them worked. Seven slices are billed instead of one.",
        record=shared(1, 5.2, 6, cores=56, memory_gb=60, tasks=1, job_name="tf_train"),
        draw=lambda rng: [node(rng, hours(5.2), Load((90,), (30,)), host(rng, 3.1, 24, 56, 60, 1, 60))],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(1,), cores_min=4, memory_min_gb=24, partitions=("small-g",)),
    ),
    Case(
        name="share_memory_asked_for_by_core",
        source="PyTorch#8976 comment: --mem-per-cpu multiplies with the cores; LUMI billing page",
        story="14 cores at 16 GB each are 224 GB beside one GPU; 5 cores and 19 GB were used.",
        record=shared(
            1,
            10.3,
            12,
            cores=14,
            memory_gb=224,
            tasks=1,
            job_name="nnunet",
            asked={"--mem": None, "--mem-per-cpu": "16G"},
        ),
        draw=lambda rng: [
            node(rng, hours(10.3), Load((87,), (25,)), host(rng, 4.8, 19, 14, 224, 1, 17), Seen(gpu_ids=(5,)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(1,), cores_min=5, memory_min_gb=20),
    ),
    Case(
        name="share_memory_asked_for_by_gpu",
        source="LUMI user guide: --mem-per-gpu=60G is the share; 120G is seen in public scripts",
        story="Two busy GPUs at 120 GB each, 46 GB used in all. The bill doubles for nothing.",
        record=shared(
            2,
            8.8,
            10,
            memory_gb=240,
            job_name="esm2",
            asked={"--gpus-per-node": None, "--gres": "gpu:2", "--mem": None, "--mem-per-gpu": "120G"},
        ),
        draw=lambda rng: [
            node(rng, hours(8.8), Load((93, 92), (55, 54)), host(rng, 7.1, 46, 14, 240, 2, 11), Seen(gpu_ids=(0, 1)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(2,), cores_min=7, memory_min_gb=46),
    ),
    Case(
        name="share_half_of_the_gpus_with_the_whole_node",
        source="LUMI responsible use 2023-08: at most 7 cores and 60 GB for each GPU",
        story="Four GPUs, but all cores and all memory of the node. 5 cores worked.",
        record=shared(4, 11.1, 14, cores=56, memory_gb=480, tasks=4, job_name="swin_t"),
        draw=lambda rng: [
            node(
                rng,
                hours(11.1),
                Load((91,) * 4, (47,) * 4),
                host(rng, 5.6, 92, 56, 480, 4, 15),
                Seen(gpu_ids=(4, 5, 6, 7)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(4,), cores_min=6, memory_min_gb=92),
    ),
    Case(
        name="share_two_nodes_with_too_much_memory",
        source="LUMI billing page, example 1 GPU with 128 GB; small-g allows 4 nodes",
        story="Two GPUs on each of two nodes with 240 GB a node; 31 GB a node were used.",
        record=shared(2, 4.6, 5.5, nodes=2, memory_gb=240, job_name="lammps_kokkos"),
        draw=lambda rng: [
            node(
                rng,
                hours(4.6),
                Load((86, 85), (17, 17)),
                host(rng, 2.6, 31, 14, 240, 2, 7),
                Seen(gpu_ids=(0, 1) if number else (6, 7)),
            )
            for number in range(2)
        ],
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(cores_min=6, memory_min_gb=62),
    ),
    Case(
        name="share_unused_memory_and_an_idle_tail",
        source="lumi.md: 1 GPU with --mem=120G pays twice; jobstats#28 for the tail",
        story="Two real problems: 180 GB requested and 14 used, and nothing but a sleeping script in the second half.",
        record=shared(1, 6.3, 8, memory_gb=180, job_name="dock_then_wait", asked={"--mem": "180G"}),
        draw=lambda rng: [
            node(
                rng,
                hours(6.3),
                Load((94,), (22,), end=0.52, keeps_memory=False),
                host(rng, 1.6, 14, 7, 180, 1, 8),
                Seen(gpu_ids=(2,)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("cores_or_memory_beyond_share", "idle_tail"),
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=14),
    ),
    Case(
        name="share_memory_really_used",
        source="job_defense_shield: excess only where memory was not used; single-cell data sets in host memory",
        story="240 GB beside one GPU, 221 of them used. The bill is higher for a reason: healthy.",
        record=shared(1, 7.3, 9, memory_gb=240, job_name="scanpy_rapids"),
        draw=lambda rng: [
            node(rng, hours(7.3), Load((86,), (52,)), host(rng, 5.3, 221, 7, 240, 1, 21), Seen(gpu_ids=(1,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=5, memory_min_gb=221),
    ),
    Case(
        name="share_cores_really_used",
        source="docs.csc.fi gpu-ml: augmentation on the host may need more cores than the share",
        story="28 cores decode video for one GPU, 24.5 of them busy, and keep it fed: healthy.",
        record=shared(1, 9.2, 11, cores=28, memory_gb=120, tasks=1, job_name="video_mae"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.2),
                Load((87,), (44,)),
                host(rng, 24.5, 104, 28, 120, 1, 34, waits_s=(140, 0, 60)),
                Seen(gpu_ids=(6,)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=24, memory_min_gb=104),
    ),
    Case(
        name="share_eight_cores_and_64_gb",
        source="LUMI billing page: slices of 8 cores and 64 GB; the default memory must give one slice",
        story="One core and 4 GB above the usual share stay within one slice of the bill. Healthy.",
        record=shared(1, 6.7, 8, cores=8, memory_gb=64, tasks=1, job_name="train_pinn"),
        draw=lambda rng: [
            node(rng, hours(6.7), Load((90,), (18,)), host(rng, 2.3, 13, 8, 64, 1, 12), Seen(gpu_ids=(0,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=13),
    ),
    Case(
        name="share_extra_cores_beside_used_memory",
        source="LUMI billing page: the largest of cores, memory and GPUs counts",
        story="230 GB used make four slices anyway; 20 cores of which six worked cost nothing more. Healthy.",
        record=shared(1, 8.4, 10, cores=20, memory_gb=250, tasks=1, job_name="graph_sage"),
        draw=lambda rng: [
            node(rng, hours(8.4), Load((84,), (57,)), host(rng, 6.2, 233, 20, 250, 1, 24), Seen(gpu_ids=(4,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=6, memory_min_gb=233),
    ),
    Case(
        name="share_default_memory_hardly_used",
        source="job_defense_shield#9: default memory must not be blamed; LUMI small-g default 64 GB",
        story="No --mem was given, Slurm set 64 GB, 5 were used. Site defaults are not criticised: healthy.",
        record=shared(
            1, 5.7, 7, memory_gb=64, job_name="cnn", asked={"--mem": None, "--gpus-per-node": None, "--gpus": "1"}
        ),
        draw=lambda rng: [
            node(rng, hours(5.7), Load((91,), (11,)), host(rng, 1.9, 5.2, 7, 64, 1, 9), Seen(gpu_ids=(7,)))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=5),
    ),
    Case(
        name="share_four_gpus_and_a_quarter_used",
        source="LUMI user guide: --mem=240G beside 4 GPUs is exactly their share",
        story="28 cores and 240 GB come with four GPUs. Using little of them costs nothing: healthy.",
        record=shared(4, 6.9, 8, job_name="train_yolo", asked={"--gpus-per-node": None, "--gres": "gpu:mi250:4"}),
        draw=lambda rng: [
            node(
                rng,
                hours(6.9),
                Load((89,) * 4, (35,) * 4),
                host(rng, 4.3, 38, 28, 240, 4, 6),
                Seen(gpu_ids=(2, 3, 4, 5)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,), cores_min=5, memory_min_gb=38),
    ),
    Case(
        name="share_exceeded_and_the_host_not_read",
        source="peers: unmeasured is not zero (reportseff counts a missing value as 0 %)",
        story="240 GB beside one GPU, and nobody measured how much was used. Unused cannot be claimed.",
        record=shared(1, 7.2, 9, memory_gb=240, job_name="embed_corpus"),
        draw=lambda rng: [node(rng, hours(7.2), Load((90,), (46,)), None, Seen(gpu_ids=(1,)))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="share_of_a_whole_node_in_small_g",
        source="LUMI user guide: 8 GPUs on small-g for runs longer than 2 days",
        story="All eight GPUs with all that belongs to them; 70 GB used. Nothing beyond the share: healthy.",
        record=shared(8, 60.5, 72, job_name="pretrain_gpt2", asked={"--time": "3-00:00:00"}),
        draw=lambda rng: [node(rng, hours(60.5), Load((95,) * 8, (50,) * 8), host(rng, 8.9, 70))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), cores_min=8, memory_min_gb=70, walltime_min_s=hours(60.5)),
    ),
    Case(
        name="share_does_not_exist_on_whole_nodes",
        source="LUMI user guide: standard-g gives all cores and memory of a node by default",
        story="Two of 56 cores and 30 of 480 GB used on standard-g. They come with the node: healthy.",
        record=whole(1, 12.4, 15, tasks=1, job_name="amber_replicas", asked={"--cpus-per-task": "56", "--mem": "480G"}),
        draw=lambda rng: [node(rng, hours(12.4), Load((94,) * 8, (6,) * 8), host(rng, 8.6, 31, ranks=8, threads=5))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)
