"""Where a request fits, which place is cheapest or first, and risks that depend on a size."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analysis.check.asked import asked, cheapest, fits, soonest
from analysis.check.earlier import Earlier, earlier
from analysis.check.risks import Risk, risks, size_risks
from analysis.works.runs import PastRun

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FOUR = {"--partition": "small-g", "--nodes": "1", "--gpus": "4", "--mem": "240G", "--time": "04:00:00"}


def run(number: int, gpus: int, state: str = "COMPLETED", **more: object) -> PastRun:
    columns = {"partition": "small-g", "nodes": 1, "elapsed_s": 3600.0, "walltime_s": 14_400.0, "memory_gb": 240.0}
    ended = NOW - timedelta(days=number)
    whole = {"pk": number, "cluster": "lumi", "job_id": number, "attempt": 0, "ended_at": ended, "is_judged": True}
    return PastRun(state=state, gpus=gpus, **(whole | columns | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"--gpus": "2"}, {"standard-g": "", "small-g": "", "dev-g": ""}),
        ({"--gpus": "2", "--time": "06:00:00"}, {"standard-g": "", "small-g": "", "dev-g": "walltime"}),
        ({"--gpus": "64"}, {"standard-g": "", "small-g": "nodes", "dev-g": ""}),  # eight nodes
        ({"--gpus": "a100:2"}, dict.fromkeys(("standard-g", "small-g", "dev-g"), "gpu_type")),
        ({"--gpus": "2", "--mem": "600G"}, dict.fromkeys(("standard-g", "small-g", "dev-g"), "node_size")),
        ({"--ntasks": "4"}, {}),
        ({"--gpus": "0x2"}, {}),
    ],
)
def test_where_a_request_fits(options: dict[str, str], why: dict[str, str]) -> None:
    assert {each.partition.name: each.why_not for each in fits(asked("lumi", options))} == why


def test_a_place_is_named_only_where_the_data_show_it() -> None:
    assert cheapest([("small-g", None), ("dev-g", 1.0)], "small-g") is None
    assert cheapest([("standard-g", 8.0), ("small-g", 2.0)], "standard-g") == "small-g"
    assert soonest([("small-g", (60.0, 600.0))]) is None
    assert soonest([("small-g", (60.0, 600.0)), ("dev-g", None)]) is None


def test_memory_that_earlier_runs_needed_is_a_risk() -> None:
    """Two of four runs needed more than the 240 GB that are requested, one ran out of as much."""
    runs = [run(1, 4, host_peak_gb=250.0), run(2, 4, host_peak_gb=260.0), run(3, 4, host_peak_gb=90.0)]
    runs += [run(4, 4, "OUT_OF_MEMORY")]
    found = earlier(runs, asked("lumi", FOUR), NOW)
    assert risks(found, asked("lumi", FOUR)) == (Risk("out_of_memory", 3, 4, 240.0, 260.0, least=260.0, needed=360.0),)


def test_a_program_that_usually_fails_is_a_risk() -> None:
    runs = [*(run(number, 4, "FAILED") for number in (1, 2, 3)), *(run(number, 4) for number in (4, 5, 6))]
    found = earlier(runs, asked("lumi", FOUR), NOW)
    assert risks(found, asked("lumi", FOUR)) == (Risk("failed", 3, 6),)
    assert risks(earlier(runs[1:], asked("lumi", FOUR), NOW), asked("lumi", FOUR)) == ()


def test_a_size_at_which_runs_fail_is_a_risk_where_no_run_had_the_requested_one() -> None:
    """All five runs on two GPUs ran out of memory, none of twelve on four or eight did."""
    runs = [run(number, 2, "OUT_OF_MEMORY", memory_gb=None) for number in range(1, 6)]
    runs += [run(number, 4 if number % 2 else 8, memory_gb=None) for number in range(6, 18)]
    one = asked("lumi", FOUR | {"--gpus": "1"})
    found = earlier(runs, one, NOW)
    ((code, split),) = size_risks(found, one)
    assert (code, split.size, split.limit, split.failed_below, split.runs_below) == ("out_of_memory", "gpus", 2, 5, 5)
    assert size_risks(found, asked("lumi", FOUR)) == ()
    assert size_risks(Earlier((), ()), one) == ()
