"""What a job of the queue costs, so far and at its limit, by LUMI's bill."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.billing import Allocation, Cost, cost_of
from jobs.hardware import partition_of

HOUR = 3600.0
TWO = Allocation(nodes=1, gpus=2, cores=14, memory_gb=120.0)


@pytest.mark.parametrize(
    ("partition", "held", "limit_s", "ran_s", "tasks", "cost"),
    [
        # 2 GCDs are half of a module's price each: 0.5 x 2 an hour.
        ("small-g", TWO, 4 * HOUR, HOUR, 1, Cost(1.0, 4.0)),
        ("small-g", TWO, 4 * HOUR, None, 10, Cost(0.0, 40.0)),
        # Beyond its share of memory: 4 slices of 64 GB.
        ("small-g", Allocation(1, 1, 7, 256.0), HOUR, 0.0, 1, Cost(0.0, 2.0)),
        # Whole nodes cost four an hour, whatever of them is requested.
        ("standard-g", Allocation(4, 8, 8, 8.0), 24 * HOUR, None, 1, Cost(0.0, 384.0)),
        ("small-g", Allocation(1, 1, 1, 1.0, is_exclusive=True), HOUR, None, 1, Cost(0.0, 4.0)),
        # Past its limit.
        ("small-g", TWO, HOUR, 3 * HOUR, 1, Cost(3.0, 3.0)),
        ("small-g", TWO, None, HOUR, 1, Cost(1.0, None)),
        ("lumid", TWO, HOUR, HOUR, 1, Cost(None, None)),
        ("small", Allocation(1, 0, 64, 100.0), HOUR, HOUR, 1, Cost(None, None)),
    ],
)
def test_the_bill_at_the_limit(
    partition: str, held: Allocation, limit_s: float | None, ran_s: float | None, tasks: int, cost: Cost
) -> None:
    assert cost_of(partition_of("lumi", partition), held, limit_s, ran_s, tasks) == cost


def test_a_price_in_another_unit_is_no_cost_in_gpu_hours() -> None:
    small = partition_of("lumi", "small-g")
    assert small is not None
    assert small.price is not None
    in_euros = replace(small, price=replace(small.price, unit="EUR"))
    assert cost_of(in_euros, TWO, HOUR, HOUR) == Cost(None, None)
