"""What a grant report is made of: its days, its sums, and what follows from them."""

from __future__ import annotations

import csv
import dataclasses
import io
from datetime import UTC, date, datetime

import pytest
from pypdf import PdfReader

from analysis.history.run_sums import ClassSums, RunSums
from jobs.site_factors import Cost, Emission
from reports.grant.claims import claims
from reports.grant.figures import figure_text
from reports.grant.report import (
    Advice,
    AdviceKind,
    Allocation,
    GrantReport,
    MemberUse,
    OpenSaving,
    Step,
    classes_of,
    ended_of,
    use_of,
)
from reports.grant.rows import rows
from reports.grant.services import grant_pdf
from reports.grant.spans import Span, SpanError, before, offered, span_of
from reports.grant.wording import allocation_lines, headline, period, tables
from wire.csv_cells import csv_lines

JANUARY, FEBRUARY, JULY = date(2026, 1, 1), date(2026, 2, 1), date(2026, 7, 1)
KWH_J = 3_600_000.0


def total() -> RunSums:
    """Three jobs: 60 GPU-hours at 80 %, 40 at 10 %, and a short one of 1; the energy of the first is known."""
    return RunSums(
        classes={"EFFICIENT": ClassSums(1, 60.0, 12.0), "WASTED": ClassSums(1, 40.0, 36.0, 30.0)},
        uncounted_jobs=1,
        uncounted_gpu_hours=1.0,
        use={80: 1, 10: 1},
        measured_gpu_hours=100.0,
        used_gpu_hours=52.0,
        energy_j=25.5 * KWH_J,
        energy_gpu_hours=60.0,
    )


def made(**more: object) -> GrantReport:
    now = total()
    columns = {
        **{"schema": "grant-report/1", "project": "project_1", "scope": "project", "calendar": "UTC"},
        **{"made_at": datetime(2026, 2, 3, 12, tzinfo=UTC), "first": JANUARY, "last": date(2026, 1, 31)},
        **{"has_begun": True, "is_over": True, "use": use_of(now, 2, ended_of({"COMPLETED": 2, "FAILED": 1}))},
        **{"before_first": date(2025, 12, 1), "before_last": date(2025, 12, 31)},
        **{"before": use_of(RunSums(), 0, None), "classes": classes_of(now), "step": "day"},
        "steps": tuple(Step(date(2026, 1, day), 2 * (day == 5), 101.0 * (day == 5), {}) for day in range(1, 32)),
        "allocation": Allocation(1000.0, 400.0, JANUARY, date(2026, 12, 31), "lumi", datetime(2026, 2, 1, tzinfo=UTC)),
        "advice": Advice((AdviceKind("gpus", 2, 1, 1, 0, 30.0, 28.0),), 1, 1, 28.0),
        "open_savings": (OpenSaving(1, 30.0, (2,)),),
        **{"open_savings_of_latest": 2, "claims": (), "owner_reported_jobs": 0},
    }
    return GrantReport(**columns | more)


def cells(report: GrantReport) -> dict[tuple[str, str], str]:
    lines = csv.reader(io.StringIO("".join(csv_lines(rows(report)))))
    return {(line[0], line[1]): line[3] for line in lines}


def test_a_period_is_its_sums() -> None:
    use = made().use
    assert (use.billed_gpu_hours, use.gpu_hours, use.jobs, use.uncounted_jobs) == (101.0, 100.0, 2, 1)
    # 52 of 100 measured GPU-hours were used; of the uses 10 and 80 the middle is 45; 12 + 36 were unused.
    assert (use.mean_use_percent, use.median_use_percent, use.unused_gpu_hours) == (52.0, 45.0, 48.0)
    assert (use.energy_kwh, use.energy_fraction) == (25.5, 0.6)
    nothing = use_of(RunSums(), 0, None)
    assert (nothing.energy_kwh, nothing.mean_use_percent, nothing.unused_fraction) == (None, None, None)


def test_the_parts_that_a_figure_names_add_up_to_its_whole() -> None:
    # 60 + 40 were judged; the short job of 1 GPU-hour is billed as well.
    assert figure_text(made(), "by_class").endswith("101.0 in all; efficient 60.0, wasted 40.0, not judged 1.00.")
    everything_judged = dataclasses.replace(made(), use=dataclasses.replace(made().use, billed_gpu_hours=100.0))
    assert figure_text(everything_judged, "by_class").endswith("100.0 in all; efficient 60.0, wasted 40.0.")


@pytest.mark.parametrize(
    ("span", "today", "earlier"),
    [
        (("2026-01-01", "2026-12-31"), date(2027, 3, 1), ("2025-01-01", "2025-12-31")),
        (("2026-01-01", "2026-12-31"), date(2026, 1, 31), ("2025-01-01", "2025-01-31")),
        (("2024-02-01", "2024-02-29"), date(2024, 5, 1), ("2024-01-01", "2024-01-31")),
        # Ten days, not whole months; and a month's report on its last day is whole.
        (("2026-03-02", "2026-03-11"), date(2026, 5, 1), ("2026-02-20", "2026-03-01")),
        (("2026-03-01", "2026-03-31"), date(2026, 3, 31), ("2026-02-01", "2026-02-28")),
    ],
)
def test_a_period_is_compared_with_as_long_a_one_before(span, today: date, earlier) -> None:
    assert before(span_of(*span), today) == span_of(*earlier)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        *(("2026-02-30", "2026-03-01"), ("x", "2026-03-01"), ("2026-03-02", "2026-03-01")),
        *(("0001-01-01", "2026-01-01"), ("2005-01-01", "2026-01-01"), ("2026-01-01", "9999-12-31")),
    ],
)
def test_days_that_are_none_are_rejected_with_a_sentence(first: str, last: str) -> None:
    with pytest.raises(SpanError, match=r"\.$"):
        span_of(first, last)


