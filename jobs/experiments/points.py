"""Points of one metric: as they arrive, as they are stored, and which of very many are kept; pure.

However many points arrive, the last one, the least and the greatest value are exact (`Digest`); of the points
themselves a bounded number is kept, so that extremes and pauses stay where they were (`thinned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from jobs.experiments.limits import POINTS_KEPT_MAX

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEPT_OF_A_GROUP = 4
"""The first, the last, the least and the greatest point of neighbours stand for all of them."""

STEP_MAX = 2**53
"""Steps beyond cannot be told apart by programs that read JSON numbers as floats."""


class Point(NamedTuple):
    """One measured value: Unix time in ms; `value` may be NaN or infinite."""

    name: str
    step: int
    time_ms: int
    value: float


@dataclass(frozen=True)
class Points:
    """Points of one metric in the order of their times, `(P,)` each."""

    steps: Ints
    times_ms: Ints
    values: Floats

    def __len__(self) -> int:
        return int(self.values.size)

    def taken(self, places: Any) -> Points:
        """The points at these places."""
        return Points(self.steps[places], self.times_ms[places], self.values[places])


@dataclass(frozen=True)
class Digest:
    """What is exact of all points that ever arrived.

    `least_…` and `most_…` are None while every value was NaN. `nan_since_…` is where the values became NaN for good;
    None where the last one is a number. The last point is that of the latest time.
    """

    count: int
    first_step: int
    first_ms: int
    last_step: int
    last_ms: int
    last_value: float
    least_value: float | None
    least_step: int | None
    most_value: float | None
    most_step: int | None
    nan_count: int
    nan_since_step: int | None
    nan_since_ms: int | None


@dataclass(frozen=True)
class Series:
    """One metric of one run: the kept points, and what is exact of all of them."""

    points: Points
    digest: Digest

    @property
    def is_thinned(self) -> bool:
        """Whether more points arrived than are kept."""
        return self.digest.count > len(self.points)


def points_of(rows: Sequence[Point]) -> Points:
    """Rows of one metric as columns in the order of their times."""
    steps = np.array([row.step for row in rows], dtype=np.int64)
    times_ms = np.array([row.time_ms for row in rows], dtype=np.int64)
    values = np.array([row.value for row in rows], dtype=np.float64)
    return in_order(Points(steps, times_ms, values))


def in_order(points: Points) -> Points:
    """The same points by time, then by step."""
    return points.taken(np.lexsort((points.steps, points.times_ms)))


def packed(points: Points) -> bytes:
    """The bytes that `unpacked` reads."""
    columns = (points.steps.astype("<i8"), points.times_ms.astype("<i8"), points.values.astype("<f8"))
    return b"".join(column.tobytes() for column in columns)


def unpacked(stored: bytes) -> Points:
    """The points of these bytes."""
    length = len(stored) // 24
    whole = memoryview(stored)
    steps = np.frombuffer(whole[: 8 * length], dtype="<i8")
    times_ms = np.frombuffer(whole[8 * length : 16 * length], dtype="<i8")
    return Points(steps, times_ms, np.frombuffer(whole[16 * length :], dtype="<f8"))


def packed_call(rows: Iterable[Point]) -> bytes:
    """The points of one call, of any metrics, as they wait to be sorted into their series."""
    return msgspec.msgpack.encode([tuple(row) for row in rows])


_calls = msgspec.msgpack.Decoder(list[tuple[str, int, int, float]])


def unpacked_calls(calls: Iterable[bytes]) -> dict[str, Points]:
    """The points of several calls by metric.

    >>> unpacked_calls([packed_call([Point("loss", 1, 1000, 0.5), Point("loss", 0, 900, 0.7)])])["loss"].values.tolist()
    [0.7, 0.5]
    """
    rows: dict[str, list[Point]] = {}
    for call in calls:
        for row in _calls.decode(call):
            rows.setdefault(row[0], []).append(Point(*row))
    return {name: points_of(found) for name, found in rows.items()}


def merged(series: Series | None, new: Points, most: int = POINTS_KEPT_MAX) -> Series:
    """The series with these points added; those that are among the kept ones already count once.

    They come again where an answer was lost. One that was thinned away since counts again, and changes nothing else.
    """
    fresh = _without_known(series.points if series else None, new)
    if series is None:
        return Series(thinned(fresh, most), _digest_of(fresh))
    if not len(fresh):
        return series
    together = in_order(
        Points(
            np.concatenate([series.points.steps, fresh.steps]),
            np.concatenate([series.points.times_ms, fresh.times_ms]),
            np.concatenate([series.points.values, fresh.values]),
        )
    )
    return Series(thinned(together, most), _joined(series.digest, _digest_of(fresh)))


def thinned_call(rows: Sequence[Point]) -> list[Point]:
    """At most `KEPT_OF_A_GROUP` points of each metric of one call, for a server that has too much to store.

    >>> [row.step for row in thinned_call([Point("loss", step, step, abs(step - 5.0)) for step in range(20)])]
    [0, 5, 19]
    """
    by_name: dict[str, list[Point]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    kept: list[Point] = []
    for found in by_name.values():
        ordered = sorted(found, key=lambda row: (row.time_ms, row.step))
        columns = points_of(ordered)
        kept += [ordered[place] for place in _of_group(columns.values, 0, len(columns))]
    return kept


def thinned(points: Points, most: int) -> Points:
    """All points, or of more than `most` at most half as many: the ends and extremes of groups of neighbours.

    Groups are equal parts of the time, so that old points are not thinned more than new ones however often this is
    repeated. A pause that is longer than such a part stays visible between two of them.
    """
    if len(points) <= most:
        return points
    places: list[int] = []
    edges = _group_edges(points.times_ms, max(most // (2 * KEPT_OF_A_GROUP), 1))
    for start, end in pairwise(edges):
        places += _of_group(points.values, start, end)
    return points.taken(np.array(places, dtype=np.int64))


def _group_edges(times_ms: Ints, groups: int) -> list[int]:
    """Where each group of neighbours begins, and the end: at most `groups` of them."""
    span_ms = int(times_ms[-1] - times_ms[0]) + 1
    part = (times_ms - times_ms[0]) * groups // span_ms
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    sizes = np.diff(np.append(starts, times_ms.size))
    # Parts of the time without any point leave their groups to those with most.
    spare = groups - starts.size
    edges: list[int] = []
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        within = min(1 + spare * size // times_ms.size, size)
        edges += [start + size * place // within for place in range(within)]
    return [*edges, int(times_ms.size)]


def _of_group(values: Floats, start: int, end: int) -> list[int]:
    """The places of the first, last, least and greatest value of a group, each once and in order."""
    group = values[start:end]
    places = {start, end - 1}
    known = np.flatnonzero(~np.isnan(group))
    if known.size:
        numbers = group[known]
        places |= {start + int(known[np.argmin(numbers)]), start + int(known[np.argmax(numbers)])}
    return sorted(places)


def _without_known(known: Points | None, new: Points) -> Points:
    """The new points, each once, without those that are known: compared bit by bit, so that NaN equals NaN."""
    rows = _rows(new)
    _, firsts = np.unique(rows, return_index=True)
    firsts.sort()
    if known is not None and len(known):
        overlapping = known.taken(known.times_ms >= new.times_ms[0])
        is_new = ~np.isin(rows[firsts], _rows(overlapping))
        firsts = firsts[is_new]
    return new.taken(firsts)


def _rows(points: Points) -> NDArray[np.void]:
    """Each point as one value that can be compared."""
    columns = np.stack([points.steps, points.times_ms, points.values.astype(np.float64).view(np.int64)], axis=1)
    return np.ascontiguousarray(columns).view(np.dtype((np.void, 24))).ravel()


def _digest_of(points: Points) -> Digest:
    """Of points in the order of their times, at least one."""
    is_nan = np.isnan(points.values)
    numbers = np.flatnonzero(~is_nan)
    least = int(numbers[np.argmin(points.values[numbers])]) if numbers.size else None
    most = int(numbers[np.argmax(points.values[numbers])]) if numbers.size else None
    since = 0 if not numbers.size else int(numbers[-1]) + 1
    is_lost = since < len(points)
    return Digest(
        count=len(points),
        first_step=int(points.steps[0]),
        first_ms=int(points.times_ms[0]),
        last_step=int(points.steps[-1]),
        last_ms=int(points.times_ms[-1]),
        last_value=float(points.values[-1]),
        least_value=None if least is None else float(points.values[least]),
        least_step=None if least is None else int(points.steps[least]),
        most_value=None if most is None else float(points.values[most]),
        most_step=None if most is None else int(points.steps[most]),
        nan_count=int(is_nan.sum()),
        nan_since_step=int(points.steps[since]) if is_lost else None,
        nan_since_ms=int(points.times_ms[since]) if is_lost else None,
    )


def _joined(old: Digest, new: Digest) -> Digest:
    """The digest of both together; `new` arrived later, but may be of an earlier time."""
    first = min(old, new, key=attrgetter("first_ms", "first_step"))
    last = max(old, new, key=attrgetter("last_ms", "last_step"))
    least = min((digest for digest in (old, new) if digest.least_value is not None), key=_least, default=old)
    most = max((digest for digest in (old, new) if digest.most_value is not None), key=_most, default=old)
    since_step, since_ms = _nan_since(old, new, last)
    return replace(
        last,
        count=old.count + new.count,
        first_step=first.first_step,
        first_ms=first.first_ms,
        least_value=least.least_value,
        least_step=least.least_step,
        most_value=most.most_value,
        most_step=most.most_step,
        nan_count=old.nan_count + new.nan_count,
        nan_since_step=since_step,
        nan_since_ms=since_ms,
    )


def _nan_since(old: Digest, new: Digest, last: Digest) -> tuple[int | None, int | None]:
    """From where on everything is NaN: earlier than in the later digest only if the earlier one ends with NaN too."""
    earlier = old if last is new else new
    is_whole = last.nan_count == last.count
    whose = earlier if is_whole and earlier.nan_since_ms is not None else last
    return whose.nan_since_step, whose.nan_since_ms


def _least(digest: Digest) -> float:
    return digest.least_value if digest.least_value is not None else np.inf


def _most(digest: Digest) -> float:
    return digest.most_value if digest.most_value is not None else -np.inf
