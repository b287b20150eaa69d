"""Random waiting times between ticks, the same for one job and node; `random` would be a tenth of the process's
memory."""

from __future__ import annotations

MULTIPLIER, INCREMENT, MODULUS = 0x5DEECE66D, 11, 1 << 48
"""The linear congruential generator of drand48 (POSIX)."""


class Jitter:
    """Factors between 0.5 and 1.5 with a mean of one: instants that no periodic load can be in step with (additive
    random sampling; Shapiro and Silverman 1960)."""

    __slots__ = ("state",)

    def __init__(self, seed: str) -> None:
        self.state = 0
        for byte in seed.encode():
            self.state = ((self.state ^ byte) * MULTIPLIER + INCREMENT) % MODULUS

    def factor(self) -> float:
        self.state = (self.state * MULTIPLIER + INCREMENT) % MODULUS
        return 0.5 + self.state / MODULUS
