"""Both predictors and the choice between them, on numbers worked out by hand."""

from __future__ import annotations

import pytest

from analysis.predictions.choosing import OfSite, made, tried
from analysis.predictions.own_quantiles import LATEST, OwnQuantiles
from analysis.predictions.protocol import Observed, Request, order_range
from analysis.predictions.quantities import Method
from analysis.predictions.regression import Regression

NODE, HALF = Request("node", 1, 8, 56, 3600.0), Request("node", 1, 4, 28, 3600.0)


def runs(request: Request, *values: float) -> list[Observed]:
    return [Observed(request, value) for value in values]


@pytest.mark.parametrize(("count", "ends"), [(5, (1, 5)), (9, (1, 9)), (19, (2, 18)), (29, (3, 27))])
def test_a_range_of_ranks_promises_eight_of_ten_from_nine_runs_on(count: int, ends: tuple[int, int]) -> None:
    """Of n values the next lies between the k-th from both ends in (n + 1 - 2k) / (n + 1) of all cases."""
    low, high, promised = order_range([float(value) for value in range(1, count + 1)])
    assert (low, high) == ends
    # 5 runs: (6 - 2) / 6; 9: (10 - 2) / 10; 19: (20 - 4) / 20; 29: (30 - 6) / 30.
    assert promised == pytest.approx(4 / 6 if count == 5 else 0.8)


def test_four_runs_of_the_size_are_too_few_whatever_other_sizes_ran() -> None:
    assert OwnQuantiles().predicted(runs(NODE, 1.0, 2.0, 3.0, 4.0) + runs(HALF, *[9.0] * 20), NODE) is None


def test_own_quantiles_forget_what_ran_long_ago() -> None:
    found = OwnQuantiles().predicted(runs(NODE, *[1000.0] * 30, *[60.0] * LATEST), NODE)
    assert found is not None
    assert (found.low, found.typical, found.high, found.runs) == (60.0, 60.0, 60.0, 50)


def test_a_line_through_two_limits_predicts_the_one_between_them() -> None:
    """Runs take half of their limit: at 1 h 30 min, and at 6 h 3 h; at 2 h about 1 h, a little nearer to the others."""
    short, long = Request("node", 1, 8, 56, 3600.0), Request("node", 1, 8, 56, 4 * 3600.0)
    earlier = runs(short, *[1800.0] * 6) + runs(long, *[7200.0] * 6)
    found = Regression().predicted(earlier, Request("node", 1, 8, 56, 2 * 3600.0))
    assert found is not None
    assert found.typical == pytest.approx(3600.0, rel=0.15)
    assert found.low <= found.typical <= found.high


def test_a_line_is_never_drawn_beyond_what_ran_nor_where_nothing_differs() -> None:
    earlier = runs(HALF, *[120.0] * 6) + runs(NODE, *[60.0] * 6)
    assert Regression().predicted(earlier, Request("node", 1, 16, 112, 3600.0)) is None
    assert Regression().predicted(earlier, Request("node", 1, 2, 14, 3600.0)) is None
    assert Regression().predicted(earlier, Request("other", 1, 8, 56, 3600.0)) is None
    assert Regression().predicted(runs(NODE, *[60.0] * 12), NODE) is None


def test_what_is_not_known_of_every_run_is_left_out_of_the_line() -> None:
    earlier = runs(Request("node", 1, 4), *[120.0] * 6) + runs(NODE, *[60.0] * 6)
    found = Regression().predicted(earlier, NODE)
    assert found is not None
    assert found.typical == pytest.approx(60.0, rel=0.15)


def test_the_method_that_is_nearer_for_the_last_runs_speaks() -> None:
    """With 1 h as their limit runs take 30 min, with 2 h 1 h: the median of all is wrong for both."""
    one, two = Request("node", 1, 8, 56, 3600.0), Request("node", 1, 8, 56, 7200.0)
    earlier = [run for _ in range(5) for run in (Observed(one, 1800.0), Observed(two, 3600.0))]
    assert [each.method for each in made(earlier, two)] == [Method.REGRESSION, Method.OWN_QUANTILES]


def test_the_simpler_method_speaks_where_both_are_as_near() -> None:
    earlier = runs(HALF, *[60.0] * 6) + runs(NODE, *[60.0] * 6)
    assert made(earlier, NODE)[0].method is Method.OWN_QUANTILES


def test_a_method_that_misses_its_promise_falls_back_to_the_other_or_to_no_range() -> None:
    earlier = runs(HALF, *[120.0] * 6) + runs(NODE, *[60.0] * 6)
    both = set(Method)
    assert made(earlier, NODE, OfSite({Method.OWN_QUANTILES}))[0].method is Method.REGRESSION
    assert [(each.method, each.has_range) for each in made(earlier, NODE, OfSite(both))] == [
        (Method.OWN_QUANTILES, False),
        (Method.REGRESSION, False),
    ]


def test_ranges_are_tried_on_runs_from_those_before_them_alone() -> None:
    """Five runs of 50 to 70; then 60 within them, 90 outside, and 80 within 50 to 90."""
    earlier = runs(NODE, 60.0, 50.0, 70.0, 65.0, 55.0, 60.0, 90.0, 80.0)
    found = tried(OwnQuantiles(), earlier, NODE)
    assert found is not None
    assert (found.runs, found.inside) == (3, 2)
