"""Points over the portal's own API: `POST /api/v1/runs/{id}/metrics`, one point or a list.

A point that cannot be stored is named with its index, and does not affect the others.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from jobs.experiments.points import Point
from jobs.experiments.rules import NoSuchRun, NotAccepted, Problem, is_timely, point_problems
from jobs.experiments.services.points import LoggedCall
from portal.ingest.door import JSON, PROBLEM, problem_members
from portal.ingest.explain import first_problem
from portal.tracking.call import Answer, Door, Read, Received
from wire.safe_text import printable

POINTS_MAX = 10_000
EXPLAINED_MAX = 100
NOT_JSON = "is not JSON"


class LoggedPoint(msgspec.Struct, frozen=True):
    """One value of one metric; `value` may be "NaN", "Infinity" or "-Infinity".

    Without `step` it is 0, without `time` (RFC 3339, or Unix seconds) that of the arrival.
    """

    name: str
    value: float | str
    step: int = 0
    time: datetime | float | None = None


_decoder = msgspec.json.Decoder(LoggedPoint | list[LoggedPoint])


@dataclass(frozen=True)
class Rejected:
    """The points of a call that are not stored: (index, problems)."""

    count: int
    points: tuple[tuple[int, list[Problem]], ...]


def read(received: Received) -> Read:
    """The points of a body. Raises NotAccepted where none can be stored."""
    documents = _documents(received.body)
    sound: list[Point] = []
    rejected: list[tuple[int, list[Problem]]] = []
    odd_times = 0
    for place, document in enumerate(documents):
        try:
            point, is_odd = _point(document, received.at)
        except NotAccepted as error:
            rejected.append((place, error.problems))
            continue
        sound.append(point)
        odd_times += is_odd
    if not sound:
        raise NotAccepted([(f"[{place}].{path}".rstrip("."), why) for place, found in rejected for path, why in found])
    call = LoggedCall(received.user, received.named["run_id"] or "", received.at, sound, odd_times=odd_times)
    return Read(call, Rejected(len(documents), tuple(rejected)))


def said(stored: Read) -> Answer:
    """The answer once the points are stored."""
    note = stored.note
    assert isinstance(note, Rejected)  # noqa: S101  read above
    rejected = [
        {"index": place, "errors": [{"path": path, "message": message} for path, message in found]}
        for place, found in note.points[:EXPLAINED_MAX]
    ]
    members = {"accepted": note.count - len(note.points), "rejected": rejected}
    return Answer(HTTPStatus.CREATED, msgspec.json.encode(members), JSON)


def declined(error: NotAccepted) -> Answer:
    """The answer where nothing was stored."""
    if isinstance(error, NoSuchRun):
        return problem(HTTPStatus.NOT_FOUND, "There is no such run of yours.", {})
    if any(why == NOT_JSON for _, why in error.problems):
        return problem(HTTPStatus.BAD_REQUEST, f"The body {NOT_JSON}.", {})
    errors = [{"path": path, "message": message} for path, message in error.problems[:EXPLAINED_MAX]]
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "No point was accepted.", {}, errors=errors)


def problem(status: HTTPStatus, why: str, headers: Mapping[str, str], **more: Any) -> Answer:
    """A problem in the format of RFC 9457."""
    return Answer(status, msgspec.json.encode(problem_members(status, why, **more)), PROBLEM, headers)


OWN_POINTS = Door(re.compile(r"/api/v1/runs/(?P<run_id>[0-9a-f]{32})/metrics/?"), read, said, declined, problem)


def number_of(value: float | str) -> float | None:
    """A value of a metric; None for a text that is no number.

    >>> number_of("Infinity"), number_of("0.5"), number_of("x"), number_of(2)
    (inf, 0.5, None, 2.0)
    """
    try:
        return float(value) if not isinstance(value, str) or len(value) <= 40 else None
    except (ValueError, OverflowError):
        return None


def _documents(body: bytes) -> list[Any]:
    """The points of a body, decoded where all of them are sound. Raises NotAccepted."""
    try:
        value: Any = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = _json_value(body)
    documents = value if isinstance(value, list) else [value]
    if not documents or len(documents) > POINTS_MAX:
        raise NotAccepted([("", f"must be one point, or a list of 1 to {POINTS_MAX:,}")])
    return documents


def _json_value(body: bytes) -> Any:
    """The value of a JSON body; NaN and Infinity without quotes, as Python writes them, are values too.

    Raises NotAccepted.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAccepted([("", NOT_JSON)]) from error


def _point(document: Any, now: datetime) -> tuple[Point, bool]:
    """The point, and whether its time is impossible, so that it gets that of its arrival. Raises NotAccepted."""
    try:
        logged = document if isinstance(document, LoggedPoint) else msgspec.convert(document, LoggedPoint)
    except msgspec.ValidationError as error:
        raise NotAccepted([first_problem(error)]) from None
    value = number_of(logged.value)
    if value is None:
        raise NotAccepted([("value", "must be a number")])
    now_ms = int(now.timestamp() * 1000)
    point = Point(printable(logged.name), logged.step, _time_ms(logged.time, now_ms), value)
    if found := point_problems(point, ""):
        raise NotAccepted(found)
    return (point, False) if is_timely(point.time_ms, now) else (point._replace(time_ms=now_ms), True)


def _time_ms(time: datetime | float | None, now_ms: int) -> int:
    if time is None:
        return now_ms
    if isinstance(time, datetime):
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    return int(time * 1000) if abs(time) < 1e12 else 0
