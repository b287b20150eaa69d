"""How runs end: crashes, time limits, full memory, hangs, sessions left open, and runs that nobody measured."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import IDLE, Host, Work, node, steady
from bench.noisy.inspector_request import HOUR_S, MINUTE_S, run, whole_nodes

SMALL_TWO = {"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_typo_on_eight_nodes",
        source="../shared/data/traces: series of short crashes",
        story="ModuleNotFoundError after 40 s on eight nodes. No word about 64 idle GPUs; it never began.",
        record=run(
            "train_moe",
            "standard-g",
            40,
            24 * HOUR_S,
            state="FAILED",
            nodes=8,
            cores=56,
            memory_gb=480,
            options=whole_nodes(8),
        ),
        draw=lambda rng: [node(rng, 40, (IDLE,) * 8, 0.02, Host(56, 3, 4, 480, 8), step_s=1) for _ in range(8)],
        efficiency_class="WASTED",
        may=frozenset({"low_use_unexplained", "gpu_out_of_memory"}),
        sensible=Sensible(gpus=(64,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_cancelled_while_compiling",
        source="domain.md section 3, bounds",
        story="The user saw the wrong flag after eight minutes, during compilation, and cancelled. Nothing to judge.",
        record=run(
            "jit_build",
            "small-g",
            8 * MINUTE_S,
            12 * HOUR_S,
            state="CANCELLED",
            gpus=4,
            options={"--gpus-per-node": "4", "--ntasks": "4", "--cpus-per-task": "7", "--mem": "240G"},
        ),
        draw=lambda rng: [node(rng, 480, (IDLE,) * 4, 0.6, Host(28, 4, 12, 240, 4), ids=(0, 1, 2, 3), step_s=1)],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="inspector_node_died_in_good_work",
        source="LUMI: automatic requeue after node failure",
        story="Eleven hours at 93 % on four nodes, then a node died. The system's doing; nothing to change.",
        record=run(
            "bloomz",
            "standard-g",
            11 * HOUR_S,
            24 * HOUR_S,
            state="NODE_FAIL",
            nodes=4,
            cores=56,
            memory_gb=480,
            options=whole_nodes(4),
        ),
        draw=lambda rng: [
            node(rng, 11 * HOUR_S, (steady(0.95),) * 8, 55.0, Host(56, 11, 170, 480, 8), step_s=10) for _ in range(3)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="inspector_preempted_in_the_loading",
        source="domain.md section 3: the system's doing",
        story="Taken away after 35 minutes, most of them spent on loading data. Low use, and nobody's fault.",
        record=run(
            "low_prio_scan", "small-g", 35 * MINUTE_S, 10 * HOUR_S, state="PREEMPTED", gpus=2, options=SMALL_TWO
        ),
        draw=lambda rng: [
            node(rng, 35 * MINUTE_S, (Work(((0.9, 0.0), (0.1, 0.9))),) * 2, 20.0, Host(14, 2, 40, 120, 2), ids=(4, 5))
        ],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="inspector_requeued_on_attempt_one",
        source="sacct -D: the same job id again",
        story="Second attempt, requeued after 20 minutes by the operator before any kernel ran. Nothing about use.",
        record=run(
            "cmip_emul",
            "standard-g",
            20 * MINUTE_S,
            24 * HOUR_S,
            state="REQUEUED",
            nodes=2,
            cores=56,
            memory_gb=480,
            attempt=1,
        ),
        draw=lambda rng: [
            node(rng, 20 * MINUTE_S, (IDLE,) * 8, 0.3, Host(56, 2, 12, 480, 8), step_s=2) for _ in range(2)
        ],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="inspector_gpu_memory_fills_and_fails",
        source="../shared/data/traces: HIP out of memory in the log",
        story="Longer sequences late in the epoch: memory climbs to 63.9 of 64 GB and the run fails after three"
        " hours at 85 %. Out of GPU memory; nothing about the host.",
        record=run(
            "longformer_ft",
            "small-g",
            3 * HOUR_S,
            12 * HOUR_S,
            state="FAILED",
            gpus=1,
            options={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem-per-gpu": "60G"},
        ),
        draw=lambda rng: [node(rng, 3 * HOUR_S, (steady(0.9),), 63.93, Host(7, 1.6, 30, 60, 1), ids=(4,))],
        efficiency_class="EFFICIENT",
        must=frozenset({"gpu_out_of_memory"}),
        may=frozenset({"gpu_memory_pressure", "low_use_unexplained"}),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_key_error_after_two_hours",
        source="../shared/data/traces runs.csv, last_error KeyError",
        story="Two hours at 89 % with 25 GB, then exit 1 in the evaluation. Not memory. How it ended must stand there,"
        " and what to look at.",
        record=run("seg_train", "small-g", 2 * HOUR_S, 8 * HOUR_S, state="FAILED", gpus=2, options=SMALL_TWO),
        draw=lambda rng: [node(rng, 2 * HOUR_S, (steady(0.91),) * 2, 25.0, Host(14, 5, 40, 120, 2, 3), ids=(0, 1))],
        efficiency_class="EFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_hung_collective_to_the_limit",
        source="device-metrics-exporter #34: 100 % while deadlocked in RCCL; LUMI: power is the better sign",
        story="The first collective hangs: 16 GPUs spin at 97 % and a third of the power for 23 hours to the"
        " limit. The mean reads EFFICIENT. More time would only burn more.",
        record=run(
            "t5_xl",
            "standard-g",
            23 * HOUR_S,
            23 * HOUR_S,
            state="TIMEOUT",
            nodes=2,
            cores=56,
            memory_gb=480,
            options=whole_nodes(2),
        ),
        draw=lambda rng: [
            node(
                rng,
                23 * HOUR_S,
                (Work(((0.005, 0.0), (0.995, 0.995))),) * 8,
                56.0,
                Host(56, 8.1, 160, 480, 8),
                step_s=10,
                power_factor=0.24,
            )
            for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"busy_but_waiting", "timeout"}),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_memory_limit_below_the_share",
        source="LUMI: 60 GB come with each GPU; this user wrote --mem=24G",
        story="Killed at 24 GB of host memory while the GPU worked at 85 %. 60 GB come with the GPU at the same price:"
        " offer them in full.",
        record=run(
            "gatk_gpu",
            "small-g",
            95 * MINUTE_S,
            6 * HOUR_S,
            state="OUT_OF_MEMORY",
            gpus=1,
            memory_gb=24,
            options={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem": "24G"},
        ),
        draw=lambda rng: [
            node(rng, 95 * MINUTE_S, (steady(0.87),), 30.0, Host(7, 3, 24, 24, 1, 3, oom_kills=1), ids=(2,))
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"host_out_of_memory"}),
        may=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(1,), memory_min_gb=60, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_rank_zero_gathers_too_much",
        source="MPI codes that gather the field on rank 0",
        story="Four nodes at 80 %; the host memory of the first is full at the first output and the job is killed.",
        record=run(
            "elmer_ice",
            "standard-g",
            3.5 * HOUR_S,
            10 * HOUR_S,
            state="OUT_OF_MEMORY",
            nodes=4,
            cores=56,
            memory_gb=480,
            options=whole_nodes(4),
        ),
        draw=lambda rng: [
            node(
                rng,
                3.5 * HOUR_S,
                (steady(0.82),) * 8,
                31.0,
                Host(56, 9, 480 if first else 120, 480, 8, oom_kills=int(first)),
                step_s=5,
                power_factor=1.18,
            )
            for first in (True, False, False, False)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"host_out_of_memory"}),
        may=frozenset({"low_use_unexplained"}),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_unpacked_for_three_hours",
        source="LUMI AI guide: tar files onto /tmp before training",
        story="Three of eight hours unpack an archive, then five at 93 % until the limit. Stage data before, write"
        " checkpoints; the GPUs are the right number.",
        record=run(
            "pose_est_v2",
            "standard-g",
            8 * HOUR_S,
            8 * HOUR_S,
            state="TIMEOUT",
            cores=56,
            memory_gb=480,
            options=whole_nodes(1),
        ),
        draw=lambda rng: [
            node(
                rng,
                8 * HOUR_S,
                (Work(((0.375, 0.0), (0.625, 0.955))),) * 8,
                49.0,
                Host(56, 8, 260, 480, 8, 3),
                step_s=5,
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=frozenset({"late_start", "timeout"}),
        sensible=Sensible(gpus=(8,), memory_min_gb=260, walltime_min_s=5 * HOUR_S, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_finished_and_left_open",
        source="jobstats #28; LUMI: an idle hang after a crash is still billed",
        story="Two hours of work on two GPUs, then nothing until the limit of eight: the script waits at its end. It is"
        " not 'no GPU use', and more time is the wrong answer.",
        record=run("sim_then_wait", "small-g", 8 * HOUR_S, 8 * HOUR_S, state="TIMEOUT", gpus=2, options=SMALL_TWO),
        draw=lambda rng: [
            node(
                rng,
                8 * HOUR_S,
                (Work(((0.01, 0), (0.26, 0.95), (0.73, 0.0))),) * 2,
                33.0,
                Host(14, 1.2, 22, 120, 2),
                ids=(6, 7),
                step_s=5,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"idle_tail", "timeout"}),
        sensible=Sensible(gpus=(2,), walltime_min_s=2 * HOUR_S, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_timeout_of_two_busy_among_eight",
        source="jobstats probe: the timeout note is lost beside an idle GPU",
        story="Two of eight GPUs busy at 93 % to the last second, six never; limit reached. Two GPUs of small-g with"
        " more time or checkpoints: both things are said.",
        record=run(
            "namd_pair",
            "standard-g",
            24 * HOUR_S,
            24 * HOUR_S,
            state="TIMEOUT",
            tasks=2,
            cores=56,
            memory_gb=480,
            options=whole_nodes(1, tasks=2),
        ),
        draw=lambda rng: [
            node(
                rng,
                24 * HOUR_S,
                (steady(0.95),) * 2 + (IDLE,) * 6,
                (12.0,) * 2 + (0.02,) * 6,
                Host(56, 2.1, 18, 480, 2),
                step_s=10,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"timeout", "parallelism_mismatch", "exclusive_node_underused"}),
        may=frozenset({"idle_gpus"}),
        sensible=Sensible(gpus=(2,), walltime_min_s=24 * HOUR_S, partitions=("small-g",), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_timeout_and_four_slices",
        source="combination: right GPUs, memory by habit, limit too short",
        story="A full GPU ran into its limit of 24 h; 256 GB and 16 cores requested, 40 GB and three cores used.",
        record=run(
            "rl_atari_long",
            "small-g",
            24 * HOUR_S,
            24 * HOUR_S,
            state="TIMEOUT",
            gpus=1,
            cores=16,
            memory_gb=256,
            options={"--gpus-per-node": "1", "--cpus-per-task": "16", "--mem": "256G"},
        ),
        draw=lambda rng: [
            node(rng, 24 * HOUR_S, (steady(0.9, 0.4),), 17.0, Host(16, 3, 40, 256, 1, 4), ids=(0,), step_s=10)
        ],
        efficiency_class="EFFICIENT",
        must=frozenset({"timeout", "cores_or_memory_beyond_share"}),
        may=frozenset({"low_use_unexplained"}),
        sensible=Sensible(
            gpus=(1,), cores_min=3, memory_min_gb=40, walltime_min_s=24 * HOUR_S, is_ready_to_resubmit=False
        ),
    ),
)
