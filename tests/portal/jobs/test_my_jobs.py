"""The page of my jobs."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload


@pytest.mark.parametrize(
    ("name", "sees"), [("alice", True), ("carol", True), ("bob", False), ("dave", False), ("erin", False)]
)
def test_the_owner_and_the_pi_see_the_job_and_nobody_else(cast, reported, name: str, sees: bool) -> None:
    reported()
    content = cast(name).get("/jobs/").content.decode()
    assert ("123456" in content) == sees
    assert ("No jobs yet" in content) != sees


def test_anonymous_people_are_sent_to_sign_in(cast) -> None:
    assert Client().get("/jobs/")["Location"] == "/sign-in/?next=/jobs/"


def test_a_row_shows_use_class_finding_and_unused_hours(cast, reported) -> None:
    reported()
    content = cast("alice").get("/jobs/").content.decode()
    # Eight GPUs, four modules, for two hours: 8 GPU-hours, of which 22 % were used and 6.24 were not.
    assert '<path class="c-inefficient"' in content
    assert "<b>6.24</b><small>of 8.00</small>" in content
    assert " 12:00</span></time><small>2 h 00 min</small>" in content
    link = re.search(r'<td class="finding"><a href="([^"]+)">([^<]+)</a>', content)
    assert link.groups() == ("/jobs/lumi/123456/?attempt=0#finding-idle_gpus", "Some GPUs stayed idle")
    for shown_text in ("22.0\u00a0%", "Inefficient"):
        assert shown_text in content


def test_only_a_pi_is_shown_whose_job_it_is(cast, reported) -> None:
    reported()
    assert ">Owner</th>" in cast("carol").get("/jobs/").content.decode()
    assert ">Owner</th>" not in cast("alice").get("/jobs/").content.decode()


@pytest.fixture
def several(cast, reported) -> Client:
    """Three jobs of alice's that differ in name, partition, end and size."""
    reported(1, job_name="train", ended_at="2026-11-01T12:00:00Z", started_at="2026-11-01T10:00:00Z")
    reported(2, job_name="=SUM(A1)", partition="dev-g", ended_at="2026-11-10T12:00:00Z")
    reported(3, job_name="Evaluate", gpus_allocated=16, node_count=2, ended_at="2026-11-20T12:00:00Z")
    return cast("alice")


def shown(client: Client, **choices: str) -> list[int]:
    """The job ids in the order in which the page shows them."""
    return [row.run.job_id for row in client.get("/jobs/", choices).context["page"].runs]


@pytest.mark.parametrize(
    ("choices", "ids"),
    [
        ({}, [3, 2, 1]),
        ({"efficiency_class": "INEFFICIENT", "partition": "small-g"}, [3, 1]),
        ({"efficiency_class": "EFFICIENT"}, []),
        ({"finding": "idle_gpus"}, [2, 1]),
        ({"finding": "throttled"}, []),
        ({"partition": "dev-g"}, [2]),
        ({"project": "project_465000001", "state": "COMPLETED"}, [3, 2, 1]),
        ({"state": "FAILED"}, []),
        ({"since": "2026-11-05", "until": "2026-11-10"}, [2]),
        ({"q": "EVAL"}, [3]),
        ({"q": "2"}, [2]),
        ({"sort": "hours", "until": "2026-11-30"}, [3, 2, 1]),
        ({"sort": "nonsense", "partition": "<b>", "since": "yesterday", "page": "x"}, [3, 2, 1]),
    ],
)
def test_jobs_are_narrowed_and_sorted_by_the_address(several, choices: dict[str, str], ids: list[int]) -> None:
    assert shown(several, **choices) == ids


def test_what_was_chosen_stays_chosen_and_an_empty_choice_says_so(several) -> None:
    content = several.get("/jobs/?efficiency_class=EFFICIENT").content.decode()
    assert '<option value="EFFICIENT" selected>' in content
    assert "No jobs match these filters" in content


