"""Cores, threads, limits and files: what the host does to simulations, and what only looks like it."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import MODEST_W, Host, Plan, drawn, even
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
ONE_GPU = "--partition=small-g --gpus-per-node=1 --ntasks-per-node=1 --cpus-per-task=7 --mem-per-gpu=60G"

HEALTHY = (
    Case(
        name="one_core_per_rank_all_busy_healthy",
        source="MPICH and HIP wait by polling; LUMI docs, lumig-job with --cpus-per-task=1",
        story="Four ranks with one core each: all four cores always busy, because waiting for a GPU is polling. The "
        "GPUs are full, so nothing is a bottleneck.",
        record=job(
            "--partition=small-g --gpus=4 --ntasks=4 --cpus-per-task=1 --mem=64G --time=06:00:00", "lj_kokkos1c", 19_000
        ),
        draw=drawn(
            Plan(19_000, even(93, gpus=4), Host(3.97, 4, 4, 3, 19, 64), 28, 8, gpu_ids=(0, 1, 2, 3), dip_every_s=600)
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="start_up_of_an_eighth_healthy",
        source="Container start and input parsing on Lustre; LUMI AI guide, start-up times",
        story="Seven minutes of container start and input parsing in an hour: visible at the left edge, not worth a "
        "line.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=01:15:00", "container_dns", 3_600),
        draw=drawn(
            Plan(
                3_600, even(95), Host(9.2, threads=8, memory_gb=66), 41, 2, start_s=(370, 450), stagger_s=25, lost=0.02
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="debug_in_an_interactive_shell_healthy",
        source="LUMI docs, interactive; cBio/cbio-cluster#261 (no time-limit warning for interactive jobs)",
        story="An interactive allocation of three hours in which the solver ran for half an hour at full use and the "
        "user left: the unused limit of a shell is nobody's business.",
        record=job(
            "--partition=dev-g --gpus=1 --ntasks=1 --cpus-per-task=7 --mem=60G --time=03:00:00", "interactive", 1_930
        ),
        draw=drawn(Plan(1_930, even(94, gpus=1), Host(1.6, 7, 1, 8, 10, 60), 25, 1, gpu_ids=(4,), start_s=(40, 90))),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="late_clock_and_lost_minutes_healthy",
        source="Collector gaps as in the wandb traces (null buckets); omnistat-inspect, gaps over three steps",
        story="The readings begin two minutes late on every GPU and six percent of them are lost. Gaps are not idle "
        "time.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=02:00:00", "euler_fv", 6_500),
        draw=drawn(
            Plan(
                6_500,
                even(88),
                Host(8.4, threads=8, memory_gb=48),
                37,
                4,
                lost=0.06,
                late_clock_s=(130,),
                start_s=(4, 10),
                drift=3,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="smoke_test_of_four_minutes",
        source="Site policy; cBio/cbio-cluster#245 (mails about tiny test jobs are too stringent)",
        story="A test of 230 seconds, half of it start-up. Too short to say anything about GPU use.",
        record=job(f"{ONE_GPU} --time=00:05:00", "smoke", 230),
        draw=drawn(
            Plan(230, even(60, gpus=1), Host(1.6, 7, 1, 8, 5, 60), 4, 0.5, gpu_ids=(0,), start_s=(95, 110), lost=0)
        ),
        efficiency_class="INEFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
)

THREADS = (
    Case(
        name="lammps_every_rank_uses_all_cores",
        source="LUMI docs, distribution-binding#openmp-thread-affinity; LAMMPS manual, package omp",
        story="OMP_NUM_THREADS=56 in eight ranks: 448 threads on 56 cores, the kernel switches all the time and the "
        "GPUs starve at 30 percent.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=06:00:00", "reax_omp56", 19_300),
        draw=drawn(
            Plan(
                19_300,
                even(30),
                Host(55.4, threads=56, memory_gb=44, system_share=0.42, cpu_pressure=0.83),
                12,
                8,
                grain=0.7,
                spread=3,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(4, 8), cores_min=54),
    ),
    Case(
        name="namd_sixteen_threads_a_rank_on_seven_cores",
        source="NAMD user guide (+p counts); NHR PathoJobs A.3",
        story="+p16 copied from another machine for ranks of seven cores: worker threads queue for cores, two GPUs "
        "wait two thirds of the time.",
        record=job(
            "--partition=small-g --gpus-per-node=2 --ntasks=2 --cpus-per-task=7 --mem=100G --time=09:00:00",
            "stmv_p16",
            29_900,
        ),
        draw=drawn(
            Plan(
                29_900,
                even(31, gpus=2),
                Host(13.8, 14, 2, 16, 23, 100, system_share=0.3, cpu_pressure=0.74),
                6,
                15,
                gpu_ids=(4, 5),
                grain=1,
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1, 2), cores_min=14),
    ),
    Case(
        name="coupled_model_two_programs_on_the_same_cores",
        source="OASIS/YAC coupling layouts (two srun --overlap steps bound to the same cores)",
        story="Atmosphere on the GPUs and ocean on the CPUs were bound to the same 56 cores on both nodes: 168 "
        "threads a node queue for them, the GPUs work 45 percent.",
        record=job(
            "--partition=standard-g --nodes=2 --gpus-per-node=8 --ntasks-per-node=24 --cpus-per-task=2 --time=12:00:00",
            "coupled_ao",
            40_100,
        ),
        draw=drawn(
            Plan(
                40_100,
                even(47, 2),
                Host(55.0, ranks=24, threads=7, memory_gb=240, system_share=0.28, cpu_pressure=0.69),
                16,
                20,
                drift=5,
                grain=1.2,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("host_oversubscription"),
        may=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(8, 16), cores_min=104),
    ),
    Case(
        name="half_ported_pic_particles_on_the_cores",
        source="Porting reports (LUMI hackathons): field solver on the GPU, particle push still on the CPU",
        story="The field solve is on four GPUs, the particles are pushed by 28 cores that are all busy: 21 percent "
        "GPU use, cores set the pace.",
        record=job(
            "--partition=small-g --gpus=4 --ntasks-per-node=4 --cpus-per-task=7 --mem-per-gpu=50G --time=08:00:00",
            "push_cpu",
            26_300,
        ),
        draw=drawn(
            Plan(
                26_300, even(22, gpus=4), Host(27.4, 28, 4, 7, 97, 200, system_share=0.03), 9, 10, gpu_ids=(0, 1, 2, 3)
            )
        ),
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(1, 2, 4), cores_min=27, memory_min_gb=97),
    ),
)

HARDWARE_AND_ENDS = (
    Case(
        name="dense_linear_algebra_hot_module",
        source="HPL/HPCG on MI250X; LUMI training E08 (module limiter below 500 W)",
        story="Dense factorisation on one module at 99 percent and 500 W, with the clocks held down half of the time.",
        record=job(
            "--partition=small-g --gres=gpu:2 --ntasks=2 --cpus-per-task=7 --mem=120G --time=02:00:00",
            "rocsolver_big",
            6_300,
        ),
        draw=drawn(
            Plan(
                6_300,
                even(99, gpus=2),
                Host(2.4, 14, 2, 8, 40, 120),
                50,
                2,
                gpu_ids=(6, 7),
                throttled=(0.52,),
                die_w=206,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("throttled"),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="four_nodes_thermal_throttling",
        source="omnistat throttle events; LLview report examples, throttle reasons",
        story="A cooling problem in one rack: all four nodes ran with clocks held down 40 percent of the time, at 91 "
        "percent use.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=10:00:00", "combust_4n", 33_000),
        draw=drawn(
            Plan(33_000, even(92, 4), Host(8.9, threads=8, memory_gb=93), 44, 20, throttled=(0.41, 0.38, 0.42, 0.4))
        ),
        efficiency_class="EFFICIENT",
        must=codes("throttled"),
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="short_throttling_is_normal",
        source="MI250X power management (brief limits at kernel bursts)",
        story="Clocks were limited for one percent of the time, as on every busy module. Nothing to report.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=04:00:00", "dgemm_mix", 12_700),
        draw=drawn(Plan(12_700, even(95), Host(8.3, threads=8, memory_gb=55), 43, 5, throttled=(0.01,))),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="finished_but_the_script_waits",
        source="LUMI training, responsible-use (idle after the work is still billed); peers: jobstats#28",
        story="A background process keeps the batch script alive: the solver ended after 56 percent, eight GPUs and "
        "the cores did nothing for three more hours.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=09:00:00", "wait_forever", 27_400),
        draw=drawn(Plan(27_400, even(93), Host(4.9, threads=8, memory_gb=61), 30, 12, ends=0.56, tail_s=(0, 120))),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="hung_in_finalize_until_cancelled",
        source="MPI_Finalize hangs reported on Slingshot systems; peers: hang after a crash is still billed",
        story="All ranks sleep in a barrier at the end of the program; the user cancels five hours later. 35 percent "
        "of the run was work.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=12:00:00", "fin_hang", 28_900, "CANCELLED", "0:15"),
        draw=drawn(Plan(28_900, even(92, 2), Host(3.2, threads=8, memory_gb=70), 33, 15, ends=0.35, tail_s=(0, 60))),
        efficiency_class="INEFFICIENT",
        must=codes("idle_tail"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="middling_run_that_nobody_could_look_into",
        source="peers: an explicit 'insufficient data' state is missing everywhere; rocm_smi_lib#160 (no power per "
        "die)",
        story="One die at 30 percent, uneven from minute to minute, no power, no host numbers: nothing visible "
        "explains it, and the report says what it could not see.",
        record=job(f"{ONE_GPU} --time=05:00:00", "blackbox", 15_500),
        draw=drawn(
            Plan(15_500, even(30, gpus=1), None, 29, 6, gpu_ids=(1,), has_power=False, grain=0.5, drift=8, lost=0.04)
        ),
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="multigrid_coarse_levels_steady_half",
        source="hypre/AMG on MI250X (coarse levels cannot fill a GPU); nekRS pressure solve",
        story="A multigrid solver at a steady 48 percent and 235 W per module, 15 GB in use, one polling core per "
        "rank of seven: the kernels of the coarse levels are short. The eight busy cores are no bottleneck.",
        record=job(
            "--partition=small-g --gpus=8 --ntasks-per-node=8 --cpus-per-task=7 --mem=400G --time=06:00:00",
            "amg_poisson",
            20_600,
        ),
        draw=drawn(
            Plan(20_600, even(48), Host(8.6, threads=8, memory_gb=86, limit_gb=400), 15, 10, die_w=MODEST_W, grain=12)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(4, 8)),
    ),
    Case(
        name="adaptive_solver_stalls_on_its_log",
        source="Lustre metadata slowness of January 2026 on LUMI; CSC user guide, many small files",
        story="Each rank appends to its own log and opens it every step: when the metadata server is slow all GPUs "
        "stop together for a minute or two, again and again.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=08:00:00", "log_per_step", 26_000),
        draw=drawn(
            Plan(
                26_000,
                even(94, 4),
                Host(6.9, threads=8, memory_gb=83, iowait=0.1, io_pressure=0.36),
                29,
                10,
                dip_every_s=300,
                dip_s=(95, 150),
                dip_percent=1.0,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(32,)),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + THREADS + HARDWARE_AND_ENDS
