"""Months of practices from real runs: what is stored, once, and which works wait for the next month."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import partial

import pytest
from django.core.management import call_command

from analysis.models import ClosedMonth
from analysis.practices.selectors import closed_months, shown_mistakes, shown_practices
from jobs.expiry.services import forget_runs
from jobs.models import Job
from tests.analysis.practices.works import NOW, close, store_person
from tests.steps import often_celery, often_local

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

OCTOBER = datetime(2026, 10, 10, 12, 0, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 5, 12, 0, tzinfo=UTC)


def test_what_six_people_did_is_stored_once_and_stays_whoever_leaves() -> None:
    for number in range(6):
        store_person(number)
    assert (close(), close()) == (1, 0)
    advised, half = (each.figures for each in shown_practices(closed_months()))
    # 1.00 1.02 1.04 1.06 1.08 1.10 times two hours: the median is 1.05. 2 GPUs bill 2.1 of 8 GPU-hours: -73.75 %.
    assert (advised.kind, advised.followed, advised.answered, advised.people) == ("gpus", 6, 6, 6)
    assert (advised.compared, advised.run_time_percent, advised.gpu_hours_percent) == (6, 5, -74)
    assert (advised.failed_percent, advised.since) == (0, "2025-10-01")
    # From 8 GPUs for two hours (8 GPU-hours) to 4 for three (6): 50 % longer, 25 % fewer hours.
    assert (half.kind, half.followed, half.people, half.answered) == ("half_the_gpus", 6, 6, None)
    assert (half.run_time_percent, half.gpu_hours_percent) == (50, -25)
    day, rows = shown_mistakes(closed_months()) or (None, [])
    found = {row.code: row for row in rows}["parallelism_mismatch"]
    # Six of twelve works; each left 8 GPU-hours at 22 % unused: 6.24, in steps of 1.
    assert (day, found.works, found.of_works, found.people) == (date(2026, 9, 1), 6, 12, 6)
    assert found.unused_gpu_hours == 6.0
    before = list(ClosedMonth.objects.filter(kind="practices").values("first_day", "figures"))
    forget_runs(Job.objects.all())
    assert close() == 0
    assert list(ClosedMonth.objects.filter(kind="practices").values("first_day", "figures")) == before
    assert not any(word in str(before) for word in ("person", "project_", "gmx_md", "train_vit"))


def test_what_four_people_did_waits_until_there_are_five_and_is_counted_once() -> None:
    for number in range(4):
        store_person(number, scaled="")
    close()
    assert shown_practices(closed_months()) == []
    store_person(4, OCTOBER, scaled="")
    assert close(DECEMBER) == 1
    assert [(each.figures.followed, each.figures.since, each.until) for each in shown_practices(closed_months())] == [
        (5, "2025-11-01", date(2026, 10, 1))
    ]
    for number in range(5, 10):
        store_person(number, datetime(2026, 11, 8, tzinfo=UTC), scaled="")
    close(datetime(2027, 1, 5, tzinfo=UTC))
    assert [(day.month, [(row.since, row.followed) for row in month.practices]) for day, month in closed_months()] == [
        (11, [("2026-11-01", 5)]),
        (10, [("2025-11-01", 5)]),
        (9, []),
    ]


def test_two_programs_are_told_apart_where_each_has_enough_people() -> None:
    for number in range(5):
        store_person(number, advised="gmx_md", scaled="")
    for number in range(5, 10):
        store_person(number, advised="cp2k_water", scaled="")
    close()
    gpus = [each.figures for each in shown_practices(closed_months()) if each.figures.kind == "gpus"]
    assert {(row.program, row.followed) for row in gpus} == {("", 10), ("GROMACS", 5), ("CP2K", 5)}


@pytest.mark.parametrize("sweep", [often_local, often_celery, partial(call_command, "close_months", verbosity=0)])
def test_workers_and_the_command_close_the_months_of_practices(sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    ClosedMonth.objects.create(kind="advice", first_day=date(2026, 9, 1), figures=[], closed_at=NOW)
    sweep()
    assert ClosedMonth.objects.filter(kind="practices", first_day=date(2026, 9, 1)).exists()
