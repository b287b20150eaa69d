"""A flag in words and figures, for its owner, for PIs and for staff: what it rests on, and what clears it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from django.urls import reverse

from analysis.cases.models import CaseEvent
from analysis.cases.states import State
from analysis.escalation.models import Flag
from analysis.escalation.rules import PARTS_OF_AN_HOUR, Counted, Evidence, Reason
from analysis.findings import FindingCode
from portal.charts.finding_list import FLAGS, SITE, jobs_address
from reports.numbers import one_digit, part_of, unbroken
from reports.wording import TITLES
from wire.numbers import DIGITS_MAX

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


def about(rounded: str) -> str:
    """A sum to one digit for staff: two views of it do not show what one job added between them.

    >>> about("100"), about("0"), about("more than 100")
    ('about 100', '0', 'more than 100')
    """
    return f"about {rounded}" if rounded[0].isdecimal() and rounded != "0" else rounded


@dataclass(frozen=True)
class StaffFigures:
    """What staff read of a flag: rough sums, and nothing where fewer jobs are left than raise one.

    The sums of so few jobs would be a job's figures, which only its owner may show.
    """

    evidence: Evidence

    @property
    def is_shown(self) -> bool:
        """Whether enough jobs are left."""
        return self.evidence.has_enough_jobs

    @property
    def saved(self) -> str:
        return about(one_digit(self.evidence.counted.saved_gpu_hours))

    @property
    def unused(self) -> str:
        return about(self._unused_of_all[0])

    @property
    def gpu_hours(self) -> str:
        return about(self._unused_of_all[1])

    @property
    def _unused_of_all(self) -> tuple[str, str]:
        """As the offer of help states them."""
        return part_of(self.evidence.counted.unused_gpu_hours, self.evidence.counted.gpu_hours)

    @property
    def low_share(self) -> str:
        """The share in Inefficient or Wasted, to ten percent; a share below 1 is not shown as 100 %."""
        fraction = self.evidence.counted.low_fraction or 0.0
        tens = round(10 * fraction)
        return unbroken("more than 90 %" if fraction < 1 and tens == 10 else f"about {tens * 10} %")

    @property
    def findings(self) -> list[str]:
        """What to call the findings, the most frequent first: titles only of those that as many jobs have.

        The title of one that fewer have would be what a report of one of these jobs states, which only its owner may
        show.
        """
        rows = Figures(self.evidence).findings
        named = [title for title, jobs in rows if jobs >= self.evidence.jobs_min]
        return named if len(named) == len(rows) else [*named, "other findings"]


@dataclass(frozen=True)
class FlagCard:
    """One flag as a page shows it; `url` leads to the work or project, empty where there is none to show.

    `jobs_url` lists exactly the jobs that it counts. `steps` are what support did about it, the earliest first; None
    where the reader is not whom it concerns.
    """

    flag: Flag
    title: str
    owner: str
    url: str
    jobs_url: str
    is_seen_by_staff: bool
    steps: Sequence[Step] | None = None

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


def flag_cards(
    flags: Sequence[Flag],
    names: Mapping[str, str],
    now: datetime,
    *,
    leads: bool,
    steps: Mapping[int, Sequence[CaseEvent]] | None = None,
) -> list[FlagCard]:
    """The flags in their order; `names` are the works that the reader sees, by key; `leads` where they lead a project.

    `steps` are `analysis.cases.selectors.steps_of` these flags, None for whom they do not concern.
    """
    found = []
    for flag in flags:
        title, url = _title_and_url(flag, names)
        owner, is_seen = flag.user.username if flag.user else "", flag.visible_to_staff_at <= now
        done = None if steps is None else [step_of(event) for event in steps.get(flag.pk, ())]
        found.append(FlagCard(flag, title, owner, url, counted_jobs_address(flag, leads=leads), is_seen, done))
    return found


def _title_and_url(flag: Flag, names: Mapping[str, str]) -> tuple[str, str]:
    """What a flag is about; the page of its project or work, empty where there is none to show."""
    if flag.kind == Flag.Kind.USER:
        return "All your GPU jobs", ""
    project = flag.project.name if flag.project else ""
    if flag.kind == Flag.Kind.PROJECT:
        return f"Project {project}", reverse("project", args=[project])
    name = names.get(flag.work_key, "")
    return f"Work “{name or 'unnamed'}” in {project}", reverse("work", args=[flag.work_key]) if name else ""


def counted_jobs_address(flag: Flag, *, leads: bool) -> str:
    """The Jobs page with exactly the jobs that a flag counts; whoever leads a project sees jobs of others there too."""
    last = flag.at_last
    chosen = {"since": f"{last.first_day:%Y-%m-%d}", "until": f"{last.last_day:%Y-%m-%d}", "zone": SITE}
    if flag.project is not None:
        chosen["project"] = flag.project.name
    if flag.work_key:
        chosen["work"] = flag.work_key
    elif flag.user is not None and leads:
        chosen["owner"] = flag.user.username
    return jobs_address({**chosen, "counted": FLAGS})


@dataclass(frozen=True)
class Step:
    """One thing that support, or the owner of the flag, did about it."""

    at: datetime
    text: str


DONE = {
    State.OPEN: "No longer claimed",
    State.CLAIMED: "Claimed",
    State.WAITING: "Waiting for you",
    State.RESOLVED: "Closed: resolved",
    State.DISMISSED: "Closed: no help needed",
}
"""What support did, by the state after it, as whom it concerns reads it."""


def step_of(event: CaseEvent) -> Step:
    """One line of the history of a case in the words of whom it concerns; never what staff wrote."""
    by = f" ({event.actor.username} of support)" if event.actor else " (support)"
    match event.kind:
        case CaseEvent.Kind.OFFER:
            text = f"Help offered by mail{by}."
        case CaseEvent.Kind.REQUEST:
            text = f"Asked you to share some jobs{by}."
        case CaseEvent.Kind.ANSWER:
            text = f"You answered: {event.text[:1].lower()}{event.text[1:]}"
        case CaseEvent.Kind.WITHDRAWN:
            text = "The request to share jobs is no longer open."
        case _ if event.actor is None:
            text = "Closed, as the flag cleared."
        case _:
            text = f"{DONE[State(event.state)]}{by}."
    return Step(event.at, text)


def staff_title(flag: Flag) -> str:
    """What a flag is about, for staff: account and project, never the name of a job."""
    owner = flag.user.username if flag.user else ""
    project = flag.project.name if flag.project else ""
    return {
        Flag.Kind.USER.value: f"All GPU jobs of {owner}",
        Flag.Kind.PROJECT.value: f"Project {project}",
        Flag.Kind.WORK.value: f"A work of {owner} in {project}",
    }[flag.kind]
