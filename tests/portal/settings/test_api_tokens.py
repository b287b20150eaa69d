"""Personal tokens: made once, read what their owner sees, write nothing, and end when they should."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Token, User
from jobs.tokens.models import PREFIXES
from jobs.tokens.services import issue_token
from portal.sign_in.personal_tokens import TOKENS_MAX
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

SECRET = re.compile(rf"{PREFIXES[Token.Kind.READ]}[\w-]{{43}}")
JOB = "/api/v1/jobs/lumi/123456/"
PAGE = "/settings/tokens/"


def new_token(owner: str = "alice", **more: object) -> str:
    user = User.objects.get(username=owner)
    return issue_token(user, **{"name": "notebook", "days": 30, "now": timezone.now()} | more)


def call(secret: str, path: str = JOB, verb: str = "get"):
    return getattr(Client(), verb)(path, headers={"Authorization": f"Bearer {secret}"})


def test_a_new_token_is_shown_once_and_only_its_digest_is_kept(cast) -> None:
    client = cast("alice")
    answer = client.post(PAGE, {"name": "notebook", "days": "90"})
    (secret,) = SECRET.findall(answer.content.decode())
    assert "no-store" in answer["Cache-Control"]
    token = Token.objects.get()
    assert (token.user.username, token.name) == ("alice", "notebook")
    assert token.expires_at - token.created_at == timedelta(days=90)
    assert secret not in str(Token.objects.values()[0])
    assert secret not in client.get(PAGE).content.decode()
    assert call(secret, "/api/v1/jobs/").status_code == 200


def test_a_token_that_logs_runs_is_made_with_the_lines_to_copy_and_revoked(cast) -> None:
    client = cast("alice")
    page = client.get(PAGE).content.decode()
    assert "Logs your experiments and their runs" in page
    assert "it cannot read\n          jobs." in page
    # The portal does not take measurements of own runs, so it does not offer them.
    assert "Sends measurements" not in page
    made = client.post(PAGE, {"name": "training", "kind": "runs", "days": "30"}).content.decode()
    (secret,) = re.findall(rf"{PREFIXES[Token.Kind.RUNS]}[\w-]{{43}}", made)
    for line in (
        "export MLFLOW_TRACKING_URI=http://testserver/mlflow/j/$SLURM_CLUSTER_NAME/$SLURM_JOB_ID",
        "export MLFLOW_TRACKING_TOKEN=$(cat ~/.config/kaiku/log-token)",
        "export KAIKU_URL=http://testserver",
        "export KAIKU_LOG_TOKEN=$(cat ~/.config/kaiku/log-token)",
        "$KAIKU_URL/api/v1/experiments/",
    ):
        assert line in made
    assert Token.objects.get().kind == "runs"
    assert [call(secret, path).status_code for path in ("/api/v1/experiments/", "/api/v1/jobs/")] == [200, 403]
    done = client.post(f"{PAGE}{Token.objects.get().pk}/revoke/", follow=True).content.decode()
    assert "“training” can no longer be used to log runs." in done
    assert call(secret, "/api/v1/experiments/").status_code == 401


def test_the_list_states_what_each_token_may_do(cast) -> None:
    for kind in ("read", "runs", "send"):
        new_token(name=f"for {kind}", kind=kind)
    page = cast("alice").get(PAGE).content.decode()
    cells = re.findall(r'data-label="May">(.*?)</td>', page, re.S)
    shown = sorted(" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in cells)
    assert shown == ["log runs", "read", "send own runs disabled"]


def test_it_reads_what_its_owner_sees_and_no_more(cast, reported) -> None:
    reported()
    statuses = {name: call(new_token(name)).status_code for name in ("alice", "carol", "bob", "dave", "erin")}
    assert statuses == {"alice": 200, "carol": 200, "bob": 404, "dave": 404, "erin": 404}
    assert call(new_token(name="for PDFs"), f"{JOB}report.pdf").content.startswith(b"%PDF")


@pytest.mark.parametrize("verb", ["post", "put", "patch", "delete"])
def test_it_writes_nothing(cast, reported, verb: str) -> None:
    reported()
    secret = new_token()
    answer = call(secret, JOB, verb)
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert call(secret, "/api/v1/ingest/job-records", verb).status_code in (401, 405)


def test_it_opens_no_page(cast) -> None:
    assert call(new_token(), "/jobs/")["Location"] == "/sign-in/?next=/jobs/"


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "x",
        PREFIXES[Token.Kind.READ],
        f"{PREFIXES[Token.Kind.READ]}x",
        "\xff\x00",
        PREFIXES[Token.Kind.READ] + "a" * 5000,
    ],
)
def test_an_unknown_secret_lets_nobody_in(cast, wrong: str) -> None:
    answer = call(wrong)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


def test_the_token_of_a_collector_reads_nothing(cast) -> None:
    assert call(create_collector_token("nodes", "lumi")).status_code == 401


def test_a_bad_token_beside_a_good_session_is_still_refused(cast) -> None:
    answer = cast("alice").get("/api/v1/jobs/", headers={"Authorization": "Bearer nothing"})
    assert answer.status_code == 401


def test_it_ends_when_it_expires_is_revoked_or_its_owner_leaves(cast, reported) -> None:
    reported()
    late = new_token(now=timezone.now() - timedelta(days=31))
    assert call(late).status_code == 401
    revoked, left = new_token(name="one"), new_token(name="two")
    token = Token.objects.get(name="one")
    cast("alice").post(f"{PAGE}{token.pk}/revoke/")
    assert [call(secret).status_code for secret in (revoked, left)] == [401, 200]
    User.objects.filter(username="alice").update(is_active=False)
    assert call(left).status_code == 401


def test_with_a_provider_it_ends_with_the_identity(cast, settings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["portal.sign_in.backend.ProviderBackend"]
    secret = new_token()
    assert call(secret, "/api/v1/jobs/").status_code == 401
    User.objects.filter(username="alice").update(oidc_subject="alice@idp.example")
    assert call(secret, "/api/v1/jobs/").status_code == 200


def test_signing_out_of_every_browser_leaves_programs_alone(cast) -> None:
    secret = new_token()
    cast("alice").post("/sign-out/")
    assert call(secret, "/api/v1/jobs/").status_code == 200


def test_nobody_revokes_or_sees_the_token_of_another(cast) -> None:
    secret = new_token("alice")
    token = Token.objects.get()
    bob = cast("bob")
    assert bob.post(f"{PAGE}{token.pk}/revoke/").status_code == 404
    assert b"notebook" not in bob.get(PAGE).content
    assert call(secret, "/api/v1/jobs/").status_code == 200


def test_a_use_is_written_at_most_once_an_hour(cast) -> None:
    secret = new_token()
    call(secret, "/api/v1/jobs/")
    first = Token.objects.get().last_used_at
    with CaptureQueriesContext(connection) as queries:
        call(secret, "/api/v1/jobs/")
    assert not [query for query in queries if query["sql"].startswith("UPDATE")]
    Token.objects.update(last_used_at=first - timedelta(minutes=61))
    call(secret, "/api/v1/jobs/")
    assert Token.objects.get().last_used_at > first


def test_a_name_is_used_once_until_its_token_is_revoked(cast) -> None:
    client, form = cast("alice"), {"name": "notebook", "days": "30"}
    client.post(PAGE, form)
    assert "You already have a token with this name" in client.post(PAGE, form).content.decode()
    Token.objects.update(expires_at=timezone.now())
    assert "kaiku_pat_" in client.post(PAGE, form).content.decode(), "an expired one keeps no name"
    client.post(f"{PAGE}{Token.objects.get(revoked_at=None).pk}/revoke/")
    assert SECRET.search(client.post(PAGE, form).content.decode())
    assert cast("bob").post(PAGE, form).status_code == 200
    assert Token.objects.filter(revoked_at=None).count() == 2


@pytest.mark.parametrize("wrong", [{"days": "7"}, {"days": "x"}, {"name": ""}, {"name": "x" * 65}, {"name": "a\0b"}])
def test_an_answer_that_was_not_offered_makes_no_token(cast, wrong: dict[str, str]) -> None:
    assert not SECRET.search(cast("alice").post(PAGE, {"name": "n", "days": "30"} | wrong).content.decode())
    assert not Token.objects.exists()


def test_somebody_with_many_tokens_revokes_one_first(cast) -> None:
    for number in range(TOKENS_MAX):
        new_token(name=f"token {number}")
    answer = cast("alice").post(PAGE, {"name": "one more", "days": "30"})
    assert f"You have {TOKENS_MAX} tokens" in answer.content.decode()


def test_a_hostile_name_is_shown_as_text(cast) -> None:
    client = cast("alice")
    client.post(PAGE, {"name": "<img src=x onerror=alert(1)>", "days": "30"})
    assert b"<img src=x" not in client.get(PAGE).content


def test_the_page_costs_the_same_queries_for_one_token_and_for_twenty(cast) -> None:
    client, counts = cast("alice"), []
    for numbers in (range(1), range(1, TOKENS_MAX)):
        for number in numbers:
            new_token(name=f"token {number}")
        with CaptureQueriesContext(connection) as queries:
            assert client.get(PAGE).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
