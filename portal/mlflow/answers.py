"""Answers in the form that MLflow's clients read: success is exactly 200 with a JSON object, an error names its code.

Which codes and statuses change what a client does: 404 or 400 with RESOURCE_DOES_NOT_EXIST and RESOURCE_ALREADY_EXISTS;
of others it raises at 4xx, and tries again at 408, 429 and 5xx.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import msgspec

from jobs.experiments.rules import NameTaken, NoSuchExperiment, NoSuchRun, NotAccepted
from portal.logs import type_of
from portal.troubles import trouble

log = logging.getLogger(__name__)

JSON, BYTES = "application/json", "application/octet-stream"


class Code(StrEnum):
    """The codes of errors that are used, as MLflow names them (`mlflow/protos/databricks.proto`)."""

    ENDPOINT_NOT_FOUND = "ENDPOINT_NOT_FOUND"
    INVALID_PARAMETER_VALUE = "INVALID_PARAMETER_VALUE"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_ALREADY_EXISTS = "RESOURCE_ALREADY_EXISTS"
    RESOURCE_DOES_NOT_EXIST = "RESOURCE_DOES_NOT_EXIST"
    TEMPORARILY_UNAVAILABLE = "TEMPORARILY_UNAVAILABLE"
    UNAUTHENTICATED = "UNAUTHENTICATED"


STATUSES = {
    Code.ENDPOINT_NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.INVALID_PARAMETER_VALUE: HTTPStatus.BAD_REQUEST,
    Code.NOT_IMPLEMENTED: HTTPStatus.NOT_IMPLEMENTED,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.RESOURCE_ALREADY_EXISTS: HTTPStatus.BAD_REQUEST,
    Code.RESOURCE_DOES_NOT_EXIST: HTTPStatus.NOT_FOUND,
    Code.TEMPORARILY_UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
}
"""As in MLflow's own server (`ERROR_CODE_TO_HTTP_STATUS` in `mlflow/exceptions.py`)."""

OF_RULES: dict[type[NotAccepted], Code] = {
    NoSuchRun: Code.RESOURCE_DOES_NOT_EXIST,
    NoSuchExperiment: Code.RESOURCE_DOES_NOT_EXIST,
    NameTaken: Code.RESOURCE_ALREADY_EXISTS,
}


class Refused(Exception):
    """A call that is not accepted, with the code and the message that the client gets."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    status: HTTPStatus
    content: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def done(members: Mapping[str, Any] | None = None) -> Answer:
    """Success, with these members of the answer; an empty body would fail in clients of version 2."""
    return Answer(HTTPStatus.OK, msgspec.json.encode(members or {}))


def refusal(error: Exception) -> Answer | None:
    """The answer to a call that was not accepted, or cannot be answered now; None for an unexpected error.

    Without `Retry-After`, which clients obey: their own waits are shorter than an outage of any length that one could
    state, and their script waits with them.
    """
    if isinstance(error, Refused):
        return _error(error.code, error.why)
    if isinstance(error, NotAccepted):
        return _error(OF_RULES.get(type(error), Code.INVALID_PARAMETER_VALUE), str(error))
    found = trouble(error)
    if found is None:
        return None
    log.error("%s: %s", found.status, type_of(error))
    return _error(Code.TEMPORARILY_UNAVAILABLE, found.sentence)


def no_such_call(name: str) -> Refused:
    """The error for a call that is not part of what is served."""
    return Refused(Code.ENDPOINT_NOT_FOUND, f"{name[:100]!r} is not one of the calls that this portal answers.")


def invalid(why: str) -> Refused:
    """The error for a wrong value in a call."""
    return Refused(Code.INVALID_PARAMETER_VALUE, why)


def _error(code: Code, why: str) -> Answer:
    status = STATUSES[code]
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return Answer(status, msgspec.json.encode({"error_code": code, "message": why}), headers=headers)