def test_the_period_of_the_allocation_is_offered_first() -> None:
    allocated = Span(date(2026, 5, 30), date(2027, 5, 25))
    assert offered(date(2026, 1, 15), allocated)[0] == ("Allocation period", allocated)
    names = [name for name, _ in offered(date(2026, 1, 15), None)]
    assert names == ["2026", "2025", "Q1 2026", "Q4 2025", "January 2026", "December 2025"]


def test_factors_that_change_apply_to_their_own_months() -> None:
    site = ([Emission(JANUARY, 90.0, "a"), Emission(JULY, 80.0, "b")], [Cost(JANUARY, "GPU-hour", 2.0, "EUR", "c")])
    found = claims({JANUARY: 10.0, JULY: 5.0}, {JANUARY: 100.0, FEBRUARY: 1.0}, site)
    # 10 x 90 + 5 x 80 = 1,300 g; 101 x 2.
    assert [(claim.amount, claim.unit) for claim in found] == [(1.3, "kg"), (202.0, "EUR")]
    assert found[0].factors[1] == "80 g CO₂e per kWh since July 2026: b"


def test_nothing_is_claimed_for_a_period_of_which_a_month_has_no_factor_or_another_currency() -> None:
    late = ([Emission(FEBRUARY, 90.0, "a")], [Cost(FEBRUARY, "kWh", 0.1, "EUR", "c")])
    assert claims({JANUARY: 10.0, FEBRUARY: 5.0}, {}, late) == ()
    two = ([], [Cost(JANUARY, "GPU-hour", 2.0, "EUR", "c"), Cost(FEBRUARY, "GPU-hour", 2.0, "CHF", "c")])
    assert claims({}, {JANUARY: 1.0, FEBRUARY: 1.0}, two) == ()
    assert claims({JANUARY: 10.0}, {JANUARY: 1.0}, ([], [])) == ()


def test_the_words_state_allocation_period_and_what_is_missing() -> None:
    report = made()
    assert headline(report).replace("\u00a0", " ") == "101.0 GPU-hours used by 3 jobs of 2 works."
    lines = [line.replace("\u00a0", " ") for line in allocation_lines(report)]
    # 400 of 1,000 by the directory; 101 of 1,000 by the jobs.
    assert lines[0] == "400.0 of 1,000 GPU-hours used (40 %) from 1 January 2026 until 31 December 2026."
    assert lines[1] == "The jobs of this period that Kaiku saw used 101.0 GPU-hours, 10 % of it."
    energy = next(table for table in tables(report) if table.key == "energy")
    assert energy.notes == ("Measured for 60\u00a0% of the GPU-hours; that of the others is not estimated.",)
    without = made(use=dataclasses.replace(report.use, energy_kwh=None, energy_fraction=0.0))
    energy = next(table for table in tables(without) if table.key == "energy")
    assert energy.rows == (("Energy of the GPUs", "not measured"),)


def test_a_period_that_has_not_ended_states_with_what_it_is_compared() -> None:
    assert not any("has not ended" in note for note in tables(made())[0].notes)
    # 31 days of December.
    started = made(is_over=False)
    assert "compared with as many before, the first 31 days of the period before." in tables(started)[0].notes[0]
    assert period(started) == "1 January 2026 – 31 January 2026, so far"


def test_a_period_that_has_not_begun_has_no_table_of_zeros() -> None:
    future = made(has_begun=False, is_over=False, use=use_of(RunSums(), 0, None))
    assert period(future) == "1 January 2026 – 31 January 2026, not begun yet"
    assert headline(future) == "This period has not begun: there is nothing to report on yet."
    assert tables(future) == ()
    assert not any("The jobs of this period" in line for line in allocation_lines(future))


def test_the_table_for_spreadsheets_has_the_numbers_of_the_report_and_executes_nothing() -> None:
    found = cells(made(open_savings=(OpenSaving(1, 30.0, (2,), name='=HYPERLINK("x")'),)))
    assert found["use", "billed_gpu_hours"] == "101.0"
    assert found["use", "energy_kwh"] == "25.5"
    assert found["jobs ended", "failed"] == "1"
    # The efficient hours are those of one job, the wasted ones of another; 28 of the claimed 30 GPU-hours were saved.
    assert (found["jobs by class", "EFFICIENT"], found["classes", "EFFICIENT"]) == ("1", "60.0")
    assert (found["jobs by class", "WASTED"], found["classes", "WASTED"]) == ("1", "40.0")
    assert (found["advice", "gpus claimed_gpu_hours"], found["advice", "gpus saved_gpu_hours"]) == ("30.0", "28.0")
    assert found["advice", "saved_gpu_hours"] == "28.0"
    assert found["each day", "2026-01-05"] == "101.0"
    assert found["open savings", '\'=HYPERLINK("x")'] == "30.0"


def test_the_pdf_is_accessible_and_its_first_page_holds_the_answer() -> None:
    names = {"members": (MemberUse("alice", "Member", 2, 100.0, 48.0, 52.0),)}
    content = grant_pdf(made(open_savings=(OpenSaving(1, 30.0, (2,), name="<b>x</b>"),), **names))
    reader = PdfReader(io.BytesIO(content))
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert reader.metadata is not None
    assert reader.metadata.title == "Kaiku: GPU use of project_1, 1 January 2026 – 31 January 2026"
    pages = [page.extract_text().replace("\u00a0", " ") for page in reader.pages]
    for shown in ("101.0 GPU-hours used by 3 jobs", "400.0 of 1,000", "52.0 %", "GPU-hours, sum"):
        assert shown in pages[0], shown
    assert "<b>x</b>" in "".join(pages)
    assert len(pages) <= 3
