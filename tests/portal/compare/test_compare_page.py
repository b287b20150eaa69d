"""Runs side by side: which ones a person may compare, what differs between them, and what the page costs."""

from __future__ import annotations

import html
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
    answer = cast(name).get(TWO)
    assert answer.status_code == status
    assert ("train" in answer.content.decode()) == (status == 200)


def test_who_is_not_signed_in_signs_in_first(two) -> None:
    answer = Client().get(TWO)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/")


def told_missing(page: str) -> list[str]:
    """The names that a page states as not found."""
    return [html.unescape(name) for name in re.findall(r'<code class="missing">([^<]*)</code>', page)]


def test_one_run_of_somebody_else_among_own_ones_is_not_found_and_the_others_are_compared(cast, two) -> None:
    record_job(job_record(job_id=3, user_id="bob", job_name="secret_of_bob"))
    answer = cast("alice").get(f"{TWO}&job=lumi/3")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert [side.run.job_id for side in answer.context["sides"]] == [1, 2]
    assert told_missing(page) == ["lumi/3"]
    assert "secret_of_bob" not in page
    assert 'href="?job=lumi/1.0&amp;job=lumi/2.0"' in page, "the address without it"
    of_pi = cast("carol").get(f"{TWO}&job=lumi/3")
    assert told_missing(of_pi.content.decode()) == []
    assert len(of_pi.context["sides"]) == 3


def test_a_run_of_somebody_else_and_one_that_never_was_get_the_same_answer(cast, two) -> None:
    record_job(job_record(job_id=3, user_id="bob"))
    pages = []
    for number in (3, 4):
        answer = cast("alice").get(f"{TWO}&job=lumi/{number}")
        page = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", answer.content.decode())
        pages.append(page.replace(f"lumi/{number}", "lumi/N"))
    assert pages[0] == pages[1]


def test_an_expired_run_does_not_take_the_others_with_it(cast, two, reported) -> None:
    reported(3)
    Job.objects.get(job_id=3).delete()
    answer = cast("alice").get(f"{TWO}&job=lumi/3.0")
    assert answer.status_code == 200
    assert told_missing(answer.content.decode()) == ["lumi/3.0"]


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
        "<b>lumi</b>/1",
    ],
)
def test_what_names_no_run_is_stated_and_the_rest_can_be_compared_or_joined_by_others(cast, two, name: str) -> None:
    alice = cast("alice")
    answer = alice.get("/compare/", {"job": ["lumi/1", "lumi/2", name]})
    assert answer.status_code == 200
    assert told_missing(answer.content.decode()) == [name]
    assert len(answer.context["sides"]) == 2
    one_left = alice.get("/compare/", {"job": ["lumi/2", name]})
    page = one_left.content.decode()
    assert one_left.status_code == 200
    assert told_missing(page) == [name]
    assert 'value="lumi/2.0" checked' in page
    assert 'value="lumi/1.0">' in page
    assert "One job alone cannot be compared" in page


def test_a_long_or_misleading_name_that_was_not_found_is_cut_and_cleaned(cast, two) -> None:
    page = cast("alice").get("/compare/", {"job": ["lumi/1", "lumi/2", "exe\u202egpj" + "x" * 500]}).content.decode()
    (shown,) = told_missing(page)
    assert shown.startswith("exe\ufffdgpj")
    assert len(shown) <= 80


def test_where_no_job_of_the_address_is_found_others_are_offered(cast, two) -> None:
    """With the status of a stranger's page: it holds nothing that was asked for."""
    answer = cast("alice").get("/compare/?job=lumi/98&job=lumi/99")
    page = answer.content.decode()
    assert answer.status_code == 404
    assert told_missing(page) == ["lumi/98", "lumi/99"]
    assert 'value="lumi/2.0"' in page
    assert cast("dave").get("/compare/?job=lumi/1").status_code == 404


def test_chosen_jobs_are_shown_by_name_and_number(cast, two, reported) -> None:
    """Also those that are not among the latest eight."""
    reported(*range(3, 11), job_name="later", started_at="2026-11-21T10:00:00Z", ended_at="2026-11-21T12:00:00Z")
    page = cast("alice").get("/compare/?job=lumi/1").content.decode()
    box = re.search(r'<label><input [^>]*value="lumi/1\.0" checked>(.*?)</label>', page, re.DOTALL)
    assert box is not None
    assert re.sub(r"<[^>]+>", "", box[1]).split()[:2] == ["train", "1"]
    assert page.count('value="lumi/1.0"') == 1
    assert "lumi/1.0" not in re.sub(r"<[^>]*>", "", page), "no raw key to read"


def test_of_more_jobs_than_fit_each_is_offered_by_name(cast, two, reported) -> None:
    reported(3, 4, 5)
    page = cast("alice").get("/compare/?" + "&".join(f"job=lumi/{number}" for number in range(1, 7))).content.decode()
    assert page.count('" checked>') == 5
    assert told_missing(page) == ["lumi/6"]
    assert "5 jobs do not fit side by side: choose at most four." in page


def test_a_hundred_names_cost_no_more_queries_than_two(cast, two) -> None:
    client = cast("alice")
    client.get("/compare/?job=lumi/1")
    with CaptureQueriesContext(connection) as few:
        client.get("/compare/?job=lumi/1")
    with CaptureQueriesContext(connection) as many:
        answer = client.get("/compare/", {"job": ["lumi/1", *(f"lumi/{number}" for number in range(100, 600))]})
    assert answer.status_code == 200
    assert len(many) == len(few)
    assert len(told_missing(answer.content.decode())) <= 20


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "Choose two to four jobs."),
        ("?job=", "Choose two to four jobs."),
        ("?job=lumi/1", "One job alone cannot be compared"),
        ("?" + "&".join(f"job=lumi/{number}" for number in range(1, 22)), "21 jobs do not fit side by side"),
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
    assert "train" not in page
    assert '" checked>' not in page
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
