"""The audit log as pages and commands write it, and as administrators read it: by whom, what, and never a secret."""

from __future__ import annotations

import csv

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone

from jobs.audit.services import Action, Kind, by_command, record_change
from jobs.models import AuditEntry, Grant, Job, Membership, Token, User, WorkFailure
from jobs.services import record_job
from jobs.tokens.services import issue_token
from tests.payloads import job_record
from tests.portal.conftest import carry_session
from tests.portal.lessons.test_lessons import EDIT, fields
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

LOG = "/admin/jobs/auditentry/"


@pytest.fixture
def grace(cast) -> Client:
    """The administrator of the cast."""
    return cast("grace")


def entries() -> list[tuple[str, str, str, str]]:
    """What was logged since the directory of the cast."""
    rows = AuditEntry.objects.exclude(actor_kind="directory").order_by("pk")
    return list(rows.values_list("actor", "action", "name", "details"))


def test_lessons_edited_restored_and_translated_by_staff(cast) -> None:
    call_command("seed_lessons", verbosity=0)
    seeded = entries()
    assert ("manage.py seed_lessons", "lesson_changed", "timeout", "as shipped") in seeded
    assert len(seeded) == len({name for _, _, name, _ in seeded}) > 20
    call_command("seed_lessons", verbosity=0)
    assert entries() == seeded, "nothing changed the second time"
    erin = cast("erin")
    assert erin.post(EDIT, fields(title="Another")).status_code == 302
    assert erin.post(EDIT, fields(title="Third", version="1")).status_code == 409, (
        "somebody saved meanwhile: nothing is stored"
    )
    assert erin.post(EDIT, fields(title="Another")).status_code == 302
    for _ in range(2):
        erin.post(f"{EDIT}restore/", {"number": "1", "version": "2"})
        erin.post("/lessons/new/", {"code": "timeout", "language": "fi"})
    assert entries()[len(seeded) :] == [
        ("erin", "lesson_changed", "parallelism_mismatch (en)", ""),
        ("erin", "lesson_changed", "parallelism_mismatch (en)", "version 1 restored"),
        ("erin", "lesson_changed", "timeout (fi)", "translation started"),
    ]


def test_tokens_of_collectors_made_by_a_command(capsys) -> None:
    call_command("create_token", "nodes")
    call_command("create_token", "gpu", "--cluster", "other", "--node", "nid[1-2]")
    with pytest.raises(CommandError):
        call_command("create_token", "nodes")
    with pytest.raises(CommandError):
        call_command("create_token", "gpu", "--node", "nid[2-3]")
    assert entries() == [
        ("manage.py create_token", "token_made", "nodes", "cluster lumi"),
        ("manage.py create_token", "token_made", "gpu-nid1", "cluster other"),
        ("manage.py create_token", "token_made", "gpu-nid2", "cluster other"),
    ]
    secrets = capsys.readouterr().out.split()
    assert not [word for word in secrets if len(word) > 20 and word in str(entries())]


def test_a_share_and_its_end(cast) -> None:
    alice = cast("alice")
    record_job(job_record())
    alice.post("/jobs/lumi/123456/share/", {"days": "7", "note": "look at this"})
    alice.post("/jobs/lumi/123456/share/end/")
    assert Job.objects.get().shares.count() == 1
    assert [entry[1:3] for entry in entries()] == [("job_shared", "lumi/123456"), ("share_ended", "lumi/123456")]
    assert "look at this" not in str(entries())


def test_what_an_administrator_does_is_in_one_log_alone(grace) -> None:
    alice = User.objects.get(username="alice")
    token = issue_token(alice, name="n", days=30, now=timezone.now())
    secret = create_collector_token("nodes", "lumi")
    now = timezone.now()
    failed = WorkFailure.objects.create(kind="judgement", key=17, tries=5, first_at=now, last_at=now, set_aside_at=now)
    grace.post("/admin/jobs/grant/add/", {"user": "bob", "role": "support"})
    given = Grant.objects.get(user__username="bob")
    grace.post(f"/admin/jobs/grant/{given.pk}/delete/", {"post": "yes"})
    said = {"user": "dave", "project": "project_465000001", "role": "member"}
    grace.post("/admin/jobs/membership/add/", said)
    dave = Membership.objects.get(user__username="dave")
    grace.post(f"/admin/jobs/membership/{dave.pk}/change/", said | {"role": "pi"})
    grace.post(f"/admin/jobs/membership/{dave.pk}/delete/", {"post": "yes"})
    grace.post(f"/admin/jobs/user/{alice.pk}/change/", {"oidc_subject": "a@idp.example"})
    for path, action, chosen in (
        ("jobs/user", "sign_out_everywhere", alice.pk),
        ("jobs/token", "revoke", Token.objects.get(kind="read").pk),
        ("jobs/token", "revoke", Token.objects.get(kind="collector").pk),
        ("jobs/workfailure", "try_again", failed.pk),
    ):
        grace.post(f"/admin/{path}/", {"action": action, "_selected_action": [chosen]})
    assert [(actor, action, name) for actor, action, name, _ in entries()] == [
        ("alice", "token_made", "n of alice"),
        ("manage.py create_token", "token_made", "nodes"),
        ("grace", "role_given", "bob"),
        ("grace", "role_taken", "bob"),
        ("grace", "member_added", "dave in project_465000001"),
        ("grace", "member_changed", "dave in project_465000001"),
        ("grace", "member_removed", "dave in project_465000001"),
        ("grace", "identity_linked", "alice"),
        ("grace", "account_closed", "alice"),
        ("grace", "sessions_ended", "alice"),
        ("grace", "token_revoked", "n of alice"),
        ("grace", "token_revoked", "nodes"),
        ("grace", "tried_again", "judgement 17"),
    ]
    assert not LogEntry.objects.exists()
    assert not [word for word in (token, secret, "a@idp.example") if word in str(entries())]


