"""Other situations of training runs, by what is or is not to be said of them."""

from __future__ import annotations

from tests.analysis.progress.more_situations import doubtful, hangs, healthy, healthy_odd, not_numbers, pauses

CASES = (
    *hangs.CASES,
    *doubtful.CASES,
    *healthy.CASES,
    *healthy_odd.CASES,
    *not_numbers.CASES,
    *pauses.CASES,
)
