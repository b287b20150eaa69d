"""What many works did together, in sentences whose numbers are all that is stored of them."""

from datetime import date

from analysis.findings import FindingCode
from analysis.practices.figures import HALF, MistakeFigures, PracticeFigures
from reports.numbers import unbroken
from reports.wording import TITLES
from wire.numbers import counted, hours

ADVICE = {
    "gpus": "fewer GPUs, or others",
    "host_memory": "another amount of host memory",
    "cores": "fewer CPU cores",
    "walltime": "another time limit",
}
"""What advice of each kind suggests."""


def practice_text(row: PracticeFigures) -> str:
    """One practice; the program first where it is of one."""
    of = f"{row.program}: " if row.program else ""
    return unbroken(f"{of}{_halved(row)}" if row.kind == HALF else _advised(row, of))


def _halved(row: PracticeFigures) -> str:
    said = f"{counted(row.followed, 'work')} went to half of their GPUs ({_people(row.people)})"
    return f"{said}: {_changes(row)}." if row.run_time_percent is not None else f"{said}."


def _advised(row: PracticeFigures, of: str) -> str:
    what = ADVICE.get(row.kind, row.kind)
    who = f"{row.followed:,} of {counted(row.answered, 'work')}" if row.answered else counted(row.followed, "work")
    parts = [f"{of}{'a' if of else 'A'}dvice on {what}: {who} followed it ({_people(row.people)})."]
    if row.run_time_percent is not None:
        whom = f"{row.compared:,} can be compared ({_people(row.compared_people)})"
        parts.append(f"Of these, {whom}: {_changes(row)}.")
    if row.failed_percent is not None:
        share = f"About {row.failed_percent} %" if row.failed_percent else "Under 5 %"
        parts.append(f"{share} of the runs that followed ran out of memory or time.")
    return " ".join(parts)


def _changes(row: PracticeFigures) -> str:
    return f"their runs {_took(row.run_time_percent)} and {_billed(row.gpu_hours_percent)} (median)"


def _took(percent: int | None) -> str:
    """
    >>> _took(6), _took(-3), _took(0)
    ('took 6 % longer', 'took 3 % less time', 'took as long')
    """
    if not percent:
        return "took as long"
    return f"took {percent} % longer" if percent > 0 else f"took {-percent} % less time"


def _billed(percent: int | None) -> str:
    if not percent:
        return "were billed as many GPU-hours"
    return f"were billed {abs(percent)} % {'more' if percent > 0 else 'fewer'} GPU-hours"


def _people(count: int) -> str:
    return f"{count:,} people"


def mistake_text(row: MistakeFigures) -> str:
    """One common finding, and what it costs a work."""
    said = f"{TITLES[FindingCode(row.code)]}: {row.works:,} of {counted(row.of_works, 'work')} ({_people(row.people)})."
    if row.unused_gpu_hours:
        said += f" Such a work left {hours(row.unused_gpu_hours)} GPU-hours unused in the month (median)."
    return unbroken(said)


def months_text(first: date, last: date) -> str:
    """The months from one first day to another.

    >>> months_text(date(2026, 8, 1), date(2026, 9, 1)), months_text(date(2026, 9, 1), date(2026, 9, 1))
    ('2026-08 to 2026-09', '2026-09')
    """
    return f"{first:%Y-%m}" if first == last else f"{first:%Y-%m} to {last:%Y-%m}"
