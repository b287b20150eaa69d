"""The dashboard: its number follows from its rows, its rows from the jobs, and who has none starts elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.utils import timezone

from analysis.history.columns import RunColumns, run_columns
from analysis.history.overview import Followed
from analysis.history.periods import month, month_before
from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from jobs.models import Job, User
from jobs.services import record_job
from portal.pages.dashboard.month_line import month_line
from tests.payloads import job_record
from tests.portal.conftest import an_hour_ago_today, text

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def work(reported):
    """Report jobs of alice's under a name, the last of them an hour ago and each other a day before the next."""

    def report(name: str, *job_ids: int, **record: object) -> None:
        for days, job_id in enumerate(reversed(job_ids)):
            ended = an_hour_ago_today() - timedelta(days=days)
            times = {"ended_at": ended.isoformat(), "started_at": (ended - 2 * HOUR).isoformat()}
            reported(job_id, job_name=name, **times, **record)

    return report


def shown(client) -> list[tuple[str, int, float]]:
    """Name, jobs and GPU-hours of each suggestion."""
    rows = client.get("/").context["to_do"].requests
    return [(row.name, row.jobs, pytest.approx(row.gpu_hours)) for row in rows]


def causes_shown(client) -> list[tuple[str, int, float]]:
    """The same of each cause that no saving is stated for; the hours are the unused ones."""
    rows = client.get("/").context["to_do"].causes
    return [(row.name, row.jobs, pytest.approx(row.gpu_hours)) for row in rows]


def test_the_large_number_is_the_sum_of_the_rows_below_it(cast, work) -> None:
    # 8 GPUs for two hours are 8.0 GPU-hours; 2 GPUs would have been 2.0.
    work("gromacs", 1, 2, 3)
    work("cp2k", 4, 5)
    work("lammps", 6)
    work("amber_md", 7)
    JobEfficiency.objects.filter(job__job_id=7).update(saved_gpu_hours=5.0)
    alice = cast("alice")
    assert shown(alice) == [("gromacs", 3, 18.0), ("cp2k", 2, 12.0), ("lammps", 1, 6.0)]
    page = text(alice, "/")
    assert "You can save about 36 GPU-hours a month" in page
    assert "The sum of the three suggested requests below" in page
    assert page.count("- #SBATCH --gpus-per-node=8") == page.count("+ #SBATCH --gpus-per-node=2") == 3
    assert page.count('class="copy"') == 1, "one primary button"
    assert 'href="/jobs/lumi/3/?attempt=0"' in page, "the latest of its runs"
    assert f'href="/work/{Job.objects.get(job_id=3).work_key}/"' in page


def test_work_that_was_changed_already_is_not_suggested_again(cast, work) -> None:
    work("gromacs", 1, 2)
    work("cp2k", 4)
    JobEfficiency.objects.filter(job__job_id=2).update(saved_gpu_hours=None, savings=None)
    FindingRow.objects.filter(efficiency__job__job_id=2).delete()
    assert shown(cast("alice")) == [("cp2k", 1, 6.0)]


def test_runs_whose_name_says_nothing_are_works_of_their_own(cast, work) -> None:
    work("bash", 1, 2)
    assert shown(cast("alice")) == [("bash", 1, 6.0), ("bash", 1, 6.0)]


def test_a_run_counts_in_one_suggestion_only(cast, work) -> None:
    work("gromacs", 1, 2)
    assert FindingRow.objects.filter(efficiency__job__job_id=1).count() > 1
    assert shown(cast("alice")) == [("gromacs", 2, 12.0)]
    # The page of the second run states no saving: its 6.24 unused GPU-hours stand below, in no sum.
    JobEfficiency.objects.filter(job__job_id=2).update(saved_gpu_hours=None, savings=None)
    RecommendationRow.objects.filter(efficiency__job__job_id=2).delete()
    assert shown(cast("alice")) == []
    assert causes_shown(cast("alice")) == [("gromacs", 1, 6.24)]


