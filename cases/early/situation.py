"""A running job as a whole future, with the words that a sensible colleague would send at some moments of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cases.early.cutting import Course, Host
from cases.early.truth import CODES, Words
from cases.readings import Node

EVERY_S = 3600
"""Seconds between two cuts of the real schedule."""


@dataclass(frozen=True)
class Progress:
    """Steps that a script logged: (seconds since the start, step). `total` is what a logged parameter of
    that name says the run will take, None where it logged none."""

    points: tuple[tuple[float, int], ...]
    total: int | None = None
    parameter: str = "max_steps"


@dataclass(frozen=True)
class Situation:
    """One run with its whole future. `gpus` are of all nodes; `hosts` belong to `nodes`, None where a host was not
    read. `started_at` is UTC: local time on LUMI is two hours later in winter. `earlier_runs` are completed runs of the
    same work by the same owner: (seconds, GPUs). `expected` are the words by seconds of the cut, written by hand; a
    code in neither set of a cut is wrong to send then. An expectation that proved wrong is changed in
    `corrected`, with the reason in `correction`; the first one stays and is counted too."""

    name: str
    story: str
    job_name: str
    partition: str
    gpus: int
    nodes: tuple[Node, ...]
    hosts: tuple[Host | None, ...]
    elapsed_s: float
    time_limit_s: float
    state: str
    started_at: datetime
    expected: Mapping[float, Words]
    earlier_runs: tuple[tuple[float, int], ...] = ()
    progress: Progress | None = None
    corrected: Mapping[float, Words] = field(default_factory=dict)
    correction: str = ""

    def words(self, at_s: float) -> Words:
        """The words of a cut after the correction, if there is one."""
        return self.corrected.get(at_s, self.expected[at_s])

    def course(self) -> Course:
        ended_at = self.started_at + timedelta(seconds=self.elapsed_s)
        record = {
            "cluster": "lumi",
            "job_id": 810000,
            "attempt": 0,
            "user_id": "alice",
            "project_id": "project_465000001",
            "job_name": self.job_name,
            "partition": self.partition,
            "nodes": [f"nid{5200 + number:06d}" for number in range(len(self.nodes))],
            "node_count": len(self.nodes),
            "gpus_allocated": self.gpus,
            "started_at": self.started_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "ended_at": ended_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "walltime_requested_s": self.time_limit_s,
        }
        return Course(
            self.name, self.job_name, record, self.nodes, self.hosts, self.elapsed_s, self.state, self.time_limit_s
        )


def expect(text: str) -> dict[float, Words]:
    """`"600 - | 4200..7800 cpu_only ?all_gpus_idle"`: nothing at 600 s; at the cuts of the real schedule from 4200 to
    7800 s one word due and one right beside it.

    >>> expect("600 - | 4200..7800 cpu_only ?all_gpus_idle")[7800.0].may
    frozenset({'all_gpus_idle'})
    """
    expected: dict[float, Words] = {}
    for moment in text.split("|"):
        seconds, *codes = moment.split()
        due = frozenset(code for code in codes if not code.startswith(("?", "-")))
        right = frozenset(code[1:] for code in codes if code.startswith("?"))
        if not due | right <= set(CODES):
            raise ValueError(f"unknown code in {moment!r}")
        first, _, last = seconds.partition("..")
        for second in range(int(first), int(last or first) + 1, EVERY_S):
            expected[float(second)] = Words(due, right)
    return expected
