"""All pairs of a cut and its true words: noisy library, real runs, own situations and both examinations.

`python -m cases.early.pairs` prints how many there are and how many words are due and right, by code.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cases.early.activity import activity
from cases.early.courses import course_of_case, course_of_real_run
from cases.early.cutting import Course, Cut, cuts, schedule
from cases.early.library import first_examination, own_situations, second_examination
from cases.early.situation import Situation
from cases.early.truth import CODES, Words, truth
from cases.library import LIBRARY
from cases.real_runs import real_runs

CUTS_S = (600.0, 1800.0, 3600.0)
SCHEDULED_S_MAX = 12 * 3600.0
"""The real schedule is followed for half a day: what was not said by then is late anyway."""


@dataclass(frozen=True)
class Pair:
    """A run at a cut and the words that were true then; `situation` is None outside the own situations
    and the examinations."""

    cut: Cut
    words: Words
    situation: Situation | None = None

    @property
    def first_words(self) -> Words:
        """The words as they were expected before any correction."""
        return self.situation.expected[self.cut.at_s] if self.situation else self.words

    @property
    def unused_gpu_hours(self) -> float:
        """GPU-hours (of single GPUs) without work from the cut to the end: the most that a word then can win."""
        shares = [1.0 - mean / 100.0 for mean in self.cut.after.util_mean.values() if not math.isnan(mean)]
        return sum(shares) * self.cut.left_s / 3600.0


def scheduled(course: Course) -> tuple[float, ...]:
    return tuple(second for second in schedule(course.elapsed_s) if second <= SCHEDULED_S_MAX)


def library_pairs(seed: int = 0, at_s: Sequence[float] | None = CUTS_S) -> Iterator[Pair]:
    """Each case of the noisy library at each cut; None: at the real schedule."""
    for index, case in enumerate(LIBRARY):
        course = course_of_case(case, index, seed)
        yield from _pairs(course, at_s, "gpu_out_of_memory" in case.must)


def real_pairs(at_s: Sequence[float] | None = CUTS_S) -> Iterator[Pair]:
    for run in real_runs():
        course = course_of_real_run(run)
        if course is not None:
            yield from _pairs(course, at_s, run.last_error == "OutOfMemory")


def situation_pairs(situations: Iterable[Situation] | None = None) -> Iterator[Pair]:
    """Each of these situations, or of the own ones, at the cuts for which its words are written, with corrections."""
    for situation in own_situations() if situations is None else situations:
        for cut in cuts(situation.course(), tuple(situation.expected)):
            yield Pair(cut, situation.words(cut.at_s), situation)


def examination_pairs() -> Iterator[Pair]:
    """Each situation that nobody who made the rules had seen, at the cuts for which its words are written."""
    return situation_pairs(first_examination())


def second_examination_pairs() -> Iterator[Pair]:
    """Those of the second examination, which was written when the first had been used to correct the rules."""
    return situation_pairs(second_examination())


def _pairs(course: Course, at_s: Sequence[float] | None, gpu_out_of_memory: bool) -> Iterator[Pair]:
    seen = activity(course)
    for cut in cuts(course, scheduled(course) if at_s is None else at_s):
        yield Pair(cut, truth(cut, seen, gpu_out_of_memory))


def counted(pairs: Iterable[Pair]) -> str:
    """One line: pairs, due + right words by code, unused GPU-hours after the first due word of each run, and pairs in
    which the newest payload of a node is an old one."""
    count, stale, due, right = 0, 0, Counter[str](), Counter[str]()
    winnable: dict[str, float] = {}
    for pair in pairs:
        count += 1
        stale += bool(pair.cut.silent and pair.cut.standing)
        due.update(pair.words.must)
        right.update(pair.words.may)
        if pair.words.must:
            winnable.setdefault(pair.cut.course.name, pair.unused_gpu_hours)
    words = ", ".join(f"{code} {due[code]}+{right[code]}" for code in CODES)
    return f"{count} pairs; {words}; {sum(winnable.values()):.0f} unused GPU-hours; {stale} with a silent node"


def main() -> int:
    print("words due + right beside, by code")
    print("situations:", counted(situation_pairs()))
    print("examination:", counted(examination_pairs()))
    print("second examination:", counted(second_examination_pairs()))
    print("real runs:", counted(real_pairs()))
    print("noisy library at 600, 1800, 3600 s:", counted(library_pairs()))
    print("noisy library at the real schedule:", counted(library_pairs(at_s=None)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
