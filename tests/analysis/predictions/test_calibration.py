"""Errors and kept promises: counted by hand, marked by a binomial test, withheld of few people."""

from __future__ import annotations

from analysis.predictions.calibration import Checked, counted, misses_promise, month_figures, record_of

RIGHT = Checked(1, "work", "own_quantiles", "run_s", 0.1, 0.8, is_inside=True)


def checked(user: int, *, error: float | None = 0.1, inside: bool = True, work: str = "") -> Checked:
    return Checked(user, work or f"work {user}", "own_quantiles", "run_s", error, 0.8, inside)


def test_errors_are_counted_in_either_direction_and_exactly_at_the_target() -> None:
    """1.2 / 1 - 1 is a little more than 0.2 in binary."""
    found = record_of([checked(1, error=error) for error in (1.2 - 1, -0.2, 0.15, -0.16, 0.5)])
    assert (found.exact, found.within_20, found.within_15) == (5, 4, 1)
    assert round(found.median_error_percent or 0, 6) == 20.0


def test_a_run_that_went_beyond_the_range_counts_against_it_without_an_error() -> None:
    found = record_of([checked(1), checked(1, error=None, inside=False)])
    assert (found.answered, found.exact, found.ranged, found.inside) == (2, 1, 2, 1)


def test_a_promise_is_missed_where_chance_hardly_explains_it() -> None:
    """Of 30 ranges at 8 of 10 at most 19 hold by chance in 2.6 %; of 29 nothing is concluded."""
    held = [checked(user % 6, inside=user < 19) for user in range(30)]
    assert misses_promise(record_of(held))
    assert not misses_promise(record_of(held[:29]))
    assert not misses_promise(record_of([*held[:-1], checked(1)]))


def test_of_one_work_only_the_latest_ten_count() -> None:
    rows = [checked(1, error=float(place)) for place in range(15)] + [checked(2)]
    assert [row.error_fraction for row in counted(rows)] == [*map(float, range(10)), 0.1]


def test_a_month_of_five_people_is_shown_and_of_four_or_of_one_above_all_withheld() -> None:
    five = [checked(user, inside=user != 3) for user in range(5)]
    (shown,) = month_figures(five)
    assert (shown.is_withheld, shown.answered, shown.inside, shown.promised_percent) == (False, 5, 4, 80)
    assert (shown.within_20, shown.median_error_percent) == (5, 10)
    assert month_figures(five[:4])[0].is_withheld
    # 30 of 34 are 88 %.
    assert month_figures([*[checked(0)] * 30, *five[1:]])[0].is_withheld
    assert month_figures(five[:4])[0].answered == 0
