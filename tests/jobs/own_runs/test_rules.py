"""How nodes of an owner's run add up to one, and which ends and times are believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from jobs.own_runs.rules import checked, merged, state_of, time_problems
from jobs.records import JobRecord
from tests.payloads import job_record

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def told(**changes: Any) -> JobRecord:
    """A run of an hour on nid005001, of which nothing is known but how it ended."""
    unknown = dict.fromkeys(("gpus_allocated", "ntasks", "cpus_allocated", "node_count", "walltime_requested_s"))
    times = {"started_at": NOON - HOUR, "ended_at": NOON, "walltime_used_s": 3600.0}
    return msgspec.structs.replace(
        job_record(), **unknown | times | {"nodes": ("nid005001",), "partition": "", "exit_code": "0:0"} | changes
    )


def test_what_one_node_does_not_know_the_other_fills_in() -> None:
    run = merged(told(ntasks=16), told(nodes=("nid005002",), ntasks=8, gpus_allocated=16, partition="small-g"))
    assert (run.ntasks, run.gpus_allocated, run.partition) == (16, 16, "small-g")
    assert run.nodes == ("nid005001", "nid005002")


def test_a_run_reaches_from_the_first_start_to_the_last_end() -> None:
    early, late = told(started_at=NOON - 2 * HOUR, ended_at=NOON - HOUR), told(ended_at=NOON + HOUR)
    for run in (merged(early, late), merged(late, early)):
        assert (run.started_at, run.ended_at, run.walltime_used_s) == (NOON - 2 * HOUR, NOON + HOUR, 3 * 3600.0)


@pytest.mark.parametrize(
    ("first", "second", "state", "exit_code"),
    [
        (("COMPLETED", "0:0"), ("FAILED", "1:0"), "FAILED", "1:0"),
        (("FAILED", "1:0"), ("COMPLETED", "0:0"), "FAILED", "1:0"),
        (("TIMEOUT", "0:0"), ("FAILED", "1:0"), "TIMEOUT", "0:0"),
        (("RUNNING", ""), ("COMPLETED", "0:0"), "COMPLETED", "0:0"),
        (("COMPLETED", "0:0"), ("RUNNING", ""), "COMPLETED", "0:0"),
        (("FAILED", ""), ("FAILED", "2:0"), "FAILED", "2:0"),
    ],
)
def test_a_failure_of_any_node_is_the_runs(first, second, state: str, exit_code: str) -> None:
    runs = [told(state=name, exit_code=code) for name, code in (first, second)]
    assert (merged(*runs).state, merged(*runs).exit_code) == (state, exit_code)


def test_a_node_counts_once_whether_its_domain_is_told_or_not_and_nodes_are_never_fewer_than_seen() -> None:
    run = merged(told(node_count=1), told(nodes=("nid005001.lumi.csc.fi", "nid005002")))
    assert (run.nodes, run.node_count) == (("nid005001", "nid005002"), 2)
    assert merged(told(), told(nodes=("nid005002",))).node_count is None
    assert merged(told(node_count=4), told(nodes=("nid005002",), node_count=2)).node_count == 4


@pytest.mark.parametrize("state", ["", "RUNNING", "COMPLETING", "BANANA"])
def test_a_state_that_is_no_end_says_nothing_of_a_command_that_has_ended(state: str) -> None:
    assert state_of(state, "0:0", is_final=True) == "COMPLETED"
    assert state_of(state, "0:9", is_final=True) == "FAILED"


def test_no_clock_was_ever_so() -> None:
    def wrong(began_at: datetime | None, ended_at: datetime | None) -> list[str]:
        return [path for path, _ in time_problems(began_at, ended_at)]

    assert wrong(NOON - HOUR, NOON) == []
    assert wrong(None, None) == ["started_at", "ended_at"]
    # 366 days are 8784 hours.
    assert wrong(NOON - 8784 * HOUR, NOON) == []
    assert wrong(NOON - 8785 * HOUR, NOON) == ["started_at"]


def test_two_nodes_that_cannot_be_one_run_are_not() -> None:
    long_ago = told(started_at=datetime(1990, 1, 1, tzinfo=UTC), ended_at=datetime(1990, 1, 2, tzinfo=UTC))
    # 1e9 seconds are 31.7 years.
    with pytest.raises(msgspec.ValidationError, match="walltime_used_s"):
        checked(merged(long_ago, told()))
    assert checked(merged(told(), told(nodes=("nid005002",)))).nodes == ("nid005001", "nid005002")
