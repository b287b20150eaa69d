"""The bills of sites: the worked examples of LUMI's user guide, other formulas, and what changes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.billing import Allocation, billed_slices, gpu_hours
from jobs.hardware import partition_of
from jobs.site_profile import Price, bundled_site

CAMPUS = bundled_site("example_a100").clusters["campus"].partitions


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


@pytest.mark.parametrize(
    ("partition", "held", "hours", "billed"),
    [
        # A slice is 1 GPU, 16 cores, 125 GB: max(1, 16/16, 125/125) = 1.
        ("gpu", Allocation(nodes=1, gpus=1, cores=16, memory_gb=125.0), 10, 10.0),
        # Parts of a slice count as parts: max(1, 24/16 = 1.5, 50/125 = 0.4) x 2 h.
        ("gpu", Allocation(nodes=1, gpus=1, cores=24, memory_gb=50.0), 2, 3.0),
        # max(1, 8/16, 200/125 = 1.6) x 1 h.
        ("gpu", Allocation(nodes=1, gpus=1, cores=8, memory_gb=200.0), 1, 1.6),
        # Whole nodes have four GPUs: 4 x 2 nodes x 3 h, also by --exclusive.
        ("gpu-whole", Allocation(nodes=2, gpus=1, cores=1, memory_gb=1.0), 3, 24.0),
        ("gpu", Allocation(nodes=2, gpus=2, cores=2, memory_gb=2.0, is_exclusive=True), 3, 24.0),
        # One of seven instances: max(1/7, 2/16 = 0.125, 10/125 = 0.08) x 7 h; with 8 cores 8/16.
        ("mig", Allocation(nodes=1, gpus=1, cores=2, memory_gb=10.0), 7, 1.0),
        ("mig", Allocation(nodes=1, gpus=1, cores=8, memory_gb=10.0), 1, 0.5),
        # No price of a whole node: all 28 instances, 64 cores, 500 GB of it are max(28/7, 64/16, 500/125) = 4 slices.
        ("mig", Allocation(nodes=1, gpus=1, cores=2, memory_gb=10.0, is_exclusive=True), 1, 4.0),
    ],
)
def test_gpu_hours_of_another_site_are_its_own(partition: str, held: Allocation, hours: float, billed: float) -> None:
    assert gpu_hours(CAMPUS[partition], held, hours * 3600) == pytest.approx(billed)


def test_a_price_may_count_gpus_alone() -> None:
    plain = Price(per_slice_hour=1.0, gpus_per_slice=1.0)
    assert billed_slices(Allocation(nodes=1, gpus=2, cores=64, memory_gb=500.0), plain) == 2


def test_a_price_may_add_weighted_shares_up() -> None:
    weights = {"per_slice_hour": 2.0, "gpus_per_slice": 1.0, "cores_per_slice": 32.0, "memory_gb_per_slice": 256.0}
    held = Allocation(nodes=1, gpus=1, cores=16, memory_gb=128.0)
    # 1 + 16/32 + 128/256 = 2 slices at 2 an hour for 3 h; each share rounded up: 1 + 1 + 1 = 3.
    parts, whole = (Price(**weights, combine="sum", whole_slices=is_whole) for is_whole in (False, True))
    assert gpu_hours(replace(CAMPUS["gpu"], price=parts), held, 3 * 3600) == pytest.approx(12.0)
    assert gpu_hours(replace(CAMPUS["gpu"], price=whole), held, 3 * 3600) == pytest.approx(18.0)


def test_without_a_price_there_is_no_bill() -> None:
    held = Allocation(nodes=1, gpus=1, cores=7, memory_gb=8.0)
    assert gpu_hours(partition_of("lumi", "lumid"), held, 3600) is None
    assert gpu_hours(partition_of("elsewhere", "small-g"), held, 3600) is None
    assert gpu_hours(replace(CAMPUS["gpu"], price=None), held, 3600) is None
