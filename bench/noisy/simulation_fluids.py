"""Weather, climate and computational fluid dynamics."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import MEMORY_BOUND_W, Host, Plan, drawn, even, in_phases
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
SHARED_NODE = "--partition=small-g --nodes=1 --gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7 --mem=480G"

HEALTHY = (
    Case(
        name="icon_with_io_ranks_healthy",
        source="GMD 18, 905 (2025), ICON on exascale systems; ICON documentation, asynchronous output servers",
        story="Four nodes of ICON with one output rank per node beside the eight compute ranks: output is written in "
        "the background, the I/O pressure of those ranks is real, the GPUs hardly notice it. The third node's "
        "readings begin ten minutes late.",
        record=job(
            "--partition=standard-g --nodes=4 --gpus-per-node=8 --ntasks-per-node=9 --cpus-per-task=6 --time=12:00:00",
            "exp_r2b8_amip",
            39_700,
        ),
        draw=drawn(
            Plan(
                39_700,
                even(87, 4),
                Host(13.5, ranks=9, threads=6, memory_gb=210, iowait=0.03, io_pressure=0.09),
                38,
                30,
                start_s=(150, 420),
                late_clock_s=(0, 0, 640, 0),
                dip_every_s=1800,
                dip_s=(10, 45),
                dip_percent=25,
                die_w=MEMORY_BOUND_W,
                spread=2.5,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="neko_memory_bound_healthy",
        source="Neko (spectral elements) on LUMI-G, Jansson et al., SC23: bandwidth-bound kernels at full use",
        story="High-order Navier-Stokes on 16 nodes: 98 percent busy at 330 W per module, because the kernels wait "
        "for memory, not for each other. Low power for compute, plain for bandwidth: nothing to report.",
        record=job(f"--partition=standard-g --nodes=16 {NODE} --time=1-00:00:00", "rbc_ra1e11", 84_900),
        draw=drawn(
            Plan(
                84_900,
                even(98, 16),
                Host(8.4, threads=9, memory_gb=160, io_pressure=0.01),
                49,
                60,
                start_s=(120, 300),
                dip_every_s=7200,
                dip_s=(40, 110),
                die_w=MEMORY_BOUND_W,
                lost=0.015,
                grain=3,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(128,)),
    ),
    Case(
        name="climate_segments_with_restarts_healthy",
        source="ICON/IFS restart chains within one allocation (AutoSubmit, ecFlow practice)",
        story="One allocation runs 24 segments; between two of them the model writes its restart and starts again, "
        "half a minute without GPU work. Five percent in all: the normal price of a chain.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=08:00:00", "chain_1979", 24_200),
        draw=drawn(
            Plan(
                24_200,
                even(90, 2),
                Host(9.0, threads=7, memory_gb=130, io_pressure=0.03, iowait=0.012),
                33,
                dip_every_s=1000,
                dip_s=(25, 60),
                die_w=150,
                start_s=(40, 100),
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="lbm_two_neighbours_on_one_module_healthy",
        source="waLBerla on LUMI-G (lattice Boltzmann, 92 % parallel efficiency at 512 nodes)",
        story="A channel flow on the two dies of one module of small-g. A mapped run that uses everything it has; its "
        "host numbers were not read and some GPU readings were lost.",
        record=job(
            "--partition=small-g --gres=gpu:mi250:2 --ntasks=2 --cpus-per-task=7 --mem-per-cpu=8G --time=03:00:00",
            "channel_lbm",
            9_320,
        ),
        draw=drawn(Plan(9_320, even(96, gpus=2), None, 44, 4, gpu_ids=(4, 5), die_w=MEMORY_BOUND_W, lost=0.04)),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="ensemble_forecast_members_end_nearly_together",
        source="COSMO/ICON ensemble practice: one member per GPU, adaptive time steps differ by some percent",
        story="Eight members on eight GPUs; unstable ones take shorter steps and end up to a tenth later. Nothing to "
        "do.",
        record=job(f"{SHARED_NODE} --time=04:00:00", "eps_00utc", 12_900),
        draw=drawn(
            Plan(
                12_900,
                even(84),
                Host(9.4, threads=5, memory_gb=205, io_pressure=0.02),
                29,
                6,
                ends=(0.95, 0.93, 1.0, 0.97, 0.96, 0.92, 0.99, 0.94),
                drift=4,
                spread=3,
                stagger_s=40,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)

OUTPUT = (
    Case(
        name="icon_synchronous_output_pressure",
        source="ICON release notes (asynchronous output); users' first complaint after LUMI's update of January 2026",
        story="Output of every simulated hour from the compute ranks themselves: all GPUs fall to nothing together "
        "for minutes, some 40 percent of the run, with Lustre as the only thing that moves.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=06:00:00", "exp_out1h", 19_300),
        draw=drawn(
            Plan(
                19_300,
                even(92, 2),
                Host(6.8, threads=7, memory_gb=240, iowait=0.11, io_pressure=0.37),
                36,
                dip_every_s=480,
                dip_s=(160, 220),
                start_s=(100, 240),
                die_w=150,
                dip_percent=0.5,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="climate_forcing_files_reread",
        source="Lustre advice in LUMI docs, storage; CSC user guide (many small files)",
        story="A nudged run opens thousands of small forcing files through one rank: after a good first third the "
        "page cache is exhausted and all GPUs wait for reads most of the time until the end.",
        record=job(f"{SHARED_NODE} --time=10:00:00", "nudge_era5", 32_700),
        draw=drawn(
            Plan(
                32_700,
                even(93),
                Host(4.9, threads=7, memory_gb=371, iowait=0.15, io_pressure=0.55),
                27,
                15,
                shape=in_phases(((0.45, 1.0), (1.0, 0.13))),
                drift=2,
                grain=0.7,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(8,), memory_min_gb=380),
    ),
    Case(
        name="cfd_checkpoint_every_ten_minutes_blocks",
        source="Young/Daly on checkpoint intervals; peers: omnistat iterations (idle gaps seen in the time series)",
        story="A careful user writes the whole state every ten minutes and each write takes five: the GPUs of both "
        "nodes stop together, the cores idle in I/O wait. A longer interval frees nearly half of the run.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=05:00:00", "dns_pipe", 16_100),
        draw=drawn(
            Plan(
                16_100,
                even(97, 2),
                Host(7.4, threads=8, memory_gb=300, iowait=0.12, io_pressure=0.46),
                52,
                5,
                dip_every_s=640,
                dip_s=(260, 330),
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
)

HOST_SIDE = (
    Case(
        name="icon_physics_still_on_the_cores",
        source="PASC23 msa176, ICON on LUMI (limits of the OpenACC port)",
        story="Dynamics on the GPU, radiation and microphysics still on 56 cores, all of them busy: the GPUs work a "
        "quarter of the time. As many threads as cores, no queue for them.",
        record=job(f"{SHARED_NODE} --time=12:00:00", "icon_halfport", 38_800),
        draw=drawn(
            Plan(38_800, even(26), Host(53.2, threads=7, memory_gb=190, system_share=0.05), 21, 20, grain=1.0, drift=3)
        ),
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(4, 8), cores_min=53, memory_min_gb=190),
    ),
    Case(
        name="openfoam_pressure_solver_only",
        source="petsc4Foam / AmgX4Foam papers: only the pressure equation runs on the GPU",
        story="56 OpenFOAM ranks assemble matrices on all cores and hand the pressure solve to eight GPUs, which work "
        "29 percent of the time.",
        record=job(
            "--partition=standard-g --nodes=1 --gpus-per-node=8 --ntasks-per-node=56 --cpus-per-task=1 --time=06:00:00",
            "drivAer_petsc",
            19_900,
        ),
        draw=drawn(Plan(19_900, even(29), Host(54.6, ranks=56, threads=1, memory_gb=260), 14, spread=3, grain=0.9)),
        efficiency_class="INEFFICIENT",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(4, 8), cores_min=54, memory_min_gb=260),
    ),
    Case(
        name="wrf_without_gpu_code_on_gpu_nodes",
        source="LUMI training, M501-Porting (CPU-only code gives no warning on a GPU node)",
        story="A plain MPI build of WRF on two GPU nodes: 112 cores work hard, sixteen GPUs never start. It belongs "
        "on the CPU partition.",
        record=job(
            "--partition=standard-g --nodes=2 --gpus-per-node=8 --ntasks-per-node=56 --cpus-per-task=1 --time=08:00:00",
            "wrf_d02",
            25_900,
        ),
        draw=drawn(Plan(25_900, even(0, 2), Host(54.9, ranks=56, threads=1, memory_gb=140), 0.0)),
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        may=codes("exclusive_node_underused"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="ocean_model_cpu_build_on_one_gpu",
        source="LUMI training, responsible-use (CPU-only software on a GPU node); Jobanalyzer 'cpuhog' rule",
        story="A CPU build of an ocean model in the GPU queue, its one GPU untouched apart from a start-up probe.",
        record=job(
            "--partition=small-g --gpus-per-node=1 --ntasks=7 --cpus-per-task=1 --mem=56G --time=02:00:00",
            "nemo_gyre",
            6_480,
        ),
        draw=drawn(Plan(6_480, even(0, gpus=1), Host(6.8, 7, 7, 1, 22, 56), 0.0, 2, gpu_ids=(6,))),
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
)

LAYOUT = (
    Case(
        name="pyfr_partition_weights_wrong",
        source="PyFR user guide, mesh partitioning weights; METIS on mixed element types",
        story="A mixed mesh cut by element count: two GPUs carry the hexahedra and run full, the others wait at every "
        "exchange. All work, to very different degrees.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=09:00:00", "wing_p4", 28_200),
        draw=drawn(
            Plan(
                28_200,
                ((97, 95, 44, 38, 61, 33, 52, 41),),
                Host(8.6, threads=8, memory_gb=88),
                (45, 44, 21, 18, 28, 16, 24, 20),
                15,
                drift=2,
                grain=5,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="weather_member_blew_up_early",
        source="Ensemble practice: one member crosses the CFL limit and ends, the script waits for all",
        story="One of eight members stops after a sixth of the run; its GPU idles for the rest while seven go on. The "
        "mean is good, the early end deserves a line.",
        record=job(f"{SHARED_NODE} --time=06:00:00", "eps_12utc", 18_300),
        draw=drawn(
            Plan(
                18_300,
                even(93),
                Host(8.1, threads=5, memory_gb=180),
                30,
                ends=(1, 1, 1, 0.17, 1, 0.99, 1, 1),
                stagger_s=50,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(7, 8)),
    ),
    Case(
        name="cfd_small_mesh_on_two_nodes",
        source="OpenACC/STREAmS-2 scaling studies (ar5iv 2304.05494); LUMI training, responsible-use",
        story="Two million cells on sixteen GPUs: kernels of microseconds, a sixth of the time busy, less than two "
        "gigabytes of memory, quiet cores. Four GPUs would be full.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=03:00:00", "cavity_re5000", 9_100),
        draw=drawn(Plan(9_100, even(19.5, 2), Host(8.5, threads=8, memory_gb=17), 1.7, 4, grain=0.8, spread=1)),
        efficiency_class="INEFFICIENT",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(4, 8), is_ready_to_resubmit=False),
    ),
    Case(
        name="cfd_mesh_built_by_one_rank_first",
        source="snappyHexMesh/gmsh in the same job; TAU and Score-P tutorials (serial preprocessing)",
        story="One rank builds and partitions the mesh of a four-node run for a third of the time; 32 GPUs wait for "
        "it.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=04:00:00", "city_les", 12_600),
        draw=drawn(
            Plan(
                12_600,
                even(95, 4),
                Host(6.2, threads=7, memory_gb=150, io_pressure=0.02),
                44,
                6,
                start_s=(4_250, 4_500),
                die_w=MEMORY_BOUND_W,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="cfd_postprocessing_on_the_node",
        source="ParaView batch rendering after the solver; peers: idle tail of jobstats#28",
        story="The solver ends after 58 percent; pvbatch renders frames on the cores with eight GPUs billed.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=05:00:00", "solve_and_render", 15_600),
        draw=drawn(
            Plan(15_600, even(92), Host(19, threads=7, memory_gb=120), 40, 6, ends=0.58, tail_s=(0, 200), die_w=150)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="icon_short_columns_middling_use",
        source="arXiv 2606.12753, directive-based codes on MI250X are latency-bound; ICON tuning of nproma",
        story="A steady 56 percent on four GPUs at 260 W per module with memory, cores and host memory to spare: "
        "kernels that are too small for the block size chosen.",
        record=job(
            "--partition=small-g --nodes=1 --gpus=4 --ntasks=4 --cpus-per-task=7 --mem=240G --time=05:00:00",
            "icon_nproma",
            16_400,
        ),
        draw=drawn(
            Plan(
                16_400, even(56, gpus=4), Host(4.4, 28, 4, 7, 61, 240), 17, 8, gpu_ids=(0, 1, 2, 3), grain=12, die_w=160
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="lbm_full_power_held_down",
        source="LUMI training E08_MultipleGPUs (a fully loaded module may be held below 500 W); LLview 'GPU "
        "throttling'",
        story="A dense collision operator at 98 percent and 490 W on every module; the firmware held the clocks down "
        "for a third of the time. Not the user's doing, but slower than it looks.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=07:00:00", "lbm_d3q27", 22_000),
        draw=drawn(
            Plan(22_000, even(98.5), Host(8.3, threads=8, memory_gb=72), 51, throttled=(0.34,), die_w=202, grain=4)
        ),
        efficiency_class="EFFICIENT",
        must=codes("throttled"),
        sensible=Sensible(gpus=(8,)),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + OUTPUT + HOST_SIDE + LAYOUT
