"""Runs of which not everything was read: silent nodes, the smallest payload, broken values, foreign node names."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.noisy.case import Case, Sensible
from bench.noisy.readings import Node
from bench.noisy.requests_drawing import Load, Rng, Seen, busy, from_util, host, node
from bench.noisy.requests_records import codes, hours, shared, whole

# All that a GPU sends beside its number and its mean.
OPTIONAL = (
    "module_id pci_bus mem_total_gb measured_s samples throttled_s missing p95_util active_s idle_s util_histogram_s"
    " peak_mem_gb avg_mem_gb power_avg_w power_peak_w power_cap_w energy_j timeline"
).split()
MEMORY: dict[str, Any] = dict.fromkeys(("mem_total_gb", "peak_mem_gb", "avg_mem_gb", "timeline"))


def _smallest(rng: Rng, used_s: float, percent: tuple[float, ...]) -> list[Node]:
    """A node that sends the least that the contract allows: a number and a mean for each GPU."""
    fields = {index: dict.fromkeys(OPTIONAL) for index in range(len(percent))}
    is_pulsing = max(percent) < 70
    load = Load(percent, (20,) * len(percent), is_pulsing=is_pulsing, dips=2)
    return [node(rng, used_s, load, None, Seen(has_power=False, fields=fields, lost=(0, 0.01)))]


def _one_column_unread(rng: Rng) -> list[Node]:
    """Two GPUs of which only the first could be read; the memory of both is known."""
    load = Load((93, 92), (41, 40))
    util = busy(rng, int(rng.integers(900, 1400)), load)
    util[:, 1] = np.nan
    cpu = host(rng, 5.0, 44, 14, 120, 2, 9)
    return [from_util(rng, hours(6.8), util, load, cpu, Seen(has_power=False, gpu_ids=(2, 3), lost=(0.01, 0.03)))]


CASES: tuple[Case, ...] = (
    Case(
        name="coverage_one_of_four_nodes_silent",
        source="peers: insufficient data as a state of its own; unmeasured is not idle",
        story="Three nodes report good use, the fourth sent nothing. Its GPUs are unknown, not idle: healthy.",
        record=whole(4, 8.9, 11, job_name="train_vlm"),
        draw=lambda rng: [node(rng, hours(8.9), Load((91,) * 8, (48,) * 8), host(rng, 9.5, 133)) for _ in range(3)],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(32,)),
    ),
    Case(
        name="coverage_three_of_eight_nodes_silent_at_low_use",
        source="LLview and omnistat average over what arrived; the rest must not be invented",
        story="Five of eight nodes report a third of use with 50 GB held and a calm host. No cause is visible.",
        record=whole(8, 7.6, 9, job_name="qe_pw"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.6),
                Load((31,) * 8, (51,) * 8, is_pulsing=True),
                host(rng, 8.4, 140),
                Seen(has_power=False),
            )
            for _ in range(5)
        ],
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(64,)),
    ),
    Case(
        name="coverage_smallest_payload_of_a_busy_node",
        source="Payload contract: gpu_id and avg_util are enough",
        story="Eight means above 88 and nothing else. Nothing to complain of: healthy.",
        record=whole(1, 5.5, 7, job_name="minimal"),
        draw=lambda rng: _smallest(rng, hours(5.5), (94,) * 8),
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="coverage_smallest_payload_at_low_use",
        source="peers: utilisation alone cannot name a cause; no tool says so",
        story="One GPU, mean near 28, nothing else known.",
        record=shared(1, 4.7, 6, job_name="minimal"),
        draw=lambda rng: _smallest(rng, hours(4.7), (28,)),
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="coverage_smallest_payload_evenly_low",
        source="peers: fewer GPUs may only be advised where memory is known",
        story="Eight GPUs near 26 each. Without memory nobody knows whether fewer GPUs can take the work.",
        record=shared(8, 4.7, 6, job_name="minimal"),
        draw=lambda rng: _smallest(rng, hours(4.7), (26,) * 8),
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="coverage_smallest_payload_without_use",
        source="job_defense_shield zero-gpu alert: the mean alone is enough for this one",
        story="Four means of about zero over three hours. Nothing else is needed to see it.",
        record=shared(4, 3.3, 4, job_name="minimal"),
        draw=lambda rng: _smallest(rng, hours(3.3), (0,) * 4),
        efficiency_class="WASTED",
        must=codes("no_gpu_use"),
        sensible=Sensible(is_ready_to_resubmit=False),
    ),
    Case(
        name="coverage_smallest_payload_with_an_idle_gpu",
        source="jobstats: 'did not use 1 of 2' from the means alone",
        story="Two GPUs, one mean at 93, the other at zero.",
        record=shared(2, 3.9, 5, tasks=1, job_name="minimal"),
        draw=lambda rng: _smallest(rng, hours(3.9), (97, 0)),
        efficiency_class="ACCEPTABLE",
        must=codes("idle_gpus", "parallelism_mismatch"),
        sensible=Sensible(gpus=(1,), is_ready_to_resubmit=False),
    ),
    Case(
        name="coverage_broken_memory_of_one_gpu",
        source="NordicHPC/sonar#245: uninitialised memory gave 2287971552 %; plausibility checks",
        story="One GPU reports a mean memory of 2288 GB and no capacity. One broken number is no memory pressure.",
        record=whole(1, 6.4, 8, job_name="train_asr"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.4),
                Load((90,) * 8, (34,) * 8),
                host(rng, 9.2, 101),
                Seen(fields={3: {**MEMORY, "avg_mem_gb": 2287.97}}),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="coverage_absurd_power_of_one_module",
        source="LUMI job energy page: values may be absurd (1e20 J)",
        story="One module claims gigawatts. The other three and the use are sound: healthy.",
        record=whole(1, 7.7, 9, job_name="train_tts"),
        draw=lambda rng: [
            node(
                rng,
                hours(7.7),
                Load((92,) * 8, (39,) * 8),
                host(rng, 8.8, 91),
                Seen(fields={4: {"power_avg_w": 1.3e9, "power_peak_w": 4.1e9, "energy_j": 3.6e13}}),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="coverage_power_of_zero_everywhere",
        source="zeus PR#203, codecarbon#1097: the secondary die reports 0 W, which means not measured",
        story="Busy GPUs whose modules report 0 W: a dead sensor, not a spinning kernel. Healthy.",
        record=shared(4, 8.2, 10, job_name="train_ocr"),
        draw=lambda rng: [
            node(
                rng,
                hours(8.2),
                Load((93,) * 4, (37,) * 4),
                host(rng, 6.7, 66, 28, 240, 4, 9),
                Seen(
                    gpu_ids=(0, 1, 2, 3),
                    fields={index: {"power_avg_w": 0.0, "power_peak_w": 0.0, "energy_j": 0.0} for index in (0, 2)},
                ),
            )
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="coverage_node_names_with_a_domain",
        source="slurm_exporter and node_exporter users: full host names on one side, short ones on the other",
        story="The collector sends nid005200.lumi.csc.fi, Slurm says nid005200. Both nodes did report: healthy.",
        record=whole(2, 9.6, 12, job_name="pretrain_vit"),
        draw=lambda rng: [
            node(
                rng,
                hours(9.6),
                Load((93,) * 8, (55,) * 8),
                host(rng, 10.1, 150),
                Seen(name=f"nid{5200 + number:06d}.lumi.csc.fi"),
            )
            for number in range(2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="coverage_no_power_and_full_use",
        source="rocm_smi_lib#160: N/A power; use without power cannot be doubted",
        story="98 % busy, no power reading at all. Spinning cannot be claimed without evidence: healthy.",
        record=shared(8, 10.2, 13, job_name="train_rl"),
        draw=lambda rng: [
            node(rng, hours(10.2), Load((98,) * 8, (33,) * 8), host(rng, 9.9, 87), Seen(has_power=False))
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(8,)),
    ),
    Case(
        name="coverage_low_use_and_memory_unread",
        source="reportseff: memory missing is treated as zero",
        story="Four GPUs evenly near 30, host calm, memory not read. Fewer GPUs might not hold the model.",
        record=shared(4, 6.1, 8, job_name="train_diff"),
        draw=lambda rng: [
            node(
                rng,
                hours(6.1),
                Load((29,) * 4, (30,) * 4, is_pulsing=True),
                host(rng, 3.5, 41, 28, 240, 4, 8),
                Seen(has_power=False, fields=dict.fromkeys(range(4), MEMORY)),
            )
        ],
        efficiency_class="INEFFICIENT",
        must=codes("low_use_unexplained"),
        sensible=Sensible(gpus=(4,)),
    ),
    Case(
        name="coverage_collector_started_late_on_one_node",
        source="omnistat: gaps of more than 3 steps are reported as health problems",
        story="On one of two nodes the first third was not sampled. What was sampled is good: healthy.",
        record=whole(2, 5.8, 7, job_name="train_seg"),
        draw=lambda rng: [
            node(
                rng,
                hours(5.8),
                Load((90,) * 8, (44,) * 8),
                host(rng, 8.7, 97),
                Seen(late_clock=0.33 if number else 0.0),
            )
            for number in range(2)
        ],
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(16,)),
    ),
    Case(
        name="coverage_nothing_could_be_sampled",
        source="peers: utilisation missing must be 'not measured', never 0 % (reportseff shows 0)",
        story="The collector ran but every read of the GPU failed. There is no use to judge.",
        record=shared(1, 3.2, 4, job_name="train_any"),
        draw=lambda rng: [
            node(
                rng,
                hours(3.2),
                Load((90,), (30,)),
                host(rng, 3.3, 20, 7, 60, 1, 8),
                Seen(gpu_ids=(3,), late_clock=1.0, errors=("gpu_busy_percent: EPERM",)),
            )
        ],
        efficiency_class="UNKNOWN",
        sensible=Sensible(gpus=(1,)),
    ),
    Case(
        name="coverage_one_of_two_gpus_unread",
        source="peers: measured head-to-head, '2 GPUs, one without data': 90 % over 1 of 2, and say so",
        story="One GPU near 90 %, the other unread though its memory is full of work. Not idle: healthy.",
        record=shared(2, 6.8, 8, job_name="train_two"),
        draw=_one_column_unread,
        efficiency_class="EFFICIENT",
        sensible=Sensible(gpus=(2,)),
    ),
)