def test_the_same_jobs_come_as_csv_in_which_no_name_is_a_formula(several) -> None:
    answer = several.get("/jobs.csv?sort=ended&partition=dev-g")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    head, line = b"".join(answer.streaming_content).decode().splitlines()
    row = dict(zip(head.split(","), line.split(","), strict=True))
    assert (row["job_id"], row["job_name"], row["class"]) == ("2", "'=SUM(A1)", "INEFFICIENT")
    assert (row["avg_gpu_util_percent"], row["user"]) == ("22.0", "alice")


@pytest.mark.parametrize(("name", "rows"), [("carol", 3), ("bob", 0), ("dave", 0), ("erin", 0)])
def test_the_csv_holds_only_what_this_person_may_see(several, cast, name: str, rows: int) -> None:
    client = Client()
    client.force_login(User.objects.get(username=name))
    assert len(b"".join(client.get("/jobs.csv").streaming_content).splitlines()) == 1 + rows


@pytest.mark.parametrize(
    ("record", "reads"),
    [
        ({"state": "RUNNING", "ended_at": None}, "running"),
        ({"state": "COMPLETED"}, "being analysed"),
        ({"state": "CANCELLED", "started_at": None}, "never started"),
        ({"state": "PENDING", "started_at": None, "ended_at": None}, "not started yet"),
    ],
)
def test_what_is_not_judged_yet_says_so(cast, record: dict, reads: str) -> None:
    record_job(job_record(job_id=1, **record))
    content = cast("alice").get("/jobs/").content.decode()
    assert f'<td class="used none">{reads}</td>' in content


def test_where_nothing_was_measured_no_price_is_missing(cast) -> None:
    record_job(job_record(job_id=1))
    record_node_summary(node_payload(gpus=[], job_id=1))
    call_command("analyse_job", "--due", verbosity=0)
    content = cast("alice").get("/jobs/").content.decode()
    assert "not measured" in content
    assert "price not known" not in content


SHOWN_CLASS = re.compile(r'<td class="class">(.*?)</td>', re.DOTALL)


@pytest.mark.parametrize(
    ("record", "reads"),
    [
        ({}, "Wasted"),
        ({"ended_at": "2026-11-20T10:02:00Z"}, "Not judged<small>short, not counted</small>"),
        ({"ended_at": "2026-11-20T10:08:00Z", "state": "FAILED"}, "Not judged<small>ended early</small>"),
        ({"state": "NODE_FAIL"}, "Not judged<small>system failure, not counted</small>"),
    ],
)
def test_a_run_that_is_not_judged_is_nowhere_called_wasted(cast, record: dict, reads: str) -> None:
    given = {"job_id": 1, "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T12:00:00Z", "array_job_id": 1}
    record_job(job_record(**given | {"walltime_used_s": None} | record))
    record_node_summary(node_payload(gpus=[gpu(index, 3.0) for index in range(8)], job_id=1))
    call_command("analyse_job", "--due", verbosity=0)
    name = "WASTED" if reads == "Wasted" else "NOT_JUDGED"
    client = cast("alice")
    assert SHOWN_CLASS.findall(client.get("/jobs/").content.decode()) == [reads]
    assert [shown(client, efficiency_class=each) for each in ("WASTED", "NOT_JUDGED")] == (
        [[1], []] if name == "WASTED" else [[], [1]]
    )
    head, line = b"".join(client.get("/jobs.csv").streaming_content).decode().splitlines()
    assert dict(zip(head.split(","), line.split(","), strict=True))["class"] == name
    # Beside another task of its array.
    record_job(job_record(**given | {"job_id": 2}))
    assert [row.tasks.classes for row in client.get("/jobs/").context["page"].runs] == [((reads.split("<")[0], 1),)]
    (work,) = client.get("/jobs/?group=work").context["works"].rows
    assert (work.classes, work.not_analysed) == (((reads.split("<")[0], 1),), 1)


def test_a_hostile_name_is_text(cast, reported) -> None:
    reported(job_name="<script>alert(1)</script>")
    content = cast("alice").get("/jobs/").content.decode()
    assert "&lt;script&gt;" in content
    assert "<script>" not in content


@pytest.mark.one_database
def test_a_full_page_costs_the_same_queries_with_few_and_with_many_jobs_behind_it(cast, reported) -> None:
    client, counts = cast("alice"), []
    for job_ids in (range(1, 28), range(28, 101)):
        reported(*job_ids)
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/jobs/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
