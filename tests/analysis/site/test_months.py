"""A month of the site is added up once, after it ended, and stays as it is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from analysis.models import ClosedMonth, IdleHold, JobEfficiency
from analysis.months.selectors import months_to_close
from analysis.months.services import close_months
from analysis.rollups.services import roll_up_due
from analysis.services import analyse_job
from analysis.site.figures import Cell, SiteRun, groups_of, parts_of
from analysis.site.selectors import closed_months
from analysis.site.services import site_months
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from portal.months import SITE
from tests.payloads import gpu, job_record, node_payload
from tests.steps import often_local

OCTOBER = datetime(2026, 10, 15, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 8, 0, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run(job_id: int, user: str, util: float = 75.0, ended: datetime = OCTOBER, **record: object) -> None:
    """A run of eight GPUs for two hours, 8 GPU-hours, judged two hours after its end."""
    times = {"started_at": (ended - 2 * HOUR).isoformat(), "ended_at": ended.isoformat()}
    record_job(job_record(job_id=job_id, user_id=user, walltime_used_s=7200.0, **times, **record))
    record_node_summary(node_payload(job_id=job_id, gpus=[gpu(index, util) for index in range(8)], **times))
    analyse_job(Job.objects.get(job_id=job_id).pk, ended + 2 * HOUR)
    roll_up_due(100, ended + 2 * HOUR)


@pytest.fixture
def five(db) -> None:
    for number, user in enumerate(("alice", "bob", "carol", "dave", "erin"), start=1):
        run(number, user)


def total() -> Cell:
    (month,) = closed_months()
    return month.figures.total


def test_a_month_is_closed_seven_days_after_its_end(five) -> None:
    assert close_months(SITE, NOW - HOUR) == 0
    assert months_to_close(SITE, NOW) == [date(2026, 10, 1)]
    assert close_months(SITE, NOW) == 1
    # 5 runs of 8 GPU-hours at 75 %: 40, 30 and 10; the step is 2.
    assert total() == Cell("", "", 40.0, 30.0, 10.0)
    (month,) = closed_months()
    assert month.figures.tables["partition"] == [Cell("small-g", "", 40.0, 30.0, 10.0)]
    assert month.figures.tables["size"] == [Cell("8", "", 40.0, 30.0, 10.0)]
    assert close_months(SITE, NOW + HOUR) == 0


def test_a_month_of_four_people_is_withheld_after_a_month_of_five(five) -> None:
    for number, user in enumerate(("alice", "bob", "carol", "dave"), start=11):
        run(number, user, ended=OCTOBER + timedelta(days=31))
    assert close_months(SITE, NOW + timedelta(days=31)) == 2
    october, november = (month.figures for month in closed_months())
    assert october.total.allocated == 40.0
    assert (november.total, november.tables) == (Cell("", "few_people"), {})


def test_what_arrives_or_leaves_later_changes_nothing(five) -> None:
    close_months(SITE, NOW)
    before = ClosedMonth.objects.filter(kind="site").values_list("figures", "closed_at").get()
    run(6, "frank", util=10.0)
    JobEfficiency.objects.filter(user__username="alice").delete()
    close_months(SITE, NOW + timedelta(days=1))
    assert ClosedMonth.objects.filter(kind="site").values_list("figures", "closed_at").get() == before


def test_one_persons_partition_is_withheld_with_everything_that_reveals_it(five) -> None:
    run(6, "frank", partition="dev-g")
    close_months(SITE, NOW)
    (month,) = closed_months()
    assert total().allocated == 48.0
    assert month.figures.tables["partition"] == [Cell("dev-g", "few_people"), Cell("small-g", "other_group")]


def test_what_only_an_owner_reported_short_runs_and_runs_of_other_months_do_not_count(five) -> None:
    JobEfficiency.objects.filter(user__username="alice").update(is_told_by_owner=True)
    run(6, "frank")
    run(7, "grace", ended=datetime(2026, 11, 1, 1, 0, tzinfo=UTC))
    run(8, "heidi", state="NODE_FAIL")
    close_months(SITE, NOW)
    assert total().allocated == 40.0, "bob, carol, dave, erin, frank"


def test_a_month_that_is_being_judged_waits_unless_it_is_closed_by_hand(five) -> None:
    JobEfficiency.objects.update(analysed_at=NOW - HOUR)
    assert close_months(SITE, NOW) == 0
    assert close_months(site_months(timedelta(0)), NOW) == 1


@pytest.mark.django_db(transaction=True)
def test_the_command_and_the_worker_close_months(five) -> None:
    printed = StringIO()
    call_command("close_months", "--at-once", stdout=printed)
    assert printed.getvalue().splitlines()[0] == "1 month closed"
    ClosedMonth.objects.all().delete()
    often_local()
    assert ClosedMonth.objects.filter(kind="site").count() == 1


def test_the_command_says_why_a_month_is_not_closed(five) -> None:
    def said(*words: str) -> tuple[str, str]:
        out, errors = StringIO(), StringIO()
        call_command("close_months", *words, stdout=out, stderr=errors)
        return out.getvalue().splitlines()[0], errors.getvalue()

    IdleHold.objects.all().delete()
    JobEfficiency.objects.update(analysed_at=timezone.now())
    why = "2026-10 is not closed: jobs of it were judged within the last day: --at-once closes it.\n"
    assert said() == ("0 months closed", why)
    assert said("--at-once") == ("1 month closed", "")
    assert said() == (
        "0 months closed",
        "Every month with jobs that ended more than 7 days ago is closed.\n",
    )


def test_a_science_field_of_the_directory_is_a_table_of_the_month(five, tmp_path) -> None:
    people = ("alice", "bob", "carol", "dave", "erin")
    for number, user in enumerate(people, start=11):
        run(number, user, project_id="project_2")
    run(21, "frank", project_id="project_3")
    file = tmp_path / "people.csv"
    rows = [f"{user},project_2,\n" for user in people]
    file.write_text("".join(["username,project,science_field\n", *rows, ",project_2,Physics\n"]))
    call_command("import_projects", str(file), stdout=StringIO())
    close_months(SITE, NOW)
    (month,) = closed_months()
    # 8 GPU-hours of each run at 75 %; without a field are project_2's five and frank's.
    assert month.figures.tables["science_field"] == [
        Cell("", "", 48.0, 36.0, 12.0),
        Cell("Physics", "", 40.0, 30.0, 10.0),
    ]


def test_without_science_fields_there_is_no_table_of_them(five) -> None:
    close_months(SITE, NOW)
    (month,) = closed_months()
    assert "science_field" not in month.figures.tables
    assert len(month.figures.tables) == 5


def test_the_hours_of_the_week_of_a_month_are_stored_with_it(five) -> None:
    """Thursday 15 October, 10:00 to 12:00; October 2026 has five Thursdays."""
    close_months(SITE, NOW)
    (month,) = closed_months()
    week = month.figures.week
    assert week is not None
    shown = {cell: value for cell, value in enumerate(week.allocated) if value is not None}
    # 5 people of 4 GPU-hours in each of the two hours are 4 GPU-hours in an hour; nobody's 0.8 exceed the step of 1.
    assert shown == {3 * 24 + 10: 4.0, 3 * 24 + 11: 4.0}
    # 20 % are one person's: the step of the use is 20 %, and 75 % become 60 or 80.
    assert {week.use_percent[cell] for cell in shown} <= {60.0, 80.0}
    assert sum(value is not None for value in week.use_percent) == 2


def test_a_month_that_was_closed_without_hours_of_the_week_is_still_read(five) -> None:
    close_months(SITE, NOW)
    row = ClosedMonth.objects.get(kind="site")
    del row.figures["week"]
    row.save()
    (month,) = closed_months()
    assert (month.figures.week, month.figures.total.allocated) == (None, 40.0)


def site_run(**changes: object) -> SiteRun:
    columns = {
        "user": 1, "project": 1, "partition": "small-g", "efficiency_class": "INEFFICIENT", "gpus": 8,
        "codes": " idle_gpus timeout ",
        "gpu_hours": 10.0, "unused_gpu_hours": 6.0, "util_percent": 25.0, "coverage_fraction": 0.9,
        "is_partial": False, "energy_j": None, "started_at": OCTOBER - HOUR, "ended_at": OCTOBER,
        "use_course": None, "science_field": "Physics",
    }  # fmt: skip
    return SiteRun(**columns | changes)


def test_the_groups_of_a_run() -> None:
    assert groups_of(site_run()) == ("small-g", "INEFFICIENT", "8", "idle_gpus", "full", "Physics")
    sizes = [groups_of(site_run(gpus=gpus))[2] for gpus in (1, 2, 7, 8, 9, 64, 65)]
    assert sizes == ["1", "2–7", "2–7", "8", "9–64", "9–64", "more than 64"]
    unmeasured = site_run(util_percent=None, efficiency_class="UNKNOWN", codes="")
    assert groups_of(unmeasured) == ("small-g", "UNKNOWN", "8", "none", "none", "Physics")


def test_the_parts_of_a_run() -> None:
    assert parts_of(site_run()) == (4.0, 6.0, 0.0)
    assert parts_of(site_run(util_percent=None, unused_gpu_hours=None)) == (0.0, 0.0, 10.0)
    # Half was measured, of which 3 hours were unused.
    half = site_run(is_partial=True, coverage_fraction=0.5, unused_gpu_hours=3.0)
    assert parts_of(half) == (2.0, 3.0, 5.0)
