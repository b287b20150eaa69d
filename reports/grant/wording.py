"""What a grant report states in words and tables, the same on the page and in the PDF."""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.grant.claims import Claim
from reports.grant.report import AdviceKind, Allocation, GrantReport, Use
from reports.grant.spans import Span, day_text
from reports.numbers import instant, share, unbroken
from wire.classes import CLASS_NAMES
from wire.numbers import counted, hours, percent

NONE = "–"
KINDS = {"gpus": "GPUs", "host_memory": "Host memory", "cores": "CPU cores", "walltime": "Time limit"}
SOURCES = {"lumi": "LUMI's project file", "waldur": "Puhuri", "csv": "the site's list", "demo": "the sample data"}
ENDS = (
    ("completed", "Completed"),
    ("failed", "Failed"),
    ("time_limit", "Reached the time limit"),
    ("cancelled", "Cancelled"),
    ("by_the_system", "Ended by the system"),
)
ADVISORY = "Made by Kaiku from the jobs that it saw. For the use of an allocation, the site's own accounting decides."


@dataclass(frozen=True)
class Table:
    """A heading, the names of the columns, the rows, and notes below; the first column names the row."""

    key: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def title(report: GrantReport) -> str:
    whole = f"GPU use of {report.project}"
    return whole if report.scope == "project" else f"{whole}: one member's part"


def period(report: GrantReport) -> str:
    """The days, and that they are not over or have not begun."""
    text = Span(report.first, report.last).text
    if not report.has_begun:
        return f"{text}, not begun yet"
    return text if report.is_over else f"{text}, so far"


def headline(report: GrantReport) -> str:
    """The answer in one sentence."""
    use = report.use
    if not report.has_begun:
        return "This period has not begun: there is nothing to report on yet."
    if not use.jobs and not use.billed_gpu_hours:
        return "No job of this project was analysed in this period."
    works = f" of {counted(use.works, 'work')}" if use.works else ""
    jobs = counted(use.jobs + use.uncounted_jobs, "job")
    return unbroken(f"{hours(use.billed_gpu_hours)} GPU-hours used by {jobs}{works}.")


def allocation_lines(report: GrantReport) -> tuple[str, ...]:
    """The allocation with its own days, and what part of it this period used; nothing where none is known."""
    row = report.allocation
    if row is None:
        return ()
    used = f"{hours(row.used_gpu_hours)} of " if row.used_gpu_hours is not None else ""
    fraction = f" ({share(row.used_fraction)})" if row.used_fraction is not None else ""
    word = f"used{fraction}" if used else "allocated"
    lines = [f"{used}{row.gpu_hours:,.0f} GPU-hours {word}{_of_days(row)}."]
    lines += _part_of_allocation(report) if report.has_begun else []
    lines.append(f"Source of the allocation: {SOURCES.get(row.source, row.source)}, read {instant(row.read_at)}.")
    return tuple(map(unbroken, lines))


def _part_of_allocation(report: GrantReport) -> list[str]:
    whose = "jobs of this period" if report.scope == "project" else "member's jobs of this period"
    part = share(report.billed_fraction_of_allocation)
    return [f"The {whose} that Kaiku saw used {hours(report.use.billed_gpu_hours)} GPU-hours, {part} of it."]


def _of_days(row: Allocation) -> str:
    begins = f" from {day_text(row.begins_on)}" if row.begins_on else ""
    return f"{begins} until {day_text(row.ends_on)}" if row.ends_on else begins


def tables(report: GrantReport) -> tuple[Table, ...]:
    """Every table of the report that has rows; none of a period that has not begun."""
    if not report.has_begun:
        return ()
    found = (_use(report), _ended(report), _classes(report), _energy(report), _advice(report), _open(report))
    return tuple(table for table in (*found, _members(report)) if table.rows)


def _use(report: GrantReport) -> Table:
    now, then = report.use, report.before
    rows = [
        (name, unbroken(one), unbroken(other))
        for (name, one), (_, other) in zip(_lines(now), _lines(then), strict=True)
    ]
    earlier = Span(report.before_first, report.before_last).text
    notes = [*_compared(report), "Unused GPU-hours are an estimate. What was not measured is not counted as unused."]
    if now.uncounted_jobs:
        are = "is" if now.uncounted_jobs == 1 else "are"
        notes.append(
            f"{counted(now.uncounted_jobs, 'job')} {are} billed but not judged: too short, or ended by the system."
        )
    if report.owner_reported_jobs:
        notes.append(f"{counted(report.owner_reported_jobs, 'job')} without a record from Slurm left out.")
    return Table("use", "Use and efficiency", ("", "This period", earlier), tuple(rows), tuple(notes))


def _compared(report: GrantReport) -> Iterator[str]:
    """With what a period that has not ended is compared: its dates alone look wrong beside those of the whole one."""
    if not report.is_over:
        days = Span(report.before_first, report.before_last).days
        first = f"the first {counted(days, 'day')} of the period before"
        yield f"This period has not ended: its days so far are compared with as many before, {first}."


