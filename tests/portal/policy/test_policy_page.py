"""The Policy page: the export in words, what is withheld and why, and its downloads, for staff and policy readers."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from analysis.models import ClosedMonth, PolicyRow
from analysis.policy.figures import FIGURES, OF_FEW_JOBS
from jobs.models import AuditEntry
from tests.portal.conftest import text

pytestmark = pytest.mark.django_db

CLASSES = {"efficient": 0.25, "acceptable": 0.0, "inefficient": 0.75, "wasted": 0.0, "unknown": 0.0}
SHOWN = {
    "withheld_columns": [], "withheld_columns_reason": None, "jobs": 1200, "gpu_hours": 12350.0,
    "efficiency_score": 24.0, "unused_gpu_hours": 9400.0,
    "advice_gpu_hours": 6000.0, "advice_fraction": 0.49, "classes_by_gpu_hours": CLASSES, "classes_by_jobs": CLASSES,
    "flag": True, "coverage_fraction": 0.97, "followed_runs": 3, "followed_gpu_hours": 210.0,
    "suggested_multiplier": 0.92,
}  # fmt: skip


def make_rows(users: int = 3) -> None:
    for first_day in (date(2026, 9, 1), date(2026, 10, 1)):
        month = ClosedMonth.objects.create(
            kind="policy", figures=[], first_day=first_day, closed_at=datetime(2026, 11, 8, tzinfo=UTC)
        )
        PolicyRow.objects.create(month=month, kind="project", key="project_465000001", figures=SHOWN)
        PolicyRow.objects.create(month=month, kind="project", key="<b>odd", withheld="few_people")
        hidden = SHOWN | {"withheld_columns": ["flag", "followed_runs"], "flag": None, "followed_runs": None}
        PolicyRow.objects.create(month=month, kind="project", key="project_465000003", figures=hidden)
        PolicyRow.objects.bulk_create(
            PolicyRow(month=month, kind="user", key=f"{number:032x}", figures=SHOWN) for number in range(users)
        )


def test_the_figures_here_have_the_members_of_a_row() -> None:
    assert set(SHOWN) == set(FIGURES)


def test_policy_readers_and_administrators_see_the_latest_month(cast) -> None:
    make_rows()
    for name in ("frank", "grace"):
        page = text(cast(name), "/policy/")
        assert "used their GPUs in October 2026" in page
        for shown in (
            "12,350",
            "24\u00a0%",
            "9,400",
            "6,000 (49\u00a0%)",
            "Efficient 25\u00a0%, Inefficient 75\u00a0%",
        ):
            assert shown in page
        assert "3 jobs, 210\u00a0GPU-hours saved" in page
        assert "Suggested multiplier (advisory)" in page
    for name in ("alice", "carol", "dave"):
        assert cast(name).get("/policy/").status_code == 404


def test_what_is_withheld_is_stated_with_its_reason(cast) -> None:
    make_rows()
    page = text(cast("frank"), "/policy/")
    assert "1 project withheld: fewer than 5 people" in page
    assert "&lt;b&gt;odd" in page
    assert '<td data-label="Flag">withheld</td>' in page
    assert "No row of this table is withheld." in text(cast("frank"), "/policy/?by=user")


def test_a_month_and_the_kind_of_rows_are_chosen_by_links(cast) -> None:
    make_rows()
    page = text(cast("frank"), "/policy/?period=2026-09&by=user")
    assert "used their GPUs in September 2026" in page
    assert f"{2:032x}" in page
    assert "project_465000001" not in page
    assert "/api/v1/policy/efficiency.csv?period=2026-09" in page
    for odd in ("?period=2026-13", "?period=x&by=y&page=z", "?page=99"):
        assert "used their GPUs in October 2026" in text(cast("frank"), f"/policy/{odd}")


def test_many_rows_are_on_several_pages(cast) -> None:
    make_rows(users=120)
    page = text(cast("frank"), "/policy/?by=user&page=2")
    assert "Page 2 of 3" in page
    assert page.count('class="name"') == 50


def test_a_user_with_few_jobs_has_the_reason_in_place_of_figures(cast) -> None:
    make_rows()
    few = dict.fromkeys(OF_FEW_JOBS) | {"withheld_columns_reason": "few_jobs", "jobs": 2, "gpu_hours": 20.0}
    few |= {"withheld_columns": list(OF_FEW_JOBS), "suggested_multiplier": 1.0}
    PolicyRow.objects.filter(kind="user", key=f"{1:032x}").update(figures=SHOWN | few)
    page = text(cast("frank"), "/policy/?by=user")
    row = page[page.index(f"{1:032x}") : page.index(f"{2:032x}")]
    assert "withheld: the range of jobs of this user begins below 5" in row
    assert "not measured" not in row
    assert page.count("withheld: the range of jobs of this user begins below 5") == 1
    assert "0\u00a0%" not in row


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?since=2026-10&until=2026-09", "since 2026-10 is not before until 2026-09"),
        ("?since=2020-01&until=2020-05", "There are no figures of months from 2020-01 and before 2020-05;"),
        ("?since=2026-09&until=2026-10", "This page shows one month"),
        ("?period=2026-12", "There are no figures of 2026-12"),
        ("?period=%3Cb%3E", "A period is a month, such as 2026-10."),
        ("?period=2026-09&by=user", ""),
        ("", ""),
    ],
)
def test_months_that_are_not_shown_are_stated(cast, query: str, message: str) -> None:
    make_rows()
    page = text(cast("frank"), f"/policy/{query}")
    assert ('<p class="notice error" role="status">' in page) == bool(message)
    assert message in page


def test_names_are_shown_only_where_the_site_states_so(cast, settings) -> None:
    make_rows()
    assert "Users have no names; their keys change with each month." in text(cast("frank"), "/policy/")
    settings.POLICY_NAMES = True
    assert "This site names users: it is responsible for that." in text(cast("frank"), "/policy/")


def test_each_view_is_logged(cast) -> None:
    make_rows()
    text(cast("frank"), "/policy/?by=user")
    entry = AuditEntry.objects.get(action="policy_read")
    assert (entry.actor, entry.name, entry.details) == ("frank", "efficiency by user, 2026-10", "page 1, 3 rows")


def test_the_menu_leads_policy_readers_there(cast) -> None:
    assert 'href="/policy/"' in text(cast("frank"), "/about/")
    assert 'href="/site/"' in text(cast("frank"), "/about/")
    assert 'href="/policy/"' in text(cast("grace"), "/about/")
    assert 'href="/policy/"' not in text(cast("erin"), "/about/")
    assert 'href="/policy/"' not in text(cast("alice"), "/about/")


def test_before_the_first_month_the_page_states_when_one_appears(cast) -> None:
    assert "The figures of a month appear 7 days after its end." in text(cast("frank"), "/policy/")
