"""Runs with two real problems: a good report names both."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.requests_drawing import Load, Seen, host, node
from bench.noisy.requests_records import codes, hours, shared, whole

CASES: tuple[Case, ...] = (
    Case(
        name="pair_small_work_and_a_long_limit",
        source="job_defense_shield: low-gpu-efficiency and excessive-time are separate alerts for one run",
        story="Eight GPUs at a fifth each with 4 GB, quiet host; 70 minutes of a day requested.",
        record=shared(8, 1.16, 24, job_name="small_cnn"),
        draw=lambda rng: [
            node(rng, hours(1.16), Load((22,) * 8, (4.2,) * 8, is_pulsing=True), host(rng, 5.1, 28, ranks=8, threads=6))
        ],
        efficiency_class="INEFFICIENT",
        must=codes("overscaling", "walltime_overrequest"),
        sensible=Sensible(gpus=(2, 4), memory_min_gb=28, walltime_min_s=hours(1.2), is_ready_to_resubmit=False),
    ),
    Case(
        name="pair_starved_gpu_and_unused_memory",
        source="LUMI responsible use 2023-08 and docs.csc.fi gpu-ml",
        story="Seven busy cores starve the GPU, while 240 GB are billed and 26 used: more cores, less memory.",
        record=shared(1, 8.3, 10, memory_gb=240, job_name="augment"),
        draw=lambda rng: [
            node(
                rng,
                hours(8.3),
                Load((31,), (15,), is_pulsing=True),
                host(rng, 7.2, 26, 7, 240, 1, 9, waits_s=(1900, 0, 25)),
                Seen(gpu_ids=(0,)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck", "cores_or_memory_beyond_share"),
        may=codes("host_oversubscription"),
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=26),
    ),
    Case(
        name="pair_download_first_and_half_of_the_gpus",
        source="LUMI AI guide 04 and 05",
        story="Two fifths of the run downloaded a data set; then two of four GPUs worked.",
        record=shared(4, 7.7, 9, tasks=2, cores=28, job_name="download_train"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.7),
                Load((95, 94, 0, 0), (40, 40, 0.01, 0.01), start=0.4),
                host(rng, 3.9, 61, 28, 240, 2, 10, waits_s=(3, 0, 320)),
                Seen(gpu_ids=(4, 5, 6, 7)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("late_start", "parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(2,), cores_min=4, memory_min_gb=61, is_ready_to_resubmit=False),
    ),
    Case(
        name="pair_idle_tail_and_a_long_limit",
        source="peers: jobstats#28; LUMI responsible use",
        story="Training took five of eight hours, a sleeping script the rest; two days were requested.",
        record=whole(1, 8.1, 48, job_name="train_then_sleep"),
        draw=lambda rng: [
            node(rng, hours(8.1), Load((94,) * 8, (43,) * 8, end=0.62, keeps_memory=False), host(rng, 5.9, 90))
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail", "walltime_overrequest"),
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(5)),
    ),
    Case(
        name="pair_one_gpu_of_a_node_and_a_long_limit",
        source="LUMI user scripts: standard-g, one process, two days by habit",
        story="One of eight GPUs worked on a billed node, for three of 48 hours.",
        record=whole(1, 3.3, 48, tasks=1, job_name="gamess"),
        draw=lambda rng: [
            node(rng, hours(3.3), Load((91, *(0,) * 7), (13, *(0.01,) * 7)), host(rng, 3.7, 25, ranks=1, threads=9))
        ],
        efficiency_class="WASTED",
        must=codes("exclusive_node_underused", "parallelism_mismatch", "idle_gpus", "walltime_overrequest"),
        sensible=Sensible(gpus=(1,), partitions=("small-g",), walltime_min_s=hours(3.4), is_ready_to_resubmit=False),
    ),
    Case(
        name="pair_uneven_stages_and_a_full_gpu",
        source="Megatron: unbalanced pipeline stages; the heaviest one holds the most memory",
        story="One stage at 94 % with its memory at the brim, the other three near 45 % with 20 GB.",
        record=shared(4, 9.9, 12, job_name="pipeline_uneven"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.9),
                Load((96, 47, 45, 46), (63.2, 21, 20, 19), swing_gb=0.4),
                host(rng, 5.3, 70, 28, 240, 4, 9),
                Seen(gpu_ids=(0, 1, 2, 3)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("load_imbalance", "gpu_memory_pressure"),
        sensible=Sensible(gpus=(4, 8)),
    ),
    Case(
        name="pair_gpu_oom_beside_idle_gpus",
        source="docs.csc.fi ml-multi: reserving more GPUs does not spread a model over them",
        story="One process fills its GPU until it dies while three more stand idle. More GPUs alone do not help.",
        record=shared(4, 2.6, 6, tasks=1, cores=28, state="FAILED", exit_code="1:0", job_name="llama_70b"),
        draw=lambda rng: [
            node(
                rng,
                hours(2.6),
                Load((92, 0, 0, 0), (52, 0.01, 0.01, 0.01), creep_gb=10, last_gb=(63.93, 0.01, 0.01, 0.01)),
                host(rng, 2.8, 66, 28, 240, 1, 40),
                Seen(gpu_ids=(4, 5, 6, 7)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("gpu_out_of_memory", "idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="pair_host_oom_before_any_gpu_work",
        source="usnistgov/alignn#93: killed in the set-up of the data loader",
        story="Three hours of preparation on the host, then the kill. The GPUs were never used.",
        record=shared(2, 3.1, 12, state="OUT_OF_MEMORY", exit_code="0:125", job_name="featurise"),
        draw=lambda rng: [
            node(
                rng,
                hours(3.1),
                Load((0, 0), (0.01, 0.01)),
                host(rng, 4.2, 121, 14, 120, 2, 9, oom_kills=2, waits_s=(20, 130, 90)) | {"peak_memory_gb": 119.9},
                Seen(gpu_ids=(2, 3)),
            )
        ],
        efficiency_class="WASTED",
        must=codes("host_out_of_memory", "no_gpu_use"),
        sensible=Sensible(memory_min_gb=121, is_ready_to_resubmit=False),
    ),
    Case(
        name="pair_timeout_and_unused_cores",
        source="peers: TIMEOUT advice is lost beside other notes; LUMI billing page",
        story="Out of time with 32 cores beside one GPU, of which three worked.",
        record=shared(1, 12.002, 12, cores=32, memory_gb=60, tasks=1, state="TIMEOUT", job_name="train_sparse"),
        draw=lambda rng: [
            node(rng, hours(12.002), Load((89,), (27,)), host(rng, 3.0, 24, 32, 60, 1, 36), Seen(gpu_ids=(5,)))
        ],
        efficiency_class="EFFICIENT",
        must=codes("timeout", "cores_or_memory_beyond_share"),
        sensible=Sensible(
            gpus=(1,), cores_min=3, memory_min_gb=24, walltime_min_s=hours(12), is_ready_to_resubmit=False
        ),
    ),
)
