"""Every kind of sample job, from well used GPUs to jobs that never ran."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from bench.samples.archetypes import PER_NODE, TOTAL, Archetype, Expected, Host, found
from bench.samples.causes import CAUSES
from bench.samples.shapes import alternating, falling, hanging, no_work, some_busy, steady, training

TRAINING = ("train_llama", "vit-pretrain", "finetune_7b", "diffusion_train")
SIMULATION = ("gromacs_md", "cp2k", "lammps_melt", "amber_npt")
CLIMATE = ("icon-atm", "nemo_ocean", "wrf_ensemble")
SMALL = ("eval-sweep", "finetune_lora", "md_short", "inference", "embed_corpus")

EFFICIENT = Expected(EfficiencyClass.EFFICIENT)
# Below Efficient without a visible cause: nobody is left without a next step.
ACCEPTABLE_UNEXPLAINED = found(EfficiencyClass.ACCEPTABLE, FindingCode.LOW_USE_UNEXPLAINED)
INEFFICIENT_UNEXPLAINED = found(EfficiencyClass.INEFFICIENT, FindingCode.LOW_USE_UNEXPLAINED)
UNKNOWN = Expected(EfficiencyClass.UNKNOWN)

# Host memory that still fits when most of the GPUs, and the share that comes with them, are given back.
LITTLE_MEMORY = (0.05, 0.10)


# Memory that leaves the kernels little room: nobody can tell whether they, or what fits, set the pace.
FILLED_MEMORY_GB = (54.0, 58.0)

# Levels keep clear of the thresholds on both sides: 70, 40 and 15 percent of a class, 30 of an active GPU.
WELL_USED = (
    Archetype("efficient_training", EFFICIENT, training(88, 96), TRAINING),
    Archetype(
        "efficient_multi_node",
        EFFICIENT,
        steady(82, 92),
        CLIMATE,
        partition="standard-g",
        nodes=4,
        walltimes_h=(12, 24, 48),
        spellings=(PER_NODE,),
    ),
    Archetype(
        "efficient_16_nodes",
        EFFICIENT,
        training(82, 90),
        ("train_llama",),
        partition="standard-g",
        nodes=16,
        walltimes_h=(24, 48),
        spellings=(PER_NODE,),
    ),
    Archetype("efficient_part_node", EFFICIENT, steady(80, 92), SIMULATION, gpus=2),
    Archetype("acceptable", ACCEPTABLE_UNEXPLAINED, steady(48, 65), SIMULATION, gpus=4, peak_mem_gb=FILLED_MEMORY_GB),
    Archetype("small_single_gpu", EFFICIENT, steady(76, 95), SMALL, gpus=1, walltimes_h=(0.5, 1, 2, 4, 8)),
    Archetype("small_light_gpu", ACCEPTABLE_UNEXPLAINED, steady(46, 64), SMALL, gpus=1, walltimes_h=(0.5, 1, 2, 4)),
    Archetype(
        "array_task", EFFICIENT, steady(76, 90), ("eval-sweep",), gpus=1, walltimes_h=(1,), spellings=(PER_NODE,)
    ),
    # A cycle of 0 and 100 that the timeline still resolves: all GPUs stop again and again while the host is quiet.
    Archetype(
        "bursty",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.IO_OR_SYNC_STALL),
        alternating(12, 0.55),
        ("rl_rollout", "active_learning"),
        gpus=4,
    ),
)

POORLY_USED = (
    Archetype(
        "one_idle_gpu", found(EfficiencyClass.EFFICIENT, FindingCode.IDLE_GPUS), some_busy(7, 93, 97), SIMULATION
    ),
    Archetype(
        "parallelism_mismatch",
        found(EfficiencyClass.INEFFICIENT, FindingCode.PARALLELISM_MISMATCH, FindingCode.IDLE_GPUS),
        some_busy(2, 82, 92),
        ("gromacs_md", "cp2k"),
        ranks=16,
        cores_per_rank=3,
        peak_mem_gb=(10.0, 20.0),
        host=Host(memory_fraction=LITTLE_MEMORY),
        spellings=(TOTAL,),
    ),
    Archetype(
        "single_process",
        found(
            EfficiencyClass.WASTED,
            FindingCode.PARALLELISM_MISMATCH,
            FindingCode.IDLE_GPUS,
            FindingCode.EXCLUSIVE_NODE_UNDERUSED,
        ),
        some_busy(1, 85, 97),
        ("finetune_lora", "train_unet"),
        partition="standard-g",
        ranks=1,
        cores_per_rank=56,
        host=Host(busy_fraction=(0.08, 0.15), memory_fraction=LITTLE_MEMORY),
        spellings=(PER_NODE, TOTAL),
    ),
    Archetype(
        "overscaled",
        found(EfficiencyClass.INEFFICIENT, FindingCode.OVERSCALING),
        steady(17.5, 25),
        ("gromacs_md", "lammps_melt"),
        peak_mem_gb=(3.0, 10.0),
        host=Host(memory_fraction=LITTLE_MEMORY),
    ),
    Archetype(
        "overscaled_nodes",
        found(EfficiencyClass.WASTED, FindingCode.OVERSCALING),
        steady(10, 13),
        CLIMATE,
        partition="standard-g",
        nodes=2,
        peak_mem_gb=(2.0, 8.0),
        spellings=(PER_NODE,),
    ),
    Archetype(
        "cpu_bottleneck",
        found(EfficiencyClass.INEFFICIENT, FindingCode.CPU_BOTTLENECK),
        steady(18, 26),
        ("imagenet_loader", "video_train"),
        peak_mem_gb=(22.0, 40.0),
        host=Host(busy_fraction=(0.82, 0.96)),
    ),
    # One busy core a rank is also how MPI and HIP wait: a number to look at, no cause.
    Archetype(
        "one_core_per_rank",
        INEFFICIENT_UNEXPLAINED,
        steady(19, 26),
        ("train_tabular", "gnn_train"),
        peak_mem_gb=(20.0, 30.0),
        host=Host(busy_cores_per_rank=(0.95, 1.05)),
    ),
    Archetype(
        "io_stall",
        found(EfficiencyClass.INEFFICIENT, FindingCode.IO_OR_SYNC_STALL),
        falling((82, 88), (12, 16)),
        ("genome_train", "train_small_files"),
        host=Host(iowait_fraction=(0.18, 0.30), io_pressure_fraction=(0.30, 0.50)),
    ),
    Archetype(
        "sync_stall",
        found(EfficiencyClass.INEFFICIENT, FindingCode.IO_OR_SYNC_STALL),
        falling((82, 88), (12, 16)),
        ("icon-atm", "fsdp_train"),
        partition="standard-g",
        nodes=2,
        host=Host(busy_fraction=(0.05, 0.10)),
        spellings=(PER_NODE,),
    ),
    Archetype(
        "no_gpu_use",
        found(EfficiencyClass.WASTED, FindingCode.NO_GPU_USE),
        no_work(),
        ("matlab_sim", "preprocess", "cp2k"),
        host=Host(busy_fraction=(0.80, 0.95)),
    ),
    Archetype(
        "walltime_overrequest",
        found(EfficiencyClass.EFFICIENT, FindingCode.WALLTIME_OVERREQUEST),
        steady(80, 92),
        SIMULATION,
        gpus=4,
        walltimes_h=(24,),
        used_fraction=(0.018, 0.024),
    ),
    # Four slices of LUMI's bill for one GPU: 256 GB of host memory of which a tenth is used.
    Archetype(
        "memory_over_share",
        found(EfficiencyClass.EFFICIENT, FindingCode.CORES_OR_MEMORY_BEYOND_SHARE),
        steady(78, 92),
        ("embed_corpus", "inference"),
        gpus=1,
        memory_per_gpu_gb=256.0,
        host=Host(memory_fraction=(0.06, 0.12)),
    ),
    Archetype(
        "dev_test",
        INEFFICIENT_UNEXPLAINED,
        steady(20, 34),
        ("test", "debug_run", "hello_hip"),
        partition="dev-g",
        gpus=1,
        walltimes_h=(0.25, 0.5),
    ),
    Archetype(
        "interactive",
        found(EfficiencyClass.WASTED, FindingCode.LOW_USE_UNEXPLAINED),
        alternating(16, 0.09),
        ("interactive",),
        gpus=1,
        walltimes_h=(4, 8),
        used_fraction=(0.2, 0.5),
        host=Host(busy_fraction=(0.02, 0.06)),
    ),
)

CUT_SHORT = (
    Archetype(
        "host_out_of_memory",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.HOST_OUT_OF_MEMORY),
        steady(50, 64),
        ("imagenet_loader", "tokenize_train"),
        gpus=2,
        peak_mem_gb=FILLED_MEMORY_GB,
        used_fraction=(0.1, 0.4),
        host=Host(memory_fraction=(1.0, 1.0), oom_kills=1),
        state="OUT_OF_MEMORY",
        exit_code="0:125",
    ),
    Archetype(
        "timeout_busy",
        found(EfficiencyClass.EFFICIENT, FindingCode.TIMEOUT),
        steady(80, 94),
        SIMULATION,
        gpus=4,
        used_fraction=(1.0, 1.0),
        state="TIMEOUT",
    ),
    Archetype(
        "timeout_hung",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.TIMEOUT, FindingCode.IDLE_TAIL),
        hanging(0.65, 80, 90),
        ("fsdp_train", "train_llama"),
        used_fraction=(1.0, 1.0),
        state="TIMEOUT",
    ),
    Archetype(
        "failed",
        ACCEPTABLE_UNEXPLAINED,
        steady(46, 62),
        TRAINING,
        gpus=4,
        peak_mem_gb=FILLED_MEMORY_GB,
        used_fraction=(0.05, 0.30),
        state="FAILED",
        exit_code="1:0",
    ),
    Archetype(
        "cancelled",
        ACCEPTABLE_UNEXPLAINED,
        steady(48, 64),
        TRAINING,
        gpus=4,
        peak_mem_gb=FILLED_MEMORY_GB,
        used_fraction=(0.2, 0.6),
        state="CANCELLED",
        exit_code="0:15",
    ),
    Archetype(
        "short_job",
        Expected(EfficiencyClass.ACCEPTABLE, uncounted_reason="short"),
        steady(46, 62),
        ("test", "smoke"),
        gpus=1,
        walltimes_h=(0.25, 0.5),
        used_fraction=(0.11, 0.16),
    ),
    Archetype(
        "system_failure",
        Expected(EfficiencyClass.EFFICIENT, is_partial=True, uncounted_reason="system_failure"),
        steady(82, 92),
        CLIMATE,
        partition="standard-g",
        nodes=2,
        used_fraction=(0.1, 0.8),
        state="NODE_FAIL",
        exit_code="1:0",
        spellings=(PER_NODE,),
        silent_nodes=1,
    ),
    # One job that Slurm requeued after a node failure: two runs that share their job id.
    Archetype(
        "requeued",
        Expected(EfficiencyClass.EFFICIENT, uncounted_reason="system_failure"),
        steady(80, 90),
        ("vit-pretrain",),
        walltimes_h=(12,),
        used_fraction=(0.1, 0.5),
        state="NODE_FAIL",
        exit_code="1:0",
        spellings=(PER_NODE,),
    ),
    Archetype(
        "requeued_again",
        EFFICIENT,
        steady(80, 90),
        ("vit-pretrain",),
        walltimes_h=(12,),
        spellings=(PER_NODE,),
        attempt=1,
    ),
)

PARTLY_KNOWN = (
    Archetype(
        "partial_data",
        Expected(EfficiencyClass.EFFICIENT, is_partial=True),
        steady(80, 90),
        CLIMATE,
        partition="standard-g",
        nodes=4,
        spellings=(PER_NODE,),
        silent_nodes=2,
    ),
    Archetype("unreadable_gpu", EFFICIENT, training(84, 94), TRAINING, unreadable_gpus=1),
    Archetype("unmeasured", UNKNOWN, no_work(), SMALL, gpus=2, silent_nodes=1),
    Archetype(
        "never_started",
        Expected(EfficiencyClass.UNKNOWN, uncounted_reason="short"),
        no_work(),
        TRAINING,
        state="CANCELLED",
        used_fraction=(0.0, 0.0),
        has_started=False,
        silent_nodes=1,
    ),
)

ARCHETYPES: Mapping[str, Archetype] = MappingProxyType(
    {archetype.kind: archetype for archetype in WELL_USED + POORLY_USED + CUT_SHORT + PARTLY_KNOWN + CAUSES}
)
