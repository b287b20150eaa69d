"""A job measured on one of its four nodes: every page states so, and none claims anything of the other three."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.core.management import call_command

from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.mail.view import Told, digest
from reports.selectors import made_report, report_row
from tests.parts_measured import payloads, record_of_nodes
from tests.payloads import job_record
from tests.portal.conftest import an_hour_ago_today, text

PAGE = "/jobs/lumi/123456/"


@pytest.fixture
def one_of_four(cast) -> None:
    """32 GPU-hours on 4 nodes; the one that was measured is billed 8 of them, and was at 20 %: 6.40 unused."""
    ended = an_hour_ago_today()
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}
    record_job(job_record(**record_of_nodes(**times)))
    for payload in payloads(1, 20.0, **times):
        record_node_summary(payload)
    call_command("analyse_job", "--due", verbosity=0)


def read(client, path: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text(client, path)).replace("\xa0", " ").split())


def test_the_job_page_states_the_nodes_and_their_hours(cast, one_of_four) -> None:
    page = read(cast("alice"), PAGE)
    assert "partial, measured on 1 of 4 nodes" in page
    assert "Your job kept the 8 measured of its 32 GPUs busy 20.0 % of the time" in page
    assert re.search(r"Unused GPU-hours 6\.40 Used 1\.60 Not measured 24\.0 Billed 32\.0", page)
    assert "saves" not in page.partition("GPU use over time")[0]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/jobs/", "6.40 of 32.0"),
        ("/jobs/", "partial, 1 of 4 nodes"),
        ("/", "6.40 of 32.0 GPU-hours unused"),
        ("/", "measured on 1 of 4 nodes"),
        ("/", "unused (estimate), 6.40 GPU-hours 20 %"),
        ("/", "What was not measured is not counted as unused."),
        ("/history/", "6.40 unused GPU-hours (estimate), 20 % of 32.0 GPU-hours"),
        ("/projects/project_465000001/", "What was not measured is not counted as unused."),
        ("/projects/project_465000001/", "6.40"),
    ],
)
def test_lists_and_sums_count_what_was_measured(cast, one_of_four, path: str, said: str) -> None:
    page = read(cast("carol" if "project" in path else "alice"), path)
    assert said in page
    assert "25.6" not in page


def test_files_and_mail_state_it_too(cast, one_of_four) -> None:
    client = cast("alice")
    for name in ("txt", "md", "html"):
        assert "1 of 4 nodes" in read(client, f"/api/v1{PAGE}report.{name}"), name
    seen = json.loads(text(client, f"/api/v1{PAGE}report.json"))["efficiency"]
    assert (seen["measured_nodes"], seen["nodes"], seen["coverage_fraction"]) == (1, 4, 0.25)
    (line,) = digest([Told(made_report(report_row(Job.objects.get())), "https://kaiku.example")]).entries
    assert (line.class_name, line.unused) == ("Inefficient, partial, measured on 1 of 4 nodes", "6.40")
    table = b"".join(client.get("/jobs.csv").streaming_content).decode()
    header, row = table.splitlines()[:2]
    assert dict(zip(header.split(","), row.split(","), strict=True))["coverage_fraction"] == "0.25"
