"""The content of a message as plain values: its subject, and one entry for each job or array. Nothing is sent here."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from analysis.comparable import known_sum
from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from reports.ending import COMPLETED, SHORT_JOB, is_crash, label
from reports.job_report import JobReport
from reports.mail.digest import grouped, is_better
from reports.request_diff import REPLACE, DiffLine, is_whole
from reports.sections import NO_CAUSES, class_name, css_class, judged_name, suggested_request
from reports.text import diff_text, wrapped
from wire.classes import CLASS_NAMES
from wire.numbers import counted, duration, hours, percent
from wire.safe_text import REPLACED, printable

SUGGESTED = "Suggested request"
NAME_LENGTH_MAX = 60
ENTRIES_MAX = 20
WHOLE_HOURS_MIN = 100
"""From so many GPU-hours on a subject has no decimals."""

ENDS = frozenset({FindingCode.TIMEOUT, FindingCode.HOST_OUT_OF_MEMORY, FindingCode.LOW_USE_UNEXPLAINED})
"""Findings of an unmeasured run whose titles add nothing to how it ended."""


@dataclass(frozen=True)
class Told:
    """One report of a message; the earlier class and use are those of the last comparable run, None without one."""

    report: JobReport
    url: str
    earlier_class: EfficiencyClass | None = None
    earlier_util: float | None = None
    work_key: str = ""

    @property
    def array(self) -> tuple[str, int] | None:
        """What the tasks of one array share."""
        job = self.report.job
        return None if job.array_job_id is None else (job.cluster, job.array_job_id)

    @property
    def series(self) -> tuple[str, str] | None:
        """What the crashed runs of one work share; None for any other run."""
        job = self.report.job
        is_one = (
            self.array is None
            and self.work_key
            and job.ended_at is not None
            and is_crash(job.state, job.walltime_used_s)
        )
        return (job.cluster, self.work_key) if is_one else None

    @property
    def is_telling(self) -> bool:
        """Whether the run was measured and counts."""
        judged = self.report.efficiency
        return not judged.uncounted_reason and judged.avg_gpu_util is not None


@dataclass(frozen=True)
class Entry:
    """One job or array as shown in a message; no string holds control characters, none is escaped.

    `unused_gpu_hours` and `saved_gpu_hours` are what its parts `unused` and `saving` state; None is not known.
    """

    title: str
    jobs: int
    class_name: str
    css_class: str
    use: str
    gpu_hours: str
    unused: str
    saving: str
    cause: str
    request: tuple[DiffLine, ...]
    improvement: str
    url: str
    note: str = ""
    is_efficient: bool = False
    unused_gpu_hours: float | None = None
    saved_gpu_hours: float | None = None

    @property
    def in_full(self) -> str:
        """The text of an entry below its title, as lines of text before the lines of the suggested request."""
        unused = f", unused {self.unused} (estimate)" if self.unused else ""
        billed = f"GPU use {self.use}, GPU-hours billed {self.gpu_hours}{unused}"
        parts = (billed, self.improvement, self.note, self.cause, self.suggested)
        return "\n".join(line for part in parts for line in wrapped(part, indent="  "))

    @property
    def in_brief(self) -> str:
        """One paragraph of text for an uncounted or unmeasured run, before the lines of the suggested request."""
        parts = (f"{self.title}: GPU use {self.use}.", self.note, self.cause, self.suggested)
        return "\n".join(wrapped(" ".join(part for part in parts if part)))

    @property
    def suggested(self) -> str:
        """What stands before the lines of the suggested request; empty where there are none."""
        if not self.request:
            return ""
        said = f"{SUGGESTED}, saves about {self.saving} GPU-hours" if self.saving else SUGGESTED
        return f"{said}. {REPLACE}" if is_whole(self.request) else f"{said}:"

    @property
    def request_text(self) -> str:
        """The lines of the suggested request as indented text."""
        return "\n".join(diff_text(self.request))


@dataclass(frozen=True)
class Digest:
    """Several jobs in one message, the largest saving first.

    `unlisted` counts the entries past the list and `unlisted_unused` sums them up; `lead` sums up all of them.
    """

    entries: tuple[Entry, ...]
    companions: tuple[Entry, ...]
    unlisted: int
    lead: str
    unlisted_unused: str


def calm(text: str, length_max: int = NAME_LENGTH_MAX) -> str:
    """Text for one line of a header or a title: invisible characters become spaces, and the rest is shortened.

    >>> calm("train\\r\\nBcc: all@example.org"), calm("a\\u202egnp.exe"), calm("x" * 10_000, 5)
    ('train Bcc: all@example.org', 'a gnp.exe', 'xxxx…')
    """
    words = " ".join(printable(text[:1000]).replace(REPLACED, " ").split())
    return words if len(words) <= length_max else words[: length_max - 1].rstrip() + "…"


def groups(told: Sequence[Told]) -> list[list[Told]]:
    """The reports as jobs, arrays and series of crashes, in their order."""
    return grouped(told, lambda item: (item.array, item.series, _ended_at(item)))


def _ended_at(item: Told) -> datetime:
    return item.report.job.ended_at or datetime.min.replace(tzinfo=UTC)


def is_series(group: Sequence[Told]) -> bool:
    """Whether these are several crashed runs of one work."""
    return len(group) > 1 and group[0].series is not None


def title(group: Sequence[Told]) -> str:
    """`job 123456, train`, `array 4711, train (12 tasks)`, or `6 runs of train`; without any judgement."""
    job = group[0].report.job
    name = f", {calm(job.job_name)}" if calm(job.job_name) else ""
    if is_series(group):
        return f"{counted(len(group), 'run')} of {calm(job.job_name) or 'one work'}"
    if job.array_job_id is None:
        return f"job {job.job_id}{name}"
    return f"array {job.array_job_id}{name} ({counted(len(group), 'task')})"


def subject(told: Sequence[Told]) -> str:
    """What the message is about and how much: `Kaiku: 4 jobs, 139 GPU-hours unused`, as its body states it."""
    telling = [item for item in told if item.is_telling]
    found = [telling] if len(telling) == 1 else _telling_groups(told)
    if not found:
        named = title(told) if len(told) == 1 else counted(len(told), "job")
        return f"Kaiku: {named}"
    entries = [entry(group) for group in found]
    named = title(found[0]) if len(found) == 1 else counted(sum(item.jobs for item in entries), "job")
    return f"Kaiku: {named}{_amount(entries)}"


def _telling_groups(told: Sequence[Told]) -> list[list[Told]]:
    return [group for group in groups(told) if any(item.is_telling for item in group)]


def lead(entries: Sequence[Entry]) -> str:
    """`4 jobs, 139 GPU-hours unused`: the sum of what these entries state."""
    return counted(sum(item.jobs for item in entries), "job") + _amount(entries)


def _amount(entries: Sequence[Entry]) -> str:
    """How efficient all of it was where it was, else what was not used."""
    if entries and all(item.is_efficient for item in entries):
        return f", GPU use {entries[0].use}" if len(entries) == 1 else ", all efficient"
    return _unused(entries)


def _unused(entries: Sequence[Entry]) -> str:
    """`, 139 GPU-hours unused` in all; empty where none of it is known."""
    total = known_sum(item.unused_gpu_hours for item in entries)
    if total is None:
        return ""
    return f", {f'{total:,.0f}' if total >= WHOLE_HOURS_MIN else hours(total)} GPU-hours unused"


def digest(told: Sequence[Told]) -> Digest:
    """An entry for every counted job and array, then the runs that are not counted or not measured."""
    all_groups = groups(told)
    entries = sorted(map(entry, _telling_groups(told)), key=_largest_first)
    beside = [group for group in all_groups if not any(item.is_telling for item in group)]
    past_list = entries[ENTRIES_MAX:]
    return Digest(
        entries=tuple(entries[:ENTRIES_MAX]),
        companions=tuple(entry(group) for group in beside[:ENTRIES_MAX]),
        unlisted=len(past_list) + max(0, len(beside) - ENTRIES_MAX),
        lead=lead(entries) if entries else counted(len(told), "job"),
        unlisted_unused=_unused(past_list),
    )


def _largest_first(item: Entry) -> tuple[float, float]:
    """What can be saved first, then what was not used."""
    return -(item.saved_gpu_hours or 0.0), -(item.unused_gpu_hours or 0.0)


def entry(group: Sequence[Told]) -> Entry:
    """One job, one array by its task with the lowest use, or a series of crashes by its last."""
    telling = [item for item in group if item.is_telling] or list(group)
    shown = group[-1] if is_series(group) else min(telling, key=_lowest_first)
    is_beside = not any(item.is_telling for item in group)
    unused = known_sum(item.report.efficiency.wasted_gpu_hours for item in telling)
    saved = _saved_gpu_hours(telling)
    return Entry(
        title=_capital(title(group)),
        jobs=len(group),
        class_name=class_name(shown.report),
        css_class=css_class(shown.report),
        use=_uses(telling),
        gpu_hours=_gpu_hours(telling),
        unused="" if unused is None else hours(unused),
        saving="" if saved is None else hours(saved),
        cause=_cause_beside(shown) if is_beside else _cause(shown, group),
        request=suggested_request(shown.report),
        improvement=improvement(shown),
        url=shown.url,
        note=_note(group),
        is_efficient=all(_is_efficient(item) for item in telling),
        unused_gpu_hours=unused,
        saved_gpu_hours=saved,
    )


def _is_efficient(told: Told) -> bool:
    return told.report.efficiency.efficiency_class == EfficiencyClass.EFFICIENT.value


def _saved_gpu_hours(group: Sequence[Told]) -> float | None:
    """What the advice to each of these runs saves together; None where none saves anything."""
    saved = sum(item.report.savings.gpu_hours for item in group if item.report.savings is not None)
    return saved if saved > 0 else None


def improvement(told: Told) -> str:
    """The sentence for a run that went better than the last comparable one; empty otherwise."""
    judged = told.report.efficiency
    now, earlier = EfficiencyClass(judged.efficiency_class), told.earlier_class
    if earlier is None or not told.is_telling or not is_better(now, earlier) or told.report.job.state != COMPLETED:
        return ""
    return (
        f"Better than the last comparable run: was {CLASS_NAMES[earlier.value]} ({percent(told.earlier_util)}), now"
        f" {CLASS_NAMES[now.value]} ({percent(judged.avg_gpu_util)})."
    )


def _use(told: Told) -> float | None:
    return told.report.efficiency.avg_gpu_util


def _lowest_first(told: Told) -> tuple[float, bool]:
    """The lowest use before others, an unmeasured run last; among equals one with advice."""
    use = _use(told)
    return 101.0 if use is None else use, not told.report.recommendations


def _uses(group: Sequence[Told]) -> str:
    """The mean GPU use of a job, or the span of an array's tasks."""
    used = [use for item in group if (use := _use(item)) is not None]
    if not used:
        return percent(None)
    lowest, highest = percent(min(used)), percent(max(used))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def _gpu_hours(group: Sequence[Told]) -> str:
    """Billed hours together; unknown as soon as one of them is."""
    billed = [item.report.efficiency.gpu_hours for item in group]
    return hours(None if None in billed else sum(value for value in billed if value is not None))


