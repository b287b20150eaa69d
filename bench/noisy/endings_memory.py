"""Runs that ended, or did not end, because host memory ran out."""

from __future__ import annotations

from typing import Any

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, host, node
from bench.noisy.requests_records import codes, hours, shared, whole

KILLED: dict[str, Any] = {"state": "OUT_OF_MEMORY", "exit_code": "0:125"}


def _one_reader(rng: Rng) -> list[Node]:
    """Four nodes of which only the first gathers all fields in its host memory."""
    first = node(
        rng,
        hours(3.6),
        Load((88,) * 8, (41,) * 8),
        host(rng, 12.4, 478, oom_kills=2, waits_s=(8, 61, 44)) | {"peak_memory_gb": 479.6},
    )
    return [first] + [node(rng, hours(3.6), Load((88,) * 8, (41,) * 8), host(rng, 8.3, 128)) for _ in range(3)]


CASES: tuple[Case, ...] = (
    Case(
        name="host_oom_after_hours_of_leaking_loaders",
        source="InternLM/InternEvo#415: host memory grows with DataLoader workers until the kill",
        story="One GPU trained well for five hours until the workers' copies filled the 60 GB.",
        record=shared(1, 5.63, 12, job_name="train_clip", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                hours(5.63),
                Load((86,), (38,)),
                host(rng, 5.1, 61, 7, 60, 1, 22, oom_kills=1, waits_s=(11, 83, 29)) | {"peak_memory_gb": 59.97},
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(memory_min_gb=61, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_with_the_default_memory",
        source="LUMI AI guide 04: only 64 GB unless --mem is given on small-g",
        story="Two GPUs, no --mem, so 64 GB a node. The data set did not fit and the kernel killed the loader.",
        record=shared(2, 0.371, 4, memory_gb=64, asked={"--mem": None}, job_name="load_era5", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                hours(0.371),
                Load((0, 0), (0.4, 0.4)),
                host(rng, 3.2, 66, 14, 64, 2, 9, iowait=0.05, oom_kills=1, waits_s=(3, 40, 150))
                | {"peak_memory_gb": 63.99},
                Seen(gpu_ids=(2, 3)),
            )
        ],
        efficiency_class="WASTED",
        must=codes("host_out_of_memory"),
        may=codes("no_gpu_use"),
        sensible=Sensible(memory_min_gb=65, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_and_no_summary_arrived",
        source="PyTorch #8976: worker killed; the node's collector died in the same memory squeeze",
        story="Nothing was measured. The state names the cause, and the request names the memory that was too small.",
        record=shared(4, 1.27, 8, memory_gb=100, asked={"--mem": "100G"}, job_name="graphcast", **KILLED),
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
        must=codes("host_out_of_memory"),
        sensible=Sensible(memory_min_gb=101, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_on_a_whole_node",
        source="usnistgov/alignn#93: 500 GB and still out of memory; every rank loads the whole set",
        story="Eight ranks each kept a copy of the data; 480 GB is all a node has.",
        record=whole(1, 2.84, 6, job_name="alignn", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                hours(2.84),
                Load((84,) * 8, (29,) * 8),
                host(rng, 17.7, 482, oom_kills=4, waits_s=(20, 140, 60)) | {"peak_memory_gb": 479.9},
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(gpus=(8, 16), memory_min_gb=480, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_shows_only_in_kernel_kills",
        source="open-mmlab/mmdetection#2406: DataLoader worker killed by signal, the program exits with 1",
        story="The kernel killed workers, Python raised, Slurm reports FAILED. The kills name the cause.",
        record=shared(4, 4.2, 10, state="FAILED", exit_code="1:0", job_name="mmdet"),
        draw=lambda rng: [
            node(
                rng,
                hours(4.2),
                Load((87,) * 4, (42,) * 4),
                host(rng, 15.9, 241, 28, 240, 4, 18, oom_kills=3, waits_s=(40, 88, 31)) | {"peak_memory_gb": 239.98},
                Seen(gpu_ids=(0, 1, 2, 3)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(memory_min_gb=241, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_on_the_node_of_rank_zero",
        source="LUMI training: rank 0 gathers the output of all; peers: per-node memory is hidden by averages",
        story="Three nodes use a quarter of their memory, the first one was full: rank 0 collects all fields.",
        record=whole(4, 3.6, 8, job_name="nemo_gpu", **KILLED),
        draw=_one_reader,
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(gpus=(32,), memory_min_gb=1900, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_with_less_memory_than_comes_free",
        source="LUMI responsible use 2023-08: 60 GB come with each GPU at no extra cost",
        story="16 GB were requested beside a GPU that brings 60. The next request may use what is paid for anyway.",
        record=shared(1, 0.86, 3, memory_gb=16, asked={"--mem": "16G"}, job_name="whisper_infer", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                hours(0.86),
                Load((91,), (12,), start=0.05),
                host(rng, 2.1, 17, 7, 16, 1, 8, oom_kills=1, waits_s=(1, 22, 9)) | {"peak_memory_gb": 15.99},
                Seen(gpu_ids=(7,)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(gpus=(1,), memory_min_gb=17, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_within_four_minutes",
        source="FoNDUE-HTR/Documentation#5: srun task 0 Out Of Memory soon after the start",
        story="Killed while reading the corpus, three and a half minutes in. GPU use means nothing yet.",
        record=shared(1, 0.0583, 2, memory_gb=32, asked={"--mem": "32G"}, job_name="ketos", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                210,
                Load((0,), (0.02,)),
                host(rng, 1.1, 33, 7, 32, 1, 3, oom_kills=1, waits_s=(0, 12, 40)) | {"peak_memory_gb": 31.98},
            )
        ],
        efficiency_class="WASTED",
        must=codes("host_out_of_memory"),
        sensible=Sensible(memory_min_gb=33, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_oom_with_many_unused_cores",
        source="LUMI user scripts: --cpus-per-task far above 7 with --mem left at the share of the GPU",
        story="Two real problems: 32 cores raise the bill fourfold and 2 worked, while 60 GB of memory were too few.",
        record=shared(1, 2.3, 6, cores=32, memory_gb=60, job_name="scvi", **KILLED),
        draw=lambda rng: [
            node(
                rng,
                hours(2.3),
                Load((82,), (27,)),
                host(rng, 2.0, 61, 32, 60, 1, 6, oom_kills=1, waits_s=(1, 55, 12)) | {"peak_memory_gb": 59.99},
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory", "cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=61, is_ready_to_resubmit=False),
    ),
    Case(
        name="host_memory_full_of_page_cache",
        source="peers: jobstats#57 (page cache: accounting shows 99.8 %, the program needs little)",
        story="Memory touches its limit because files stay cached. Nothing was killed, nothing waited: a healthy run.",
        record=shared(1, 9.4, 12, job_name="train_unet"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.4),
                Load((93,), (45,)),
                host(rng, 4.4, 61, 7, 60, 1, 15) | {"peak_memory_gb": 59.95},
                Seen(gpu_ids=(5,)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), memory_min_gb=59),
    ),
    Case(
        name="host_memory_high_on_a_whole_node_and_fine",
        source="LUMI AI guide: caching the data set in host memory is advised for slow file systems",
        story="The data set sits in host memory on purpose, 455 of 480 GB. Nothing was killed: a healthy run.",
        record=whole(2, 7.7, 10, job_name="cached_vit"),
        draw=lambda rng: [
            node(rng, hours(7.7), Load((94,) * 8, (49,) * 8, start=0.035), host(rng, 14.2, 455)) for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,), memory_min_gb=900),
    ),
)
