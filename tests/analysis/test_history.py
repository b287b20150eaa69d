"""What runs add up to over time: classes, waste, medians, findings, and advice that was followed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.history.columns import RunColumns, run_columns
from analysis.history.costs import FirstCause, costly_causes
from analysis.history.overview import WorkRun, followed
from analysis.history.periods import Period, last_days, month, month_before
from analysis.history.selectors import (
    costly_causes_in,
    followed_in,
    latest_savings,
    runs_and_trend,
    runs_of,
    savings_of_works,
    works_of,
    worst_run,
)
from analysis.history.sums import frequent_findings, overview_of, steps_of, trend_of, use_by_weekday
from analysis.models import FindingRow, JobEfficiency
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)
WORK = (1, 1, "lumi", "key")


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


def read(days: int = 400) -> RunColumns:
    """All judged runs of so many days."""
    return runs_of([Q()], NOW - days * DAY, NOW)


def judge() -> None:
    call_command("analyse_job", "--due", stdout=StringIO())


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
    few = trend_of(runs_of([Q(job__job_id__gte=109)], NOW - 100 * DAY, NOW), NOW)
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
    (best,) = savings_of_works(Q(), period, 3)
    # Of 8.0 GPU-hours 2.0 are enough; the run of three minutes does not count, and "train" runs at 90 % since.
    assert (best.jobs, best.gpu_hours) == (2, pytest.approx(12.0))
    assert latest_savings(Q(), [best])[best.work].job.job_id == 7
    JobEfficiency.objects.filter(job__job_id__in=(1, 2)).update(ended_at=NOW - 20 * DAY)
    assert [(row.jobs, row.gpu_hours) for row in savings_of_works(Q(), period, 3)] == [
        (2, pytest.approx(12.0)),
        (1, pytest.approx(6.0)),
    ]
    assert len(savings_of_works(Q(), period, 1)) == 1


def test_the_works_of_a_period_add_up_whatever_names_them(runs) -> None:
    run(6, 50.0, 3, job_name="bash")
    run(7, 50.0, 2, job_name="bash")
    judge()
    named, unnamed = sorted(works_of(Q(), last_days(NOW, 30), 5), key=lambda row: not row.key)
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
    Job.objects.exclude(job_id=4).update(work_key="")
    (cause,) = costly_causes_in(Q(), last_days(NOW, 90), 3)
    # Four modules for two hours, none of it used, and surely so.
    assert (cause.code, cause.jobs, cause.lost_gpu_hours) == (FindingCode.NO_GPU_USE, 1, pytest.approx(8.0))
    assert cause.latest_pk == Job.objects.get(job_id=4).pk
    assert cause.wasted_gpu_hours == JobEfficiency.objects.get(job__job_id=4).wasted_gpu_hours == pytest.approx(8.0)
    assert costly_causes_in(Q(), last_days(NOW, 30), 3) == []
    Job.objects.filter(job_id=1).update(work_key=fixed)
    assert costly_causes_in(Q(), last_days(NOW, 90), 3) == [], "the latest run of the work has it no longer"
    Job.objects.filter(job_id=1).update(work_key="")
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


def test_the_queries_do_not_grow_with_the_runs(db) -> None:
    counts = []
    for first in (1, 10):
        for job_id in range(first, first * 10):
            run(job_id, 20.0, job_id % 20)
        judge()
        period = last_days(NOW, 30)
        with CaptureQueriesContext(connection) as queries:
            runs_and_trend([Q()], period.start, NOW)
            latest_savings(Q(), savings_of_works(Q(), period, 3))
            works_of(Q(), period, 10)
            worst_run(Q(), period.start, NOW)
            costly_causes_in(Q(), period, 3)
            followed_in(Q(), [period])
        counts.append(len(queries))
    assert counts[0] == counts[1]


def work_run(day: int, gpus: int, hours: float, advised: int | None = None) -> WorkRun:
    return WorkRun(WORK, NOW + day * DAY, gpus, hours, advised)


def test_advice_is_followed_by_runs_of_the_same_work_that_ask_for_no_more() -> None:
    first = work_run(0, 8, 8.0, advised=2)
    # Two runs on 2 GPUs took 3 and 9 GPU-hours instead of 8: 5 saved, and a dearer run saves nothing.
    seen = followed([first, work_run(1, 2, 3.0), work_run(2, 2, 9.0), work_run(3, 4, 1.0)], since=NOW)
    assert (seen.runs, seen.saved_gpu_hours) == (2, 5.0)
    assert followed([first, work_run(1, 2, 3.0)], since=NOW + 2 * DAY).runs == 0
    assert followed([work_run(0, 2, 3.0), work_run(1, 2, 3.0)], since=NOW).runs == 0


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
    starts = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp() for hour in (0, 1, 22)]
    some = np.array([50.0, 60.0, 70.0])
    runs = run_columns(
        ["ACCEPTABLE//"] * 3,
        user=np.zeros(3),
        ended_s=np.array(starts) + 60,
        started_s=np.array(starts),
        util=some,
        gpu_hours=some,
        wasted_gpu_hours=some,
        saved_gpu_hours=np.full(3, np.nan),
    )
    period = last_days(datetime(2026, 10, 26, 12, tzinfo=zone), 7)
    assert use_by_weekday(runs, period) == {(7, 3): (2, 110.0), (1, 0): (1, 70.0)}


def test_parts_are_added_up_as_one(runs) -> None:
    whole, halves = read(), runs_of([Q(gpu_hours__lt=1), Q(gpu_hours__gte=1)], NOW - 400 * DAY, NOW)
    period = last_days(NOW, 90)
    assert (len(halves), len(halves.counted())) == (len(whole), len(whole.counted())) == (5, 4)
    assert overview_of(halves, period) == overview_of(whole, period)
    assert frequent_findings(halves, period) == frequent_findings(whole, period)
    nobody = runs_of([Q(pk__in=[])], NOW - 400 * DAY, NOW)
    assert (len(nobody), overview_of(nobody, period).jobs, steps_of(nobody, period)[0].jobs) == (0, 0, 0)