def _cause(shown: Told, group: Sequence[Told]) -> str:
    """The first cause, or the verdict where there is none; of several runs, that of the one shown."""
    found = shown.report.findings
    without = shown.report.verdict if _is_efficient(shown) else shown.report.no_causes or NO_CAUSES
    sentence = f"{found[0].title}." if found else without
    if len(group) == 1:
        return sentence
    return f"The last run: {sentence}" if is_series(group) else f"The task with the lowest use: {sentence}"


def _cause_beside(shown: Told) -> str:
    """The first cause of a run that has no entry of its own, where it adds to how the run ended."""
    titles = [finding.title for finding in shown.report.findings if finding.code not in ENDS]
    return f"{titles[0]}." if titles else ""


def _series_note(group: Sequence[Told]) -> str:
    """`6 runs of this work failed within 2 h 00 min (exit code 1), last: job 123461.`"""
    words = [label(item.report.job).removeprefix("failed").strip(" ()") or "no exit code" for item in group]
    ends = Counter(words)
    how = words[0] if len(ends) == 1 else ", ".join(f"{count} {end}" for end, count in ends.most_common())
    span_s = (_ended_at(group[-1]) - _ended_at(group[0])).total_seconds()
    verb = "ended early" if any(item.report.job.state == "CANCELLED" for item in group) else "failed"
    return (
        f"{counted(len(group), 'run')} of this work {verb} within {duration(span_s)} ({how}), last: job"
        f" {group[-1].report.job.job_id}."
    )


