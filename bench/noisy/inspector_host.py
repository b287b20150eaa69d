"""Runs that the host slows down, or that only look so: cores, ranks, host memory, the file system."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import IDLE, Host, Work, epochs, node, steady
from bench.noisy.inspector_request import HOUR_S, run, whole_nodes

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_decoder_starved_and_memory_paid",
        source="CSC guide, num_workers; LUMI users with --mem=256G for one GPU",
        story="Seven cores decode flat out and the GPU gets 47 %; beside it 240 GB are requested and 38 GB used: four"
        " slices paid for one. Both must be said; fewer cores never.",
        record=run(
            "kinetics_slowfast",
            "small-g",
            17 * HOUR_S,
            24 * HOUR_S,
            gpus=1,
            memory_gb=240,
            options={"--gpus-per-node": "1", "--ntasks": "1", "--cpus-per-task": "7", "--mem": "240G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                17 * HOUR_S,
                (steady(0.48, 2.2),),
                28.0,
                Host(7, 6.8, 38, 240, 1, 8, cpu_wait=0.2),
                ids=(1,),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"cpu_bottleneck", "cores_or_memory_beyond_share"}),
        may=frozenset({"host_oversubscription"}),
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=38),
    ),
    Case(
        name="inspector_one_loading_process",
        source="PyTorch forums: num_workers=0",
        story="The training process loads its data itself: one of seven cores busy, GPU 33 % in a saw-tooth, 20 GB in"
        " use. One busy core a rank is also how HIP waits, so no cause is visible: say what was ruled out.",
        record=run(
            "train_unet",
            "small-g",
            6 * HOUR_S,
            8 * HOUR_S,
            gpus=1,
            options={"--gpus-per-node": "1", "--ntasks-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [node(rng, 6 * HOUR_S, (steady(0.335, 3.0),), 20.0, Host(7, 1.02, 14, 60, 1), ids=(5,))],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        may=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_thirty_threads_a_rank",
        source="NHR PathoJobs A.3; MKL takes every core it sees",
        story="8 ranks with 28 threads each fight for 56 cores, 60 % of the time somebody waits for a core; GPUs 52 %.",
        record=run("yambo_gw", "standard-g", 10 * HOUR_S, 15 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [
            node(
                rng,
                10 * HOUR_S,
                (steady(0.535, 1.7),) * 8,
                35.0,
                Host(56, 55.3, 280, 480, 8, 28, cpu_wait=0.6),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"host_oversubscription"}),
        may=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(gpus=(8,), memory_min_gb=280),
    ),
    Case(
        name="inspector_many_threads_but_the_disk",
        source="mixed case: threads on paper, Lustre in fact",
        story="4 ranks of 16 threads on 28 cores, no pressure on the cores; reading stops everything for half a minute"
        " every two minutes, 40 % I/O pressure. The thread count is not the cause.",
        record=run(
            "era5-train",
            "small-g",
            9 * HOUR_S,
            12 * HOUR_S,
            gpus=4,
            options={
                "--nodes": "1",
                "--gpus-per-node": "4",
                "--ntasks-per-node": "4",
                "--cpus-per-task": "7",
                "--mem-per-gpu": "60G",
            },
        ),
        draw=lambda rng: [
            node(
                rng,
                9 * HOUR_S,
                (epochs(0.86, 130, 46, 0.0),) * 4,
                37.0,
                Host(28, 8.0, 130, 240, 4, 16, cpu_wait=0.01, io_wait=0.41, iowait_fraction=0.12),
                ids=(0, 1, 2, 3),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(4,), memory_min_gb=130),
    ),
    Case(
        name="inspector_cache_ran_out",
        source="LUMI users' complaints, 2026: reads slow down when the data leave the page cache",
        story="88 % while the data fit the cache, then 30 % for the rest; I/O pressure 50 %, half the memory in use.",
        record=run("clip_b16", "standard-g", 12 * HOUR_S, 16 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [
            node(
                rng,
                12 * HOUR_S,
                (Work(((0.01, 0), (0.32, 0.93), (0.67, 0.31)), cycle_s=2.4),) * 8,
                34.0,
                Host(56, 9, 440, 480, 8, 5, io_wait=0.5, iowait_fraction=0.1),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(8,), memory_min_gb=440),
    ),
    Case(
        name="inspector_stalls_without_psi",
        source="kernels without pressure files: only I/O wait is left",
        story="Two GPUs stop 45 of every 110 s while the host waits for the disk (I/O wait 30 %); the kernel has"
        " no pressure files. The stall is visible all the same.",
        record=run(
            "hdf5-gan",
            "small-g",
            5 * HOUR_S,
            7 * HOUR_S,
            gpus=2,
            options={"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem": "120G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                5 * HOUR_S,
                (epochs(0.9, 110, 45, 0.0),) * 2,
                30.0,
                Host(
                    14,
                    2.5,
                    60,
                    120,
                    2,
                    5,
                    cpu_wait=None,
                    io_wait=None,
                    iowait_fraction=0.3,
                    missing={"pressure_io_s": "no pressure files", "pressure_cpu_s": "no pressure files"},
                ),
                ids=(4, 5),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"io_or_sync_stall"}),
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_cpu_code_on_a_whole_gpu_node",
        source="LUMI user guide: CPU-only software gives no warning on a GPU node",
        story="An MPI code without HIP: 54 of 56 cores at work for 14 hours, eight GPUs never touched. To the CPU"
        " partition with all of its cores, not to seven.",
        record=run(
            "openfoam_cpu",
            "standard-g",
            14 * HOUR_S,
            20 * HOUR_S,
            tasks=56,
            cores=56,
            memory_gb=480,
            options={"--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "56"},
        ),
        draw=lambda rng: [
            node(rng, 14 * HOUR_S, (IDLE,) * 8, 0.02, Host(56, 54, 170, 480, 56, cpu_wait=0.03), step_s=10)
        ],
        efficiency_class="WASTED",
        must=frozenset({"no_gpu_use"}),
        may=frozenset({"cpu_bottleneck", "exclusive_node_underused"}),
        sensible=Sensible(
            cores_min=54, memory_min_gb=170, partitions=("standard", "small"), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="inspector_preprocessing_with_a_token_gpu",
        source="public LUMI scripts: --cpus-per-task=56 with one GPU",
        story="Tokenisation on 45 of 56 cores and 200 of 224 GB with one GPU that did nothing: no GPU use, and neither"
        " cores nor memory are too many.",
        record=run(
            "tokenize-nordic",
            "small-g",
            7 * HOUR_S,
            10 * HOUR_S,
            gpus=1,
            tasks=1,
            cores=56,
            memory_gb=224,
            options={"--gpus-per-node": "1", "--cpus-per-task": "56", "--mem": "224G"},
        ),
        draw=lambda rng: [
            node(rng, 7 * HOUR_S, (IDLE,), 0.4, Host(56, 45, 200, 224, 1, 56, cpu_wait=0.04, io_wait=0.05), ids=(3,))
        ],
        efficiency_class="WASTED",
        must=frozenset({"no_gpu_use"}),
        may=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(
            cores_min=45, memory_min_gb=200, partitions=("standard", "small"), is_ready_to_resubmit=False
        ),
    ),
    Case(
        name="inspector_spinning_ranks_on_a_small_case",
        source="MPI and HIP wait by polling: one busy core a rank",
        story="Strong scaling too far: eight ranks at 24 % each, 5 GB each, and eight cores at 100 % that only poll."
        " The cores are no cause; four GPUs on a shared partition would do.",
        record=run("lammps_lj", "standard-g", 8 * HOUR_S, 12 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [node(rng, 8 * HOUR_S, (steady(0.245, 0.3),) * 8, 5.0, Host(56, 8.1, 24, 480, 8), step_s=5)],
        efficiency_class="INEFFICIENT",
        must=frozenset({"overscaling"}),
        sensible=Sensible(gpus=(3, 4), partitions=("small-g",)),
    ),
    Case(
        name="inspector_spinning_ranks_on_their_only_cores",
        source="one core a rank by default; polling fills it",
        story="`--gpus=4 --ntasks=4` gives four cores; each polls at 100 %. GPUs 20 % at 4 GB. A full core here is the"
        " request's size, not the cause: too many GPUs for the case.",
        record=run(
            "lj_scan_v3",
            "small-g",
            6 * HOUR_S,
            8 * HOUR_S,
            gpus=4,
            cores=4,
            memory_gb=64,
            options={"--gpus": "4", "--ntasks": "4"},
        ),
        draw=lambda rng: [
            node(
                rng, 6 * HOUR_S, (steady(0.21, 0.3),) * 4, 4.0, Host(4, 3.97, 9, 64, 4, cpu_wait=0.02), ids=(4, 5, 6, 7)
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"overscaling"}),
        may=frozenset({"cpu_bottleneck"}),
        sensible=Sensible(gpus=(2,), memory_min_gb=9),
    ),
)
