"""Which judgements wait for a report is known from what was judged lately, and reports follow judgements at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.assess import Assessment
from analysis.models import JobEfficiency, SweepMark
from analysis.services import analyse_due
from jobs.models import WorkFailure
from jobs.services import record_job
from jobs.work_queue.selectors import failure_counts, failures
from metrics.services import record_node_summary
from reports.job_report import JobReport, job_report
from reports.models import Report
from reports.selectors import judged_since
from reports.services import publishing
from reports.services.publishing import REPORT, follow_up, publish_changed, publish_due
from tests.payloads import job_record, node_payload

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def run(*job_ids: int) -> None:
    for job_id in job_ids:
        record_job(job_record(job_id=job_id), now=NOW)
        record_node_summary(node_payload(job_id=job_id), now=NOW)


def reported() -> list[int]:
    return sorted(Report.objects.values_list("job__job_id", flat=True))


def test_a_report_follows_each_judgement_and_counts_once() -> None:
    run(1, 2, 3)
    assert follow_up(2, NOW) == 2
    assert Report.objects.count() == JobEfficiency.objects.count() == 2
    assert (follow_up(2, NOW), follow_up(2, NOW)) == (1, 0)
    assert reported() == [1, 2, 3]
    assert not WorkFailure.objects.exists()


def test_the_first_sweep_looks_at_every_judgement_and_the_next_ones_at_the_latest() -> None:
    run(1)
    analyse_due(10, NOW - timedelta(days=400))
    assert judged_since() is None
    assert publish_changed(10, NOW) == 1
    assert judged_since() == NOW - timedelta(minutes=10)
    # A report that is gone is found where everything is looked at.
    Report.objects.all().delete()
    assert publish_changed(10, NOW) == 0
    assert publish_due(10, NOW) == 1


def test_the_mark_stays_while_there_is_more_to_report() -> None:
    run(1, 2, 3)
    analyse_due(10, NOW)
    later = NOW + timedelta(hours=5)
    assert publish_changed(2, later) == 2
    assert not SweepMark.objects.filter(name="reports").exists()
    assert publish_changed(2, later) == 1
    assert SweepMark.objects.get(name="reports").at == later


def test_a_report_that_fails_at_once_is_a_failed_report_and_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(judged: Assessment, *arguments: object, **options: object) -> JobReport:
        if judged.facts.record.job_id == 1:
            raise KeyError("no wording")
        return job_report(judged, *arguments, **options)

    run(1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "job_report", faulty)
        assert follow_up(10, NOW) == 2
        assert follow_up(10, NOW) == 0
    assert JobEfficiency.objects.count() == 2
    assert (reported(), failure_counts()) == ([2], {(REPORT, "waits"): 1})
    # Hours later, when nobody looks at what was judged then any more.
    SweepMark.objects.update(at=NOW + timedelta(hours=2))
    assert follow_up(10, NOW + timedelta(hours=2)) == 1
    assert (reported(), failures().count()) == ([1, 2], 0)


def test_a_worker_that_ends_between_judgement_and_report_costs_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """What no guard catches."""

    def killed(*arguments: object, **options: object) -> bool:
        raise Killed

    run(1)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "attempt", killed)
        with pytest.raises(Killed):
            follow_up(10, NOW)
    assert (JobEfficiency.objects.count(), reported()) == (1, [])
    assert follow_up(10, NOW) == 1
    assert reported() == [1]
    assert not WorkFailure.objects.exists()


def test_a_sweep_costs_the_same_however_many_reports_there_are() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert publish_changed(10, NOW + timedelta(days=3)) == 0
        return len(captured)

    run(1)
    publish_due(10, NOW)
    publish_changed(10, NOW + timedelta(days=2))
    few = queries()
    run(*range(2, 40))
    analyse_due(100, NOW)
    publish_due(100, NOW)
    assert queries() == few
