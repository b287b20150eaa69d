"""Dashboard, history, projects, about: who sees what, what an empty page says, and what a page costs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from analysis.thresholds import RULES_VERSION
from jobs.models import Project, ProjectAllocation
from tests.portal.conftest import an_hour_ago_today

PAGES = ("/", "/history/", "/projects/project_465000001/")


@pytest.fixture
def recent(reported) -> None:
    """Two jobs of alice's that ended an hour ago, or as this day began."""
    ended = an_hour_ago_today()
    reported(1, 2, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_the_dashboard_of_someone_without_jobs_says_what_will_come(cast) -> None:
    page = text(cast("dave"), "/")
    assert "No jobs yet" in page
    assert "within minutes" in page


def test_the_dashboard_adds_up_this_month_and_names_the_best_advice(cast, recent) -> None:
    answer = cast("alice").get("/")
    this_month = answer.context["months"][0]["sum"]
    # Two runs of 8 GPUs for two hours: 2 x 8.0 billed, 22 % used.
    assert (this_month.jobs, this_month.gpu_hours) == (2, pytest.approx(16.0))
    assert this_month.wasted_gpu_hours == pytest.approx(16.0 * 0.78)
    (advice,) = answer.context["advice"]
    assert (advice.jobs, advice.gpu_hours) == (2, pytest.approx(12.0))
    assert advice.diff[0] == "--gpus-per-node=8 -> --gpus-per-node=2"
    assert "could save" in answer.content.decode()


def test_the_dashboard_names_the_cause_to_mend_where_the_request_fits(cast, reported) -> None:
    ended = an_hour_ago_today()
    reported(1, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat(), request={})
    RecommendationRow.objects.all().delete()
    JobEfficiency.objects.update(savings=None, saved_gpu_hours=None)
    answer = cast("alice").get("/")
    (advice,) = answer.context["advice"]
    assert (advice.code, advice.jobs, advice.diff) == ("idle_gpus", 1, ())
    # Six of eight GPUs stood idle: three quarters of eight hours, times the confidence.
    confidence = FindingRow.objects.get(code="idle_gpus").confidence
    assert advice.gpu_hours == pytest.approx(6.0 * confidence)
    assert 'href="/learn/idle_gpus/"' in answer.content.decode()


def test_the_dashboard_draws_the_weeks_of_the_trend(cast, recent) -> None:
    answer = cast("alice").get("/")
    classes, median = answer.context["charts"]
    # Twelve weeks and the one that has begun.
    assert len(classes.rows) == len(median.rows) == 13
    assert classes.columns[-1].text.endswith(": 2 jobs, 16.0 GPU-hours (Inefficient 16.0)")
    assert answer.content.decode().count("data-plot") == 2


def test_a_pi_finds_only_own_jobs_on_the_dashboard_and_may_look_at_all_in_the_history(cast, recent) -> None:
    carol = cast("carol")
    assert "No jobs yet" in text(carol, "/")
    assert "No counted job" in text(carol, "/history/")
    assert carol.get("/history/?of=all").context["sum"].jobs == 2
    assert cast("dave").get("/history/?of=all").context["sum"].jobs == 0


@pytest.mark.parametrize("days", ["7", "30", "90", "365", "5", "x", ""])
def test_the_history_of_any_time_shows_charts_with_the_same_numbers_as_a_table(cast, recent, days: str) -> None:
    answer = cast("alice").get(f"/history/?days={days}")
    classes = answer.context["charts"][0]
    assert classes.summary == "Stacked columns: 16.0 GPU-hours in all, by class of their jobs."
    assert sum(int(row[1]) for row in classes.rows) == 2
    assert 'href="/jobs/?finding=idle_gpus"' in answer.content.decode()


def test_every_step_of_every_chart_can_be_read_also_where_nothing_was_measured(cast, recent) -> None:
    answer = cast("alice").get("/history/?days=7")
    page = answer.content.decode()
    for chart in answer.context["charts"]:
        assert len(chart.columns) == len(chart.rows)
        assert all(f"<title>{column.text}</title>" in page for column in chart.columns)
    classes, median, waste = (chart.columns for chart in answer.context["charts"])
    assert classes[-1].text.endswith(": 2 jobs, 16.0 GPU-hours (Inefficient 16.0)")
    assert median[-1].text.endswith(": 22 %, 2 jobs")
    assert median[0].text.endswith(": no measured job")
    assert waste[-1].text.endswith(": 12.5 of 16.0 GPU-hours wasted")
    assert page.count("data-plot") == len(answer.context["charts"]) + len(answer.context["findings"])


def test_no_page_has_inline_style_or_script(cast, recent) -> None:
    for path in (*PAGES, "/projects/", "/about/", "/jobs/"):
        page = text(cast("alice"), path)
        assert " style=" not in page
        assert "<script" not in page.replace('<script src="/static/', "")


def test_a_member_sees_the_own_part_of_a_project_and_the_pi_all_with_its_members(cast, recent) -> None:
    path = "/projects/project_465000001/"
    assert cast("alice").get(path).context["sum"].jobs == 2
    bob = cast("bob").get(path)
    assert (bob.context["sum"].jobs, bob.context["members"]) == (0, [])
    carol = cast("carol").get(path)
    rows = [(member.username, member.role, member.jobs) for member in carol.context["members"]]
    assert rows == [("alice", "Member", 2), ("bob", "Member", 0), ("carol", "PI", 0)]
    assert carol.context["members"][0].mean_util == pytest.approx(22.0)


def test_the_pi_gets_the_project_as_data_too(cast, recent) -> None:
    said = cast("carol").get("/api/v1/projects/project_465000001/summary/?days=30").json()
    assert (said["jobs"], said["days"], said["median_gpu_util"]) == (2, 30, pytest.approx(22.0))
    assert said["classes"] == [{"efficiency_class": "INEFFICIENT", "jobs": 2, "gpu_hours": pytest.approx(16.0)}]
    assert {"code": "idle_gpus", "jobs": 2, "wasted_gpu_hours": pytest.approx(12.48)} in said["findings"]


@pytest.fixture
def allocated(cast) -> None:
    """1,000 GPU-hours for a year of which 100 days are gone, 600 of them used."""
    today = timezone.localdate()
    ProjectAllocation.objects.create(
        source="lumi",
        project=Project.objects.get(),
        gpu_hours=1000.0,
        used_gpu_hours=600.0,
        begins_on=today - timedelta(days=100),
        ends_on=today + timedelta(days=265),
        read_at=timezone.now(),
    )


@pytest.mark.parametrize("name", ["alice", "carol"])
def test_who_belongs_to_a_project_sees_its_hours_against_the_allocation(cast, recent, allocated, name: str) -> None:
    line = cast(name).get("/projects/project_465000001/").context["allocation"]
    assert (line.used_fraction, line.pace.word, line.used_width) == (pytest.approx(0.6), "faster", 60.0)
    # 100 days for 60 % are 166.7 for all.
    assert line.pace.runs_out_on == timezone.localdate() + timedelta(days=66)
    page = " ".join(text(cast(name), "/projects/project_465000001/").split())
    assert "27 % of its time has passed (the mark): the hours go faster than the time." in page
    assert "600.0 of 1,000 GPU-hours used (60 %)" in " ".join(text(cast(name), "/projects/").split())


def test_a_project_without_an_allocation_says_nothing_of_one(cast, recent) -> None:
    assert "allocation" not in text(cast("carol"), "/projects/project_465000001/")
    assert cast("carol").get("/api/v1/projects/project_465000001/summary/").json()["allocation"] is None


def test_use_that_nobody_counts_is_said_and_not_filled_in(cast, recent, allocated) -> None:
    ProjectAllocation.objects.update(used_gpu_hours=None, source="waldur")
    page = text(cast("alice"), "/projects/project_465000001/")
    assert "It does not say how much is used." in page
    assert 'class="meter"' not in page
    said = cast("carol").get("/api/v1/projects/project_465000001/summary/").json()["allocation"]
    assert (said["gpu_hours"], said["used_gpu_hours"], said["source"]) == (1000.0, None, "waldur")


@pytest.mark.parametrize("name", ["dave", "erin"])
def test_a_project_of_others_is_answered_like_one_that_does_not_exist(cast, recent, name: str) -> None:
    assert cast(name).get("/projects/project_465000001/").status_code == 404
    assert cast(name).get("/projects/project_465000099/").status_code == 404


def test_the_list_of_projects_names_the_role(cast) -> None:
    assert "You are PI." in text(cast("carol"), "/projects/")
    assert "No project" in text(cast("dave"), "/projects/")


def test_a_membership_that_ended_ends_the_access_at_the_next_request(cast, recent) -> None:
    carol = cast("carol")
    assert carol.get("/projects/project_465000001/").status_code == 200
    Project.objects.get().memberships.filter(user__username="carol").delete()
    assert carol.get("/projects/project_465000001/").status_code == 404
    assert carol.get("/jobs/lumi/1/").status_code == 404


def test_about_is_open_and_tells_the_thresholds_in_force(db) -> None:
    page = text(Client(), "/about/")
    assert "70 % or more" in page
    assert RULES_VERSION in page


@pytest.mark.parametrize("path", PAGES)
def test_a_page_costs_the_same_queries_for_two_jobs_and_for_forty(cast, recent, reported, path: str) -> None:
    client, counts = cast("alice"), []
    for more in ((), range(3, 41)):
        if more:
            ended = timezone.now() - timedelta(hours=3)
            reported(*more, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_database_that_is_away_is_a_page_that_says_so(cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("portal.charts.over_time.overview_of", away)
    answer = cast("alice").get("/history/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "connection refused" not in answer.content.decode()
