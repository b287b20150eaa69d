"""Daily roll-ups say what the judgements say, whatever happened to these since."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.db.models import F

from analysis.history.periods import Period
from analysis.history.run_sums import JudgedRun, RunSums, median_use, sums_by_day
from analysis.models import JobEfficiency, PersonDay, ProjectDay, RollUpDue, WorkDay
from analysis.rollups import services
from analysis.rollups.selectors import Part, days_by_project, days_of, sums_by_member, sums_by_work
from analysis.rollups.services import note_all, roll_up_due
from analysis.services import analyse_job
from jobs.models import Job, Project, User
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.steps import often_celery, often_local

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
YEAR = Period(NOW - timedelta(days=365), NOW)
HOUR = timedelta(hours=1)


def run(job_id: int, util: float, ended: datetime, **record: object) -> None:
    """A judged run of eight GPUs for two hours."""
    times = {"started_at": (ended - 2 * HOUR).isoformat(), "ended_at": ended.isoformat()}
    record_job(job_record(job_id=job_id, walltime_used_s=7200.0, **times, **record))
    record_node_summary(node_payload(job_id=job_id, gpus=[gpu(index, util) for index in range(8)], **times))
    analyse_job(Job.objects.get(job_id=job_id).pk, NOW)


def alice() -> Part:
    return Part(user=User.objects.get(username="alice").pk)


def project() -> Part:
    return Part(project=Project.objects.get(name="project_465000001").pk, by_site=True)


def whole(part: Part) -> RunSums:
    return days_of([part], YEAR).total(YEAR)


def roll_up() -> int:
    return roll_up_due(100, NOW)


@pytest.fixture
def runs(db) -> None:
    """Two runs of alice on one day, one of bob a week before; 20, 80 and 50 %."""
    run(1, 20.0, NOW - HOUR)
    run(2, 80.0, NOW - 2 * HOUR)
    run(3, 50.0, NOW - timedelta(days=7), user_id="bob")


def test_a_day_is_rolled_up_once_and_says_the_same(runs) -> None:
    before = days_of([project()], YEAR), sums_by_member(project(), YEAR), sums_by_work(project(), YEAR)
    assert PersonDay.objects.count() == 0
    assert roll_up() == 2, "two days of the project"
    assert (PersonDay.objects.count(), ProjectDay.objects.count(), WorkDay.objects.count()) == (2, 2, 2)
    assert not RollUpDue.objects.exists()
    assert (days_of([project()], YEAR), sums_by_member(project(), YEAR), sums_by_work(project(), YEAR)) == before
    assert roll_up() == 0
    # Eight GPUs are four modules: 8 GPU-hours a run, of which 80, 20 and 50 % are unused.
    total = whole(project())
    assert (total.jobs, total.gpu_hours, total.wasted_gpu_hours) == (3, pytest.approx(24.0), pytest.approx(12.0))
    assert (median_use(total.use), total.mean_util) == (50.0, pytest.approx(50.0))


def test_pages_read_the_stored_sums(runs, django_assert_num_queries) -> None:
    roll_up()
    JobEfficiency.objects.all().delete()
    part = alice()
    with django_assert_num_queries(2):
        assert whole(part).jobs == 2


def test_the_days_of_several_projects_are_those_of_each(runs, django_assert_num_queries) -> None:
    """Another project has a run on the same day; then a day of one is stored, and that of the other changed since."""
    run(4, 30.0, NOW - 25 * HOUR, user_id="carol", project_id="project_465000002")
    projects = sorted(Project.objects.values_list("pk", flat=True))

    def each() -> list[RunSums]:
        return [days_of([Part(project=project, by_site=True)], YEAR).total(YEAR) for project in projects]

    def together() -> list[RunSums]:
        with django_assert_num_queries(3 if RollUpDue.objects.exists() else 2):
            found = days_by_project(projects, YEAR)
        return [found[project].total(YEAR) for project in projects]

    assert together() == each()
    assert [sums.jobs for sums in each()] == [3, 1]
    roll_up()
    assert together() == each()
    run(5, 60.0, NOW - 25 * HOUR)
    assert together() == each()
    assert [sums.jobs for sums in each()] == [4, 1]


def test_late_data_changes_the_day_before_and_after_the_sweep(runs) -> None:
    roll_up()
    run(4, 100.0, NOW - 3 * HOUR)
    assert whole(alice()).jobs == 3, "at once"
    assert list(RollUpDue.objects.values_list("day", flat=True)) == [NOW.date()]
    roll_up()
    assert (whole(alice()).jobs, whole(project()).jobs) == (3, 4)


def test_a_new_judgement_replaces_the_old_one_in_the_sums(runs) -> None:
    roll_up()
    times = {"started_at": (NOW - 3 * HOUR).isoformat(), "ended_at": (NOW - HOUR).isoformat()}
    record_node_summary(node_payload(job_id=1, sequence=9, gpus=[gpu(index, 60.0) for index in range(8)], **times))
    analyse_job(Job.objects.get(job_id=1).pk, NOW)
    # 40 instead of 80 % of 8 GPU-hours, and 20 % of the other.
    assert whole(alice()).wasted_gpu_hours == pytest.approx(4.8)
    roll_up()
    assert whole(alice()).wasted_gpu_hours == pytest.approx(4.8)


def test_a_run_that_turns_out_to_be_of_another_day_person_or_project_leaves_its_old_sums(runs) -> None:
    roll_up()
    bob, other = User.objects.get(username="bob"), Project.objects.create(name="project_465000002")
    moved = Job.objects.filter(job_id=1)
    moved.update(user=bob, project=other, ended_at=NOW - timedelta(days=30), revision=F("revision") + 1)
    analyse_job(moved.get().pk, NOW)
    for _ in range(2):
        assert (whole(alice()).jobs, whole(project()).jobs) == (1, 2)
        assert list(days_of([Part(project=other.pk, by_site=True)], YEAR).by_day) == [date(2026, 10, 21)]
        roll_up()
    assert not RollUpDue.objects.exists()


def test_what_only_an_owner_reported_is_in_no_sum_over_several_people(runs) -> None:
    judged = JobEfficiency.objects.get(job__job_id=1)
    JobEfficiency.objects.filter(pk=judged.pk).update(is_told_by_owner=True)
    for _ in range(2):
        assert (whole(alice()).jobs, whole(project()).jobs) == (2, 2)
        assert sums_by_member(project(), YEAR)[judged.user_id].jobs == 1
        assert whole(Part(user=judged.user_id, by_site=True)).jobs == 1
        roll_up()


def test_a_day_is_one_of_the_site_whatever_zone_its_reader_has(db, settings) -> None:
    settings.TIME_ZONE = "Europe/Helsinki"
    # 22:30 UTC is half past midnight in Helsinki.
    late = datetime(2026, 11, 18, 22, 30, tzinfo=UTC)
    run(1, 20.0, late)
    for _ in range(2):
        assert list(days_of([alice()], YEAR).by_day) == [date(2026, 11, 19)]
        roll_up()


def test_expired_runs_stay_in_the_sums(runs, settings) -> None:
    roll_up()
    settings.RUN_DAYS = 5
    bob = User.objects.get(username="bob")
    JobEfficiency.objects.filter(user=bob).delete()
    RollUpDue.objects.create(
        user=bob, project=Project.objects.get(), day=(NOW - timedelta(days=7)).date(), noted_at=NOW
    )
    assert roll_up() == 1
    assert whole(Part(user=bob.pk)).jobs == 1
    assert not RollUpDue.objects.exists()


def test_with_a_person_go_the_own_sums_and_those_of_the_project_stay(runs) -> None:
    roll_up()
    JobEfficiency.objects.filter(user__username="bob").delete()
    Job.objects.filter(user__username="bob").delete()
    User.objects.get(username="bob").delete()
    assert set(PersonDay.objects.values_list("user__username", flat=True)) == {"alice"}
    assert whole(project()).jobs == 3


def test_a_failing_project_does_not_stop_the_others(runs, monkeypatch) -> None:
    run(4, 100.0, NOW - HOUR, project_id="project_465000002")
    broken = Project.objects.get(name="project_465000001").pk
    store = services._store

    def fails(project_pk: int, days: list[date]) -> None:
        if project_pk == broken:
            raise ValueError("broken")
        store(project_pk, days)

    monkeypatch.setattr(services, "_store", fails)
    assert roll_up() == 1
    assert whole(project()).jobs == 3, "pages add up the judgements meanwhile"
    monkeypatch.undo()
    assert roll_up_due(100, NOW + timedelta(hours=1)) == 2


@pytest.mark.parametrize("round_of_steps", [often_local, often_celery], ids=["worker", "task"])
def test_background_work_rolls_up(runs, round_of_steps) -> None:
    round_of_steps()
    assert not RollUpDue.objects.exists()
    assert PersonDay.objects.count() == 2


def test_the_command_adds_up_every_day_again(runs) -> None:
    roll_up()
    PersonDay.objects.all().delete()
    printed = StringIO()
    call_command("roll_up", "--all", stdout=printed)
    assert printed.getvalue() == "2 days of projects added up\n"
    assert whole(alice()).jobs == 2
    assert note_all(NOW) == 2


def test_an_ambiguous_hour_belongs_to_its_day() -> None:
    zone = ZoneInfo("Europe/Helsinki")
    ends = [datetime(2026, 10, 24, 20, 59, tzinfo=UTC), datetime(2026, 10, 24, 21, 0, tzinfo=UTC)]
    ends += [datetime(2026, 10, 25, 21, 59, tzinfo=UTC), datetime(2026, 10, 25, 22, 0, tzinfo=UTC)]
    judged = (JudgedRun(at, None, "WASTED", "", None, 1.0, 1.0, None, "") for at in ends)
    days = sums_by_day(judged, zone)
    # The day on which the clocks went back has 25 hours.
    assert {day.day: sums.jobs for day, sums in days.items()} == {24: 1, 25: 2, 26: 1}


@pytest.mark.parametrize("is_rolled_up", [False, True])
@pytest.mark.parametrize(
    ("state", "run_time_s", "counted"),
    [
        ("FAILED", 599.0, "UNKNOWN"),
        ("CANCELLED", 301.0, "UNKNOWN"),
        ("FAILED", 600.0, "EFFICIENT"),
        ("COMPLETED", 301.0, "EFFICIENT"),
        ("TIMEOUT", 301.0, "EFFICIENT"),
    ],
)
def test_a_run_that_ended_too_early_for_a_class_counts_in_none(
    db, state: str, run_time_s: float, counted: str, is_rolled_up: bool
) -> None:
    run(1, 80.0, NOW - HOUR)
    Job.objects.update(state=state, walltime_used_s=run_time_s)
    analyse_job(Job.objects.get().pk, NOW)
    if is_rolled_up:
        roll_up()
    for part in (alice(), project()):
        seen = whole(part)
        assert {name: row.jobs for name, row in seen.classes.items()} == {counted: 1}
        hours = 4 * run_time_s / 3600
        assert (seen.jobs, seen.gpu_hours, seen.use) == (1, pytest.approx(hours), {80: 1}), "its hours count as ever"
