"""What runs add up to over time: classes, waste, medians, findings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.history.costs import FirstCause, costly_causes
from analysis.history.periods import Period, last_days, month, month_before
from analysis.history.run_sums import Days, JudgedRun, sums_by_day
from analysis.history.selectors import (
    costly_causes_in,
    days_and_trend,
    savings_of_works,
    works_of,
    worst_run,
)
from analysis.history.sums import frequent_findings, overview_of, steps_of, trend_of, use_by_weekday
from analysis.models import FindingRow, JobEfficiency
from analysis.rollups.selectors import Part, days_of
from jobs.models import Job, Project, User
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)


TWO_OF_EIGHT = [80.0, 80.0, *[0.0] * 6]


def run(job_id: int, util: float | list[float], days_ago: int, hours: float = 2.0, **record: object) -> None:
    """A run of eight GPUs, all at `util` percent or each at its own, that ended a minute before NOW or days earlier."""
    ended = NOW - timedelta(days=days_ago, minutes=1)
    times = {"started_at": (ended - timedelta(hours=hours)).isoformat(), "ended_at": ended.isoformat()}
    record_job(job_record(job_id=job_id, walltime_used_s=hours * 3600, **times, **record))
    utils = util if isinstance(util, list) else [util] * 8
    # GPUs without work hold no memory either.
    gpus = [gpu(index, used, peak_mem_gb=40.0 if used else 0.1) for index, used in enumerate(utils)]
    record_node_summary(node_payload(job_id=job_id, gpus=gpus, **times))


def part(**more: object) -> Part:
    """All of the one person here."""
    return Part(user=User.objects.get(username="alice").pk, **more)


def read(days: int = 400) -> Days:
    """The sums of all judged runs of so many days."""
    return days_of([part()], Period(NOW - days * DAY, NOW)) if User.objects.exists() else Days({})


@pytest.fixture(autouse=True, params=["judgements", "roll-ups"])
def adding_up(request, monkeypatch) -> None:
    """Every sum is the same before and after the sweep has rolled up the days."""
    if request.param == "roll-ups":
        monkeypatch.setitem(AFTER_JUDGING, "roll up", lambda: call_command("roll_up", stdout=StringIO()))


AFTER_JUDGING: dict[str, Callable[[], None]] = {}


def judge() -> None:
    call_command("analyse_job", "--due", stdout=StringIO())
    for step in AFTER_JUDGING.values():
        step()


@pytest.fixture
def runs(db) -> None:
    """90 % today and yesterday, 20 % eight days ago, 0 % forty days ago; and one too short to count."""
    run(1, 90.0, 0)
    run(2, 90.0, 1)
    run(3, TWO_OF_EIGHT, 8)
    run(4, 0.0, 40)
    run(5, 0.0, 1, hours=0.05)
    judge()


def test_a_period_adds_up_and_leaves_short_runs_out(runs) -> None:
    seen = overview_of(read(), last_days(NOW, 30))
    assert (seen.jobs, seen.uncounted) == (3, 1)
    assert [(share.name, share.jobs) for share in seen.shares] == [
        (EfficiencyClass.EFFICIENT, 2),
        (EfficiencyClass.INEFFICIENT, 1),
    ]
    # Eight GPUs are four modules: 4 x 2 h each.
    assert seen.gpu_hours == pytest.approx(24.0)
    # 8 x 0.1 + 8 x 0.1 + 8 x 0.8
    assert seen.wasted_gpu_hours == pytest.approx(8.0)
    assert seen.wasted_fraction == pytest.approx(1 / 3)
    assert seen.median_util == pytest.approx(90.0)


def test_nothing_adds_up_to_nothing(db) -> None:
    seen = overview_of(read(), last_days(NOW, 7))
    assert (seen.jobs, seen.shares, seen.median_util, seen.wasted_fraction) == (0, (), None, None)


def test_every_day_is_a_step_and_empty_ones_too(runs) -> None:
    steps = steps_of(read(), last_days(NOW, 7))
    assert [step.jobs for step in steps] == [0, 0, 0, 0, 0, 1, 1]
    assert steps[-1].hours_by_class == {"EFFICIENT": pytest.approx(8.0)}
    assert [step.median_util for step in steps[-3:]] == [None, 90.0, 90.0]
    weeks = steps_of(read(), last_days(NOW, 90))
    assert sum(step.jobs for step in weeks) == 4


def test_the_median_of_an_even_number_of_jobs_is_the_mean_of_the_middle_two(db) -> None:
    for job_id, util, days_ago in (
        (1, 20.0, 28),
        (2, 40.0, 28),
        (3, 60.0, 0),
        (4, 80.0, 0),
        (5, 90.0, 0),
        (6, 70.0, 0),
    ):
        run(job_id, util, days_ago)
    judge()
    seen = read()
    # 20, 40, 60, 70, 80, 90: (60 + 70) / 2; today's four: (70 + 80) / 2; four weeks before: (20 + 40) / 2.
    assert overview_of(seen, last_days(NOW, 30)).median_util == pytest.approx(65.0)
    steps = steps_of(seen, last_days(NOW, 30))
    assert [step.median_util for step in steps if step.jobs] == [pytest.approx(30.0), pytest.approx(75.0)]
    # (75 - 30) / 4 weeks
    assert trend_of(seen, NOW).points_a_week == pytest.approx(11.25)


def test_findings_are_counted_where_they_cost_most(runs) -> None:
    found = frequent_findings(read(), last_days(NOW, 90))
    assert found[0].code == "no_gpu_use"
    assert (found[0].jobs, found[0].wasted_gpu_hours) == (1, pytest.approx(8.0))
    assert found == sorted(found, key=lambda row: -row.wasted_gpu_hours)


def test_use_by_weekday_and_hour_of_the_start(runs) -> None:
    # 2026-11-20 and 2026-11-19 are a Friday and a Thursday; both runs began at 10:30 UTC.
    assert use_by_weekday(read(), last_days(NOW, 7)) == {(5, 10): (1, 90.0), (4, 10): (1, 90.0)}


def test_a_few_jobs_tell_no_trend_and_many_rising_ones_do(db) -> None:
    for week in range(12):
        run(100 + week, 10.0 + 7 * week, 7 * (11 - week))
    judge()
    rising = trend_of(read(), NOW)
    assert (rising.direction.value, rising.points_a_week) == ("improving", pytest.approx(7.0))
    few = trend_of(Days({day: sums for day, sums in read().by_day.items() if day >= (NOW - 15 * DAY).date()}), NOW)
    assert (few.direction.value, few.points_a_week) == ("too few jobs", None)


def test_the_hours_of_a_run_count_under_its_first_cause_alone(runs) -> None:
    found = frequent_findings(read(), last_days(NOW, 90))
    several = JobEfficiency.objects.get(job__job_id=3)
    assert len(several.finding_codes.split()) > 1
    # 8.0 unused of the idle run; 80 % of 8.0 of the one on two of eight GPUs, though more than one cause holds for it.
    assert sum(row.wasted_gpu_hours for row in found) == pytest.approx(8.0 + 6.4)
    assert sum(row.first_jobs for row in found) == 2
    assert sum(row.jobs for row in found) > 2
    first, second = several.finding_codes.split()[:2]
    by_code = {row.code: row for row in found}
    assert (by_code[first].first_jobs, by_code[first].wasted_gpu_hours) == (1, pytest.approx(6.4))
    assert (by_code[second].jobs, by_code[second].first_jobs, by_code[second].wasted_gpu_hours) == (1, 0, 0.0)


def test_the_savings_of_a_work_add_up_and_come_with_its_latest_run(runs) -> None:
    run(6, TWO_OF_EIGHT, 5, job_name="gromacs")
    run(7, TWO_OF_EIGHT, 3, job_name="gromacs")
    run(8, TWO_OF_EIGHT, 2, job_name="gromacs", hours=0.05)
    judge()
    period = last_days(NOW, 30)
    (best,) = savings_of_works(Q(), period).works
    # Of 8.0 GPU-hours 2.0 are enough; the run of three minutes does not count, and "train" runs at 90 % since.
    assert (best.jobs, best.gpu_hours) == (2, pytest.approx(12.0))
    assert Job.objects.get(pk=best.latest_pk).job_id == 7
    assert best.advised_gpus == (2,)
    JobEfficiency.objects.filter(job__job_id__in=(1, 2)).update(ended_at=NOW - 20 * DAY)
    assert [(row.jobs, row.gpu_hours) for row in savings_of_works(Q(), period).works] == [
        (2, pytest.approx(12.0)),
        (1, pytest.approx(6.0)),
    ]


def test_the_works_of_a_period_add_up_whatever_names_them(runs) -> None:
    run(6, 50.0, 3, job_name="bash")
    run(7, 50.0, 2, job_name="bash")
    judge()
    named, unnamed = sorted(works_of(part(), last_days(NOW, 30), 5), key=lambda row: not row.key)
    # 0.8 + 0.8 + 6.4 of "train"; twice the half of 8.0 of those that nothing names.
    assert (named.jobs, named.gpu_hours, named.wasted_gpu_hours) == (3, pytest.approx(24.0), pytest.approx(8.0))
    assert (unnamed.key, unnamed.jobs, unnamed.wasted_gpu_hours) == ("", 2, pytest.approx(8.0))


def test_the_worst_run_is_of_a_low_class(runs) -> None:
    assert worst_run(Q(), NOW - 30 * DAY, NOW).job.job_id == 3
    assert worst_run(Q(), NOW - 5 * DAY, NOW) is None, "efficient, or too short to count"


def test_causes_cost_most_where_no_request_is_to_change(runs) -> None:
    # All have advice; that of the fourth moves its work to a partition without GPUs, whose price is not known.
    assert [row.job_id for row in JobEfficiency.objects.filter(saved_gpu_hours=None, findings__isnull=False)] == [
        Job.objects.get(job_id=4).pk
    ]
    fixed = Job.objects.get(job_id=4).work_key
    JobEfficiency.objects.exclude(job__job_id=4).update(work_key="")
    (cause,) = costly_causes_in(Q(), last_days(NOW, 90), 3)
    # Four modules for two hours, none of it used, and surely so.
    assert (cause.code, cause.jobs, cause.lost_gpu_hours) == (FindingCode.NO_GPU_USE, 1, pytest.approx(8.0))
    assert cause.latest_pk == Job.objects.get(job_id=4).pk
    assert cause.wasted_gpu_hours == JobEfficiency.objects.get(job__job_id=4).wasted_gpu_hours == pytest.approx(8.0)
    assert costly_causes_in(Q(), last_days(NOW, 30), 3) == []
    JobEfficiency.objects.filter(job__job_id=1).update(work_key=fixed)
    assert costly_causes_in(Q(), last_days(NOW, 90), 3) == [], "the latest run of the work has it no longer"
    JobEfficiency.objects.filter(job__job_id=1).update(work_key="")
    FindingRow.objects.update(evidence={})
    JobEfficiency.objects.update(rules_version="0.1")
    assert costly_causes_in(Q(), last_days(NOW, 90), 3) == [], "what earlier rules found waits to be judged again"


def test_a_run_counts_under_its_first_cause_and_what_costs_nothing_is_left_out() -> None:
    def first(cause: Finding, gpu_hours: float, pk: int, work: str = "key") -> FirstCause:
        return FirstCause(cause, work, gpu_hours, pk, NOW)

    tail = Finding(FindingCode.IDLE_TAIL, 0.8, {"idle_fraction": 0.5})
    late = Finding(FindingCode.LATE_START, 0.5, {"idle_fraction": 0.5})
    asked = Finding(FindingCode.WALLTIME_OVERREQUEST, 1.0, {})
    # 0.5 x 0.8 of 10 and 20 hours; 0.5 x 0.5 of 100.
    found = costly_causes([first(tail, 10.0, 3), first(asked, 50.0, 4), first(late, 100.0, 2), first(tail, 20.0, 1)])
    assert [(row.code, row.jobs, row.lost_gpu_hours, row.latest_pk) for row in found] == [
        (FindingCode.LATE_START, 1, pytest.approx(25.0), 2),
        (FindingCode.IDLE_TAIL, 2, pytest.approx(12.0), 3),
    ]
    assert found[0].wasted_gpu_hours is None, "not measured"
    apart = costly_causes([first(tail, 10.0, 3), first(tail, 20.0, 1, "other")])
    assert [(row.work, row.lost_gpu_hours) for row in apart] == [("other", pytest.approx(8.0)), ("key", 4.0)]


@pytest.mark.one_database
def test_the_queries_do_not_grow_with_the_runs(db) -> None:
    counts = []
    for first in (1, 10):
        for job_id in range(first, first * 10):
            run(job_id, 20.0, job_id % 20)
        judge()
        period = last_days(NOW, 30)
        with CaptureQueriesContext(connection) as queries:
            days_and_trend([part()], period)
            savings_of_works(Q(), period)
            works_of(part(), period, 10)
            worst_run(Q(), period.start, NOW)
            costly_causes_in(Q(), period, 3)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_months_and_days_begin_at_local_midnight() -> None:
    assert month(NOW).start == datetime(2026, 11, 1, tzinfo=UTC)
    assert (month_before(NOW).start, month_before(NOW).end) == (
        datetime(2026, 10, 1, tzinfo=UTC),
        datetime(2026, 11, 1, tzinfo=UTC),
    )
    assert len(last_days(NOW, 30).steps()) == 30
    assert Period(NOW - DAY, NOW, "day").steps() == (
        datetime(2026, 11, 19, tzinfo=UTC),
        datetime(2026, 11, 20, tzinfo=UTC),
    )


def test_the_hour_of_a_start_is_the_local_one_on_both_sides_of_a_change_of_clocks() -> None:
    zone = ZoneInfo("Europe/Helsinki")
    # Clocks went back on Sunday 2026-10-25 at 01:00 UTC: 00:30 UTC was 03:30, and so was 01:30 UTC.
    starts = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1, 22)]
    runs = [
        JudgedRun(start + timedelta(minutes=1), start, "ACCEPTABLE", "", use, 1.0, 0.5, None, "")
        for start, use in zip(starts, (50.0, 60.0, 70.0), strict=True)
    ]
    period = last_days(datetime(2026, 10, 26, 12, tzinfo=zone), 7)
    assert use_by_weekday(Days(sums_by_day(runs, zone)), period) == {(7, 3): (2, 110.0), (1, 0): (1, 70.0)}


def test_parts_are_added_up_as_one(runs) -> None:
    run(6, 50.0, 1, project_id="project_465000002")
    judge()
    first, second = Project.objects.order_by("name")
    whole, halves = read(), days_of([part(project=first.pk), part(project=second.pk)], Period(NOW - 400 * DAY, NOW))
    assert whole == halves
    assert overview_of(whole, last_days(NOW, 90)).jobs == 5
    assert days_of([part(outside=(first.pk, second.pk))], Period(NOW - 400 * DAY, NOW)) == Days({})
