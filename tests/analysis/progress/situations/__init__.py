"""Situations of training runs, by what is or is not to be said of them."""

from __future__ import annotations

from tests.analysis.progress.situations import doubtful, hangs, healthy, not_numbers, pauses

CASES = (
    *hangs.CASES,
    *doubtful.CASES,
    *healthy.CASES,
    *not_numbers.CASES,
    *pauses.CASES,
)
