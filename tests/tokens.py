"""Tokens of the site, as `manage.py create_token` creates them."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from jobs.audit.services import by_command
from jobs.models import Token
from jobs.tokens.services import issue_tokens


def site_token(kind: Token.Kind, name: str, *, days: int | None = None, cluster: str = "", node: str = "") -> str:
    """The secret of a new token, which is over in the past for negative `days`."""
    now = timezone.now()
    until = None if days is None else now + timedelta(days=days)
    token = Token(kind=kind, name=name, cluster=cluster, node=node, expires_at=until)
    return issue_tokens([token], now=now, by=by_command("create_token"))[0]


def create_collector_token(name: str, cluster: str, node: str = "") -> str:
    return site_token(Token.Kind.COLLECTOR, name, cluster=cluster, node=node)
