"""What a report leads with: the job on one line, the few numbers its sentence is about, and what the request saves."""

from __future__ import annotations

from reports.sections import layout
from reports.text import report_text
from tests.reports.builders import report


def test_a_report_leads_with_the_job_its_numbers_and_what_the_request_saves() -> None:
    # Eight GPUs for two hours are billed 8.00 GPU-hours; 22 % of them is 1.76, the rest 6.24, and six GPUs are 6.00.
    page = layout(report())
    assert page.brief.replace("\u00a0", " ") == "COMPLETED · 8 GPUs · small-g · 2 h 00 min · ended 2026-11-20 12:00 UTC"
    assert {row.label: row.value.replace("\u00a0", " ") for row in page.numbers} == {
        "Mean GPU use": "22.0 %",
        "Used GPU-hours": "1.76",
        "Unused GPU-hours (estimate)": "6.24",
        "Peak GPU memory": "22 %",
    }
    assert page.saving.replace("\u00a0", " ") == "saves about 6.00 of 8.00 GPU-hours"
    assert report_text(report()).index("+ #SBATCH") < report_text(report()).index("Findings\n")


def test_a_run_that_nobody_measured_has_only_its_bill_and_no_saving() -> None:
    page = layout(report([]))
    assert [(row.label, row.value) for row in page.numbers] == [("GPU-hours billed", "8.00")]
    assert (page.saving, page.request) == ("", ())
