"""The feed of own reports: who gets it, that any reader understands it, and that nothing in it is markup."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from xml.etree import ElementTree

import feedparser
import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Job, Token, User
from jobs.tokens.models import PERSONAL, PREFIXES
from jobs.tokens.selectors import own_tokens
from jobs.tokens.services import issue_token
from portal.logs import HIDDEN, SECRETS
from reports.mail.digest import Choices, Frequency
from reports.mail.services.preferences import save_choices
from reports.models import Report

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/feeds/reports.atom"
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
ONCE = {"feed": {"id", "title", "updated"}, "entry": {"id", "title", "updated"}}
"""Elements that a feed and each entry must have once (RFC 4287, sections 4.1.1 and 4.1.2)."""

KNOWN = {
    "feed": {"id", "title", "updated", "link", "author", "subtitle", "entry"},
    "entry": {"id", "title", "updated", "published", "link", "summary"},
}


def secret_of(name: str, kind: Token.Kind = Token.Kind.FEED, days: int = 30) -> str:
    user = User.objects.get(username=name)
    return issue_token(user, name=f"{kind} {days}", days=days, now=timezone.now(), kind=kind)


def address(secret: str) -> str:
    return f"/feeds/{secret}/reports.atom"


def basic(secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"any:{secret}".encode()).decode()}


def entries(content: bytes) -> list[ElementTree.Element]:
    return ElementTree.fromstring(content).findall(f"{ATOM}entry")


def assert_valid(content: bytes) -> None:
    """What RFC 4287 demands, and a feed reader that finds nothing wrong."""
    feed = ElementTree.fromstring(content)
    parts = [feed, *feed.findall(f"{ATOM}entry")]
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None
    for part in parts:
        kind, names = part.tag.removeprefix(ATOM), [child.tag.removeprefix(ATOM) for child in part]
        assert set(names) <= KNOWN[kind]
        assert {name for name in ONCE[kind] if names.count(name) == 1} == ONCE[kind]
        assert [link.get("rel") for link in part.findall(f"{ATOM}link")].count("alternate") == 1
        dates = [child.text or "" for child in part if child.tag.removeprefix(ATOM) in ("updated", "published")]
        assert all(INSTANT.fullmatch(date) for date in dates)
    ids = [part.findtext(f"{ATOM}id") for part in parts]
    assert len(set(ids)) == len(ids)
    read = feedparser.parse(content)
    assert (read.bozo, read.version, len(read.entries)) == (False, "atom10", len(parts) - 1)


def test_the_feed_is_what_rfc_4287_wants_and_has_the_own_reports_latest_first(cast, reported, settings) -> None:
    settings.SITE_URL = "https://kaiku.example"
    now = timezone.now()
    for job_id, days in ((1, 3), (2, 1), (3, 2)):
        ended = now - timedelta(days=days)
        reported(job_id, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())
    reported(4, user_id="bob")
    answer = Client().get(address(secret_of("alice")))
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert_valid(answer.content)
    ids = [entry.findtext(f"{ATOM}id") for entry in entries(answer.content)]
    assert ids == [f"tag:kaiku.example,2026:job/lumi/{job_id}.0" for job_id in (2, 3, 1)]
    first = entries(answer.content)[0]
    # 8.0 GPU-hours at 22 %: 78 % of them, 6.24, unused.
    assert first.findtext(f"{ATOM}title") == "job 2, train, 6.24 GPU-hours unused"
    assert first.find(f"{ATOM}link").get("href") == "https://kaiku.example/jobs/lumi/2/?attempt=0"
    assert "--gpus" in (first.findtext(f"{ATOM}summary") or "")


def test_an_empty_feed_is_valid_and_stays_the_same(cast) -> None:
    own = address(secret_of("dave"))
    one, other = Client().get(own), Client().get(own)
    assert_valid(one.content)
    assert one["ETag"] == other["ETag"]


def test_a_reader_that_has_everything_gets_304_until_a_report_changes(cast, reported) -> None:
    reported(1)
    own = address(secret_of("alice"))
    first = Client().get(own)
    again = Client().get(own, headers={"If-None-Match": first["ETag"], "If-Modified-Since": first["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")
    assert Client().get(own, headers={"If-Modified-Since": first["Last-Modified"]}).status_code == 304
    Report.objects.update(published_at=timezone.now() + timedelta(seconds=5))
    assert Client().get(own, headers={"If-None-Match": first["ETag"]}).status_code == 200
    Job.objects.all().delete()
    assert entries(Client().get(own, headers={"If-None-Match": first["ETag"]}).content) == []


def test_the_name_of_a_job_is_neither_markup_nor_an_invalid_character(cast, reported) -> None:
    reported(1, job_name='</summary><script>alert("x")</script>&nbsp;\u202e\ufffe')
    content = Client().get(address(secret_of("alice"))).content
    (entry,) = entries(content)
    assert '<script>alert("x")</script>&nbsp;' in (entry.findtext(f"{ATOM}title") or "")
    assert entry.find(f"{ATOM}summary").get("type") == "text"
    assert b"<script>" not in content
    assert_valid(content)


def test_the_token_is_in_the_address_or_the_password_and_reads_nothing_else(cast, reported) -> None:
    reported(1)
    secret = secret_of("alice")
    assert secret.startswith(PREFIXES[Token.Kind.FEED])
    by_address, by_password = Client().get(address(secret)), Client().get(FEED, headers=basic(secret))
    assert (by_address.status_code, by_password.content) == (200, by_address.content)
    assert secret.encode() not in by_address.content, "a feed that is passed on gives no access"
    bearer = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/jobs/", headers=bearer).status_code == 403
    assert Client().post("/api/v1/experiments/", headers=bearer).status_code == 403
    assert Client().get("/mlflow/api/2.0/mlflow/experiments/search", headers=bearer).status_code in (401, 403)
    assert Client().get("/jobs/", headers=bearer).status_code == 302
    ended = Client().post("/api/v1/ingest/job-records", data="{}", content_type="application/json", headers=bearer)
    assert ended.status_code in (401, 403)


def test_no_other_token_opens_the_feed(cast, reported) -> None:
    reported(1)
    others = [secret_of("alice", kind) for kind in PERSONAL if kind != Token.Kind.FEED]
    for secret in (*others, "kaiku_feed_x", "x"):
        assert Client().get(address(secret)).status_code == 404
        assert Client().get(FEED, headers=basic(secret)).status_code == 401
    for wrong in ("Basic", "Basic !", "Basic /w==", "Bearer x", ""):
        answer = Client().get(FEED, headers={"Authorization": wrong})
        assert (answer.status_code, answer["WWW-Authenticate"][:5]) == (401, "Basic")
    assert cast("alice").get(FEED).status_code == 401, "a session does not open it"


def test_a_revoked_or_expired_token_and_a_closed_account_end_the_feed(cast, reported) -> None:
    alice = User.objects.get(username="alice")
    revoked, late, own = secret_of("alice", days=3), secret_of("alice", days=2), secret_of("alice")
    Token.objects.filter(name="feed 2").update(expires_at=timezone.now())
    cast("alice").post(f"/settings/tokens/{own_tokens(alice).get(name='feed 3').pk}/revoke/")
    assert [Client().get(address(secret)).status_code for secret in (revoked, late, own)] == [404, 404, 200]
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert Client().get(address(own)).status_code == 404


def test_a_person_without_mail_has_the_feed(cast, reported) -> None:
    alice = User.objects.get(username="alice")
    save_choices(alice, Choices(frequency=Frequency.OFF))
    reported(1)
    assert len(entries(Client().get(address(secret_of("alice"))).content)) == 1


def test_the_feed_is_limited(cast, settings) -> None:
    settings.API_CALLS_PER_MINUTE = settings.ANONYMOUS_API_CALLS_PER_MINUTE = 1
    own = address(secret_of("alice"))
    assert Client().get(own).status_code == 200
    late = Client().get(own)
    assert late.status_code == 429
    assert int(late["Retry-After"]) > 0
    assert [Client().get(address("x")).status_code for _ in range(2)] == [404, 429]


@pytest.mark.one_database
def test_a_feed_costs_as_many_queries_for_one_report_as_for_three(
    cast, reported, django_assert_max_num_queries
) -> None:
    own = address(secret_of("alice"))
    reported(1)
    Client().get(own)
    with django_assert_max_num_queries(4) as one:
        Client().get(own)
    reported(2)
    with django_assert_max_num_queries(len(one)):
        assert len(entries(Client().get(own).content)) == 2


def test_the_settings_page_shows_the_address_once(cast) -> None:
    alice = cast("alice")
    page = alice.post("/settings/tokens/", {"name": "reader", "kind": "feed", "days": "90"}).content.decode()
    (secret,) = set(re.findall(rf"{PREFIXES[Token.Kind.FEED]}[\w-]+", page))
    assert f"/feeds/{secret}/reports.atom" in page
    assert Client().get(address(secret)).status_code == 200
    assert secret not in alice.get("/settings/tokens/").content.decode()


def test_no_log_line_has_the_token() -> None:
    secret = f"{PREFIXES[Token.Kind.FEED]}{'x' * 43}"
    assert SECRETS.sub(HIDDEN, f"GET /feeds/{secret}/reports.atom") == f"GET /feeds/{HIDDEN}/reports.atom"
