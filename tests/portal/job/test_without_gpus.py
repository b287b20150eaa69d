"""A run without GPUs gets no report: its pages state so, and promise none."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.portal.conftest import an_hour_ago_today, text

CPU_ONLY = {"gpus_allocated": 0, "gpus_requested": None, "gpus_per_node": None, "partition": "small"}


@pytest.mark.parametrize("state", ["COMPLETED", "RUNNING"])
def test_its_page_states_that_there_is_nothing_to_judge(cast, state: str) -> None:
    ended = {"ended_at": None} if state == "RUNNING" else {}
    record_job(job_record(state=state, **CPU_ONLY, **ended))
    page = text(cast("alice"), "/jobs/lumi/123456/")
    assert "Kaiku reports on jobs with GPUs only" in page
    for promised in ("being made", "follows within", "once its nodes"):
        assert promised not in page
    assert "Your note and tags" in page


@pytest.mark.parametrize("path", ["/jobs/", "/"])
def test_lists_do_not_call_it_being_analysed(cast, path: str) -> None:
    record_job(job_record(ended_at=an_hour_ago_today().isoformat(), **CPU_ONLY))
    page = text(cast("alice"), path)
    assert "no GPUs" in page
    assert "being analysed" not in page


def test_a_run_whose_gpus_are_not_known_still_waits(cast) -> None:
    record_job(job_record(gpus_allocated=None))
    assert "The report is being made" in text(cast("alice"), "/jobs/lumi/123456/")


def test_a_gpu_job_that_was_cancelled_in_the_queue_never_started(cast) -> None:
    record_job(job_record(state="CANCELLED", gpus_allocated=0, started_at=None))
    page = text(cast("alice"), "/jobs/lumi/123456/")
    assert "Never started" in page
    assert "Kaiku reports on jobs with GPUs only" not in page


def test_an_ended_run_in_a_state_that_is_not_known_waits_for_no_report(cast) -> None:
    record_job(job_record(state="COMPLETED", ended_at=an_hour_ago_today().isoformat()))
    Job.objects.update(state="SPECIAL_EXIT")
    alice = cast("alice")
    page = text(alice, "/jobs/lumi/123456/")
    assert "No report: the state is not known" in page
    assert "being made" not in page
    listed = text(alice, "/jobs/")
    assert "no report" in listed
    assert "being analysed" not in listed


@pytest.mark.parametrize(
    ("gpus", "states"),
    [
        ([gpu(index, None) for index in range(8)], "The GPU measurements of this job were not readable"),
        ([], "No GPU measurements of this job were received"),
    ],
)
def test_measurements_that_cannot_be_read_are_not_called_missing(cast, gpus: list, states: str) -> None:
    record_job(job_record())
    record_node_summary(node_payload(gpus=gpus))
    call_command("analyse_job", "--due", verbosity=0)
    assert f"{states}, so its GPU use cannot be judged." in text(cast("alice"), "/jobs/lumi/123456/")
