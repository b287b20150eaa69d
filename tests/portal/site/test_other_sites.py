"""The Site page beside other sites: groups of at least five people on both sides, and no page of a person."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import msgspec
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.anonymous.bands import COLUMNS, Run
from analysis.anonymous.month import figures_of
from analysis.models import ClosedMonth, ElsewhereMonth
from tests.analysis.elsewhere.files import ROW

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

AT = datetime(2026, 11, 8, tzinfo=UTC)
OCTOBER = date(2026, 10, 1)


def text(client: Client, path: str = "/site/") -> str:
    """The words of the section, with ~ for a space at which no line ends."""
    page = client.get(path).content.decode()
    section = page[page.index('id="elsewhere"') :].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", section).replace("\u00a0", "~").split())


@pytest.fixture
def closed(db) -> None:
    total = {"name": "", "allocated": 40000.0, "used": 15000.0, "unused": 24000.0}
    ClosedMonth.objects.create(kind="site", first_day=OCTOBER, figures={"total": total, "tables": {}}, closed_at=AT)


def anonymised(people: int = 10) -> None:
    """Half of them use eight shared GPUs well; one end in five is none."""
    runs = [
        Run(number, number, 8.0, "gromacs", partition_type="shared", gpus=8, state="COMPLETED", efficiency_class=name)
        for number, name in enumerate(("EFFICIENT", "WASTED") * (people // 2))
    ]
    figures = msgspec.to_builtins(figures_of(runs, b"of this test alone"))
    ClosedMonth.objects.create(kind="other_sites", first_day=OCTOBER, figures=figures, closed_at=AT)


def shared(first_day: date = OCTOBER, site: str = "Elsewhere", count: int = 1500, **changes: str) -> None:
    groups = [[[(ROW | changes)[column] for column in COLUMNS], count]]
    ElsewhereMonth.objects.create(
        site=site, first_day=first_day, form="institutional", groups=groups, digest="0" * 64, imported_at=AT
    )


def test_groups_here_and_there_stand_one_below_the_other(cast, closed) -> None:
    anonymised()
    shared()
    page = text(cast("erin"))
    assert "Elsewhere, October 2026 (Anonymised rows)" in page
    # 5 Efficient and 5 Wasted: of ten in order of use the fifth is Wasted.
    here = "Shared nodes Here 10 0–15~% 50 % 0 % 0 % 50 % 100 %"
    assert f"{here} Elsewhere 1,500 5–15~% 0 % 0 % 0 % 100 % 100 %" in page.replace("~%", "~%")
    assert "2–8 Here 10" in page
    assert "gromacs Here 10" in page


def test_a_group_that_one_side_lacks_is_said(cast, closed) -> None:
    anonymised()
    shared(program="cp2k", partition_type="whole_nodes")
    page = text(cast("erin"))
    assert "Whole nodes Here fewer than 5 people, or none Elsewhere 1,500" in page
    assert "gromacs Here 10 0–15~% 50 % 0 % 0 % 50 % 100 % Elsewhere fewer than 5 people, or none" in page


def test_a_month_here_of_too_few_people_shows_the_other_side_alone(cast, closed) -> None:
    anonymised(4)
    shared()
    assert "Shared nodes Here fewer than 5 people, or none Elsewhere 1,500" in text(cast("erin"))


def test_the_same_month_comes_first_and_otherwise_the_latest_with_a_note(cast, closed) -> None:
    anonymised()
    for month in (9, 10, 11):
        shared(date(2026, month, 1))
        if month != 10:
            shared(date(2026, month, 1), "Another site")
    page = text(cast("erin"))
    assert "Elsewhere, October 2026" in page
    assert "Another site, November 2026 (Anonymised rows) It shared no rows of October 2026" in page


def test_what_is_not_there_yet_is_said(cast, closed) -> None:
    assert "This month has no anonymised rows yet." in text(cast("erin"))
    anonymised()
    assert "No rows of other sites are stored." in text(cast("erin"))


def test_names_of_others_are_escaped_and_persons_see_none_of_it(cast, closed) -> None:
    anonymised()
    shared(site="<script>alert(1)</script>")
    assert "<script>alert" not in cast("erin").get("/site/").content.decode()
    for path in ("/", "/jobs/", "/history/"):
        assert "alert(1)" not in cast("alice").get(path).content.decode()
    assert cast("alice").get("/site/").status_code == 404


def test_as_many_queries_for_many_sites_as_for_one(cast, closed, django_assert_max_num_queries) -> None:
    anonymised()
    shared()
    client = cast("erin")
    with CaptureQueriesContext(connection) as one:
        client.get("/site/")
    for number in range(5):
        shared(site=f"Site {number}")
    with django_assert_max_num_queries(len(one)):
        client.get("/site/")
