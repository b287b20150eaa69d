"""Molecular dynamics: GROMACS, LAMMPS, NAMD, OpenMM."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import MODEST_W, Host, Plan, drawn, even, in_phases
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
ONE_GPU = "--partition=small-g --nodes=1 --gpus-per-node=1 --ntasks-per-node=1 --cpus-per-task=7 --mem-per-gpu=60G"

HEALTHY = (
    Case(
        name="md_gromacs_one_gpu_openmp_team",
        source="GROMACS manual, 'Getting good performance from mdrun'; LUMI user guide, lumig-job",
        story="One rank, seven OpenMP threads that mdrun keeps busy while the GPU does non-bonded and PME. Full cores "
        "beside a full GPU are what mdrun is built for: no bottleneck, no advice. One die, so no power reading.",
        record=job(f"{ONE_GPU} --time=12:00:00", "md_prod_07", 38_460),
        draw=drawn(Plan(38_460, even(92, gpus=1), Host(6.7, 7, 1, 7, 3.1, 60), 1.4, step_s=20, gpu_ids=(3,), grain=4)),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=7),
    ),
    Case(
        name="md_lammps_kokkos_one_core_per_rank",
        source="LAMMPS manual, Speed_kokkos; LUMI user guide, lumig-job (one rank per GCD)",
        story="Eight ranks, one GPU each, one busy core per rank that polls for the GPU; the other 48 cores sleep. "
        "Dumps every quarter of an hour dent the curve. A good run.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=10:00:00", "lj_melt", 31_900),
        draw=drawn(
            Plan(
                31_900, even(91), Host(8.3, threads=9, memory_gb=41), 34, 15, dip_every_s=900, dip_s=(8, 25), lost=0.02
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="md_gromacs_two_nodes_with_checkpoints",
        source="GROMACS manual, gmx mdrun -cpt (checkpoint interval of 15 minutes)",
        story="A membrane of five million atoms on two nodes; a checkpoint and an energy-file flush every 15 minutes "
        "stop all GPUs for some seconds. Regular, short, harmless. The OpenMP teams keep most cores busy.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=06:00:00", "stmv5_run2", 20_950),
        draw=drawn(
            Plan(
                20_950,
                even(86, 2),
                Host(44.0, threads=7, memory_gb=55, io_pressure=0.02, iowait=0.01),
                mem_gb=9,
                dip_every_s=900,
                dip_s=(6, 28),
                spread=3,
                drift=3,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="md_namd3_resident_two_phases",
        source="NAMD 3 user guide, GPU-resident mode",
        story="Equilibration with restraints at about 78 percent for a third of the run, then production at 97: two "
        "phases of one program. The step between them is no stall, no late start and no imbalance.",
        record=job(
            "--partition=small-g --nodes=1 --gpus=4 --ntasks=1 --cpus-per-task=28 --mem=120G --time=20:00:00",
            "namd3_abf",
            61_300,
        ),
        draw=drawn(
            Plan(
                61_300,
                even(97, gpus=4),
                Host(5.2, 28, ranks=1, threads=30, memory_gb=14, limit_gb=120),
                mem_gb=6,
                step_s=30,
                gpu_ids=(4, 5, 6, 7),
                shape=in_phases(((0.33, 0.8), (1.0, 1.0))),
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="md_openmm_replicas_end_nearly_together",
        source="OpenMM user guide; Alchemistry replica ensembles (independent windows, one per GPU)",
        story="Eight independent windows, one per GPU, with 88 to 100 percent of the wall time each. A little waiting "
        "at the end is the normal price of an ensemble.",
        record=job(
            "--partition=small-g --nodes=1 --gres=gpu:8 --ntasks=8 --cpus-per-task=7 --mem=240G --time=08:00:00",
            "abfe_lig23",
            25_700,
        ),
        draw=drawn(
            Plan(
                25_700,
                even(95),
                Host(8.6, threads=12, memory_gb=38, limit_gb=240),
                mem_gb=1.1,
                ends=(0.93, 1.0, 0.9, 0.97, 0.88, 0.99, 0.95, 0.92),
                start_s=(40, 140),
                stagger_s=60,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)

MISPLACED = (
    Case(
        name="md_gromacs_eight_ranks_on_one_gpu",
        source="LUMI training, 202-Binding (select_gpu wrapper); GROMACS user forum, 'all ranks use GPU 0'",
        story="The wrapper that sets ROCR_VISIBLE_DEVICES was left out, so all eight ranks share the first GPU, which "
        "is full, and seven GPUs of a billed node do nothing.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=08:00:00", "gmx_bench", 22_300),
        draw=drawn(
            Plan(
                22_300,
                ((96, 0, 0, 0, 0, 0, 0, 0),),
                Host(15.5, threads=7, memory_gb=22),
                mem_gb=11,
                context_gb=0.35,
            )
        ),
        efficiency_class="WASTED",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(gpus=(1, 2), partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        name="md_lammps_one_die_of_each_module",
        source="LUMI documentation, lumig ('a GPU is a GCD, 8 per node'); peers: AIW rocm-smi sample, one die busy, "
        "324 W",
        story="Ported from a machine with four GPUs a node: four ranks on devices 0, 2, 4 and 6, the second die of "
        "each module idle, on an exclusive node. Four GPUs of small-g would do the same.",
        record=job(
            "--partition=standard-g --nodes=1 --gpus-per-node=8 --ntasks-per-node=4 --cpus-per-task=14 --time=12:00:00",
            "eam_cu",
            36_100,
        ),
        draw=drawn(
            Plan(
                36_100,
                ((93, 0, 94, 0, 92, 0, 93, 0),),
                Host(4.4, ranks=4, threads=15, memory_gb=70),
                mem_gb=27,
                step_s=20,
                dip_every_s=1800,
                lost=0.02,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("parallelism_mismatch idle_gpus exclusive_node_underused"),
        sensible=Sensible(
            gpus=(4,), cores_min=4, memory_min_gb=72, partitions=("small-g",), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="md_openmm_replicas_end_over_half_the_run",
        source="Replica ensembles as in fep workflows; peers: jobstats#28 (an average hides when the work was done)",
        story="Eight windows of very different cost: the first ends after 31 percent of the run, the last works to "
        "the end. GPUs that stop early while others go on: the load is uneven. Nothing stalls.",
        record=job(
            "--partition=small-g --nodes=1 --gpus-per-node=8 --ntasks=8 --cpus-per-task=7 --mem=200G --time=10:00:00",
            "fep_windows",
            30_200,
        ),
        draw=drawn(
            Plan(
                30_200,
                even(95),
                Host(6.1, threads=12, memory_gb=31, limit_gb=200),
                mem_gb=1.3,
                step_s=15,
                ends=(0.31, 0.44, 0.5, 0.57, 0.66, 0.74, 0.9, 1.0),
                stagger_s=30,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(5, 6, 8)),
    ),
    Case(
        name="md_gromacs_separate_pme_gpu_lags",
        source="GROMACS manual, -npme and -gputasks; NVIDIA blog on GROMACS PME decomposition",
        story="Seven GPUs share the particle-particle work, the eighth does PME alone and waits two thirds of the "
        "time. Good on average, but one GPU is far behind: tune npme.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=18:00:00", "ribosome", 57_000),
        draw=drawn(
            Plan(
                57_000,
                ((91, 90, 92, 90, 89, 91, 90, 27),),
                Host(37, threads=7, memory_gb=18),
                mem_gb=4,
                step_s=30,
                drift=3,
                grain=6,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(8,)),
    ),
)

TOO_WIDE = (
    Case(
        name="md_lammps_strong_scaling_too_far",
        source="LAMMPS benchmarks (accelerator strong scaling); LUMI training, responsible-use (fewer nodes are "
        "efficient)",
        story="256 000 atoms on 32 GPUs: 8000 atoms each, a gigabyte of memory, a fifth of the time busy, the host "
        "quiet. The work of about seven GPUs fits on one or two nodes.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=04:00:00", "polymer_4n", 11_400),
        draw=drawn(Plan(11_400, even(20, 4), Host(8.2, threads=8, memory_gb=21), 1.2, 5, grain=1.0)),
        efficiency_class="INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(8, 16), is_ready_to_resubmit=False),
    ),
    Case(
        name="md_gromacs_small_protein_on_eight_gpus",
        source="FAU HPC blog 'Multi-GPU Gromacs jobs on TinyGPU' (65 000 atoms gain nothing from more GPUs)",
        story="65 000 atoms on eight GPUs of small-g: each is busy a sixth of the time with under a gigabyte in "
        "memory while the cores rest. One or two GPUs run it as fast.",
        record=job(
            "--partition=small-g --nodes=1 --gpus=8 --ntasks=8 --cpus-per-task=7 --mem=120G --time=1-00:00:00",
            "lysozyme_8g",
            70_300,
        ),
        draw=drawn(
            Plan(
                70_300,
                even(19),
                Host(8.8, threads=7, memory_gb=9, limit_gb=120),
                mem_gb=0.8,
                step_s=30,
                grain=0.9,
                spread=1,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(2, 4), is_ready_to_resubmit=False),
    ),
)

HOST_SIDE = (
    Case(
        name="md_namd2_forces_on_the_cpu",
        source="NAMD 2.14 release notes (offload of non-bonded forces only; integration and bonded forces on the "
        "cores)",
        story="The classic offload mode: 13.7 of 14 cores integrate and do bonded terms, two GPUs wait for them two "
        "thirds of the time. No more threads than cores. Use the GPU-resident mode.",
        record=job(
            "--partition=small-g --nodes=1 --gpus-per-node=2 --ntasks=2 --cpus-per-task=7 --mem=60G --time=16:00:00",
            "apoa1_long",
            49_000,
        ),
        draw=drawn(
            Plan(
                49_000,
                even(32, gpus=2),
                Host(13.6, 14, 2, 7, 9, 60, system_share=0.04),
                mem_gb=1.6,
                step_s=30,
                gpu_ids=(2, 3),
                grain=3,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1, 2), cores_min=14),
    ),
    Case(
        name="md_lammps_dumps_block_every_gpu",
        source="LAMMPS manual, dump (all atoms to one file) and Lustre striping in LUMI docs, storage",
        story="A full-precision dump of every atom through rank 0: all GPUs stop together for minutes, again and "
        "again, while the host waits for Lustre. Half of the run is output.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=08:00:00", "cracks_dump", 25_300),
        draw=drawn(
            Plan(
                25_300,
                even(95),
                Host(7.1, threads=8, memory_gb=96, iowait=0.13, io_pressure=0.43),
                mem_gb=31,
                dip_every_s=600,
                dip_s=(240, 320),
                dip_percent=0.6,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="md_amber_minimisation_on_the_cores_first",
        source="AMBER manual (sander minimisation on CPU before pmemd.hip)",
        story="The script minimises and packs the system with CPU tools for 44 percent of the run; the GPUs start "
        "after that and run at 95 percent. The first part belongs into a CPU job.",
        record=job(
            "--partition=small-g --gpus-per-node=2 --ntasks=2 --cpus-per-task=7 --mem-per-gpu=60G --time=06:00:00",
            "prep_and_prod",
            18_700,
        ),
        draw=drawn(
            Plan(
                18_700,
                even(95, gpus=2),
                Host(5.9, 14, 2, 7, 17, 120),
                mem_gb=2.2,
                start_s=(7_900, 8_600),
                gpu_ids=(6, 7),
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="md_trajectory_analysis_after_the_run",
        source="GROMACS manual, gmx rms/gmx msd (CPU tools); peers: idle-tail job of jobstats#28 shape",
        story="After 62 percent of the run mdrun is done and a chain of gmx tools analyses the trajectory on two "
        "cores, with the GPU still billed.",
        record=job(f"{ONE_GPU} --time=05:00:00", "run_and_analyse", 14_800),
        draw=drawn(
            Plan(14_800, even(94, gpus=1), Host(3.8, 7, 1, 7, 21, 60), 1.3, 5, ends=0.62, gpu_ids=(5,), tail_s=(0, 300))
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="md_reaxff_steady_half_use",
        source="LAMMPS manual, Speed_kokkos (small per-GPU atom counts, reaxff kernels); AMD lab notes on MI250X "
        "tuning",
        story="A reactive force field at a steady 54 percent with modest power on two GPUs, 8 of 64 GB in use, one "
        "busy core per rank: nothing but the kernels and their launches limits it.",
        record=job(
            "--partition=small-g --nodes=1 --gpus-per-task=1 --ntasks=2 --cpus-per-task=7 --mem=100G --time=09:00:00",
            "rdx_reax",
            27_600,
        ),
        draw=drawn(
            Plan(
                27_600,
                even(54, gpus=2),
                Host(2.2, 14, 2, 8, 13, 100),
                mem_gb=8,
                step_s=15,
                grain=14,
                die_w=MODEST_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="md_blow_up_after_two_hours",
        source="GROMACS user forum, 'step N: LINCS warnings' (fatal error after hours)",
        story="A healthy run until the system blows up and mdrun ends with a fatal error: memory was ample, the GPU "
        "busy. The measurements cannot explain it and must say so.",
        record=job(f"{ONE_GPU} --time=10:00:00", "nvt_fast", 8_200, "FAILED", "1:0"),
        draw=drawn(Plan(8_200, even(93, gpus=1), Host(6.2, 7, 1, 7, 4, 60), 1.9, 5, gpu_ids=(0,), grain=4)),
        efficiency_class="EFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,)),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + MISPLACED + TOO_WIDE + HOST_SIDE
