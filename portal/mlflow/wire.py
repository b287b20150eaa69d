"""What MLflow's clients send, and how numbers and times are written for them; pure.

Clients send protocol buffers as JSON: unknown members are ignored, 64-bit numbers may be strings, and NaN and the
infinities are the strings "NaN", "Infinity" and "-Infinity" in both directions. Times are whole milliseconds.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from jobs.experiments.rules import NotAccepted, Problem, is_possible
from portal.mlflow.answers import invalid
from portal.tracking.call import BODY_BYTES_MAX
from wire.safe_text import printable

MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Kind = TypeVar("Kind", bound=msgspec.Struct)


class OfRun(msgspec.Struct, kw_only=True):
    """A call about one run, which older clients name by `run_uuid`."""

    run_id: str | None = None
    run_uuid: str | None = None

    @property
    def run(self) -> str:
        return self.run_id or self.run_uuid or ""


class Metric(OfRun, kw_only=True):
    """One value of a metric: runs/log-metric, or one of a batch, whose run is that of the batch."""

    key: str
    value: float
    timestamp: int | None = None
    step: int | None = None


class Text(OfRun, kw_only=True):
    """A parameter or a tag: runs/log-parameter, runs/set-tag, runs/delete-tag, or one of a batch."""

    key: str
    value: str | None = None


class LogBatch(OfRun, kw_only=True):
    """runs/log-batch."""

    metrics: list[Metric] = []
    params: list[Text] = []
    tags: list[Text] = []


class CreateRun(msgspec.Struct, kw_only=True):
    """runs/create."""

    experiment_id: str | None = None
    run_name: str | None = None
    start_time: int | None = None
    tags: list[Text] = []


class UpdateRun(OfRun, kw_only=True):
    """runs/update."""

    status: str | None = None
    end_time: int | None = None
    run_name: str | None = None


class Search(msgspec.Struct, kw_only=True):
    """runs/search, experiments/search."""

    experiment_ids: list[str] = []
    filter: str | None = None
    order_by: list[str] = []
    max_results: int | None = None
    page_token: str | None = None
    view_type: str | None = None
    run_view_type: str | None = None


class History(OfRun, kw_only=True):
    """metrics/get-history."""

    metric_key: str
    max_results: int | None = None
    page_token: str | None = None


class ListArtifacts(OfRun, kw_only=True):
    """artifacts/list."""

    path: str | None = None


class OfExperiment(msgspec.Struct, kw_only=True):
    """experiments/get, experiments/delete, experiments/update."""

    experiment_id: str
    new_name: str | None = None


class ByName(msgspec.Struct, kw_only=True):
    """experiments/get-by-name."""

    experiment_name: str


class CreateExperiment(msgspec.Struct, kw_only=True):
    """experiments/create."""

    name: str
    tags: list[Text] = []


class ExperimentTag(Text, kw_only=True):
    """experiments/set-experiment-tag."""

    experiment_id: str


def read(sent: bytes | Mapping[str, str], kind: type[Kind]) -> Kind:
    """A call from its JSON body, or from the query of a GET. Raises Refused.

    >>> read(b'{"key": "loss", "value": "NaN", "step": "7", "new": 1}', Metric)
    Metric(run_id=None, run_uuid=None, key='loss', value=nan, timestamp=None, step=7)
    """
    try:
        if isinstance(sent, bytes):
            return _of_body(sent, kind)
        return msgspec.convert(dict(sent), kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None


def _of_body(body: bytes, kind: type[Kind]) -> Kind:
    if len(body) > BODY_BYTES_MAX:
        raise invalid(f"A call must have at most {BODY_BYTES_MAX:,} bytes.")
    try:
        return msgspec.json.decode(body, type=kind, strict=False)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(_leniently(body), kind, strict=False)


def _leniently(body: bytes) -> Any:
    """What Python's writers emit beyond JSON: NaN as a bare word, and halves of characters. Raises Refused."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise invalid("The body is not JSON.") from None


def texts_of(found: Iterable[Text], length_max: int, path: str) -> dict[str, str]:
    """Parameters or tags by name; a longer value is cut, as MLflow's own server does.

    Raises NotAccepted for two values of one parameter.

    >>> texts_of([Text(key="lr", value="0.10"), Text(key="empty")], 3, "tags")
    {'lr': '0.1', 'empty': ''}
    """
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for text in found:
        value = (text.value or "")[:length_max]
        if path == "params" and texts.get(text.key, value) != value:
            problems.append((f"params.{printable(text.key)}", "has two values in one call"))
        texts[text.key] = value
    if problems:
        raise NotAccepted(problems)
    return texts


def milliseconds(at: datetime) -> int:
    """An instant as whole milliseconds of Unix time.

    >>> milliseconds(datetime(2026, 11, 20, 12, 30, 0, 999_999, UTC))
    1795177800999
    """
    return (at - EPOCH) // MILLISECOND


def instant(at_ms: int | None, now: datetime) -> datetime:
    """The instant that a client states; `now` where it states none, or one that cannot be true of a run.

    >>> now = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
    >>> [instant(at_ms, now).isoformat() for at_ms in (1795177800250, None, 1795177, 10**30)]
    ['2026-11-20T12:30:00.250000+00:00', '2026-11-20T12:30:00+00:00', '2026-11-20T12:30:00+00:00', \
'2026-11-20T12:30:00+00:00']
    """
    try:
        at = now if at_ms is None else EPOCH + at_ms * MILLISECOND
    except OverflowError:
        return now
    return at if is_possible(at, now) else now
