"""Words about a time limit that comes first, by logged progress and by earlier runs."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.comparable import ComparableRun
from analysis.early.findings import EarlyCode
from analysis.progress.logged import LoggedRun
from jobs.experiments.points import Points, merged
from tests.analysis.early.running import HOUR_S, START_MS, minutes, running, word, words

AT_WORK = [minutes((120, 80.0))] * 8
SLOW = [ComparableRun(8, 4 * HOUR_S), ComparableRun(8, 4.2 * HOUR_S), ComparableRun(8, 4.4 * HOUR_S)]


def steps(a_minute: float = 10.0, first: float = 0.0, name: str = "train/global_step", **params: str) -> LoggedRun:
    """A run that logged its step each minute of two hours."""
    at_s = np.arange(0, 7201, 60)
    counts = first + a_minute * at_s / 60
    points = Points(counts.astype(np.int64), START_MS + at_s * 1000, counts)
    return LoggedRun(params=params, series={name: merged(None, points)})


def test_steps_that_need_longer_than_the_limit() -> None:
    facts = running(*AT_WORK, logged=[steps(max_steps="3000")], limit_s=4 * HOUR_S)
    found = word(facts, EarlyCode.LIMIT_TOO_SHORT)
    # 1,200 of 3,000 steps in two hours: 5 hours at this speed, which never changed.
    assert found.evidence["needs_s_low"] == pytest.approx(5 * HOUR_S)
    assert found.evidence["needs_s_high"] == pytest.approx(5 * HOUR_S)
    assert (found.evidence["steps_done"], found.evidence["steps_total"]) == (1200.0, 3000.0)


@pytest.mark.parametrize(("total", "said"), [("2650", ["limit_too_short"]), ("2630", [])])
def test_a_tenth_above_the_limit_is_clearly_too_long(total: str, said: list[str]) -> None:
    # 10 steps a minute: 4 hours and a tenth are 264 minutes, 2,640 steps.
    assert words(running(*AT_WORK, logged=[steps(max_steps=total)], limit_s=4 * HOUR_S)) == said


def test_epochs_that_may_be_off_by_one() -> None:
    def said(total: str) -> list[str]:
        run = steps(0.1, name="epoch", num_train_epochs=total)
        return words(running(*AT_WORK, logged=[run], limit_s=4 * HOUR_S))

    # 6 epochs an hour: 4.4 hours are 26.4 of them, and one more as the count may begin at 0 or 1.
    assert (said("28.0"), said("27.0")) == (["limit_too_short"], [])


def test_the_range_of_a_count_that_may_be_off_by_one_holds_both_counts() -> None:
    run = steps(0.1, name="epoch", num_train_epochs="28")
    found = word(running(*AT_WORK, logged=[run], limit_s=4 * HOUR_S), EarlyCode.LIMIT_TOO_SHORT)
    # 12 of 28 epochs in two hours, at 6 an hour: 15 to 17 more take 2 h 30 min to 2 h 50 min.
    assert found.evidence["needs_s_low"] == pytest.approx(4.5 * HOUR_S)
    assert found.evidence["needs_s_high"] == pytest.approx(4 * HOUR_S + 50 * 60)


@pytest.mark.parametrize(
    "run",
    [
        steps(),
        steps(save_steps="3000"),
        steps(max_steps="3000", total_steps="4000"),
        steps(max_steps="3000", early_stopping_patience="3"),
        steps(max_steps="3000", resume_from_checkpoint="last"),
        steps(max_steps="30000"),
        steps(first=2000.0, max_steps="5000"),
    ],
    ids=["no total", "another number", "two totals", "stops early", "resumes", "endless by design", "went on"],
)
def test_work_whose_end_is_not_known_gets_no_word(run: LoggedRun) -> None:
    assert words(running(*AT_WORK, logged=[run], limit_s=4 * HOUR_S)) == []


def test_three_earlier_runs_that_all_took_clearly_longer() -> None:
    facts = running(*AT_WORK, earlier=SLOW, limit_s=3 * HOUR_S)
    found = word(facts, EarlyCode.LIMIT_TOO_SHORT)
    assert (found.evidence["earlier_runs"], found.evidence["needs_s_low"]) == (3, 4 * HOUR_S)
    assert found.evidence["needs_s_high"] == pytest.approx(4.4 * HOUR_S)


@pytest.mark.parametrize(("limit_s", "said"), [(3.2 * HOUR_S, ["limit_too_short"]), (3.21 * HOUR_S, [])])
def test_the_shortest_run_must_take_a_quarter_longer(limit_s: float, said: list[str]) -> None:
    # 4 hours are a quarter more than 3.2 hours.
    assert words(running(*AT_WORK, earlier=SLOW, limit_s=limit_s)) == said


@pytest.mark.parametrize(
    "earlier",
    [
        SLOW[:2],
        [*SLOW[:2], ComparableRun(4, 4 * HOUR_S)],
        [*SLOW, ComparableRun(8, 3 * HOUR_S, is_cut=True)],
        [*SLOW, ComparableRun(8, 9 * HOUR_S)],
    ],
    ids=["two runs", "other GPUs", "ended at its limit", "different input"],
)
def test_earlier_runs_that_do_not_show_how_long_this_takes(earlier: list[ComparableRun]) -> None:
    assert words(running(*AT_WORK, earlier=earlier, limit_s=3 * HOUR_S)) == []


def test_progress_that_is_fast_enough_is_believed_before_earlier_runs() -> None:
    run = steps(max_steps="1200")
    assert words(running(*AT_WORK, earlier=SLOW, logged=[run], limit_s=3 * HOUR_S)) == []


@pytest.mark.parametrize(
    "record", [{"job_name": "train_part_3"}, {"partition": "dev-g"}], ids=["named as a part", "the longest limit"]
)
def test_work_in_several_parts_by_design_gets_no_word(record: dict[str, str]) -> None:
    # The longest limit of dev-g is three hours.
    assert words(running(*AT_WORK, earlier=SLOW, limit_s=3 * HOUR_S)) == ["limit_too_short"]
    assert words(running(*AT_WORK, earlier=SLOW, limit_s=3 * HOUR_S, **record)) == []


def test_work_that_is_speeding_up_is_not_judged_by_its_past() -> None:
    at_s = np.arange(0, 7201, 60)
    # 8 steps a minute in the first 90 minutes, 10 in the last 30: a quarter more.
    counts = np.where(at_s <= 5400, 8 * at_s / 60, 720 + 10 * (at_s - 5400) / 60)
    points = Points(counts.astype(np.int64), START_MS + at_s * 1000, counts)
    run = LoggedRun(params={"max_steps": "3000"}, series={"global_step": merged(None, points)})
    assert words(running(*AT_WORK, logged=[run], limit_s=4 * HOUR_S)) == []


def test_work_whose_earlier_runs_ended_in_time_stops_before_its_total() -> None:
    run = steps(max_steps="3000")
    # 5 hours are needed: more than twice 2.4 hours, and just twice 2.5.
    ended = [ComparableRun(8, 2.4 * HOUR_S)]
    assert words(running(*AT_WORK, logged=[run], earlier=ended, limit_s=4 * HOUR_S)) == []
    slower = [ComparableRun(8, 2.5 * HOUR_S)]
    assert words(running(*AT_WORK, logged=[run], earlier=slower, limit_s=4 * HOUR_S)) == ["limit_too_short"]
    # On other GPUs that says nothing.
    other = [ComparableRun(4, 2 * HOUR_S)]
    assert words(running(*AT_WORK, logged=[run], earlier=other, limit_s=4 * HOUR_S)) == ["limit_too_short"]


def test_less_than_an_hour_and_a_half_of_steps_may_be_the_slow_start() -> None:
    def after(count: int) -> list[str]:
        return words(running(*[minutes((count, 80.0))] * 8, logged=[steps(max_steps="3000")], limit_s=4 * HOUR_S))

    # Points after the last sample are not read.
    assert (after(89), after(90)) == ([], ["limit_too_short"])


def test_earlier_runs_count_from_half_of_the_limit_on() -> None:
    def at(count: int) -> list[str]:
        return words(running(*[minutes((count, 80.0))] * 8, earlier=SLOW, limit_s=3 * HOUR_S))

    assert (at(89), at(90)) == ([], ["limit_too_short"])


def test_a_word_that_holds_stays_while_the_estimate_is_above_the_limit() -> None:
    def said(total: str, *held: str) -> list[str]:
        return words(running(*AT_WORK, logged=[steps(max_steps=total)], limit_s=4 * HOUR_S, held=held))

    # 10 steps a minute: 4 hours are 2,400 of them, with a tenth 2,640.
    assert said("2500") == []
    assert said("2500", "limit_too_short") == ["limit_too_short"]
    assert said("2390", "limit_too_short") == []
    # What holds of another word changes nothing.
    assert said("2500", "spinning") == []


def test_sessions_and_trials_have_limits_of_another_kind() -> None:
    for name in ("sys/dashboard/sys/jupyter", "train-kaiku-trial-2"):
        assert words(running(*AT_WORK, earlier=SLOW, limit_s=3 * HOUR_S, job_name=name)) == []
