"""Answers in the form that MLflow's clients read: success is exactly 200 with a JSON object, an error names its code.

Which codes and statuses change what a client does: 404 or 400 with RESOURCE_DOES_NOT_EXIST and RESOURCE_ALREADY_EXISTS;
of others it raises at 4xx, and tries again at 408, 429 and 5xx.
"""

import logging
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import msgspec

from jobs.experiments.rules import NameTaken, NoSuchExperiment, NoSuchRun, NotAccepted
from portal.ingest.door import JSON
from portal.ingest.senders import TurnedAway
from portal.tracking.call import Answer
from portal.troubles import logged_trouble

log = logging.getLogger(__name__)

BYTES = "application/octet-stream"


class Code(StrEnum):
    """The codes of errors that are used, as MLflow names them (`mlflow/protos/databricks.proto`)."""

    ENDPOINT_NOT_FOUND = "ENDPOINT_NOT_FOUND"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    INVALID_PARAMETER_VALUE = "INVALID_PARAMETER_VALUE"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_ALREADY_EXISTS = "RESOURCE_ALREADY_EXISTS"
    RESOURCE_DOES_NOT_EXIST = "RESOURCE_DOES_NOT_EXIST"
    TEMPORARILY_UNAVAILABLE = "TEMPORARILY_UNAVAILABLE"
    UNAUTHENTICATED = "UNAUTHENTICATED"


STATUSES = {
    Code.ENDPOINT_NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.INTERNAL_ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
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
OF_STATUS = {
    HTTPStatus.UNAUTHORIZED: Code.UNAUTHENTICATED,
    HTTPStatus.FORBIDDEN: Code.PERMISSION_DENIED,
    HTTPStatus.REQUEST_TIMEOUT: Code.TEMPORARILY_UNAVAILABLE,
    HTTPStatus.INTERNAL_SERVER_ERROR: Code.INTERNAL_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE: Code.TEMPORARILY_UNAVAILABLE,
}
"""The codes of other refusals; else the call itself is wrong."""

NOT_SENT = {"retry-after"}
"""Clients obey it, and their script waits with them: their own waits are shorter than what one could state."""


class Refused(NotAccepted):
    """A call that is not accepted, with the code and the message that the client gets."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__([("", why)])
        self.code = code


def done(members: Mapping[str, Any] | None = None) -> Answer:
    """Success, with these members of the answer; an empty body would fail in clients of version 2."""
    return Answer(HTTPStatus.OK, msgspec.json.encode(members or {}), JSON)


def declined(error: NotAccepted) -> Answer:
    """The answer to a call that was not accepted."""
    code = error.code if isinstance(error, Refused) else OF_RULES.get(type(error), Code.INVALID_PARAMETER_VALUE)
    return _error(STATUSES[code], code, str(error), {})


def problem(status: HTTPStatus, why: str, headers: Mapping[str, str]) -> Answer:
    """The answer to a call that failed with this status."""
    return _error(status, OF_STATUS.get(status, Code.INVALID_PARAMETER_VALUE), why, headers)


def refusal(error: Exception) -> Answer | None:
    """The answer to a call that was not accepted, or cannot be answered now; None for an unexpected error."""
    if isinstance(error, NotAccepted):
        return declined(error)
    if isinstance(error, TurnedAway):
        return problem(error.status, error.why, error.headers)
    found = logged_trouble(error, log)
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, found.sentence, {}) if found else None


def no_such_call(name: str) -> Refused:
    """The error for a call that is not part of what is served."""
    return Refused(Code.ENDPOINT_NOT_FOUND, f"{name[:100]!r} is not one of the calls that this portal answers.")


def invalid(why: str) -> Refused:
    """The error for a wrong value in a call."""
    return Refused(Code.INVALID_PARAMETER_VALUE, why)


def _error(status: HTTPStatus, code: Code, why: str, headers: Mapping[str, str]) -> Answer:
    sent = {name: value for name, value in headers.items() if name.lower() not in NOT_SENT}
    return Answer(status, msgspec.json.encode({"error_code": code, "message": why}), JSON, sent)
