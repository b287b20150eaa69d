"""The page of the quality of the advice: for staff alone, from stored months, with the poor rules first."""

from __future__ import annotations

from datetime import UTC, date, datetime

import msgspec
import pytest

from analysis.models import ClosedMonth
from analysis.outcomes.quality import RuleFigures
from analysis.rightsizing import Recommendation
from portal.pages.support.views import BASES
from tests.portal.conftest import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def october(db) -> None:
    rows = [
        RuleFigures("gpus", "active_gpus", False, 50, 40, 30, 30, 0, 10, 0, 25, 200.0, 180.0),
        RuleFigures("gpus", "overscaling", False, 50, 40, 30, 30, 0, 10, 0, 25, 200.0, 60.0),
        RuleFigures("cores", "busy_cores", is_withheld=True),
    ]
    ClosedMonth.objects.create(
        kind="advice",
        first_day=date(2026, 9, 1),
        figures=msgspec.to_builtins(rows),
        closed_at=datetime(2026, 11, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize(("name", "status"), [("erin", 200), ("grace", 200), ("alice", 404), ("carol", 404)])
def test_only_staff_open_it(cast, name: str, status: int) -> None:
    assert cast(name).get("/support/advice/").status_code == status


def test_without_a_month_it_shows_when_the_first_one_comes(cast) -> None:
    assert "31 days after its end" in text(cast("erin"), "/support/advice/")
    assert "/support/advice/" in text(cast("erin"), "/support/")


def test_rules_with_a_poor_record_are_listed_with_the_reason(cast, october) -> None:
    answer = cast("erin").get("/support/advice/")
    assert [row.record.sums.basis for row in answer.context["poor"]] == ["overscaling"]
    page = answer.content.decode()
    assert "<b>GPUs: fewer, busier GPUs</b>: saved less than 50\u00a0% of what was claimed." in page
    # 30 of 40 were followed; 180 of 200 GPU-hours were saved.
    assert "75\u00a0%" in page
    assert "90\u00a0%" in page
    assert "too few people" in page
    assert "September 2026" in page


def test_every_basis_of_advice_has_a_name() -> None:
    named = (Recommendation.__doc__ or "").partition("A basis is")[2]
    assert set(BASES) == {part.strip(' .\n"') for part in named.replace(" or ", ", ").split(",")}
