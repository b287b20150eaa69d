"""What failed is tried at once when its data change, and by hand whenever somebody asks; else it stays aside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.services import JUDGEMENT, analyse_due
from jobs.models import Job, WorkFailure
from jobs.services import record_job
from jobs.work_queue.selectors import failure_counts, failures
from metrics.models import NodeSummary
from metrics.services import record_node_summary
from reports.models import Report
from reports.services import publishing
from reports.services.publishing import REPORT, follow_up
from tests.analysis.poison import broken_request, cut_timeline, run
from tests.payloads import gpu, job_record, node_payload
from tests.steps import ran

pytestmark = pytest.mark.django_db

ASIDE = {(JUDGEMENT, "set_aside"): 1}


def later_summary(job_id: int) -> None:
    record_node_summary(node_payload(job_id=job_id, sequence=2, gpus=[gpu(0, 90.0), gpu(1, 0.0)]))


def fail(times: int, sweep: Callable[[], int] = lambda: follow_up(10)) -> None:
    for _ in range(times):
        assert sweep() == 0


@contextmanager
def without_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every report fails meanwhile."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("no words")

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "job_report", broken)
        yield


def set_its_report_aside() -> None:
    """The run is judged once, and its report is tried until it is set aside."""
    assert follow_up(10) == 1
    fail(4)
    assert failure_counts() == {(REPORT, "set_aside"): 1}


@pytest.fixture
def no_pause(settings) -> None:
    settings.RETRY_SECONDS = 0


@pytest.fixture
def swept(no_pause) -> None:
    """A sweep found nothing left before anything came, as on a site that runs."""
    assert follow_up(10) == 0


SWEEPS = pytest.mark.parametrize("sweep", [partial(ran, "judge"), lambda: follow_up(10)], ids=["worker", "service"])


@SWEEPS
@pytest.mark.django_db(transaction=True)
def test_a_later_summary_has_what_was_set_aside_judged_in_the_next_sweep(swept, sweep) -> None:
    run(1)
    cut_timeline(1)
    fail(6, sweep)
    assert failure_counts() == ASIDE
    later_summary(1)
    # One judgement; its report follows at once and is counted by nobody.
    assert sweep() == 1
    assert (Report.objects.count(), failures().count()) == (1, 0)


def test_a_later_summary_has_it_judged_by_hand_of_what_is_due(no_pause) -> None:
    run(1)
    cut_timeline(1)
    fail(5, lambda: analyse_due(10))
    assert failure_counts() == ASIDE
    later_summary(1)
    out = StringIO()
    call_command("analyse_job", "--due", stdout=out)
    assert out.getvalue() == "1 analysed, 1 reports made\n"
    assert not failures().exists()


def test_a_changed_record_has_it_judged(swept) -> None:
    run(1)
    broken_request(1)
    fail(5)
    assert failure_counts() == ASIDE
    record_job(job_record(job_id=1, request={"--gpus": "2"}))
    assert follow_up(10) == 1
    assert not failures().exists()


def test_what_waits_for_its_next_try_waits_no_longer(settings) -> None:
    settings.RETRY_SECONDS = 3600
    run(1)
    cut_timeline(1)
    fail(2)
    assert failure_counts() == {(JUDGEMENT, "waits"): 1}
    later_summary(1)
    assert follow_up(10) == 1
    assert not failures().exists()


def test_new_data_that_are_no_better_get_tries_of_their_own_and_are_set_aside_again(swept, caplog) -> None:
    run(1)
    cut_timeline(1)
    fail(5)
    later_summary(1)
    cut_timeline(1)
    caplog.clear()
    fail(6)
    # Opened once with one failure to its name, so four more set it aside.
    assert len(caplog.messages) == 4
    row = WorkFailure.objects.get()
    assert (row.tries, row.set_aside_at is not None) == (5, True)


def test_unchanged_data_stay_aside_however_often_others_come(swept) -> None:
    run(1)
    cut_timeline(1)
    fail(5)
    row = WorkFailure.objects.values().get()
    for job_id in (2, 3):
        run(job_id)
        assert follow_up(10) == 1
    assert WorkFailure.objects.values().get() == row


def test_a_change_that_was_committed_after_the_last_try_with_a_time_before_it_counts(settings) -> None:
    settings.RETRY_SECONDS = 60
    run(1)
    cut_timeline(1)
    now = timezone.now()
    for minutes in (0, 1, 6, 31, 156):
        assert analyse_due(10, now + timedelta(minutes=minutes)) == 0
    assert failure_counts() == ASIDE
    later_summary(1)
    NodeSummary.objects.update(changed_at=now + timedelta(minutes=155, seconds=30))
    assert analyse_due(10, now + timedelta(minutes=157)) == 1


def test_a_time_of_change_that_is_still_to_come_opens_nothing_yet(no_pause) -> None:
    """A sender's portal whose clock is ahead must not have poison tried in every sweep."""
    run(1)
    cut_timeline(1)
    NodeSummary.objects.update(changed_at=timezone.now() + timedelta(hours=1))
    fail(7, lambda: analyse_due(10))
    assert WorkFailure.objects.get().tries == 5


