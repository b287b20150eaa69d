"""Machine-learning runs with idle ends, unequal GPUs, and GPUs that spin while they wait for each other."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import SPIN_W, UNUSED_GB, Host, Part, Shape, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_NODE = Host(11.8, 56, 8, 131.0, 480.0, threads=4.0)
_TRAIN = Shape(seconds(6.0), 8, steady(92.0), 47.0, _NODE)

_TAILS: tuple[Case, ...] = (
    Case(
        "scores_on_the_cpu_after_training",
        "Hu et al., NSDI'24: metric computation leaves GPUs idle at the end of evaluation jobs",
        "After 2.7 hours of training, 75 minutes of scoring generated text on one core. Two idle GPUs meanwhile.",
        small("summarise-ft", 2, 4.0, 5.0, tasks=2),
        run(
            Shape(
                seconds(4.0),
                2,
                (Part(0.02, 0.0), Part(0.67, 92.0), Part(0.31, 0.0)),
                43.0,
                Host(3.1, 14, 2, 52.0, 120.0, threads=3.0),
                gpu_ids=(0, 1),
            )
        ),
        "ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=fits(2, 52.0, 2.8),
    ),
    Case(
        "exception_then_quiet_hang",
        "LUMI, named mistakes: an idle hang after a crash is billed until the limit",
        "A Python exception ends the work at half time, the other processes wait in a socket, not on the GPU. "
        "The job idles into its time limit.",
        standard("bert-large", 1, 8.0, 8.0, state="TIMEOUT", exit_code="0:15"),
        run(replace(_TRAIN, used_s=seconds(8.0), parts=(Part(0.02, 0.0), Part(0.53, 93.0), Part(0.45, 0.0)))),
        "ACCEPTABLE",
        must=codes("idle_tail timeout"),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        "upload_of_checkpoints_at_the_end",
        "LUMI-O documentation: uploads from a compute job",
        "Forty minutes of upload to the object storage after 80 minutes of training on one GPU.",
        small("vae-train", 1, 2.1, 2.5, spelling="gpus"),
        run(
            Shape(
                seconds(2.1),
                1,
                (Part(0.03, 0.0), Part(0.64, 91.0), Part(0.33, 0.0, gb=UNUSED_GB)),
                24.0,
                Host(1.9, 7, 1, 18.0, 60.0),
                gpu_ids=(5,),
            )
        ),
        "ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=fits(1, 18.0, 1.35),
    ),
    Case(
        "notebook_left_open_after_training",
        "cbio-cluster#245, #261: interactive sessions left open, walltime is not the point there",
        "An hour of training in Jupyter, then an open notebook over lunch and the afternoon.",
        small("sys/dashboard/sys/jupyter", 1, 4.3, 6.0, state="CANCELLED"),
        run(
            Shape(
                seconds(4.3),
                1,
                (Part(0.03, 0.0), Part(0.25, 88.0), Part(0.72, 0.0, gb=31.0)),
                31.0,
                Host(0.9, 7, 1, 16.0, 60.0),
                gpu_ids=(1,),
            )
        ),
        "INEFFICIENT",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(1,), memory_min_gb=16.0),
    ),
    Case(
        "sleep_infinity_after_training",
        "Batch scripts that end in `sleep infinity` to keep a node for debugging",
        "Five of twelve hours train eight GPUs, the rest sleeps until the limit.",
        standard("train-and-hold", 1, 12.0, 12.0, state="TIMEOUT", exit_code="0:15"),
        run(
            replace(
                _TRAIN,
                used_s=seconds(12.0),
                parts=(Part(0.01, 0.0), Part(0.36, 92.0), Part(0.63, 0.0, gb=UNUSED_GB)),
                has_power=False,
            )
        ),
        "INEFFICIENT",
        must=codes("idle_tail timeout"),
        sensible=Sensible(gpus=(8,), walltime_min_s=seconds(4.4)),
    ),
    Case(
        "server_after_its_last_batch",
        "vLLM as a service inside a batch job: clients are done, the server stays",
        "Four GPUs serve one campaign of prompts for three hours and wait two more hours until cancelled.",
        small("vllm-campaign", 4, 5.1, 8.0, cores=28, spelling="gres", state="CANCELLED"),
        run(
            Shape(
                seconds(5.1),
                4,
                (Part(0.04, 0.0), Part(0.54, 94.0), Part(0.42, 0.0, gb=57.4)),
                57.4,
                Host(3.6, 28, 1, 61.0, 240.0, threads=5.0),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(4,), memory_min_gb=61.0, walltime_min_s=seconds(3.0)),
    ),
    Case(
        "burst_then_nothing",
        "jobstats#28: a short burst at the start defeats a rule that looks for 0 %",
        "A quarter of an hour of work at 94 %, then seven hours of an idle GPU.",
        small("feature-extract", 1, 7.2, 9.0),
        run(
            Shape(
                seconds(7.2),
                1,
                (Part(0.015, 0.0), Part(0.04, 94.0), Part(0.945, 0.0, gb=12.0)),
                12.0,
                Host(1.0, 7, 1, 15.0, 60.0),
                gpu_ids=(6,),
            )
        ),
        "WASTED",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(1,), memory_min_gb=15.0),
    ),
)

_UNEQUAL: tuple[Case, ...] = (
    Case(
        "data_parallel_with_a_heavy_gpu_0",
        "huggingface/transformers#279, mmf#190: nn.DataParallel gathers outputs and loss on GPU 0",
        "GPU 0 at 92 % with 58 GB, the other three at 45 % with half the memory: they wait for GPU 0.",
        small("dp-lxmert", 4, 5.7, 7.0, cores=28),
        run(
            Shape(
                seconds(5.7),
                4,
                steady((92.0, 45.0, 44.0, 46.0)),
                (57.5, 29.0, 29.0, 28.6),
                Host(5.6, 28, 1, 66.0, 240.0, threads=8.0),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(4,), memory_min_gb=66.0, walltime_min_s=seconds(5.7)),
    ),
    Case(
        "inference_shards_of_unequal_length",
        "Gao et al., ICSE'24; static shards of a corpus by file, not by size",
        "Eight workers, each with its own files. The shortest shard ends after a third of the time, one works alone "
        "at the end.",
        small("embed-corpus", 8, 6.9, 8.0, tasks=8, cores=56, memory_gb=480.0),
        run(
            replace(
                _TRAIN,
                used_s=seconds(6.9),
                parts=steady(94.0, 0.015),
                stops=(1.0, 0.42, 0.36, 0.55, 0.33, 0.66, 0.45, 0.78),
                gb=19.0,
            )
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(6, 8), memory_min_gb=131.0),
    ),
    Case(
        "uneven_experts",
        "Fedus et al., Switch Transformer: expert load without a balancing loss",
        "The router prefers few experts: GPUs from 30 to 95 % on one node, all day long.",
        standard("moe-8e", 1, 9.6, 11.0),
        run(
            replace(
                _TRAIN,
                used_s=seconds(9.6),
                parts=steady((95.0, 90.0, 57.0, 40.0, 88.0, 34.0, 61.0, 29.0), 0.015),
                gb=54.0,
            )
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=fits(8, 131.0, 9.6),
    ),
    Case(
        "uneven_pipeline_stages",
        "Narayanan et al., PipeDream, SOSP'19: a pipeline runs at the speed of its slowest stage",
        "Four stages cut by layer count: the first at 96 %, the last at 25 %.",
        small("pipe-4", 4, 5.3, 6.0, tasks=4, spelling="gres-type"),
        run(
            Shape(
                seconds(5.3),
                4,
                steady((96.0, 63.0, 58.0, 25.0)),
                (58.0, 49.0, 45.0, 51.0),
                Host(5.0, 28, 4, 72.0, 240.0),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(4,), memory_min_gb=72.0, walltime_min_s=seconds(5.3)),
    ),
    Case(
        "one_member_of_an_ensemble_crashed",
        "Jeon et al., Philly, ATC'19: single failures inside a job go unnoticed",
        "Four independent trainings in one job. The second dies after a fifth of the time, its GPU idles to the end.",
        small("ensemble-4", 4, 7.8, 9.0, tasks=4, spelling="per-task"),
        run(
            Shape(
                seconds(7.8),
                4,
                steady(96.0, 0.01),
                26.0,
                Host(8.8, 28, 4, 79.0, 240.0, threads=3.0),
                stops=(1.0, 0.2, 1.0, 0.995),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "EFFICIENT",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(4,), memory_min_gb=79.0, walltime_min_s=seconds(7.8)),
    ),
    Case(
        "sweep_whose_trials_end_one_by_one",
        "Ray Tune documentation: one trial a GPU and no queue of further trials",
        "Eight trials of different size, one after the other ends and its GPU is not used again. No stall, and not an "
        "idle tail either: some trial works until the end.",
        small("tune-grid", 8, 8.4, 10.0, tasks=8, cores=56, memory_gb=448.0, spelling="mem-per-cpu"),
        run(
            replace(
                _TRAIN,
                used_s=seconds(8.4),
                parts=steady(91.0, 0.01),
                stops=(0.31, 0.4, 0.47, 0.55, 0.6, 0.71, 0.86, 1.0),
                host=replace(_NODE, limit_gb=448.0),
                gb=17.0,
            )
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(6, 8), memory_min_gb=131.0),
    ),
    Case(
        "skewed_graph_partitions_on_two_nodes",
        "Zheng et al., DistDGL: METIS partitions without balanced training vertices",
        "One node got the dense part of the graph: 90 % there, 37 % on the other, throughout.",
        standard("distdgl-2n", 2, 4.6, 5.5, spelling="gres"),
        run(
            replace(_TRAIN, used_s=seconds(4.6), parts=steady(90.0), gb=51.0),
            replace(_TRAIN, used_s=seconds(4.6), parts=steady(37.0), gb=33.0),
        ),
        "ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(16,), walltime_min_s=seconds(4.6)),
    ),
)

_HANG = (Part(0.015, 0.0), Part(0.15, 93.0), Part(0.835, 100.0, SPIN_W))

_SPIN: tuple[Case, ...] = (
    Case(
        "deadlock_in_a_collective",
        "ROCm/device-metrics-exporter#34: 100 % while deadlocked in RCCL; ROCm/aws-ofi-rccl#16",
        "Good work for under an hour, then every GPU shows 100 % at idle-like power until the limit: an all-gather "
        "that never ends. 97 % mean use is no success.",
        standard("fsdp-13b-4n", 4, 6.0, 6.0, state="TIMEOUT", exit_code="0:15"),
        run(*(replace(_TRAIN, parts=_HANG, gb=56.0),) * 4),
        "EFFICIENT",
        must=codes("busy_but_waiting timeout"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "first_all_reduce_of_a_new_group",
        "lumi-ai-factory/laifs-container-recipes#44: 4 nodes, 32 ranks, the first all_reduce of a group never returns",
        "From the first minutes on, 32 GPUs spin at 100 % and 125 W a module. Cancelled after 2.4 hours.",
        standard("megatron-groups", 4, 2.4, 12.0, state="CANCELLED", spelling="gpus"),
        run(*(replace(_TRAIN, used_s=seconds(2.4), parts=steady(100.0, 0.04, heat_w=17.0), gb=6.4),) * 4),
        "EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "one_rank_dead_seven_spin",
        "clovaai/voxceleb_trainer#110: six or seven of eight GPUs at 100 %, the rest at 0 %, no progress",
        "Rank 3 dies after an hour. Its GPU is empty, the others wait for it in RCCL at 100 % until the limit.",
        standard("voxceleb", 1, 7.0, 7.0, state="TIMEOUT", exit_code="0:15", tasks=1, cores_per_task=56),
        run(
            replace(
                _TRAIN,
                used_s=seconds(7.0),
                parts=(Part(0.015, 0.0), Part(0.15, 91.0), Part(0.835, (100.0,) * 3 + (0.0,) + (100.0,) * 4, SPIN_W)),
                stops=(1.0,) * 3 + (0.165,) + (1.0,) * 4,
            )
        ),
        "EFFICIENT",
        must=codes("busy_but_waiting timeout"),
        may=codes("load_imbalance"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "collectives_over_plain_sockets",
        "LUMI EasyBuild, aws-ofi-rccl: without the plugin RCCL falls back to TCP; a user saw a factor of two",
        "Eight nodes, every GPU 97 % busy at 155 W a module: the kernels are the waiting all-reduce.",
        standard("llama3b-8n", 8, 10.5, 12.0),
        run(*(replace(_TRAIN, used_s=seconds(10.5), parts=steady(98.0, 0.015, heat_w=33.0), gb=52.0),) * 8),
        "EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "tensor_parallel_decode_of_single_prompts",
        "LUMI training ai-20251008 E08: 100 % use at low power; tensor parallel 8 with batch size one",
        "One prompt at a time over eight GPUs: small kernels and long waits in the all-reduce, 95 % at 150 W.",
        standard("tp8-chat", 1, 3.3, 4.0, tasks=1, cores_per_task=56),
        run(replace(_TRAIN, used_s=seconds(3.3), parts=steady(96.0, 0.04, heat_w=30.0), gb=57.0)),
        "EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "silent_wedge_on_64_nodes",
        "marin-community/marin#7344: 512 GPUs at 100 % for half an hour without an optimizer step",
        "512 GPUs stop at step 183. Heartbeats go on, use is 100 %, power falls to a third. Cancelled hours later.",
        standard("moe-hero-64n", 64, 5.4, 24.0, state="CANCELLED"),
        run(*(replace(_TRAIN, used_s=seconds(5.4), parts=_HANG, gb=58.0, samples=300),) * 64),
        "EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
)

CASES: tuple[Case, ...] = _TAILS + _UNEQUAL + _SPIN
