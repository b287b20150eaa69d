"""The list of raised flags: whose are stated, with which key and day, and that no job changes it alone, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from django.conf import settings

from analysis.escalation.services import escalate
from analysis.history.run_sums import ClassSums, RunSums
from analysis.models import Flag, PersonDay, ProjectDay
from analysis.policy.keys import user_key
from analysis.policy.raised import FlagLine
from analysis.policy.selectors import are_of_enough_people, flag_list
from analysis.rollups.services import roll_up_due
from jobs.models import Project, User
from tests.analysis.escalation.test_flags import NOW, run

PROJECT, OTHER = "project_465000001", "project_465000002"
PEOPLE = ("alice", "bob", "carol", "dave", "erin")
MORE = ("frank", "grace", "heidi", "ivan", "judy")
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


def listed(now: datetime, kind: str = "") -> list[FlagLine]:
    return [line for line in flag_list(now).rows if not kind or line.kind == kind]


def flag_users(day: date, names: Sequence[str] = PEOPLE) -> None:
    """Runs that raise a flag of each of these people, but none of their projects, which have one person each."""
    for name in names:
        person_day(name, OTHER, day, 7, 130.0)


@pytest.mark.django_db
def test_users_by_the_key_of_the_month_and_projects_of_five_people_after_the_time_of_grace() -> None:
    day = RAISED.date() - timedelta(days=2)
    # Five people of 4 runs and 30 GPU-hours each: nobody reaches 5 runs, their project 20 runs and 150 GPU-hours.
    for name in PEOPLE:
        person_day(name, PROJECT, day, 4, 30.0)
    project_day(PROJECT, day, 20, 150.0)
    # Five more people of 7 runs and 130 GPU-hours: their flags, and that of a project that has one of them alone.
    flag_users(day, MORE)
    PersonDay.objects.filter(project__name=OTHER).exclude(user__username="frank").update(
        project=Project.objects.create(name="project_465000003")
    )
    project_day(OTHER, day, 7, 130.0)
    assert escalate(RAISED) == 7
    assert listed(SEEN - timedelta(seconds=1)) == []
    project = FlagLine(period="2026-11", kind="project", key=PROJECT, raised_on="2026-10-28")
    assert listed(SEEN) == [project], "users come with the next week"
    # The flags are visible from Wednesday, 4 November, and listed from Monday, the 9th.
    monday = datetime(2026, 11, 9, tzinfo=UTC)
    users = [
        FlagLine(period="2026-11", kind="user", key=key, raised_on="2026-11-01")
        for key in sorted(key_of(name, "2026-11") for name in MORE)
    ]
    assert listed(monday - timedelta(seconds=1)) == [project]
    assert listed(monday) == [project, *users]
    Flag.objects.filter(kind="project").update(cleared_at=monday)
    assert listed(monday) == users, "a cleared flag of a project is listed no more"


@pytest.mark.django_db
def test_two_readings_of_one_week_have_the_same_users_whatever_one_job_changes() -> None:
    # Six flags, visible from Tuesday, 3 November; on Wednesday, the 11th, a job clears frank's, and judy's is visible.
    raised = datetime(2026, 10, 27, 12, tzinfo=UTC)
    flag_users(raised.date(), (*PEOPLE, "frank"))
    escalate(raised)
    wednesday = datetime(2026, 11, 11, 12, tzinfo=UTC)
    before = flag_list(wednesday - timedelta(hours=1))
    assert (before.users_as_of, len(before.rows)) == ("2026-11-09", 6)
    Flag.objects.filter(user__username="alice").update(latest={}, unused_gpu_hours=999.0)
    person_day("judy", OTHER, wednesday.date() - timedelta(days=7), 7, 130.0)
    escalate(wednesday - timedelta(days=7))
    Flag.objects.filter(user__username="frank").update(cleared_at=wednesday)
    assert listed(wednesday) == before.rows
    assert listed(datetime(2026, 11, 15, 23, 59, tzinfo=UTC)) == before.rows
    # With the next week both changes come at once.
    key = {name: key_of(name, "2026-11") for name in ("frank", "judy")}
    after = {line.key for line in listed(datetime(2026, 11, 16, tzinfo=UTC))}
    assert key["frank"] in {line.key for line in before.rows}
    assert key["frank"] not in after
    assert key["judy"] in after


@pytest.mark.django_db
@pytest.mark.parametrize(("people", "rows", "is_withheld"), [(0, 0, False), (1, 0, True), (4, 0, True), (5, 5, False)])
def test_fewer_than_five_users_are_not_listed(people: int, rows: int, is_withheld: bool) -> None:
    flag_users(RAISED.date(), PEOPLE[:people])
    escalate(RAISED)
    found = flag_list(SEEN + timedelta(days=7))
    assert (len(found.rows), found.withheld_users) == (rows, is_withheld)


def test_a_line_states_no_amount() -> None:
    assert FlagLine.__struct_fields__ == ("period", "kind", "key", "name", "flag", "raised_on")


@pytest.mark.django_db
def test_a_user_is_raised_on_a_monday_and_never_before_the_month(settings) -> None:
    # 22:30 UTC on Sunday, 8 November, is Monday in Helsinki; visible a week later, and still in December.
    settings.TIME_ZONE = "Europe/Helsinki"
    raised = datetime(2026, 11, 8, 22, 30, tzinfo=UTC)
    flag_users(date(2026, 11, 8))
    escalate(raised)
    november, december = (
        {(line.period, line.raised_on) for line in listed(raised + timedelta(days=days), "user")} for days in (14, 30)
    )
    assert november == {("2026-11", "2026-11-09")}
    assert december == {("2026-12", "2026-12-01")}
    # On Thursday, 26 November, a flag of that Thursday counts for its Monday.
    Flag.objects.update(raised_at=datetime(2026, 11, 12, 12, tzinfo=UTC))
    assert {line.raised_on for line in listed(raised + timedelta(days=18), "user")} == {"2026-11-09"}


@pytest.mark.django_db
def test_works_are_left_out_and_a_project_until_its_people_are_known() -> None:
    # Five runs of alice alone, 80 GPU-hours of which 64 are unused: her flag, the project's and the work's.
    for number in range(1, 6):
        run(number, 20.0, NOW - number * timedelta(hours=1))
    later = NOW + timedelta(days=7)
    assert escalate(NOW) == 3
    flag_users(NOW.date(), PEOPLE[1:])
    escalate(NOW)
    monday = datetime(2026, 11, 30, tzinfo=UTC)
    assert not PersonDay.objects.filter(project__name=PROJECT).exists()
    assert [line.kind for line in listed(monday)] == ["user"] * 5
    roll_up_due(100, later)
    assert PersonDay.objects.filter(project__name=PROJECT).exists()
    assert [line.kind for line in listed(monday)] == ["user"] * 5, "the project is one person's"


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
