"""History and about: who sees what, what an empty page shows, and what these pages and their neighbours cost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.thresholds import RULES_VERSION
from jobs.models import Job, User
from tests.portal.conftest import text

PAGES = ("/", "/history/", "/projects/project_465000001/")


def test_a_pi_may_look_at_all_in_the_history(cast, recent) -> None:
    carol = cast("carol")
    assert "No jobs counted" in text(carol, "/history/")
    assert carol.get("/history/?of=all").context["sum"].jobs == 2
    assert cast("dave").get("/history/?of=all").context["sum"].jobs == 0


@pytest.mark.parametrize("days", ["7", "30", "90", "365", "5", "x", ""])
def test_the_history_of_any_time_shows_charts_with_the_same_numbers_as_a_table(cast, recent, days: str) -> None:
    answer = cast("alice").get(f"/history/?days={days}")
    classes = answer.context["charts"][0]
    assert classes.summary == "Stacked columns: 16.0 GPU-hours in all, by class of their jobs."
    assert sum(int(row[1]) for row in classes.rows) == 2
    assert "&amp;finding=idle_gpus" in answer.content.decode()


def test_a_finding_of_the_history_leads_to_the_jobs_it_was_counted_in(cast, recent, reported) -> None:
    long_ago = timezone.now() - timedelta(days=60)
    reported(3, ended_at=long_ago.isoformat(), started_at=(long_ago - timedelta(hours=2)).isoformat())
    since = f"{timezone.localtime() - timedelta(days=29):%Y-%m-%d}"
    row = cast("alice").get("/history/?days=30").context["findings"][0]
    assert (row.jobs, row.url) == (2, f"/jobs/?since={since}&zone=site&finding={row.code}")
    listed = b"".join(cast("alice").get(row.url.replace("/jobs/", "/jobs.csv"))).decode().splitlines()
    assert len(listed) == 1 + 2, "a head and both jobs, without that of sixty days ago"
    # A PI's list holds those of others too.
    Job.objects.filter(job_id=1).update(user=User.objects.get(username="carol"))
    JobEfficiency.objects.filter(job__job_id=1).update(user=User.objects.get(username="carol"))
    carol = cast("carol")
    ninety = carol.get("/history/").context["findings"]
    assert {row.url for row in carol.get("/history/?days=30").context["findings"]} == {
        f"/jobs/?owner=carol&since={since}&zone=site&finding={row.code}" for row in ninety
    }
    assert "owner" not in carol.get("/history/?days=30&of=all").context["findings"][0].url


def test_the_hours_of_a_job_count_once_over_all_findings(cast, recent) -> None:
    context = cast("alice").get("/history/").context
    assert len(context["findings"]) > 1
    # Two runs of 8.0 GPU-hours, 22 % used, all of it under the first of their findings.
    assert [(row.first_jobs, row.wasted_gpu_hours) for row in context["findings"]] == [
        (2, pytest.approx(12.48)),
        *[(0, 0.0)] * (len(context["findings"]) - 1),
    ]
    assert context["without_finding"] == pytest.approx(0.0)


def test_every_step_of_every_chart_can_be_read_also_where_nothing_was_measured(cast, recent) -> None:
    answer = cast("alice").get("/history/?days=7")
    page = answer.content.decode()
    for chart in answer.context["charts"]:
        assert len(chart.columns) == len(chart.rows)
        assert all(f"<title>{column.text}</title>" in page for column in chart.columns)
    classes, median, waste = (chart.columns for chart in answer.context["charts"])
    assert classes[-1].text.endswith(": 2 jobs, 16.0 GPU-hours (Inefficient 16.0)")
    assert median[-1].text.endswith(": 22\N{NO-BREAK SPACE}%, 2 jobs")
    assert median[0].text.endswith(": no measured job")
    assert waste[-1].text.endswith(": 12.5 of 16.0 GPU-hours unused")
    assert page.count("data-plot") == len(answer.context["charts"]) + len(answer.context["findings"])


def test_no_page_has_inline_style_or_script(cast, recent) -> None:
    for path in (*PAGES, "/projects/", "/about/", "/jobs/"):
        page = text(cast("alice"), path)
        assert " style=" not in page
        assert "<script" not in page.replace('<script src="/static/', "")


def test_about_is_open_and_tells_the_thresholds_in_force(db) -> None:
    page = text(Client(), "/about/")
    assert "70 % or more" in page
    assert RULES_VERSION in page


@pytest.mark.one_database
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
