"""The list of raised flags: whose are stated, with which key, day and rounded sums, by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from django.conf import settings

from analysis.escalation.rules import Counted, Evidence
from analysis.escalation.services import escalate
from analysis.history.run_sums import ClassSums, RunSums
from analysis.models import Flag, PersonDay, ProjectDay
from analysis.policy.flags.selectors import are_of_enough_people, flag_lines
from analysis.policy.keys import user_key
from analysis.policy.raised import FlagLine, FlagWindow, shown_window
from analysis.rollups.services import roll_up_due
from jobs.models import Project, User
from tests.analysis.escalation.test_flags import NOW, run

PROJECT, OTHER = "project_465000001", "project_465000002"
PEOPLE = ("alice", "bob", "carol", "dave", "erin")
RAISED = datetime(2026, 10, 28, 12, 0, tzinfo=UTC)
SEEN = datetime(2026, 11, 4, 12, 0, tzinfo=UTC)
"""When a flag of `RAISED` is visible to staff."""


def day_columns(project: str, day: date, jobs: int, hours: float) -> dict[str, object]:
    """The columns of a day of low use, all of it in the class Wasted."""
    sums = RunSums(classes={"WASTED": ClassSums(jobs, hours, hours, 0.0)}, measured_gpu_hours=hours)
    scalars = {"jobs": jobs, "gpu_hours": hours, "wasted_gpu_hours": hours, "saved_gpu_hours": 0.0}
    return {
        "project": Project.objects.get_or_create(name=project)[0], "day": day, **scalars, "measured_gpu_hours": hours,
        "used_gpu_hours": 0.0, "sums": msgspec.msgpack.encode(sums),
    }  # fmt: skip


def person_day(user: str, project: str, day: date, jobs: int, hours: float) -> None:
    account = User.objects.get_or_create(username=user)[0]
    PersonDay.objects.create(user=account, is_told_by_owner=False, **day_columns(project, day, jobs, hours))


def project_day(project: str, day: date, jobs: int, hours: float) -> None:
    ProjectDay.objects.create(**day_columns(project, day, jobs, hours))


def key_of(user: str, period: str) -> str:
    return user_key(settings.POLICY_KEY_SECRET.encode(), period, User.objects.get(username=user).pk)


@pytest.mark.django_db
def test_users_by_the_key_of_the_month_and_projects_of_five_people_after_the_time_of_grace() -> None:
    day = RAISED.date() - timedelta(days=2)
    # Five people of 4 runs and 30 GPU-hours each: nobody reaches 5 runs, their project 20 runs and 150 GPU-hours.
    for name in PEOPLE:
        person_day(name, PROJECT, day, 4, 30.0)
    project_day(PROJECT, day, 20, 150.0)
    # frank's 7 runs of 130 GPU-hours raise his flag, and that of a project that has nobody else.
    person_day("frank", OTHER, day, 7, 130.0)
    project_day(OTHER, day, 7, 130.0)
    assert escalate(RAISED) == 3
    assert list(flag_lines(SEEN - timedelta(seconds=1))) == []
    frank = FlagLine(
        period="2026-11",
        kind="user",
        key=key_of("frank", "2026-11"),
        raised_on="2026-11-01",
        # 130 GPU-hours are of the band from 100, 7 runs of that from 5.
        window=FlagWindow(days=14, jobs=5, gpu_hours=100.0, unused_gpu_hours=100.0, low_fraction=1.0),
    )
    project = FlagLine(period="2026-11", kind="project", key=PROJECT, raised_on="2026-10-28")
    assert list(flag_lines(SEEN)) == [project, frank]
    Flag.objects.filter(kind="project").update(cleared_at=SEEN)
    assert list(flag_lines(SEEN)) == [frank], "a cleared flag is listed no more"


@pytest.mark.django_db
def test_the_day_of_a_user_is_exact_within_the_month_and_never_before_it(settings) -> None:
    # 22:30 UTC on 3 November is the 4th in Helsinki; the flag is visible on the 11th, and still raised in December.
    settings.TIME_ZONE = "Europe/Helsinki"
    raised = datetime(2026, 11, 3, 22, 30, tzinfo=UTC)
    person_day("alice", PROJECT, date(2026, 11, 3), 5, 80.0)
    escalate(raised)
    november, december = (
        [(line.period, line.raised_on, line.key) for line in flag_lines(raised + timedelta(days=days))]
        for days in (7, 30)
    )
    assert november == [("2026-11", "2026-11-04", key_of("alice", "2026-11"))]
    assert december == [("2026-12", "2026-12-01", key_of("alice", "2026-12"))]


@pytest.mark.django_db
def test_works_are_left_out_and_a_project_until_its_people_are_known() -> None:
    # Five runs of alice alone, 80 GPU-hours of which 64 are unused: her flag, the project's and the work's.
    for number in range(1, 6):
        run(number, 20.0, NOW - number * timedelta(hours=1))
    later = NOW + timedelta(days=7)
    assert escalate(NOW) == 3
    assert not PersonDay.objects.exists()
    shown = [
        (line.kind, line.window and (line.window.gpu_hours, line.window.unused_gpu_hours)) for line in flag_lines(later)
    ]
    assert shown == [("user", (50.0, 50.0))]
    roll_up_due(100, later)
    assert PersonDay.objects.exists()
    assert [line.kind for line in flag_lines(later)] == ["user"], "the project is one person's"


@pytest.mark.django_db
def test_hours_and_unused_hours_of_a_project_are_of_five_people_each() -> None:
    first, last = date(2026, 10, 18), date(2026, 10, 31)
    for name in PEOPLE:
        person_day(name, PROJECT, first, 1, 10.0)
        person_day(name, OTHER, last, 1, 10.0)
    PersonDay.objects.filter(project__name=OTHER, user__username="erin").update(wasted_gpu_hours=0.0)
    projects = {project.name: project.pk for project in Project.objects.all()}
    assert are_of_enough_people(first, last) == {projects[PROJECT]: True, projects[OTHER]: False}
    PersonDay.objects.filter(project__name=OTHER).update(wasted_gpu_hours=0.0)
    assert are_of_enough_people(first, last)[projects[OTHER]], "nothing unused is nobody's"
    assert are_of_enough_people(first + timedelta(days=1), last) == {projects[OTHER]: True}


def test_the_sums_of_a_window_are_rounded() -> None:
    counted = Counted(jobs=7, gpu_hours=130.0, unused_gpu_hours=97.0, low_gpu_hours=84.0)
    evidence = Evidence(counted, date(2026, 11, 1), date(2026, 11, 14), {}, 5, 50.0, "1/2", "1/3")
    # 84 of 130 are 0.646.
    assert shown_window(evidence) == FlagWindow(14, 5, 100.0, 50.0, 0.6)
    nothing = Evidence(Counted(), date(2026, 11, 1), date(2026, 11, 7), {}, 5, 50.0, "1/2", "1/3")
    assert shown_window(nothing) == FlagWindow(7, 0, 0.0, 0.0, 0.0)
