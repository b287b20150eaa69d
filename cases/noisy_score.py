"""How right reports are on noisy runs whose expectations were written before any rule judged them.

Counts for each finding, class, advice and confidence over `cases/noisy`. Run by `make score`; `python -m
cases.noisy_score --case NAME` shows one run, `--list wrong` names what was wrong, `--area NAME` scores only the cases
of one area: stated confidence is only tested by cases to which the rules were not tuned.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np

from analysis.assess import Assessment, assess
from cases.case import Case
from cases.contradictions import codes, contradictions, is_inferred, request_after, weak_findings
from cases.library import AREAS, LIBRARY
from cases.readings import complete_record, payloads
from cases.real_runs import full_report, has_next_step, has_praise, leaves_nothing_to_do
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from tests.analysis.runs import metrics_of

SEEDS = 3
PRECISION_MIN, RECALL_MIN, FALSE_ALARMS_MAX = 0.95, 0.95, 0.01
CLASS_RIGHT_MIN = 0.99
CALIBRATION_MAX, CALIBRATION_COUNT_MIN = 0.1, 20
"""Stated and observed rates may differ by a tenth if a bin contains enough findings to observe a rate."""
BIN_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KINDS = ("wrong", "missed", "class", "alarms", "dead ends", "contradictions", "advice", "weak")
"""The kinds of errors in one report."""


@dataclass(frozen=True)
class Trial:
    """One case drawn with one seed, and its judgement."""

    case: Case
    seed: int
    assessment: Assessment

    @property
    def name(self) -> str:
        return f"{self.case.name} (seed {self.seed})"

    @cached_property
    def report(self) -> str:
        return full_report(self.assessment)


@dataclass(frozen=True)
class Bin:
    """Inferred findings whose stated confidence is in one range: its mean, and how many were right."""

    low: float
    high: float
    count: int
    stated: float
    observed: float

    @property
    def is_off(self) -> bool:
        return self.count >= CALIBRATION_COUNT_MIN and abs(self.stated - self.observed) > CALIBRATION_MAX


@dataclass
class NoisyScore:
    """Counts by finding code, and a line for each error, named by case and seed."""

    runs: int = 0
    healthy: int = 0
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    tolerated: Counter[str] = field(default_factory=Counter)
    stated: list[tuple[float, bool]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in KINDS})

    def count(self, trial: Trial) -> None:
        case, judged = trial.case, trial.assessment
        found = codes(judged)
        untrue, absent = found - case.must - case.may, case.must - found
        self.runs += 1
        self.right.update(found & case.must)
        self.tolerated.update(found & case.may - case.must)
        self.wrong.update(untrue)
        self.missed.update(absent)
        self.stated += [
            (finding.confidence, finding.code.value not in untrue)
            for finding in judged.findings
            if is_inferred(finding)
        ]
        if case.is_healthy:
            self.healthy += 1
        for kind, said in _faults(trial, untrue, absent):
            self.lines[kind].append(f"{trial.name}: {said}")

    def precision(self, code: str) -> float:
        return _share(self.right[code], self.right[code] + self.wrong[code])

    def recall(self, code: str) -> float:
        return _share(self.right[code], self.right[code] + self.missed[code])

    @property
    def false_alarm_rate(self) -> float:
        """The share of healthy runs with a statement that is not allowed for them."""
        return len(self.lines["alarms"]) / self.healthy if self.healthy else 0.0

    @property
    def class_right(self) -> float:
        return _share(self.runs - len(self.lines["class"]), self.runs)

    def codes(self) -> list[str]:
        return sorted({*self.right, *self.wrong, *self.missed, *self.tolerated})

    def failures(self) -> Iterator[str]:
        """What is below the limits, a line each."""
        for code in self.codes():
            if self.precision(code) < PRECISION_MIN or self.recall(code) < RECALL_MIN:
                yield f"{code}: precision {self.precision(code):.3f}, recall {self.recall(code):.3f}"
        if self.class_right < CLASS_RIGHT_MIN:
            yield f"class right in {self.class_right:.1%}"
        if self.false_alarm_rate > FALSE_ALARMS_MAX:
            yield f"false alarms on {self.false_alarm_rate:.1%} of the healthy runs"
        for kind in ("dead ends", "contradictions", "advice"):
            if self.lines[kind]:
                yield f"{kind}: {len(self.lines[kind])}, target 0"
        for bin_ in calibration(self.stated):
            if bin_.is_off:
                yield f"stated {bin_.stated:.2f}, right {bin_.observed:.2f} of {bin_.count} findings"


def draw(case: Case, seed: int) -> tuple[JobRecord, list[NodePayload]]:
    """One run of a case: what the same seed draws does not depend on the other cases."""
    number = zlib.crc32(case.name.encode())
    record = complete_record(case.record, number % 100_000)
    nodes = case.draw(np.random.default_rng((seed, number)))
    summaries = payloads(record, nodes)
    return (
        msgspec.convert(record, JobRecord),
        [msgspec.convert(summary, NodePayload, str_keys=True) for summary in summaries],
    )


def trial(case: Case, seed: int) -> Trial:
    record, nodes = draw(case, seed)
    return Trial(case, seed, assess(record, metrics_of(*nodes)))


def score(cases: Iterable[Case], seeds: Sequence[int]) -> NoisyScore:
    """Draws and judges each case once for each seed."""
    card = NoisyScore()
    for case in cases:
        for seed in seeds:
            card.count(trial(case, seed))
    return card


def violations(trial: Trial) -> Iterator[str]:
    """Where the next request, or the claim that none is needed, is not what an expert would accept."""
    sensible, wanted = trial.case.sensible, request_after(trial.assessment)
    if sensible.gpus is not None and wanted.gpus not in sensible.gpus:
        yield f"{wanted.gpus} GPUs next, sensible are {sensible.gpus}"
    for unit, least, next_time in (
        ("cores", sensible.cores_min, wanted.cores),
        ("GB of host memory", sensible.memory_min_gb, wanted.memory_gb),
        ("seconds of time limit", sensible.walltime_min_s, wanted.walltime_s),
    ):
        if least is not None and next_time is not None and next_time < least:
            yield f"{next_time:g} {unit} next, at least {least:g} are needed"
    if sensible.partitions is not None and wanted.partition not in sensible.partitions:
        yield f"partition {wanted.partition} next, sensible are {sensible.partitions}"
    if sensible.is_ready_to_resubmit is False and has_praise(trial.report):
        yield "is called fit to submit again"


def calibration(stated: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Confidence and whether the finding was right, in bins; 1.0 belongs to the last, empty ones are left out."""
    pairs = list(stated)
    bins = []
    for low, high in pairwise(BIN_EDGES):
        held = [pair for pair in pairs if low <= pair[0] < high or (pair[0] == high == BIN_EDGES[-1])]
        if held:
            sure, right = (sum(values) / len(held) for values in zip(*held, strict=True))
            bins.append(Bin(low, high, len(held), sure, right))
    return bins


