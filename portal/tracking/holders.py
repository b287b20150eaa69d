"""Whose secret a call of a script has: a personal token that logs experiments."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus

from jobs.models import User
from portal.ingest.senders import BEARER, ENDED, NOBODY, TurnedAway
from portal.sign_in.personal_tokens import LOGGING_PREFIX, PREFIXES, token_and_holder

OTHER_TOKEN = f"This call takes a token that logs experiments ({LOGGING_PREFIX}…), created under Settings, API tokens."


def logging_person(secret: str | None, now: datetime) -> User:
    """The person whose token this is. Raises TurnedAway."""
    if secret is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, NOBODY, BEARER)
    if secret.startswith(tuple({*PREFIXES.values()} - {LOGGING_PREFIX})):
        raise TurnedAway(HTTPStatus.FORBIDDEN, OTHER_TOKEN)
    found = token_and_holder(secret, now)
    if found is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, ENDED, BEARER)
    return found[1]
