"""Runs that failed, were cancelled, or lost their node: what may be held against anybody, and what not."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.requests_drawing import Load, Seen, host, node
from bench.noisy.requests_records import codes, hours, shared, whole

CASES: tuple[Case, ...] = (
    Case(
        name="failed_after_six_good_hours",
        source="wb-c and wb-g traces (real): crashes of the program after normal use",
        story="Eight busy GPUs, ample memory, exit code 1. The cause is in the log, not in the readings; say so.",
        record=shared(8, 6.2, 24, state="FAILED", exit_code="1:0", job_name="train_sr"),
        draw=lambda rng: [node(rng, hours(6.2), Load((93,) * 8, (40,) * 8), host(rng, 10.7, 144))],
        efficiency_class="EFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="failed_after_hours_of_low_use",
        source="wb-g traces (real): one GPU nearly idle, then a crash",
        story="One GPU at a quarter for three hours, quiet host, then exit code 1. Neither has a visible cause.",
        record=shared(1, 3.1, 8, state="FAILED", exit_code="1:0", job_name="sample_ddim"),
        draw=lambda rng: [
            node(
                rng,
                hours(3.1),
                Load((26,), (21,), is_pulsing=True),
                host(rng, 1.2, 15, 7, 60, 1, 5),
                Seen(gpu_ids=(1,)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="failed_long_after_its_work_stopped",
        source="PyTorch: a dead rank is noticed by the watchdog only; peers: jobstats#28",
        story="All GPUs fell idle at 55 %, the launcher noticed hours later and exited with 1.",
        record=whole(2, 9.3, 24, state="FAILED", exit_code="1:0", job_name="torchrun"),
        draw=lambda rng: [
            node(rng, hours(9.3), Load((94,) * 8, (46,) * 8, end=0.55), host(rng, 3.0, 133)) for _ in range(2)
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("idle_tail"),
        may=codes("io_or_sync_stall"),
        sensible=Sensible(gpus=(16,), is_ready_to_resubmit=False),
    ),
    Case(
        name="failed_on_a_typing_error",
        source="wb-f traces (real): runs that end within seconds",
        story="ModuleNotFoundError after 40 seconds. Nothing can be said about the GPUs.",
        record=shared(4, 0.0111, 2, state="FAILED", exit_code="1:0", job_name="train"),
        draw=lambda rng: [
            node(rng, 40, Load((0,) * 4, (0.01,) * 4), host(rng, 0.7, 2, 28, 240, 4, 2), Seen(gpu_ids=(0, 1, 2, 3)))
        ],
        efficiency_class="WASTED",
        may=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        name="failed_in_the_ninth_minute_before_any_work",
        source="Site policy: runs that failed within 10 minutes get no finding about GPU use",
        story="The container started, read its configuration, and died. Eight GPUs never worked; that is no waste yet.",
        record=shared(8, 0.147, 6, state="FAILED", exit_code="127:0", job_name="run_all"),
        draw=lambda rng: [node(rng, 529, Load((0,) * 8, (0.02,) * 8), host(rng, 2.1, 12, ranks=8, threads=3))],
        efficiency_class="WASTED",
        may=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(8,), is_ready_to_resubmit=False),
    ),
    Case(
        name="cancelled_after_four_minutes",
        source="Jobanalyzer bad-gpu-jobs.py excludes CANCELLED; site policy of 10 minutes",
        story="Cancelled by its user at once. Nothing to report about the GPUs.",
        record=shared(2, 0.067, 12, state="CANCELLED", exit_code="0:15", job_name="train_vae"),
        draw=lambda rng: [
            node(rng, 241, Load((0, 0), (0.6, 0.6)), host(rng, 1.4, 8, 14, 120, 2, 5), Seen(gpu_ids=(6, 7)))
        ],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="cancelled_after_eight_minutes_with_idle_gpus",
        source="Site policy: runs cancelled within 10 minutes get no finding about GPU use",
        story="The user saw that only one of eight GPUs worked and cancelled. The lesson is learned already.",
        record=shared(8, 0.139, 4, state="CANCELLED", exit_code="0:15", tasks=1, job_name="test_ddp"),
        draw=lambda rng: [
            node(
                rng, 500, Load((80, *(0,) * 7), (22, *(0.02,) * 7), start=0.15), host(rng, 3.0, 20, ranks=1, threads=60)
            )
        ],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="cancelled_when_converged",
        source="Jobanalyzer bad-gpu-jobs.py excludes CANCELLED from its rules",
        story="Five efficient hours of 48 requested, then the user stopped a converged training. Healthy.",
        record=shared(8, 5.1, 48, state="CANCELLED", exit_code="0:15", job_name="train_nerf"),
        draw=lambda rng: [node(rng, hours(5.1), Load((92,) * 8, (44,) * 8), host(rng, 9.9, 120))],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,), walltime_min_s=hours(5.1)),
    ),
    Case(
        name="cancelled_notebook_that_nobody_used",
        source="TrailblazingTurtle#49 and jobstats: idle interactive GPUs are the commonest waste",
        story="A GPU notebook stood open for five hours and was cancelled in the evening. No GPU work at all.",
        record=shared(
            1, 5.4, 8, state="CANCELLED", exit_code="0:15", tasks=1, job_name="sys/dashboard/sys/ood-jupyter-course"
        ),
        draw=lambda rng: [
            node(rng, hours(5.4), Load((0,), (0.5,)), host(rng, 0.1, 3, 7, 60, 1, 24), Seen(gpu_ids=(2,)))
        ],
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="cancelled_with_two_of_eight_gpus_at_work",
        source="peers: measured head-to-head, '8 GPUs, 1 busy' (no tool proposes the smaller request)",
        story="Four hours with two processes on eight GPUs, then cancelled. Long enough to count.",
        record=shared(8, 4.3, 10, tasks=2, state="CANCELLED", exit_code="0:15", job_name="train_pair"),
        draw=lambda rng: [
            node(
                rng,
                hours(4.3),
                Load((93, 91, *(0,) * 6), (36, 35, *(0.01,) * 6)),
                host(rng, 4.4, 52, ranks=2),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("parallelism_mismatch", "idle_gpus"),
        sensible=Sensible(gpus=(2,), cores_min=4, memory_min_gb=52, is_ready_to_resubmit=False),
    ),
    Case(
        name="cancelled_the_morning_after",
        source="peers: jobstats#28 (idle after a burst is missed by the mean)",
        story="Training ended before midnight, an interactive shell kept the GPU until it was cancelled at nine.",
        record=shared(1, 14.2, 24, state="CANCELLED", exit_code="0:15", tasks=1, job_name="bash"),
        draw=lambda rng: [
            node(
                rng,
                hours(14.2),
                Load((92,), (28,), end=0.36, keeps_memory=False),
                host(rng, 1.5, 22, 7, 60, 1, 6),
                Seen(gpu_ids=(5,)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("idle_tail"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="cancelled_before_it_started",
        source="Slurm: CANCELLED while pending; sacct -P samples of a real 22.05",
        story="Withdrawn from the queue. There is nothing to judge.",
        record=shared(8, 0, 24, state="CANCELLED", exit_code="0:0", job_name="ablation_7")
        | {"nodes": [], "node_count": 0, "gpus_allocated": 0, "cpus_allocated": 0, "gpus_per_node": None},
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
    ),
    Case(
        name="node_fail_after_three_good_hours",
        source="Slurm: NODE_FAIL, automatic requeue is on at LUMI",
        story="One node of eight died and sent nothing; seven sent what they saw. The system's doing, good use before.",
        record=whole(8, 3.4, 12, state="NODE_FAIL", exit_code="0:0", job_name="cfd_les"),
        draw=lambda rng: [node(rng, hours(3.4), Load((90,) * 8, (33,) * 8), host(rng, 8.2, 101)) for _ in range(7)],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(64,), walltime_min_s=hours(3.4)),
    ),
    Case(
        name="node_fail_with_a_stuck_node",
        source="peers B: system failures must be exonerated in the verdict (no tool does)",
        story="GPUs fell off the bus, the program hung with idle GPUs until the node was taken down. Not the user's.",
        record=whole(1, 6.6, 24, state="NODE_FAIL", job_name="qmc"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.6),
                Load((88,) * 8, (30,) * 8, end=0.28),
                host(rng, 1.1, 60),
                Seen(errors=("EPERM",)),
            )
        ],
        efficiency_class="INEFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="preempted_while_warming_up",
        source="Slurm PREEMPTED; site policy: nothing is held against the user",
        story="A low-priority run was pushed aside after 40 minutes of compiling and loading. No verdict.",
        record=shared(4, 0.68, 12, state="PREEMPTED", exit_code="0:15", job_name="backfill_eval"),
        draw=lambda rng: [
            node(
                rng,
                hours(0.68),
                Load((90,) * 4, (25,) * 4, start=0.7),
                host(rng, 6.3, 40, 28, 240, 4, 9),
                Seen(gpu_ids=(0, 1, 2, 3)),
            )
        ],
        efficiency_class="INEFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="requeued_with_idle_gpus",
        source="Slurm REQUEUED; the same job id comes again with the next attempt",
        story="Requeued by an operator after an hour of low use. The next attempt will show.",
        record=shared(2, 1.1, 12, state="REQUEUED", job_name="sweep", attempt=1),
        draw=lambda rng: [
            node(rng, hours(1.1), Load((22, 0), (9, 0.01)), host(rng, 1.0, 9, 14, 120, 2, 5), Seen(gpu_ids=(2, 3)))
        ],
        efficiency_class="WASTED",
        sensible=Sensible(gpus=(2,)),
    ),
    Case(
        name="boot_fail_with_nothing_measured",
        source="Slurm BOOT_FAIL",
        story="The nodes never came up. Nothing ran, so there is nothing to report.",
        record=whole(4, 0.05, 24, state="BOOT_FAIL", exit_code="0:0", job_name="bench_hpl"),
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="node_fail_with_full_gpu_memory",
        source="peers B: exoneration of system failures; TensorFlow guide on memory growth",
        story="Memory full because TensorFlow takes it, run lost because the node was lost. No memory verdict.",
        record=shared(8, 4.9, 24, state="NODE_FAIL", job_name="tf_transformer"),
        draw=lambda rng: [node(rng, hours(4.9), Load((86,) * 8, (62.2,) * 8, swing_gb=0.02), host(rng, 11.5, 190))],
        efficiency_class="EFFICIENT",
        may=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(8,)),
    ),
)
