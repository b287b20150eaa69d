"""Whose token a client of MLflow sends: only a personal token that logs runs is accepted, no session."""

from __future__ import annotations

from datetime import datetime

from jobs.models import ApiToken, User
from portal.ingest.senders import ENDED, bearer
from portal.mlflow.answers import Code, Refused
from portal.sign_in.personal_tokens import LOGGING_PREFIX, token_and_holder

NO_TOKEN = f"Set MLFLOW_TRACKING_TOKEN to a token that logs runs ({LOGGING_PREFIX}…); you create it under Settings."
BASIC = (
    "The client sent a user name and password in place of the token. Remove the entry of this host from ~/.netrc, "
    "unset MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, and use an address without user name."
)
ANOTHER_KIND = f"This token does not log runs. Create one that does under Settings ({LOGGING_PREFIX}…)."


def holder_of(authorization: str, now: datetime) -> User:
    """The person whose token this header has. Raises Refused."""
    secret = bearer(authorization)
    if secret is None:
        is_basic = authorization.lower().startswith("basic ")
        raise Refused(Code.UNAUTHENTICATED, BASIC if is_basic else NO_TOKEN)
    found = token_and_holder(secret, now)
    if found is None:
        raise Refused(Code.UNAUTHENTICATED, ENDED)
    token, holder = found
    if token.kind != ApiToken.Kind.RUNS:
        raise Refused(Code.PERMISSION_DENIED, ANOTHER_KIND)
    return holder
