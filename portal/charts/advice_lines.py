"""What all pieces of advice of one report suggest together: the changes of a request's lines, or the whole request."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analysis.models import RecommendationRow
from jobs.sbatch import OptionChange


def advice_lines(advised: Sequence[RecommendationRow]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(Changes as text, block): the first block to write, or without one the changes of all pieces."""
    for row in advised:
        if row.request:
            return (), tuple(row.request)
    changes = [change for row in advised for change in msgspec.convert(row.changes, tuple[OptionChange, ...])]
    return tuple(map(str, changes)), ()
