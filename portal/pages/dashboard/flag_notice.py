"""What the dashboard shows of flags: one line each, with the link to the page that explains them."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.cases.selectors import requests_to
from analysis.escalation.selectors import IS_OPEN, flags_of_led, own_flags
from jobs.models import User
from jobs.selectors import Reach


@dataclass(frozen=True)
class FlagNotice:
    """Whether the reader's jobs are flagged, how many requests of support wait for an answer, and the flagged projects
    that the reader leads."""

    is_raised: bool
    requests: int
    projects: list[str]


def flag_notice(user: User, reach: Reach) -> FlagNotice:
    """For one person: two queries, and one more for who leads a project."""
    led = [flag.project.name for flag in flags_of_led(reach) if flag.project] if reach.led else []
    return FlagNotice(own_flags(user).filter(IS_OPEN).exists(), requests_to(user).count(), sorted(led))
