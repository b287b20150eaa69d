"""Machine-learning runs with low use, or that failed, for a reason that no measurement shows."""

from __future__ import annotations

from dataclasses import replace

from bench.noisy.case import Case, Sensible
from bench.noisy.learning_draw import BANDWIDTH_W, Host, Part, Shape, cycles, run, steady
from bench.noisy.learning_record import codes, fits, seconds, small, standard

_ONE = Shape(seconds(4.8), 1, steady(27.0), 29.0, Host(1.2, 7, 1, 24.0, 60.0, threads=2.0), gpu_ids=(4,))

CASES: tuple[Case, ...] = (
    Case(
        "python_loop_between_small_kernels",
        "Gao et al., ICSE'24: insufficient GPU computation between interruptions by Python code",
        "One core runs Python, six are free, no I/O; the GPU gets work a quarter of the time. One busy core of seven "
        "is no shortage of cores.",
        small("lstm-loop", 1, 4.8, 6.0),
        run(_ONE),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=fits(1, 24.0, 4.8),
    ),
    Case(
        "low_use_without_host_numbers",
        "peers: cc-backend skips rules silently when a metric is missing; jobstats mutes all notes",
        "Four GPUs at 30 % with 36 GB each, no host readings and no power. What is missing must be named, no cause be "
        "made up.",
        small("diff-unet-4", 4, 6.2, 7.0, tasks=4, spelling="gres"),
        run(
            Shape(seconds(6.2), 4, steady(30.0), 36.5, None, has_power=False, gpu_ids=(4, 5, 6, 7), lost_fraction=0.03)
        ),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(walltime_min_s=seconds(6.2)),
    ),
    Case(
        "failed_at_full_use",
        "Jeon et al., Philly, ATC'19: failures after hours of good training; an assertion in the user's code",
        "Two and a half hours at 90 % with 40 of 64 GB, then exit code 1. Nothing measured explains it.",
        small("nan-loss", 2, 2.6, 12.0, tasks=2, state="FAILED", exit_code="1:0"),
        run(Shape(seconds(2.6), 2, steady(92.0), 40.0, Host(4.0, 14, 2, 51.0, 120.0, threads=3.0), gpu_ids=(0, 1))),
        "EFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "failed_by_a_signal_on_two_nodes",
        "ROCm/legacy-rocm-build#4021: 'HW Exception by GPU node ... GPU Hang', core dumped after hours",
        "Sixteen GPUs at 91 %, then one rank aborts (exit 134) and torchrun ends the others at once.",
        standard("axolotl-2n", 2, 5.3, 24.0, state="FAILED", exit_code="134:0"),
        run(*(Shape(seconds(5.3), 8, steady(91.0), 55.0, Host(12.0, 56, 8, 140.0, 480.0, threads=4.0)),) * 2),
        "EFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        "rollout_and_learning_in_turn",
        "RollPacker (arXiv:2509.21009): rollouts take 70 % of synchronous RL; PAT (arXiv:2605.23945)",
        "Half an hour of rollouts at 12 %, a quarter of learning at 84 %, for ten hours. Two phases of one program: "
        "neither a stall nor a late start. What to change is in the algorithm.",
        small("grpo-sync", 4, 10.2, 12.0, tasks=4, spelling="gpus"),
        run(
            Shape(
                seconds(10.2),
                4,
                cycles(13, Part(0.69, 12.5, BANDWIDTH_W), Part(0.31, 84.0), start=0.015),
                54.0,
                Host(8.2, 28, 4, 92.0, 240.0, threads=3.0),
                gpu_ids=(0, 1, 2, 3),
                grain=0.6,
            )
        ),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(memory_min_gb=92.0, walltime_min_s=seconds(10.2)),
    ),
    Case(
        "server_with_few_requests",
        "Kwon et al., vLLM, SOSP'23; a chat service for a course with a few users",
        "Single requests come all day, each of a second or two. GPU at 23 %, 57 GB reserved, a quiet host.",
        small("course-chat", 1, 9.5, 12.0, spelling="gres-type"),
        run(
            replace(
                _ONE,
                used_s=seconds(9.5),
                parts=steady(23.5, 0.01, heat_w=BANDWIDTH_W),
                gb=57.4,
                grain=0.9,
                samples=3000,
                host=Host(0.8, 7, 1, 33.0, 60.0),
            )
        ),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=fits(1, 33.0, 9.5),
    ),
    Case(
        "micro_batch_of_one_with_accumulation",
        "Gao et al., ICSE'24: improper batch size; Hugging Face gradient_accumulation_steps=128",
        "Two GPUs at 32 % with 46 GB of weights and optimiser state, 64 accumulation steps of one sample each. "
        "The model needs the memory of two GPUs, so fewer would not hold it.",
        small("accum-128", 2, 7.1, 8.0, tasks=2, spelling="per-task"),
        run(
            Shape(
                seconds(7.1),
                2,
                steady(32.0),
                46.0,
                Host(2.5, 14, 2, 61.0, 120.0),
                gpu_ids=(2, 3),
                grain=0.6,
            )
        ),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=fits(2, 61.0, 7.1),
    ),
    Case(
        "exploring_in_a_notebook",
        "cbio-cluster#245: an interactive session is used in bursts",
        "A notebook with a few minutes of GPU work in every half hour, from the first to the last hour. A person "
        "thinks in between; no file system or start-up is to blame.",
        small("sys/dashboard/sys/jupyter", 1, 4.5, 8.0),
        run(
            replace(
                _ONE,
                used_s=seconds(4.5),
                parts=(
                    *cycles(9, Part(0.1, 78.0), Part(0.9, 0.0, gb=9.0), start=0.01)[:-1],
                    Part(0.04, 0.0, gb=9.0),
                    Part(0.02, 78.0),
                ),
                gb=9.0,
                host=Host(0.5, 7, 1, 13.0, 60.0),
            )
        ),
        "WASTED",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,), memory_min_gb=13.0),
    ),
    Case(
        "sentences_embedded_one_by_one",
        "sentence-transformers documentation: encode a list, not single sentences",
        "One sentence at a time through a small encoder: 22 % of one GPU, 3 GB. One GPU is the least there is.",
        small("encode-loop", 1, 3.9, 5.0, spelling="mem-per-cpu", memory_gb=56.0),
        run(
            replace(
                _ONE,
                used_s=seconds(3.9),
                parts=steady(22.5),
                gb=2.9,
                grain=0.15,
                host=Host(1.1, 7, 1, 11.0, 56.0),
            )
        ),
        "INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=fits(1, 11.0, 3.9),
    ),
)
