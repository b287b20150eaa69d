"""What a script logs again and again: from the bytes of a call to what is stored, and its answer.

Reading, storing and answering are three steps, so that the calls of many scripts are stored together
(`portal.tracking`).
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from jobs.experiments.limits import PARAM_LENGTH_MAX, TAG_LENGTH_MAX
from jobs.experiments.points import Point
from jobs.experiments.rules import NotAccepted, is_timely, point_problems
from jobs.experiments.services.points import LoggedCall
from jobs.models import User
from portal.mlflow.addresses import LOGGED
from portal.mlflow.answers import declined, done, invalid, problem
from portal.mlflow.call import checked_id
from portal.mlflow.wire import LogBatch, Metric, Text, milliseconds, read, texts_of
from portal.tracking.call import Answer, Door, Read, Received
from wire.safe_text import printable

METRICS_MAX, TEXTS_MAX = 1000, 100
"""Of one batch; clients split what is more (`mlflow/utils/validation.py`)."""

DONE = done()


def read_logged(received: Received) -> Read:
    """What a call has to be stored. Raises NotAccepted."""
    return Read(READERS[received.named["name"] or ""](received.body, received.user, received.at))


def said(_: Read) -> Answer:
    """The answer to each of these calls."""
    return DONE


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
LOGGED_CALLS = Door(LOGGED, read_logged, said, declined, problem)


def _points(metrics: Iterable[Metric], path: str, now: datetime) -> tuple[list[Point], int]:
    """The points, and how many of them had an impossible time and got that of their arrival. Raises NotAccepted."""
    now_ms = milliseconds(now)
    points, problems, odd_times = [], [], 0
    for place, sent in enumerate(metrics):
        at_ms = now_ms if sent.timestamp is None else sent.timestamp
        point = Point(printable(sent.key), sent.step or 0, at_ms, sent.value)
        problems += point_problems(point, f"{path}[{place}]." if path else "")
        if not is_timely(point.time_ms, now):
            point, odd_times = point._replace(time_ms=now_ms), odd_times + 1
        points.append(point)
    if problems:
        raise NotAccepted(problems)
    return points, odd_times


def _limit(sent: Sequence[Metric] | Sequence[Text], count_max: int, name: str) -> None:
    if len(sent) > count_max:
        raise invalid(f"A batch has at most {count_max:,} {name}; this one has {len(sent):,}.")
