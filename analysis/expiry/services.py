"""Removing timelines after their retention; a mark stores the progress, so that nothing is checked twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from analysis.models import SweepMark
from metrics.expiry.services import empty_series

SERIES = "series"


def thin_measurements(before: datetime) -> Iterator[int]:
    """Remove the timelines and histograms of summaries that last changed before then; their figures stay.

    Yields how many summaries after each batch. The judgements of their runs do not change from then on
    (`analysis.selectors.fresh_assessment`).
    """
    mark, _ = SweepMark.objects.get_or_create(name=SERIES)
    for emptied, done_until in empty_series(mark.at, before):
        SweepMark.objects.filter(pk=mark.pk).update(at=done_until)
        yield emptied
