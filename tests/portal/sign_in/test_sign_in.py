"""Signing in and out."""

from __future__ import annotations

import re
from datetime import timedelta

from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from jobs.models import AttemptCount
from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import PASSWORD


def test_the_start_leads_to_sign_in_and_then_to_my_jobs(cast) -> None:
    client = Client()
    assert client.get("/", follow=True).redirect_chain[-1][0].startswith("/sign-in/?next=/")
    answer = client.post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "/jobs/?class=WASTED"})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/?class=WASTED")


def test_a_wrong_password_is_said_without_saying_which_half_was_wrong(cast) -> None:
    for name in ("alice", "nobody"):
        answer = Client().post("/sign-in/", {"username": name, "password": "wrong"})
        assert b"Incorrect user name or password." in answer.content


def test_an_account_that_came_with_a_job_has_no_password(db) -> None:
    record_job(job_record(user_id="frank"))
    assert Client().post("/sign-in/", {"username": "frank", "password": ""}).status_code == 200
    assert not Client().login(username="frank", password="!")


def test_next_never_leads_elsewhere(cast) -> None:
    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "https://evil.example/"})
    assert answer["Location"] == "/"


def test_signing_out_is_a_post_and_ends_the_session(cast) -> None:
    client = cast("alice")
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/jobs/").status_code == 302


def test_signing_out_ends_the_sessions_of_other_browsers_too(cast) -> None:
    here, there, bob = cast("alice"), cast("alice"), cast("bob")
    here.post("/sign-out/")
    assert [client.get("/jobs/").status_code for client in (there, bob)] == [302, 200]


def test_guessing_one_name_is_paused_and_other_names_are_not(cast) -> None:
    guesser = Client()
    wrong = {"username": "Alice", "password": "wrong"}
    assert [guesser.post("/sign-in/", wrong).status_code for _ in range(9)] == [200] * 8 + [429]
    answer = guesser.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    assert (answer.status_code, answer["Retry-After"]) == (429, "300")
    assert guesser.post("/sign-in/", {"username": "bob", "password": PASSWORD}).status_code == 302
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert elsewhere.post("/sign-in/", {"username": "alice", "password": PASSWORD}).status_code == 302


def test_guessing_many_names_from_one_address_is_paused(cast) -> None:
    answers = [Client().post("/sign-in/", {"username": f"n{n}", "password": "x"}).status_code for n in range(61)]
    assert answers == [200] * 60 + [429]


def test_behind_a_proxy_the_address_it_adds_counts_and_not_one_that_a_browser_made_up(cast, settings) -> None:
    wrong = {"username": "alice", "password": "wrong"}

    def post(forwarded: str) -> int:
        return Client(HTTP_X_FORWARDED_FOR=forwarded).post("/sign-in/", wrong).status_code

    settings.IS_BEHIND_PROXY = True
    assert [post(f"10.0.0.{n}, 192.0.2.1") for n in range(9)] == [200] * 8 + [429]
    assert post("192.0.2.1, 192.0.2.2") == 200


def test_a_name_in_other_letters_is_the_same_name(cast) -> None:
    """The form takes each of them for alice's account, or for nobody's."""
    spelt = ("alice", "ALICE", " alice ", "\uff41lice", "al\uff49ce", "Alice", "aLICE", "ali\uff43e", "alice")
    answers = [Client().post("/sign-in/", {"username": name, "password": "wrong"}).status_code for name in spelt]
    assert answers == [200] * 8 + [429]


def test_right_passwords_do_not_count_and_wrong_ones_are_not_forgotten_for_them(cast) -> None:
    def post(password: str) -> int:
        return Client().post("/sign-in/", {"username": "alice", "password": password}).status_code

    assert [post(PASSWORD) for _ in range(20)] == [302] * 20
    assert [post("wrong") for _ in range(7)] == [200] * 7
    assert [post(PASSWORD), post("wrong"), post(PASSWORD)] == [302, 200, 429]


def test_attempts_are_forgotten_after_their_window_and_their_rows_go(cast) -> None:
    wrong = {"username": "alice", "password": "wrong"}
    assert [Client().post("/sign-in/", wrong).status_code for _ in range(9)][-1] == 429
    assert AttemptCount.objects.count() == 2
    AttemptCount.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert Client().post("/sign-in/", {"username": "bob", "password": "wrong"}).status_code == 200
    assert AttemptCount.objects.count() == 2, "alice's is gone, the address has a new window"
    assert Client().post("/sign-in/", wrong).status_code == 200


def test_sessions_that_are_over_go_when_somebody_signs_in(cast) -> None:
    cast("alice"), cast("bob")
    Session.objects.filter(pk=Session.objects.first().pk).update(expire_date=timezone.now() - timedelta(seconds=1))
    Client().post("/sign-in/", {"username": "carol", "password": PASSWORD})
    assert Session.objects.count() == 2, "one went and one came"


def test_no_name_and_no_address_is_in_the_counts(cast) -> None:
    Client(REMOTE_ADDR="192.0.2.7").post("/sign-in/", {"username": "alice", "password": "wrong"})
    assert not [row for row in AttemptCount.objects.values() if "alice" in str(row) or "192.0.2" in str(row)]


def test_a_cache_that_is_away_keeps_nobody_out(cast, settings) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:9/0"}
    }
    assert Client().post("/sign-in/", {"username": "alice", "password": "wrong"}).status_code == 200
    assert Client().post("/sign-in/", {"username": "alice", "password": PASSWORD}).status_code == 302


def test_sample_accounts_are_named_on_every_page_of_an_embedded_portal(cast, settings) -> None:
    settings.IS_EMBEDDED = True
    for client, path in ((Client(), "/sign-in/"), (cast("alice"), "/jobs/")):
        assert b"Sample accounts" in client.get(path).content
    settings.IS_EMBEDDED = False
    assert b"Sample accounts" not in Client().get("/sign-in/").content


def test_every_page_is_under_the_strict_policy_and_has_nothing_inline(cast, reported) -> None:
    reported(job_name="<script>alert(1)</script>")
    client = cast("alice")
    for answer in (Client().get("/sign-in/"), client.get("/jobs/"), client.get("/jobs/lumi/123456/"), client.get("/x")):
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer["X-Frame-Options"] == "DENY"
        content = answer.content.decode()
        # Numbers for a script are no script: nothing runs them.
        code = re.sub(r"<script id=\"[a-z_]+-numbers\" type=\"application/json\">", "", content)
        assert not re.search(r"<script(?! src=\"/static/)|<style\b|\sstyle=|\son[a-z]+=\"", code)
