"""Run by `tests.wire.test_classes` with a copy of `wire` in which Efficient begins at 75 %: every place has it.

A job at 72 % shows it: Efficient by the bound of the product, Acceptable by this one.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from html import unescape
from io import BytesIO

import pytest
from django.core.management import call_command
from pypdf import PdfReader

from analysis.anonymous.lines import json_schema
from analysis.elsewhere.comparison import CLASS_BANDS
from analysis.models import ClosedMonth
from cli.layout import percent, use_bar
from jobs.services import record_job
from metrics.services import record_node_summary
from portal.pages.settings.forms import CLASS_LABELS
from reports.figures import draw
from reports.services.pdf import report_pdf
from reports.text import report_text
from tests.payloads import gpu, job_record, node_payload
from tests.portal.conftest import text
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST, drawn, figures_of, report
from wire.numbers import percent as percent_in_reports

pytestmark = pytest.mark.django_db

AT_72 = [gpu(index, 72.0) for index in range(8)]


def test_the_judgement_in_text_and_pdf() -> None:
    shown = report(AT_72)
    pdf = "".join(page.extract_text() for page in PdfReader(BytesIO(report_pdf(shown, drawn(shown)))).pages)
    assert shown.efficiency.efficiency_class == "ACCEPTABLE"
    assert "ACCEPTABLE" in report_text(shown)
    assert "Acceptable" in pdf
    assert "EFFICIENT." not in report_text(shown)


def test_figures_have_a_line_and_a_tick_there() -> None:
    figure = draw("gpu_use", figures_of(AT_72)).decode()
    assert ">75<" in figure
    assert ">70<" not in figure


def test_the_terminal_paints_and_rounds_by_it() -> None:
    assert use_bar(72.0)[1] == "cyan"
    assert percent(74.97) == percent_in_reports(74.97).replace(" ", "\u00a0")
    assert percent_in_reports(74.97) == "74.97 %"
    assert percent_in_reports(69.97) == "70.0 %"


def test_pages_state_it(cast, recent, settings) -> None:
    settings.PUBLIC_PAGE = True
    at = datetime(2026, 11, 8, tzinfo=UTC)
    total = {"name": "", "allocated": 40000.0, "used": 16000.0, "unused": 24000.0}
    month = {"total": total, "tables": {"class": [total | {"name": "EFFICIENT"}]}, "energy_kwh": 1250.0}
    ClosedMonth.objects.create(kind="site", first_day=date(2026, 10, 1), figures=month, closed_at=at)
    ClosedMonth.objects.create(kind="policy", figures=[], first_day=date(2026, 10, 1), closed_at=at)
    about, public, policy, history = (
        " ".join(unescape(text(cast(name), path)).replace("\u00a0", " ").split())
        for name, path in (("alice", "/about/"), ("alice", "/public/"), ("grace", "/policy/"), ("alice", "/history/"))
    )
    assert "75 % or more" in about
    assert "Efficient from 75 %, Acceptable from 40 %" in public
    assert "for a score from 40 % to 75 %" in policy
    assert "Class boundaries at 15, 40, 75 %" in history
    assert "under 75 %" in str(CLASS_LABELS)
    assert not any("70 %" in page for page in (public, policy, history))


def test_the_api_has_it(cast) -> None:
    record_job(job_record(request=WHOLE_REQUEST))
    record_node_summary(node_payload(gpus=AT_72, cpu=TWO_RANKS))
    call_command("analyse_job", "--due", verbosity=0)
    found = cast("alice").get("/api/v1/jobs/lumi/123456/").json()
    assert found["efficiency"]["efficiency_class"] == "ACCEPTABLE"


def test_files_for_other_sites_state_it() -> None:
    assert "Efficient from 75 %" in str(json_schema())
    assert (CLASS_BANDS["EFFICIENT"], CLASS_BANDS["ACCEPTABLE"]) == ("75-100", "40-75")