def test_the_large_number_sums_only_what_the_pages_of_jobs_state(cast, work) -> None:
    work("gromacs", 1, 2)
    work("matlab", 4, 5)
    moved = JobEfficiency.objects.filter(job__job_id__in=(4, 5))
    moved.update(saved_gpu_hours=None, savings=None)
    alice = cast("alice")
    # 2 x 6.00 are stated; matlab left 2 x 6.24 unused, which nothing says a request would save.
    assert shown(alice) == [("gromacs", 2, 12.0)]
    assert causes_shown(alice) == [("matlab", 2, 12.48)]
    page = " ".join(text(alice, "/").split())
    assert "You can save about 12 GPU-hours a month" in page
    assert "The suggested request below: the savings stated on the pages of the jobs, added up over your jobs" in page
    below = page[page.index("Causes to fix") :]
    assert "not part of the sum above" in below
    assert "12.5 <small>unused GPU-hours</small>" in below
    assert "saves 6.00 of 8.00 GPU-hours" in text(alice, "/jobs/lumi/2/").replace("\u00a0", " ")


def test_the_cause_to_fix_stands_where_the_request_fits(cast, work) -> None:
    work("gromacs", 1)
    RecommendationRow.objects.all().delete()
    JobEfficiency.objects.update(savings=None, saved_gpu_hours=None)
    (row,) = cast("alice").get("/").context["to_do"].causes
    assert (row.code, row.jobs, row.lines) == ("idle_gpus", 1, ())
    page = text(cast("alice"), "/")
    assert 'href="/learn/idle_gpus/"' in page
    assert "Copy new request" not in page


def test_a_request_that_fixes_the_cause_is_shown_with_it(cast, work) -> None:
    work("gromacs", 1)
    JobEfficiency.objects.update(savings=None, saved_gpu_hours=None)
    RecommendationRow.objects.update(basis="cpu_work", changes=[], request=["--partition=small", "--nodes=1"])
    page = text(cast("alice"), "/")
    assert "Move work without GPUs to a CPU partition" in page
    assert 'data-copy="#SBATCH --partition=small\n#SBATCH --nodes=1"' in page


def test_less_than_a_gpu_hour_is_no_suggestion(cast, work) -> None:
    work("gromacs", 1)
    JobEfficiency.objects.update(saved_gpu_hours=0.99)
    page = text(cast("alice"), "/")
    assert "No savings to suggest" in page
    assert "You can save" not in page


def test_the_job_to_look_at_is_the_one_with_most_unused_hours_by_name(cast, work) -> None:
    work("gromacs", 1)
    work("cp2k", 2)
    JobEfficiency.objects.filter(job__job_id=2).update(wasted_gpu_hours=7.5)
    JobEfficiency.objects.filter(job__job_id=1).update(wasted_gpu_hours=9.0, efficiency_class="EFFICIENT")
    page = " ".join(text(cast("alice"), "/").split())
    assert "<bdi>cp2k</bdi></a> left <b>7.50 of 8.00 GPU-hours unused</b>" in page
    JobEfficiency.objects.update(efficiency_class="EFFICIENT")
    assert "Look at first" not in text(cast("alice"), "/")


def test_recent_jobs_stand_with_their_first_finding_and_use(cast, work) -> None:
    work("gromacs", *range(1, 8))
    ended = timezone.now()
    record_job(job_record(job_id=99, job_name="", ended_at=ended.isoformat()))
    rows = cast("alice").get("/").context["recent"]
    assert [row.run.job_id for row in rows] == [99, 7, 6, 5, 4]
    assert (rows[0].name, rows[0].judged, rows[0].finding) == ("Job 99", None, "")
    assert rows[1].finding == "Some GPUs stayed idle"
    page = text(cast("alice"), "/")
    assert "being analysed" in page
    assert page.count('class="spark"') == 4


@pytest.mark.parametrize(("name", "path"), [("erin", "/support/"), ("grace", "/system/")])
def test_staff_without_jobs_start_where_their_work_is(cast, reported, name: str, path: str) -> None:
    client = cast(name)
    answer = client.get("/")
    assert (answer.status_code, answer["Location"]) == (302, path)
    reported(1)
    Job.objects.update(user=User.objects.get(username=name))
    assert "Recent jobs" in text(client, "/")


