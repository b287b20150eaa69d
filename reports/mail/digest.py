"""Who gets mail about what, and when: one person's waiting reports become messages, or get a reason for silence.

Nothing is read, sent or written here. A group is one job, or all waiting tasks of one array: each array gets one
message.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from analysis.efficiency import EfficiencyClass
from wire.classes import FROM_PERCENT

SERIES_GAP = timedelta(hours=6)
"""Crashed runs of one work that follow each other within this are reported once, as a series."""

CLASS_ORDER = tuple(map(EfficiencyClass, FROM_PERCENT))
"""From the best class to the worst; UNKNOWN has no place in it."""

About = tuple[tuple[str, int] | None, tuple[str, str] | None, datetime]
"""What the tasks of one array share, what the crashed runs of one work share, and when a run ended."""

Item = TypeVar("Item")


class Frequency(StrEnum):
    """How often someone wants mail."""

    IMMEDIATE = "immediate"
    DAILY = "daily"
    WEEKLY = "weekly"
    OFF = "off"


class Silence(StrEnum):
    """Why a report is not mailed."""

    OFF = "mail_off"
    OLD = "ended_long_ago"
    NO_GPU = "no_gpu"
    ABOVE_MINIMUM = "above_chosen_class"
    NOTHING_TO_TELL = "not_told_alone"


GATHER = {
    Frequency.IMMEDIATE: timedelta(0),
    Frequency.DAILY: timedelta(minutes=15),
    Frequency.WEEKLY: timedelta(days=7),
}
PAUSE = timedelta(days=1)
ARRAY_QUIET, ARRAY_LONGEST = timedelta(hours=1), timedelta(days=1)
COMPANION_LONGEST, NEWS_LONGEST = timedelta(days=7), timedelta(days=14)
"""The waiting times of mail, from the end of a job; chosen by Kaiku to send few messages, not set by LUMI."""


@dataclass(frozen=True)
class Choices:
    """What one person chose; `projects` holds the projects with a frequency of their own."""

    frequency: Frequency = Frequency.DAILY
    minimum_class: EfficiencyClass = EfficiencyClass.EFFICIENT
    with_pdf: bool = False
    projects: Mapping[int, Frequency] = field(default_factory=dict)

    def frequency_of(self, project_pk: int) -> Frequency:
        """The frequency for the jobs of one project."""
        return self.projects.get(project_pk, self.frequency)


@dataclass(frozen=True)
class Waiting:
    """One report that was not mailed yet; `earlier_class` is that of the last comparable run, None without one.

    `series` is what crashed runs of one work share, None for any other run.
    """

    report_pk: int
    project_pk: int
    efficiency_class: EfficiencyClass
    uncounted_reason: str
    allocated_gpus: int
    array: tuple[str, int] | None
    ended_at: datetime
    reported_at: datetime
    earlier_class: EfficiencyClass | None = None
    series: tuple[str, str] | None = None

    @property
    def is_telling(self) -> bool:
        """Whether a message may be sent for this run alone: counted and measured."""
        return not self.uncounted_reason and self.efficiency_class in CLASS_ORDER


@dataclass(frozen=True)
class Past:
    """What mail one person got before: the last daily or weekly message, whether one is being sent, and arrays."""

    last_message_at: datetime | None = None
    has_open_message: bool = False
    arrays_told_at: Mapping[tuple[str, int], datetime] = field(default_factory=dict)


@dataclass(frozen=True)
class Message:
    """One message to send now."""

    frequency: Frequency
    report_pks: tuple[int, ...]


@dataclass(frozen=True)
class Withheld:
    """Reports that are not mailed, and why."""

    reason: Silence
    report_pks: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """What to do for one person now; reports in neither part keep waiting."""

    messages: tuple[Message, ...] = ()
    withheld: tuple[Withheld, ...] = ()


def is_better(now: EfficiencyClass, earlier: EfficiencyClass | None) -> bool:
    """Whether a run is in a better class than the comparable one before it.

    >>> is_better(EfficiencyClass.EFFICIENT, EfficiencyClass.WASTED), is_better(EfficiencyClass.EFFICIENT, None)
    (True, False)
    """
    if now not in CLASS_ORDER or earlier not in CLASS_ORDER:
        return False
    return CLASS_ORDER.index(now) < CLASS_ORDER.index(earlier)


def is_heard(item: Waiting, minimum: EfficiencyClass) -> bool:
    """Whether this person wants mail about this class, or about the class from which this run improved."""
    told = item.earlier_class if is_better(item.efficiency_class, item.earlier_class) else item.efficiency_class
    return told is not None and CLASS_ORDER.index(told) >= CLASS_ORDER.index(minimum)


def silence(item: Waiting, choices: Choices, now: datetime) -> Silence | None:
    """Why this report will never be mailed, or None while it may be."""
    if item.allocated_gpus == 0:
        return Silence.NO_GPU
    frequency = choices.frequency_of(item.project_pk)
    if frequency is Frequency.OFF:
        return Silence.OFF
    if item.reported_at - item.ended_at > NEWS_LONGEST:
        return Silence.OLD
    if not item.is_telling:
        is_late = now - item.reported_at >= COMPANION_LONGEST
        return Silence.NOTHING_TO_TELL if is_late or frequency is Frequency.IMMEDIATE else None
    return None if is_heard(item, choices.minimum_class) else Silence.ABOVE_MINIMUM


def plan(waiting: Iterable[Waiting], choices: Choices, past: Past, now: datetime) -> Plan:
    """The messages that are due for one person, and the reports that are not mailed."""
    withheld: dict[Silence, list[int]] = defaultdict(list)
    kept = []
    for item in sorted(waiting, key=lambda item: (item.ended_at, item.report_pk)):
        reason = silence(item, choices, now)
        if reason is None:
            kept.append(item)
        else:
            withheld[reason].append(item.report_pk)
    channels: dict[Frequency, list[Group]] = defaultdict(list)
    for group in _groups(kept, choices, past):
        channels[group.frequency].append(group)
    messages = [
        Message(Frequency.IMMEDIATE, group.report_pks)
        for group in channels.pop(Frequency.IMMEDIATE, [])
        if group.settled_at <= now
    ]
    messages += _paced(channels, past, now)
    return Plan(tuple(messages), tuple(Withheld(reason, tuple(pks)) for reason, pks in withheld.items()))


def grouped(items: Iterable[Item], about: Callable[[Item], About]) -> list[list[Item]]:
    """Runs as jobs, arrays and series of crashes, in their order."""
    found: dict[object, list[Item]] = {}
    open_series: dict[tuple[str, str], tuple[list[Item], datetime]] = {}
    for place, item in enumerate(items):
        array, series, ended_at = about(item)
        before = open_series.get(series) if series else None
        if before is not None and ended_at - before[1] <= SERIES_GAP:
            group = before[0]
        else:
            group = found.setdefault(array or place, [])
        group.append(item)
        if series:
            open_series[series] = group, ended_at
    return list(found.values())


@dataclass(frozen=True)
class Group:
    """One waiting job or array; `settled_at` is when no more runs of it are expected."""

    frequency: Frequency
    items: tuple[Waiting, ...]
    settled_at: datetime

    @property
    def is_telling(self) -> bool:
        return any(item.is_telling for item in self.items)

    @property
    def oldest_at(self) -> datetime:
        return min(item.ended_at for item in self.items)

    @property
    def report_pks(self) -> tuple[int, ...]:
        return tuple(item.report_pk for item in self.items)


def _groups(items: list[Waiting], choices: Choices, past: Past) -> list[Group]:
    return [
        Group(choices.frequency_of(members[0].project_pk), tuple(members), _settled_at(members, past))
        for members in grouped(items, lambda item: (item.array, item.series, item.ended_at))
    ]


def _settled_at(members: list[Waiting], past: Past) -> datetime:
    """A job at once; an array or a series when none of it ended for a while, at most a day after its first end."""
    oldest, newest = min(item.ended_at for item in members), max(item.ended_at for item in members)
    array = members[0].array
    if array is None and len(members) == 1:
        return oldest
    settled = min(newest + ARRAY_QUIET, oldest + ARRAY_LONGEST)
    told = past.arrays_told_at.get(array) if array else None
    return settled if told is None else max(settled, told + PAUSE)


def _paced(channels: Mapping[Frequency, list[Group]], past: Past, now: datetime) -> list[Message]:
    """At most one daily or weekly message: with what is due go all other settled groups of the same frequencies."""
    if past.has_open_message or (past.last_message_at is not None and now < past.last_message_at + PAUSE):
        return []
    due = [
        frequency
        for frequency, groups in channels.items()
        if any(
            group.is_telling and max(group.settled_at, group.oldest_at + GATHER[frequency]) <= now for group in groups
        )
    ]
    if not due:
        return []
    pks = [
        pk for frequency in due for group in channels[frequency] if group.settled_at <= now for pk in group.report_pks
    ]
    return [Message(Frequency.DAILY if Frequency.DAILY in due else Frequency.WEEKLY, tuple(pks))]
