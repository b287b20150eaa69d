"""The Site page: CO2e and money by the site's factors, cost of findings, savings, answers, reporting quality."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client

from analysis.models import ClosedMonth
from analysis.months.services import close_months
from portal.months import SITE
from tests.analysis.site.test_months import five, run  # noqa: F401  (a fixture)
from tests.portal.site.factors import stated

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 8, tzinfo=UTC)
OCTOBER = date(2026, 10, 1)
TABLES = {
    "finding": [
        {"name": "none", "allocated": 6000.0, "used": 3000.0, "unused": 3000.0},
        {"name": "idle_gpus", "allocated": 30000.0, "used": 10000.0, "unused": 20000.0},
        {"name": "timeout", "allocated": 2000.0, "used": 1500.0, "unused": 500.0},
        {"name": "overscaling", "withheld": "few_people"},
    ],
    "measurement": [
        {"name": "full", "allocated": 36000.0, "used": 14000.0, "unused": 22000.0},
        {"name": "partial", "allocated": 3000.0, "used": 1000.0, "unused": 2000.0},
        {"name": "none", "withheld": "other_group"},
    ],
}
RULES = [
    {"kind": "gpus", "basis": "active_gpus", "compared": 12, "claimed_gpu_hours": 500.0, "realised_gpu_hours": 400.0},
    {"kind": "cores", "basis": "busy_cores", "compared": 9, "claimed_gpu_hours": 100.0, "realised_gpu_hours": -40.0},
    {"kind": "walltime", "basis": "run_time", "given": 7},
    {"kind": "gpus", "basis": "overscaling", "is_withheld": True},
]


def text(client: Client, path: str) -> str:
    """The words of a page, with ~ for a space at which no line ends."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).replace("\u00a0", "~").split())


def month(first_day: date = OCTOBER, energy_kwh: float | None = 1250.0) -> None:
    total = {"name": "", "allocated": 40000.0, "used": 15000.0, "unused": 24000.0}
    figures = {"total": total, "tables": TABLES, "energy_kwh": energy_kwh}
    ClosedMonth.objects.create(kind="site", first_day=first_day, figures=figures, closed_at=AT)


@pytest.fixture
def _with_factors() -> Iterator[None]:
    with stated():
        yield


def test_without_factors_nothing_is_computed(cast) -> None:
    month()
    page = text(cast("erin"), "/site/")
    assert "1,250&nbsp;kWh" in page
    assert "CO₂e" not in page
    assert "EUR" not in page
    assert "Cost of the energy" not in page


@pytest.mark.usefixtures("_with_factors")
def test_co2e_and_money_are_products_of_shown_figures_with_their_sources(cast) -> None:
    month()
    page = text(cast("erin"), "/site/")
    # 1,250 kWh x 83 g = 103,750 g; x 0.12 EUR = 150 EUR. 40,000 and 24,000 GPU-hours x 0.35 EUR = 14,000 and 8,400 EUR.
    for figure in ("103.75~kg", "150~EUR", "14,000~EUR", "8,400~EUR"):
        assert figure in page
    assert "83~g CO₂e per kWh since October 2026: Supplier, 2026" in page
    assert "0.12~EUR per kWh since January 2026: Contract" in page
    assert page.count("0.35~EUR per GPU-hour since January 2026: Price list") == 1


@pytest.mark.usefixtures("_with_factors")
def test_a_month_uses_the_factor_of_its_time_and_none_before_the_first(cast) -> None:
    month(date(2026, 9, 1))
    month(date(2025, 12, 1))
    erin = cast("erin")
    # 1,250 x 90 = 112,500 g.
    page = text(erin, "/site/?month=2026-09")
    assert "112.50~kg" in page
    assert "since January 2026: Supplier &lt;2025&gt;" in page
    assert "CO₂e" not in text(erin, "/site/?month=2025-12")


@pytest.mark.usefixtures("_with_factors")
def test_withheld_energy_has_no_co2e(cast) -> None:
    month(energy_kwh=None)
    page = text(cast("erin"), "/site/")
    assert "CO₂e" not in page
    assert "8,400~EUR" in page


@pytest.mark.usefixtures("_with_factors")
def test_findings_cost_their_unused_hours_the_most_first(cast) -> None:
    month()
    page = text(cast("erin"), "/site/")
    # 20,000 + 500 with a finding; 20,500 x 0.35 = 7,175. Without a finding is no cost of a finding.
    assert "20,500 7,175~EUR" in page
    assert "Some GPUs stayed idle 20,000 7,000~EUR 30,000 10,000" in page
    places = [page.index(name) for name in ("Some GPUs stayed idle 20,000", "175~EUR 2,000", "No finding 3,000")]
    assert places == sorted(places)
    assert page.index("No finding 3,000") < page.index("withheld: fewer than 5 people")


