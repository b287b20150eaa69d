"""Twenty-four guesses at one password in one moment: eight are looked at, whatever serves and whatever counts."""

from __future__ import annotations

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model

from tests.parts import REDIS_URL
from tests.portal.conftest import PASSWORD
from tests.portal.served import Server, database_environment, embedded_environment, manage, serving

GUESSES = 24
FORM = "application/x-www-form-urlencoded"


def guesses(server: Server, password: str = "wrong") -> Counter[int]:
    """The statuses of guesses that leave together, each on a connection of its own."""
    page = server.ask("/sign-in/")
    cookie = page.headers["set-cookie"].partition(";")[0]
    token = re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', page.body)[1].decode()
    body = urlencode({"username": "alice", "password": password, "csrfmiddlewaretoken": token}).encode()
    together = threading.Barrier(GUESSES)

    def guess(_: int) -> int:
        together.wait()
        return server.ask("/sign-in/", "POST", body, Cookie=cookie, **{"Content-Type": FORM}).status

    with ThreadPoolExecutor(GUESSES) as threads:
        return Counter(threads.map(guess, range(GUESSES)))


@pytest.mark.postgresql
@pytest.mark.needs("Redis")
@pytest.mark.django_db(transaction=True)
@pytest.mark.xdist_group("redis")
def test_on_postgresql_and_redis_and_over_two_processes(tmp_path: Path) -> None:
    environment = database_environment(tmp_path) | {"REDIS_URL": REDIS_URL, "PAGE_THREADS": "24"}
    get_user_model().objects.create_user("alice", password=PASSWORD)
    with serving(environment, "--workers", "2") as server:
        assert guesses(server) == {200: 8, 429: 16}
        assert guesses(server, PASSWORD) == {429: 24}


def test_embedded_with_its_files(tmp_path: Path) -> None:
    environment = embedded_environment(tmp_path) | {"PAGE_THREADS": "24"}
    manage(
        environment,
        "shell",
        "-c",
        f"from jobs.models import User; User.objects.create_user('alice', password={PASSWORD!r})",
    )
    with serving(environment) as server:
        assert guesses(server) == {200: 8, 429: 16}
        assert guesses(server, PASSWORD) == {429: 24}