def test_a_change_that_cannot_be_logged_is_not_made(grace, monkeypatch) -> None:
    def away(*_: object) -> None:
        raise RuntimeError("no entry")

    create_collector_token("nodes", "lumi")
    monkeypatch.setattr("jobs.tokens.services.record_change", away)
    monkeypatch.setattr("jobs.services.record_changes", away)
    monkeypatch.setattr("jobs.services.record_change", away)
    grace.raise_request_exception = False
    chosen = {"_selected_action": [Token.objects.get().pk], "action": "revoke"}
    assert grace.post("/admin/jobs/token/", chosen).status_code == 500
    assert Token.objects.get().revoked_at is None
    assert grace.post("/admin/jobs/grant/add/", {"user": "bob", "role": "support"}).status_code == 500
    assert not User.objects.get(username="bob").is_staff


def test_it_is_filtered_searched_and_found_from_what_was_changed(grace) -> None:
    by = by_command("create_token")
    record_change(by, Action.TOKEN_MADE, Kind.COLLECTOR_TOKEN, "nodes")
    record_change(by, Action.ROLE_GIVEN, Kind.ACCOUNT, "bob", "Support staff")
    shown = {name: grace.get(LOG, query).content.decode() for name, query in {
        "action": {"action__exact": "token_made"}, "name": {"q": "bob"}, "actor": {"q": "create_token"},
        "kind": {"actor_kind__exact": "command"}, "nothing": {"q": "nobody"},
    }.items()}  # fmt: skip
    assert {name: page.count('class="field-name"') for name, page in shown.items()} == {
        **{"action": 1, "name": 1, "actor": 2, "kind": 2, "nothing": 0}
    }
    history = grace.get(f"/admin/jobs/user/{User.objects.get(username='bob').pk}/history/")
    assert history["Location"] == f"{LOG}?q=bob"
    assert f'href="{LOG}"' in grace.get("/admin/").content.decode()


def test_it_is_taken_along_as_a_table(grace) -> None:
    by = by_command("create_token")
    for name in ("=1+1", "nodes"):
        record_change(by, Action.TOKEN_MADE, Kind.COLLECTOR_TOKEN, name, "cluster lumi")
    chosen = list(AuditEntry.objects.filter(action="token_made").values_list("pk", flat=True))
    answer = grace.post(LOG, {"action": "download", "_selected_action": chosen})
    header, *rows = csv.reader(answer.getvalue().decode().splitlines())
    assert header == ["at", "actor_kind", "actor", "action", "kind", "name", "details"]
    assert [row[1:6] for row in rows] == [
        ["command", "manage.py create_token", "token_made", "collector_token", "nodes"],
        ["command", "manage.py create_token", "token_made", "collector_token", "'=1+1"],
    ]
    assert rows[0][0].endswith("+00:00")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_on_a_phone_all_of_an_entry_is_on_the_screen(browser, live_server, cast) -> None:
    with transaction.atomic():
        name = f"{'somebody' * 5} in project_465000001"
        record_change(by_command("set_role"), Action.MEMBER_CHANGED, Kind.MEMBERSHIP, name, "Member to PI")
    context = browser.new_context(viewport={"width": 390, "height": 900}, base_url=live_server.url)
    carry_session(context, live_server, cast("grace"))
    page = context.new_page()
    page.goto(LOG)
    right_edges = "cells => cells.map(cell => cell.getBoundingClientRect().right)"
    for cells in ("th", "td"):
        assert max(page.eval_on_selector_all(f"#result_list {cells}", right_edges)) <= 390
    assert page.is_visible(".field-details:has-text('Member to PI')")
    context.close()
