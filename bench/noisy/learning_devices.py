"""Machine-learning runs that left GPUs unused: none at all was used, or fewer than requested."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import CONTEXT_GB, UNUSED_GB, Host, Part, Shape, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_ONE_RANK = Host(2.4, 56, 1, 38.6, 480.0, threads=3.0)
_NOTHING = (Part(1.0, 0.0),)
_ONE_OF_8 = (91.0,) + (0.0,) * 7
_SHARED = ("small-g", "dev-g")

_NO_USE: tuple[Case, ...] = (
    Case(
        "training_on_the_cpu_alone",
        "Gao et al., Low GPU utilization of deep learning jobs, ICSE'24; a PyTorch wheel without ROCm",
        "torch.cuda.is_available() was False and the script took the CPU. All cores worked, the GPU never did. "
        "The cores do not slow a GPU that nobody uses, so this is no CPU bottleneck.",
        small("unet-train", 1, 3.6, 4.0),
        run(Shape(seconds(3.6), 1, _NOTHING, UNUSED_GB, Host(6.7, 7, 1, 22.4, 60.0, threads=7.0), gpu_ids=(4,))),
        "WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "federated_learning_on_the_cpu",
        "data/traces wb-d (ailunyi/Fed-ML-Chem): thirteen hours on the CPU beside an idle GPU",
        "Simulated clients train on the CPU, the GPU shows 1 % now and then because its context is open.",
        small("fed-chem", 1, 11.4, 13.0, spelling="gres"),
        run(Shape(seconds(11.4), 1, (Part(1.0, 0.15),), CONTEXT_GB, Host(4.1, 7, 1, 12.3, 60.0, threads=6.0))),
        "WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "ddp_over_gloo_on_a_full_node",
        "PyTorch distributed documentation: backend gloo trains CPU tensors; LUMI: CPU-only software on GPU nodes",
        "Eight ranks with backend gloo and no .cuda(): 52 cores busy, eight idle GPUs, a whole node billed.",
        standard("ddp-gloo", 1, 5.1, 6.0),
        run(Shape(seconds(5.1), 8, _NOTHING, UNUSED_GB, Host(52.0, 56, 8, 141.0, 480.0, threads=7.0))),
        "WASTED",
        must=codes("no_gpu_use"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "no_hip_gpus_are_available",
        "lumi-ai-factory/laifs-container-recipes#13: HIP_VISIBLE_DEVICES re-indexes, 'No HIP GPUs are available'",
        "Four GPUs, none visible to the ranks; the script falls back to the CPU with one thread each. No power read.",
        small("bert-ft", 4, 1.9, 2.5, tasks=4, spelling="per-task"),
        run(
            Shape(
                seconds(1.9),
                4,
                _NOTHING,
                UNUSED_GB,
                Host(4.2, 28, 4, 31.0, 240.0),
                has_power=False,
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "tokenising_a_corpus_on_a_gpu_node",
        "LUMI: GPU nodes for CPU-only software; Hugging Face datasets.map(num_proc=56)",
        "Three hours of text processing on 50 cores of a standard-g node. A CPU partition is the place for it.",
        standard("tokenise", 1, 3.2, 4.0, tasks=1, cores_per_task=56, spelling="no-memory"),
        run(
            Shape(
                seconds(3.2),
                8,
                _NOTHING,
                UNUSED_GB,
                Host(50.3, 56, 1, 301.0, 480.0, threads=56.0, iowait=0.03, io_pressure=0.11),
                lost_fraction=0.02,
            )
        ),
        "WASTED",
        must=codes("no_gpu_use"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "server_that_nobody_asked",
        "vLLM documentation: gpu_memory_utilization 0.9 is reserved at start, requests or not",
        "A model server loads its weights and reserves 57 GB on two GPUs; for six hours no request comes. "
        "Memory in use is no work.",
        small("llm-serve", 2, 6.1, 8.0, state="CANCELLED"),
        run(
            Shape(seconds(6.1), 2, (Part(0.01, 0.0), Part(0.99, 0.0, gb=57.3)), CONTEXT_GB, Host(0.9, 14, 1, 39.0, 120))
        ),
        "WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "rendezvous_never_completes",
        "PyTorch torchrun documentation, rendezvous; LUMI, named mistakes: an idle hang is billed",
        "Two nodes wait for each other under a wrong address until the time limit. No kernel ever ran.",
        standard("ddp-2n", 2, 2.0, 2.0, state="TIMEOUT", exit_code="0:15", tasks=1, cores_per_task=56),
        run(*(Shape(seconds(2.0), 8, _NOTHING, UNUSED_GB, Host(0.7, 56, 1, 9.2, 480.0)),) * 2),
        "WASTED",
        must=codes("no_gpu_use timeout"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
)

_MISMATCH: tuple[Case, ...] = (
    Case(
        "one_process_on_a_full_node",
        "Hugging Face Trainer started by python, not torchrun; LUMI AI guide 05: reserving more is not enough",
        "One of eight GPUs trains. The others hold nothing and show a stray reading now and then.",
        standard("hf-trainer", 1, 5.6, 7.0, tasks=1, cores_per_task=56),
        run(Shape(seconds(5.6), 8, steady(_ONE_OF_8), (44.0,) + (UNUSED_GB,) * 7, _ONE_RANK)),
        "WASTED",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(1,), partitions=_SHARED, walltime_min_s=seconds(5.6)),
    ),
    Case(
        "torchrun_with_two_of_four",
        "torchrun --nproc_per_node=2 kept from an earlier two-GPU job",
        "Two of four GPUs at 93 %, two without any process, from start to end.",
        small("llava-ft", 4, 4.4, 5.0, tasks=2, cores=28, spelling="gres"),
        run(
            Shape(
                seconds(4.4),
                4,
                steady((93.0, 92.0, 0.0, 0.0)),
                (51.0, 51.0, UNUSED_GB, UNUSED_GB),
                Host(8.2, 28, 2, 66.0, 240.0, threads=7.0),
                gpu_ids=(0, 1, 2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(2,), memory_min_gb=66.0, walltime_min_s=seconds(4.4)),
    ),
    Case(
        "torchrun_on_the_first_node_only",
        "LUMI AI guide 05: torchrun without srun runs on the batch host only",
        "Two nodes, but the batch script never used srun: the second node is idle all day.",
        standard("gpt2-2n", 2, 9.1, 10.0, tasks=1, cores_per_task=56),
        run(
            Shape(seconds(9.1), 8, steady(91.0, 0.015), 46.0, Host(13.0, 56, 8, 120.0, 480.0, threads=4.0)),
            Shape(seconds(9.1), 8, _NOTHING, UNUSED_GB, Host(0.15, 56, 1, 2.2, 480.0)),
        ),
        "ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(gpus=(8,), walltime_min_s=seconds(9.1)),
    ),
    Case(
        "every_rank_on_gpu_zero",
        "pi-GAN#22: torch.cuda.set_device(rank) missing; seven more processes on GPU 0",
        "Four ranks share GPU 0, GPUs 1-3 have no process. The user wanted four: the binding must be fixed or the "
        "request shrink.",
        small("pigan", 4, 2.7, 3.0, tasks=4),
        run(
            Shape(
                seconds(2.7),
                4,
                steady((97.0, 0.0, 0.0, 0.0), 0.03),
                (58.0, UNUSED_GB, UNUSED_GB, UNUSED_GB),
                Host(5.9, 28, 4, 47.0, 240.0, threads=2.0),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "INEFFICIENT",
        must=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(1,), memory_min_gb=47.0),
    ),
    Case(
        "four_ranks_on_eight_without_power",
        "LUMI user guide: one rank a GPU; a script written for four-GPU nodes",
        "--ntasks-per-node=4 from another site, on a standard-g node with eight GPUs. No power was read.",
        standard("fourcastnet", 1, 7.3, 8.0, tasks=4, cores_per_task=14, spelling="gres-type"),
        run(
            Shape(
                seconds(7.3),
                8,
                steady((94.0, 93.0, 94.0, 92.0, 0.0, 0.0, 0.0, 0.0)),
                (52.0,) * 4 + (UNUSED_GB,) * 4,
                Host(16.0, 56, 4, 171.0, 480.0, threads=8.0),
                has_power=False,
            )
        ),
        "ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(4,), partitions=_SHARED, memory_min_gb=171.0, walltime_min_s=seconds(7.3)),
    ),
    Case(
        "one_requested_on_standard_g",
        "LUMI, public user scripts: standard-g with --gpus-per-node=1; jobstats#14, ReqTRES is not AllocTRES",
        "One GPU was requested and used, but standard-g allocates and bills the whole node. The other seven were "
        "never wanted; the partition is the mistake.",
        standard("yolo-ft", 1, 6.7, 8.0, tasks=1, gpus_requested=1)
        | {
            "request": {
                "--partition": "standard-g",
                "--nodes": "1",
                "--gpus-per-node": "1",
                "--ntasks-per-node": "1",
                "--cpus-per-task": "7",
                "--time": "08:00:00",
            }
        },
        run(Shape(seconds(6.7), 8, steady(_ONE_OF_8), (26.0,) + (UNUSED_GB,) * 7, _ONE_RANK)),
        "WASTED",
        must=codes("exclusive_node_underused"),
        may=codes("idle_gpus parallelism_mismatch"),
        sensible=Sensible(gpus=(1,), partitions=_SHARED, walltime_min_s=seconds(6.7)),
    ),
    Case(
        "tensorflow_maps_two_works_on_one",
        "TensorFlow guide, Use a GPU: all visible GPUs are mapped, one is used without a strategy",
        "Both GPUs show 61 GB because TensorFlow maps what it sees. Only the first computes.",
        small("tf-ranker", 2, 3.3, 4.0, spelling="gpus"),
        run(
            Shape(
                seconds(3.3),
                2,
                (Part(0.02, 0.0, gb=1.2), Part(0.98, (95.0, 0.0), gb=(58.7, 58.4))),
                58.5,
                Host(3.0, 14, 1, 33.0, 120.0, threads=3.0),
                gpu_ids=(2, 3),
            )
        ),
        "ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(1,), memory_min_gb=33.0, walltime_min_s=seconds(3.3)),
    ),
    Case(
        "tensor_parallel_two_on_eight",
        "vLLM --tensor-parallel-size 2 on a full node: omnistat, one busy GPU hidden in a node's mean",
        "An offline vLLM run splits its model over two GPUs and leaves six of eight alone.",
        small("vllm-tp2", 8, 5.2, 6.0, cores=56, memory_gb=480.0, spelling="exclusive"),
        run(
            Shape(
                seconds(5.2),
                8,
                steady((94.0, 94.0) + (0.0,) * 6, 0.04),
                (57.5, 57.5) + (UNUSED_GB,) * 6,
                Host(3.3, 56, 2, 74.0, 480.0, threads=3.0),
                lost_fraction=0.02,
            )
        ),
        "INEFFICIENT",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(2,), memory_min_gb=74.0, walltime_min_s=seconds(5.2)),
    ),
)

_IDLE: tuple[Case, ...] = (
    Case(
        "six_workers_for_eight_gpus",
        "DGL distributed training documentation: the number of partitions fixes the number of trainers",
        "The graph has six partitions, so six of eight GPUs train. More than half work, two never do.",
        small("gnn-6parts", 8, 3.9, 5.0, tasks=1, cores=56, memory_gb=480.0),
        run(
            Shape(
                seconds(3.9),
                8,
                steady((86.0,) * 6 + (0.0, 0.0)),
                (31.0,) * 6 + (UNUSED_GB,) * 2,
                Host(17.0, 56, 6, 212.0, 480.0, threads=4.0),
            )
        ),
        "ACCEPTABLE",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(6,), memory_min_gb=212.0, walltime_min_s=seconds(3.9)),
    ),
    Case(
        "one_dead_gpu_of_a_full_node",
        "peers: 8 GPUs, 1 idle: jobstats shows 83 % and stays silent",
        "Seven GPUs at 94 %, one idle from start to end because its worker never came up. The mean is fine, the "
        "worker must be looked at; seven is no size to request.",
        standard("mpi-inference", 1, 6.4, 7.0),
        run(
            Shape(
                seconds(6.4),
                8,
                steady((94.0,) * 5 + (0.0,) + (94.0,) * 2),
                (40.0,) * 5 + (UNUSED_GB,) + (40.0,) * 2,
                Host(12.1, 56, 7, 109.0, 480.0, threads=3.0),
            )
        ),
        "EFFICIENT",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(8,), walltime_min_s=seconds(6.4)),
    ),
    Case(
        "reward_model_gpu_never_called",
        "OpenRLHF documentation: reward model on its own GPU; here a rule-based reward was configured",
        "Three GPUs of four work; the one set aside for the reward model holds 15 GB and is never called.",
        small("ppo-rule-reward", 4, 8.3, 10.0, tasks=1, cores=28, spelling="mem-per-cpu", memory_gb=224.0),
        run(
            Shape(
                seconds(8.3),
                4,
                steady((84.0, 85.0, 83.0, 0.0)),
                (56.0, 52.0, 55.0, 15.2),
                Host(9.8, 28, 4, 133.0, 224.0, threads=3.0),
                gpu_ids=(4, 5, 6, 7),
            )
        ),
        "ACCEPTABLE",
        must=codes("idle_gpus"),
        sensible=Sensible(gpus=(3, 4), memory_min_gb=133.0, walltime_min_s=seconds(8.3)),
    ),
)

_TINY_HOST = Host(8.3, 56, 8, 42.0, 480.0)
_TINY = Shape(seconds(2.6), 8, steady(11.0), 2.6, _TINY_HOST, grain=0.3)

_TOO_MANY: tuple[Case, ...] = (
    Case(
        "small_network_on_eight_gpus",
        "jobstats note 'should use MIG'; Jobanalyzer 'mouse': a job too small for a big GPU",
        "A small convolution network, eight ranks, each GPU at 11 % with 2.6 GB of memory. One GPU would do it.",
        small("cifar-ddp", 8, 2.6, 3.0, tasks=8, cores=56, memory_gb=480.0),
        run(_TINY),
        "WASTED",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(1, 2), memory_min_gb=42.0, walltime_min_s=seconds(2.6)),
    ),
    Case(
        "mnist_on_two_nodes",
        "LUMI: large test jobs; PyTorch MNIST example under DDP",
        "Sixteen GPUs at 9 % and 1.4 GB each: the example was run at the scale of the later model.",
        standard("mnist-2n", 2, 1.7, 2.0),
        run(*(replace(_TINY, used_s=seconds(1.7), parts=steady(9.0, 0.03), gb=1.4),) * 2),
        "WASTED",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(2, 4), partitions=_SHARED, walltime_min_s=seconds(1.7)),
    ),
    Case(
        "four_gpus_for_a_distilled_model",
        "job_defense_shield, gpu-model-too-powerful: low use, at most 10 GB of GPU memory",
        "Four ranks of a distilled model at 22 % and 5 GB, with a quiet host.",
        small("distilbert", 4, 3.8, 5.0, tasks=4, spelling="gpus"),
        run(Shape(seconds(3.8), 4, steady(22.5), 5.1, Host(4.4, 28, 4, 29.0, 240.0), gpu_ids=(0, 1, 2, 3), spread=1.0)),
        "INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(1, 2), memory_min_gb=29.0, walltime_min_s=seconds(3.8)),
    ),
    Case(
        "surrogate_network_without_power",
        "Gao et al., ICSE'24: small models with little computation a step",
        "A three-layer network on eight GPUs at 19 % and 3 GB; power was not read.",
        standard("mlp-surrogate", 1, 4.7, 5.5),
        run(replace(_TINY, used_s=seconds(4.7), parts=steady(19.5), gb=3.2, has_power=False, lost_fraction=0.02)),
        "INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(2, 4), partitions=_SHARED, memory_min_gb=42.0, walltime_min_s=seconds(4.7)),
    ),
    Case(
        "two_gpus_for_a_small_graph_network",
        "data/traces wb-b (C-Bone-UCL/Geom3D): molecule networks use a fraction of one GPU",
        "Two ranks at 21 % and 1.9 GB. The work fits on one GPU.",
        small("schnet-ddp", 2, 5.4, 6.0, tasks=2),
        run(Shape(seconds(5.4), 2, steady(21.5), 1.9, Host(2.3, 14, 2, 14.0, 120.0), gpu_ids=(6, 7))),
        "INEFFICIENT",
        must=codes("overscaling"),
        sensible=fits(1, 14.0, 5.4),
    ),
    Case(
        "small_model_spread_over_four_nodes",
        "Gustafson and Amdahl; strong scaling of a 120 M parameter model past its batch",
        "32 GPUs at 20 % and 6 GB each: with four times fewer, the same batch would fill them better.",
        standard("gpt-120m-4n", 4, 3.1, 4.0),
        run(*(replace(_TINY, used_s=seconds(3.1), parts=steady(20.5, 0.03), gb=6.1),) * 4),
        "INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(8, 16), walltime_min_s=seconds(3.1)),
    ),
)

CASES: tuple[Case, ...] = _NO_USE + _MISMATCH + _IDLE + _TOO_MANY
