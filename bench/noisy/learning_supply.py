"""Machine-learning runs whose GPUs waited for cores or for data, or had nothing to do at the start or the end."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import BANDWIDTH_W, Host, Part, Shape, cycles, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_CORES: tuple[Case, ...] = (
    Case(
        "image_augmentation_on_seven_cores",
        "docs.csc.fi gpu-ml, multiple CPUs for data pre-processing; timm#36: CPU overloaded with workers",
        "Six workers and the main process keep seven cores at 96 %, the GPU gets a batch a third of the time.",
        small("aug-heavy", 1, 5.6, 7.0),
        run(Shape(seconds(5.6), 1, steady(34.0), 27.0, Host(6.75, 7, 1, 31.0, 60.0, threads=7.0), gpu_ids=(0,))),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=7, memory_min_gb=31.0, walltime_min_s=seconds(5.6), is_ready_to_resubmit=False),
    ),
    Case(
        "jpeg_decoding_on_a_full_node",
        "Mohan et al., VLDB'21: prep stalls of image models with few cores a GPU",
        "Eight ranks decode and crop on 55 of 56 cores; all GPUs hover around 31 %.",
        standard("resnet18-imagenet", 1, 4.9, 6.0),
        run(Shape(seconds(4.9), 8, steady(32.0), 24.0, Host(54.8, 56, 8, 204.0, 480.0, threads=7.0, cpu_pressure=0.1))),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=54, memory_min_gb=204.0, is_ready_to_resubmit=False),
    ),
    Case(
        "two_cores_for_each_gpu",
        "Gao et al., ICSE'24: data operations are 46 % of the causes; --cpus-per-task left at 2",
        "Two GPUs got four cores in all; loaders fill them and the GPUs reach 28 %.",
        small("clip-small", 2, 6.1, 7.0, tasks=2, cores=4, spelling="gpus"),
        run(Shape(seconds(6.1), 2, steady(28.0), 22.0, Host(3.9, 4, 2, 36.0, 120.0, threads=2.0), gpu_ids=(4, 5))),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=4, memory_min_gb=36.0, walltime_min_s=seconds(6.1), is_ready_to_resubmit=False),
    ),
    Case(
        "simulators_on_the_cores",
        "Petrenko et al., Sample Factory, ICML'20: environments on the CPU bound RL throughput",
        "Seven environment workers hold all cores; the policy network needs its GPU a fifth of the time.",
        small("ppo-envs", 1, 8.7, 10.0, spelling="mem-per-cpu", memory_gb=56.0),
        run(Shape(seconds(8.7), 1, steady(22.0, 0.01), 6.0, Host(6.85, 7, 1, 24.0, 56.0, threads=7.0), gpu_ids=(7,))),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=24.0, is_ready_to_resubmit=False),
    ),
    Case(
        "video_decoding_for_four_gpus",
        "PyTorchVideo and decord: decoding on the CPU; docs.csc.fi num_workers",
        "Four ranks decode video on 27.5 of 28 cores. GPUs at half use, evenly.",
        small("video-swin", 4, 7.2, 8.0, tasks=4),
        run(
            Shape(
                seconds(7.2),
                4,
                steady(51.5, 0.015),
                46.0,
                Host(27.5, 28, 4, 173.0, 240.0, threads=7.0, cpu_pressure=0.12),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=28, memory_min_gb=173.0, is_ready_to_resubmit=False),
    ),
    Case(
        "tokenising_in_the_collate_function",
        "Hugging Face tokenizers documentation: tokenise ahead of training",
        "Two nodes tokenise each batch anew. 54 of 56 cores busy on both, GPUs at 25 %.",
        standard("roberta-otf", 2, 6.6, 8.0),
        run(
            *(Shape(seconds(6.6), 8, steady(25.5), 29.0, Host(54.5, 56, 8, 151.0, 480.0, threads=7.0)),) * 2,
        ),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=108, is_ready_to_resubmit=False),
    ),
    Case(
        "neighbour_sampling_on_the_cpu",
        "Zheng et al., DistDGL: sampling on the CPU bounds GNN training",
        "Neighbours are sampled on the host: 27.6 of 28 cores, GPUs 24 %, no power read on this node.",
        small("graphsage", 4, 3.4, 4.0, tasks=4, spelling="gres"),
        run(
            Shape(
                seconds(3.4),
                4,
                steady(24.5, 0.03),
                18.0,
                Host(27.6, 28, 4, 205.0, 240.0, threads=7.0, cpu_pressure=0.08),
                has_power=False,
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=28, memory_min_gb=205.0, is_ready_to_resubmit=False),
    ),
)

_STALLS: tuple[Case, ...] = (
    Case(
        "cache_lost_after_the_first_quarter",
        "Mohan et al., VLDB'21: fetch stalls when the data no longer fit the page cache",
        "A quarter of the run at 91 %, then the page cache is full and the GPU waits for Lustre at 12 %.",
        small("seg3d", 1, 7.4, 9.0),
        run(
            Shape(
                seconds(7.4),
                1,
                (Part(0.02, 0.0), Part(0.25, 91.0), Part(0.73, 12.0)),
                38.0,
                Host(1.6, 7, 1, 58.0, 60.0, threads=5.0, iowait=0.34, io_pressure=0.64),
                gpu_ids=(2,),
            )
        ),
        "INEFFICIENT",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(1,), memory_min_gb=57.0, is_ready_to_resubmit=False),
    ),
    Case(
        "full_state_checkpoints_every_quarter_hour",
        "Mohan et al., CheckFreq, FAST'21; PyTorch FSDP: full state dict gathered and written by rank 0",
        "Each quarter of an hour all eight GPUs stop for about five minutes while one rank writes to Lustre.",
        standard("fsdp-7b", 1, 6.2, 7.0),
        run(
            Shape(
                seconds(6.2),
                8,
                steady(93.0),
                57.0,
                Host(6.1, 56, 8, 246.0, 480.0, iowait=0.02, io_pressure=0.31),
                dip_every_s=900,
                dip_length_s=310,
                samples=2600,
            )
        ),
        "ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=fits(8, 246.0, 6.2, is_ready_to_resubmit=False),
    ),
    Case(
        "ten_minutes_between_epochs",
        "mosaicml/streaming#643: around ten minutes of idle state after each epoch",
        "Twenty-five minutes of work, ten minutes without any, all day. Four GPUs fall together, the host is idle.",
        small("streaming-4", 4, 8.1, 9.0, tasks=4, spelling="gpus"),
        run(
            Shape(
                seconds(8.1),
                4,
                cycles(14, Part(0.69, 93.0), Part(0.31, 0.0), start=0.015),
                43.0,
                Host(2.9, 28, 4, 71.0, 240.0, threads=2.0, io_pressure=0.16, iowait=0.03),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=fits(4, 71.0, 8.1, is_ready_to_resubmit=False),
    ),
    Case(
        "random_reads_of_small_files",
        "LUMI AI guide 03-file-formats: many small files on Lustre; pack them",
        "Every seven minutes the loader runs dry for more than three. I/O wait takes a third of the cores.",
        small("cell-images", 1, 6.6, 8.0, spelling="gres-type"),
        run(
            Shape(
                seconds(6.6),
                1,
                steady(92.0),
                31.0,
                Host(2.2, 7, 1, 29.0, 60.0, threads=7.0, iowait=0.33, io_pressure=0.56),
                dip_every_s=430,
                dip_length_s=195,
                dip_to=2.0,
                samples=2600,
                gpu_ids=(6,),
            )
        ),
        "ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=fits(1, 29.0, 6.6, is_ready_to_resubmit=False),
    ),
    Case(
        "file_system_storms_on_four_nodes",
        "LUMI users' complaint of 2026: slow Lustre metadata; low GPU use may be the system's fault",
        "Half a dozen times all 32 GPUs stop for a quarter of an hour, with I/O pressure on all hosts.",
        standard("climax-4n", 4, 5.3, 6.0),
        run(
            *(
                Shape(
                    seconds(5.3),
                    8,
                    steady(92.0),
                    49.0,
                    Host(7.4, 56, 8, 190.0, 480.0, threads=4.0, iowait=0.12, io_pressure=0.37),
                    dip_every_s=2700,
                    dip_length_s=900,
                    dip_to=1.5,
                ),
            )
            * 4
        ),
        "ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=fits(32, 760.0, 5.3, is_ready_to_resubmit=False),
    ),
    Case(
        "node_memory_cache_full",
        "LUMI: /tmp is RAM and counts against job memory; reads go back to Lustre",
        "Two GPUs at 89 % while files come from /tmp, 21 % once they come from Lustre: a fall that lasts.",
        small("speech-ssl", 2, 9.3, 11.0, tasks=2),
        run(
            Shape(
                seconds(9.3),
                2,
                (Part(0.025, 0.0), Part(0.37, 89.0), Part(0.6, 21.0)),
                47.0,
                Host(1.7, 14, 2, 112.0, 120.0, threads=4.0, iowait=0.16, io_pressure=0.51),
                gpu_ids=(0, 1),
            )
        ),
        "ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(2,), memory_min_gb=111.0, is_ready_to_resubmit=False),
    ),
    Case(
        "streaming_from_object_storage",
        "LUMI-O object storage: data over the network, which no I/O wait shows",
        "The local copy of the first shards lasts for a fifth of the run. Then all eight GPUs drop to 8 % together "
        "and stay there; the host idles.",
        standard("webdataset-s3", 1, 5.0, 6.0),
        run(
            Shape(
                seconds(5.0),
                8,
                (Part(0.03, 0.0), Part(0.2, 93.0), Part(0.77, 8.5)),
                52.0,
                Host(4.4, 56, 8, 133.0, 480.0, threads=3.0, iowait=0.001, io_pressure=0.03),
            )
        ),
        "INEFFICIENT",
        must=codes("io_or_sync_stall"),
        sensible=fits(8, 133.0, 5.0, is_ready_to_resubmit=False),
    ),
)

_TRAIN = Shape(seconds(2.0), 8, steady(92.0), 45.0, Host(11.5, 56, 8, 127.0, 480.0, threads=4.0))

_STARTS: tuple[Case, ...] = (
    Case(
        "staging_for_forty_minutes",
        "Gao et al., ICSE'24: data copied inside the GPU job; LUMI AI guide 04-data-storage",
        "Forty-three minutes of copying and unpacking before the first step of a two-hour run.",
        standard("stage-train", 1, 2.0, 2.5),
        run(replace(_TRAIN, parts=(Part(0.36, 0.0), Part(0.64, 94.0)))),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(8, 127.0, 2.0),
    ),
    Case(
        "kernel_search_before_training",
        "ROCm/tensorflow-upstream#173, #451: a long wait before the first batch while MIOpen builds kernels",
        "Forty minutes of kernel compilation on one core, then 90 %. The cache was not kept.",
        small("unet3d-tf", 1, 2.2, 3.0),
        run(
            Shape(seconds(2.2), 1, (Part(0.31, 0.0), Part(0.69, 91.0)), 42.0, Host(1.5, 7, 1, 19.0, 60.0), gpu_ids=(3,))
        ),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(1, 19.0, 2.2),
    ),
    Case(
        "xla_compilation_of_a_large_graph",
        "JAX persistent compilation cache documentation; docs.jax.dev, 75 % preallocation",
        "JAX holds 48 GB on each GPU from the beginning and compiles for half an hour of a run of 95 minutes.",
        small("maxtext-4", 4, 1.6, 2.0, tasks=4, spelling="per-task"),
        run(
            Shape(
                seconds(1.6),
                4,
                (Part(0.02, 0.0), Part(0.3, 0.0, gb=48.0), Part(0.68, 93.0)),
                48.0,
                Host(6.0, 28, 4, 58.0, 240.0, threads=3.0),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(4, 58.0, 1.6),
    ),
    Case(
        "tokenise_then_train_in_one_job",
        "Hugging Face run_clm.py: datasets.map before training in the same job",
        "Tokenising on fifty cores for 80 minutes of a three-hour job; only then do the eight GPUs start.",
        standard("run-clm", 1, 3.0, 3.5, tasks=1, cores_per_task=56),
        run(
            replace(
                _TRAIN,
                used_s=seconds(3.0),
                parts=(Part(0.45, 0.0), Part(0.55, 94.0)),
                host=Host(28.0, 56, 8, 260.0, 480.0, threads=6.0),
            )
        ),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(8, 260.0, 3.0),
    ),
    Case(
        "four_nodes_wait_for_each_other",
        "Hu et al., NSDI'24: job start overheads; containers from Lustre on many nodes",
        "Half an hour until the last rank has imported its Python files from Lustre, then 93 %.",
        standard("conda-on-lustre", 4, 1.7, 2.0, spelling="gres"),
        run(*(replace(_TRAIN, used_s=seconds(1.7), parts=(Part(0.3, 0.0), Part(0.7, 93.5))),) * 4),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(32, 500.0, 1.7),
    ),
    Case(
        "weights_of_70b_from_lustre",
        "vLLM documentation, model loading; LUMI users on slow reads of safetensors",
        "Twenty-seven minutes to read 140 GB of weights into eight GPUs, then 50 minutes of generation.",
        standard("llama70b-batch", 1, 1.35, 1.6),
        run(
            replace(
                _TRAIN,
                used_s=seconds(1.35),
                parts=(Part(0.1, 0.0), Part(0.24, 0.0, gb=17.5), Part(0.66, 95.5, BANDWIDTH_W, gb=57.0)),
                gb=57.0,
                host=Host(5.2, 56, 8, 188.0, 480.0, iowait=0.03, io_pressure=0.09),
            )
        ),
        "ACCEPTABLE",
        must=codes("late_start"),
        sensible=fits(8, 188.0, 1.35),
    ),
)

CASES: tuple[Case, ...] = _CORES + _STALLS + _STARTS
