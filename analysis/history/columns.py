"""Judged runs column by column, so that very many of them can be added up together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """What many runs have in common: class, why they are not counted ("" for those that are), and finding codes."""

    efficiency_class: str
    uncounted_reason: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class RunColumns:
    """The columns of `(N runs,)` in one order, times in seconds since 1970, NaN where not known.

    `kind` is the place of each run's kind in `kinds`.
    """

    kinds: tuple[Kind, ...]
    kind: Places
    user: Places
    ended_s: Floats
    started_s: Floats
    util: Floats
    gpu_hours: Floats
    wasted_gpu_hours: Floats
    saved_gpu_hours: Floats

    def __len__(self) -> int:
        return len(self.kind)

    def only(self, chosen: NDArray[np.bool_]) -> RunColumns:
        """The runs where `chosen` is true."""
        columns = {name: getattr(self, name)[chosen] for name in ARRAYS}
        return RunColumns(self.kinds, **columns)

    def between(self, start: datetime, end: datetime) -> RunColumns:
        """The runs that ended from `start` until before `end`."""
        return self.only((self.ended_s >= start.timestamp()) & (self.ended_s < end.timestamp()))

    def counted(self) -> RunColumns:
        """The runs that count in statistics."""
        return self.only(self.of_kinds([not kind.uncounted_reason for kind in self.kinds]))

    def of_kinds(self, chosen: Sequence[bool]) -> NDArray[np.bool_]:
        """Whether each run is of a chosen kind; one choice for each of `kinds`."""
        return np.array(chosen, dtype=bool)[self.kind] if self.kinds else np.zeros(0, dtype=bool)


ARRAYS = tuple(field.name for field in fields(RunColumns) if field.name != "kinds")


def kind_of(label: str) -> Kind:
    """A kind as read from the database.

    >>> kind_of("WASTED/short/ idle_gpus timeout ")
    Kind(efficiency_class='WASTED', uncounted_reason='short', codes=('idle_gpus', 'timeout'))
    """
    name, reason, codes = label.split("/")
    return Kind(name, reason, tuple(codes.split()))


def run_columns(labels: Sequence[str], **numbers: Floats) -> RunColumns:
    """Columns from the label of each run and its numbers."""
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    kind = np.fromiter(map(places.__getitem__, labels), np.int64, len(labels))
    user = numbers.pop("user").astype(np.int64)
    return RunColumns(tuple(map(kind_of, places)), kind, user, **numbers)
