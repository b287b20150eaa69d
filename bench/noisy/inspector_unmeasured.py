"""Runs of which less was measured than usual, sessions of people, and GPUs used in turns."""

from __future__ import annotations

from bench.noisy.case import Case, Sensible
from bench.noisy.inspector_draw import IDLE, Host, Work, epochs, node, only_the_mean
from bench.noisy.inspector_request import HOUR_S, MINUTE_S, run

UNREAD = {
    gpu: {**fields, "avg_util": None, "missing": {"avg_util": "gpu_busy_percent: no such device"}}
    for gpu, fields in only_the_mean(8).items()
}
SMALL_TWO = {"--gpus": "2", "--ntasks": "2", "--cpus-per-task": "7", "--mem-per-gpu": "60G"}

CASES: tuple[Case, ...] = (
    Case(
        name="inspector_nobody_measured",
        source="domain.md section 2: UNKNOWN, never WASTED",
        story="No summary arrived. Three of ten hours used: the limit can still be said, the GPUs cannot.",
        record=run(
            "fno_train",
            "small-g",
            3 * HOUR_S,
            10 * HOUR_S,
            gpus=4,
            options={"--gpus-per-node": "4", "--ntasks": "4", "--cpus-per-task": "7", "--mem": "240G"},
        ),
        draw=lambda rng: [],
        efficiency_class="UNKNOWN",
        must=frozenset({"walltime_overrequest"}),
        sensible=Sensible(gpus=(4,), walltime_min_s=3 * HOUR_S, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_only_the_host_was_read",
        source="collector without access to the GPUs",
        story="The GPUs could not be read, the host could: killed at 120 of 120 GB. UNKNOWN, and out of host memory.",
        record=run(
            "spark_rapids", "small-g", 70 * MINUTE_S, 5 * HOUR_S, state="OUT_OF_MEMORY", gpus=2, options=SMALL_TWO
        ),
        draw=lambda rng: [
            node(
                rng,
                70 * MINUTE_S,
                (IDLE,) * 2,
                0.0,
                Host(14, 9, 120, 120, 2, 7, oom_kills=2),
                power_factor=None,
                fields={0: UNREAD[0], 1: UNREAD[1]},
                errors=("no GPU device could be opened",),
            )
        ],
        efficiency_class="UNKNOWN",
        must=frozenset({"host_out_of_memory"}),
        may=frozenset({"low_use_unexplained"}),
        sensible=Sensible(memory_min_gb=121, is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_low_and_the_host_unread",
        source="missing measurements: no cgroup numbers",
        story="One GPU at 30 % for nine hours and no host numbers at all. The cores cannot be ruled out nor blamed.",
        record=run("tts_fastpitch", "small-g", 9 * HOUR_S, 12 * HOUR_S, gpus=1, options=None),
        draw=lambda rng: [node(rng, 9 * HOUR_S, (epochs(0.32, 700, 60, 0.1, 2.6),), 27.0, None, ids=(5,), step_s=5)],
        efficiency_class="INEFFICIENT",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_cancelled_after_standing_still",
        source="LUMI: deadlock of idle GPUs noticed by the user",
        story="A quarter of an hour at 93 % on four GPUs, then 34 minutes of nothing until it was cancelled: it stopped"
        " at something. Not 'no GPU use', not too many GPUs.",
        record=run(
            "dist_ckpt_test",
            "small-g",
            50 * MINUTE_S,
            4 * HOUR_S,
            state="CANCELLED",
            gpus=4,
            options={"--gpus-per-node": "4", "--ntasks": "4", "--cpus-per-task": "7", "--mem": "240G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                50 * MINUTE_S,
                (Work(((0.03, 0), (0.29, 0.96), (0.68, 0.0))),) * 4,
                44.0,
                Host(28, 4.1, 70, 240, 4),
                ids=(4, 5, 6, 7),
                step_s=1,
            )
        ],
        efficiency_class="INEFFICIENT",
        must=frozenset({"idle_tail"}),
        sensible=Sensible(gpus=(4,), is_ready_to_resubmit=False),
    ),
    Case(
        name="inspector_notebook_with_pauses",
        source="cBio/cbio-cluster #245 and #261: mail to people in interactive sessions",
        story="A Jupyter session of five of twelve hours: 90 s of work in a quarter of an hour, 9 % in all. A word,"
        " but not on the walltime, and not 'no GPU use'.",
        record=run(
            "sys/dashboard/sys/jupyter",
            "small-g",
            5 * HOUR_S,
            12 * HOUR_S,
            gpus=1,
            options={"--gpus-per-node": "1", "--cpus-per-task": "7", "--mem": "60G"},
        ),
        draw=lambda rng: [
            node(
                rng,
                5 * HOUR_S,
                (Work(((0.02, 0.0),) + ((0.0049, 0.95), (0.0441, 0.0)) * 19 + ((0.0441, 0.0), (0.0049, 0.95))),),
                11.0,
                Host(7, 0.2, 9, 60, 1),
                ids=(1,),
                step_s=2,
            )
        ],
        efficiency_class="WASTED",
        must=frozenset({"low_use_unexplained"}),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
)
