"""A run measured on some of its nodes: every rendering of its report states on how many, and claims no more."""

from __future__ import annotations

import json
import re

import pytest

from education.seeds import seed_lessons
from reports.as_json import report_json
from reports.job_report import job_report
from tests.parts_measured import four_nodes
from tests.reports.test_renderings import in_every_format


def of(measured: int, percent: float, nodes: int = 4):
    return job_report(four_nodes(measured, percent, nodes), seed_lessons())


def test_every_rendering_states_the_nodes_that_were_measured_and_their_hours_alone() -> None:
    # One of four nodes at 20 %: of 32 GPU-hours 8 were measured, 6.4 of them unused and 1.6 used.
    value = of(1, 20.0)
    assert value.headline == "Your job kept the 8 measured of its 32 GPUs busy 20.0 % of the time"
    for name, content in in_every_format(value).items():
        text = re.sub(r"<[^>]+>|[*|_]", " ", content)
        assert "1 of 4 nodes" in text, name
        for label, number in (
            ("Used GPU-hours", "1.60"),
            ("Unused GPU-hours (estimate)", "6.40"),
            ("GPU-hours not measured", "24.0"),
        ):
            either = rf"{re.escape(label)}\W+{number}|{number}\W+{re.escape(label)}"
            assert re.search(either, text), (name, label, text)
        assert "25.6" not in text, name
    seen = json.loads(report_json(value))["efficiency"]
    assert (seen["measured_nodes"], seen["nodes"], seen["partial"]) == (1, 4, True)
    assert seen["wasted_gpu_hours"] == pytest.approx(6.4)


def test_a_node_short_of_all_is_named_though_the_report_is_not_partial() -> None:
    assert of(9, 20.0, nodes=10).verdict.startswith("Measured on 9 of 10 nodes. ")
    assert "Measured on" not in of(4, 20.0).verdict


def test_a_run_that_was_measured_for_half_of_its_time_names_the_time() -> None:
    value = of(2, 0.0)
    assert value.headline == "Your job did not use the 16 measured of its 32 GPUs"
    assert value.efficiency.measured_on == "2 of 4 nodes"
