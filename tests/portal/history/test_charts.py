"""Charts of a period: dated at both ends and in the middle, dashed in the legend where they are dashed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from django.template.loader import render_to_string

from analysis.history.sums import Step
from portal.charts.history import charts

FIRST = datetime(2026, 9, 7, tzinfo=UTC)


def steps(count: int) -> list[Step]:
    return [
        Step(
            start=FIRST + timedelta(days=day),
            jobs=1,
            hours_by_class={"EFFICIENT": 1.0},
            median_util=67.0,
            wasted_gpu_hours=0.33,
        )
        for day in range(count)
    ]


def drawn(count: int) -> list[str]:
    return [render_to_string("portal/_chart.html", {"chart": chart}) for chart in charts(steps(count), "day")]


def test_both_ends_and_the_middle_are_dated() -> None:
    # Seven days from Monday 7 September: Thursday the 10th is the middle one.
    for page in drawn(7):
        labels = re.findall(r"<span>([^<]+)</span>", page.partition('class="axis ends"')[2].partition("</p>")[0])
        assert labels == ["Mon 7 Sep", "Thu 10 Sep", "Sun 13 Sep"]


def test_two_days_have_no_middle() -> None:
    for page in drawn(2):
        assert page.partition('class="axis ends"')[2].partition("</p>")[0].count("<span>") == 2


def test_a_dashed_line_has_a_dashed_sign() -> None:
    _, median, _ = drawn(7)
    legend = median.partition('class="legend"')[2].partition("</ul>")[0]
    assert re.findall(r'<line class="(\w+)"', legend) == ["stroke", "guide"]
    assert "<rect" not in legend


def test_a_number_and_its_percent_sign_are_not_broken() -> None:
    _, median, _ = drawn(7)
    assert "67\u00a0%" in median
    assert "67 %" not in median
