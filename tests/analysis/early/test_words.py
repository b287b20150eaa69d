"""Early words as rows: found once, confirmed, over, and what the report of the ended job states of them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from analysis.early.models import EarlyWord
from analysis.early.services import watch_running
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.models import Report
from reports.services.publishing import follow_up
from tests.payloads import decoded, job_record, summary
from tests.portal.queue.queued import read
from tests.running import running_job, watched

pytestmark = pytest.mark.django_db

EIGHT = {"tres_alloc": "cpu=112,mem=480G,node=1,billing=112,gres/gpu=8", "TimeLimit": "2-00:00:00"}


def test_a_job_without_work_for_more_than_an_hour_gets_one_word_that_later_looks_confirm() -> None:
    read(running_job(cells=EIGHT))
    watched()
    word = EarlyWord.objects.get()
    # No GPU had work in 70 minutes; small-g bills 4 GPU-hours an hour for all of a node.
    assert (word.code, word.is_fact, word.gpus, word.gpu_hours_per_hour) == ("all_gpus_idle", True, 8, 4.0)
    assert word.ends_at == word.started_at + timedelta(hours=48)
    first = word.found_at
    running_job(cells=EIGHT, utils=((0.0,) * 130,) * 8, sequence=2)
    watched()
    word = EarlyWord.objects.get()
    assert (word.found_at, word.over_at) == (first, None)
    assert word.held_at > first


def test_a_word_is_over_when_the_gpus_get_work() -> None:
    read(running_job(cells=EIGHT))
    watched()
    running_job(cells=EIGHT, utils=((0.0,) * 70 + (90.0,) * 60,) * 8, sequence=2)
    now = timezone.now()
    watch_running(10, now)
    assert EarlyWord.objects.get().over_at == now


def test_a_suspended_job_gets_no_word() -> None:
    read(running_job(cells=EIGHT | {"State": "SUSPENDED"}))
    watched()
    assert not EarlyWord.objects.exists()


def test_the_report_of_a_cancelled_job_states_its_word_and_what_was_left() -> None:
    read(running_job(cells=EIGHT))
    watched()
    word = EarlyWord.objects.get()
    ended_at = word.found_at + timedelta(minutes=10)
    _end(word.started_at, ended_at)
    early = Report.objects.get().content["early"]
    # The word came 71 minutes after the start, the end 10 minutes later: 48 h - 81 min = 46.65 h are left, 186.6 hours.
    assert early["won"]["after_s"] == pytest.approx(600, abs=2)
    assert early["won"]["gpu_hours"] == pytest.approx(186.6, abs=0.01)
    assert "Until then it could have used up to 186.6 more GPU-hours." in early["texts"][1]


def _end(started_at: datetime, ended_at: datetime) -> None:
    """The job is cancelled: its last summary and its record arrive, and it is judged."""
    ran_s = (ended_at - started_at).total_seconds()
    at = {"started_at": started_at.isoformat(), "ended_at": ended_at.isoformat()}
    record_node_summary(decoded(summary([0.0] * 8, sequence=2, **at)))
    record = job_record(
        state="CANCELLED", walltime_used_s=ran_s, walltime_requested_s=48 * 3600.0, nodes=["nid005123"], **at
    )
    record_job(record)
    follow_up(10, timezone.now() + timedelta(hours=1))
