"""What is stored of a report: its content packed, its PDF for a while, its figures less what is no longer stored."""

from __future__ import annotations

import hashlib
import json
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from analysis.expiry.services import thin_measurements
from analysis.selectors import measurements_of
from reports.job_report import NOT_KEPT, JobReport
from reports.mail.services.letters import letter
from reports.models import Report, StoredPdf
from reports.packed_json import TYPICAL, pack_json, unpack_json
from reports.selectors import report_value
from reports.services.formats import figure_views, figures, rendered
from reports.services.pdf_store import store_pdf, stored_pdf

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
# What pack_json made of this value when the first reports were packed.
STORED = "78bb250ae4bbab26ba650d34bd0218d1867aa63aa0c4125b0b0050781352"


def test_what_reports_are_packed_with_never_changes() -> None:
    assert hashlib.sha256(TYPICAL).hexdigest() == "6c39f53f757ed509d133c1e05953e34198eb851e37c4f41bfc208860620555ff"
    assert unpack_json(bytes.fromhex(STORED)) == {"headline": "Your job kept its 8 GPUs busy", "x": [1.5, None]}


def test_a_packed_report_takes_a_fifth_and_damage_is_an_error() -> None:
    content = json.loads(TYPICAL.splitlines()[0])
    content["job"] |= {"user_id": "somebody", "job_id": 17_999_999, "nodes": ["nid007777"]}
    packed = pack_json(content)
    assert unpack_json(packed) == content
    assert len(packed) < len(json.dumps(content)) / 5
    with pytest.raises(zlib.error):
        unpack_json(packed[:2] + b"\0\0\0\0" + packed[6:])


@pytest.mark.django_db
def test_a_report_comes_back_from_the_database_as_it_was_made(ended) -> None:
    ended()
    row = Report.objects.get()
    assert row.content["efficiency"]["avg_gpu_util"] == 22.0
    assert isinstance(report_value(row), JobReport)
    assert Report.objects.filter(content=row.content).exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(content) FROM reports_report")
        assert cursor.fetchone()[0] < len(json.dumps(row.content)) / 3


@pytest.mark.django_db
def test_a_pdf_that_is_asked_for_stays_and_its_row_is_written_once_a_day(ended) -> None:
    ended()
    row = Report.objects.get()
    assert stored_pdf(row, NOW) is None
    store_pdf(row, b"%PDF-1", NOW)
    asked = []
    for hours in (1, 23, 25, 26):
        assert stored_pdf(row, NOW + timedelta(hours=hours)) == b"%PDF-1"
        asked.append(StoredPdf.objects.get().asked_at - NOW)
    assert asked == [timedelta(0), timedelta(0), timedelta(hours=25), timedelta(hours=25)]


@pytest.mark.django_db
def test_a_pdf_of_what_the_report_said_before_is_not_kept(ended) -> None:
    ended()
    row = Report.objects.get()
    Report.objects.update(efficiency_revision=row.efficiency_revision + 1)
    store_pdf(row, b"%PDF-1", NOW)
    assert not StoredPdf.objects.exists()


@pytest.mark.django_db
def test_a_pdf_that_is_not_kept_for_another_reason_is_a_fault(ended, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise OperationalError("canceling statement due to lock timeout")

    ended()
    monkeypatch.setattr(StoredPdf.objects, "update_or_create", fail)
    with pytest.raises(OperationalError):
        store_pdf(Report.objects.get(), b"%PDF-1", NOW)


@pytest.mark.django_db
def test_a_report_says_when_its_use_over_time_is_no_longer_kept(ended, settings) -> None:
    ended()
    row = Report.objects.select_related("job").get()
    before = report_value(row)
    assert (before.figures, NOT_KEPT in before.not_measured) == (("gpu_use", "gpu_memory", "gpu_heatmap"), False)
    settings.SERIES_DAYS = 1
    Report.objects.update(content=row.content | {"job": row.content["job"] | {"ended_at": "2020-01-01T00:00:00Z"}})
    row.refresh_from_db()
    assert report_value(row).figures == before.figures, "it is there, whatever the age"
    assert figure_names(row) == before.figures
    assert [*thin_measurements(timezone.now() + timedelta(days=1))] == [1]
    after = report_value(row)
    assert (after.figures, after.not_measured[0]) == (("gpu_memory",), "GPU use over time: no longer stored")
    assert (after.headline, after.findings, after.efficiency) == (before.headline, before.findings, before.efficiency)
    measured = measurements_of(row.job)
    views = figure_views(row.job, after, measured)
    assert [*figures(row.job, after, measured)] == [view.name for view in views] == ["gpu_memory"]
    for name in ("txt", "md", "html", "json"):
        assert b"no longer stored" in rendered(row.job, row, name)
    assert figure_names(row) == ("gpu_memory",)
    settings.SERIES_DAYS = 0
    assert report_value(row).figures == after.figures, "it is gone, whatever the setting"


def figure_names(row: Report) -> tuple[str, ...]:
    """What a letter shows of this report."""
    row.earlier_class, row.earlier_util = "", None
    return tuple(letter(row.job.user, "key", [row], with_pdf=False).pictures)
