"""GPU-hours of projects as directories write them, and how far they are used against their time."""

from __future__ import annotations

from datetime import date

import pytest

from jobs.allocations import (
    AllocatedHours,
    AllocationFormatError,
    of_csv_cells,
    of_project_file,
    of_waldur_resource,
    pace_of,
)

BEGIN, END = date(2026, 1, 1), date(2026, 4, 11)  # 100 days


def pace(used: float | None, day: date, gpu_hours: float = 1000.0):
    return pace_of(AllocatedHours(gpu_hours, used, BEGIN, END), day)


@pytest.mark.parametrize(
    ("used", "word", "runs_out_on"),
    [
        (400.0, "even", None),  # as much as the time
        (500.0, "even", date(2026, 3, 22)),  # 10 points ahead; 40 days for half of it, so 80 for all
        (501.0, "faster", date(2026, 3, 21)),  # 40 / 0.501 = 79.8 days
        (299.0, "slower", None),
        (1131.0, "faster", None),  # nothing is left to run out
        (0.0, "slower", None),
    ],
)
def test_forty_of_a_hundred_days(used: float, word: str, runs_out_on: date | None) -> None:
    found = pace(used, date(2026, 2, 10))
    assert found.time_fraction == pytest.approx(0.4)
    assert (found.used_fraction, found.word, found.runs_out_on) == (pytest.approx(used / 1000), word, runs_out_on)


def test_the_first_tenth_of_the_time_says_nothing_of_the_pace() -> None:
    assert pace(300.0, date(2026, 1, 10)).word == ""
    assert pace(300.0, date(2026, 1, 11)).word == "faster"


def test_no_pace_without_use_without_hours_without_a_period_and_outside_it() -> None:
    assert pace(None, date(2026, 2, 10)) is None
    assert pace(10.0, date(2026, 2, 10), gpu_hours=0.0) is None
    assert pace(10.0, date(2025, 12, 31)) is None
    assert pace(10.0, date(2026, 4, 12)) is None
    assert pace_of(AllocatedHours(10, 1, None, END), BEGIN) is None
    assert pace_of(AllocatedHours(10, 1, BEGIN, BEGIN), BEGIN) is None


def test_a_project_file_of_lumi() -> None:
    billing = {"cpu_hours": {"alloc": 5, "used": 1}, "gpu_hours": {"alloc": 10_000, "used": 11_308}}
    dates = {"open_date": "20251031225126Z", "end_date": "20261031050000Z", "closed_date": "20270129050000Z"}
    assert of_project_file({"billing": billing, **dates}) == AllocatedHours(
        10_000.0, 11_308.0, date(2025, 10, 31), date(2026, 10, 31)
    )
    assert of_project_file({"billing": {"gpu_hours": {"alloc": 0}}}) == AllocatedHours(0.0)
    for without in ({}, {"billing": None}, {"billing": {"cpu_hours": {"alloc": 1, "used": 1}}}):
        assert of_project_file(without) is None


def test_a_resource_of_waldur() -> None:
    resource = {"limits": {"cpu_k_hours": 1, "gpu_hours": 500, "gb_k_hours": 30}, "end_date": "2027-01-31"}
    assert of_waldur_resource(resource) == AllocatedHours(500.0, ends_on=date(2027, 1, 31))
    assert of_waldur_resource({"limits": {"cpu_k_hours": 1}}) is None
    assert of_waldur_resource({}) is None


def cells(**given: str) -> dict[str, str]:
    return dict.fromkeys(("gpu_hours", "used_gpu_hours", "begins_on", "ends_on"), "") | given


def test_cells_of_a_csv() -> None:
    assert of_csv_cells(cells(gpu_hours="1000")) == AllocatedHours(1000.0)
    assert of_csv_cells(cells(gpu_hours="1e3", used_gpu_hours="0", ends_on="2026-12-31")) == AllocatedHours(
        1000.0, 0.0, ends_on=date(2026, 12, 31)
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"gpu_hours": "much"}, "gpu_hours 'much' is not a number of GPU-hours"),
        ({"gpu_hours": "-1"}, "gpu_hours '-1'"),
        ({"gpu_hours": "nan"}, "gpu_hours 'nan'"),
        ({"gpu_hours": "1", "used_gpu_hours": "inf"}, "used_gpu_hours 'inf'"),
        ({"gpu_hours": "1", "ends_on": "31.12.2026"}, "ends_on '31.12.2026' is not a date"),
    ],
)
def test_what_is_no_number_or_no_day_is_named(given: dict[str, str], why: str) -> None:
    with pytest.raises(AllocationFormatError, match=why):
        of_csv_cells(cells(**given))


@pytest.mark.parametrize("alloc", [None, True, [], {}, 10**400, "x"])
def test_no_hostile_figure_of_a_project_file_passes(alloc: object) -> None:
    with pytest.raises(AllocationFormatError, match=r"alloc .* is not a number"):
        of_project_file({"billing": {"gpu_hours": {"alloc": alloc}}})
