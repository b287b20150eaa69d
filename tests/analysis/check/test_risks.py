"""Risks from runs of another size, worked by hand: memory for each GPU, and time without any scaling loss."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analysis.check.asked import asked
from analysis.check.earlier import earlier
from analysis.check.risks import risks
from analysis.works.runs import PastRun
from reports.check_texts import risk_text

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# 2 nodes x 4 GPUs, 120 GB on each: 30 GB for each GPU, one hour.
TWO_BY_FOUR = {
    **{"--partition": "small-g", "--nodes": "2", "--gpus-per-node": "4", "--ntasks-per-node": "4"},
    **{"--mem": "120G", "--time": "01:00:00"},
}


def run(number: int, gpus: int, nodes: int, hours: float, **more: object) -> PastRun:
    said = {"state": "COMPLETED", "partition": "small-g", "memory_gb": 480.0 * nodes, "walltime_s": 86_400.0}
    return PastRun(
        **{"pk": number, "cluster": "lumi", "job_id": number, "attempt": 0, "is_judged": True},
        **{"ended_at": NOW - timedelta(days=number), "gpus": gpus, "nodes": nodes, "elapsed_s": hours * 3600},
        **{**said, **more},
    )


def shown(runs: list[PastRun], options: dict[str, str] | None = None) -> dict[str, tuple]:
    request = asked("lumi", options or TWO_BY_FOUR)
    found = risks(earlier(runs, request, NOW), request)
    return {each.code: (each.runs, each.of, each.requested, each.worst) for each in found}


def test_runs_that_ran_out_on_two_whole_nodes_show_it_for_two_half_ones() -> None:
    """16 GPUs with 320 GB have 20 GB each, 16 with 480 GB have 30 GB each: both at most what 8 with 240 GB have."""
    out = {"state": "OUT_OF_MEMORY"}
    runs = [run(1, 16, 2, 0.5, memory_gb=480.0, **out), run(2, 16, 2, 0.5, memory_gb=320.0, **out)]
    assert shown(runs) == {"out_of_memory": (1, 2, 30.0, None)}
    assert shown(runs, TWO_BY_FOUR | {"--mem": "80G"}) == {"out_of_memory": (2, 2, 20.0, None)}
    assert shown(runs, TWO_BY_FOUR | {"--mem": "240G"}) == {}


def test_runs_that_needed_more_for_each_gpu_in_use_show_it() -> None:
    """400 GB for 8 GPUs in use are 50 GB each; 61 GB in all, of two GPUs in use, are less than the 240 GB requested."""
    needed = run(1, 16, 2, 0.5, host_peak_gb=400.0, effective_gpus=8)
    little = run(2, 8, 1, 0.5, host_peak_gb=61.0, effective_gpus=1)
    assert shown([needed, little]) == {"out_of_memory": (1, 2, 30.0, 50.0)}
    assert shown([little]) == {}


@pytest.mark.parametrize(
    ("earlier_run", "expected"),
    [
        # Two hours on 16 GPUs take no less on 8.
        (run(1, 16, 2, 2.0), (1, 1, 3600.0, 7200.0)),
        # Three hours on 4 GPUs are at best 1.5 on 8; one and a half are at best 45 minutes.
        (run(1, 4, 1, 3.0), (1, 1, 3600.0, 5400.0)),
        (run(1, 4, 1, 1.5), None),
        # A limit of two hours on 4 GPUs is at best one hour on 8, which is not enough either.
        (run(1, 4, 1, 2.0, state="TIMEOUT", walltime_s=7200.0), (1, 1, 3600.0, None)),
        (run(1, 4, 1, 1.0, state="TIMEOUT", walltime_s=3600.0), None),
        # Other hardware shows nothing.
        (run(1, 16, 2, 2.0, partition="lumid"), None),
    ],
)
def test_limits_are_compared_with_the_least_time_on_the_requested_gpus(earlier_run, expected) -> None:
    assert shown([earlier_run]).get("timeout") == expected


def test_gpu_memory_that_ran_out_on_as_many_gpus_or_more_shows_it() -> None:
    full = {"state": "FAILED", "finding_codes": "gpu_out_of_memory"}
    assert set(shown([run(1, 16, 2, 0.5, **full)])) == {"gpu_out_of_memory"}
    assert shown([run(1, 4, 1, 0.5, **full)]) == {}


def test_three_completed_runs_of_the_size_show_by_themselves_what_it_needs() -> None:
    out = run(9, 16, 2, 0.5, state="OUT_OF_MEMORY", memory_gb=480.0)
    fine = [run(number, 8, 2, 0.5, memory_gb=240.0, host_peak_gb=100.0) for number in (1, 2, 3)]
    assert set(shown([*fine[:2], out])) == {"out_of_memory"}
    assert shown([*fine, out]) == {}


def test_the_sentence_names_what_was_compared() -> None:
    request = asked("lumi", TWO_BY_FOUR)
    runs = [run(1, 16, 2, 2.0, state="TIMEOUT", walltime_s=7200.0), run(2, 16, 2, 0.5, host_peak_gb=960.0)]
    said = [risk_text(each).replace("\u00a0", " ") for each in risks(earlier(runs, request, NOW), request)]
    assert said == [
        "1 of the last 2 runs of other sizes reached a time limit; on the requested GPUs they would need 1 h 00 min or"
        " more even without scaling losses.",
        "1 of the last 2 runs of other sizes needed up to 60.0 GB of host memory for each GPU in use; requested are"
        " 30.0 GB.",
    ]
