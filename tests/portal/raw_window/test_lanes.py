"""Raw samples as lanes: what each column reaches, where lines break, what a pointer and a table say."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from metrics.selectors import RawSamples
from portal.pages.raw_window.lanes import COLUMNS_MAX, envelope, lanes_of, strokes_of
from portal.pages.raw_window.span import Span, asked_span, parts, zooms

NAN = float("nan")
TEN_S = Span(0.0, 10.0, 10.0)


def samples(util: list[list[float]], at_s: list[float] | None = None, mem_gb: float = 10.0) -> RawSamples:
    """A window of as many GPUs as there are lists, a tick a second unless other times are given."""
    values = np.array(util, dtype=np.float32).T
    at = np.arange(len(values), dtype=np.float64) if at_s is None else np.array(at_s)
    began = datetime(2026, 11, 20, 11, 50, tzinfo=UTC)
    return RawSamples("nid005123", began, [*range(len(util))], at, values, np.full(values.shape, mem_gb, np.float32))


def test_a_column_keeps_the_lowest_and_the_highest_of_its_samples() -> None:
    # Ten seconds in two columns: 0 to 5 s and 5 to 10 s; the second GPU has a gap in the first one.
    values = np.array([[10.0, NAN], [90.0, NAN], [20.0, 5.0], [30.0, 7.0]])
    found = envelope(values, np.array([0.0, 4.9, 5.0, 10.0]), TEN_S, 2)
    assert found.low.tolist()[1] == [20.0, 5.0]
    assert found.high.tolist()[1] == [30.0, 7.0]
    assert (found.low[0, 0], found.high[0, 0]) == (10.0, 90.0)
    assert np.isnan(found.high[0, 1])
    assert found.columns.tolist() == [0, 1]


def test_one_sample_of_a_tenth_of_a_second_is_seen_in_an_hour() -> None:
    util = [0.0] * 36_000
    util[17_999] = 100.0
    found = samples([util], at_s=[0.1 * tick for tick in range(36_000)])
    use, _ = lanes_of(found, Span(0.0, 3600.0, 3600.0))
    (stroke,) = use.lanes[0].strokes
    # 1,799.9 s of 3,600 are column 179 of 360; 0 is the top of a lane.
    assert [corner for corner in stroke.split() if not corner.endswith(",100")] == ["179,0"]
    assert use.numbers["cells"][0][358:360] == "rs", "100.0 % in base 36"


def test_a_span_without_samples_draws_nothing_and_says_so() -> None:
    use, _ = lanes_of(samples([[5.0, 6.0]], at_s=[0.0, 50.0]), Span(10.0, 20.0, 50.0))
    assert use.lanes[0].strokes == ()
    assert use.summary == "GPU use of 1 GPU on nid005123, 10 s to 20 s: not measured."
    assert use.rows == (("GPU 0", "–", "–", "–", "0", "0"),)


@pytest.mark.parametrize(
    ("high", "columns", "strokes"),
    [
        # A gap between samples: two strokes, the second of one column.
        ([50.0, NAN, 50.0], [0, 1, 2], ("0,50 1,50 1,50 0,50", "2,50 3,50 3,50 2,50")),
        # No tick in the middle, as when one looks closer than the samples lie: one stroke.
        ([50.0, NAN, 50.0], [0, 2], ("0,50 2,50 3,50 3,50 2,50 0,50",)),
        ([NAN, NAN, NAN], [0, 1, 2], ()),
    ],
)
def test_lines_break_where_samples_are_missing_and_not_between_them(high, columns, strokes) -> None:
    values = np.array(high)
    assert strokes_of(values, values, np.array(columns), 5, 100.0) == strokes


def test_lines_break_where_the_collector_stood_still() -> None:
    at_s = [*range(100), *range(200, 300)]
    use, _ = lanes_of(samples([[50.0] * 200], at_s=at_s), Span(0.0, 300.0, 300.0))
    assert len(use.lanes[0].strokes) == 2


def test_memory_above_what_a_packed_number_holds_is_read_in_whole_gb() -> None:
    _, small = lanes_of(samples([[1.0, 2.0]], mem_gb=63.9), Span(0.0, 1.0, 1.0))
    _, large = lanes_of(samples([[1.0, 2.0]], mem_gb=190.0), Span(0.0, 1.0, 1.0))
    assert (small.numbers["unit"], small.numbers["parts"], small.scale) == (" GB", 10, "Each lane is 0 to 80 GB.")
    # 639 tenths are 17 * 36 + 27, 190 are 5 * 36 + 10.
    assert (small.numbers["cells"][0][:2], large.numbers["cells"][0][:2]) == ("hr", "5a")
    assert large.numbers["parts"] == 1


def test_many_gpus_get_fewer_columns_and_a_table_names_each() -> None:
    few, many = (lanes_of(samples([[5.0, NAN, 15.0]] * gpus), Span(0.0, 2.0, 2.0))[0] for gpus in (8, 64))
    assert (few.columns, many.columns) == (COLUMNS_MAX, 60)
    assert many.rows[63] == ("GPU 63", "5.0 %", "10.0 %", "15.0 %", "2", "1")
    assert few.summary == "GPU use of 8 GPUs on nid005123, 0 s to 2 s: between 5.0 and 15.0 %."


def test_an_address_without_sense_shows_the_whole_window() -> None:
    whole = Span(0.0, 600.0, 600.0)
    for query in (
        {},
        {"from": "x"},
        {"from": "inf", "to": "nan"},
        {"from": "90", "to": "30"},
        {"from": "-5", "to": "1e9"},
    ):
        assert asked_span(query, 600.0) == whole, query


def test_a_span_stays_within_the_window_and_is_a_second_at_least() -> None:
    assert asked_span({"from": "599.9", "to": "700"}, 600.0) == Span(599.0, 600.0, 600.0)
    assert asked_span({"from": "10", "to": "10.2"}, 600.0) == Span(9.6, 10.6, 600.0)


def test_the_ways_on_halve_double_and_move_a_span() -> None:
    ways = {name: (way.from_s, way.to_s) for name, way in zooms(Span(100.0, 200.0, 600.0)).items()}
    assert ways == {
        "Zoom in": (125.0, 175.0),
        "Zoom out": (50.0, 250.0),
        "Earlier": (50.0, 150.0),
        "Later": (150.0, 250.0),
        "Whole window": (0.0, 600.0),
    }
    assert [(part.from_s, part.to_s) for part in parts(Span(0.0, 60.0, 600.0))][:2] == [(0.0, 10.0), (10.0, 20.0)]
    assert parts(Span(0.0, 5.9, 600.0)) == [], "no part would last a second"
