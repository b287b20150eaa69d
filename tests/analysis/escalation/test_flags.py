"""Flags in the database: raised once, cleared on the day, whatever else fails or runs at the same time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from analysis.escalation import services
from analysis.escalation.selectors import (
    flagged_at,
    flags_in_project,
    flags_of_led,
    own_flags,
    raised_flags,
    runs_to_share,
    staff_sees,
)
from analysis.escalation.services import escalate, remove_cleared
from analysis.models import Flag, JobEfficiency, SupportCase
from analysis.rollups.services import roll_up_due
from analysis.services import analyse_job
from jobs.models import Job, Project, User
from jobs.selectors import reach_of
from jobs.services import record_job, share_job
from metrics.services import record_node_summary
from portal import expiry
from portal.environment import fraction
from tests.payloads import gpu, job_record, node_payload
from tests.processes import PATIENCE_S
from tests.roles import set_role
from tests.steps import ran

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PROJECT = "project_465000001"


def run(job_id: int, util: float, ended: datetime, hours: int = 4, **record: object) -> Job:
    """A judged run of eight GPUs, four modules: 4 GPU-hours for each of `hours`."""
    times = {"started_at": (ended - hours * HOUR).isoformat(), "ended_at": ended.isoformat()}
    record_job(job_record(job_id=job_id, walltime_used_s=hours * 3600.0, **times, **record))
    gpus = [gpu(index, util, measured_s=hours * 3600.0) for index in range(8)]
    record_node_summary(node_payload(job_id=job_id, gpus=gpus, **times))
    job = Job.objects.get(job_id=job_id)
    analyse_job(job.pk, NOW)
    return job


@pytest.fixture
def five(db) -> None:
    """Five runs of alice of 16 GPU-hours each at 20 %: 80 GPU-hours, all low, 64 of them unused."""
    for number in range(1, 6):
        run(number, 20.0, NOW - number * HOUR)


def kinds(*, is_open: bool = True) -> list[str]:
    return sorted(Flag.objects.filter(cleared_at__isnull=is_open).values_list("kind", flat=True))


@pytest.mark.parametrize("is_rolled_up", [True, False], ids=["stored", "changing"])
def test_five_low_runs_raise_the_flags_of_person_project_and_work_once(five, is_rolled_up: bool) -> None:
    if is_rolled_up:
        roll_up_due(100, NOW)
    assert escalate(NOW) == 3
    assert kinds() == ["project", "user", "work"]
    assert escalate(NOW + HOUR) == 0
    flag = Flag.objects.get(kind="user")
    counted = flag.at_raising.counted
    assert (counted.jobs, counted.gpu_hours, counted.unused_gpu_hours, counted.low_gpu_hours) == (5, 80.0, 64.0, 80.0)
    assert (flag.raised_at, flag.visible_to_staff_at) == (NOW, NOW + 7 * DAY)
    assert (flag.unused_gpu_hours, flag.rules_version) == (64.0, "1")
    assert {case.state for case in SupportCase.objects.all()} == {"open"}


def test_it_clears_when_later_runs_are_better_and_stays_as_history(five) -> None:
    escalate(NOW)
    # 80 of 80 + 160 GPU-hours are a third, which is not below.
    run(6, 90.0, NOW + HOUR, hours=40)
    assert escalate(NOW + 2 * HOUR) == 0
    assert Flag.objects.get(kind="user").at_last.counted.low_fraction == pytest.approx(1 / 3)
    run(7, 90.0, NOW + 2 * HOUR)
    assert escalate(NOW + 3 * HOUR) == 3
    flag = Flag.objects.get(kind="user")
    assert (flag.cleared_at, flag.cleared_by) == (NOW + 3 * HOUR, "low_fraction")
    assert flag.at_raising.counted.gpu_hours == 80.0
    assert flag.at_last.counted.gpu_hours == 256.0
    assert {case.state for case in SupportCase.objects.all()} == {"resolved"}


def test_it_clears_on_the_day_on_which_no_job_is_left(five) -> None:
    escalate(NOW)
    assert escalate(datetime(2026, 12, 3, 23, 59, tzinfo=UTC)) == 0
    assert escalate(datetime(2026, 12, 4, 0, 1, tzinfo=UTC)) == 3
    assert set(Flag.objects.values_list("cleared_by", flat=True)) == {"no_jobs"}


def test_days_are_those_of_the_site(five, settings) -> None:
    settings.TIME_ZONE = "Europe/Helsinki"
    escalate(NOW)
    # 22:01 UTC on the 3rd is a minute past midnight of the 4th there.
    assert escalate(datetime(2026, 12, 3, 21, 59, tzinfo=UTC)) == 0
    assert escalate(datetime(2026, 12, 3, 22, 1, tzinfo=UTC)) == 3


def test_what_is_not_counted_raises_nothing(db) -> None:
    for number in range(1, 5):
        run(number, 20.0, NOW - number * HOUR, hours=20)
    run(5, 20.0, NOW - HOUR, hours=20, state="NODE_FAIL")
    run(6, 20.0, NOW - HOUR, hours=20)
    JobEfficiency.objects.filter(job__job_id=6).update(is_told_by_owner=True)
    record_job(job_record(job_id=7, ended_at=(NOW - HOUR).isoformat()))
    analyse_job(Job.objects.get(job_id=7).pk, NOW)
    assert escalate(NOW) == 0
    roll_up_due(100, NOW)
    assert escalate(NOW) == 0
    run(8, 20.0, NOW - HOUR)
    assert escalate(NOW) == 3


def test_runs_without_a_name_of_their_own_are_no_work(db) -> None:
    for number in range(1, 6):
        run(number, 20.0, NOW - number * HOUR, job_name="bash")
    escalate(NOW)
    assert kinds() == ["project", "user"]


def test_a_raised_flag_that_clears_can_be_raised_again_with_a_new_time_of_grace(five) -> None:
    escalate(NOW)
    escalate(NOW + 20 * DAY)
    later = NOW + 30 * DAY
    for number in range(11, 16):
        run(number, 20.0, later - number * HOUR)
    assert escalate(later) == 3
    assert (len(kinds()), len(kinds(is_open=False))) == (3, 3)
    assert Flag.objects.get(kind="user", cleared_at=None).visible_to_staff_at == later + 7 * DAY


def test_a_failing_person_does_not_stop_the_others(five, monkeypatch) -> None:
    for number in range(11, 16):
        run(number, 20.0, NOW - HOUR, user_id="bob", project_id="project_465000002")
    broken, sums = User.objects.get(username="alice").pk, services.sums_of

    def fails(period: object, **subject: int) -> object:
        if subject.get("user") == broken:
            raise ValueError("broken")
        return sums(period, **subject)

    monkeypatch.setattr(services, "sums_of", fails)
    assert escalate(NOW) == 5
    assert list(Flag.objects.filter(kind="user").values_list("user__username", flat=True)) == ["bob"]
    monkeypatch.undo()
    assert escalate(NOW + HOUR) == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_raise_once() -> None:
    for number in range(1, 6):
        run(number, 20.0, NOW - number * HOUR)
    user, project = User.objects.get(username="alice").pk, Project.objects.get().pk
    together, raised = threading.Barrier(2), []

    def sweep() -> None:
        try:
            together.wait(PATIENCE_S)
            raised.append(services.check_user(user, NOW) + services.check_project(project, NOW))
        finally:
            connection.close()

    threads = [threading.Thread(target=sweep, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sum(raised) == 3
    assert (Flag.objects.count(), SupportCase.objects.count()) == (3, 3)


def test_staff_see_a_flag_after_its_time_of_grace_and_never_one_that_cleared_before(five, settings) -> None:
    escalate(NOW)
    assert not Flag.objects.filter(staff_sees(NOW + 7 * DAY - HOUR)).exists()
    assert Flag.objects.filter(staff_sees(NOW + 7 * DAY)).count() == 3
    Flag.objects.filter(kind="user").update(cleared_at=NOW + 6 * DAY)
    Flag.objects.filter(kind="work").update(cleared_at=NOW + 8 * DAY)
    assert sorted(Flag.objects.filter(staff_sees(NOW + 9 * DAY)).values_list("kind", flat=True)) == ["project", "work"]


def test_exports_get_open_flags_that_staff_see(five) -> None:
    escalate(NOW)
    assert list(raised_flags(NOW)) == []
    later = NOW + 7 * DAY
    rows = {row.kind: row for row in raised_flags(later)}
    assert {(row.kind, str(row.user), str(row.project)) for row in rows.values()} == {
        ("user", "alice", "None"),
        ("project", "None", PROJECT),
        ("work", "alice", PROJECT),
    }
    assert rows["work"].work_key == Job.objects.first().work_key
    assert rows["user"].at_last.counted.unused_gpu_hours == 64.0
    alice, project = User.objects.get(username="alice").pk, Project.objects.get().pk
    assert (rows["user"].user_id, rows["user"].project_id) == (alice, None)
    assert (rows["project"].user_id, rows["project"].project_id) == (None, project)


def test_who_had_a_flag_that_staff_saw_at_a_moment(five) -> None:
    # Raised on the 20th, visible on the 27th, cleared on 4 December at 00:01 with fewer than five jobs left.
    escalate(NOW)
    cleared = datetime(2026, 12, 4, 0, 1, tzinfo=UTC)
    escalate(cleared)
    alice, project = User.objects.get(username="alice").pk, Project.objects.get().pk
    second = timedelta(seconds=1)
    for moment, users in (
        (NOW + 7 * DAY - second, set()),
        (NOW + 7 * DAY, {alice}),
        (cleared - second, {alice}),
        (cleared, set()),
    ):
        assert flagged_at(Flag.Kind.USER, moment) == users
        assert flagged_at(Flag.Kind.PROJECT, moment) == ({project} if users else set())
    Flag.objects.exclude(kind="work").delete()
    assert flagged_at(Flag.Kind.USER, NOW + 7 * DAY) == flagged_at(Flag.Kind.PROJECT, NOW + 7 * DAY) == set()


def test_each_person_sees_the_own_flags_and_a_pi_those_of_the_project_and_its_works(five) -> None:
    escalate(NOW)
    project = Project.objects.get()
    carol, dave = (User.objects.create(username=name) for name in ("carol", "dave"))
    set_role(carol, project, "pi")
    set_role(dave, Project.objects.create(name="project_465000002"), "pi")
    alice = User.objects.get(username="alice")
    assert sorted(flag.kind for flag in own_flags(alice)) == ["user", "work"]
    assert not own_flags(carol).exists()
    assert [flag.kind for flag in flags_of_led(reach_of(carol))] == ["project"]
    assert sorted(flag.kind for flag in flags_in_project(reach_of(carol), project.pk)) == ["project", "work"]
    for other in (alice, dave):
        assert not flags_in_project(reach_of(other), project.pk).exists()
        assert not flags_of_led(reach_of(other)).exists()


def test_the_runs_to_share_are_the_low_ones_with_the_most_unused_hours(five) -> None:
    run(6, 20.0, NOW - HOUR, hours=20)
    run(7, 90.0, NOW - HOUR, hours=30)
    run(8, 20.0, NOW - HOUR, hours=30, user_id="bob")
    run(9, 20.0, NOW - 20 * DAY, hours=30)
    shared = run(10, 20.0, NOW - HOUR, hours=10)
    share_job(shared, days=7, note="", now=NOW)
    escalate(NOW)
    flag = Flag.objects.get(kind="user", user__username="alice")
    assert [row.job.job_id for row in runs_to_share(flag, NOW, 2)] == [6, 5]
    assert runs_to_share(Flag.objects.get(kind="project"), NOW, 2) == []


def test_with_a_person_go_the_flags_and_cases_of_person_and_works(five) -> None:
    escalate(NOW)
    JobEfficiency.objects.all().delete()
    Job.objects.all().delete()
    User.objects.get(username="alice").delete()
    assert kinds() == ["project"]
    assert SupportCase.objects.count() == 1


def test_cleared_flags_are_deleted_after_their_time_and_open_ones_never(five) -> None:
    escalate(NOW)
    Flag.objects.filter(kind="work").update(cleared_at=NOW)
    assert sum(remove_cleared(NOW)) == 0
    assert sum(remove_cleared(NOW + HOUR)) > 0
    assert kinds() == ["project", "user"]
    Flag.objects.filter(kind="project").update(cleared_at=NOW - 401 * DAY)
    expiry.expire(NOW)
    assert kinds() == ["user"]


def test_background_work_and_the_command_raise_flags(five, monkeypatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    assert ran("escalate") == 3
    assert len(kinds()) == 3
    printed = StringIO()
    call_command("escalate", stdout=printed)
    assert printed.getvalue() == "0 flags raised or cleared\n"
    monkeypatch.setattr(timezone, "now", lambda: NOW + 7 * DAY)
    call_command("escalate", "--list", stdout=printed)
    assert "2026-11-20  user           64.0 GPU-hours unused  alice\n" in printed.getvalue()


@pytest.mark.parametrize(("word", "expected"), [("1/3", "1/3"), ("0.5", "1/2"), ("1", "1")])
def test_a_fraction_of_the_environment_stays_exact(monkeypatch, word: str, expected: str) -> None:
    monkeypatch.setenv("FLAG_RAISE_FRACTION", word)
    assert str(fraction("FLAG_RAISE_FRACTION", "1/2")) == expected


@pytest.mark.parametrize("word", ["", "0", "2", "half", "1/0", "-1/3"])
def test_anything_else_is_an_error_that_names_the_variable(monkeypatch, word: str) -> None:
    monkeypatch.setenv("FLAG_RAISE_FRACTION", word)
    with pytest.raises(ImproperlyConfigured, match="FLAG_RAISE_FRACTION must be a fraction"):
        fraction("FLAG_RAISE_FRACTION", "1/2")
