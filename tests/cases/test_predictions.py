"""The replay of predictions: what a night may know, counted by hand."""

from __future__ import annotations

from analysis.predictions.calibration import Record
from analysis.predictions.protocol import Request
from cases.predictions import CHOSEN, DAY_S, HOUR_S, NOT_CHECKED, WIDENED, Run, held, held_too_rarely, ranges, replayed

NODE = Request("node", 1, 8)


def daily(people: int, days: int) -> list[Run]:
    """Each person's run of an hour every noon."""
    starts = [(person, day * DAY_S + 12 * HOUR_S) for person in range(people) for day in range(days)]
    return [Run(person, f"work {person}", NODE, at_s, at_s + HOUR_S, HOUR_S) for person, at_s in starts]


def test_ranges_are_as_wide_as_predictions_were_off_from_the_night_after_thirty_answers_on() -> None:
    """Days 0 to 4 are the five earlier runs; six people answer on days 5 to 9, so the range of day 10 is widened."""
    found = ranges(replayed(daily(6, 12)))
    assert {one.run.submitted_s // DAY_S for one in found[NOT_CHECKED]} == {5, 6, 7, 8, 9}
    assert {one.run.submitted_s // DAY_S for one in found[WIDENED]} == {10, 11}
    assert (held(found[WIDENED]).ranged, held(found[WIDENED]).inside) == (12, 12)


def test_four_people_widen_nothing() -> None:
    assert not ranges(replayed(daily(4, 15)))[WIDENED]


def test_each_method_and_the_chosen_one_are_replayed() -> None:
    assert {one.method for one in replayed(daily(1, 6))} == {CHOSEN, "own_quantiles"}


def test_the_limit_is_that_chance_hardly_explains_it() -> None:
    """Of 10 ranges at 8 of 10, at most 5 hold by chance in 3.3 %, at most 6 in 12.1 %."""
    assert held_too_rarely(Record(10, 10, 0, 0, None, 10, 5, 0.8))
    assert not held_too_rarely(Record(10, 10, 0, 0, None, 10, 6, 0.8))
    assert not held_too_rarely(Record(0, 0, 0, 0, None, 0, 0, None))
