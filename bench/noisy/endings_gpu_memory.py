"""GPU memory: runs that failed of it, runs that came near, and full memory that means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, from_util, host, node, steady
from bench.noisy.requests_records import codes, hours, shared, whole

CRASHED: dict[str, Any] = {"state": "FAILED", "exit_code": "1:0"}


def _fragmented(rng: Rng) -> list[Node]:
    load = Load((89,), (44.5,), creep_gb=18.6, swing_gb=0.9, last_gb=(63.9,))
    return [node(rng, hours(9.4), load, host(rng, 4.7, 33, 7, 60, 1, 14))]


def _one_long_batch(rng: Rng) -> list[Node]:
    fullest = int(rng.integers(0, 8))
    last = tuple(63.93 if index == fullest else 55.0 for index in range(8))
    load = Load((92,) * 8, (50.5,) * 8, swing_gb=5.0, last_gb=last)
    return [node(rng, hours(6.1), load, host(rng, 12.1, 171))]


def _rank_zero_full(rng: Rng) -> list[Node]:
    first = Load((90,) * 8, (55.5, *(46.8,) * 7), creep_gb=7.0, last_gb=(63.95, *(47.0,) * 7))
    rest = Load((90,) * 8, (46.8,) * 8)
    return [node(rng, hours(3.3), first if number == 0 else rest, host(rng, 9.6, 122)) for number in range(4)]


def _full_early_low_later(rng: Rng) -> list[Node]:
    """A search that fills the memory in its first hour, then runs small for hours."""
    steps = int(rng.integers(1000, 1500))
    util = np.stack([steady(rng, steps, 92) for _ in range(2)], axis=1)
    util[: int(0.015 * steps)] = 0
    drawn = from_util(rng, hours(5.2), util, Load((92,) * 2, (63.1,) * 2, start=0.015), host(rng, 6, 40, 14, 120, 2, 9))
    mem_gb = drawn.mem_gb.copy()
    mem_gb[int(0.24 * steps) :] *= 0.33
    return [Node(drawn.util, mem_gb, drawn.power_w, drawn.cpu, (0, 1), drawn.step_s)]


CASES: tuple[Case, ...] = (
    Case(
        name="gpu_oom_after_nine_hours_of_fragmentation",
        source="torch.OutOfMemoryError text: 'reserved but unallocated memory is large', expandable_segments",
        story="Memory creeps by 2 GB an hour until an allocation fails. The GPU itself was well used.",
        record=shared(1, 9.4, 24, job_name="video_diffusion", **CRASHED),
        draw=_fragmented,
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_oom_on_one_long_batch",
        source="docs.csc.fi gpu-ml: variable sequence lengths; the longest batch decides the memory",
        story="Memory swings with the sequence length. In the last minutes one GPU reaches its 64 GB and the run dies.",
        record=shared(8, 6.1, 12, job_name="finetune_longdoc", **CRASHED),
        draw=_one_long_batch,
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_oom_on_the_first_gpu_of_four_nodes",
        source="PyTorch DDP tutorial: without map_location every rank loads its checkpoint to the first GPU",
        story="31 of 32 GPUs have 17 GB to spare, the very first one filled up and took the run down.",
        record=whole(4, 3.3, 12, job_name="megatron", **CRASHED),
        draw=_rank_zero_full,
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_oom_at_the_first_validation",
        source="3dem/relion#130: out of GPU memory in the middle of an iteration",
        story="52 GB in training, full within moments of the first validation with its larger batch, after 55 minutes.",
        record=shared(4, 0.92, 6, job_name="unet3d", **CRASHED),
        draw=lambda rng: [
            node(
                rng,
                hours(0.92),
                Load((91,) * 4, (52,) * 4, start=0.04, dips=0, last_gb=(63.9,) * 4),
                host(rng, 9.9, 88, 28, 240, 4, 9),
                Seen(gpu_ids=(4, 5, 6, 7)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_oom_in_the_thirteenth_minute",
        source="vLLM and transformers issues: the key-value cache grows with the conversation until it does not fit",
        story="An inference server fills its cache within minutes and dies. Long enough to count.",
        record=shared(1, 0.212, 2, job_name="chat_eval", state="FAILED", exit_code="1:0"),
        draw=lambda rng: [
            node(
                rng,
                hours(0.212),
                Load((90,), (41,), start=0.09, dips=0, creep_gb=21, last_gb=(63.85,)),
                host(rng, 2.6, 37, 7, 60, 1, 19),
                Seen(gpu_ids=(2,)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="gpu_oom_without_power_and_host",
        source="ROCm/TheRock#2396: torch.OutOfMemoryError: HIP out of memory, 0 bytes free",
        story="Only the GPUs were read. Memory climbs to the last byte and the program exits with 1: enough to tell.",
        record=shared(2, 2.9, 5, job_name="esm_fold", **CRASHED),
        draw=lambda rng: [
            node(
                rng,
                hours(2.9),
                Load((87,) * 2, (49,) * 2, creep_gb=13.0, last_gb=(63.9, 63.6)),
                None,
                Seen(gpu_ids=(6, 7), has_power=False),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_out_of_memory"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="memory_grabbed_at_start_and_a_segfault_late",
        source="job_defense_shield#2 and TensorFlow guide: the process takes all GPU memory at its start",
        story="Flat 62 GB from the first minute for five hours, then signal 11. The pool never grew.",
        record=shared(1, 5.1, 12, state="FAILED", exit_code="0:11", job_name="tf_wavenet"),
        draw=lambda rng: [node(rng, hours(5.1), Load((88,), (62.1,), swing_gb=0.02), host(rng, 3.6, 28, 7, 60, 1, 40))],
        efficiency_class="EFFICIENT",
        must=codes("low_use_unexplained"),
        may=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="memory_full_early_and_a_failure_hours_later",
        source="Hyperband: later trials are smaller; Python's argparse exits with 2",
        story="Full in the first hour, a third of it for the next four, then a later stage rejects its arguments.",
        record=shared(2, 5.2, 8, state="FAILED", exit_code="2:0", job_name="stage_all.sh"),
        draw=_full_early_low_later,
        efficiency_class="EFFICIENT",
        must=codes("low_use_unexplained"),
        may=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(2,), is_ready_to_resubmit=False),
    ),
    Case(
        name="memory_grabbed_at_start_and_a_failure_in_minute_six",
        source="TensorFlow guide: memory growth is off by default; a KeyError in the first epoch",
        story="All memory taken at once, failed after six minutes. Whether of memory cannot be known: no GPU verdict.",
        record=shared(1, 0.104, 6, job_name="tf_detect", **CRASHED),
        draw=lambda rng: [
            node(
                rng,
                374,
                Load((79,), (62.3,), start=0.25, swing_gb=0.02, dips=0),
                host(rng, 2.2, 13, 7, 60, 1, 33),
                Seen(gpu_ids=(4,)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        may=codes("gpu_out_of_memory", "gpu_memory_pressure", "low_use_unexplained"),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="memory_pressure_of_a_sharded_model",
        source="LUMI AI workshop 09, extreme scale: models are sized to fill the 64 GB of a GPU",
        story="63.3 of 64 GB on every GPU, completed. It worked, and the next longer batch will not.",
        record=whole(2, 11.2, 14, job_name="fsdp_30b"),
        draw=lambda rng: [
            node(rng, hours(11.2), Load((94,) * 8, (62.7,) * 8, swing_gb=0.6), host(rng, 10.4, 233)) for _ in range(2)
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(16, 32)),
    ),
    Case(
        name="memory_pressure_on_one_pipeline_stage",
        source="Megatron pipeline stages: the first stage keeps the most activations",
        story="One GPU of four near its last byte, the others at 40 GB. The run completed.",
        record=shared(4, 6.6, 8, job_name="pipeline4"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.6),
                Load((90, 88, 89, 87), (63.3, 44, 41, 39), swing_gb=0.5),
                host(rng, 6.2, 71, 28, 240, 4, 8),
                Seen(gpu_ids=(0, 1, 2, 3)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(4, 8)),
    ),
    Case(
        name="memory_pressure_creeping_to_the_end",
        source="PyTorch FAQ: 'my memory keeps growing' (losses kept with their graph)",
        story="Memory grows all day and the run completes with 700 MB left. One epoch more would have failed.",
        record=shared(1, 13.1, 16, job_name="gan_faces"),
        draw=lambda rng: [
            node(
                rng,
                hours(13.1),
                Load((92,), (31,), creep_gb=32.2, swing_gb=0.3),
                host(rng, 4.0, 26, 7, 60, 1, 12),
                Seen(gpu_ids=(3,)),
            )
        ],
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(1, 2)),
    ),
    Case(
        name="memory_pressure_and_one_idle_gpu",
        source="peers: measured head-to-head, '1 of n idle, mean high' (class alone hides the idle GPU)",
        story="Three GPUs near full, a fourth that nobody used. Two real findings; three GPUs or the same four.",
        record=shared(4, 5.4, 6, tasks=1, cores=28, job_name="tensor_split"),
        draw=lambda rng: [
            node(
                rng,
                hours(5.4),
                Load((89, 88, 90, 0), (63.2, 62.9, 63.0, 0.01), swing_gb=0.5),
                host(rng, 5.5, 90, 28, 240, 1, 44),
                Seen(gpu_ids=(4, 5, 6, 7), lost=(0.01, 0.02)),
            )
        ],
        efficiency_class="ACCEPTABLE",
        must=codes("gpu_memory_pressure", "idle_gpus"),
        sensible=Sensible(gpus=(3, 4), cores_min=5, memory_min_gb=90),
    ),
    Case(
        name="memory_pressure_in_a_cancelled_run",
        source="Jobanalyzer bad-gpu-jobs.py treats CANCELLED apart; torch.OutOfMemoryError guidance",
        story="Stopped by its user after three good hours, memory at 63.5 GB. Not a failure; the margin is thin.",
        record=shared(8, 3.2, 24, state="CANCELLED", exit_code="0:15", job_name="lora_70b"),
        draw=lambda rng: [node(rng, hours(3.2), Load((90,) * 8, (62.9,) * 8, swing_gb=0.6), host(rng, 9.0, 240))],
        efficiency_class="EFFICIENT",
        must=codes("gpu_memory_pressure"),
        sensible=Sensible(gpus=(8, 16)),
    ),
    Case(
        name="memory_preallocated_by_a_server",
        source="vLLM option --gpu-memory-utilization 0.85: the cache is taken at the start",
        story="54 GB flat by configuration. That is how the server works, not pressure: healthy.",
        record=shared(4, 5.8, 8, job_name="vllm_batch"),
        draw=lambda rng: [
            node(
                rng,
                hours(5.8),
                Load((88,) * 4, (54.4,) * 4, swing_gb=0.05, watts=130),
                host(rng, 4.9, 61, 28, 240, 4, 30),
                Seen(gpu_ids=(0, 1, 2, 3)),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="memory_preallocated_by_jax",
        source="JAX documentation: XLA_PYTHON_CLIENT_MEM_FRACTION preallocates 75 % of the GPU memory",
        story="48 GB flat on eight GPUs says nothing about the model. Busy throughout: healthy.",
        record=shared(8, 9.1, 12, tasks=1, cores=56, job_name="jax_md"),
        draw=lambda rng: [
            node(rng, hours(9.1), Load((95,) * 8, (48.0,) * 8, swing_gb=0.02), host(rng, 8.8, 55, ranks=1, threads=88))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
)