def _note(group: Sequence[Told]) -> str:
    """How a run without a class of its own ended and why it is not counted, or how several runs ended."""
    if is_series(group):
        return _series_note(group)
    if len(group) > 1:
        return _array_note(group)
    report, end = group[0].report, label(group[0].report.job)
    if report.efficiency.uncounted_reason == "short":
        return f"Ran for less than {SHORT_JOB}: not counted." + (f" {_capital(end)}." if end else "")
    if report.efficiency.uncounted_reason:
        return "Ended by the system: not counted."
    return f"{_capital(end)}." if end and not group[0].is_telling else ""


def _array_note(group: Sequence[Told]) -> str:
    """How the tasks of an array spread over the classes, and how they ended unless all completed."""
    classes = _spread(judged_name(item.report) for item in group)
    ends = [label(item.report.job) or "completed" for item in group]
    ended = f" Outcomes: {_spread(ends)}." if set(ends) != {"completed"} else ""
    in_part = sum(item.report.efficiency.partial for item in group)
    partial = f" {counted(in_part, 'task')} measured only in part." if in_part else ""
    return f"Tasks by class: {classes}.{ended}{partial}"


def _spread(names: Iterable[str]) -> str:
    """`9 completed, 2 out of host memory`."""
    return ", ".join(f"{count:,} {name}" for name, count in Counter(names).most_common())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
