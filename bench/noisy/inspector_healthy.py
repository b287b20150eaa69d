"""Healthy runs on one node that look ill at a glance: nothing in their reports may accuse anybody of anything.

All expectations follow ../shared/design/domain.md sections 2 and 3 and were written before any of the runs was judged.
"""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import Host, Work, epochs, node, only_the_mean, steady
from bench.noisy.inspector_request import HOUR_S, MINUTE_S, run, whole_nodes

ONE_GPU = {"--gpus-per-node": "1", "--ntasks-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_lora_on_the_second_die",
        source="LUMI-AI-Guide 01 run.sh; ../shared/facts/amd-gpus.md on secondary dies",
        story="LoRA fine-tuning on GPU 3 alone, validation every 20 minutes, memory at 91 %. It has only the second"
        " die of a module, so no power exists. Nothing is wrong.",
        record=run("lora-7b", "small-g", 5.1 * HOUR_S, 6 * HOUR_S, gpus=1, options=ONE_GPU),
        draw=lambda rng: [
            node(rng, 5.1 * HOUR_S, (epochs(0.95, 1200, 70, 0.35),), 58.4, Host(7, 2.1, 31, 60, 1), ids=(3,))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), memory_min_gb=31),
    ),
    Case(
        name="inspector_ddp_warm_up_and_a_slow_die",
        source="LUMI training materials, MIOpen cache; omnistat samples",
        story="DDP by torchrun on a whole node, six minutes of kernel search at first, checkpoints of half a minute,"
        " one die four points behind. 3 of 180 minutes of start-up are no late start.",
        record=run(
            "vit_l16",
            "standard-g",
            3 * HOUR_S,
            4 * HOUR_S,
            tasks=1,
            cores=56,
            memory_gb=480,
            options=whole_nodes(1, tasks=1),
        ),
        draw=lambda rng: [
            node(
                rng,
                3 * HOUR_S,
                tuple(Work(((0.034, 0.02), (0.966, 0.92 if gpu == 5 else 0.96)), (1800, 30, 0.05)) for gpu in range(8)),
                47.0,
                Host(56, 19.0, 210, 480, 1, 12),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), cores_min=19, memory_min_gb=210),
    ),
    Case(
        name="inspector_loader_full_gpu_full",
        source="CSC guide, GPU-accelerated machine learning",
        story="All seven cores decode JPEG and the GPU never waits for them: a busy host is no bottleneck at 93 %.",
        record=run("resnet-imagenet", "small-g", 7.4 * HOUR_S, 10 * HOUR_S, gpus=1, options=ONE_GPU),
        draw=lambda rng: [
            node(rng, 7.4 * HOUR_S, (steady(0.95, 0.35),), 36.0, Host(7, 6.8, 44, 60, 1, 8, cpu_wait=0.16), ids=(6,))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=7, memory_min_gb=44),
    ),
    Case(
        name="inspector_threads_beyond_cores_without_harm",
        source="RWTH and NHR PathoJobs false-positive lists",
        story="16 OpenMP threads in each of 8 ranks on 56 cores, short bursts between long kernels: pressure on the"
        " cores, GPUs at 93 %. No harm, no finding.",
        record=run(
            "cp2k_water", "standard-g", 6.2 * HOUR_S, 8 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(rng, 6.2 * HOUR_S, (steady(0.95, 0.7),) * 8, 29.0, Host(56, 37, 160, 480, 8, 16, cpu_wait=0.22))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), cores_min=37, memory_min_gb=160),
    ),
    Case(
        name="inspector_prefetch_hides_the_file_system",
        source="LUMI users' complaints of slow metadata, 2026",
        story="Reading threads wait for Lustre a third of the time, but the queue in front of the GPUs never runs dry:"
        " 91 % busy on four GPUs.",
        record=run(
            "sd-finetune",
            "small-g",
            9.5 * HOUR_S,
            12 * HOUR_S,
            gpus=4,
            options={
                "--nodes": "1",
                "--gpus-per-node": "4",
                "--ntasks-per-node": "4",
                "--cpus-per-task": "7",
                "--mem": "240G",
            },
        ),
        draw=lambda rng: [
            node(
                rng,
                9.5 * HOUR_S,
                (steady(0.93, 0.9),) * 4,
                51.0,
                Host(28, 11, 150, 240, 4, 9, io_wait=0.33, iowait_fraction=0.06),
                ids=(4, 5, 6, 7),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,), cores_min=11, memory_min_gb=150),
    ),
    Case(
        name="inspector_data_set_in_ram",
        source="LUMI user guide: /tmp lies in memory and counts for the job",
        story="One GPU with 128 GB of which 118 GB are used by a data set in /tmp. That costs two slices and is needed:"
        " advice to give it back would kill the next run.",
        record=run(
            "graphcast_small",
            "small-g",
            4.4 * HOUR_S,
            6 * HOUR_S,
            gpus=1,
            memory_gb=128,
            options={"--gpus": "1", "--ntasks": "1", "--cpus-per-task": "7", "--mem": "128G"},
        ),
        draw=lambda rng: [node(rng, 4.4 * HOUR_S, (steady(0.94),), 42.0, Host(7, 3.3, 118, 128, 1), ids=(2,))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), memory_min_gb=118),
    ),
    Case(
        name="inspector_video_needs_its_cores",
        source="LUMI training materials, responsible use (Update 202308)",
        story="14 cores for one GPU, 13 of them decode video: beyond the share, used, and the GPU is full.",
        record=run(
            "videomae",
            "small-g",
            8.3 * HOUR_S,
            12 * HOUR_S,
            gpus=1,
            cores=14,
            memory_gb=60,
            options={"--gpus-per-node": "1", "--ntasks": "1", "--cpus-per-task": "14", "--mem": "60G"},
        ),
        draw=lambda rng: [
            node(rng, 8.3 * HOUR_S, (steady(0.93, 0.8),), 55.0, Host(14, 13.2, 48, 60, 1, 14, cpu_wait=0.1), ids=(0,))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,), cores_min=14, memory_min_gb=48),
    ),
    Case(
        name="inspector_sweep_ends_ragged",
        source="LUMI user guide, several runs in one allocation",
        story="Eight trials of a sweep, one on each GPU, end between 90 and 100 % of the run. That is how trials end.",
        record=run(
            "optuna-sweep", "standard-g", 5 * HOUR_S, 7 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(
                rng,
                5 * HOUR_S,
                tuple(Work(((0.01, 0), (0.89 + 0.014 * gpu, 0.96), (0.1 - 0.014 * gpu, 0))) for gpu in range(8)),
                (22.0, 23.5, 30.1, 22.4, 28.8, 23.0, 31.0, 22.2),
                Host(56, 14, 120, 480, 8, 3),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="inspector_cancelled_when_good_enough",
        source="../shared/data/traces: most CANCELLED runs are interrupted by hand",
        story="The loss was flat, the user cancelled after nine good hours of a 48 hour limit. Nothing to say.",
        record=run(
            "pretrain_bert_ft",
            "small-g",
            9 * HOUR_S,
            48 * HOUR_S,
            state="CANCELLED",
            gpus=2,
            options={"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [
            node(rng, 9 * HOUR_S, (steady(0.97),) * 2, 49.0, Host(14, 3.0, 70, 120, 2, 4), ids=(6, 7), step_s=4)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_four_minutes_on_dev",
        source="LUMI user guide, dev-g",
        story="A check of four minutes on two GPUs, a fifth of it start-up. Too short for a word on GPUs or walltime.",
        record=run("check-install", "dev-g", 4 * MINUTE_S, 30 * MINUTE_S, gpus=2),
        draw=lambda rng: [
            node(
                rng, 240, (Work(((0.22, 0.0), (0.78, 0.97))),) * 2, 4.0, Host(14, 2.0, 9, 120, 2), ids=(0, 1), step_s=1
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_array_member_just_long_enough",
        source="Princeton job_defense_shield: arrays of short runs",
        story="Task 17 of an array: 22 of 30 minutes on one GPU, full from the third minute. The limit fits.",
        record=run(
            "dock_batch",
            "small-g",
            22 * MINUTE_S,
            30 * MINUTE_S,
            gpus=1,
            options=ONE_GPU,
            array_job_id=699001,
            array_task_id=17,
        ),
        draw=lambda rng: [
            node(
                rng,
                22 * MINUTE_S,
                (Work(((0.08, 0.0), (0.92, 0.97))),),
                7.5,
                Host(7, 1.2, 6, 60, 1),
                ids=(5,),
                step_s=1,
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="inspector_eight_cores_cost_nothing",
        source="LUMI user guide, billing: ceil(cores / 8), ceil(memory / 64 GB)",
        story="8 cores and 64 GB for one GPU, 2 cores and 12 GB used. That is one slice, as 7 cores and 60 GB would be:"
        " no bill changes, so nothing is said.",
        record=run(
            "chemprop",
            "small-g",
            3.2 * HOUR_S,
            4 * HOUR_S,
            gpus=1,
            cores=8,
            memory_gb=64,
            options={"--gpus-per-node": "1", "--cpus-per-task": "8", "--mem": "64G"},
        ),
        draw=lambda rng: [node(rng, 3.2 * HOUR_S, (steady(0.94),), 18.0, Host(8, 2.0, 12, 64, 1), ids=(4,))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="inspector_one_core_from_default",
        source="LUMI user guide: no --mem gives 64 GB on small-g, no --cpus-per-task one core",
        story="`--gpus=2` and nothing else: two ranks on two cores, each core spinning. The GPUs are at 93 %.",
        record=run(
            "gromacs_bench3",
            "small-g",
            11 * HOUR_S,
            15 * HOUR_S,
            gpus=2,
            cores=2,
            memory_gb=64,
            options={"--gpus": "2", "--ntasks": "2"},
        ),
        draw=lambda rng: [
            node(
                rng,
                11 * HOUR_S,
                (steady(0.95, 0.3),) * 2,
                2.6,
                Host(2, 1.98, 5, 64, 2, cpu_wait=0.03),
                ids=(2, 3),
                step_s=4,
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_impossible_peak_of_one_gpu",
        source="sonar #245: uninitialised memory as a reading",
        story="GPU 3 once reported 9,999 GB of memory. The value is dropped and is no sign of pressure at 40 GB.",
        record=run("unet3d", "standard-g", 2.6 * HOUR_S, 4 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [
            node(
                rng,
                2.6 * HOUR_S,
                (steady(0.95),) * 8,
                40.0,
                Host(56, 16, 190, 480, 8, 3),
                fields={3: {"peak_mem_gb": 9999.0}},
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="inspector_warm_machine_hall",
        source="omnistat health checks; LUMI node power limiter",
        story="Clocks fall a little over the afternoon: throttled 2 % of the time, use 96 to 90 %. Below the bound.",
        record=run(
            "megatron_13b", "standard-g", 20 * HOUR_S, 24 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)
        ),
        draw=lambda rng: [
            node(
                rng,
                20 * HOUR_S,
                (Work(((0.01, 0), (0.4, 0.98), (0.3, 0.95), (0.29, 0.92))),) * 8,
                57.0,
                Host(56, 10, 260, 480, 8, 2),
                step_s=10,
                throttled=0.02,
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="inspector_host_memory_nearly_full",
        source="jobstats #57: page cache counted as memory",
        story="455 of 480 GB of the node in use, most of it cache of a big data set; GPUs at 94 %. Fits.",
        record=run("anemoi-o96", "standard-g", 30 * HOUR_S, 40 * HOUR_S, cores=56, memory_gb=480, options=None),
        draw=lambda rng: [
            node(rng, 30 * HOUR_S, (epochs(0.96, 3600, 40, 0.1),) * 8, 54.0, Host(56, 22, 455, 480, 8, 6), step_s=10)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), memory_min_gb=455),
    ),
    Case(
        name="inspector_one_gpu_of_eight_unread",
        source="reportseff bad_gpu sample: utilisation absent is not zero",
        story="The driver never answered for GPU 6. Seven GPUs are at 93 %; the eighth is not measured and not idle.",
        record=run("esm2_650m", "standard-g", 6 * HOUR_S, 8 * HOUR_S, cores=56, memory_gb=480, options=whole_nodes(1)),
        draw=lambda rng: [
            node(
                rng,
                6 * HOUR_S,
                (steady(0.95),) * 8,
                44.0,
                Host(56, 13, 140, 480, 8, 2),
                step_s=4,
                fields={6: {**only_the_mean(7)[6], "avg_util": None, "missing": {"avg_util": "device did not answer"}}},
                errors=("GPU 6: gpu_metrics could not be read",),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)
