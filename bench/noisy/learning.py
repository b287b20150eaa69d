"""All machine-learning cases of the noisy library."""

from __future__ import annotations

from bench.noisy import (
    learning_devices,
    learning_healthy,
    learning_limits,
    learning_near,
    learning_supply,
    learning_unexplained,
    learning_waiting,
)
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *learning_healthy.CASES,
    *learning_near.CASES,
    *learning_devices.CASES,
    *learning_supply.CASES,
    *learning_waiting.CASES,
    *learning_limits.CASES,
    *learning_unexplained.CASES,
)
