"""One call of a script that logs points, whichever server received it: from its head and body to its answer.

A `Door` is one kind of such calls: the portal's own (`portal.tracking.own_points`), or one of MLflow's. It reads a body
without the database, and puts the outcome into the words of its protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus

from jobs.experiments.points import thinned_call
from jobs.experiments.rules import NotAccepted
from jobs.experiments.services.points import LoggedCall
from jobs.models import User
from portal.ingest.body import MalformedBody, gunzip

BODY_BYTES_MAX = 2**20
"""As MLflow's clients expect of their server (facts of the protocol: 1 MB a batch)."""


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    status: HTTPStatus
    content: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Received:
    """A call as it arrived: `named` are the named parts of its address."""

    named: Mapping[str, str | None]
    headers: Mapping[str, str]
    body: bytes
    user: User
    at: datetime


@dataclass(frozen=True)
class Read:
    """What a call asks to store, None where nothing of it can be; `note` is whatever its door says of the rest."""

    call: LoggedCall | None
    note: object = None


@dataclass(frozen=True)
class Door:
    """One kind of calls: `address` matches its path as a whole.

    `read` raises NotAccepted for a call of which nothing can be stored, `said` is the answer once it is stored, and
    `refused` the answer where it is not, with why.
    """

    address: re.Pattern[str]
    read: Callable[[Received], Read]
    said: Callable[[Read], Answer]
    declined: Callable[[NotAccepted], Answer]
    problem: Callable[[HTTPStatus, str, Mapping[str, str]], Answer]


def lighter(call: LoggedCall) -> LoggedCall:
    """The call with the ends and extremes of its points alone, counted, for a server that has too much to store."""
    kept = thinned_call(call.points)
    return replace(call, points=kept, thinned=call.thinned + len(call.points) - len(kept))


def unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body as its sender meant it. Raises BodyTooLarge, MalformedBody."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise MalformedBody("This Content-Encoding is not supported; use gzip.")
    return gunzip(body, BODY_BYTES_MAX)
