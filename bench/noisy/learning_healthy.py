"""Machine-learning runs that deserve no finding, in disguises that a simple rule would flag."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case
from bench.noisy.learning_draw import BANDWIDTH_W, COMPUTE_W, Host, Part, Shape, cycles, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_NODE = Host(14.2, 56, 8, 118.4, 480.0, threads=4.0)
_DDP = Shape(seconds(3.4), 8, steady(92.5), 41.7, _NODE)
_PRETRAIN = Shape(seconds(22.1), 8, steady(91.0, 0.012), 52.3, Host(11.3, 56, 8, 163.0, 480.0, threads=2.0), 1100)

CASES: tuple[Case, ...] = (
    Case(
        "ddp_full_node_clean",
        "LUMI AI guide 05-multi-gpu-and-node; docs.csc.fi/support/tutorials/ml-multi",
        "One node, torchrun with eight ranks, four minutes of imports and data opening, then even work to the end.",
        standard("resnet-ddp", 1, 3.4, 4.0),
        run(_DDP),
        "EFFICIENT",
        sensible=fits(8, 118.0, 3.4),
    ),
    Case(
        "ddp_short_checkpoints",
        "Mohan et al., CheckFreq, FAST'21: checkpoints every half an hour cost well under a minute",
        "Checkpoints of 35 s every half hour pull all GPUs to zero together. That is the price of safety, not a stall.",
        standard("vit-large", 1, 7.6, 9.0, spelling="gres"),
        run(replace(_DDP, used_s=seconds(7.6), dip_every_s=1800, dip_length_s=35, samples=2600)),
        "EFFICIENT",
        sensible=fits(8, 118.0, 7.6),
    ),
    Case(
        "validation_after_every_epoch",
        "huggingface/pytorch-image-models#36: idle time at the change between training and validation",
        "Every 14 minutes two minutes of validation at half the GPU use. A different phase of the program, no stall.",
        small("timm-finetune", 4, 2.8, 3.5, tasks=4, spelling="gpus"),
        run(
            Shape(
                seconds(2.8),
                4,
                cycles(11, Part(0.86, 93), Part(0.14, 48), start=0.025),
                33.0,
                Host(13.9, 28, 4, 61.0, 240.0, threads=6.0),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "EFFICIENT",
        sensible=fits(4, 61.0, 2.8),
    ),
    Case(
        "pretraining_16_nodes_3d_parallel",
        "Narayanan et al., Megatron-LM, SC'21; Dash et al. 2023 (arXiv:2312.12705) on Frontier's MI250X",
        "Tensor parallel 8, pipeline 4, data 4: first and last stage a few points off, checkpoints of two minutes "
        "every three hours. One node's clock started five minutes late.",
        standard("gpt-22b-tp8-pp4", 16, 22.1, 24.0),
        run(
            *(
                replace(_PRETRAIN, parts=steady(busy, 0.012), dip_every_s=10800, dip_length_s=120, late_clock_s=late_s)
                for busy, late_s in [(88.0, 0.0)] * 4 + [(92.5, 0.0)] * 7 + [(92.5, 300.0)] + [(86.5, 0.0)] * 4
            )
        ),
        "EFFICIENT",
        sensible=fits(128, 1800.0, 22.1),
    ),
    Case(
        "pretraining_128_nodes",
        "Luukkonen et al., Poro 34B on LUMI (arXiv:2404.01856); Meta Llama 3 herd on interruptions",
        "1024 GPUs for eleven hours, all within a few points; ten minutes of container and checkpoint loading.",
        standard("poro-pretrain", 128, 11.2, 12.0),
        run(*(replace(_PRETRAIN, used_s=seconds(11.2), samples=300, dip_every_s=7200, dip_length_s=150),) * 128),
        "EFFICIENT",
        sensible=fits(1024, 14000.0, 11.2),
    ),
    Case(
        "lora_one_gpu_without_power",
        "LUMI AI guide 01: one GPU on small-g; power is read for whole modules only",
        "One GPU of a module shared with somebody else: no power, and nothing else is missing.",
        small("lora-8b", 1, 5.7, 7.0),
        run(
            Shape(
                seconds(5.7), 1, steady(88.0, 0.015), 47.9, Host(1.6, 7, 1, 34.0, 60.0), gpu_ids=(5,), has_power=False
            )
        ),
        "EFFICIENT",
        sensible=fits(1, 34.0, 5.7),
    ),
    Case(
        "sweep_trials_end_close_together",
        "Ray Tune documentation, FIFOScheduler: trials of equal budget",
        "Eight trials, one a GPU, of nearly equal length: the last ones end within the final tenth of the run.",
        small("tune-equal", 8, 4.6, 6.0, cores=56, spelling="exclusive", memory_gb=480.0),
        run(
            Shape(
                seconds(4.6),
                8,
                steady(89.0),
                21.0,
                Host(22.0, 56, 8, 142.0, 480.0, threads=3.0),
                stops=(0.985, 0.94, 1.0, 0.97, 0.99, 0.93, 0.96, 1.0),
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 142.0, 4.6),
    ),
    Case(
        "jax_preallocates_three_quarters",
        "docs.jax.dev, GPU memory allocation: 75 % is taken at the first operation",
        "GPU memory stands flat at 48 GB from the first operation on, whatever the program needs.",
        small("flax-unet", 2, 3.1, 4.0, tasks=2, spelling="gres-type"),
        run(
            Shape(
                seconds(3.1),
                2,
                steady(91.0, 0.05),
                48.0,
                Host(3.9, 14, 2, 41.0, 120.0),
                gpu_ids=(2, 3),
                lost_fraction=0.03,
            )
        ),
        "EFFICIENT",
        sensible=fits(2, 41.0, 3.1),
    ),
    Case(
        "tensorflow_takes_all_memory_and_works",
        "job_defense_shield#2: memory full says little with TensorFlow; TensorFlow guide, limiting GPU memory growth",
        "TensorFlow maps nearly all GPU memory by design and keeps the GPU at 90 %. A report cannot know that the "
        "memory is only reserved, so naming it is acceptable; nothing else is.",
        small("tf-segmentation", 1, 6.3, 8.0, spelling="mem-per-cpu", memory_gb=56.0),
        run(Shape(seconds(6.3), 1, steady(90.5), 62.7, Host(4.2, 7, 1, 37.0, 56.0, threads=5.0), gpu_ids=(3,))),
        "EFFICIENT",
        may=codes("gpu_memory_pressure"),
        sensible=fits(1, 37.0, 6.3),
    ),
    Case(
        "one_busy_core_per_rank_is_waiting",
        "AMD HIP runtime: a process waits for its GPU in a spin; Princeton jobstats, low CPU note not for GPU jobs",
        "Eight ranks, each with one core at 100 % (HIP waiting) and six quiet ones. The GPUs are full.",
        standard("gpt-neox-1n", 1, 9.4, 12.0),
        run(replace(_DDP, used_s=seconds(9.4), host=Host(8.6, 56, 8, 96.0, 480.0))),
        "EFFICIENT",
        sensible=fits(8, 96.0, 9.4),
    ),
    Case(
        "all_cores_busy_and_gpus_full",
        "docs.csc.fi gpu-ml: num_workers equals the cores of the GPU",
        "The loaders use 54 of 56 cores, and the GPUs stay at 91 %: the cores just suffice.",
        standard("imagenet-aug", 1, 4.1, 5.0),
        run(
            replace(
                _DDP,
                used_s=seconds(4.1),
                host=Host(54.1, 56, 8, 233.0, 480.0, threads=7.0, cpu_pressure=0.09),
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 233.0, 4.1, cores_min=54),
    ),
    Case(
        "io_pressure_hidden_by_prefetch",
        "Mohan et al., Analyzing and mitigating data stalls in DNN training, VLDB'21: prefetch hides fetch stalls",
        "Loader processes wait for Lustre half of the time, prefetching hides it: GPUs at 88 % throughout.",
        small("video-mae", 4, 5.2, 6.0, tasks=4),
        run(
            Shape(
                seconds(5.2),
                4,
                steady(88.5),
                44.0,
                Host(9.0, 28, 4, 131.0, 240.0, threads=7.0, iowait=0.21, io_pressure=0.52),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "EFFICIENT",
        sensible=fits(4, 131.0, 5.2),
    ),
    Case(
        "bandwidth_bound_decoding",
        "Kwon et al., vLLM, SOSP'23: decoding is bound by memory bandwidth; vLLM gpu_memory_utilization 0.9",
        "Batched offline generation: 95 % busy at 310 W a module because decoding reads weights, not because it waits. "
        "57 GB of GPU memory is vLLM's own reservation.",
        small("vllm-offline", 2, 2.4, 3.0, spelling="gpus"),
        run(
            Shape(
                seconds(2.4),
                2,
                steady(95.5, 0.05, heat_w=BANDWIDTH_W),
                57.2,
                Host(2.9, 14, 1, 52.0, 120.0, threads=3.0),
                gpu_ids=(6, 7),
            )
        ),
        "EFFICIENT",
        sensible=fits(2, 52.0, 2.4),
    ),
    Case(
        "rl_fast_alternation_well_packed",
        "RollPacker (arXiv:2509.21009): rollout and learning alternate; here rollouts are batched well",
        "Rollout at 72 % and learning at 94 % follow each other every few minutes. Mean well above 70 %.",
        standard("grpo-7b", 1, 10.7, 12.0),
        run(
            replace(
                _DDP,
                used_s=seconds(10.7),
                parts=cycles(50, Part(0.55, 72, BANDWIDTH_W), Part(0.45, 94), start=0.02),
                gb=55.0,
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 118.0, 10.7),
    ),
    Case(
        "pipeline_bubbles_even_over_stages",
        "Huang et al., GPipe, NeurIPS'19: bubble share (K-1)/(M+K-1)",
        "Eight stages, 32 micro-batches: every GPU idles a fifth of each step, all alike and for a short moment.",
        standard("gpipe-13b", 1, 6.8, 8.0, tasks=8),
        run(
            replace(
                _DDP,
                used_s=seconds(6.8),
                parts=steady((79, 80, 81, 81, 81, 80, 80, 77)),
                gb=58.0,
                grain=0.75,
                spread=1.0,
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 118.0, 6.8),
    ),
    Case(
        "one_silent_node_of_four",
        "peers: jobstats, 'None if no data'; a node whose collector sent nothing",
        "Three of four nodes reported, all full. The fourth is unknown, not idle.",
        standard("clip-4n", 4, 5.5, 6.0),
        run(*(replace(_DDP, used_s=seconds(5.5)),) * 3),
        "EFFICIENT",
        sensible=fits(32, 350.0, 5.5),
    ),
    Case(
        "many_lost_samples",
        "peers: sonar #245, omnistat gaps; a busy system-management unit drops reads",
        "A tenth of all samples is lost, one GPU misses more. What was read is full.",
        small("diffusion", 8, 3.7, 5.0, tasks=8, spelling="per-task"),
        run(
            Shape(
                seconds(3.7),
                8,
                steady(90.0),
                49.0,
                Host(12.0, 56, 8, 133.0, 480.0, threads=4.0),
                lost_fraction=0.1,
                late_clock_s=240,
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 133.0, 3.7),
    ),
    Case(
        "slow_start_of_a_long_run",
        "peers: late start is a share of the run, not a number of minutes",
        "Eighteen minutes of staging and compiling before ten hours of work: under a thirtieth of the run.",
        small("whisper-ft", 2, 10.3, 12.0, tasks=2, spelling="mem-per-cpu", memory_gb=112.0),
        run(Shape(seconds(10.3), 2, steady(87.0, 0.03), 39.0, Host(6.8, 14, 2, 77.0, 112.0, threads=6.0))),
        "EFFICIENT",
        sensible=fits(2, 77.0, 10.3),
    ),
    Case(
        "notebook_used_well",
        "cbio-cluster#245: 'too stringent', interactive sessions flagged; #261: no walltime warnings for them",
        "A Jupyter session that trains nearly all of the time and is closed two hours before its limit.",
        small("sys/dashboard/sys/jupyter", 1, 2.1, 8.0),
        run(
            Shape(
                seconds(2.1),
                1,
                cycles(5, Part(0.9, 93), Part(0.1, 8), start=0.04),
                28.0,
                Host(1.9, 7, 1, 21.0, 60.0),
                gpu_ids=(2,),
            )
        ),
        "EFFICIENT",
        sensible=fits(1, 21.0, 2.1),
    ),
    Case(
        "two_gpus_one_a_little_fuller",
        "data/traces wb-e (kingston-aditya/PRISM): two GPUs at 78 and 93 %",
        "Rank 0 also writes logs and pictures: 79 against 93 %. Every data-parallel run has some of this.",
        small("prism-train", 2, 4.2, 5.0, tasks=2),
        run(Shape(seconds(4.2), 2, steady((79.0, 94.0)), (37.0, 35.0), Host(4.4, 14, 2, 44.0, 120.0, threads=4.0))),
        "EFFICIENT",
        sensible=fits(2, 44.0, 4.2),
    ),
    Case(
        "teacher_then_student",
        "Hinton et al., distillation; two phases of one program are no stall",
        "The teacher trains at 96 % for 45 % of the time, then the smaller student at 76 %: two programs in one job.",
        small("distil", 4, 6.6, 8.0, tasks=4, spelling="gres"),
        run(
            Shape(
                seconds(6.6),
                4,
                (Part(0.02, 0), Part(0.44, 96), Part(0.54, 76, gb=22.0)),
                51.0,
                Host(7.7, 28, 4, 88.0, 240.0, threads=3.0),
            )
        ),
        "EFFICIENT",
        sensible=fits(4, 88.0, 6.6),
    ),
    Case(
        "length_bucketed_batches",
        "fairseq documentation, --max-tokens and bucketing: batches from short to long",
        "Short sentences first: use climbs from 70 to 99 % in every epoch, again and again.",
        small("nmt-bucketed", 1, 8.2, 10.0),
        run(
            Shape(
                seconds(8.2),
                1,
                cycles(9, Part(0.3, 71), Part(0.4, 87), Part(0.3, 98), start=0.01),
                55.0,
                Host(2.6, 7, 1, 26.0, 60.0, threads=3.0),
                gpu_ids=(0,),
                samples=2500,
            )
        ),
        "EFFICIENT",
        sensible=fits(1, 26.0, 8.2),
    ),
    Case(
        "asynchronous_rl_two_pools",
        "Hugging Face survey of 16 RL libraries (2026): generation and training on separate pools",
        "Four GPUs generate at 92 % with little power, four learn at 81 %. Two roles, both busy.",
        standard("async-grpo", 1, 11.1, 12.0),
        run(
            replace(
                _DDP,
                used_s=seconds(11.1),
                parts=steady((92, 93, 92, 91, 82, 80, 81, 82), heat_w=(BANDWIDTH_W,) * 4 + (COMPUTE_W,) * 4),
                gb=(57, 57, 57, 57, 44, 44, 44, 44),
                host=Host(19.7, 56, 8, 201.0, 480.0, threads=4.0),
            )
        ),
        "EFFICIENT",
        sensible=fits(8, 201.0, 11.1),
    ),
    Case(
        "debug_run_on_dev_g",
        "LUMI user guide, partitions: dev-g is for debugging",
        "Twenty-four minutes of a 30 minute slot: two minutes of imports, then a full epoch at 85 %.",
        small("debug-epoch", 1, 0.4, 0.5, partition="dev-g", spelling="gpus"),
        run(Shape(seconds(0.4), 1, steady(88.0, 0.07), 30.0, Host(2.2, 7, 1, 17.0, 60.0), gpu_ids=(1,))),
        "EFFICIENT",
        sensible=fits(1, 17.0, 0.4),
    ),
    Case(
        "evaluation_with_short_tail",
        "Hu et al., Characterization of LLM development in the datacenter, NSDI'24: evaluation after training",
        "The last eleven minutes of four hours compute scores on the CPU: a twentieth of the run.",
        small("train-eval", 8, 4.0, 4.5, tasks=8, cores=56, memory_gb=480.0, spelling="exclusive"),
        run(replace(_DDP, used_s=seconds(4.0), parts=(Part(0.02, 0), Part(0.935, 91), Part(0.045, 0)))),
        "EFFICIENT",
        sensible=fits(8, 118.0, 4.0),
    ),
    Case(
        "rare_clock_limits",
        "LUMI training ai-20251008 E08: a node-level limiter may hold a full module a bit below 500 W",
        "Full modules at 430 W touch the limit for one sample in a hundred: normal operation.",
        standard("gemm-heavy", 2, 8.8, 10.0),
        run(*(replace(_DDP, used_s=seconds(8.8), parts=steady(96.0), throttled_fraction=0.01),) * 2),
        "EFFICIENT",
        sensible=fits(16, 230.0, 8.8),
    ),
)
