"""What is said of the next run: once what all of it rests on, and never more than was promised."""

from __future__ import annotations

from analysis.predictions.choosing import Made, Tried
from analysis.predictions.expected import Expected
from analysis.predictions.protocol import Predicted
from analysis.predictions.quantities import Method, Quantity
from analysis.predictions.widening import Factors
from reports.prediction_texts import expected_text, expected_texts

ALL_EQUAL = Predicted(18_000.0, 18_000.0, 18_000.0, 0.8, 9)
SPREAD = Predicted(9600.0, 11_400.0, 13_800.0, 13 / 15, 14)
FOUR_HOURS_AT_MOST = Predicted(600.0, 7200.0, 14_400.0, 0.8, 9)


def by_own_runs(predicted: Predicted, factors: Factors | None = None, tried: Tried | None = None) -> Made:
    return Made(Method.OWN_QUANTILES, predicted, tried, factors=factors)


def said(*found: tuple[Quantity, Made]) -> list[str]:
    texts = expected_texts([Expected(quantity, (made,)) for quantity, made in found])
    return [text.replace("\u00a0", " ") for text in texts]


def test_what_all_runs_took_is_said_without_a_range_and_its_origin_once() -> None:
    cost = Predicted(20.0, 20.0, 20.0, 0.8, 9)
    assert said((Quantity.RUN_S, by_own_runs(ALL_EQUAL)), (Quantity.GPU_HOURS, by_own_runs(cost))) == [
        "Run time: 5 h 00 min, as in all 9 earlier runs of this size; how often such predictions hold has not been "
        "checked on this site yet.",
        "Cost: 20.0 GPU-hours, as in all of them.",
    ]


def test_what_rests_on_other_runs_says_so_again() -> None:
    memory = Predicted(10.0, 12.0, 14.0, 0.8, 9)
    first, second = said((Quantity.RUN_S, by_own_runs(SPREAD)), (Quantity.MEMORY_GB, by_own_runs(memory)))
    assert "from 14 earlier runs of this size; how often" in first
    assert second.startswith("Host memory: typically 12.0 GB, in 8 of 10 cases 10.0 GB to 14.0 GB")
    assert second.endswith(", from 9 earlier runs of this size.")


def test_a_promise_is_not_rounded_up() -> None:
    """Of 14 runs the least and the longest hold the next in 13 of 15 cases: 86.7 %, not 9 of 10."""
    assert "in 8 of 10 cases 2 h 40 min to 3 h 50 min" in said((Quantity.RUN_S, by_own_runs(SPREAD)))[0]


def test_a_range_that_nothing_can_be_planned_with_is_called_that() -> None:
    """Ten minutes to four hours: 24 times as long. To 3 h 20 min it would be 20 times."""
    (text,) = said((Quantity.RUN_S, by_own_runs(FOUR_HOURS_AT_MOST)))
    assert text.startswith(
        "Run time: typically 2 h 00 min, but run times of this work vary too much for a useful range: in 8 of 10 cases "
        "anywhere from 10 min 00 s to 4 h 00 min, from 9 earlier runs of this size;"
    )
    narrower = Predicted(600.0, 7200.0, 12_000.0, 0.8, 9)
    assert "useful" not in expected_text(Quantity.RUN_S, by_own_runs(narrower))


def test_where_the_site_was_too_far_off_the_work_is_not_blamed() -> None:
    """The factors alone are 30 times apart."""
    (text,) = said((Quantity.RUN_S, by_own_runs(FOUR_HOURS_AT_MOST, Factors(0.1, 3.0, 40))))
    assert "but predictions on this site were too far off for a useful range" in text
    assert "of this work" not in text


def test_how_the_range_would_have_done_on_the_last_runs_is_said_as_that() -> None:
    (text,) = said((Quantity.RUN_S, by_own_runs(SPREAD, tried=Tried(10, 9))))
    assert text.endswith("; tried on the last 10 runs, such a range held for 9.")


def test_without_a_visible_range_nothing_is_said_of_its_width() -> None:
    (text,) = said((Quantity.RUN_S, by_own_runs(ALL_EQUAL, Factors(1.0, 1.0, 40))))
    assert text.endswith("of this size; of 40 predictions on this site at least 8 of 10 were not off.")
