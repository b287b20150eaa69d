"""A flag in words and figures, for its owner, for PIs and for staff: what it rests on, and what clears it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from django.urls import reverse

from analysis.escalation.models import Flag
from analysis.escalation.rules import PARTS_OF_AN_HOUR, Counted, Evidence, Reason
from analysis.findings import FindingCode
from reports.numbers import DIGITS_MAX, one_digit, unbroken
from reports.wording import TITLES

CLEARED = {
    Reason.LOW_FRACTION.value: "The share of GPU-hours in Inefficient or Wasted fell below the limit.",
    Reason.NO_JOBS.value: "No job that counts ended in those days.",
}
WORD_OF_KIND = {Flag.Kind.USER.value: "Person", Flag.Kind.PROJECT.value: "Project", Flag.Kind.WORK.value: "Work"}


def side_by_side(fraction: Fraction, limit: Fraction) -> tuple[str, str]:
    """Two fractions as percent with one decimal, or as many as keep the first on its side of the second.

    >>> side_by_side(Fraction(61, 100), Fraction(1, 3))
    ('61.0\\xa0%', '33.3\\xa0%')
    >>> side_by_side(Fraction(33332, 100000), Fraction(1, 3))
    ('33.332\\xa0%', '33.333\\xa0%')
    """
    pair = ("", "")
    for digits in range(1, DIGITS_MAX):
        shown = [f"{float(value) * 100:.{digits}f}" for value in (fraction, limit)]
        pair = unbroken(f"{shown[0]} %"), unbroken(f"{shown[1]} %")
        if fraction == limit or (shown[0] != shown[1] and (float(shown[0]) < float(shown[1])) == (fraction < limit)):
            break
    return pair


@dataclass(frozen=True)
class Figures:
    """The sums of a flag beside the thresholds that they are compared with; shares as text in percent."""

    evidence: Evidence

    @property
    def counted(self) -> Counted:
        return self.evidence.counted

    @property
    def low_fraction(self) -> Fraction:
        """Exact to a millionth of a GPU-hour, as the rule compares; 0 without GPU-hours."""
        low, whole = (round(hours * PARTS_OF_AN_HOUR) for hours in (self.counted.low_gpu_hours, self.counted.gpu_hours))
        return Fraction(low, whole) if whole else Fraction(0)

    @property
    def low_share(self) -> str:
        """The share in Inefficient or Wasted, on its side of the limit below which the flag clears."""
        return side_by_side(self.low_fraction, Fraction(self.evidence.clear_fraction))[0]

    @property
    def clear_share(self) -> str:
        """The share below which the flag clears."""
        return side_by_side(self.low_fraction, Fraction(self.evidence.clear_fraction))[1]

    @property
    def raise_share(self) -> str:
        """The share from which a flag is raised."""
        return side_by_side(self.low_fraction, Fraction(self.evidence.raise_fraction))[1]

    @property
    def low_gpu_hours_max(self) -> float:
        """How many GPU-hours may be low at most, of as many as now, for the flag to clear."""
        return self.counted.gpu_hours * float(Fraction(self.evidence.clear_fraction))

    @property
    def findings(self) -> list[tuple[str, int]]:
        """The titles of the findings and the jobs that have them, the most frequent first."""
        known = {code.value: TITLES[code] for code in FindingCode if code in TITLES}
        rows = [(known.get(code, code), jobs) for code, jobs in self.evidence.findings.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


def rough(gpu_hours: float) -> str:
    """A sum for staff: two views of it do not show what one job added between them.

    >>> rough(131.3), rough(0.0)
    ('about 100', '0')
    """
    return f"about {one_digit(gpu_hours)}" if gpu_hours > 0 else "0"


@dataclass(frozen=True)
class StaffFigures:
    """What staff read of a flag: rough sums, and nothing where fewer jobs are left than raise one.

    The sums of so few jobs would be a job's figures, which only its owner may show.
    """

    evidence: Evidence

    @property
    def is_shown(self) -> bool:
        """Whether enough jobs are left."""
        return self.evidence.counted.jobs >= self.evidence.jobs_min

    @property
    def saved(self) -> str:
        return rough(self.evidence.counted.saved_gpu_hours)

    @property
    def unused(self) -> str:
        return rough(self.evidence.counted.unused_gpu_hours)

    @property
    def gpu_hours(self) -> str:
        return rough(self.evidence.counted.gpu_hours)

    @property
    def low_share(self) -> str:
        """The share in Inefficient or Wasted, to ten percent."""
        return unbroken(f"about {round(10 * (self.evidence.counted.low_fraction or 0.0)) * 10} %")

    @property
    def findings(self) -> list[str]:
        """The titles of the findings, the most frequent first."""
        return [title for title, _ in Figures(self.evidence).findings]


@dataclass(frozen=True)
class FlagCard:
    """One flag as a page shows it; `url` leads to the work or project, empty where there is none to show."""

    flag: Flag
    title: str
    owner: str
    url: str
    is_seen_by_staff: bool

    @property
    def raised(self) -> Figures:
        """When it was raised."""
        return Figures(self.flag.at_raising)

    @property
    def last(self) -> Figures:
        """When it was last checked; of a cleared flag when it cleared."""
        return Figures(self.flag.at_last)

    @property
    def why_cleared(self) -> str:
        """Why it cleared, as a sentence."""
        return CLEARED.get(self.flag.cleared_by, "")


def flag_cards(flags: Sequence[Flag], names: dict[str, str], now: datetime) -> list[FlagCard]:
    """The flags in their order; `names` are the works that the reader sees, by key."""
    return [_card(flag, names, now) for flag in flags]


def _card(flag: Flag, names: dict[str, str], now: datetime) -> FlagCard:
    owner = flag.user.username if flag.user else ""
    is_seen = flag.visible_to_staff_at <= now
    if flag.kind == Flag.Kind.USER:
        return FlagCard(flag, "All your GPU jobs", owner, reverse("my-jobs"), is_seen)
    project = flag.project.name if flag.project else ""
    if flag.kind == Flag.Kind.PROJECT:
        return FlagCard(flag, f"Project {project}", owner, reverse("project", args=[project]), is_seen)
    name = names.get(flag.work_key, "")
    url = reverse("work", args=[flag.work_key]) if name else ""
    return FlagCard(flag, f"Work “{name or 'unnamed'}” in {project}", owner, url, is_seen)


def staff_title(flag: Flag) -> str:
    """What a flag is about, for staff: account and project, never the name of a job."""
    owner = flag.user.username if flag.user else ""
    project = flag.project.name if flag.project else ""
    return {
        Flag.Kind.USER.value: f"All GPU jobs of {owner}",
        Flag.Kind.PROJECT.value: f"Project {project}",
        Flag.Kind.WORK.value: f"A work of {owner} in {project}",
    }[flag.kind]
