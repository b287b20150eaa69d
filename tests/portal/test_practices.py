"""What many works did together, where people read it: Learn, the API and the command line."""

from __future__ import annotations

import json

import msgspec
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.models import ClosedMonth
from analysis.practices.figures import HALF, MistakeFigures, MonthPractices, PracticeFigures
from tests.analysis.practices.works import close, store_person

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

FOLLOWED = "Advice on fewer GPUs, or others: 5 of 5 works followed it (5 people)."


@pytest.fixture
def closed() -> None:
    """Five works of five people that followed advice in September."""
    for number in range(5):
        store_person(number, scaled="")
    close()


def plain(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


def test_learn_and_the_insights_have_what_helped_others_for_anyone(cast, closed) -> None:
    for name in ("alice", "dave"):
        page = plain(cast(name).get("/learn/").content.decode())
        # 1.00 1.02 1.04 1.06 1.08 times two hours: 4 % longer; 2.08 of 8 GPU-hours: 74 % fewer.
        assert f"{FOLLOWED} Of these, 5 can be compared (5 people): their runs took 4 % longer" in page
        assert "were billed 74 % fewer GPU-hours (median)" in page
    others = json.loads(cast("alice").get("/api/v1/insights/").content)["others"]
    (practice,) = others["practices"]
    assert plain(practice["text"]).startswith(FOLLOWED)
    assert (practice["kind"], practice["followed"], practice["run_time_percent"], practice["until"]) == (
        *("gpus", 5, 4),
        "2026-09-01",
    )


def test_a_search_in_the_lessons_shows_lessons_alone(cast, closed) -> None:
    assert "What helped others" not in cast("alice").get("/learn/?q=memory").content.decode()


def test_without_a_group_nothing_is_shown_but_why(cast) -> None:
    store_person(0, scaled="")
    close()
    page = plain(cast("alice").get("/learn/").content.decode())
    assert not any(said in page for said in ('id="helped"', 'id="common"', "at least 5 people"))
    why = "not shown: there are too few people or projects for sums that reveal nobody"
    assert why in page
    assert why not in plain(cast("alice").get("/learn/?q=memory").content.decode())
    others = json.loads(cast("alice").get("/api/v1/insights/").content)["others"]
    assert others == {"practices": [], "mistakes": [], "month": ""}


def test_strangers_read_neither(db) -> None:
    assert Client().get("/learn/").status_code == 302
    assert Client().get("/api/v1/insights/").status_code in (401, 403)


def test_a_stored_finding_that_this_version_does_not_know_is_left_out(cast) -> None:
    rows = [MistakeFigures("of_another_version", 9, 20, 9), MistakeFigures("idle_gpus", 8, 20, 8, 6.0)]
    half = PracticeFigures(HALF, "2026-09-01", 6, 6, "<b>CP2K", None, 6, 6, 6, -47)
    figures = msgspec.to_builtins(MonthPractices([half], rows))
    ClosedMonth.objects.create(
        kind="practices", first_day="2026-09-01", figures=figures, closed_at="2026-11-20T00:00:00Z"
    )
    page = plain(cast("alice").get("/learn/").content.decode())
    assert "Some GPUs stayed idle: 8 of 20 works (8 people)." in page
    assert "&lt;b&gt;CP2K: 6 works went to half of their GPUs" in page
    assert "of_another_version" not in page


def test_the_page_costs_the_same_queries_whatever_is_stored(cast, closed) -> None:
    alice, counts = cast("alice"), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            alice.get("/learn/")
        counts.append(len(queries))
        ClosedMonth.objects.filter(kind="practices").update(figures={"practices": [], "mistakes": []})
    assert counts[0] == counts[1]
