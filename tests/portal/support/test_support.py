"""Support: where staff begin, and the links of the lessons."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from education.models import LessonLink, LinkCheck
from jobs.models import Job, User
from jobs.services import share_job
from reports.models import Delivery
from tests.steps import ran

pytestmark = pytest.mark.django_db

CURRENT = re.compile(r'<nav aria-label="Main">.*?aria-current="page">([^<]+)<', re.DOTALL)
LINKS = "/support/links/"


@pytest.fixture
def erin(cast) -> Client:
    call_command("seed_lessons", verbosity=0)
    return cast("erin")


def text(client: Client, path: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", client.get(path).content.decode()).split())


def test_the_cards_say_what_waits_for_staff(erin, reported) -> None:
    quiet = text(erin, "/support/")
    assert "No job is shared with support at the moment." in quiet
    assert "0 messages wait, none failed." in quiet
    assert "No link of the lessons is known to be broken." in quiet
    reported()
    share_job(Job.objects.get(), days=7, note="help", now=timezone.now())
    alice, now = User.objects.get(username="alice"), timezone.now()
    Delivery.objects.create(user=alice, created_at=now, due_at=now)
    Delivery.objects.create(user=alice, created_at=now, due_at=now, state=Delivery.State.FAILED)
    LessonLink.objects.filter(pk=LessonLink.objects.first().pk).update(problem="404 Not Found")
    busy = text(erin, "/support/")
    assert "1 job with a question for you" in busy
    assert "1 message waits, 1 failed." in busy
    assert "1 link of the lessons did not answer." in busy


def test_only_administrators_are_led_to_the_administration(cast) -> None:
    assert b'href="/admin/"' in cast("grace").get("/support/").content
    assert b'href="/admin/"' not in cast("erin").get("/support/").content


@pytest.mark.parametrize("path", ["", "outbox/", "shared/", "feedback/", "links/", "/lessons/", "/lessons/timeout/en/"])
def test_every_page_of_staff_stands_under_support(erin, path: str) -> None:
    address = path if path.startswith("/") else f"/support/{path}"
    content = erin.get(address).content.decode()
    assert CURRENT.findall(content) == ["Support"]
    assert path == "" or '<a href="/support/">Support</a> ›' in content


def test_nobody_else_is_led_there(cast) -> None:
    for name in ("alice", "carol", "frank"):
        assert b'href="/support/"' not in cast(name).get("/").content


def test_links_show_their_state_and_since_when_they_are_broken(erin, now) -> None:
    assert "none checked yet" in text(erin, LINKS)
    LessonLink.objects.update(checked_at=now)
    broken = LessonLink.objects.order_by("pk").last()
    LessonLink.objects.filter(url=broken.url).update(problem="404 <b>", broken_since=now)
    content = text(erin, LINKS)
    assert "1 could not be reached at the last check, 2026-11-20 12:30 UTC" in content
    assert f"{broken.url} not reached 404 &lt;b&gt; 2026-11-20 2026-11-20 12:30 UTC" in content
    first = erin.get(LINKS).context["links"][0]
    assert (first.url, first.broken_since) == (broken.url, now)


@pytest.mark.django_db(transaction=True)
def test_a_check_is_asked_for_and_a_worker_does_it(erin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("education.services.links.link_problem", lambda *_: "404 Not Found")
    assert not ran("check_links")
    answer = erin.post(f"{LINKS}check/", follow=True)
    assert b"A check was requested" in answer.content
    assert b"Check now" not in answer.content
    assert ran("check_links")
    content = text(erin, LINKS)
    assert "0 could not be reached" not in content
    assert "404 Not Found" in content
    assert "Check now" in content


def test_nobody_else_asks_for_a_check(cast) -> None:
    for name in ("alice", "carol", "frank"):
        assert cast(name).post(f"{LINKS}check/").status_code == 404
    assert Client().post(f"{LINKS}check/").status_code == 302
    assert not LinkCheck.objects.exists()


def test_links_cost_the_same_queries_for_few_and_for_many(erin) -> None:
    with CaptureQueriesContext(connection) as many:
        erin.get(LINKS)
    LessonLink.objects.exclude(pk=LessonLink.objects.first().pk).delete()
    with CaptureQueriesContext(connection) as few:
        erin.get(LINKS)
    assert len(few) == len(many)
