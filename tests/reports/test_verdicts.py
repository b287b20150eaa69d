"""Headline and verdict: how a run ended before what it used, and what its use was in a few words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.efficiency import EfficiencyClass
from reports.wording import TITLES, VERDICTS, headline, no_advice, no_causes, verdict
from tests.payloads import gpu
from tests.reports.builders import judged, report


def test_every_class_has_a_verdict_and_none_of_them_blames() -> None:
    assert set(VERDICTS) == set(EfficiencyClass)
    spoken = " ".join([*VERDICTS.values(), *TITLES.values()]).lower()
    assert not re.search(r"\b(bad|fault|wrong|must|violat|abus|punish)", spoken)


AFTER_99_S = {"walltime_used_s": 99.0}
BUSY = [gpu(index, 86.0) for index in range(8)]


@pytest.mark.parametrize(
    ("gpus", "record", "expected"),
    [
        (None, {}, "Your job kept its 8 GPUs busy 22.0 % of the time"),
        ([], {}, "The GPU use of your job was not measured"),
        (
            BUSY,
            {"state": "FAILED", "exit_code": "1:0"} | AFTER_99_S,
            "Your job ended with exit code 1 after 1 min 39 s",
        ),
        ([], {"state": "FAILED", "exit_code": "0:9"}, "Your job ended with signal 9 after 2 h 00 min; its GPU use was"),
        (BUSY, {"state": "CANCELLED"} | AFTER_99_S, "Your job was cancelled after 1 min 39 s"),
        (
            BUSY,
            {"state": "TIMEOUT", "walltime_requested_s": 7200.0},
            "Your job reached its time limit of 2 h 00 min; its",
        ),
        (
            BUSY,
            {"state": "OUT_OF_MEMORY"},
            "Your job ran out of host memory after 2 h 00 min; its 8 GPUs were busy 86.0 %",
        ),
        (BUSY, {"state": "NODE_FAIL"}, "Your job was ended by the system (NODE_FAIL) after 2 h 00 min"),
        ([gpu(index, 0.0) for index in range(8)], {}, "Your job did not use its 8 GPUs"),
    ],
)
def test_the_headline_says_how_it_ended_before_what_it_used(gpus, record: dict[str, Any], expected: str) -> None:
    assert headline(judged(gpus, **record)).startswith(expected)


def test_a_run_that_ended_early_is_not_praised_for_busy_gpus() -> None:
    crashed = judged(BUSY, state="FAILED", exit_code="1:0", **AFTER_99_S)
    assert "busy" not in headline(crashed) + verdict(crashed)
    assert no_advice(crashed) == "No better request can be derived; the findings list steps to try."
    cancelled = judged(BUSY, state="CANCELLED", **AFTER_99_S)
    assert "too short, or ended too early" in no_causes(cancelled)
    assert "too short, or ended too early" in no_advice(cancelled)


def test_partial_data_are_said_first_and_uncounted_runs_last() -> None:
    partial = verdict(judged(gpus_allocated=16, gpus_requested=16))
    assert partial.startswith("Partial: only 50 % of the GPU time was measured")
    assert verdict(judged(state="NODE_FAIL")).endswith("not counted in any statistic.")
    half_seen = judged(BUSY, gpus_allocated=16, gpus_requested=16)
    assert "needed" not in verdict(half_seen) + no_advice(half_seen)


@pytest.mark.parametrize(
    ("util", "expected"),
    [
        ([90.0] * 120, "steady"),
        ([0.0] * 60 + [90.0] * 60, "idle for the first 1 h 00 min, steady"),
        ([90.0] * 40 + [20.0] * 60 + [0.0] * 20, "falling after the start, idle for the last 20 min 00 s"),
        ([90.0] * 2, "too few measurements to describe"),
        ([0.0] * 120, "no work measured"),
        ([None] * 120, "not measured"),
    ],
)
def test_the_phases_of_a_run_are_told_in_a_few_words(util: list[float | None], expected: str) -> None:
    timeline = {"step_s": 60.0, "util": util, "mem_gb": [1.0] * len(util)}
    told = {seen.label: seen.value for seen in report([gpu(0, 50.0, timeline=timeline)]).observed}
    assert told["GPU use over time"] == expected


def test_busy_gpus_are_praised_only_where_nothing_else_was_found() -> None:
    assert report([gpu(index, 95.0) for index in range(8)]).verdict.endswith("No change needed.")
    assert report([gpu(index, 95.0) for index in range(8)], state="TIMEOUT").verdict.count("No change needed") == 0
    one_idle = report([gpu(index, 95.0 if index else 0.0) for index in range(8)])
    assert one_idle.verdict == "The GPUs were busy most of the time. See the points listed below."