def test_someone_without_jobs_gets_the_first_steps(cast) -> None:
    page = text(cast("dave"), "/")
    for words in ("Submit a GPU job", "Wait for its end", "Read the report", "What Kaiku measures", "Who sees it"):
        assert words in page
    assert "Projects you lead" not in page
    assert "0 jobs" not in page


def test_the_example_of_the_first_steps_is_what_such_a_job_gets(cast, reported) -> None:
    reported(1)
    judged = JobEfficiency.objects.get()
    page = text(cast("dave"), "/")
    assert (judged.avg_gpu_util, judged.gpu_hours) == (pytest.approx(22.0), pytest.approx(8.0))
    assert (judged.wasted_gpu_hours, judged.saved_gpu_hours) == (pytest.approx(6.24), pytest.approx(6.0))
    assert judged.efficiency_class == "INEFFICIENT"
    for words in ("22.0 %", "8.00", "6.24", "saves 6.00 GPU-hours", "+ #SBATCH --gpus-per-node=2", "a fictional job"):
        assert words in page


def test_a_pi_without_own_jobs_finds_the_way_to_the_project(cast, recent) -> None:
    page = text(cast("carol"), "/")
    assert 'href="/projects/project_465000001/"' in page
    assert "First steps" in page


def test_the_dashboard_draws_the_weeks_of_the_trend(cast, recent) -> None:
    answer = cast("alice").get("/")
    classes, median = answer.context["charts"]
    # Twelve weeks and the one that has begun.
    assert len(classes.rows) == len(median.rows) == 13
    assert classes.columns[-1].text.endswith(": 2 jobs, 16.0 GPU-hours (Inefficient 16.0)")
    assert answer.content.decode().count("data-plot") == 2


def test_this_month_adds_up_and_a_month_without_jobs_has_none_yet(cast, recent) -> None:
    line = cast("alice").get("/").context["month"]
    # Two runs of 8 GPUs for two hours: 2 x 8.0 billed, 22 % used.
    assert (line.sum.gpu_hours, line.sum.wasted_gpu_hours) == (pytest.approx(16.0), pytest.approx(12.48))
    long_ago = timezone.now() - timedelta(days=70)
    JobEfficiency.objects.update(ended_at=long_ago)
    page = text(cast("alice"), "/")
    assert page.count("None yet") == 2, "hours used and hours saved"
    assert "0.00" not in page[: page.index("Recent jobs")]


def columns(*runs: tuple[datetime, float, float]) -> RunColumns:
    """Runs of (end, GPU-hours, unused of them)."""
    ended, hours, wasted = (np.array(values) for values in zip(*runs, strict=True))
    ended_s = np.array([at.timestamp() for at in ended])
    nothing = np.full(len(runs), np.nan)
    return run_columns(
        ["INEFFICIENT//"] * len(runs),
        user=np.zeros(len(runs)),
        ended_s=ended_s,
        started_s=ended_s - 60,
        util=nothing,
        gpu_hours=hours.astype(float),
        wasted_gpu_hours=wasted.astype(float),
        saved_gpu_hours=nothing,
    )


def test_the_change_is_that_of_the_unused_share_in_points() -> None:
    october, november = NOW - timedelta(days=30), NOW - timedelta(days=1)
    # 30 of 40 and 10 of 60 are 40 of 100 in October; 30 of 50 are 60 % in November.
    runs = columns((october, 40.0, 30.0), (october, 60.0, 10.0), (november, 50.0, 30.0))
    line = month_line(runs, month(NOW), month_before(NOW), Followed())
    assert (line.name, line.name_before, line.points, line.is_less) == ("November", "October", 20, False)
    assert line.change_points == pytest.approx(20.0)
    alone = month_line(columns((november, 50.0, 30.0)), month(NOW), month_before(NOW), Followed())
    assert (alone.sum.gpu_hours, alone.change_points) == (50.0, None)
