"""Times as the reader's own clock shows them: the zone that was chosen, else the browser's, else UTC."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from jobs.models import User
from jobs.services import record_job
from portal.middleware.reader_preferences import COOKIE, reader_zone, zone_names
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

# The job of the cast ends on 2026-11-20 at 12:00 UTC.
IN = {
    "UTC": "2026-11-20 12:00 UTC",
    "Europe/Helsinki": "2026-11-20 14:00 EET",
    "America/New_York": "2026-11-20 07:00 EST",
    "Asia/Kolkata": "2026-11-20 17:30 IST",
}


def plain(client: Client, path: str) -> str:
    page = client.get(path).content.decode()
    return page.replace('<span class="zone">', "").replace('<span class="clock">', "").replace("</span>", "")


def read(name: str, path: str) -> str:
    """The end of the run as a page shows it in a zone; a list leaves the zone to its foot."""
    return IN[name].rpartition(" ")[0] if path == "/jobs/" else IN[name]


@pytest.mark.parametrize("path", ["/jobs/", "/jobs/lumi/123456/"])
def test_the_zone_of_the_browser_is_used_and_named(cast, reported, path: str) -> None:
    reported()
    client = cast("alice")
    assert read("UTC", path) in plain(client, path)
    for name in IN:
        client.cookies[COOKIE] = name
        assert read(name, path) in plain(client, path)
        assert f">{name}</a>." in plain(client, path)


def test_a_chosen_zone_wins_over_the_browser(cast, reported) -> None:
    reported()
    client = cast("alice")
    client.cookies[COOKIE] = "America/New_York"
    client.post("/settings/appearance/", {"theme": "", "time_zone": "Europe/Helsinki"})
    assert read("Europe/Helsinki", "/jobs/") in plain(client, "/jobs/")
    client.post("/settings/appearance/", {"theme": "", "time_zone": ""})
    assert read("America/New_York", "/jobs/") in plain(client, "/jobs/")


@pytest.mark.parametrize(
    "wrong", ["", "Mars/Olympus", "../../etc/passwd", "Factory", "\x00", "x" * 5000, "europe/helsinki"]
)
def test_a_zone_that_does_not_exist_is_no_zone(cast, wrong: str) -> None:
    request = RequestFactory().get("/")
    request.user = User(time_zone=wrong)
    request.COOKIES[COOKIE] = wrong
    assert reader_zone(request) is None


def test_the_zone_of_one_reader_is_not_that_of_the_next(cast) -> None:
    client = cast("alice")
    client.cookies[COOKIE] = "Asia/Tokyo"
    client.get("/jobs/")
    assert timezone.get_current_timezone_name() == "UTC"


def test_files_and_the_api_keep_to_utc(cast, reported) -> None:
    reported()
    client = cast("alice")
    client.cookies[COOKIE] = "Asia/Tokyo"
    assert IN["UTC"] in client.get("/api/v1/jobs/lumi/123456/report.txt").content.decode()
    assert "2026-11-20 12:00:00+00:00" in client.get("/jobs.csv").getvalue().decode()
    assert client.get("/api/v1/jobs/").json()["results"][0]["ended_at"].startswith("2026-11-20T12:00:00")


def test_days_are_the_readers_on_the_page_and_in_the_table_of_it(cast) -> None:
    """23:30 UTC on the 9th is the 10th in Tokyo."""
    record_job(job_record(ended_at="2026-11-09T23:30:00Z"))
    client = cast("alice")
    found = {}
    for name in ("UTC", "Asia/Tokyo"):
        client.cookies[COOKIE] = name
        for days in ("since=2026-11-10", "until=2026-11-09", "since=2026-11-10&until=2026-11-10"):
            listed = client.get(f"/jobs/?{days}").context["page"].count
            assert len(client.get(f"/jobs.csv?{days}").getvalue().splitlines()) == listed + 1
            found[name, days] = listed
    assert list(found.values()) == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("day", ["0001-01-01", "1970-01-02", "9999-12-29", "9999-12-31"])
@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_no_day_breaks_the_page(cast, name: str, day: str) -> None:
    client = cast("alice")
    client.cookies[COOKIE] = name
    assert client.get(f"/jobs/?since={day}&until={day}").status_code == 200


def test_every_zone_that_is_offered_works_on_the_page_with_most_times(cast, reported) -> None:
    """The database has to know its name as well."""
    reported()
    client = cast("alice")
    for name in sorted(zone_names())[:: len(zone_names()) // 40]:
        client.cookies[COOKIE] = name
        assert client.get("/history/?days=7").status_code == 200, name


def test_without_its_database_a_page_still_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        @property
        def time_zone(self) -> str:
            raise OperationalError("gone")

    request = RequestFactory().get("/")
    request.user = Away()
    request.COOKIES[COOKIE] = "Europe/Helsinki"
    assert str(reader_zone(request)) == "Europe/Helsinki"
