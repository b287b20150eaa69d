"""What is claimed of a run that was measured on some of its nodes: what those used, and nothing of the others."""

from __future__ import annotations

import pytest

from analysis.assess import Assessment
from reports.advice import reason
from reports.blocked import why_not_fewer
from tests.parts_measured import four_nodes


def unused_and_saved(judged: Assessment) -> tuple[float | None, float | None, float | None]:
    seen, saved = judged.efficiency, judged.savings
    return seen.wasted_gpu_hours, seen.idle_gpu_hours, saved.gpu_hours if saved else None


# 4 whole nodes for 2 hours are 4 x 4 x 2 = 32 GPU-hours, of which each node is billed 8.
@pytest.mark.parametrize(
    ("measured", "percent", "unused", "idle"),
    [
        (1, 0.0, 8.0, 8.0),
        (1, 20.0, 6.4, 0.0),
        (2, 20.0, 12.8, 0.0),
        (3, 20.0, 19.2, 0.0),
        (4, 20.0, 25.6, 0.0),
        (4, 0.0, 32.0, 32.0),
    ],
)
def test_unused_hours_are_those_of_the_nodes_that_were_measured(measured, percent, unused, idle) -> None:
    found = unused_and_saved(four_nodes(measured, percent))
    assert found[:2] == (pytest.approx(unused), pytest.approx(idle))


def test_from_four_fifths_on_the_measured_part_stands_for_the_whole() -> None:
    # 9 of 10 nodes at 20 %: 10 x 4 x 2 x 0.8 = 64.
    judged = four_nodes(9, 20.0, nodes=10)
    assert not judged.efficiency.is_partial
    assert judged.efficiency.wasted_gpu_hours == pytest.approx(64.0)


@pytest.mark.parametrize(
    ("measured", "gpus", "saved"),
    [
        (1, None, None),  # 24 of 32 may have worked, and 4 nodes do not divide by 3
        (2, 16, 16.0),  # the two nodes that may have worked: 2 x 4 x 2 of 32 are left
        (4, 1, 25.0),  # 1.2 x 320.8 GB of host memory are 7 slices of small-g: 7 x 0.5 x 2 of 32 are left
    ],
)
def test_gpus_that_were_not_measured_may_have_worked(measured: int, gpus: int | None, saved: float | None) -> None:
    judged = four_nodes(measured, 0.0)
    advice = next((each for each in judged.recommendations if each.kind == "gpus"), None)
    assert (advice.recommended_gpus if advice else None) == gpus
    assert unused_and_saved(judged)[2] == (None if saved is None else pytest.approx(saved))


def test_the_reason_counts_no_unmeasured_gpu_as_used() -> None:
    judged = four_nodes(2, 0.0)
    said = reason(judged.recommendations[0], judged.facts)
    assert said.startswith(
        "No measured GPU showed sustained utilization > 30 %; 16 GPUs were not measured and may have worked"
    )
    some = four_nodes(2, 0.0, busy_on_first=2)
    assert (
        reason(some.recommendations[0], some.facts).startswith(
            "Only 2 measured GPUs showed sustained utilization > 30 %; 16 GPUs were not measured and may have worked"
        )
        if some.recommendations
        else some.savings is None
    )


def test_where_no_request_follows_the_reason_is_what_was_not_measured() -> None:
    judged = four_nodes(1, 0.0)
    codes = frozenset(finding.code for finding in judged.findings)
    assert why_not_fewer(judged.facts, codes) == (
        "Fewer GPUs are not suggested because 24 GPUs of the job were not measured and may have worked."
    )