def _faults(trial: Trial, untrue: frozenset[str], absent: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Everything wrong with one report, each under its kind."""
    case, judged = trial.case, trial.assessment
    sure = {finding.code.value: finding.confidence for finding in judged.findings if is_inferred(finding)}
    yield from (("wrong", f"{code} at {sure[code]:.2f}" if code in sure else code) for code in sorted(untrue))
    yield from (("missed", code) for code in sorted(absent))
    name = judged.efficiency.efficiency_class.value
    if name != case.efficiency_class:
        yield "class", f"{name} for {case.efficiency_class}, {judged.efficiency.avg_gpu_util} %"
    if case.is_healthy and untrue:
        yield "alarms", ", ".join(sorted(untrue))
    if leaves_nothing_to_do(judged) and not has_next_step(trial.report):
        yield "dead ends", f"{judged.facts.record.state}, {name}"
    yield from (("contradictions", line) for line in contradictions(judged))
    yield from (("advice", line) for line in violations(trial))
    yield from (("weak", line) for line in weak_findings(judged))


def _share(part: int, whole: int) -> float:
    """A finding that was neither due nor raised is not wrong."""
    return part / whole if whole else 1.0


def table(card: NoisyScore) -> Iterator[str]:
    yield f"{'finding':30}{'due':>6}{'right':>7}{'wrong':>7}{'missed':>8}{'allowed':>9}{'precision':>11}{'recall':>8}"
    for code in card.codes():
        right, wrong, missed = card.right[code], card.wrong[code], card.missed[code]
        counts = f"{right + missed:6}{right:7}{wrong:7}{missed:8}{card.tolerated[code]:9}"
        yield f"{code:30}{counts}{card.precision(code):11.3f}{card.recall(code):8.3f}"
    right, wrong, missed = card.right.total(), card.wrong.total(), card.missed.total()
    counts = f"{right + missed:6}{right:7}{wrong:7}{missed:8}{card.tolerated.total():9}"
    yield f"{'all':30}{counts}{_share(right, right + wrong):11.3f}{_share(right, right + missed):8.3f}"
    yield ""
    yield f"{card.runs:,} noisy runs, class right in {card.class_right:.1%}"
    yield f"false alarms: {len(card.lines['alarms'])} of {card.healthy:,} healthy runs, {card.false_alarm_rate:.2%}"
    yield ", ".join(f"{kind}: {len(card.lines[kind])}" for kind in ("dead ends", "contradictions", "advice", "weak"))
    yield ""
    yield f"{'confidence':14}{'findings':>9}{'stated':>9}{'right':>8}"
    for bin_ in calibration(card.stated):
        yield f"{bin_.low:.1f} to {bin_.high:.1f}{'':4}{bin_.count:9}{bin_.stated:9.2f}{bin_.observed:8.2f}"


def shown(trial: Trial) -> Iterator[str]:
    """One run for a person: its story, the report, the judgement in numbers and what is wrong with it."""
    case, judged = trial.case, trial.assessment
    yield f"{trial.name}: {case.story}"
    yield f"expected: {case.efficiency_class}, must {sorted(case.must)}, may {sorted(case.may)}, {case.sensible}"
    yield trial.report
    yield str(judged.efficiency)
    yield from (f"{f.code.value} {f.confidence if is_inferred(f) else 'fact'} {f.evidence}" for f in judged.findings)
    yield from (f"{advice.kind} {advice.basis} {advice.evidence} {advice.wanted}" for advice in judged.recommendations)
    yield f"savings: {judged.savings}"
    found = codes(judged)
    yield from (f"{kind}: {said}" for kind, said in _faults(trial, found - case.must - case.may, case.must - found))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds each case is drawn with")
    parser.add_argument("--area", choices=list(AREAS), help="only the cases of one area")
    parser.add_argument("--case", help="show the report and the assessment of this one case")
    parser.add_argument("--list", choices=[*KINDS, "all"], help="name the runs in which this was found")
    asked = parser.parse_args(arguments)
    cases = [case for case in AREAS.get(asked.area, LIBRARY) if asked.case in (None, case.name)]
    if asked.case and not cases:
        parser.error(f"there is no case {asked.case}")
    if asked.case:
        print("\n".join(line for seed in range(asked.seeds) for line in shown(trial(cases[0], seed))))
        return 0
    card = score(cases, range(asked.seeds))
    print("\n".join(table(card)))
    for kind in KINDS if asked.list == "all" else [asked.list] if asked.list else []:
        print("\n".join([f"\n{kind}: {len(card.lines[kind])}", *(f"  {line}" for line in card.lines[kind])]))
    failures = list(card.failures())
    print("\n".join(f"below the limit: {line}" for line in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
