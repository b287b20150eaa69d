"""Cases of a second reader, of GPU use over time: drawn and expected apart from all others, first judged when done."""

from __future__ import annotations

from bench.noisy import (
    examiner_disguised,
    examiner_ends,
    examiner_healthy,
    examiner_limits,
    examiner_spread,
    examiner_time,
)
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *examiner_disguised.CASES,
    *examiner_ends.CASES,
    *examiner_healthy.CASES,
    *examiner_limits.CASES,
    *examiner_spread.CASES,
    *examiner_time.CASES,
)
