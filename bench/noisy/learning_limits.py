"""Machine-learning runs that met a limit: GPU memory, host memory, cores, time, clocks, or a failing node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import Host, Part, Shape, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_NODE = Host(12.6, 56, 8, 138.0, 480.0, threads=4.0)
_TRAIN = Shape(seconds(5.0), 8, steady(92.0), 47.0, _NODE, dip_every_s=2700, dip_length_s=40)
_ONE = Shape(seconds(5.0), 1, steady(90.0), 33.0, Host(2.3, 7, 1, 27.0, 60.0, threads=3.0), gpu_ids=(2,))
_FOUR = Shape(seconds(5.0), 4, steady(91.0), 40.0, Host(7.9, 28, 4, 83.0, 240.0, threads=3.0), gpu_ids=(0, 1, 2, 3))
_FAILED: dict[str, Any] = {"state": "FAILED", "exit_code": "1:0"}

_PRESSURE: tuple[Case, ...] = (
    Case(
        "fsdp_fills_eight_gpus",
        "PyTorch FSDP documentation; batch raised until it just fits",
        "All eight GPUs peak within a gigabyte of their memory; use is fine. A longer sequence would fail.",
        standard("fsdp-13b", 1, 5.0, 6.0),
        run(replace(_TRAIN, gb=62.8)),
        "EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=fits(8, 138.0, 5.0),
    ),
    Case(
        "long_contexts_on_one_gpu",
        "PyTorch caching allocator: reserved memory grows with the longest sequence seen",
        "Memory climbs from 55 to 63 GB as longer documents come.",
        small("longformer-ft", 1, 5.0, 6.0),
        run(replace(_ONE, gb=54.9, creep_gb=8.1)),
        "EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(memory_min_gb=27.0, walltime_min_s=seconds(5.0)),
    ),
    Case(
        "slow_leak_that_just_fits",
        "PyTorch FAQ: accumulating losses with their graphs leaks GPU memory",
        "Two GPUs go from 34 to 63 GB within nine hours, in a straight line. Ten hours would have failed.",
        small("leaky-gan", 2, 9.0, 11.0, tasks=2, spelling="gres"),
        run(
            Shape(
                seconds(9.0),
                2,
                steady(87.0, 0.01),
                34.0,
                Host(3.6, 14, 2, 49.0, 120.0),
                creep_gb=29.0,
                gpu_ids=(4, 5),
            )
        ),
        "EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(memory_min_gb=49.0, walltime_min_s=seconds(9.0)),
    ),
    Case(
        "first_stage_holds_the_embeddings",
        "Narayanan et al., Megatron-LM, SC'21: embeddings and in-flight micro-batches burden the first stage",
        "Four evenly busy stages; the first has 63 of 64 GB, the others around 45.",
        small("pp4-lm", 4, 5.0, 6.0, tasks=4, spelling="gpus"),
        run(replace(_FOUR, gb=(62.9, 46.0, 43.5, 47.7))),
        "EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=fits(4, 83.0, 5.0),
    ),
    Case(
        "two_nodes_at_the_brim",
        "Dash et al. 2023 (arXiv:2312.12705): micro-batch size chosen by memory on MI250X",
        "Sixteen GPUs between 62 and 63.5 GB, with good use and no power reading on the second node.",
        standard("gpt-6b-2n", 2, 5.0, 6.0),
        run(replace(_TRAIN, gb=62.7), replace(_TRAIN, gb=63.2, has_power=False)),
        "EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=fits(16, 270.0, 5.0),
    ),
    Case(
        "heavy_gpu_0_near_its_memory",
        "EpipolarPose#22: DataParallel with 10.8 of 12.2 GB on the first GPU and 3.7 GB on the others",
        "nn.DataParallel: GPU 0 at 95 % with 63 GB, the others at 43 % with 25 GB.",
        small("pose-dp", 4, 5.0, 6.0, cores=28),
        run(replace(_FOUR, parts=steady((95.0, 43.0, 42.0, 44.0)), gb=(62.9, 25.0, 25.0, 25.2))),
        "ACCEPTABLE",
        must=codes("load_imbalance gpu_memory_pressure"),
        sensible=fits(4, 83.0, 5.0),
    ),
)

_LAST = 0.006


def _until_full(busy: float, start: float = 0.03) -> tuple[Part, ...]:
    """Work that ends within seconds of the memory being full."""
    return (Part(start, 0.0), Part(1.0 - start - _LAST, busy), Part(_LAST, busy, gb=63.85))


_OUT: tuple[Case, ...] = (
    Case(
        "out_of_memory_at_the_longest_sequence",
        "Zhang et al., Program failures of deep learning jobs, ICSE'20: GPU memory among the top causes",
        "Forty minutes at 88 %, then one long batch: the program dies with the memory full.",
        small("t5-ft", 1, 0.66, 4.0, **_FAILED),
        run(replace(_ONE, used_s=seconds(0.66), parts=_until_full(91.0), gb=52.0)),
        "EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(gpus=(1, 2), memory_min_gb=27.0, is_ready_to_resubmit=False),
    ),
    Case(
        "out_of_memory_in_the_first_validation",
        "PyTorch FAQ: evaluation without no_grad",
        "Four GPUs train for half an hour; the first validation batch without no_grad does not fit.",
        small("swin-4", 4, 0.55, 8.0, tasks=4, spelling="per-task", **_FAILED),
        run(replace(_FOUR, used_s=seconds(0.55), parts=_until_full(92.0, 0.05), gb=47.0)),
        "EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(gpus=(4, 8), memory_min_gb=83.0, is_ready_to_resubmit=False),
    ),
    Case(
        "leak_until_out_of_memory",
        "PyTorch FAQ: history accumulated over the training loop",
        "Three hours of slow growth on eight GPUs, then all of them are full and the job fails.",
        standard("unet-leak", 1, 3.1, 12.0, **_FAILED),
        run(replace(_TRAIN, used_s=seconds(3.1), parts=_until_full(91.0), gb=36.0, creep_gb=27.7)),
        "EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(gpus=(8, 16), is_ready_to_resubmit=False),
    ),
    Case(
        "out_of_memory_while_saving",
        "huggingface/transformers#23386, llama-cookbook#45: full state dict gathered on the GPU at the first save",
        "Two nodes train well; at the first checkpoint the parameters of all ranks are gathered on rank 0.",
        standard("fsdp-30b-2n", 2, 1.4, 24.0, **_FAILED),
        run(
            replace(
                _TRAIN,
                used_s=seconds(1.4),
                parts=(Part(0.04, 0.0), Part(0.95, 93.0), Part(0.01, 88.0, gb=(63.9,) + (51.0,) * 7)),
                gb=51.0,
            ),
            replace(_TRAIN, used_s=seconds(1.4), parts=(Part(0.04, 0.0), Part(0.95, 93.0), Part(0.01, 88.0)), gb=51.0),
        ),
        "EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(gpus=(16, 24, 32), is_ready_to_resubmit=False),
    ),
    Case(
        "key_value_cache_does_not_fit",
        "vLLM issues: out of memory with long prompts beside another model on the same GPU",
        "Generation with two models on each of two GPUs runs for an hour until a long prompt.",
        small("judge-and-gen", 2, 1.1, 6.0, tasks=2, spelling="mem-per-cpu", memory_gb=112.0, **_FAILED),
        run(
            Shape(
                seconds(1.1),
                2,
                _until_full(86.0, 0.06),
                59.0,
                Host(3.0, 14, 2, 58.0, 112.0),
                gpu_ids=(6, 7),
            )
        ),
        "EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(gpus=(2, 4), memory_min_gb=58.0, is_ready_to_resubmit=False),
    ),
    Case(
        "out_of_memory_within_three_minutes",
        "data/traces wb-f (EasyControl): out of GPU memory within seconds of the first step",
        "A diffusion model that never fits. So short a run says nothing about use; the full memory may be named.",
        small("easycontrol", 1, 0.05, 2.0, **_FAILED),
        run(replace(_ONE, used_s=180.0, parts=(Part(0.62, 0.0), Part(0.26, 84.0, gb=48.0), Part(0.12, 84.0, gb=63.9)))),
        "INEFFICIENT",
        may=codes("gpu_out_of_memory low_use_unexplained"),
        sensible=Sensible(gpus=(1, 2), is_ready_to_resubmit=False),
    ),
)

_OTHER: tuple[Case, ...] = (
    Case(
        "thirty_two_threads_a_rank",
        "docs.csc.fi gpu-ml, num_workers; PyTorch: OMP_NUM_THREADS times ranks exceeds the cores",
        "Eight ranks with 32 threads each on 56 cores: tasks queue for cores half of the time, GPUs at 34 %.",
        standard("opencv-threads", 1, 4.2, 5.0),
        run(
            replace(
                _TRAIN,
                used_s=seconds(4.2),
                parts=steady(34.0),
                host=Host(55.4, 56, 8, 188.0, 480.0, threads=32.0, cpu_pressure=0.62, system_share=0.24),
            )
        ),
        "INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(cores_min=55, is_ready_to_resubmit=False),
    ),
    Case(
        "default_thread_count_on_seven_cores",
        "OpenMP and BLAS take the node's core count in a container: 64 threads on seven cores",
        "Seven worker processes start nine threads each in one task's seven cores; tasks queue most of the time.",
        small("librosa-feats", 1, 5.0, 6.0),
        run(
            replace(
                _ONE,
                parts=steady(24.0),
                host=Host(6.95, 7, 1, 33.0, 60.0, threads=64.0, cpu_pressure=0.74, system_share=0.3),
            )
        ),
        "INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=33.0, is_ready_to_resubmit=False),
    ),
    Case(
        "data_set_unpacked_into_tmp",
        "LUMI: /tmp is RAM and counts against job memory",
        "The data set unpacked in /tmp and the loaders' copies pass 60 GB after three hours; the kernel ends the job.",
        small("vit-tmp", 1, 3.2, 8.0, state="OUT_OF_MEMORY", exit_code="0:125"),
        run(
            replace(
                _ONE,
                used_s=seconds(3.2),
                host=Host(3.3, 7, 1, 60.0, 60.0, threads=7.0, memory_pressure=0.12, oom_kills=2),
            )
        ),
        "EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(gpus=(1, 2), memory_min_gb=61.0, is_ready_to_resubmit=False),
    ),
    Case(
        "quarter_terabyte_for_one_gpu",
        "LUMI billing: slices of 8 cores and 64 GB; public scripts with one GPU and --mem=240G",
        "One GPU at 89 % with 240 GB of host memory requested and 27 used: billed as four GPUs.",
        small("mem-habit", 1, 5.0, 6.0, memory_gb=240.0),
        run(replace(_ONE, host=Host(2.3, 7, 1, 27.0, 240.0, threads=3.0))),
        "EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=fits(1, 27.0, 5.0),
    ),
    Case(
        "quarter_terabyte_that_is_needed",
        "LUMI billing; a graph in host memory beside one GPU",
        "The same request, but 214 GB of it hold the graph. Nothing to cut.",
        small("graph-in-ram", 1, 5.0, 6.0, memory_gb=240.0),
        run(replace(_ONE, host=Host(2.9, 7, 1, 214.0, 240.0, threads=3.0))),
        "EFFICIENT",
        sensible=fits(1, 214.0, 5.0),
    ),
    Case(
        "one_hour_of_a_day",
        "jobstats, time limit note below 60 % without a number; LUMI: maximal walltime by habit",
        "A fine-tuning that takes an hour and a quarter under a limit of a day.",
        small("adapter-ft", 1, 1.25, 24.0),
        run(replace(_ONE, used_s=seconds(1.25), parts=steady(91.0, 0.05))),
        "EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=fits(1, 27.0, 1.25),
    ),
    Case(
        "training_cut_by_its_limit",
        "Meta OPT logbook and common practice: chains of jobs that restart from checkpoints",
        "Full use to the last second of twelve hours. The limit ended it, nothing else is to be said.",
        standard("resume-chain", 2, 12.0, 12.0, state="TIMEOUT", exit_code="0:15"),
        run(*(replace(_TRAIN, used_s=seconds(12.0), dip_every_s=3600, dip_length_s=50),) * 2),
        "EFFICIENT",
        must=codes("timeout"),
        sensible=Sensible(gpus=(16,), walltime_min_s=seconds(12.0)),
    ),
    Case(
        "node_failed_during_training",
        "LUMI: requeue on node failure; Meta Llama 3 herd: 419 interruptions in 54 days",
        "One node of four dies, the others stop with it and wait until Slurm notices. The system's doing.",
        standard("ddp-4n", 4, 4.4, 24.0, state="NODE_FAIL", exit_code="0:0"),
        run(*(replace(_TRAIN, used_s=seconds(4.4), parts=(Part(0.02, 0.0), Part(0.68, 92.0), Part(0.3, 0.0))),) * 3),
        "ACCEPTABLE",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        "configuration_error_cancelled_at_once",
        "Site policy: runs cancelled within ten minutes get no finding about GPU use",
        "A typing error in the configuration, seen in the first lines of the log.",
        standard("typo", 1, 0.07, 12.0, state="CANCELLED"),
        run(replace(_TRAIN, used_s=252.0, parts=(Part(0.9, 0.0), Part(0.1, 60.0)))),
        "WASTED",
    ),
    Case(
        "clocks_held_down_by_power",
        "AMD MI250X: 500 W cap of a module; LUMI training E08: a node-level limiter",
        "Matrix-heavy training at the power cap: the hardware held its clocks down for 40 % of the time.",
        standard("gemm-bf16", 1, 5.0, 6.0),
        run(replace(_TRAIN, parts=steady(97.0, heat_w=203.0), throttled_fraction=0.41)),
        "EFFICIENT",
        must=codes("throttled"),
        sensible=fits(8, 138.0, 5.0),
    ),
    Case(
        "single_precision_at_half_speed",
        "Gao et al., ICSE'24: batch size and precision; AMD: matrix cores unused in FP32 without TF32",
        "Four GPUs at a steady 56 % and half power, a third of the memory, quiet cores and no I/O: larger batches "
        "or lower precision would fill the GPUs.",
        small("fp32-train", 4, 5.0, 6.0, tasks=4),
        run(replace(_FOUR, parts=steady(56.0, heat_w=130.0), gb=21.0, grain=0.2, host=Host(5.0, 28, 4, 57.0, 240.0))),
        "ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(memory_min_gb=57.0, walltime_min_s=seconds(5.0)),
    ),
)

CASES: tuple[Case, ...] = _PRESSURE + _OUT + _OTHER
