"""The thresholds of early words, each with its source."""

from __future__ import annotations

from dataclasses import dataclass

EARLY_RULES_VERSION = "early-1"
"""Stored with every word; a change of the rules or of a threshold changes it."""


@dataclass(frozen=True)
class EarlyLimits:
    """The thresholds; seconds, percent and fractions as their names say."""


EARLY_LIMITS = EarlyLimits()
