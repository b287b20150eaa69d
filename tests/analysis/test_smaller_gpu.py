"""A part of a GPU for a small job, where the site has such: the example profile with MIG instances of an A100."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.rightsizing import Recommendation, RecommendationKind
from tests.analysis.runs import advice, facts
from tests.payloads import gpu


def on_a100(util: float, peak_gb: float, **changes: Any) -> tuple[Recommendation, ...]:
    shape = {"cpus_allocated": 16, "ntasks": 1, "memory_requested_gb": 32.0, "cluster": "campus", "partition": "gpu"}
    host = {"cores_allocated": 16, "busy_cores_avg": 1.0, "ranks": 1, "peak_memory_gb": 8.0}
    only = gpu(0, util, mem_total_gb=80.0, peak_mem_gb=peak_gb)
    return advice(facts([], gpus=[only], cpu=host, **shape | {"request": {}} | changes))


@pytest.mark.usefixtures("campus")
def test_a_small_job_on_one_gpu_is_pointed_to_a_part_of_one_where_the_site_has_them() -> None:
    (smaller,) = on_a100(8.0, 6.0)
    assert (smaller.kind, smaller.basis) == (RecommendationKind.GPUS, "smaller_gpu")
    # 64 cores and 500 GB for 28 parts: two cores and 17.9 GB come with one.
    block = "--partition=mig --nodes=1 --gpus-per-node=1g.10gb:1 --ntasks-per-node=1 --cpus-per-task=2 --mem=18G"
    assert " ".join(smaller.request) == f"{block} --time=03:00:00"
    assert smaller.evidence["smaller_memory_gb"] == 10.0


@pytest.mark.usefixtures("campus")
@pytest.mark.parametrize(
    ("util", "peak_gb", "changes", "holds"),
    [
        (9.9, 9.0, {}, True),
        (10.1, 9.0, {}, False),
        (9.9, 9.1, {}, False),
        (9.9, 9.0, {"state": "FAILED"}, False),
        (9.9, 9.0, {"walltime_used_s": 299}, False),
        (9.9, 9.0, {"gpus_allocated": 2, "gpus_requested": 2}, False),
    ],
)
def test_a_part_of_a_gpu_holds_a_seventh_of_the_use_and_nine_tenths_of_its_memory(
    util: float, peak_gb: float, changes: dict, holds: bool
) -> None:
    # 70 percent of a seventh is 10; 0.9 x 10 GB is 9.
    assert bool(on_a100(util, peak_gb, **changes)) == holds


def test_lumi_has_no_smaller_gpu_to_suggest() -> None:
    assert advice(facts([8.0], cpus_allocated=7, memory_requested_gb=60.0, ntasks=1)) == ()


@pytest.mark.usefixtures("campus")
def test_a_run_longer_than_the_other_partition_allows_stays_where_it_is() -> None:
    # Parts of a GPU are given for a day; 1.2 x 20 h fits exactly, 30 h does not.
    fits = {"walltime_used_s": 72_000, "walltime_requested_s": 172_800}
    (smaller, *_) = on_a100(8.0, 6.0, **fits)
    assert smaller.wanted.walltime_s == 86_400.0
    assert on_a100(8.0, 6.0, **fits | {"walltime_used_s": 108_000}) == ()