def test_data_that_came_while_a_process_was_at_it_were_not_tried_when_it_ended(settings) -> None:
    settings.RETRY_SECONDS = 3600
    run(1)
    now, pk = timezone.now(), Job.objects.get().pk
    # Claimed a minute before the summary came, by a process of another host; its lease of 10 minutes is over.
    until = NodeSummary.objects.get().changed_at + timedelta(minutes=9)
    WorkFailure.objects.create(kind=JUDGEMENT, key=pk, owner="elsewhere 17 99 0", claimed_until=until, tries=3)
    assert analyse_due(10, now + timedelta(minutes=20)) == 1
    assert not failures().exists()


def test_a_report_is_made_of_the_next_judgement_though_that_of_the_last_was_set_aside(swept, monkeypatch) -> None:
    run(1)
    with without_words(monkeypatch):
        set_its_report_aside()
    fail(1)
    later_summary(1)
    # The judgement, and its report.
    assert follow_up(10) == 2
    assert (Report.objects.get().efficiency_revision, failures().count()) == (2, 0)


def test_many_failures_cost_a_sweep_no_more_queries_than_one(swept) -> None:
    run(1)
    broken_request(1)
    fail(5)
    counts = []
    for last in (1, 6):
        for job_id in range(2, last + 1):
            run(job_id)
            broken_request(job_id)
        fail(5)
        with CaptureQueriesContext(connection) as queries:
            fail(1)
        counts.append(len(queries))
    assert failure_counts() == {(JUDGEMENT, "set_aside"): 6}
    assert counts[0] == counts[1]


def test_by_hand_it_is_judged_and_reported_and_its_failure_is_forgotten(no_pause, capsys) -> None:
    run(1)
    request = Job.objects.get().request
    broken_request(1)
    fail(5)
    # Put right in the database: no time of change says so.
    Job.objects.update(request=request)
    fail(1)
    call_command("analyse_job", "lumi/1")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("1 analysed, 1 reports made\n", "")
    assert not failures().exists()


def test_by_hand_a_failure_is_one_clear_line_and_is_noted(no_pause, caplog) -> None:
    run(1)
    broken_request(1)
    fail(5)
    with pytest.raises(CommandError) as failed, caplog.at_level(logging.WARNING):
        call_command("analyse_job", "lumi/1")
    said = str(failed.value)
    assert said.startswith("judgement lumi/1 failed: ")
    assert said.endswith("; /admin/ lists it, with a button to retry")
    assert "\n" not in said
    row = WorkFailure.objects.get()
    assert (row.tries, row.set_aside_at is not None) == (6, True)
    assert row.error in said
    assert caplog.messages[5:] == [f"judgement lumi/1 failed: {row.error}"]


def test_by_hand_a_first_failure_waits_for_its_next_try() -> None:
    run(1)
    broken_request(1)
    with pytest.raises(CommandError):
        call_command("analyse_job", "1")
    assert failure_counts() == {(JUDGEMENT, "waits"): 1}


def test_by_hand_a_report_that_was_set_aside_is_made(no_pause, monkeypatch) -> None:
    run(1)
    with without_words(monkeypatch):
        set_its_report_aside()
        with pytest.raises(CommandError, match="report lumi/1 failed: ValueError at tests/analysis/"):
            call_command("analyse_job", "lumi/1")
    assert failure_counts() == {(REPORT, "set_aside"): 1}
    out = StringIO()
    call_command("analyse_job", "lumi/1", stdout=out)
    assert out.getvalue() == "1 analysed, 1 reports made\n"
    assert (JobEfficiency.objects.count(), Report.objects.count(), failures().count()) == (1, 1, 0)
