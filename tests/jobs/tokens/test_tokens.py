"""Tokens: stored hashed, found by their secret and their kind, and over when they should be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from jobs.audit.services import by_command
from jobs.models import AuditEntry, Token, User
from jobs.tokens.models import KINDS_IN_LOG, PERSONAL, PREFIXES
from jobs.tokens.selectors import token_digest, valid_token
from jobs.tokens.services import issue_token, record_use, revoke_token
from tests.tokens import create_collector_token, site_token

pytestmark = pytest.mark.django_db
BY = by_command("create_token")


def secret_of(kind: Token.Kind) -> str:
    if kind in PERSONAL:
        user, _ = User.objects.get_or_create(username="alice")
        return issue_token(user, name=kind, days=1, now=timezone.now(), kind=kind)
    return site_token(kind, kind, days=1, cluster="lumi")


def test_a_token_is_stored_hashed_and_found_by_its_secret_only() -> None:
    now = timezone.now()
    secret = create_collector_token("nodes", "lumi")
    stored = Token.objects.get()
    assert secret not in str(Token.objects.values()) + str(AuditEntry.objects.values())
    assert valid_token(secret, Token.Kind, now) == stored
    for other in (stored.digest, "", secret[:-1], token_digest(stored.digest)):
        assert valid_token(other, Token.Kind, now) is None


@pytest.mark.parametrize("kind", Token.Kind)
def test_a_token_of_one_kind_is_none_of_any_other(kind: Token.Kind) -> None:
    now, secret = timezone.now(), secret_of(kind)
    assert secret.startswith(PREFIXES[kind])
    assert [other for other in Token.Kind if valid_token(secret, [other], now)] == [kind]


@pytest.mark.parametrize("kind", Token.Kind)
def test_it_is_over_at_its_end_and_once_it_is_revoked(kind: Token.Kind) -> None:
    now, secret = timezone.now(), secret_of(kind)
    token = Token.objects.get()
    assert token.expires_at is not None
    assert valid_token(secret, [kind], token.expires_at - timedelta(seconds=1)) == token
    assert valid_token(secret, [kind], token.expires_at) is None
    revoke_token(token, now, BY)
    revoke_token(token, now + timedelta(days=1), BY)
    assert valid_token(secret, [kind], now) is None
    assert Token.objects.get().revoked_at == now
    entries = AuditEntry.objects.order_by("pk").values_list("action", "kind")
    assert list(entries) == [("token_made", KINDS_IN_LOG[kind]), ("token_revoked", KINDS_IN_LOG[kind])]


def test_a_collector_keeps_its_token_for_ever() -> None:
    secret = create_collector_token("nodes", "lumi")
    assert valid_token(secret, ["collector"], timezone.now() + timedelta(days=36_500))


def test_its_use_is_stored_to_the_hour() -> None:
    secret, now = secret_of(Token.Kind.POLICY), timezone.now()
    for passed, stored in ((0, 0), (59, 0), (60, 60)):
        token = valid_token(secret, ["policy"], now)
        assert token is not None
        record_use(token, now + timedelta(minutes=passed))
        assert Token.objects.get().last_used_at == now + timedelta(minutes=stored)


def test_a_name_of_the_site_is_used_once_for_each_kind() -> None:
    for kind in (Token.Kind.COLLECTOR, Token.Kind.POLICY, Token.Kind.COMMENTS):
        site_token(kind, "slurm", days=1)
    revoke_token(Token.objects.get(kind="policy"), timezone.now(), BY)
    with pytest.raises(IntegrityError), transaction.atomic():
        site_token(Token.Kind.POLICY, "slurm", days=1)
    assert (Token.objects.count(), AuditEntry.objects.count()) == (3, 4)


@pytest.mark.parametrize("kind", Token.Kind)
def test_the_database_keeps_people_and_the_site_apart(kind: Token.Kind) -> None:
    owner = None if kind in PERSONAL else User.objects.create(username="alice")
    with pytest.raises(IntegrityError, match="token_of_its_kind"), transaction.atomic():
        Token.objects.create(kind=kind, user=owner, name="n", digest="d", created_at=timezone.now())
