"""Words about GPUs that show as busy at low power, with and without logged steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.early.findings import EarlyCode
from analysis.progress.logged import LoggedRun
from jobs.experiments.points import Points, merged
from tests.analysis.early.running import START_MS, minutes, running, word, words
from tests.analysis.runs import rate

BUSY = [minutes((60, 100.0))] * 8
LONG = [minutes((120, 100.0))] * 8


def steps_until(last_s: int, every_s: int = 60) -> LoggedRun:
    """A run that logged its loss every so many seconds until then."""
    at_s = np.arange(every_s, last_s + 1, every_s)
    points = Points(np.arange(at_s.size) * 10, START_MS + at_s * 1000, np.full(at_s.size, 0.5))
    return LoggedRun(series={"loss": merged(None, points)})


def test_busy_gpus_at_a_third_of_the_power_cap_probably_wait() -> None:
    facts = running(*BUSY, power_w=168.0)
    assert words(facts) == ["spinning"]
    found = word(facts, EarlyCode.SPINNING)
    assert (found.evidence["power_w"], found.evidence["cap_w"], found.evidence["modules"]) == (168.0, 560.0, 4)
    assert (found.evidence["busy_percent"], found.evidence["spinning_s"], found.is_fact) == (100.0, 3600.0, False)
    # 168 W of 560 W are 0.30: a sixth of the way from 0.36 to 0; busy is all the way from 97 to 100 percent.
    assert found.confidence == pytest.approx(rate((1.0 / 6) ** 0.5))


@pytest.mark.parametrize(("power_w", "said"), [(201.0, ["spinning"]), (202.0, [])])
def test_more_than_36_percent_of_the_cap_may_be_work(power_w: float, said: list[str]) -> None:
    # 0.36 x 560 W = 201.6 W.
    assert words(running(*BUSY, power_w=power_w)) == said


@pytest.mark.parametrize(("percent", "said"), [(98.0, ["spinning"]), (97.9, [])])
def test_small_kernels_leave_gaps(percent: float, said: list[str]) -> None:
    assert words(running(*[minutes((60, percent))] * 8, power_w=150.0)) == said


@pytest.mark.parametrize(
    ("percent", "power_w", "said"), [(97.0, 200.0, ["spinning"]), (96.9, 200.0, []), (97.0, 199.0, [])]
)
def test_power_that_fell_by_a_fifth_shows_that_work_ended(percent: float, power_w: float, said: list[str]) -> None:
    # The mean of the job so far was 1.25 times 160 W, 200 W.
    facts = running(*[minutes((60, percent))] * 8, power_w=power_w, recent_power_w=160.0, span_s=3000.0)
    assert words(facts) == said


def test_hiccups_are_work() -> None:
    # In the last 50 minutes 6 are at 94 percent: 0.88 of them are busy all the time. With 3 of them it is 0.94.
    assert words(running(*[minutes(*[(1, 94.0), (7, 100.0)] * 8)] * 8, power_w=150.0)) == []
    assert words(running(*[minutes(*[(1, 94.0), (15, 100.0)] * 4)] * 8, power_w=150.0)) == ["spinning"]


def test_a_word_that_holds_is_over_below_95_percent() -> None:
    def said(percent: float, *held: str) -> list[str]:
        return words(running(*[minutes((60, percent))] * 8, power_w=210.0, held=held))

    # 210 W are 0.375 of the cap, below 0.40.
    assert (said(95.0), said(95.0, "spinning"), said(94.9, "spinning")) == ([], ["spinning"], [])


def test_the_last_stretch_counts_where_it_is_50_minutes_or_more() -> None:
    worked: dict[str, Any] = {"power_w": 350.0, "recent_power_w": 160.0}
    assert words(running(*BUSY, **worked, span_s=3000.0)) == ["spinning"]
    assert words(running(*BUSY, **worked, span_s=2999.0)) == []


def test_a_short_last_stretch_and_a_whole_run_that_are_both_low_are_enough() -> None:
    assert words(running(*BUSY, power_w=160.0, recent_power_w=165.0, span_s=600.0)) == ["spinning"]
    assert words(running(*[minutes((49, 100.0))] * 8, power_w=160.0)) == []


def test_one_module_at_work_means_that_the_job_works() -> None:
    courses = [minutes((60, 100.0))] * 8
    facts = running(*courses, power_w=160.0)
    facts.recent.power_w[0] = 400.0
    facts.run.gpus.power_avg_w[0] = 400.0
    assert words(facts) == []


def test_use_that_goes_up_and_down_is_work() -> None:
    # 100 and 60 percent in turns: 80 on average, 20 points around it.
    assert words(running(*[minutes(*[(1, 100.0), (1, 60.0)] * 30)] * 8, power_w=160.0)) == []


def test_without_power_nothing_is_said() -> None:
    assert words(running(*BUSY)) == []


def test_steps_that_go_on_decide() -> None:
    assert words(running(*BUSY, power_w=160.0, logged=[steps_until(3540)])) == []


def test_steps_that_stopped_an_hour_ago_make_it_certain() -> None:
    facts = running(*LONG, power_w=160.0, logged=[steps_until(3600)])
    found = word(facts, EarlyCode.SPINNING)
    # The last step came at 3600 s of 7200 s.
    assert (found.evidence["since_s"], found.evidence["flat_s"]) == (3600.0, 3600.0)
    assert (found.is_fact, found.confidence) == (True, 1.0)


def test_steps_that_stopped_less_than_an_hour_ago_may_be_an_evaluation() -> None:
    assert words(running(*LONG, power_w=160.0, logged=[steps_until(3660)])) == []


def test_steps_that_stopped_count_where_power_is_not_known_if_use_became_steady() -> None:
    # 100 and 80 percent in turns for half an hour, then 100 all the time.
    course = minutes(*[(1, 100.0), (1, 80.0)] * 15, (70, 100.0))
    found = word(running(*[course] * 8, logged=[steps_until(1800)]), EarlyCode.SPINNING)
    assert (found.evidence["since_s"], found.evidence["flat_s"]) == (1800.0, 4200.0)
    assert "power_w" not in found.evidence
    # Use that goes on as before: the points may just have been lost.
    same = minutes(*[(1, 100.0), (1, 80.0)] * 50)
    assert words(running(*[same] * 8, logged=[steps_until(1800)])) == []


def test_steps_that_stopped_at_full_power_may_just_have_been_lost() -> None:
    assert words(running(*LONG, power_w=450.0, logged=[steps_until(1800)])) == []


def test_a_session_may_try_something_at_low_power() -> None:
    assert words(running(*BUSY, power_w=160.0, job_name="jupyter-lab")) == []
