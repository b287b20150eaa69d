"""The Site page: stored months in words, for staff and policy readers."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from analysis.models import SiteMonth
from tests.portal.conftest import text

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 8, tzinfo=UTC)
TABLES = {
    "finding": [{"name": "idle_gpus", "allocated": 30000.0, "used": 10000.0, "unused": 20000.0}],
    "partition": [{"name": "<b>odd", "withheld": "few_people"}, {"name": "small-g", "withheld": "other_group"}],
    "class": [{"name": "WASTED", "withheld": "one_person"}, {"name": "UNKNOWN", "withheld": "people_together"}],
}


@pytest.fixture
def months() -> None:
    shown = {"name": "", "allocated": 40000.0, "used": 15000.0, "unused": 24000.0}
    SiteMonth.objects.create(
        first_day=date(2026, 9, 1), figures={"total": {"name": "", "withheld": "few_people"}}, closed_at=AT
    )
    figures = {"total": shown, "tables": TABLES, "energy_kwh": 1250.0}
    SiteMonth.objects.create(first_day=date(2026, 10, 1), figures=figures, closed_at=AT)


def test_staff_and_policy_readers_see_the_latest_month(cast, months) -> None:
    for name in ("erin", "frank", "grace"):
        page = text(cast(name), "/site/")
        assert "unused GPU-hours (estimate) of 40,000&nbsp;GPU-hours in October 2026" in page
        assert "1,250&nbsp;kWh" in page
        assert "Some GPUs stayed idle" in page
    for name in ("alice", "carol", "dave"):
        assert cast(name).get("/site/").status_code == 404


def test_what_is_withheld_is_said_in_words(cast, months) -> None:
    page = text(cast("erin"), "/site/?month=2026-10")
    assert "withheld: fewer than 5 people" in page
    assert "withheld: one person has more than 85\u00a0%" in page
    assert "withheld: three people have nearly all of it" in page
    assert "withheld: it would reveal a withheld group" in page
    assert "&lt;b&gt;odd" in page


def test_a_month_of_too_few_people_has_no_figures(cast, months) -> None:
    page = text(cast("erin"), "/site/?month=2026-09")
    assert "September 2026: withheld: fewer than 5 people." in page
    assert "kWh" not in page


def test_other_periods_cannot_be_asked_for(cast, months) -> None:
    erin = cast("erin")
    for asked in ("2026-10-05", "2025-01", "x", ""):
        assert "in October 2026" in text(erin, f"/site/?month={asked}")


def test_before_the_first_month_the_page_says_when_one_appears(cast) -> None:
    assert "The figures of a month appear 7 days after its end." in text(cast("erin"), "/site/")


def test_idle_hours_that_others_waited_for_stand_beside_the_others(cast, months) -> None:
    month = SiteMonth.objects.get(first_day=date(2026, 10, 1))
    assert "GPUs that stayed idle" not in text(cast("erin"), "/site/"), "a month from before they were added up"
    month.figures["idle"] = {"wanted": 1200.0, "unwanted": 34000.0}
    month.save()
    page = text(cast("erin"), "/site/")
    assert "Idle GPU-hours while others waited for them</dt><dd>1,200</dd>" in page
    assert "Idle GPU-hours that nobody waited for</dt><dd>34,000</dd>" in page
    month.figures["idle"] = {"withheld": "other_group"}
    month.save()
    page = text(cast("erin"), "/site/")
    assert "GPUs that stayed idle" in page
    assert "Idle GPU-hours" not in page
