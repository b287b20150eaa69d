"""Tokens that send own runs: made where the site allows it, good for that and nothing else, ended like the others."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Job, Token, User
from jobs.tokens.models import PREFIXES
from jobs.tokens.services import issue_token
from tests.payloads import record
from tests.portal.conftest import carry_session, overflow_px
from tests.portal.own_runs import RECORDS, SUMMARIES, alone, own_summary, post, sending_token

pytestmark = pytest.mark.django_db

SECRET = re.compile(rf"{PREFIXES[Token.Kind.SEND]}[\w-]{{43}}")
PAGE = "/settings/tokens/"
FORM = {"name": "runs", "kind": "send", "days": "90"}


@pytest.fixture(autouse=True)
def allowed(settings, cast) -> None:
    """The cast, on a portal that takes own runs."""
    settings.OWN_RUNS = True


def read(secret: str, path: str = "/api/v1/jobs/", verb: str = "get") -> Any:
    return getattr(Client(), verb)(path, headers={"Authorization": f"Bearer {secret}"})


def test_a_person_makes_one_in_settings_and_sends_with_it(cast) -> None:
    client = cast("alice")
    page = client.get(PAGE).content.decode()
    assert "Sends measurements of your own runs" in page
    answer = client.post(PAGE, FORM)
    (secret,) = SECRET.findall(answer.content.decode())
    assert "send runs in your name" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    token = Token.objects.get()
    assert (token.user.username, token.name, token.kind) == ("alice", "runs", "send")
    assert token.expires_at - token.created_at == timedelta(days=90)
    assert secret not in str(Token.objects.values()[0])
    assert "send own runs" in client.get(PAGE).content.decode()
    assert post(secret, own_summary(alone())).status_code == 201
    assert Job.objects.get().user.username == "alice"
    assert Token.objects.get().last_used_at is not None


def test_it_reads_nothing(reported) -> None:
    reported()
    secret = sending_token()
    for path in ("/api/v1/jobs/", "/api/v1/jobs/lumi/123456/", "/api/v1/jobs/lumi/123456/report.pdf"):
        answer = read(secret, path)
        assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
        assert answer.json()["detail"] == "This token only sends measurements of your own runs; it cannot read."
    assert read(secret, "/jobs/")["Location"] == "/sign-in/?next=/jobs/"
    assert {read(secret, "/api/v1/jobs/", verb).status_code for verb in ("post", "put", "delete")} == {403}


def test_it_sends_no_job_records(cast) -> None:
    answer = post(sending_token(), record(), RECORDS)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "This token only sends node summaries of your own runs."
    assert not Job.objects.exists()
    assert read(sending_token(name="two"), SUMMARIES).status_code == 405


def test_a_token_that_reads_sends_nothing(cast) -> None:
    secret = issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now())
    assert post(secret, own_summary(alone())).status_code == 401
    assert Token.objects.get().kind == "read"
    assert read(secret).status_code == 200


def test_while_it_is_off_nobody_makes_one_and_existing_ones_are_refused(cast, settings) -> None:
    secret, client = sending_token(), cast("alice")
    settings.OWN_RUNS = False
    page = client.get(PAGE).content.decode()
    assert "Sends measurements of your own runs" not in page
    assert "disabled" in page
    answer = client.post(PAGE, FORM | {"name": "another"}).content.decode()
    assert "Sending measurements of own runs is disabled on this portal." in answer
    assert Token.objects.count() == 1
    assert SECRET.search(client.post(PAGE, {"name": "reads", "days": "30"}).content.decode()) is None
    assert Token.objects.get(name="reads").kind == "read"
    for path in (SUMMARIES, RECORDS):
        refused = post(secret, own_summary(alone()), path)
        assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
        assert refused.json()["detail"] == "Sending measurements of own runs is disabled on this portal."
    settings.OWN_RUNS = True
    assert post(secret, own_summary(alone())).status_code == 201


@pytest.mark.parametrize("wrong", [{"kind": ""}, {"kind": "both"}, {"days": "7"}])
def test_an_answer_that_was_not_offered_makes_no_token(cast, wrong: dict[str, str]) -> None:
    cast("alice").post(PAGE, FORM | wrong)
    assert not Token.objects.exists()


def test_it_ends_when_it_expires_is_revoked_or_its_owner_leaves(cast) -> None:
    late = sending_token(name="late", now=timezone.now() - timedelta(days=31))
    revoked, left = sending_token(name="one"), sending_token(name="two")
    answer = cast("alice").post(f"{PAGE}{Token.objects.get(name='one').pk}/revoke/", follow=True)
    assert "“one” can no longer be used to send." in answer.content.decode()
    answers = [post(secret, own_summary(alone())) for secret in (late, revoked, f"{PREFIXES[Token.Kind.SEND]}x")]
    assert [(answer.status_code, answer["WWW-Authenticate"]) for answer in answers] == [(401, "Bearer")] * 3
    assert post(left, own_summary(alone())).status_code == 201
    User.objects.filter(username="alice").update(is_active=False)
    assert post(left, own_summary(alone())).status_code == 401


def test_with_a_provider_it_ends_with_the_identity(settings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["portal.sign_in.backend.ProviderBackend"]
    secret = sending_token()
    assert post(secret, own_summary(alone())).status_code == 401
    User.objects.filter(username="alice").update(oidc_subject="alice@idp.example")
    assert post(secret, own_summary(alone())).status_code == 201


def test_calls_are_counted_beside_the_persons_others(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    settings.OWN_RUN_CALLS_PER_MINUTE, settings.API_CALLS_PER_MINUTE = 2, 1
    alice, bob = sending_token("alice"), sending_token("bob")
    reads = issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now())
    assert [post(alice, own_summary(alone())).status_code for _ in range(2)] == [201, 200]
    assert read(reads).status_code == 200
    answer = post(alice, own_summary(alone()))
    assert (answer.status_code, answer["Retry-After"]) == (429, "47")
    assert post(bob, own_summary(alone(user_id="bob"), job_id=2)).status_code == 201


def test_administrators_see_what_each_may_do_and_revoke_it(cast) -> None:
    secret, grace = sending_token(), cast("grace")
    page = grace.get("/admin/jobs/token/").content.decode()
    assert "Sends measurements of your own runs" in page
    assert grace.get("/admin/jobs/token/?kind__exact=read").content.decode().count("field-kind") == 0
    grace.post("/admin/jobs/token/", {"action": "revoke", "_selected_action": [Token.objects.get().pk]})
    assert post(secret, own_summary(alone())).status_code == 401


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 375])
def test_somebody_makes_a_sending_token_in_a_browser(browser, live_server, cast, width: int) -> None:
    context = browser.new_context(base_url=live_server.url, viewport={"width": width, "height": 900})
    carry_session(context, live_server, cast("alice"))
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(PAGE)
    page.fill("#id_name", "training on a weekend")
    page.select_option("#id_kind", label="Sends measurements of your own runs")
    page.click("button:has-text('Create token')")
    secret = page.inner_text(".new-token code >> nth=0")
    assert SECRET.fullmatch(secret)
    assert "send own runs" in page.inner_text("table.jobs")
    assert overflow_px(page) == 0
    assert post(secret, own_summary(alone())).status_code == 201
    assert said == []
    context.close()
