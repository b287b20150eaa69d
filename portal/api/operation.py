"""One call of the API as it is described: its address, what it accepts and answers, and who may call it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
COLLECTOR, SENDER, PERSON, POLICY, ANYONE = "collector", "sender", "person", "policy", "anyone"
PROGRAM, COMMENTS = "program", "comments"
LOGGER, READER = "logger", "reader"
ACCESS = {
    COLLECTOR: "With a collector's token.",
    SENDER: "With a collector's token, or, for your own runs, with a personal token that sends.",
    PERSON: "With your portal session or a personal token.",
    PROGRAM: "With a personal token.",
    POLICY: "With a policy token, or as staff or policy reader with your portal session or a personal token.",
    COMMENTS: "With a comment token.",
    LOGGER: "With a personal token that logs runs, or, but for points, with your portal session.",
    READER: "With your portal session, or a personal token that reads or logs runs.",
    ANYONE: "Open to everyone.",
}
PROBLEMS = {
    COLLECTOR: (400, 401, 403, 408, 413, 415, 422, 503),
    SENDER: (400, 401, 403, 408, 413, 415, 422, 429, 503),
    PERSON: (400, 401, 403, 404, 429, 503),
    PROGRAM: (400, 401, 403, 429, 503),
    POLICY: (400, 401, 403, 404, 429, 503),
    COMMENTS: (400, 401, 403, 404, 429, 503),
    LOGGER: (400, 401, 403, 404, 408, 413, 422, 429, 503),
    READER: (400, 401, 403, 404, 429, 503),
    ANYONE: (400, 429, 503),
}
"""The statuses of the problems that a call may answer, by who may call it."""


def parameter(description: str, schema: dict[str, Any], name: str = "") -> dict[str, Any]:
    """A query parameter; `name` where two calls have different ones of the same name."""
    return ({"name": name} if name else {}) | {"description": description, "schema": schema}


def whole(least: int, most: int | None = None) -> dict[str, Any]:
    """A whole number of these bounds."""
    return {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})


def one_of(words: Iterable[str]) -> dict[str, Any]:
    """One of some words."""
    return {"type": "string", "enum": list(words)}


@dataclass(frozen=True)
class Operation:
    """One call; `query` names members of `portal.api.operations.QUERY`, `links` the calls that follow from its answer,
    with their values.

    If an answer is one of several kinds, they are in a tuple. `refusals` are statuses whose answer is not a problem but
    an error of OAuth.
    """

    name: str
    path: str
    summary: str
    answers: dict[int, Any]
    method: str = "get"
    takes: Any = None
    content_types: tuple[str, ...] = (JSON,)
    access: str = PERSON
    query: tuple[str, ...] = ()
    links: Mapping[str, dict[str, str]] = field(default_factory=dict)
    taken_types: tuple[str, ...] = (JSON,)
    refusals: Mapping[int, Any] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[int, ...]:
        return tuple(status for status in PROBLEMS[self.access] if status not in self.refusals)
