"""Job arrays: how many tasks, and how many of them may run at a time."""

from __future__ import annotations

import re
from typing import NamedTuple

ELEMENT = re.compile(r"(?P<first>\d{1,7})(?:-(?P<last>\d{1,7})(?::(?P<step>\d{1,7}))?)?\Z", re.ASCII)
DISTINCT_MAX = 100_000
"""Up to so many tasks, repeated ones are counted once."""


class Array(NamedTuple):
    """`at_once` is None where all may run at a time."""

    tasks: int
    at_once: int | None


def array_of(text: str) -> Array | None:
    """The array of `--array=text`; None where there is none, or Slurm refuses it (`is_array` says which).

    >>> array_of("0-9:3%2"), array_of("1,3,7-8"), array_of("3-0")
    (Array(tasks=4, at_once=2), Array(tasks=4, at_once=None), None)
    """
    listed, _, limit = text.partition("%")
    ranges = [_range(element) for element in listed.strip("[]").split(",")]
    known = [each for each in ranges if each is not None]
    if len(known) < len(ranges):
        return None
    tasks = sum(len(each) for each in known)
    if tasks <= DISTINCT_MAX:
        tasks = len(set().union(*known))
    digits = re.match(r"\d{1,7}", limit, re.ASCII)
    at_once = int(digits[0]) if digits else 0
    return Array(tasks, at_once or None)


def is_array(text: str) -> bool:
    """Whether Slurm accepts the text, which may also name no array at all.

    >>> is_array(""), is_array("%2"), is_array("1-")
    (True, True, False)
    """
    return not text.partition("%")[0] or array_of(text) is not None


def _range(element: str) -> range | None:
    found = ELEMENT.match(element)
    if found is None:
        return None
    first = int(found["first"])
    last, step = int(found["last"] or first), int(found["step"] or 1)
    return range(first, last + 1, step) if step and first <= last else None