def _lines(use: Use) -> Iterator[tuple[str, str]]:
    yield "GPU-hours used, as billed", hours(use.billed_gpu_hours)
    yield "Jobs judged", f"{use.jobs:,}"
    yield "Works with a name", f"{use.works:,}"
    yield "Mean GPU use, weighted by GPU-hours", percent(use.mean_use_percent)
    yield "Median GPU use of the jobs", percent(use.median_use_percent)
    yield "GPU-hours whose use was measured", _fraction(use.measured_fraction)
    unused = "" if use.unused_fraction is None else f" ({share(use.unused_fraction)})"
    yield "Unused GPU-hours", f"{hours(use.unused_gpu_hours)}{unused}"
    yield "Potential savings by the advice, GPU-hours", hours(use.potential_gpu_hours)


def _ended(report: GrantReport) -> Table:
    now, then = report.use.ended, report.before.ended
    names = ("", "Jobs", "Share", Span(report.before_first, report.before_last).text)
    if now is None or not now.jobs:
        return Table("ended", "How the jobs ended", names, ())
    rows = tuple(
        (
            name,
            f"{getattr(now, key):,}",
            unbroken(share(getattr(now, key) / now.jobs)),
            NONE if then is None else f"{getattr(then, key):,}",
        )
        for key, name in ENDS
    )
    return Table("ended", "How the jobs ended", names, rows, ("All jobs that ended, also those that were not judged.",))


def _classes(report: GrantReport) -> Table:
    rows = tuple(
        (CLASS_NAMES[row.name], f"{row.jobs:,}", hours(row.gpu_hours), unbroken(_fraction(row.gpu_hours_fraction)))
        for row in report.classes
    )
    return Table("classes", "Classes by GPU-hours", ("Class", "Jobs", "GPU-hours", "Share of the GPU-hours"), rows)


def _fraction(value: float | None) -> str:
    return NONE if value is None else share(value)


def _energy(report: GrantReport) -> Table:
    use, title = report.use, "Energy and cost" if report.claims else "Energy"
    rows = [
        ("Energy of the GPUs", unbroken("not measured" if use.energy_kwh is None else f"{use.energy_kwh:,.2f} kWh"))
    ]
    shown = (*rows, *map(_claim, report.claims)) if use.jobs or report.claims else ()
    return Table("energy", title, ("", "Amount"), shown, (_covered(use), *_factors(report)))


def _covered(use: Use) -> str:
    """What part of the hours the energy is of."""
    if use.energy_kwh is None:
        return "The energy of no job of this period was measured."
    covered = unbroken(f"Measured for {_fraction(use.energy_fraction)} of the GPU-hours")
    return f"{covered}." if use.energy_fraction == 1 else f"{covered}; that of the others is not estimated."


def _claim(claim: Claim) -> tuple[str, str]:
    return claim.name, unbroken(f"{claim.amount:,.2f} {claim.unit}".replace(" ", "\u00a0"))


def _factors(report: GrantReport) -> Iterator[str]:
    for claim in report.claims:
        yield f"{claim.name}: {'; '.join(claim.factors)}."


def _advice(report: GrantReport) -> Table:
    advice = report.advice
    head = ("Advice on", "Given", "With a later run", "Followed", "In part", "Claimed, GPU-hours", "Saved, GPU-hours")
    notes = []
    if advice.saved_gpu_hours is not None:
        runs = counted(advice.compared_runs, "run")
        notes.append(f"In all {hours(advice.saved_gpu_hours)} GPU-hours saved in {runs} that can be compared.")
    notes.append(
        "Advice given in this period on work that has a name. Claimed and saved are of the following runs that"
        " completed about as much work; what cost more than before counts below zero. A run that followed several kinds"
        " is in the line of each, and once in the sum."
    )
    return Table("advice", "Advice and what it brought", head, tuple(map(_kind, advice.kinds)), tuple(notes))


def _kind(row: AdviceKind) -> tuple[str, ...]:
    claimed, saved = (NONE if value is None else hours(value) for value in (row.claimed_gpu_hours, row.saved_gpu_hours))
    numbers = (row.given, row.with_a_later_run, row.followed, row.followed_in_part)
    return KINDS.get(row.kind, row.kind), *(f"{number:,}" for number in numbers), claimed, saved


def _open(report: GrantReport) -> Table:
    rows = tuple(
        (
            row.name or f"Work {number}",
            f"{row.jobs:,}",
            " or ".join(map(str, row.advised_gpus)) or NONE,
            hours(row.gpu_hours),
        )
        for number, row in enumerate(report.open_savings, 1)
    )
    notes = ["Advice that no later run of the same work followed in this period."]
    if report.open_savings_of_latest < report.use.jobs:
        notes.append(f"Of the latest {report.open_savings_of_latest:,} jobs.")
    head = ("Work", "Jobs", "GPUs advised", "Potential savings, GPU-hours")
    return Table("open", "Biggest savings still open", head, rows, tuple(notes))


def _members(report: GrantReport) -> Table:
    rows = tuple(
        (
            *(row.username, row.role, f"{row.jobs:,}", hours(row.gpu_hours), hours(row.unused_gpu_hours)),
            unbroken(percent(row.mean_use_percent)),
        )
        for row in report.members
    )
    head = ("Member", "Role", "Jobs judged", "GPU-hours", "Unused (estimate)", "Mean GPU use")
    return Table("members", "Members", head, rows)
