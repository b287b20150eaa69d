"""The public page: off by default; the same closed figures for everybody, from any cache."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import resolve

from analysis.models import ClosedMonth
from portal.middleware.public_page import PUBLIC
from tests.portal.site.factors import stated

pytestmark = pytest.mark.django_db

# Django deletes such a session cookie on other pages.
STRANGE_COOKIES = "kaiku_tz=Europe/Helsinki; sessionid=x; csrftoken=y; messages=z"
AT = datetime(2026, 11, 8, tzinfo=UTC)
CLASSES = [
    {"name": "WASTED", "allocated": 10000.0, "used": 500.0, "unused": 9500.0},
    {"name": "EFFICIENT", "withheld": "one_person"},
]
RULE = {"kind": "gpus", "basis": "active_gpus", "compared": 9, "claimed_gpu_hours": 500.0, "realised_gpu_hours": 400.0}


def words(client: Client) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", client.get("/public/").content.decode()).replace("\u00a0", "~").split())


def close(first_day: date, allocated: float = 40000.0) -> None:
    total = {"name": "", "allocated": allocated, "used": allocated * 0.4, "unused": allocated * 0.6}
    tables = {"class": CLASSES, "finding": [{"name": "idle_gpus", "allocated": 1.0, "used": 0.0, "unused": 1.0}]}
    figures = {"total": total, "tables": tables, "energy_kwh": 1250.0}
    ClosedMonth.objects.create(kind="site", first_day=first_day, figures=figures, closed_at=AT)


@pytest.fixture
def _on(settings) -> None:
    settings.PUBLIC_PAGE = True


@pytest.fixture(autouse=True)
def _uncounted() -> None:
    cache.clear()


def test_it_is_off_by_default_for_everybody(cast) -> None:
    close(date(2026, 10, 1))
    for client in (Client(), cast("alice"), cast("grace")):
        assert client.get("/public/").status_code == 404
    assert b"/public/" not in Client().get("/sign-in/").content


@pytest.mark.usefixtures("_on")
def test_everybody_reads_the_latest_month_that_may_be_shown() -> None:
    close(date(2026, 9, 1), 20000.0)
    close(date(2026, 10, 1))
    withheld = {"total": {"name": "", "withheld": "few_people"}}
    ClosedMonth.objects.create(kind="site", first_day=date(2026, 11, 1), figures=withheld, closed_at=AT)
    ClosedMonth.objects.create(kind="advice", first_day=date(2026, 9, 1), figures=[RULE], closed_at=AT)
    with stated():
        page = words(Client())
    # 24,000 of 40,000 is 60 %; 10,000 of 40,000 is 25 %; 1,250 kWh x 83 g = 103.75 kg.
    assert "60~% of 40,000&nbsp;GPU-hours in October 2026 were unused" in page
    assert "Wasted 10,000 25~%" in page
    assert "withheld: one person has more than 85~%" in page
    assert "Energy 1,250&nbsp;kWh" in page
    assert "103.75~kg" in page
    assert "83~g CO₂e per kWh since October 2026: Supplier, 2026." in page
    assert "GPU-hours saved by advice of September 2026 400" in page
    assert page.index("Oct 2026 40,000 16,000 60~%") < page.index("Sep 2026 20,000 8,000 60~%")
    assert "Nov" not in page
    assert "idle" not in page.lower(), "findings are for staff"


@pytest.mark.usefixtures("_on")
def test_before_the_first_month_it_says_when_one_appears() -> None:
    assert "The figures of a month appear 7&nbsp;days after its end." in words(Client())


@pytest.mark.usefixtures("_on")
def test_where_every_month_has_too_few_people_it_does_not_promise_one() -> None:
    withheld = {"total": {"name": "", "withheld": "few_people"}}
    ClosedMonth.objects.create(kind="site", first_day=date(2026, 10, 1), figures=withheld, closed_at=AT)
    page = words(Client())
    assert "Figures are shown of months in which at least 5 people used GPUs" in page
    assert "appear" not in page


@pytest.mark.usefixtures("_on")
def test_it_is_the_same_for_a_signed_in_person_and_reads_no_session(cast, django_assert_num_queries) -> None:
    close(date(2026, 10, 1))
    alice = cast("alice")
    with django_assert_num_queries(2):
        hers = alice.get("/public/")
    answer = Client(headers={"cookie": STRANGE_COOKIES}).get("/public/")
    assert hers.content == answer.content
    for each in (hers, answer):
        assert (dict(each.cookies), "Vary" in each) == ({}, False)
    assert b"alice" not in hers.content
    assert b"time_zone.js" not in hers.content, "the script sets a cookie"
    assert "script-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.usefixtures("_on")
def test_caches_keep_it_and_ask_again_with_its_tag() -> None:
    close(date(2026, 10, 1))
    client = Client()
    first = client.get("/public/")
    assert first["Cache-Control"] == "public, max-age=3600"
    again = client.get("/public/", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert again["Cache-Control"] == "public, max-age=3600"
    assert "Vary" not in again
    assert client.head("/public/", headers={"if-none-match": '"other"'}).status_code == 200
    close(date(2026, 11, 1), 50000.0)
    changed = client.get("/public/", headers={"if-none-match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


@pytest.mark.usefixtures("_on")
def test_it_takes_no_other_method_and_no_choice(cast) -> None:
    close(date(2026, 9, 1), 20000.0)
    close(date(2026, 10, 1))
    strict = Client(enforce_csrf_checks=True)
    answers = [getattr(strict, method)("/public/") for method in ("post", "put", "patch", "delete")]
    assert [(answer.status_code, answer["Allow"]) for answer in answers] == [(405, "GET, HEAD")] * 4
    assert Client().get("/public/?month=2026-09").content == Client().get("/public/").content


@pytest.mark.usefixtures("_on")
def test_who_reads_it_too_often_waits(settings, monkeypatch) -> None:
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    settings.ANONYMOUS_API_CALLS_PER_MINUTE = 2
    answers = [Client().get("/public/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) <= 60
    assert "public" not in answers[-1].get("Cache-Control", "")
    assert Client(REMOTE_ADDR="192.0.2.7").get("/public/").status_code == 200


@pytest.mark.usefixtures("_on")
def test_the_sign_in_page_leads_there() -> None:
    assert b'<a href="/public/">' in Client().get("/sign-in/").content
    assert resolve(PUBLIC).url_name == "public"
