"""The dashboard: its number follows from its rows, its rows from the jobs, and who has none starts elsewhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.core.management import call_command
from django.template.loader import render_to_string
from django.utils import timezone

from analysis.history.periods import month, month_before
from analysis.history.run_sums import Days, JudgedRun, sums_by_day
from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from analysis.outcomes.selectors import SavedSum
from jobs.models import Job, User
from jobs.services import record_job
from portal.pages.dashboard.views import month_line
from tests.analysis.outcomes.histories import SMALL, as_it_was_judged
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
    RecommendationRow.objects.filter(efficiency__job__job_id=2).delete()
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
    assert "Replace your #SBATCH lines with:" in page
    assert "+ #SBATCH" not in page


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


def test_a_pi_without_own_jobs_finds_the_way_to_the_project(cast, recent) -> None:
    page = text(cast("carol"), "/")
    assert 'href="/projects/project_465000001/"' in page
    assert "First steps" in page


def test_the_dashboard_draws_the_weeks_of_the_trend_as_one_chart_with_its_table(cast, recent) -> None:
    answer = cast("alice").get("/")
    chart, page = answer.context["chart"], answer.content.decode()
    assert page.count("data-plot") == 1
    # Twelve weeks and the one that has begun: 2 runs of 8 GPUs for two hours at (2 x 88 + 6 x 0) / 8 = 22 %.
    assert len(chart.columns) == len(chart.rows) == 13
    assert chart.columns[-1].text.endswith(": 2 jobs, 16.0 GPU-hours (Inefficient 16.0), median GPU use 22\u00a0%")
    assert chart.columns[0].text.endswith(": no jobs")
    assert chart.head == ("", "Jobs", "Inefficient, GPU-hours", "Median GPU use")
    assert chart.rows[-1][1:] == ("2", "16.0", "22\u00a0%")
    assert chart.rows[0][1:] == ("0", "0.00", "no measured job")
    assert [part.css_class for column in chart.columns for part in column.parts] == ["inefficient"]
    # The top of the left scale is 20 GPU-hours, of the right one 100 %.
    assert (chart.scale[0], chart.scale_right[0]) == ("20", "100 %")
    assert len(chart.dots) == 1
    assert chart.dots[0].y == pytest.approx(200 * 0.78)
    assert chart.legend == (("inefficient", "Inefficient"), ("line", "Median GPU use (right scale)"))


def test_each_class_of_the_weekly_chart_has_a_texture_of_its_own_for_print_without_colours(cast, recent) -> None:
    """The legend refers to the same one as the columns."""
    JobEfficiency.objects.filter(job__job_id=1).update(efficiency_class="WASTED")
    page = text(cast("alice"), "/")
    assert set(re.findall(r'<pattern id="texture-(\w+)"', page)) == {"inefficient", "wasted"}
    drawings = dict(re.findall(r'<pattern id="texture-(\w+)".*?<path d="([^"]+)"', page, re.DOTALL))
    assert drawings["inefficient"] != drawings["wasted"]
    figure = page[page.index('<figure class="chart textured"') :]
    legend = figure[figure.index('class="legend"') : figure.index("</ul>")]
    assert re.findall(r'class="c-(\w+)"', legend) == ["inefficient", "wasted"]


@pytest.mark.parametrize(
    ("october", "november", "said"),
    [
        (30.0, 35.0, "10 points more"),
        (35.0, 30.0, "10 points less"),
        (30.0, 30.0, "no change"),
        (30.0, 30.5, "1 point more"),
    ],
)
def test_the_change_is_stated_once_in_words(october: float, november: float, said: str) -> None:
    """Of 50 GPU-hours each month: 35 unused are 70 %, 30 are 60 %, and 30.5 are 61 %."""
    runs = days_with((NOW - timedelta(days=30), 50.0, october), (NOW - timedelta(days=1), 50.0, november))
    line = month_line(runs, month(NOW), month_before(NOW), SavedSum())
    shown_line = render_to_string("portal/dashboard/_month.html", {"month": line})
    (change,) = re.findall(r"<div><dt>unused compared with October</dt><dd>(.*?)</dd>", shown_line)
    assert unescape(change) == said.replace(" point", "\u00a0point")
    assert "↓" not in shown_line
    assert "↑" not in shown_line


def test_this_month_adds_up_and_a_month_without_jobs_has_none_yet(cast, recent) -> None:
    line = cast("alice").get("/").context["month"]
    # Two runs of 8 GPUs for two hours: 2 x 8.0 billed, 22 % used.
    assert (line.sum.gpu_hours, line.sum.wasted_gpu_hours) == (pytest.approx(16.0), pytest.approx(12.48))
    long_ago = timezone.now() - timedelta(days=70)
    JobEfficiency.objects.update(ended_at=long_ago)
    page = text(cast("alice"), "/")
    assert page.count("None yet") == 2, "hours used and hours saved"
    assert "0.00" not in page[: page.index("Recent jobs")]


def days_with(*runs: tuple[datetime, float, float]) -> Days:
    """The sums of runs of (end, GPU-hours, unused of them)."""
    judged = (JudgedRun(at, None, "INEFFICIENT", "", None, hours, wasted, None, "") for at, hours, wasted in runs)
    return Days(sums_by_day(judged, UTC))


def test_the_change_is_that_of_the_unused_share_in_points() -> None:
    october, november = NOW - timedelta(days=30), NOW - timedelta(days=1)
    # 30 of 40 and 10 of 60 are 40 of 100 in October; 30 of 50 are 60 % in November.
    runs = days_with((october, 40.0, 30.0), (october, 60.0, 10.0), (november, 50.0, 30.0))
    line = month_line(runs, month(NOW), month_before(NOW), SavedSum())
    assert (line.name, line.name_before, line.points, line.is_less) == ("November", "October", 20, False)
    assert line.change_points == pytest.approx(20.0)
    alone = month_line(days_with((november, 50.0, 30.0)), month(NOW), month_before(NOW), SavedSum())
    assert (alone.sum.gpu_hours, alone.change_points) == (50.0, None)


def test_what_followed_advice_saved_is_that_of_the_work_page(cast, reported) -> None:
    """8 GPUs, advised 2, and then 2 GPUs: 6 GPU-hours saved, long before this month."""
    for job_id, days_ago, more in ((1, 90, {}), (2, 80, SMALL)):
        ended = timezone.now() - timedelta(days=days_ago)
        times = {"ended_at": ended.isoformat(), "started_at": (ended - 2 * HOUR).isoformat()}
        reported(job_id, **times, **more)
    as_it_was_judged()
    alice = cast("alice")
    work = alice.get(f"/work/{Job.objects.get(job_id=2).work_key}/")
    saved = alice.get("/").context["month"].saved
    assert saved == work.context["saved"]
    assert (saved.runs, saved.compared_runs, saved.saved_gpu_hours) == (1, 1, pytest.approx(6.0))
    line = f"GPU-hours saved since {timezone.now() - timedelta(days=80):%Y-%m-%d} by 1 run that followed advice, in"
    for path in ("/", "/history/?days=365", work.request["PATH_INFO"], "/projects/project_465000001/"):
        assert line in " ".join(re.sub(r"<[^>]+>", "", text(alice, path)).split()), path


SINCE = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (
            SavedSum(14, 0, 0.0, SINCE),
            "14 runs followed advice since 2026-09-01, in full or in part; none can be compared",
        ),
        (
            SavedSum(1, 0, 0.0, SINCE),
            "1 run followed advice since 2026-09-01, in full or in part; it cannot be compared",
        ),
        (
            SavedSum(14, 1, 4.07, SINCE),
            "by 1 of the 14 runs that followed advice, in full or in part; the others cannot",
        ),
        (SavedSum(3, 2, 4.07, SINCE), "by 2 of the 3 runs that followed advice, in full or in part; the other cannot"),
        (SavedSum(2, 2, 4.07, SINCE), "by 2 runs that followed advice, in full or in part"),
    ],
)
@pytest.mark.parametrize("template", ["dashboard/_month.html", "_advice.html"])
def test_a_saving_states_how_many_runs_it_is_of_and_is_no_zero_without_any(template, saved, said) -> None:
    line = month_line(days_with(), month(NOW), month_before(NOW), saved)
    shown_in = {"month": line, "saved": saved, "days": 365}
    page = " ".join(re.sub(r"<[^>]+>", "", render_to_string(f"portal/{template}", shown_in)).split())
    assert said in page
    assert ("4.07" in page, "GPU-hours saved" in page) == (saved.compared_runs > 0,) * 2
    assert "0.00" not in page


def test_a_later_run_that_did_worse_does_not_hide_what_an_earlier_one_states(cast, work) -> None:
    work("gromacs", 1, 2)
    # The later run used no GPU at all: its page advises a CPU partition, which states no saving in GPU-hours.
    JobEfficiency.objects.filter(job__job_id=2).update(
        saved_gpu_hours=None, savings=None, avg_gpu_util=0.0, finding_codes=" no_gpu_use "
    )
    assert shown(cast("alice")) == [("gromacs", 1, 6.0)]
    page = " ".join(text(cast("alice"), "/").split()).replace("\u00a0", " ")
    assert "You can save about 6.00 GPU-hours a month" in page
    assert "are left out" not in page
    assert 'href="/jobs/lumi/1/?attempt=0"' in page, "the run that states it"


def test_what_later_runs_changed_is_left_out_and_said_in_one_line(cast, reported) -> None:
    small = {"gpus_allocated": 2, "gpus_requested": 2, "gpus_per_node": 2, "ntasks": 2, "cpus_allocated": 14}
    for job_id, days_ago, more in ((1, 3, {}), (2, 2, small | {"memory_requested_gb": 120.0})):
        ended = timezone.now() - timedelta(days=days_ago)
        times = {"ended_at": ended.isoformat(), "started_at": (ended - 2 * HOUR).isoformat()}
        reported(job_id, job_name="gromacs", **times, **more)
    JobEfficiency.objects.filter(job__job_id=2).update(saved_gpu_hours=None, savings=None)
    page = " ".join(text(cast("alice"), "/").split()).replace("\u00a0", " ")
    assert "No savings to suggest" in page
    # The request of eight GPUs for two hours states 6.00 of 8.00.
    assert "6.00 GPU-hours of earlier suggestions are left out: your later runs already changed this." in page
    assert "No suggested request that is still open, from your jobs of the last 30 days, states a saving" in page
    assert "For your jobs of the last 30 days no suggested request" not in page


def test_a_pi_reads_what_her_members_left_unused_with_the_way_to_the_project(cast, reported) -> None:
    """Alice's run and her own: 8.0 GPU-hours each at 22 % use, 6.24 unused of each; a member reads no such line."""
    ended = an_hour_ago_today()
    times = {"ended_at": ended.isoformat(), "started_at": (ended - 2 * HOUR).isoformat()}
    reported(1, **times)
    reported(2, user_id="carol", **times)
    for roll in (False, True):
        if roll:
            call_command("roll_up", verbosity=0)
        page = " ".join(text(cast("carol"), "/").split()).replace("\u00a0", " ")
        link = '<a href="/projects/project_465000001/">project_465000001</a>'
        assert f"In {link} the members, you included, left <b>12.5 GPU-hours</b> unused in" in page, (
            f"rolled up: {roll}"
        )
        assert "the members, you included" not in text(cast("alice"), "/")


def test_less_than_a_gpu_hour_of_members_is_no_line(cast, reported) -> None:
    ended = an_hour_ago_today()
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(minutes=14)).isoformat()}
    reported(2, user_id="carol", walltime_used_s=840.0, **times)
    # 4 x 14 / 60 = 0.93 GPU-hours, 0.73 of them unused.
    assert "the members, you included" not in text(cast("carol"), "/")
