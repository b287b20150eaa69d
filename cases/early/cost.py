"""What a word saves and what it costs: GPU-hours that silence leaves idle, words that people get each week.

Silence: over the noisy library, the GPU-hours without work that were left after a cut in runs for which a word was due
then, and how many of these a word had reached by then. Noise: the people of the demo, half of whom leave GPUs unused
on purpose, at the schedule as delivered (after ten minutes, then each hour).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from analysis.early.rules import early_findings
from cases.early.activity import activity
from cases.early.courses import course_of_real_run
from cases.early.cutting import Course, Host, cuts
from cases.early.facts import facts_of
from cases.early.pairs import Pair, scheduled
from cases.early.truth import truth
from cases.real_runs import RealRun
from demo.generate import SampleJob, sample_jobs
from jobs.records import JobRecord
from metrics.payloads import NodePayload

UNTIL = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WEEK_DAYS = 7
JOBS, PEOPLE, DAYS = 320, 15, 90
"""As the demo has them: about 1.7 runs per person and week."""
OF_IDLE_GPUS = frozenset({"all_gpus_idle", "cpu_only", "some_gpus_unused", "spinning"})
"""The words after which GPU-hours without work can be saved."""


@dataclass
class Silence:
    """GPU-hours of single GPUs at each cut: those without work that were left in runs whose word was due, and those of
    runs in which a right word had been sent by then."""

    left: dict[float, float] = field(default_factory=lambda: defaultdict(float))
    reached: dict[float, float] = field(default_factory=lambda: defaultdict(float))
    runs: dict[float, int] = field(default_factory=lambda: defaultdict(int))

    def count(self, pair: Pair, said: Iterable[str]) -> None:
        """One cut of one run; `said` are the words that had been sent by then."""
        due = pair.words.must & OF_IDLE_GPUS
        if not due:
            return
        at_s, hours = pair.cut.at_s, pair.unused_gpu_hours
        self.runs[at_s] += 1
        self.left[at_s] += hours
        if OF_IDLE_GPUS & (pair.words.must | pair.words.may) & set(said):
            self.reached[at_s] += hours

    def table(self) -> Iterator[str]:
        yield f"{'noisy library, at':20}{'runs with a due word':>22}{'GPU-hours left':>16}{'reached by a word':>19}"
        for at_s in sorted(self.left):
            counts = f"{self.runs[at_s]:22}{self.left[at_s]:16,.0f}{self.reached[at_s]:19,.0f}"
            yield f"{at_s / 60:g} min{'':14}{counts}"


@dataclass(frozen=True)
class Noise:
    """Words that the demo's people get at the real schedule.

    `left` are the GPU-hours without work after the first moment of the schedule at which a word was due, `reached`
    those after the first right word: the most that can be saved.
    """

    runs: int
    right: int
    wrong: int
    person_weeks: float
    by_person: Mapping[str, int]
    left: float
    reached: float

    def table(self) -> Iterator[str]:
        words = self.right + self.wrong
        weeks = self.person_weeks / PEOPLE
        usual, most = words / self.person_weeks, max(self.by_person.values(), default=0) / weeks
        yield f"the demo's {PEOPLE} people, {self.runs} runs in {weeks:.1f} weeks: {words} words, {self.wrong} wrong;"
        yield f"{usual:.2f} words per person and week, {most:.2f} for the one with most"
        yield f"{self.left:,.0f} GPU-hours without work were left when a word was due, {self.reached:,.0f} when it came"


def noise(seed: int = 0) -> Noise:
    """Every run of the demo at the real schedule, each word once."""
    told = [
        (job.record["user_id"], _told(course))
        for job in sample_jobs(seed=seed, jobs=JOBS, users=PEOPLE, until=UNTIL, days=DAYS)
        if (course := course_of_sample(job)) is not None
    ]
    return Noise(
        runs=len(told),
        right=sum(sum(one.words.values()) for _, one in told),
        wrong=sum(len(one.words) - sum(one.words.values()) for _, one in told),
        person_weeks=PEOPLE * DAYS / WEEK_DAYS,
        by_person=Counter(person for person, one in told for _ in one.words),
        left=sum(one.left for _, one in told),
        reached=sum(one.reached for _, one in told),
    )


@dataclass
class Told:
    """The words of a run by code and whether each was right when it was first sent; GPU-hours as in `Noise`."""

    words: dict[str, bool] = field(default_factory=dict)
    left: float = 0.0
    reached: float = 0.0


def _told(course: Course) -> Told:
    seen, told = activity(course), Told()
    held: frozenset[str] = frozenset()
    for cut in cuts(course, scheduled(course)):
        pair = Pair(cut, truth(cut, seen))
        right = pair.words.must | pair.words.may
        held = frozenset(one.code.value for one in early_findings(facts_of(pair, held))) if cut.standing else held
        for code in held:
            told.words.setdefault(code, code in right)
        if pair.words.must & OF_IDLE_GPUS and not told.left:
            told.left = pair.unused_gpu_hours
        if OF_IDLE_GPUS & right & set(told.words) and not told.reached:
            told.reached = pair.unused_gpu_hours
    return told


def course_of_sample(job: SampleJob) -> Course | None:
    """A sample job over time: GPUs by their stored timelines, a host that is as busy all the time as on average."""
    record = msgspec.convert(job.record, JobRecord)
    nodes = tuple(msgspec.convert(one, NodePayload, str_keys=True) for one in job.summaries)
    course = course_of_real_run(RealRun(record, nodes, frozenset(), None))
    if course is None:
        return None
    known: dict[str, Any] = {**job.record, **course.record}
    hosts = tuple(_host(one, course.elapsed_s) for one in nodes)
    return replace(course, record=known, hosts=hosts, limit_s=record.walltime_requested_s)


def _host(node: NodePayload, elapsed_s: float) -> Host | None:
    if node.cpu is None or node.cpu.busy_cores_avg is None:
        return None
    minutes = max(1, int(elapsed_s / 60))
    cores = round(node.cpu.cores_allocated or 0)
    return Host(np.full(minutes, node.cpu.busy_cores_avg), None, cores=cores, limit_gb=node.cpu.memory_limit_gb)
