"""Sample jobs of causes that show over time, in power, in memory or in a request, and healthy ones that look alike."""

from __future__ import annotations

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from bench.samples.archetypes import PER_NODE, Archetype, Expected, Host, found
from bench.samples.shapes import delayed, graded, hanging, some_busy, stalling, steady, training

EFFICIENT = Expected(EfficiencyClass.EFFICIENT)

CAUSES = (
    Archetype(
        "load_imbalance",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.LOAD_IMBALANCE),
        graded(36, 95),
        ("amr_flow", "particle_mesh"),
    ),
    Archetype(
        "late_start", found(EfficiencyClass.ACCEPTABLE, FindingCode.LATE_START), delayed(0.35, 80, 92), ("train_raw",)
    ),
    Archetype(
        "idle_tail", found(EfficiencyClass.ACCEPTABLE, FindingCode.IDLE_TAIL), hanging(0.65, 80, 92), ("train_zip",)
    ),
    # Compiling kernels and filling caches: a start that is over well before a fifth of the run.
    Archetype("warm_up", EFFICIENT, delayed(0.09, 85, 95), ("jax_train", "compile_train")),
    Archetype("long_checkpoints", EFFICIENT, stalling(8, 0.06, 86, 95), ("train_llama",)),
    # A collective that one rank never reaches: the others spin, at full use and the power of an idle loop.
    Archetype(
        "collective_hang",
        found(EfficiencyClass.EFFICIENT, FindingCode.BUSY_BUT_WAITING),
        steady(98, 100),
        ("fsdp_train",),
        partition="standard-g",
        nodes=2,
        spellings=(PER_NODE,),
        full_power_w=(115.0, 165.0),
    ),
    Archetype(
        "small_kernels",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.KERNEL_TUNING),
        steady(54, 66),
        ("gnn_small_batch", "md_tiny_steps"),
        peak_mem_gb=(18.0, 34.0),
        full_power_w=(380.0, 420.0),
    ),
    Archetype(
        "throttled",
        found(EfficiencyClass.EFFICIENT, FindingCode.THROTTLED),
        steady(84, 94),
        ("hpl", "dense_train"),
        throttled_fraction=(0.12, 0.30),
    ),
    Archetype(
        "gpu_memory_full",
        found(EfficiencyClass.EFFICIENT, FindingCode.GPU_MEMORY_PRESSURE),
        training(85, 95),
        ("finetune_7b",),
        peak_mem_gb=(63.2, 63.9),
    ),
    Archetype(
        "gpu_out_of_memory",
        found(EfficiencyClass.EFFICIENT, FindingCode.GPU_OUT_OF_MEMORY),
        training(85, 95),
        ("finetune_7b", "long_context"),
        peak_mem_gb=(63.2, 63.9),
        used_fraction=(0.05, 0.30),
        state="FAILED",
        exit_code="1:0",
    ),
    # The threads keep every core busy as well, while the GPUs are half used.
    Archetype(
        "too_many_threads",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.HOST_OVERSUBSCRIPTION, FindingCode.CPU_BOTTLENECK),
        steady(48, 62),
        ("loader_threads", "hybrid_mpi"),
        host=Host(busy_fraction=(0.78, 0.98), cpu_pressure_fraction=(0.25, 0.60), threads_per_core=4.0),
    ),
    Archetype(
        "half_a_node",
        found(
            EfficiencyClass.ACCEPTABLE,
            FindingCode.EXCLUSIVE_NODE_UNDERUSED,
            FindingCode.PARALLELISM_MISMATCH,
            FindingCode.IDLE_GPUS,
        ),
        some_busy(4, 88, 96),
        ("cp2k", "vasp_relax"),
        partition="standard-g",
        spellings=(PER_NODE,),
    ),
    Archetype(
        "one_node_of_four",
        found(
            EfficiencyClass.INEFFICIENT,
            FindingCode.EXCLUSIVE_NODE_UNDERUSED,
            FindingCode.PARALLELISM_MISMATCH,
            FindingCode.IDLE_GPUS,
        ),
        some_busy(8, 85, 96),
        ("mpi_forgotten",),
        partition="standard-g",
        nodes=4,
        spellings=(PER_NODE,),
    ),
    Archetype(
        "cores_over_share",
        found(EfficiencyClass.EFFICIENT, FindingCode.CORES_OR_MEMORY_BEYOND_SHARE),
        steady(78, 92),
        ("inference", "embed_corpus"),
        gpus=1,
        cores_per_rank=56,
        host=Host(busy_fraction=(0.02, 0.06)),
    ),
    # One small model on one GPU: little use, and nothing smaller to ask for.
    Archetype(
        "tiny_inference",
        found(EfficiencyClass.WASTED, FindingCode.LOW_USE_UNEXPLAINED),
        steady(4, 9),
        ("serve_small", "inference"),
        gpus=1,
        peak_mem_gb=(2.0, 6.0),
    ),
)
