"""What is billed beyond the GPUs, of a run and of a suggested request, against bills worked by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jobs.billing import Allocation
from jobs.hardware import partition_of
from jobs.sbatch import Shape
from reports.advice import reason
from reports.bill_note import bill_note
from reports.billed import beyond_gpus, billed_as
from tests.payloads import gpu
from tests.reports.builders import judged, report
from tests.reports.test_renderings import in_every_format

ONE_GPU = {
    **{"partition": "small-g", "gpus_allocated": 1, "gpus_requested": 1, "gpus_per_node": 1, "ntasks": 1},
    **{"cpus_allocated": 7, "memory_requested_gb": 240.0, "request": {"--gpus-per-node": "1", "--mem": "240G"}},
}
"""One GPU for two hours: 240 GB are four slices of 64 GB, so 0.5 x 4 x 2 = 4.00 GPU-hours, and 1.00 for the GPU."""

PARTS = {
    "the GPUs alone": (Allocation(1, 2, 16, 128.0), ""),
    "a core more than 16 is a third slice": (Allocation(1, 2, 17, 128.0), "cores"),
    "a GB more than 128 as well": (Allocation(1, 2, 16, 129.0), "memory"),
    "of both what makes more slices": (Allocation(1, 2, 17, 257.0), "memory"),
    "of equals both": (Allocation(1, 2, 32, 256.0), "cores and memory"),
    "whole nodes are billed as such": (Allocation(1, 2, 56, 480.0, is_exclusive=True), ""),
    "without GPUs nothing is beyond them": (Allocation(1, 0, 56, 480.0), ""),
}


@pytest.mark.parametrize(("held", "cause"), PARTS.values(), ids=PARTS.keys())
def test_what_raises_the_bill_above_that_of_the_gpus(held: Allocation, cause: str) -> None:
    assert beyond_gpus(partition_of("lumi", "small-g"), held) == cause
    assert beyond_gpus(partition_of("lumi", "standard-g"), held) == ""


def test_the_reason_states_what_the_suggested_request_is_billed_for() -> None:
    """Two GPUs and 32 cores: 32 / 8 = 4 slices, half of the eight before instead of a quarter."""
    assessed = judged()
    advice = assessed.recommendations[0]
    more = replace(advice, wanted=replace(advice.wanted, gpus=2, cores=32, memory_gb=120.0))
    assert billed_as(more, assessed.facts) == "billed as 4 GPUs because of 32 cores (8 cores count as a GPU)"
    assert reason(more, assessed.facts).endswith("; billed as 4 GPUs because of 32 cores (8 cores count as a GPU).")
    memory = replace(advice, wanted=replace(advice.wanted, gpus=2, cores=14, memory_gb=200.0))
    assert (
        billed_as(memory, assessed.facts)
        == "billed as 4 GPUs because of 200.0 GB of host memory (64 GB count as a GPU)"
    )
    alike = replace(advice, wanted=replace(advice.wanted, gpus=1, cores=10, memory_gb=97.0))
    assert billed_as(alike, assessed.facts) == (
        "billed as 2 GPUs because of 10 cores and 97.0 GB of host memory (8 cores or 64 GB count as a GPU)"
    )
    assert billed_as(advice, assessed.facts) == "", "14 cores and 120 GB come with two GPUs"
    assert billed_as(replace(advice, wanted=Shape(1, 0, cores=64, partition="small")), assessed.facts) == ""
    assert billed_as(replace(more, wanted=replace(more.wanted, partition="elsewhere")), assessed.facts) == ""


def test_the_part_of_the_bill_for_memory_is_stated_in_every_format() -> None:
    value = report([gpu(0, 84.2, peak_mem_gb=40.0)], **ONE_GPU)
    assert value.efficiency.gpu_hours == pytest.approx(4.0)
    for name, content in in_every_format(value).items():
        if name == "json":
            continue
        flat = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", content)).replace("\\", "")
        assert "3.00 of 4.00 GPU-hours are billed for memory beyond the GPU’s share." in flat, name
        assert "divide the whole bill by the measured GPU use, also its part for memory." in flat, name


def test_nothing_is_stated_where_the_record_does_not_give_the_bill() -> None:
    value = report([gpu(0, 84.2, peak_mem_gb=40.0)], **ONE_GPU)
    assert bill_note(value)
    assert bill_note(report()) == "", "eight GPUs, their cores and their memory"
    unknown = replace(value.efficiency, gpu_hours=None)
    other = replace(value.efficiency, gpu_hours=5.0)
    assert bill_note(replace(value, efficiency=unknown)) == bill_note(replace(value, efficiency=other)) == ""
    assert bill_note(report([gpu(0, 84.2)], **ONE_GPU | {"memory_requested_gb": None})) == ""
