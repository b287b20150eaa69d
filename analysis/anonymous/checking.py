"""Checking anonymised rows before anybody may read them. It shares no code, table or constant with what makes them.

It reads the rows as they are written, and who is behind each key. What it finds names no value and no person: a
finding may be logged.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

BAND = r"\d{1,3}-\d{1,3}|\d{1,3}\+|\d|any|unknown"
WORD = r"[^\x00-\x1f\x7f-\x9f]{1,64}"
GRAMMAR = {
    "key": r"[0-9a-f]{16}",
    "program": "[a-z0-9_]{1,32}",
    "science_field": WORD,
    "gpu": WORD,
    "partition_type": "whole_nodes|shared|other|unknown|any",
    "gpus": BAND,
    "run_time_h": BAND,
    "ending": "completed|not_completed|failed|timeout|out_of_memory|cancelled|other|any",
    "efficiency_class": "EFFICIENT|ACCEPTABLE|INEFFICIENT|WASTED|UNKNOWN|any",
    "gpu_use_percent": BAND,
    "gpu_memory_percent": BAND,
    "finding": "[a-z_]{1,40}",
}
"""What a row consists of, and nothing else."""

KNOWN_BEFOREHAND = ("program", "science_field", "gpu", "partition_type", "gpus", "run_time_h")
SAYS_NOTHING = ("any", "unknown", "UNKNOWN")


@dataclass(frozen=True)
class Behind:
    """Who a row is about: a person, their projects and the GPU-hours of the runs in it."""

    person: int
    projects: frozenset[int]
    gpu_hours: float


def problems(rows: Sequence[Mapping[str, str]], behind: Mapping[str, Behind]) -> list[str]:
    """What is wrong with these rows, one sentence for each kind of problem; empty where they may be written."""
    if not _is_well_formed(rows, behind):
        return ["A row has other columns or values than documented, or its key is used twice or belongs to nobody."]
    groups: dict[tuple[str, ...], list[Behind]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[column] for column in GRAMMAR if column != "key")].append(behind[row["key"]])
    found = [f"{count} groups: {text}" for text, count in Counter(_texts(groups.values())).items()]
    for column, known in (
        ("ending", KNOWN_BEFOREHAND),
        ("efficiency_class", (*KNOWN_BEFOREHAND, "ending")),
        ("finding", (*KNOWN_BEFOREHAND, "ending")),
    ):
        if _is_everybodys(rows, column, known):
            found.append(f"The column {column} is the same for nearly all people with the same work.")
    return found


def _is_well_formed(rows: Sequence[Mapping[str, str]], behind: Mapping[str, Behind]) -> bool:
    return (
        all(row.keys() == GRAMMAR.keys() for row in rows)
        and all(re.fullmatch(GRAMMAR[column], value) for row in rows for column, value in row.items())
        and len({row["key"] for row in rows}) == len(rows)
        and all(row["key"] in behind for row in rows)
    )


def _texts(groups: Iterable[Sequence[Behind]]) -> Iterable[str]:
    for group in groups:
        people = {each.person for each in group}
        people_of: dict[int, set[int]] = defaultdict(set)
        hours: dict[int, float] = defaultdict(float)
        for each in group:
            hours[each.person] += each.gpu_hours
            for project in each.projects:
                people_of[project].add(each.person)
        if len(people) < 5:
            yield "fewer than 5 people."
        if len(people) != len(group):
            yield "a person has several rows."
        if len(people_of) < 5:
            yield "fewer than 5 projects."
        if any(2 * len(members) > len(people) for members in people_of.values()):
            yield "more than half of the people are of one project."
        if max(hours.values()) > 0.85 * sum(hours.values()):
            yield "one person has more than 85 % of the GPU-hours."


def _is_everybodys(rows: Sequence[Mapping[str, str]], column: str, known: Sequence[str]) -> bool:
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row[column] not in SAYS_NOTHING:
            counts[tuple(row[name] for name in known)][row[column]] += 1
    return any(
        count > 0.85 * sum(values.values())
        for values in counts.values()
        for value, count in values.items()
        if value not in ("completed", "none")
    )
