"""Runs side by side: which ones a person may compare, what differs between them, and what the page costs."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.expiry.services import thin_measurements
from analysis.models import JobEfficiency
from jobs.models import Job, JobOpening
from jobs.services import record_job
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

ON_TWO = {"request": {"--gpus-per-node": "2", "--ntasks-per-node": "8", "--time": "03:00:00"}}
TWO = "/compare/?job=lumi/1&job=lumi/2"


@pytest.fixture
def two(reported) -> None:
    reported(1)
    reported(2, **ON_TWO)


@pytest.mark.parametrize(
    ("name", "status"), [("alice", 200), ("carol", 200), ("bob", 404), ("dave", 404), ("erin", 404), ("grace", 404)]
)
def test_only_who_sees_every_one_of_the_runs_compares_them(cast, two, name: str, status: int) -> None:
    assert cast(name).get(TWO).status_code == status


def test_who_is_not_signed_in_signs_in_first(two) -> None:
    answer = Client().get(TWO)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/")


def test_one_run_of_somebody_else_among_own_ones_is_not_found(cast, two) -> None:
    record_job(job_record(job_id=3, user_id="bob"))
    assert cast("alice").get("/compare/?job=lumi/1&job=lumi/3").status_code == 404
    assert cast("bob").get("/compare/?job=lumi/1&job=lumi/3").status_code == 404
    assert cast("carol").get("/compare/?job=lumi/1&job=lumi/3").status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "lumi/99",
        "lumi/1.7",
        "other/1",
        "lumi",
        "1",
        "lumi/1.",
        "lumi/x",
        "lumi/1/2",
        "../1",
        "lumi/" + "9" * 40,
    ],
)
def test_what_names_no_run_is_not_found(cast, two, name: str) -> None:
    assert cast("alice").get(f"/compare/?job=lumi/2&job={name}").status_code == 404


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "Choose two to four jobs."),
        ("?job=", "Choose two to four jobs."),
        ("?job=lumi/1", "One job alone cannot be compared"),
        ("?" + "&".join(f"job=lumi/{number}" for number in range(5)), "5 jobs do not fit side by side"),
        ("?job=lumi/1&job=lumi/1", "The same job stands there twice"),
        ("?job=lumi/1&job=lumi/1.0", "The same job stands there twice"),
    ],
)
def test_where_there_is_nothing_to_compare_a_page_offers_the_latest_jobs(cast, two, query: str, said: str) -> None:
    answer = cast("alice").get(f"/compare/{query}")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in page
    assert 'value="lumi/2.0"' in page


def test_the_page_to_choose_from_keeps_what_was_chosen_and_shows_nothing_of_others(cast, two) -> None:
    page = cast("dave").get("/compare/?job=lumi/1").content.decode()
    assert 'value="lumi/1" checked' in page
    assert "train" not in page
    assert 'value="lumi/1.0" checked' in cast("alice").get("/compare/?job=lumi/1").content.decode()


def test_the_latest_attempt_is_compared_unless_one_is_named(cast, two) -> None:
    record_job(job_record(job_id=1, attempt=1))
    client = cast("alice")
    assert [side.run.attempt for side in client.get(TWO).context["sides"]] == [1, 0]
    both = client.get("/compare/?job=lumi/1.0&job=lumi/1.1").context["sides"]
    assert [side.run.attempt for side in both] == [0, 1]


def test_only_what_differs_between_the_requests_stands_open(cast, two) -> None:
    shown = cast("alice").get(TWO).context
    whole = Job.objects.get(job_id=1).request
    assert [row.option for row in shown["different"] if row.option == "--gpus-per-node"] == ["--gpus-per-node"]
    assert all(row.values[0] != row.values[1] for row in shown["different"])
    assert {row.option: row.values[0] for row in shown["same"]}.items() <= whole.items()
    assert shown["are_own"]


def test_where_a_request_is_not_known_what_slurm_allocated_is_compared(cast, reported) -> None:
    reported(1)
    reported(2, request={}, gpus_allocated=4)
    answer = cast("alice").get(TWO)
    different = {row.option: row.values for row in answer.context["different"]}
    assert different["--gpus-per-node"] == ("8", "4")
    assert "shows what Slurm allocated" in answer.content.decode()


def test_used_unused_and_billed_hours_add_up(cast, two) -> None:
    for side in cast("alice").get(TWO).context["sides"]:
        assert side.used_gpu_hours + side.judged.wasted_gpu_hours == pytest.approx(side.judged.gpu_hours)


def test_use_is_on_one_axis_and_its_table_says_the_same(cast, reported) -> None:
    """Two hours at (88 + 88 + 6 x 0) / 8 = 22 %; the other one is taken for half as long."""
    reported(1)
    reported(2, walltime_used_s=3600)
    answer = cast("alice").get(TWO)
    chart = answer.context["chart"]
    assert chart.ticks == ("0:00:00", "1:00:00", "2:00:00")
    assert chart.head == ("", "Job 1", "Job 2")
    # 12 of 48 parts of two hours, 150 s each: every fourth, at its middle.
    assert chart.rows[0] == ("0:01:15", "22.0 %", "22.0 %")
    assert chart.rows[-1] == ("1:51:15", "22.0 %", "ended")
    assert [line.css_class for line in chart.lines] == ["run-1", "run-2"]
    ends = [float(line.strokes[-1].rpartition(" ")[2].partition(",")[0]) for line in chart.lines]
    # The middle of the last minute: 119.5 and 59.5 of 120 minutes.
    assert ends == [pytest.approx(995.8), pytest.approx(495.8)]


def test_a_run_whose_measurements_over_time_are_gone_keeps_the_course_of_its_judgement(cast, two) -> None:
    assert sum(thin_measurements(timezone.now() + timedelta(days=1))) == 2
    chart = cast("alice").get(TWO).context["chart"]
    assert all(line.is_coarse and line.strokes for line in chart.lines)
    assert chart.rows[0][1] == "22.0 %"


def test_runs_without_report_or_measurements_are_compared_as_far_as_they_are_known(cast) -> None:
    for job_id in (1, 2):
        record_job(job_record(job_id=job_id, gpus_allocated=None, request={}))
    answer = cast("alice").get(TWO)
    assert answer.status_code == 200
    assert answer.context["chart"].is_empty
    assert "No report yet." in answer.content.decode()


def test_the_owner_sees_that_a_pi_compared_the_runs(cast, two) -> None:
    cast("alice").get(TWO)
    assert not JobOpening.objects.exists()
    client = cast("carol")
    page = client.get(TWO).content.decode()
    assert sorted(JobOpening.objects.values_list("job__job_id", "user__username")) == [(1, "carol"), (2, "carol")]
    assert "alice’s job" in page


def test_measurements_are_read_once_for_each_run_and_more_findings_cost_no_more(cast, two, reported) -> None:
    client = cast("alice")
    client.get(TWO)
    with CaptureQueriesContext(connection) as pair:
        client.get(TWO)
    read = Counter("metrics_nodesummary" in query["sql"] for query in pair)
    assert read[True] == 2
    reported(3, **ON_TWO)
    with CaptureQueriesContext(connection) as three:
        client.get(f"{TWO}&job=lumi/3")
    each = len(three) - len(pair)
    reported(4)
    with CaptureQueriesContext(connection) as four:
        client.get(f"{TWO}&job=lumi/3&job=lumi/4")
    assert len(four) - len(three) == each <= 5


def test_three_runs_can_lose_one_and_two_cannot(cast, two, reported) -> None:
    reported(3)
    client = cast("alice")
    assert "?job=lumi/2.0&amp;job=lumi/3.0" in client.get(f"{TWO}&job=lumi/3").content.decode()
    assert client.get(TWO).context["without"] == []


def test_a_run_without_a_price_or_use_says_so(cast, two) -> None:
    JobEfficiency.objects.update(gpu_hours=None, wasted_gpu_hours=None, avg_gpu_util=None)
    page = cast("alice").get(TWO).content.decode()
    assert "price not known" in page
    assert "not known" in page
    assert "not measured" in page


def rows_of(page: str) -> dict[str, list[str]]:
    """The texts of every row of the comparison by its head."""
    rows = re.findall(r'<tr><th scope="row">([^<]+)</th>(.*?)</tr>', page)
    return {head: [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", cells)] for head, cells in rows}


def test_a_run_that_was_too_short_to_judge_has_no_class_as_on_its_own_page(cast, reported) -> None:
    reported(1)
    reported(2, walltime_used_s=1, started_at="2026-11-20T11:59:59Z")
    reported(3, walltime_used_s=420, state="CANCELLED", started_at="2026-11-20T11:53:00Z")
    client = cast("alice")
    page = client.get(f"{TWO}&job=lumi/3").content.decode()
    assert rows_of(page)["Class"] == ["Inefficient", "Not judged", "Not judged"]
    assert '<span class="badge unknown">Not judged</span>' in page
    for number in (2, 3):
        assert client.get(f"/jobs/lumi/{number}/").context["page"].class_name.startswith("Not judged")


def test_only_a_run_that_ended_is_said_to_have_ended(cast, reported) -> None:
    reported(1)
    record_job(job_record(job_id=2, state="RUNNING", ended_at=None, walltime_used_s=None))
    record_job(job_record(job_id=3, state="PENDING", started_at=None, ended_at=None, walltime_used_s=None))
    record_job(job_record(job_id=4, state="CANCELLED", started_at=None, walltime_used_s=0))
    chart = cast("alice").get(f"{TWO}&job=lumi/3&job=lumi/4").context["chart"]
    assert chart.rows[0] == ("0:01:15", "22.0 %", "still running", "not measured", "not measured")


def test_gpus_nodes_and_partition_are_stated_whatever_the_options_are(cast, reported) -> None:
    reported(1, request={"--time": "01:00:00"}, gpus_allocated=8, node_count=1, partition="small-g")
    reported(2, request={"--time": "01:00:00"}, gpus_allocated=1024, node_count=128, partition="standard-g")
    record_job(job_record(job_id=3, gpus_allocated=None, node_count=None, partition="", nodes=[]))
    page = cast("alice").get(f"{TWO}&job=lumi/3").content.decode()
    rows = rows_of(page)
    assert rows["GPUs"] == ["8", "1,024", "not known"]
    assert rows["Nodes"] == ["1", "128", "not known"]
    assert rows["Partition"] == ["small-g", "standard-g", "not known"]
    assert "The requests are the same." not in page


def test_a_finding_leads_to_its_place_on_the_page_of_its_job(cast, two) -> None:
    client = cast("alice")
    found = re.findall(r'href="(/jobs/lumi/1/[^"#]*)#([^"]+)"', client.get(TWO).content.decode())
    assert found
    assert all(f'id="{anchor}"' in client.get(url).content.decode() for url, anchor in found)