def test_the_headline_of_the_costs_is_the_sum_of_the_findings_that_are_shown(cast) -> None:
    month()
    erin = cast("erin")
    headline = "Unused GPU-hours (estimate) of the findings that are shown"
    # 20,000 + 500, without the 3,000 of no finding and what is withheld; no price is stated, no advice is settled.
    page = text(erin, "/site/")
    assert f"{headline} 20,500 The hours of a job count once" in page
    assert "Saved by advice of this month" not in page
    ClosedMonth.objects.create(kind="advice", first_day=OCTOBER, figures=RULES, closed_at=AT)
    # 400 - 40 GPU-hours, 60 % of the claim.
    assert f"{headline} 20,500 Saved by advice of this month, GPU-hours 360 60~% of the claim" in text(erin, "/site/")


def test_a_month_in_which_no_finding_is_shown_costs_nothing_that_is_known(cast) -> None:
    month()
    stored = ClosedMonth.objects.get(kind="site", first_day=OCTOBER)
    stored.figures["tables"] = {"finding": [{"name": "overscaling", "withheld": "few_people"}]}
    stored.save()
    page = text(cast("erin"), "/site/")
    assert "Unused GPU-hours (estimate) of the findings that are shown none is shown" in page


@pytest.mark.usefixtures("_with_factors")
def test_what_advice_saved_is_added_up_from_the_rules_that_are_shown(cast) -> None:
    month()
    ClosedMonth.objects.create(kind="advice", first_day=OCTOBER, figures=RULES, closed_at=AT)
    page = text(cast("erin"), "/site/")
    # 400 - 40 of 500 + 100: 360 of 600 is 60 %; 360 x 0.35 = 126 EUR.
    assert "saved 360&nbsp;GPU-hours of 600 that the reports claimed for them (60~%)" in page
    assert "126~EUR, 60~% of the claim" in page
    assert "GPUs: only the GPUs that were active 500 400 80~%" in page
    assert "CPU cores: cores near those that were busy 100 -40 -40~%" in page
    assert "2 further rules withheld" in page


def test_advice_of_another_month_or_of_too_few_people_is_not_shown(cast) -> None:
    month()
    september = ClosedMonth.objects.create(kind="advice", first_day=date(2026, 9, 1), figures=RULES, closed_at=AT)
    erin = cast("erin")
    assert "They are added up 31&nbsp;days after its end" in text(erin, "/site/")
    ClosedMonth.objects.filter(pk=september.pk).update(first_day=OCTOBER, figures=RULES[2:])
    assert "Withheld: the advice of each rule was followed by too few people." in text(erin, "/site/")


def test_answers_are_ranges_of_the_month(cast) -> None:
    month()
    figures = [
        {"code": "timeout", "answers": 40, "rarer": "wrong", "rarer_from": 5, "width": 5},
        {"code": "verdict", "answers": 20, "rarer": "right", "rarer_from": 0, "width": 10},
    ]
    ClosedMonth.objects.create(kind="answers", first_day=OCTOBER, figures=figures, closed_at=AT)
    for address in ("/site/", "/support/feedback/"):
        page = text(cast("erin"), address)
        # 5 to 9 of 40 is 12.5 to 22.5 %; 0 to 9 right of 20 leave 11 to 20, 55 to 100 %.
        assert "about 40 5–9 12–23~%" in page
        assert page.index("The class of the job about 20 11–20 55–100~%") < page.index("about 40")


def test_without_enough_answers_the_page_states_it(cast) -> None:
    month()
    assert "No finding has enough answers of enough people to be shown." in text(cast("erin"), "/site/")
    assert "The answers of a month appear 7&nbsp;days after its end" in text(cast("erin"), "/support/feedback/")


def test_reporting_quality_in_words(cast) -> None:
    month()
    page = text(cast("erin"), "/site/")
    # 15,000 + 24,000 of 40,000 is 97.5 %, as its even neighbour; 1,000 is 2.5 %, 3,000 is 7.5 %.
    assert "Measured by collectors 39,000~GPU-hours (98~%)" in page
    assert "Not measured 1,000~GPU-hours (2~%)" in page
    assert "In jobs that were measured in part 3,000~GPU-hours (8~%)" in page
    assert "In jobs without any measurement withheld: it would reveal a withheld group" in page


def test_from_the_hook_to_the_page(cast, five) -> None:  # noqa: F811
    """Five people's runs of 8 GPU-hours at 75 %, sent, judged and closed: 40, 30 and 10 of no finding's hours."""
    close_months(SITE, AT + timedelta(hours=1))
    with stated():
        page = text(cast("erin"), "/site/")
    # 10 unused x 0.35 = 3.50 EUR.
    assert "3.50~EUR" in page
    assert "Measured by collectors 40~GPU-hours (100~%)" in page
    assert "Not measured 0~GPU-hours (0~%)" in page
