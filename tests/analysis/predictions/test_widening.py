"""How wide ranges are: factors counted by hand, censored answers at the top, few people and few answers nothing."""

from __future__ import annotations

from analysis.predictions.calibration import Checked
from analysis.predictions.choosing import OfSite, made
from analysis.predictions.protocol import Observed, Predicted, Request
from analysis.predictions.quantities import Method
from analysis.predictions.widening import Factors, factors_of, kept, widened

NODE = Request("node", 1, 8)


def answers(count: int, *, people: int = 6, beyond: int = 0, is_widened: bool = False) -> list[Checked]:
    """Factors 1.0, 1.1, 1.2 …, then `beyond` whose end nobody knows; in turn of so many people, one of each work."""
    errors = [*(place / 10 for place in range(count - beyond)), *[None] * beyond]
    return [
        Checked(place % people, f"{place}", "own_quantiles", "run_s", error, 0.8, error is not None, is_widened)
        for place, error in enumerate(errors)
    ]


def test_the_factors_are_the_ranks_that_hold_eight_of_ten_next_answers() -> None:
    """Of 39 the 4th is 1.3, so 1 stays within; the 36th is 4.5."""
    found = factors_of(answers(39))
    assert found is not None
    assert (found.low, round(found.high, 9), found.answers) == (1.0, 4.5, 39)


def test_answers_without_a_known_end_are_above_all_others() -> None:
    """Of 39 three may lie above the range: with three such the 36th is the largest known, 4.5; with four nothing is."""
    found = factors_of(answers(39, beyond=3))
    assert found is not None
    assert round(found.high, 9) == 4.5
    assert factors_of(answers(39, beyond=4)) is None


def test_few_answers_or_few_people_give_no_factors() -> None:
    assert kept(answers(29)).factors is None
    assert kept(answers(40, people=4)).factors is None
    assert kept(answers(40)).factors is not None


def test_an_own_range_that_is_wider_stays_and_the_promise_is_that_of_the_factors() -> None:
    own = Predicted(10.0, 100.0, 110.0, 2 / 3, 5)
    assert widened(own, Factors(0.5, 2.0, 30)) == Predicted(10.0, 100.0, 200.0, 0.8, 5)
    assert widened(own, None) is own


def test_ranges_from_before_the_factors_do_not_mark_a_method_and_widened_ones_do() -> None:
    """None of 40 held, which chance does not explain."""
    missed = [
        Checked(place % 6, f"{place}", "own_quantiles", "run_s", 1.0, 0.8, is_inside=False) for place in range(40)
    ]
    assert (kept(missed).misses_promise, kept(missed).record.ranged, kept(missed).answers) == (False, 0, 40)
    wide = [Checked(row.user, row.work, row.method, row.quantity, 1.0, 0.8, False, True) for row in missed]
    assert (kept(wide).misses_promise, kept(wide).record.ranged) == (True, 40)


def test_waits_have_factors_of_their_own_and_are_judged_by_all_their_ranges() -> None:
    waits = [Checked(place % 6, f"{place}", "queue_waits", "wait_s", 1.0, 0.8, is_inside=False) for place in range(40)]
    assert (kept(waits).factors, kept(waits).misses_promise) == (None, True)


def test_how_often_ranges_held_for_the_last_runs_is_tried_with_the_same_factors() -> None:
    """Five runs of 50 to 70, then 60 and 90: 90 lies within 60 x 1.5."""
    earlier = [Observed(NODE, value) for value in (60.0, 50.0, 70.0, 65.0, 55.0, 60.0, 90.0)]
    own, wide = (
        made(earlier, NODE, OfSite((), factors))[0] for factors in ({}, {Method.OWN_QUANTILES: Factors(1.0, 1.5, 30)})
    )
    assert own.tried is not None
    assert wide.tried is not None
    assert (own.tried.inside, wide.tried.inside, wide.tried.runs) == (1, 2, 2)
