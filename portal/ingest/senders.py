"""Who sends payloads, identified by a token: what they may send, and for whom."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings

from jobs.hostlist import short_name
from jobs.models import Token
from jobs.records import JobRecord
from jobs.tokens.models import PREFIXES
from jobs.tokens.selectors import token_digest, valid_token
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.ingest.explain import Problem
from portal.ingest.own_runs import own_run_kinds
from portal.ingest.services import KINDS, Kind
from portal.sign_in.personal_tokens import token_and_holder

BEARER = {"WWW-Authenticate": "Bearer"}
NOBODY = "Authentication credentials were not provided."
UNKNOWN = "This token is unknown or was revoked."
ENDED = "This token is unknown, has expired or was revoked."
OWN_RUNS_OFF = "Sending measurements of own runs is disabled on this portal."
OWN_SUMMARIES_ONLY = "This token only sends node summaries of your own runs."

RECORDS_MAX = 1000
"""The most records in one call for the site: as many as can be stored within some seconds."""

OWN_SUMMARIES_MAX = 16
"""A node sends the one of its run, or a few that it kept while the portal was unreachable."""


class TurnedAway(Exception):
    """A call that is not accepted: its status, the reason, and additional headers of the answer."""

    def __init__(self, status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers or {}


@dataclass(frozen=True)
class Sender:
    """Somebody who may send payloads, with a limit for one call; `user_pk` is set for a person, who sends only own
    runs."""

    name: str
    kinds: Mapping[str, Kind]
    beyond: Callable[[Any], list[Problem]] | None = field(default=None, compare=False)
    user_pk: int | None = None
    records_max: int = RECORDS_MAX


def bearer(authorization: str) -> str | None:
    """The secret of an `Authorization: Bearer` header; None without one."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def unknown_name(secret: str | None) -> str:
    """Identifies a rejected token: the first digits of the digest that the portal would store."""
    return f"token {token_digest(secret)[:8]}…" if secret is not None else "no token"


def sender_of(secret: str | None, now: datetime) -> Sender:
    """The sender with this secret. Raises TurnedAway."""
    if secret is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, NOBODY, BEARER)
    if secret.startswith(PREFIXES[Token.Kind.SEND]):
        return _person(secret, now)
    token = valid_token(secret, [Token.Kind.COLLECTOR], now)
    if token is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, UNKNOWN, BEARER)
    return Sender(str(token), KINDS, partial(beyond_token, token))


def kinds_for(sender: Sender, schema: str) -> Mapping[str, Kind]:
    """The one kind of this schema, if the sender may send it. Raises TurnedAway."""
    if schema not in sender.kinds:
        raise TurnedAway(HTTPStatus.FORBIDDEN, OWN_SUMMARIES_ONLY)
    return {schema: sender.kinds[schema]}


def _person(secret: str, now: datetime) -> Sender:
    found = token_and_holder(secret, now)
    if found is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, ENDED, BEARER)
    if not settings.OWN_RUNS:
        raise TurnedAway(HTTPStatus.FORBIDDEN, OWN_RUNS_OFF)
    token, holder = found
    kinds = own_run_kinds(holder)
    return Sender(f"personal token {token.pk}", kinds, user_pk=holder.pk, records_max=OWN_SUMMARIES_MAX)


def beyond_token(token: Token, record: NodePayload | RawSamplesPayload | JobRecord) -> list[Problem]:
    """Why this token may not send this record; empty if it may. Nodes are compared by their short names.

    A record that names no nodes must come with a token of the whole cluster.
    """
    found = []
    if record.cluster != token.cluster:
        found.append(("cluster", f"this token is valid for {token.cluster} only"))
    path, nodes = ("nodes", record.nodes) if isinstance(record, JobRecord) else ("node", (record.node,))
    if token.node and short_name(token.node) not in map(short_name, nodes):
        found.append((path, f"this token is valid for {token.node} only"))
    return found
