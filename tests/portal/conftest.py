"""The cast of the page tests: an owner, a team mate, a PI, a stranger, and staff; and a real browser."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
import redis
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from analysis.escalation.services import escalate
from jobs.models import Grant, Membership, Project
from jobs.services import record_job, replace_grants
from metrics.services import record_node_summary
from portal.sign_in.provider import Provider
from tests.parts import REDIS_URL, empty_redis, program
from tests.payloads import gpu, job_record, node_payload
from tests.portal.provider import CLIENT_ID, SECRET, FakeProvider, forget_answers
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST
from tests.roles import set_role

PASSWORD = "a password of the cast"
ROLES = {"erin": Grant.Role.SUPPORT, "frank": Grant.Role.POLICY, "grace": Grant.Role.ADMINISTRATOR}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(autouse=True)
def no_attempts_yet() -> None:
    """Every test comes from the same address; none pays for the attempts of another."""
    cache.clear()


@pytest.fixture
def shared_cache(settings) -> Iterator[redis.Redis]:
    """The cache in a real Redis that is empty, as all processes of a portal share it."""
    store = empty_redis()
    options = {"serializer": "portal.cache_format.JsonFormat", "socket_timeout": 2}
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL, "OPTIONS": options}
    }
    yield store
    cache.clear()


@pytest.fixture
def idp(settings, db) -> Iterator[FakeProvider]:
    """A provider that knows alice; the portal is configured for it."""
    with FakeProvider() as server:
        settings.OIDC_PROVIDER = Provider(server.issuer, CLIENT_ID, SECRET)
        settings.AUTHENTICATION_BACKENDS = ["portal.sign_in.backend.ProviderBackend"]
        get_user_model().objects.create_user(
            "alice", password=PASSWORD, oidc_subject=server.subject, email="old@example.org"
        )
        forget_answers()
        yield server


@pytest.fixture
def cast(db: None) -> Callable[[str], Client]:
    """Sign in as alice (owner), bob (member) or carol (PI) of her project, dave (stranger), or one of `ROLES`."""
    users = {
        name: get_user_model().objects.create_user(name, password=PASSWORD)
        for name in ("alice", "bob", "carol", "dave", *ROLES)
    }
    replace_grants("csv", {(users[name].pk, role.value) for name, role in ROLES.items()})
    project = Project.objects.create(name="project_465000001")
    for name, role in (("alice", "member"), ("bob", "member"), ("carol", "pi")):
        set_role(users[name], project, Membership.Role(role))

    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(users[name])
        return client

    return client_of


def an_hour_ago_today() -> datetime:
    """An hour ago, but no earlier than the day that has begun: charts end with today, also just after midnight."""
    now = timezone.now()
    return max(now - timedelta(hours=1), now.replace(hour=0, minute=0, second=0, microsecond=0))


@pytest.fixture
def reported(cast: Callable[[str], Client]) -> Callable[..., None]:
    """Make a reported job of alice's: two of eight GPUs at 88 %."""

    def report(*job_ids: int, **record: object) -> None:
        gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
        for job_id in job_ids or (123456,):
            record_job(job_record(**{"job_id": job_id, "request": WHOLE_REQUEST} | record))
            record_node_summary(node_payload(gpus=gpus, cpu=TWO_RANKS, job_id=job_id))
        call_command("analyse_job", "--due", verbosity=0)

    return report


@pytest.fixture
def recent(reported: Callable[..., None]) -> None:
    """Two jobs of alice's that ended an hour ago, or as this day began."""
    ended = an_hour_ago_today()
    reported(1, 2, ended_at=ended.isoformat(), started_at=(ended - timedelta(hours=2)).isoformat())


@pytest.fixture
def flagged(reported: Callable[..., None]) -> None:
    """Nine jobs of alice's nine days ago, 72 GPU-hours at 22 %, so 56.2 unused: flags of her, of the project and of the
    work, raised eight days ago, so that staff see them since yesterday.
    """
    now = timezone.now()
    ended = now - timedelta(days=9)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}
    reported(*range(1, 10), **times)
    assert escalate(now - timedelta(days=8)) == 3


def text(client: Client, path: str) -> str:
    """A page that opens, as text."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def carry_session(context: object, live_server: object, client: Client) -> None:
    """Let a browser go on where a test client is signed in."""
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])


def overflow_px(page) -> int:
    """By how much a page is wider than its window, once its style sheets are there: without them anything is wide."""
    page.wait_for_load_state("load")
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """The system's Chromium for the tests of a module; left out by name where there is none."""
    path = program("chromium", part="Chromium")
    playwright = importlib.import_module("playwright.sync_api")
    with pytest.MonkeyPatch.context() as patch, playwright.sync_playwright() as driver:
        # Playwright runs an event loop in this thread; Django must not take our queries for asynchronous ones.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        started = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def browser(chromium, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A browser without pages, cookies or anything else of the test before."""
    # The live server looks static files up by their plain names; the portal serves them by their hashed ones.
    monkeypatch.setattr("django.contrib.staticfiles.handlers.StaticFilesHandlerMixin._should_handle", lambda *_: False)
    yield chromium
    for context in chromium.contexts:
        context.close()
