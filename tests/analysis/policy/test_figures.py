"""The rows of the policy export, by hand: a project of five people, users in bands and the suggestion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.history.run_sums import ClassSums, RunSums
from analysis.policy.bands import banded, lower_bound
from analysis.policy.figures import FIGURES, project_figures, user_figures, whole_steps, without_classes
from analysis.policy.keys import user_key
from analysis.policy.suggestion import multiplier, score_range_percent
from analysis.policy.sums import NAMES, PLACE, PolicySums, of_day
from analysis.site.suppression import Withheld, nice_step, rounded


def person(**values: float) -> PolicySums:
    """Sums of one person; the measured part is everything where nothing else is given."""
    row = np.zeros(len(NAMES))
    values = {"measured": values.get("gpu_hours", 0.0)} | values
    for name, value in values.items():
        row[PLACE[name]] = value
    return row


def low(hours: float = 100.0, jobs: int = 10, **values: float) -> PolicySums:
    """A person whose runs are all of the class Inefficient, at a use of a quarter."""
    given = {
        "jobs": jobs, "gpu_hours": hours, "unused": 0.75 * hours, "used": 0.25 * hours, "advice": 0.5 * hours,
        "gpu_hours_inefficient": hours, "jobs_inefficient": jobs,
    }  # fmt: skip
    return person(**given | values)


def test_a_project_of_five_equal_people() -> None:
    # 5 x 100 GPU-hours; the step is a fifth of the largest person, 20. 125 used is 120, 375 unused is 380 (37.5 halves,
    # to the even 18.75 -> 19 steps), 250 that advice could win is 240 (12.5 steps, to the even 12).
    found = project_figures(np.stack([low()] * 5), flag=False)
    assert found == {
        "withheld_columns": [],
        "withheld_columns_reason": None,
        "jobs": 50,
        "gpu_hours": 500.0,
        "efficiency_score": 24.0,
        "unused_gpu_hours": 380.0,
        "advice_gpu_hours": 240.0,
        "advice_fraction": 0.48,
        "classes_by_gpu_hours": {
            "efficient": 0.0, "acceptable": 0.0, "inefficient": 1.0, "wasted": 0.0, "unknown": 0.0,
        },
        "classes_by_jobs": {"efficient": 0.0, "acceptable": 0.0, "inefficient": 1.0, "wasted": 0.0, "unknown": 0.0},
        "flag": False,
        "coverage_fraction": 1.0,
        "followed_runs": 0,
        "followed_gpu_hours": 0.0,
        # 24 % is 16 of 40 points below Acceptable: 1 - 0.2 * 0.4.
        "suggested_multiplier": 0.92,
    }  # fmt: skip
    assert tuple(found) == FIGURES


def test_score_and_unused_hours_of_a_row_fit_each_other() -> None:
    # One person of 510 GPU-hours, five of 100: the step is 200. 700 used is 800, 310 unused is 400: 800 of 1,200.
    people = [
        person(jobs=10, gpu_hours=510.0, used=300.0, unused=210.0),
        *[person(jobs=10, gpu_hours=100.0, used=80.0, unused=20.0)] * 5,
    ]
    found = project_figures(np.stack(people), flag=False)
    assert (found["gpu_hours"], found["unused_gpu_hours"], found["efficiency_score"]) == (1000.0, 400.0, 67.0)
    assert found["suggested_multiplier"] == 1.0


@pytest.mark.parametrize(
    ("people", "why"),
    [
        ([low()] * 4, Withheld.FEW_PEOPLE),
        # 8,501 of 10,001 hours, and 8,499 of 9,999.
        ([low(8501.0), *[low(375.0)] * 4], Withheld.ONE_PERSON),
        # The others have 4 x 100; without the two who pool what they know 200: 2 % of the largest.
        ([low(2200.0), *[low(100.0)] * 4], Withheld.PEOPLE_TOGETHER),
    ],
)
def test_a_project_of_few_people_or_of_one_large_one_is_withheld(people: list[PolicySums], why: Withheld) -> None:
    assert project_figures(np.stack(people), flag=False) == why


def test_a_column_to_which_one_person_contributes_is_withheld_alone() -> None:
    followed = low(followed_runs=4, followed_gpu_hours=80.0)
    found = project_figures(np.stack([followed, *[low()] * 4]), flag=False)
    assert not isinstance(found, Withheld)
    assert found["withheld_columns"] == ["followed_runs", "followed_gpu_hours"]
    assert found["withheld_columns_reason"] == "group_rule"
    assert (found["followed_runs"], found["followed_gpu_hours"], found["gpu_hours"]) == (None, None, 500.0)


def test_classes_in_which_one_person_has_everything_are_withheld_with_all_other_classes() -> None:
    wasted = low(gpu_hours_inefficient=0.0, gpu_hours_wasted=100.0, jobs_inefficient=0, jobs_wasted=10)
    found = project_figures(np.stack([wasted, *[low()] * 5]), flag=False)
    assert not isinstance(found, Withheld)
    assert found["withheld_columns"] == ["classes_by_gpu_hours", "classes_by_jobs"]
    assert without_classes(found) == found
    plain = project_figures(np.stack([low()] * 5), flag=False)
    assert without_classes(plain)["withheld_columns"] == ["classes_by_gpu_hours", "classes_by_jobs"]
    assert without_classes(plain)["classes_by_jobs"] is None


@pytest.mark.parametrize(("flag", "hidden"), [(True, []), (False, []), (None, ["flag"])])
def test_the_flag_of_a_project_is_as_given_and_withheld_alone(flag: bool | None, hidden: list[str]) -> None:
    found = project_figures(np.stack([low()] * 5), flag)
    assert not isinstance(found, Withheld)
    assert (found["flag"], found["withheld_columns"], found["gpu_hours"]) == (flag, hidden, 500.0)


def test_each_user_has_the_own_flag() -> None:
    rows = [low(hours) for hours in (100.0, 110.0, 120.0, 130.0, 140.0)]
    found = user_figures(np.stack(rows), [False, True, False, False, True])
    assert isinstance(found, list)
    assert [row["flag"] for row in found] == [False, True, False, False, True]


def test_a_user_has_the_amounts_of_a_band_and_own_shares() -> None:
    # 130 and 190 GPU-hours are both of the band from 100, 12 to 19 jobs of the band from 10.
    rows = [low(hours, jobs) for hours, jobs in ((130.0, 12), (190.0, 19), (100.0, 10), (150.0, 15), (199.9, 11))]
    found = user_figures(np.stack(rows), [False] * len(rows))
    assert isinstance(found, list)
    assert [(row["gpu_hours"], row["jobs"]) for row in found] == [(100.0, 10)] * 5
    assert (found[0]["efficiency_score"], found[0]["unused_gpu_hours"], found[0]["advice_fraction"]) == (
        25.0,
        75.0,
        0.5,
    )
    # 25 % is 15 of 40 points below Acceptable: 1 - 0.2 * 0.375 = 0.925.
    assert found[0]["suggested_multiplier"] == 0.93
    assert user_figures(np.stack(rows[:4]), [False] * 4) == Withheld.FEW_PEOPLE


def test_the_shares_of_a_user_do_not_reveal_the_number_of_jobs() -> None:
    # 7 of 15 jobs are 0.467, as 47 of 100 would be; with one digit as many of 2 to 20 jobs.
    row = low(100.0, 15, gpu_hours_inefficient=53.0, gpu_hours_wasted=47.0, jobs_inefficient=8, jobs_wasted=7)
    found = user_figures(np.stack([row] * 5), [False] * 5)
    assert isinstance(found, list)
    for name in ("classes_by_jobs", "classes_by_gpu_hours"):
        assert (found[0][name]["inefficient"], found[0][name]["wasted"]) == (0.5, 0.5)


def test_nothing_measured_suggests_nothing_and_has_no_score() -> None:
    rows = [person(gpu_hours=100.0, measured=0.0, jobs=10, gpu_hours_unknown=100.0, jobs_unknown=10)] * 5
    found = user_figures(np.stack(rows), [False] * len(rows))
    assert isinstance(found, list)
    assert (found[0]["efficiency_score"], found[0]["coverage_fraction"], found[0]["suggested_multiplier"]) == (
        None,
        0.0,
        1.0,
    )


def test_a_user_with_fewer_than_five_jobs_shows_no_figure_of_a_job() -> None:
    # Five users of 1 to 4 jobs share the band from 1, five of 5 to 9 jobs that from 5; all have some 100 GPU-hours.
    rows = [low(120.0, jobs, followed_runs=1, followed_gpu_hours=8.0) for jobs in (1, 2, 3, 4, 4)]
    rows += [low(120.0, jobs) for jobs in (5, 6, 7, 8, 9)]
    found = user_figures(np.stack(rows), [True] * len(rows))
    assert isinstance(found, list)
    hidden = [
        "efficiency_score", "unused_gpu_hours", "advice_gpu_hours", "advice_fraction", "classes_by_gpu_hours",
        "classes_by_jobs", "coverage_fraction", "followed_runs", "followed_gpu_hours",
    ]  # fmt: skip
    for row in found[:5]:
        assert {name for name, value in row.items() if value is None} == set(hidden)
        assert (row["withheld_columns"], row["withheld_columns_reason"]) == (hidden, "few_jobs")
        assert (row["jobs"], row["gpu_hours"], row["flag"], row["suggested_multiplier"]) == (1, 100.0, True, 1.0)
        assert tuple(row) == FIGURES
    for row in found[5:]:
        assert (row["withheld_columns"], row["withheld_columns_reason"]) == ([], None)
        assert (row["jobs"], row["efficiency_score"], row["unused_gpu_hours"]) == (5, 25.0, 75.0)


def test_of_a_band_of_few_jobs_nobody_stands_out_by_a_figure() -> None:
    # Four users of 1 job and one of 20 share the band from 1: the score of the one would find this person.
    found = user_figures(np.stack([*[low(120.0, 1)] * 4, low(120.0, 20)]), [False] * 5)
    assert isinstance(found, list)
    assert [row["jobs"] for row in found] == [1] * 5
    assert {row["efficiency_score"] for row in found} == {None}


def test_the_shares_of_a_row_add_up() -> None:
    # Thirds of a user are 3.33 tenths each, the first gets the tenth that is left; rounded alone they are 90 %. Shares
    # of 0.15, 0.25, 0.25 and 0.35 rounded alone are 0.2, 0.2, 0.2 and 0.4 (or 110 % with halves rounded up).
    assert whole_steps([1.0, 1.0, 1.0], 10) == [4, 3, 3]
    assert whole_steps([15.0, 25.0, 25.0, 35.0], 10) == [2, 3, 2, 3]
    classes = ("efficient", "acceptable", "wasted")
    row = low(99.0, 9, gpu_hours_inefficient=0.0, jobs_inefficient=0) + sum(
        person(**{f"gpu_hours_{name}": 33.0, f"jobs_{name}": 3, "measured": 0.0}) for name in classes
    )
    found = user_figures(np.stack([row] * 5), [False] * 5)
    assert isinstance(found, list)
    for name in ("classes_by_jobs", "classes_by_gpu_hours"):
        assert list(found[0][name].values()) == [0.4, 0.3, 0.0, 0.3, 0.0]
    project = project_figures(np.stack([row] * 5), flag=False)
    assert not isinstance(project, Withheld)
    assert list(project["classes_by_jobs"].values()) == [0.34, 0.33, 0.0, 0.33, 0.0]


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=5).filter(sum), st.sampled_from([10, 100]))
def test_every_share_is_rounded_down_or_up_and_all_add_up(values: list[float], steps: int) -> None:
    found = whole_steps(values, steps)
    assert sum(found) == steps
    assert all(abs(each - value / sum(values) * steps) < 1 + 1e-9 for each, value in zip(found, values, strict=True))


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=60))
@settings(max_examples=100)
def test_every_amount_of_users_is_shared_by_five_and_at_most_the_own(values: list[float]) -> None:
    found = banded(values)
    assert all(found.count(band) >= 5 for band in found)
    assert all(band <= value for band, value in zip(found, values, strict=True))


def test_users_with_too_few_jobs_for_a_suggestion_do_not_hide_the_jobs_of_others() -> None:
    # Five users of 1 job and five of 10 to 14, all of some 100 GPU-hours: the bands of each five.
    rows = [low(110.0, 1)] * 5 + [low(140.0, jobs) for jobs in (10, 11, 12, 13, 14)]
    found = user_figures(np.stack(rows), [False] * len(rows))
    assert isinstance(found, list)
    assert [(row["jobs"], row["suggested_multiplier"]) for row in found] == [(1, 1.0)] * 5 + [(10, 0.93)] * 5
    # With four of one job they cannot stand alone, and nothing is suggested.
    merged = user_figures(np.stack(rows[1:]), [False] * len(rows[1:]))
    assert isinstance(merged, list)
    assert {(row["jobs"], row["suggested_multiplier"]) for row in merged} == {(1, 1.0)}


def test_the_largest_users_cannot_be_found_by_their_size() -> None:
    # Three of 50,000 and four of 10,000: the three alone would be recognised.
    assert banded([50_000.0] * 3 + [10_000.0] * 4) == [10_000.0] * 7
    # Two of 3 are too few below ten of 100, and take these along.
    assert banded([100.0] * 10 + [3.0] * 2) == [2.0] * 12
    assert [lower_bound(value) for value in (0.0, 0.99, 1.0, 4.99, 5.0, 9999.0)] == [0.0, 0.0, 1.0, 2.0, 5.0, 5000.0]


@pytest.mark.parametrize(
    ("score", "coverage", "jobs", "expected"),
    [
        (40.0, 1.0, 100, 1.0), (70.0, 1.0, 100, 1.0), (55.0, 1.0, 100, 1.0),  # Acceptable
        (0.0, 1.0, 100, 0.8), (100.0, 1.0, 100, 1.2), (20.0, 1.0, 100, 0.9), (85.0, 1.0, 100, 1.1),
        (0.0, 0.8, 100, 0.84), (0.0, 0.79, 100, 1.0), (100.0, 0.5, 100, 1.1),  # measured in part
        (None, 0.0, 100, 1.0), (0.0, 1.0, 4, 1.0), (0.0, 1.0, 5, 0.8), (0.0, 1.0, None, 0.8),
    ],
)  # fmt: skip
def test_the_suggestion(score: float | None, coverage: float, jobs: int | None, expected: float) -> None:
    assert multiplier(score, coverage, jobs) == expected


def test_what_rounding_alone_moved_out_of_acceptable_suggests_nothing() -> None:
    # 290 used of 610 are 47.5 %. One person has 510, so the step is 200: 290 is shown as 200, 320 unused as 400, a
    # score of 33 %. It may have been 100 of 600 to 300 of 600: 16.7 % to 50 %.
    people = [
        person(jobs=10, gpu_hours=510.0, used=240.0, unused=270.0),
        *[person(jobs=10, gpu_hours=20.0, used=10.0, unused=10.0)] * 5,
    ]
    found = project_figures(np.stack(people), flag=False)
    assert (found["unused_gpu_hours"], found["efficiency_score"]) == (400.0, 33.0)
    assert found["suggested_multiplier"] == 1.0


@pytest.mark.parametrize(
    ("score", "least", "most", "expected"),
    [
        (38.0, 36.0, 39.99, 0.99), (38.0, 36.0, 40.0, 1.0),  # up to the edge
        (79.0, 70.01, 88.0, 1.06), (79.0, 70.0, 88.0, 1.0),
        (55.0, 20.0, 90.0, 1.0), (30.0, 20.0, 75.0, 1.0),  # on both sides
        (0.0, 0.0, 5.0, 0.8), (100.0, 95.0, 100.0, 1.2),
    ],
)  # fmt: skip
def test_the_whole_range_of_a_score_lies_outside_or_nothing_is_suggested(
    score: float, least: float, most: float, expected: float
) -> None:
    assert multiplier(score, 1.0, 100, (least, most)) == expected


@given(st.floats(0.1, 1e6), st.floats(40, 70) | st.sampled_from([40.0, 70.0]), st.floats(1e-3, 1e6))
@settings(max_examples=300)
def test_nobody_who_is_acceptable_gets_another_multiplier_by_rounding(hours: float, use: float, least: float) -> None:
    step = nice_step(least)
    used, unused = (rounded(each, step) for each in (hours * use / 100, hours * (100 - use) / 100))
    lowest, highest = score_range_percent(used, unused, step)
    assert lowest <= use + 1e-6
    assert use - 1e-6 <= highest
    for shown in (0.0, 39.0, 71.0, 100.0):
        assert multiplier(shown, 1.0, 100, (lowest, highest)) == 1.0


@given(
    st.lists(st.tuples(st.floats(1.0, 1000.0), st.floats(0.0, 1.0)), min_size=5, max_size=12), st.floats(0.401, 0.699)
)
@settings(max_examples=200)
def test_no_project_that_is_acceptable_gets_another_multiplier(
    people: list[tuple[float, float]], wanted: float
) -> None:
    # Everybody's use is moved towards all or nothing until that of the project is the wanted one.
    hours, use = (np.array(each) for each in zip(*people, strict=True))
    mean = float((hours * use).sum() / hours.sum())
    use = use * wanted / mean if mean > wanted else 1 - (1 - use) * (1 - wanted) / (1 - mean)
    rows = [
        person(jobs=10, gpu_hours=each, used=each * part, unused=each * (1 - part))
        for each, part in zip(hours, use, strict=True)
    ]
    found = project_figures(np.stack(rows), flag=False)
    assert isinstance(found, Withheld) or found["suggested_multiplier"] == 1.0


def test_the_sums_of_a_day() -> None:
    classes = {"EFFICIENT": ClassSums(2, 30.0, 6.0, 0.0), "WASTED": ClassSums(1, 10.0, 9.0, 8.0)}
    row = of_day(RunSums(classes=classes, uncounted_jobs=7, measured_gpu_hours=40.0, used_gpu_hours=25.0))
    assert {name: row[PLACE[name]] for name in NAMES if row[PLACE[name]]} == {
        "jobs": 3, "gpu_hours": 40.0, "unused": 15.0, "advice": 8.0, "measured": 40.0, "used": 25.0,
        "gpu_hours_efficient": 30.0, "gpu_hours_wasted": 10.0, "jobs_efficient": 2, "jobs_wasted": 1,
    }  # fmt: skip


def test_the_keys_of_two_periods_people_and_sites_differ() -> None:
    keys = {
        user_key(secret, period, user)
        for secret in (b"a", b"b")
        for period in ("2026-10", "2026-11")
        for user in (1, 2)
    }
    assert len(keys) == 8
    assert user_key(b"a", "2026-10", 1) == user_key(b"a", "2026-10", 1)
