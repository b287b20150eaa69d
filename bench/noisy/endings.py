"""Cases of how runs ended: time limits, memory, failures, cancellations, lost nodes."""

from __future__ import annotations

from bench.noisy import endings_gpu_memory, endings_memory, endings_states, endings_timeout, endings_walltime
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *endings_timeout.CASES,
    *endings_memory.CASES,
    *endings_gpu_memory.CASES,
    *endings_states.CASES,
    *endings_walltime.CASES,
)
