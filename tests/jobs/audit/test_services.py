"""The audit log: an entry with each change, in its transaction, by whoever made it; never changed, removed by age."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from jobs.accounts.services import (
    change_account,
    end_membership,
    give_role,
    save_membership,
    take_role,
)
from jobs.audit.services import (
    RECORDED_TOGETHER,
    REMOVES_BEFORE,
    Action,
    Kind,
    by_command,
    by_person,
    record_change,
    record_memberships,
    remove_entries,
)
from jobs.directory import Directory
from jobs.models import AuditEntry, Grant, Job, Membership, Project, Token, User, WorkFailure
from jobs.services import end_sessions, end_shares, record_directory, record_job, record_sign_in, share_job
from jobs.tokens.services import issue_token, revoke_token
from jobs.work_queue.services import Work, attempt_by_hand
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

BY_TEST = by_command("test")


def entries() -> list[tuple[str, str, str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("actor", "action", "name", "details"))


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def grace() -> User:
    return User.objects.create(username="grace")


def test_roles_given_and_taken_by_an_administrator(alice: User, grace: User) -> None:
    given = give_role(alice, Grant.Role.SUPPORT, by=by_person(grace))
    give_role(alice, Grant.Role.SUPPORT, by=by_person(grace))
    take_role(given, by=by_person(grace))
    assert entries() == [
        ("grace", "role_given", "alice", "Support staff"),
        ("grace", "role_taken", "alice", "Support staff"),
    ]


def test_the_name_of_who_did_it_stays_when_the_account_goes(alice: User, grace: User) -> None:
    give_role(alice, Grant.Role.SUPPORT, by=by_person(grace))
    grace.delete()
    assert [actor for actor, *_ in entries()] == ["grace"]
    assert AuditEntry.objects.get().actor_kind == AuditEntry.ActorKind.PERSON


def test_roles_of_a_groups_claim_are_the_providers_word(alice: User) -> None:
    record_sign_in(alice, email="alice@users.example", roles=["support"])
    record_sign_in(alice, email="alice@users.example", roles=["support"])
    record_sign_in(alice, email="alice@users.example", roles=[])
    assert entries() == [
        ("sign-in provider", "role_given", "alice", "Support staff"),
        ("sign-in provider", "role_taken", "alice", "Support staff"),
    ]


def test_a_directory_is_named_with_each_role_membership_and_identity_that_it_changes() -> None:
    first = Directory(
        source="csv",
        roles={"p1": {"alice": "member", "bob": "pi"}},
        subjects={"alice": "a@idp.example"},
        grants=frozenset({("erin", "support")}),
        links_identities=True,
        grants_roles=True,
    )
    record_directory(first)
    assert entries() == [
        ("csv", "member_added", "alice in p1", "Member"),
        ("csv", "member_added", "bob in p1", "PI"),
        ("csv", "identity_linked", "alice", ""),
        ("csv", "role_given", "erin", "Support staff"),
    ]
    record_directory(first)
    assert len(entries()) == 4, "nothing changed the second time"
    record_directory(Directory(source="csv", roles={"p1": {"alice": "pi"}}, links_identities=True, grants_roles=True))
    assert entries()[4:] == [
        ("csv", "member_changed", "alice in p1", "Member to PI"),
        ("csv", "member_removed", "bob in p1", "PI"),
        ("csv", "identity_unlinked", "alice", ""),
        ("csv", "role_taken", "erin", "Support staff"),
    ]
    assert "idp.example" not in str(entries())


def test_an_import_that_fails_leaves_no_entry(monkeypatch) -> None:
    monkeypatch.setattr("jobs.services._link", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        record_directory(Directory(source="csv", roles={"p1": {"alice": "pi"}}, links_identities=True))
    assert entries() == []


def test_accounts_closed_opened_and_linked(alice: User, grace: User) -> None:
    by = by_person(grace)
    change_account(alice, is_active=False, subject="a@idp.example", by=by)
    change_account(alice, is_active=False, subject="b@idp.example", by=by)
    change_account(alice, is_active=True, subject=None, by=by)
    change_account(alice, is_active=True, subject=None, by=by)
    assert [action for _, action, _, _ in entries()] == [
        *("identity_linked", "account_closed", "identity_linked", "identity_unlinked", "account_opened"),
    ]
    assert "idp.example" not in str(entries())


def test_memberships_by_hand(alice: User, grace: User) -> None:
    row = Membership(user=alice, project=Project.objects.create(name="p1"), role=Membership.Role.MEMBER)
    save_membership(row, by=by_person(grace))
    row.role = Membership.Role.PI
    save_membership(row, by=by_person(grace))
    row.project = Project.objects.create(name="p2")
    save_membership(row, by=by_person(grace))
    end_membership(row, by=by_person(grace))
    assert [(action, name) for _, action, name, _ in entries()] == [
        ("member_added", "alice in p1"),
        ("member_changed", "alice in p1"),
        ("member_removed", "alice in p1"),
        ("member_added", "alice in p2"),
        ("member_removed", "alice in p2"),
    ]
    assert not Membership.objects.exists()


def test_personal_tokens_made_and_revoked_once(alice: User, grace: User) -> None:
    now = timezone.now()
    for name in ("mine", "other"):
        issue_token(alice, name=name, days=30, now=now)
    mine, other = Token.objects.order_by("pk")
    revoke_token(mine, now, by_person(alice))
    revoke_token(mine, now, by_person(alice))
    revoke_token(other, now, by_person(grace))
    until = f"Reads what you see here, until {now + timedelta(days=30):%Y-%m-%d}"
    assert entries() == [
        ("alice", "token_made", "mine of alice", until),
        ("alice", "token_made", "other of alice", until),
        ("alice", "token_revoked", "mine of alice", ""),
        ("grace", "token_revoked", "other of alice", ""),
    ]


def test_an_expired_token_gives_its_name_to_a_new_one_and_a_valid_one_does_not(alice: User) -> None:
    now = timezone.now()
    columns = {"name": "feed", "kind": "feed", "days": 1}
    issue_token(alice, now=now, **columns)
    with pytest.raises(IntegrityError), transaction.atomic():
        issue_token(alice, now=now + timedelta(hours=23), **columns)
    later = now + timedelta(days=1)
    issue_token(alice, now=later, **columns)
    assert list(Token.objects.order_by("pk").values_list("revoked_at", flat=True)) == [later, None]
    assert [action for _, action, *_ in entries()] == ["token_made", "token_revoked", "token_made"]


def test_shares_begun_replaced_and_ended_by_the_owner() -> None:
    record_job(job_record())
    job, now = Job.objects.get(), timezone.now()
    share_job(job, days=7, note="Please look at what alice did", now=now)
    share_job(job, days=14, note="", now=now)
    end_shares(job, now)
    end_shares(job, now)
    assert entries() == [
        ("alice", "job_shared", "lumi/123456", "for 7 days"),
        ("alice", "share_ended", "lumi/123456", ""),
        ("alice", "job_shared", "lumi/123456", "for 14 days"),
        ("alice", "share_ended", "lumi/123456", ""),
    ]


def test_sessions_that_somebody_else_ended(alice: User, grace: User) -> None:
    end_sessions(alice)
    end_sessions(alice, by=by_person(grace))
    assert entries() == [("grace", "sessions_ended", "alice", "")]


def test_failed_work_that_a_command_tried_again(now) -> None:
    work = Work("judgement", lambda key: 1, name=lambda key: f"lumi/{key}")
    attempt_by_hand(work, 6, now)
    WorkFailure.objects.create(kind="judgement", key=7, tries=5, last_at=now, set_aside_at=now)
    attempt_by_hand(work, 7, now)
    assert entries() == [("manage.py analyse_job", "tried_again", "judgement lumi/7", "")]


def test_what_a_job_brings_along_is_nobodys_change() -> None:
    record_job(job_record())
    assert Membership.objects.exists()
    assert entries() == []


def test_texts_longer_than_a_column_are_cut(alice: User) -> None:
    with transaction.atomic():
        record_change(BY_TEST, Action.TOKEN_MADE, Kind.API_TOKEN, "n" * 300, "d" * 300)
    assert [(len(name), len(details)) for _, _, name, details in entries()] == [(255, 255)]


def test_many_changes_at_once() -> None:
    count = 2 * RECORDED_TOGETHER + 1
    members = {f"user{number}": "member" for number in range(count)}
    record_directory(Directory(source="csv", roles={"p1": members}))
    assert AuditEntry.objects.count() == count
    users, project = User.objects.values_list("pk", flat=True), Project.objects.get().pk
    with transaction.atomic():
        record_memberships(BY_TEST, {(project, user): "member" for user in users}, {})
    assert AuditEntry.objects.count() == 2 * count


@pytest.mark.django_db(transaction=True)
def test_an_entry_needs_the_transaction_of_its_change(alice: User) -> None:
    with pytest.raises(transaction.TransactionManagementError, match="stored together"):
        record_change(BY_TEST, Action.ROLE_GIVEN, Kind.ACCOUNT, alice)

    @transaction.atomic
    def change_and_fail() -> None:
        record_change(BY_TEST, Action.ROLE_GIVEN, Kind.ACCOUNT, alice)
        raise LookupError

    with pytest.raises(LookupError):
        change_and_fail()
    assert entries() == []


def an_entry(age: timedelta = timedelta(0)) -> AuditEntry:
    return AuditEntry.objects.create(at=timezone.now() - age, actor="grace", name="bob")


def test_no_service_changes_or_deletes_an_entry() -> None:
    entry = an_entry()
    entry.actor = "mallory"
    for change in (
        entry.save,
        entry.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(actor="mallory"),
        lambda: AuditEntry.objects.filter(pk=entry.pk).update(actor="mallory"),
        lambda: AuditEntry.objects.bulk_update([entry], ["actor"]),
        lambda: AuditEntry.objects.update_or_create(pk=entry.pk, defaults={"actor": "mallory"}),
    ):
        with pytest.raises(TypeError, match="entries of the audit log are not"), transaction.atomic():
            change()
    assert entries()[0][0] == "grace"


def test_the_expiry_removes_what_is_older_and_nothing_else(monkeypatch) -> None:
    monkeypatch.setattr("jobs.audit.services.BATCH_ROWS", 2)
    kept = an_entry(timedelta(days=9))
    for _ in range(5):
        an_entry(timedelta(days=11))
    assert list(remove_entries(timezone.now() - timedelta(days=10))) == [2, 2, 1]
    assert AuditEntry.objects.get() == kept


@pytest.mark.postgresql
class TestTheTrigger:
    """Against the table itself, past what Python refuses."""

    def refused(self, sql: str, before: str | None = None) -> None:
        """Refused, also where the transaction lets entries from before an instant be removed."""
        with pytest.raises(DatabaseError, match="neither changed nor deleted"):
            self.done(sql, before)

    def done(self, sql: str, before: str | None) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            if before is not None:
                cursor.execute("SELECT set_config(%s, %s, true)", [REMOVES_BEFORE, before])
            cursor.execute(sql)

    def test_it_refuses_changes_whatever_is_set(self) -> None:
        an_entry(timedelta(days=500))
        self.refused("UPDATE jobs_auditentry SET actor = 'mallory'")
        self.refused("UPDATE jobs_auditentry SET actor = 'mallory'", timezone.now().isoformat())
        assert AuditEntry.objects.get().actor == "grace"

    def test_it_refuses_to_delete_what_the_expiry_does_not_name_by_its_age(self) -> None:
        an_entry(timedelta(days=5))
        self.refused("DELETE FROM jobs_auditentry")
        ten_days = (timezone.now() - timedelta(days=10)).isoformat()
        self.refused("DELETE FROM jobs_auditentry", ten_days)
        self.refused("DELETE FROM jobs_auditentry", "")
        with pytest.raises(DatabaseError), transaction.atomic():
            QuerySet(AuditEntry).delete()
        assert AuditEntry.objects.count() == 1

    def test_it_refuses_to_empty_the_table_whatever_is_set(self) -> None:
        an_entry(timedelta(days=500))
        for before in (None, timezone.now().isoformat()):
            with pytest.raises(DatabaseError, match="the audit log is not emptied"):
                self.done("TRUNCATE jobs_auditentry CASCADE", before)
        assert AuditEntry.objects.count() == 1

    @pytest.mark.django_db(transaction=True)
    def test_what_the_expiry_may_do_ends_with_its_transaction(self) -> None:
        an_entry(timedelta(days=500))
        assert sum(remove_entries(timezone.now() - timedelta(days=400))) == 1
        an_entry(timedelta(days=500))
        self.refused("DELETE FROM jobs_auditentry")
