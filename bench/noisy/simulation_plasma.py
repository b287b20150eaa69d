"""Plasma and particle codes, adaptive meshes, distributed transforms: WarpX, PIConGPU, AMReX, heFFTe, gyrokinetics."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.simulation_draw import (
    MEMORY_BOUND_W,
    MODEST_W,
    SPIN_W,
    Host,
    Plan,
    drawn,
    drifting_to,
    even,
    in_phases,
)
from bench.noisy.simulation_jobs import codes, job

NODE = "--gpus-per-node=8 --ntasks-per-node=8 --cpus-per-task=7"
ONE_GPU = "--partition=small-g --gpus-per-node=1 --ntasks-per-node=1 --cpus-per-task=7 --mem-per-gpu=60G"

HEALTHY = (
    Case(
        name="castro_amr_rebalanced_healthy",
        source="AMReX docs, load balancing; WarpX docs, profiling (minimum and maximum should be alike)",
        story="Adaptive mesh with regular rebalancing: the GPUs wander by some points against each other and come "
        "together again. That is what balancing is for.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=14:00:00", "sn1a_amr", 46_200),
        draw=drawn(
            Plan(
                46_200,
                even(84, 4),
                Host(10.1, threads=7, memory_gb=118),
                43,
                30,
                drift=7,
                spread=3,
                dip_every_s=1500,
                dip_s=(15, 40),
                grain=4,
                die_w=165,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="picongpu_one_gpu_healthy",
        source="PIConGPU docs (one rank per device)",
        story="A laser-plasma box on one die of a shared node: full, growing in memory as particles are created, and "
        "with no power reading because the module is shared.",
        record=job(f"{ONE_GPU} --time=06:00:00", "lwfa_2d", 19_800),
        draw=drawn(
            Plan(19_800, even(97, gpus=1), Host(1.3, 7, 1, 11, 12, 60), 47, 8, gpu_ids=(6,), creep=0.35, lost=0.03)
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="warpx_diagnostics_written_in_the_background_healthy",
        source="openPMD/ADIOS2 asynchronous output; PIConGPU and WarpX in-situ practice",
        story="Two nodes write diagnostics all the time through a background thread: high I/O pressure on the host, "
        "no effect on the GPUs.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=05:00:00", "pwfa_diag", 15_700),
        draw=drawn(
            Plan(
                15_700,
                even(89, 2),
                Host(12, threads=9, memory_gb=290, iowait=0.06, io_pressure=0.28),
                45,
                6,
                die_w=160,
                dip_every_s=700,
                dip_s=(4, 12),
                dip_percent=40,
            )
        ),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
)

BALANCE = (
    Case(
        name="warpx_imbalance_grows_with_the_beam",
        source="WarpX docs, load balancing (off by default for this set-up); AMReX distribution mapping",
        story="Particles gather in two boxes: from an even start two GPUs stay full and six drift down to a third, as "
        "nothing moves boxes between them.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=10:00:00", "beam_nolb", 33_500),
        draw=drawn(
            Plan(
                33_500,
                even(92),
                Host(8.8, threads=8, memory_gb=90),
                (50, 48, 26, 24, 28, 25, 24, 27),
                15,
                shape=drifting_to((1.03, 1.0, 0.2, 0.16, 0.3, 0.22, 0.12, 0.26)),
                grain=4,
                die_w=165,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("load_imbalance"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="heffte_on_far_too_many_nodes",
        source="heFFTe strong-scaling papers (communication takes 95 percent and more of the time)",
        story="A 512-cubed transform on 128 GPUs: a tenth of the time busy, 700 MB per GPU, quiet cores. Two nodes "
        "hold it.",
        record=job(f"--partition=standard-g --nodes=16 {NODE} --time=02:00:00", "fft512_16n", 5_700),
        draw=drawn(
            Plan(5_700, even(9.3, 16), Host(8.3, threads=8, memory_gb=16), 0.7, 5, grain=0.5, spread=0.7, drift=1)
        ),
        efficiency_class="WASTED",
        must=codes("overscaling"),
        sensible=Sensible(gpus=(16, 32, 64), is_ready_to_resubmit=False),
    ),
    Case(
        name="fft_solver_bound_by_the_network",
        source="heFFTe/P3DFFT studies on Slingshot; GPU-aware MPI off is a common cause",
        story="A pseudo-spectral solver fills 50 of 64 GB on 64 GPUs and works 33 percent of the time, evenly: all- "
        "to-all traffic that no reading here shows. Fewer GPUs cannot hold it; say what was ruled out.",
        record=job(f"--partition=standard-g --nodes=8 {NODE} --time=06:00:00", "dns_4096", 20_400),
        draw=drawn(
            Plan(20_400, even(32.5, 8), Host(8.4, threads=7, memory_gb=66), 52, 20, die_w=MEMORY_BOUND_W, grain=0.8)
        ),
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="vlasov_small_blocks_steady_half",
        source="Vlasiator/hipSYCL tuning notes; AMD lab notes, occupancy on MI250X",
        story="A steady 55 percent at 255 W on a full node, 12 of 64 GB in use, one core per rank: many small blocks, "
        "kernels that end before the GPU is full.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=08:00:00", "vlasov_blk8", 26_800),
        draw=drawn(Plan(26_800, even(55), Host(8.9, threads=8, memory_gb=77), 12, 15, die_w=MODEST_W, grain=11)),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="gyrokinetics_low_order_kernels",
        source="GENE/GX on GPUs (short vector lengths); rocprof training of LUMI, M504",
        story="Four GPUs at a steady 50 percent and 240 W with 20 GB in use and idle cores: kernel launches and short "
        "loops set the pace.",
        record=job(
            "--partition=small-g --gpus-per-node=4 --ntasks-per-node=4 --cpus-per-task=7 --mem=200G --time=12:00:00",
            "itg_scan",
            39_500,
        ),
        draw=drawn(
            Plan(
                39_500,
                even(50, gpus=4),
                Host(4.6, 28, 4, 8, 33, 200),
                20,
                20,
                gpu_ids=(4, 5, 6, 7),
                die_w=MODEST_W,
                grain=9,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("kernel_tuning"),
        sensible=Sensible(gpus=(4,)),
    ),
)

WAITING = (
    Case(
        name="pic_persistent_kernels_poll_for_messages",
        source="GPU-initiated communication (rocSHMEM) studies; peers: rocm-systems PR#10293, 100 % at idle power",
        story="Two GPUs, persistent kernels that poll for messages: always 97 percent busy at 135 W for the module. "
        "The power shows that next to nothing is computed.",
        record=job(
            "--partition=small-g --gpus=2 --ntasks=2 --cpus-per-task=7 --mem=90G --time=03:00:00", "poll_test", 9_400
        ),
        draw=drawn(
            Plan(9_400, even(97, gpus=2), Host(2.4, 14, 2, 9, 18, 90), 21, 4, gpu_ids=(0, 1), die_w=SPIN_W, grain=8)
        ),
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(gpus=(1, 2), is_ready_to_resubmit=False),
    ),
    Case(
        name="gyrokinetics_hang_cancelled_by_hand",
        source="peers: device-metrics-exporter#34; aws-ofi-rccl hangs reported on Slingshot",
        story="After a good first fifth the collective hangs: 100 percent at 130 W for two and a half hours, then the "
        "user notices and cancels.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=12:00:00", "etg_4n", 11_900, "CANCELLED", "0:15"),
        draw=drawn(
            Plan(11_900, even(98, 4), Host(15.9, threads=8, memory_gb=95), 34, 8, spin_from=0.2, grain=8, drift=0.6)
        ),
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(gpus=(32,), is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_aware_mpi_waits_on_the_device",
        source="MPICH on Slingshot, GPU-stream-triggered communication; LUMI AI guide (power is the better sign)",
        story="Stream-triggered sends keep a waiting kernel on every GPU: 94 percent busy, 145 W per module on four "
        "nodes, host cores mostly idle.",
        record=job(f"--partition=standard-g --nodes=4 {NODE} --time=05:00:00", "halo_st", 14_600),
        draw=drawn(
            Plan(14_600, even(94, 4), Host(8.1, threads=8, memory_gb=60), 23, 8, die_w=SPIN_W + 3, drift=2, lost=0.03)
        ),
        efficiency_class="EFFICIENT",
        must=codes("busy_but_waiting"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="pic_particle_dump_after_the_first_half",
        source="openPMD dumps of full particle phase space; LUMI docs, Lustre striping",
        story="From the middle of the run on every step dumps particles: use falls from 93 percent to a tenth on all "
        "GPUs at once and stays there, the host in I/O wait.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=04:00:00", "lwfa3d_dump", 12_900),
        draw=drawn(
            Plan(
                12_900,
                even(94, 2),
                Host(5.6, threads=8, memory_gb=330, iowait=0.16, io_pressure=0.47),
                48,
                6,
                shape=in_phases(((0.5, 1.0), (1.0, 0.1))),
                grain=0.8,
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="amr_regrid_and_reactions_on_the_cores",
        source="AMReX astrophysics: networks not yet ported run on the host; WarpX profiling docs",
        story="Stiff chemistry is integrated by seven threads per rank on all cores; GPUs advance the flow and wait, "
        "46 percent busy on two nodes.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=10:00:00", "flame_net21", 33_100),
        draw=drawn(Plan(33_100, even(48, 2), Host(53.1, threads=7, memory_gb=140, system_share=0.05), 19, 15, drift=4)),
        efficiency_class="ACCEPTABLE",
        must=codes("cpu_bottleneck"),
        sensible=Sensible(gpus=(16,), cores_min=104),
    ),
    Case(
        name="gyrokinetics_eight_nodes_clocks_held_down",
        source="LLview 'GPU throttling' example; omnistat throttle events",
        story="Eight full nodes at 490 W per module; thermal and power limits held the clocks down a quarter to a "
        "third of the time everywhere.",
        record=job(f"--partition=standard-g --nodes=8 {NODE} --time=20:00:00", "tokamak_full", 66_400),
        draw=drawn(
            Plan(
                66_400,
                even(95, 8),
                Host(8.9, threads=8, memory_gb=170),
                50,
                45,
                throttled=(0.28, 0.33, 0.3, 0.26, 0.34, 0.31, 0.29, 0.3),
                die_w=202,
            )
        ),
        efficiency_class="EFFICIENT",
        must=codes("throttled"),
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="pic_kernels_compiled_at_start",
        source="AdaptiveCpp/hipRTC just-in-time compilation; CSC notes on MIOpen and JIT caches",
        story="A code generator builds every kernel at start because its cache is in /tmp and gone: 35 of 96 minutes "
        "without GPU work, then 94 percent.",
        record=job(f"--partition=standard-g --nodes=1 {NODE} --time=02:00:00", "epoch_jit", 5_760),
        draw=drawn(
            Plan(5_760, even(94), Host(14, threads=7, memory_gb=52), 30, 3, start_s=(1_990, 2_180), stagger_s=30)
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("late_start"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="pic_final_state_written_for_an_hour",
        source="HDF5 serial gather at the end of a run; LUMI docs, storage",
        story="The simulation ends after 67 percent; rank 0 gathers and writes the final state alone for the rest of "
        "the time with sixteen GPUs billed.",
        record=job(f"--partition=standard-g --nodes=2 {NODE} --time=04:00:00", "hall_final", 12_500),
        draw=drawn(
            Plan(
                12_500,
                even(93, 2),
                Host(6.0, threads=8, memory_gb=410, iowait=0.02, io_pressure=0.2),
                44,
                5,
                ends=0.67,
                tail_s=(0, 200),
            )
        ),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,)),
    ),
)

CASES: tuple[Case, ...] = HEALTHY + BALANCE + WAITING
