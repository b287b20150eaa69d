"""The runs that scripts logged in a job, on its page: for those who see their experiments."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import text
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PATH = "/jobs/lumi/123456/"


def test_a_job_lists_its_runs_in_the_order_of_their_beginnings(cast, reported) -> None:
    reported()
    second = log_run(experiment_of("alice"), "second", began_at=BEGAN_AT + timedelta(hours=1), metrics={"loss": [1.0]})
    first = log_run(experiment_of("alice"), "first", metrics={"loss": [1.0, 0.5]})
    log_run(experiment_of("alice"), "elsewhere", job=9)
    client = cast("alice")
    found = client.get(PATH).context["logged"]
    assert [(row.label, row.status.words, row.seconds) for row in found.rows] == [
        ("first", "finished", 1200.0),
        ("second", "finished", 600.0),
    ]
    assert not found.has_more
    page = text(client, PATH)
    assert f'href="/runs/{first.run_id}/"' in page
    assert f'href="/runs/{second.run_id}/"' in page


def test_a_pi_sees_the_runs_of_experiments_of_the_project_alone(cast, reported) -> None:
    reported()
    log_run(experiment_of("alice", "private"), "private")
    assert "Logged runs" not in text(cast("carol"), PATH)
    log_run(experiment_of("alice", "ours", project="project_465000001"), "shown")
    assert [row.label for row in cast("carol").get(PATH).context["logged"].rows] == ["shown"]


def test_of_many_runs_the_first_twenty_are_listed(cast, reported) -> None:
    reported()
    for number in range(21):
        log_run(experiment_of("alice"), f"{number}", began_at=BEGAN_AT + timedelta(minutes=number), metrics={})
    found = cast("alice").get(PATH).context["logged"]
    assert (len(found.rows), found.rows[-1].label, found.has_more) == (20, "19", True)


def test_a_job_without_a_report_lists_them_too(cast) -> None:

    client = cast("alice")
    record_job(job_record())
    log_run(experiment_of("alice"))
    assert "Logged runs" in text(client, PATH)
