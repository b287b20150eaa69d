"""The heads of the list's columns: what each shows, and the addresses that sort by it where an index has that order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portal.pages.jobs.choices import Choices
from portal.pages.jobs.orders import SORTS


@dataclass(frozen=True)
class HeadLine:
    """One of the numbers in a column; `address` is empty where nothing sorts by it."""

    label: str
    address: str
    is_chosen: bool


@dataclass(frozen=True)
class Head:
    """One column with its lines; `direction` is empty where the list is not sorted by any of them."""

    css_class: str
    lines: tuple[HeadLine, ...]
    direction: str


COLUMNS = (
    ("", (("Job", ""),)),
    ("", (("Owner", ""),)),
    ("", (("Ended", "ended"), ("after a run time of", "runtime"))),
    ("number", (("GPUs", "gpus"),)),
    ("", (("Mean GPU use", "use"),)),
    ("", (("Finding", "finding"),)),
    ("number", (("Unused GPU-hours", "wasted"), ("of GPU-hours", "hours"))),
    ("", (("Class", "class"),)),
)
"""Style, and label and order of each line."""


WORK_COLUMNS = (
    ("", (("Work", ""),)),
    ("", (("Owner", ""),)),
    ("number", (("Jobs", "jobs"),)),
    ("", (("Last ended", "ended"),)),
    ("", (("Most frequent finding", ""),)),
    ("number", (("Unused GPU-hours", "wasted"), ("and used ones", "hours"))),
    ("", (("Classes", ""),)),
)
"""The same of the list by work."""


def heads(choices: Choices, *, has_owner: bool) -> Iterator[Head]:
    """The heads from left to right."""
    for css_class, lines in WORK_COLUMNS if choices.group else COLUMNS:
        if has_owner or lines[0][0] != "Owner":
            shown = tuple(
                HeadLine(label, choices.sorted_by(order) if order else "", bool(order) and order == choices.order)
                for label, order in lines
            )
            is_sorted = any(line.is_chosen for line in shown)
            is_descending = choices.group or SORTS[choices.order].is_descending
            yield Head(css_class, shown, ("descending" if is_descending else "ascending") if is_sorted else "")
