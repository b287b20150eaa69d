"""LUMI's bill: the worked examples of its user guide, and what changes them."""

from __future__ import annotations

import pytest

from jobs.billing import Allocation, gpu_hours
from jobs.hardware import partition_of, threads_per_core


@pytest.mark.parametrize(
    ("partition", "held", "hours", "billed"),
    [
        # 4 modules x 4 nodes x 24 h, whatever the job used of them.
        ("standard-g", Allocation(nodes=4, gpus=32, cores=224, memory_gb=1920.0), 24, 384.0),
        ("standard-g", Allocation(nodes=4, gpus=1, cores=1, memory_gb=1.0), 24, 384.0),
        # 0.5 x 24 x max(ceil(14/8) = 2, ceil(128/64) = 2, 2 GPUs).
        ("small-g", Allocation(nodes=1, gpus=2, cores=14, memory_gb=128.0), 24, 24.0),
        # One GPU, but its 128 GB are two slices.
        ("small-g", Allocation(nodes=1, gpus=1, cores=7, memory_gb=128.0), 24, 24.0),
        # 0.5 x max(ceil(16/8) = 2, ceil(256/64) = 4, 1).
        ("small-g", Allocation(nodes=1, gpus=1, cores=16, memory_gb=256.0), 1, 2.0),
        # A little more than one slice is two: 64 GB is one, 64.5 GB two; 8 cores one, 9 two.
        ("dev-g", Allocation(nodes=1, gpus=1, cores=8, memory_gb=64.0), 1, 0.5),
        ("dev-g", Allocation(nodes=1, gpus=1, cores=8, memory_gb=64.5), 1, 1.0),
        ("dev-g", Allocation(nodes=1, gpus=1, cores=9, memory_gb=64.0), 1, 1.0),
        # --exclusive on a shared partition holds the node.
        ("small-g", Allocation(nodes=1, gpus=1, cores=7, memory_gb=8.0, is_exclusive=True), 2, 8.0),
    ],
)
def test_gpu_hours_are_lumis(partition: str, held: Allocation, hours: float, billed: float) -> None:
    assert gpu_hours(partition_of("lumi", partition), held, hours * 3600) == pytest.approx(billed)


def test_an_unknown_partition_has_no_price() -> None:
    held = Allocation(nodes=1, gpus=1, cores=7, memory_gb=8.0)
    assert gpu_hours(partition_of("lumi", "lumid"), held, 3600) is None
    assert gpu_hours(partition_of("elsewhere", "small-g"), held, 3600) is None


def test_a_lumi_gpu_is_one_die_with_seven_cores_and_sixty_gigabytes_of_host_memory() -> None:
    node = partition_of("lumi", "standard-g").node
    assert (node.gpus, node.cores_per_gpu, node.host_memory_share_gb, node.gpu_memory_gb) == (8, 7, 60.0, 64.0)
    assert (threads_per_core("lumi"), threads_per_core("elsewhere")) == (2, 1)
