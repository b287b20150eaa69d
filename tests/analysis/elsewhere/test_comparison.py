"""The same kinds of work here and there, by hand."""

from __future__ import annotations

from analysis.anonymous.bands import COLUMNS, Values
from analysis.elsewhere.comparison import Pair, Side, compared

USUAL = {
    **{"program": "gromacs", "science_field": "any", "gpu": "H100", "partition_type": "shared", "gpus": "5-8"},
    **{"run_time_h": "any", "ending": "completed", "efficiency_class": "EFFICIENT", "gpu_use_percent": "any"},
    **{"gpu_memory_percent": "any", "finding": "any"},
}


def values(**changes: str) -> Values:
    return tuple((USUAL | changes)[column] for column in COLUMNS)


def test_groups_are_compared_by_rows_classes_median_use_and_ends() -> None:
    here = {
        values(): 6,
        values(efficiency_class="WASTED", gpu_use_percent="5-15"): 5,
        values(efficiency_class="any", ending="any"): 9,
        values(efficiency_class="WASTED", ending="not_completed"): 5,
    }
    # 6 + 5 + 9 + 5 = 25 rows, of which 16 state a class and an end. By use the eighth of the 16 is in 5-15: five are in
    # 0-15, whose middle is lower, and five in 5-15.
    (pair,) = compared(here, {}, "partition_type")
    classes = {"EFFICIENT": 6, "ACCEPTABLE": 0, "INEFFICIENT": 0, "WASTED": 10}
    assert pair == Pair("shared", Side(25, 16, classes, "5-15", 16, 11), None)


def test_sizes_of_both_sides_meet_in_the_coarser_band() -> None:
    here, there = {values(): 5, values(gpus="2-8"): 6, values(gpus="any"): 7}, {values(gpus="3-4"): 8}
    (pair,) = compared(here, there, "gpus")
    assert (pair.name, pair.here and pair.here.rows, pair.there and pair.there.rows) == ("2-8", 11, 8)


def test_a_side_with_fewer_than_five_rows_is_not_shown() -> None:
    assert compared({values(): 4}, {values(program="cp2k"): 4}, "program") == []
    (pair,) = compared({values(): 4}, {values(): 5}, "program")
    assert (pair.name, pair.here) == ("gromacs", None)


def test_where_no_row_states_a_class_there_is_no_median() -> None:
    (pair,) = compared({values(efficiency_class="UNKNOWN", ending="any"): 5}, {}, "program")
    assert pair.here == Side(5, 0, dict.fromkeys(pair.here.classes, 0), "", 0, 0) if pair.here else False


def test_merged_and_unknown_values_come_last() -> None:
    groups = {values(program=name): 5 for name in ("other", "unknown", "vllm", "cp2k")}
    assert [pair.name for pair in compared(groups, {}, "program")] == ["cp2k", "vllm", "other", "unknown"]
