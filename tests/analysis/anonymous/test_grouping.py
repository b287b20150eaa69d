"""Rows hide everybody in them: five people, five projects, nobody with nearly all of it, no shared secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from analysis.anonymous.bands import COLUMNS, Run
from analysis.anonymous.grouping import Anonymised, anonymised

SECRET = b"of this test alone"
RUN = Run(
    person=1,
    project=1,
    gpu_hours=10.0,
    program="gromacs",
    science_field="Physics",
    gpu="AMD MI250X GCD",
    partition_type="shared",
    gpus=8,
    run_time_h=2.0,
    state="COMPLETED",
    efficiency_class="WASTED",
    gpu_use_percent=8.0,
    gpu_memory_percent=30.0,
)


def people(first: int, count: int, **more: object) -> Iterator[Run]:
    """One run of each of some people, each in a project of their own."""
    return (replace(RUN, person=number, project=number, **more) for number in range(first, first + count))  # type: ignore[arg-type]


def stated(made: Anonymised, *columns: str) -> Counter[tuple[str, ...]]:
    """How many rows have which values in these columns."""
    places = [COLUMNS.index(column) for column in columns]
    return Counter(tuple(row.values[place] for place in places) for row in made.rows)


def test_five_people_with_two_classes_between_them_keep_their_finest_values() -> None:
    made = anonymised([*people(1, 5), *people(6, 5, efficiency_class="EFFICIENT", gpu_use_percent=90.0)], SECRET)
    assert stated(made, "gpus", "run_time_h", "efficiency_class", "gpu_use_percent") == {
        ("5-8", "1-4", "WASTED", "5-15"): 5,
        ("5-8", "1-4", "EFFICIENT", "85-100"): 5,
    }
    assert made.withheld == {}


def test_a_class_that_everybody_with_the_same_work_has_is_not_stated() -> None:
    made = anonymised(people(1, 9), SECRET)
    assert stated(made, "efficiency_class", "gpu_use_percent") == {("any", "any"): 9}


def test_six_of_seven_are_nearly_all_and_five_of_six_are_not() -> None:
    # 30 of 35 are 85.7 %, more than 85 %: neither class is stated. 25 of 30 are 83.3 %.
    other = {"efficiency_class": "EFFICIENT", "gpu_use_percent": 90.0}
    assert stated(anonymised([*people(1, 30), *people(31, 5, **other)], SECRET), "efficiency_class") == {("any",): 35}
    made = anonymised([*people(1, 25), *people(31, 5, **other)], SECRET)
    assert stated(made, "efficiency_class") == {("WASTED",): 25, ("EFFICIENT",): 5}


def test_four_people_are_withheld_and_counted() -> None:
    made = anonymised(people(1, 4), SECRET)
    assert (made.rows, made.withheld) == ((), {"few_people": 4})


def test_five_people_of_four_projects_are_withheld() -> None:
    runs = [*people(1, 4), replace(RUN, person=5, project=4)]
    assert anonymised(runs, SECRET).withheld == {"few_projects": 5}


def test_people_of_whom_most_are_in_one_project_are_withheld() -> None:
    # Nine people; project 1 has five of them, more than half.
    runs = [*(replace(RUN, person=number, project=1) for number in range(1, 6)), *people(6, 4)]
    assert anonymised(runs, SECRET).withheld == {"one_project": 9}


def test_a_person_with_more_than_85_percent_of_the_hours_is_withheld_with_the_rest() -> None:
    # 230 of 270 hours are 85.2 %, 220 of 260 are 84.6 %.
    assert anonymised([*people(1, 4), replace(RUN, person=5, project=5, gpu_hours=230.0)], SECRET).withheld == {
        "one_person": 5
    }
    made = anonymised([*people(1, 4), replace(RUN, person=5, project=5, gpu_hours=220.0)], SECRET)
    assert (len(made.rows), made.withheld) == (5, {})


def test_a_person_has_one_row_in_a_group_however_many_runs() -> None:
    made = anonymised([*people(1, 5), *(replace(RUN, gpu_hours=0.1) for _ in range(400))], SECRET)
    assert len(made.rows) == 5


def test_rare_programs_are_merged_and_rare_sizes_become_coarser() -> None:
    usual = [*people(1, 10, efficiency_class="UNKNOWN"), *people(11, 10, program="cp2k", efficiency_class="UNKNOWN")]
    rare = [
        *people(21, 3, program="alphafold", efficiency_class="UNKNOWN"),
        *people(24, 3, program="icon", efficiency_class="UNKNOWN"),
    ]
    assert stated(anonymised([*usual, *rare], SECRET), "program") == {("gromacs",): 10, ("cp2k",): 10, ("other",): 6}
    sizes = [*people(1, 3, gpus=2, efficiency_class="UNKNOWN"), *people(4, 3, gpus=8, efficiency_class="UNKNOWN")]
    assert stated(anonymised(sizes, SECRET), "gpus") == {("2-8",): 6}


def test_no_key_is_used_twice_and_another_secret_gives_others() -> None:
    runs = [*people(1, 5), *people(1, 5, gpus=64, efficiency_class="UNKNOWN")]
    first, second = (anonymised(runs, secret) for secret in (b"one", b"two"))
    keys = [row.key for made in (first, second) for row in made.rows]
    assert len(set(keys)) == len(keys) == 20


def test_the_order_of_the_rows_is_not_that_of_the_runs() -> None:
    """Rows in the order of names or of first runs would say who is who; keys are drawn by the secret alone."""
    orders = {
        tuple(row.owner for row in anonymised(people(1, 6), secret).rows) for secret in (b"one", b"two", b"three")
    }
    assert len(orders) == 3
    forwards, backwards = anonymised(people(1, 6), b"one"), anonymised(reversed(list(people(1, 6))), b"one")
    assert forwards.rows == backwards.rows


def test_a_month_without_runs_has_no_row() -> None:
    assert anonymised([], SECRET) == Anonymised((), {})


def test_a_value_that_most_have_from_one_project_is_not_merged() -> None:
    """Six people each ran once in a project of their own, and with three GPUs in that of the first."""
    runs = [*people(1, 6, efficiency_class="UNKNOWN"), *people(1, 6, efficiency_class="UNKNOWN", gpus=3)]
    runs = [replace(run, project=1) if run.gpus == 3 else run for run in runs]
    made = anonymised(runs, SECRET)
    assert stated(made, "program", "gpus") == {("gromacs", "5-8"): 6}
    assert made.withheld == {"few_projects": 6}
