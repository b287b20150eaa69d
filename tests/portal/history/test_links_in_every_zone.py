"""The links of pages that add up days of the site open exactly those jobs, whatever zone their reader has."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from analysis.findings import code_list
from analysis.history.periods import last_days
from analysis.rollups.selectors import site_now
from analysis.rollups.services import note_all
from portal.middleware.reader_preferences import COOKIE
from tests.portal.jobs.test_job_pages import run

pytestmark = pytest.mark.django_db
ZONES = ("UTC", "Europe/Helsinki", "Pacific/Auckland", "America/Los_Angeles")


def listed(client: Client, address: str) -> int:
    return client.get(address).context["page"].count


def around_the_first_midnight() -> None:
    """A run in each of the twelve hours before the first of seven days of the site, and of the twelve after."""
    first = last_days(site_now(), 7).start
    for hour in range(-12, 12):
        judged = {"finding_codes": code_list(["idle_gpus"])}
        run(hour + 100, ended_at=first + timedelta(hours=hour, minutes=30), judged=judged)
    note_all(timezone.now())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("site", ["UTC", "Europe/Helsinki"])
def test_a_link_opens_the_jobs_that_its_page_counts(cast, settings, site: str, zone: str) -> None:
    settings.TIME_ZONE = site
    alice = cast("alice")
    alice.cookies[COOKIE] = zone
    around_the_first_midnight()
    (row,) = alice.get("/history/?days=7").context["findings"]
    assert (row.jobs, listed(alice, row.url)) == (12, 12)
    page = alice.get("/projects/project_465000001/?days=7")
    assert [listed(alice, row.url) for row in page.context["findings"]] == [12]
    (of_project,) = re.findall(r'href="(/jobs/\?project=[^"]*)">The jobs of this project', page.content.decode())
    assert listed(alice, unescape(of_project)) == 12
    assert listed(alice, "/jobs/?days=7&zone=site") == 12
    as_csv = b"".join(alice.get(row.url.replace("/jobs/", "/jobs.csv"))).decode()  # type: ignore[arg-type]
    assert as_csv.count("\r\n") == 13


@pytest.mark.parametrize(("zone", "note"), [("UTC", ""), ("Pacific/Auckland", ", site time")])
def test_the_filter_names_the_calendar_where_it_is_not_the_readers(cast, zone: str, note: str) -> None:
    alice = cast("alice")
    alice.cookies[COOKIE] = zone
    page = alice.get("/jobs/?since=2026-11-17&zone=site&state=COMPLETED")
    assert [(chip.label, chip.value) for chip in page.context["chips"]] == [
        ("State", "Completed"),
        ("Ended from", f"2026-11-17{note}"),
    ]
    assert [chip.address for chip in page.context["chips"]] == ["since=2026-11-17&zone=site", "state=COMPLETED"]
    assert '<input type="hidden" name="zone" value="site"' in page.content.decode()
    own = alice.get("/jobs/?since=2026-11-17")
    assert [chip.value for chip in own.context["chips"]] == ["2026-11-17"]


def test_a_calendar_alone_is_no_filter_and_another_one_is_ignored(cast) -> None:
    run(1)
    alice = cast("alice")
    assert alice.get("/jobs/?zone=site").context["chips"] == []
    assert "Ignored: calendar “<bdi>Mars</bdi>”" in alice.get("/jobs/?days=7&zone=Mars").content.decode()


def test_the_jobs_of_a_work_keep_the_calendar(cast) -> None:
    run(1, ended_at=site_now(), work_key="ab" * 16)
    (row,) = cast("alice").get("/jobs/?days=7&zone=site&group=work").context["works"].rows
    assert row.jobs_url == f"/jobs/?days=7&zone=site&work={'ab' * 16}"
