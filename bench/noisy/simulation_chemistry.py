"""Quantum chemistry and lattice QCD: CP2K, VASP, PySCF, Quantum ESPRESSO, GPAW, QUDA."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import MEMORY_BOUND_W, MODEST_W, SPIN_W, Host, Plan, drawn, even, in_turns
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
ONE_GPU = "--partition=small-g --gpus-per-node=1 --ntasks-per-node=1 --cpus-per-task=7 --mem-per-gpu=60G"

HEALTHY = (
    Case(
        name="qe_alternating_phases_healthy",
        source="Quantum ESPRESSO GPU user guide: FFT, diagonalisation and density mixing alternate",
        story="Two GPUs between 60 and 100 percent as diagonalisation and FFT alternate, with a dip at every step of "
        "the self-consistent cycle. Lively, not stalled.",
        record=job(
            "--partition=small-g --gpus=2 --ntasks=2 --cpus-per-task=7 --mem=110G --time=10:00:00",
            "si_vc_relax",
            31_200,
        ),
        draw=drawn(
            Plan(
                31_200,
                even(88, gpus=2),
                Host(4.1, 14, 2, 7, 44, 110, io_pressure=0.02),
                39,
                15,
                dip_every_s=240,
                dip_s=(8, 22),
                dip_percent=30,
                drift=5,
                grain=3,
                gpu_ids=(0, 1),
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="lattice_qcd_memory_bound_healthy",
        source="QUDA on LUMI-G (Dslash is bandwidth-bound); Lattice QCD strong-scaling papers on MI250X",
        story="Conjugate gradients on eight nodes: 98 percent busy, 330 W per module, one core per rank. Low "
        "arithmetic intensity, not waiting.",
        record=job(f"--partition=standard-g --nodes=8 {NODE} --time=18:00:00", "hmc_l64t128", 59_600),
        draw=drawn(
            Plan(
                59_600,
                even(97.5, 8),
                Host(8.2, threads=7, memory_gb=101),
                46,
                45,
                start_s=(200, 500),
                die_w=MEMORY_BOUND_W,
                dip_every_s=5400,
                dip_s=(60, 160),
                lost=0.02,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="gpu4pyscf_many_sleeping_threads_healthy",
        source="gpu4pyscf README; OpenMP runtimes start a thread per visible core, HIP adds helpers",
        story="66 threads on seven cores look like oversubscription, but they sleep: nobody queues for a core, two "
        "cores are busy and the GPU is full.",
        record=job(f"{ONE_GPU} --time=02:30:00", "tddft_chrom", 8_150),
        draw=drawn(Plan(8_150, even(90, gpus=1), Host(2.3, 7, 1, 66, 33, 60), 41, 3, gpu_ids=(1,), drift=4, grain=1)),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="cp2k_extra_cores_that_are_used_healthy",
        source="LUMI docs, billing (8 cores and 64 GB per slice); CP2K manual, threads for the grid work",
        story="One GPU with 14 cores, twice its share and billed so, but 12.6 of them are busy and the GPU is at 84 "
        "percent: the extra cores do their part.",
        record=job(
            "--partition=small-g --gpus=1 --ntasks=2 --cpus-per-task=7 --mem=60G --time=08:00:00", "h2o128_rpa", 25_300
        ),
        draw=drawn(Plan(25_300, even(84, gpus=1), Host(12.6, 14, 2, 7, 46, 60), 36, 12, gpu_ids=(2,), grain=3)),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=13, memory_min_gb=47),
    ),
)

MISFIT = (
    Case(
        name="vasp_one_rank_on_four_gpus",
        source="VASP wiki, OpenACC port: one MPI rank drives one GPU",
        story="Four GPUs, one rank: the first GPU runs at 92 percent, three never start.",
        record=job(
            "--partition=small-g --gpus-per-node=4 --ntasks=1 --cpus-per-task=28 --mem=240G --time=12:00:00",
            "slab_relax",
            38_000,
        ),
        draw=drawn(
            Plan(38_000, ((92, 0, 0, 0),), Host(3.2, 28, 1, 29, 51, 240), 37, 20, gpu_ids=(0, 1, 2, 3), grain=3)
        ),
        efficiency_class="INEFFICIENT",
        must=codes("parallelism_mismatch idle_gpus"),
        sensible=Sensible(gpus=(1,), memory_min_gb=52, is_ready_to_resubmit=False),
    ),
    Case(
        name="dft_gpus_used_in_turns",
        source="Python drivers that loop over devices (ASE, one molecule after another); peers: jobstats#28",
        story="A script sends one molecule after the other to the next GPU and waits for it: each of four GPUs works "
        "a quarter of the time, never two at once, with three gigabytes in use. One GPU does the same work.",
        record=job(
            "--partition=small-g --gpus-per-node=4 --ntasks=1 --cpus-per-task=28 --mem=200G --time=06:00:00",
            "screen_loop",
            18_600,
        ),
        draw=drawn(
            Plan(
                18_600,
                even(92, gpus=4),
                Host(1.6, 28, 1, 12, 24, 200),
                3.1,
                6,
                shape=in_turns(60, 6),
                gpu_ids=(4, 5, 6, 7),
                drift=1,
                grain=4,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("overscaling"),
        may=codes("parallelism_mismatch"),
        sensible=Sensible(gpus=(1, 2), is_ready_to_resubmit=False),
    ),
    Case(
        name="vasp_small_cell_steady_half_use",
        source="VASP wiki, NSIM and KPAR on GPUs; NERSC VASP power study (small cells leave the GPU half used)",
        story="A 40-atom cell on two GPUs: a steady 52 percent at 245 W per module, memory, cores and host memory "
        "free. Larger NSIM or k-point batches would fill the kernels.",
        record=job(
            "--partition=small-g --gpus-per-node=2 --ntasks=2 --cpus-per-task=7 --mem-per-gpu=50G --time=03:00:00",
            "cell40_scf",
            9_200,
        ),
        draw=drawn(
            Plan(
                9_200, even(52.5, gpus=2), Host(2.3, 14, 2, 7, 19, 100), 9, 4, gpu_ids=(6, 7), grain=10, die_w=MODEST_W
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="vasp_bands_short_of_its_day",
        source="LUMI training, responsible-use (maximum wall time by habit); peers: jobstats time-limit note",
        story="A band structure that needs 52 minutes under a limit of 24 hours, at 88 percent: only the limit is off.",
        record=job(f"{ONE_GPU} --time=24:00:00", "bands", 3_130),
        draw=drawn(Plan(3_130, even(90, gpus=1), Host(1.5, 7, 1, 9, 15, 60), 28, 2, gpu_ids=(4,))),
        efficiency_class="EFFICIENT",
        must=codes("walltime_overrequest"),
        sensible=Sensible(gpus=(1,), walltime_min_s=3_200),
    ),
    Case(
        name="pyscf_defaults_beyond_the_share",
        source="LUMI docs, billing; public user scripts: small-g, one GPU, --mem=256G",
        story="One GPU at 91 percent, but 32 cores and 256 GB booked of which two cores and 19 GB were used: four "
        "times the bill of a GPU's share.",
        record=job(
            "--partition=small-g --gpus-per-node=1 --ntasks=1 --cpus-per-task=32 --mem=256G --time=04:00:00",
            "ccsd_df",
            12_700,
        ),
        draw=drawn(Plan(12_700, even(91, gpus=1), Host(2.1, 32, 1, 33, 19, 256), 43, 5, gpu_ids=(7,))),
        efficiency_class="EFFICIENT",
        must=codes("cores_or_memory_beyond_share"),
        sensible=Sensible(gpus=(1,), cores_min=2, memory_min_gb=20, is_ready_to_resubmit=False),
    ),
)

HOST_SIDE = (
    Case(
        name="cp2k_dbcsr_stacks_built_on_the_cores",
        source="CP2K manual, DBM/DBCSR on GPUs (CPU prepares the stacks); CP2K GPU benchmarks",
        story="Every core assembles block stacks and grids, 54 of 56 are busy, the eight GPUs get work a third of the "
        "time. Threads match the cores.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=06:00:00", "ls_scf", 19_700),
        draw=drawn(Plan(19_700, even(32), Host(53.8, threads=7, memory_gb=205, system_share=0.06), 11, 8, drift=4)),
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(4, 8), cores_min=53, memory_min_gb=206),
    ),
    Case(
        name="cp2k_twice_the_threads_of_cores",
        source="LUMI docs, distribution-binding#openmp-thread-affinity; NHR PathoJobs rule A.3 (oversubscription)",
        story="OMP_NUM_THREADS=14 with eight ranks on 56 cores: 112 busy threads queue for cores most of the time, "
        "and the GPUs work a quarter of it.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=08:00:00", "bulk_omp14", 26_400),
        draw=drawn(
            Plan(
                26_400,
                even(26),
                Host(55.2, threads=14, memory_gb=230, system_share=0.31, cpu_pressure=0.71),
                13,
                15,
                grain=0.8,
                drift=4,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(4, 8), cores_min=54, memory_min_gb=230),
    ),
    Case(
        name="pyscf_blas_threads_for_the_whole_node",
        source="PySCF docs, OMP_NUM_THREADS; nested BLAS and OpenMP pools in containers",
        story="The container sees 64 cores and starts 64 BLAS threads in a job of seven: they queue for cores two "
        "thirds of the time, the GPU waits for the integrals.",
        record=job(f"{ONE_GPU} --time=07:00:00", "mp2_batch", 22_500),
        draw=drawn(
            Plan(
                22_500,
                even(24, gpus=1),
                Host(6.9, 7, 1, 64, 41, 60, system_share=0.4, cpu_pressure=0.68),
                23,
                10,
                gpu_ids=(3,),
                grain=0.7,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="gpaw_killed_for_host_memory",
        source="LUMI docs, known mistakes (/tmp is memory); Slurm state OUT_OF_MEMORY",
        story="Wave functions are gathered on the host for output and the kernel kills the rank. The GPU was well "
        "used until then.",
        record=job(f"{ONE_GPU} --time=06:00:00", "gs_large", 13_400, "OUT_OF_MEMORY", "0:125"),
        draw=drawn(
            Plan(
                13_400,
                even(85, gpus=1),
                Host(2.0, 7, 1, 8, 62, 60, oom_kills=1, memory_pressure=0.04),
                44,
                5,
                gpu_ids=(5,),
                tail_s=(0, 8),
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("host_out_of_memory"),
        sensible=Sensible(memory_min_gb=61, is_ready_to_resubmit=False),
    ),
)

WAITING = (
    Case(
        name="lattice_qcd_deadlock_until_the_limit",
        source="peers: device-metrics-exporter#34 (100 % while deadlocked in a collective); LUMI AI guide, power hint",
        story="A collective never completes: after half an hour of work all GPUs of two nodes show 100 percent at 130 "
        "W per module until the time limit. Busy, but not working.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=06:00:00", "hmc_restart", 21_618, "TIMEOUT", "0:0"),
        draw=drawn(
            Plan(
                21_618,
                even(98.5, 2),
                Host(16.4, threads=8, memory_gb=80),
                39,
                die_w=MEMORY_BOUND_W,
                spin_from=0.09,
                grain=8,
                drift=0.5,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting timeout"),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        name="lattice_qcd_spins_in_reductions_on_16_nodes",
        source="QUDA strong scaling (global sums dominate); RCCL kernels count as busy, LUMI AI workshop chapter 4",
        story="A small lattice on 128 GPUs: device-side reductions spin for the other ranks. 93 percent busy at 140 W "
        "per module, as little as an idle module and a bit.",
        record=job(f"--partition=standard-g --nodes=16 {NODE} --time=04:00:00", "l32t64_scan", 12_300),
        draw=drawn(
            Plan(12_300, even(93, 16), Host(8.6, threads=8, memory_gb=44), 15, 12, die_w=SPIN_W + 4, drift=2, grain=5)
        ),
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="qcd_gauge_fields_loaded_for_an_hour",
        source="Chroma/Grid measurements: gauge configurations read and unpacked by the host first",
        story="All ranks read and unpack propagators for a third of the run before the first inversion; then 95 "
        "percent.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=04:00:00", "meas_conf_1200", 12_950),
        draw=drawn(
            Plan(
                12_950,
                even(95, 2),
                Host(9.8, threads=7, memory_gb=310, iowait=0.02, io_pressure=0.14),
                49,
                6,
                start_s=(4_300, 4_600),
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="cp2k_one_hot_node_throttled",
        source="LLview job reports, 'GPU throttling'; LUMI training E08 (node-level limiter)",
        story="Two nodes, both full; on one of them the firmware held the clocks down 62 percent of the time, and the "
        "other waits for it at every step.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=09:00:00", "rpa_dense", 29_500),
        draw=drawn(
            Plan(29_500, even(94, 2), Host(22, threads=7, memory_gb=250), 47, 15, throttled=(0.62, 0.02), die_w=200)
        ),
        efficiency_class="EFFICIENT",
        must=codes("throttled"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="dft_density_matrix_fills_the_gpu",
        source="VASP wiki, memory per GPU; peers: job_defense_shield#2 (memory and use are two things)",
        story="62.9 of 64 GB in use at 93 percent: it ran, but the next larger cell will not.",
        record=job(f"{ONE_GPU} --time=09:00:00", "defect_216", 29_100),
        draw=drawn(
            Plan(29_100, even(93, gpus=1), Host(1.7, 7, 1, 9, 38, 60), 63.3, 15, gpu_ids=(2,), creep=0.06, spread=1)
        ),
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(1, 2)),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + MISFIT + HOST_SIDE + WAITING
