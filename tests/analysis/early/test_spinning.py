"""Words about GPUs that show as busy at low power, with and without logged steps."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.early.findings import EarlyCode
from analysis.progress.logged import LoggedRun
from jobs.experiments.points import Points, merged
from tests.analysis.early.running import START_MS, minutes, running, word, words
from tests.analysis.runs import rate

BUSY = [minutes((60, 100.0))] * 8


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
    # 168 W of 560 W are 0.30: a quarter of the way from 0.40 to 0; busy is all the way from 70 to 100 percent.
    assert found.confidence == pytest.approx(rate((1.0 * 0.25) ** 0.5))


@pytest.mark.parametrize(("power_w", "said"), [(223.0, ["spinning"]), (224.0, [])])
def test_forty_percent_of_the_cap_is_work(power_w: float, said: list[str]) -> None:
    # 0.40 x 560 W = 224 W.
    assert words(running(*BUSY, power_w=power_w)) == said


@pytest.mark.parametrize(("percent", "said"), [(70.0, ["spinning"]), (69.0, [])])
def test_gpus_that_are_less_busy_are_not_said_to_wait_in_a_loop(percent: float, said: list[str]) -> None:
    assert words(running(*[minutes((60, percent))] * 8, power_w=150.0)) == said


def test_the_last_stretch_counts_where_it_is_half_an_hour_or_more() -> None:
    worked = {"power_w": 350.0, "recent_power_w": 160.0}
    assert words(running(*BUSY, **worked, span_s=1800.0)) == ["spinning"]
    assert words(running(*BUSY, **worked, span_s=1799.0)) == []


def test_a_short_last_stretch_and_a_whole_run_that_are_both_low_are_enough() -> None:
    assert words(running(*BUSY, power_w=160.0, recent_power_w=165.0, span_s=600.0)) == ["spinning"]
    assert words(running(*[minutes((29, 100.0))] * 8, power_w=160.0)) == []


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


def test_steps_that_stopped_half_an_hour_ago_make_it_certain() -> None:
    facts = running(*BUSY, power_w=160.0, logged=[steps_until(1800)])
    found = word(facts, EarlyCode.SPINNING)
    # The last step came at 1800 s of 3600 s.
    assert (found.evidence["since_s"], found.evidence["flat_s"]) == (1800.0, 1800.0)
    assert (found.is_fact, found.confidence) == (True, 1.0)


def test_steps_that_stopped_a_moment_ago_are_a_pause() -> None:
    assert words(running(*BUSY, power_w=160.0, logged=[steps_until(1860)])) == []


def test_steps_that_stopped_count_where_power_is_not_known_if_use_became_steady() -> None:
    # 100 and 80 percent in turns for half an hour, then 100 all the time.
    course = minutes(*[(1, 100.0), (1, 80.0)] * 15, (40, 100.0))
    found = word(running(*[course] * 8, logged=[steps_until(1800)]), EarlyCode.SPINNING)
    assert (found.evidence["since_s"], found.evidence["flat_s"]) == (1800.0, 2400.0)
    assert "power_w" not in found.evidence
    # Use that goes on as before: the points may just have been lost.
    same = minutes(*[(1, 100.0), (1, 80.0)] * 35)
    assert words(running(*[same] * 8, logged=[steps_until(1800)])) == []


def test_steps_that_stopped_at_full_power_may_just_have_been_lost() -> None:
    assert words(running(*BUSY, power_w=450.0, logged=[steps_until(1800)])) == []


def test_a_session_may_try_something_at_low_power() -> None:
    assert words(running(*BUSY, power_w=160.0, job_name="jupyter-lab")) == []
