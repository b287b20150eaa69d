"""What a script logs again and again: from the bytes of a call to what is stored; nothing here knows of requests.

Reading, storing and answering are three steps, so that a server may store the calls of many scripts together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from jobs.experiments.limits import PARAM_LENGTH_MAX, TAG_LENGTH_MAX
from jobs.experiments.points import Point
from jobs.experiments.rules import NotAccepted, point_problems, timely
from jobs.experiments.services.points import LoggedCall, log_calls
from jobs.models import User
from jobs.records import printable
from portal.mlflow.answers import done, invalid
from portal.mlflow.call import checked_id
from portal.mlflow.wire import LogBatch, Metric, Text, milliseconds, read, texts_of

METRICS_MAX, TEXTS_MAX = 1000, 100
"""Of one batch; clients split what is more (`mlflow/utils/validation.py`)."""

DONE = done()
"""The answer to each of these calls."""


def log(call: LoggedCall) -> None:
    """Store one call. Raises NotAccepted."""
    (why,) = log_calls([call])
    if why is not None:
        raise why


def read_logged(name: str, body: bytes, user: User, now: datetime) -> LoggedCall:
    """What the call of this name, one of `READERS`, has to be stored. Raises Refused and NotAccepted."""
    return READERS[name](body, user, now)


def _metric(body: bytes, user: User, now: datetime) -> LoggedCall:
    sent = read(body, Metric)
    points, odd_times = _points([sent], "", now)
    return LoggedCall(user, checked_id(sent.run), now, points, odd_times=odd_times)


def _parameter(body: bytes, user: User, now: datetime) -> LoggedCall:
    sent = read(body, Text)
    return LoggedCall(user, checked_id(sent.run), now, params=texts_of([sent], PARAM_LENGTH_MAX, "params"))


def _tag(body: bytes, user: User, now: datetime) -> LoggedCall:
    sent = read(body, Text)
    return LoggedCall(user, checked_id(sent.run), now, tags=texts_of([sent], TAG_LENGTH_MAX, "tags"))


def _batch(body: bytes, user: User, now: datetime) -> LoggedCall:
    sent = read(body, LogBatch)
    _limit(sent.metrics, METRICS_MAX, "metrics")
    _limit(sent.params, TEXTS_MAX, "params")
    _limit(sent.tags, TEXTS_MAX, "tags")
    points, odd_times = _points(sent.metrics, "metrics", now)
    params = texts_of(sent.params, PARAM_LENGTH_MAX, "params")
    return LoggedCall(
        user,
        checked_id(sent.run),
        now,
        points,
        params,
        texts_of(sent.tags, TAG_LENGTH_MAX, "tags"),
        odd_times=odd_times,
    )


READERS: dict[str, Callable[[bytes, User, datetime], LoggedCall]] = {
    "runs/log-metric": _metric,
    "runs/log-parameter": _parameter,
    "runs/set-tag": _tag,
    "runs/log-batch": _batch,
}


def _points(metrics: Iterable[Metric], path: str, now: datetime) -> tuple[list[Point], int]:
    """The points, and how many of them had an impossible time and got that of their arrival. Raises NotAccepted."""
    now_ms = milliseconds(now)
    points, problems, odd_times = [], [], 0
    for place, sent in enumerate(metrics):
        at_ms = now_ms if sent.timestamp is None else sent.timestamp
        point = Point(printable(sent.key), sent.step or 0, at_ms, sent.value)
        problems += point_problems(point, f"{path}[{place}]." if path else "")
        if timely(point, now) is None:
            point, odd_times = point._replace(time_ms=now_ms), odd_times + 1
        points.append(point)
    if problems:
        raise NotAccepted(problems)
    return points, odd_times


def _limit(sent: Sequence[Metric] | Sequence[Text], count_max: int, name: str) -> None:
    if len(sent) > count_max:
        raise invalid(f"A batch has at most {count_max:,} {name}; this one has {len(sent):,}.")
