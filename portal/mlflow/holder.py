"""Whose token a client of MLflow sends: only a personal token that logs runs is accepted, no session."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus

from jobs.models import User
from portal.ingest.senders import BEARER, TurnedAway, bearer
from portal.sign_in.personal_tokens import LOGGING_PREFIX
from portal.tracking.holders import logging_person

NO_TOKEN = f"Set MLFLOW_TRACKING_TOKEN to a token that logs runs ({LOGGING_PREFIX}…); you create it under Settings."
BASIC = (
    "The client sent a user name and password in place of the token. Remove the entry of this host from ~/.netrc, "
    "unset MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, and use an address without user name."
)


def holder_of(authorization: str, now: datetime) -> User:
    """The person whose token this header has. Raises TurnedAway."""
    secret = bearer(authorization)
    if secret is None:
        is_basic = authorization.lower().startswith("basic ")
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, BASIC if is_basic else NO_TOKEN, BEARER)
    return logging_person(secret, now)
