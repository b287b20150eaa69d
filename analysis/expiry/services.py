"""Removing timelines after their retention; a mark stores the progress, so that nothing is checked twice."""

from collections.abc import Iterator
from datetime import datetime

from analysis.marks.selectors import swept_until
from analysis.marks.services import mark_swept
from metrics.expiry.services import empty_series

SERIES = "series"


def thin_measurements(before: datetime) -> Iterator[int]:
    """Remove the timelines and histograms of summaries that last changed before then; their figures stay.

    Yields how many summaries after each batch. The judgements of their runs do not change from then on
    (`analysis.selectors.fresh_assessment`).
    """
    for emptied, done_until in empty_series(swept_until(SERIES), before):
        mark_swept(SERIES, done_until)
        yield emptied
