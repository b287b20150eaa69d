"""How often each finding is right: precision, recall, and false alarms on healthy jobs, over the labelled library.

Every kind of `demo.library` is drawn with many seeds and judged through the same payload types as real ones.
Run by `make score`; `tests/test_scorecard.py` checks the same limits with other seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import numpy as np
from tqdm import tqdm

from analysis.assess import Assessment, assess
from analysis.findings import FindingCode
from analysis.thresholds import LIMITS, Limits
from demo.generate import SampleJob, make_job
from demo.library import LIBRARY
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from tests.analysis.runs import metrics_of

SEEDS = range(1000, 1050)
PRECISION_MIN, RECALL_MIN, FALSE_ALARMS_MAX = 0.95, 0.95, 0.01


@dataclass
class Scorecard:
    """Counts over all judged runs; a healthy run is one whose kind expects no finding."""

    right: Counter[FindingCode] = field(default_factory=Counter)
    wrong: Counter[FindingCode] = field(default_factory=Counter)
    missed: Counter[FindingCode] = field(default_factory=Counter)
    alarms: Counter[FindingCode] = field(default_factory=Counter)
    healthy: int = 0
    alarmed: int = 0
    runs: int = 0
    misjudged: Counter[str] = field(default_factory=Counter)

    def count(self, job: SampleJob, judged: Assessment) -> None:
        expected, raised = job.expected.findings, {finding.code for finding in judged.findings}
        self.runs += 1
        self.right.update(expected & raised)
        self.wrong.update(raised - expected)
        self.missed.update(expected - raised)
        if judged.efficiency.efficiency_class is not job.expected.efficiency_class:
            self.misjudged[job.kind] += 1
        if job.expected.is_healthy:
            self.healthy += 1
            self.alarmed += bool(raised)
            self.alarms.update(raised)

    def precision(self, code: FindingCode) -> float:
        return _share(self.right[code], self.right[code] + self.wrong[code])

    def recall(self, code: FindingCode) -> float:
        return _share(self.right[code], self.right[code] + self.missed[code])

    @property
    def false_alarm_rate(self) -> float:
        """The share of healthy runs with any finding."""
        return self.alarmed / self.healthy if self.healthy else 0.0

    def failures(self) -> Iterator[str]:
        """What is below the limits, a line each."""
        for code in FindingCode:
            if self.precision(code) < PRECISION_MIN or self.recall(code) < RECALL_MIN:
                yield f"{code}: precision {self.precision(code):.3f}, recall {self.recall(code):.3f}"
        if self.false_alarm_rate > FALSE_ALARMS_MAX:
            yield f"false alarms on {self.false_alarm_rate:.1%} of the healthy runs: {dict(self.alarms)}"


def score(kinds: Iterable[str], seeds: Iterable[int], limits: Limits = LIMITS) -> Scorecard:
    """Draws and judges each kind once for each seed."""
    card, seeds = Scorecard(), list(seeds)
    for kind in kinds:
        for seed in seeds:
            job = drawn(kind, seed)
            card.count(job, judged(job, limits))
    return card


def drawn(kind: str, seed: int) -> SampleJob:
    return make_job(
        kind,
        job_id=123456,
        user="alice",
        project="project_465000001",
        ended_at=datetime(2026, 11, 20, 12, 30, tzinfo=UTC),
        rng=np.random.default_rng(seed),
    )


def judged(job: SampleJob, limits: Limits = LIMITS) -> Assessment:
    nodes = [msgspec.convert(summary, NodePayload, str_keys=True) for summary in job.summaries]
    return assess(msgspec.convert(job.record, JobRecord), metrics_of(*nodes), limits)


def _share(part: int, whole: int) -> float:
    """A finding that was neither due nor raised is not wrong."""
    return part / whole if whole else 1.0


def table(card: Scorecard) -> Iterator[str]:
    yield f"{'finding':30}{'due':>7}{'raised':>8}{'precision':>11}{'recall':>8}{'alarms':>8}"
    for code in FindingCode:
        due, raised = card.right[code] + card.missed[code], card.right[code] + card.wrong[code]
        rates = f"{card.precision(code):11.3f}{card.recall(code):8.3f}{card.alarms[code]:8}"
        yield f"{code:30}{due:7}{raised:8}{rates}"
    yield ""
    yield f"{card.runs:,} runs of {len(LIBRARY)} kinds, {sum(card.misjudged.values())} in another class than expected"
    yield f"false alarms: {card.alarmed} of {card.healthy:,} healthy runs, {card.false_alarm_rate:.2%}"


def main() -> int:
    card = score(tqdm(LIBRARY, unit=" kinds", disable=None), SEEDS)
    print("\n".join(table(card)))
    failures = list(card.failures())
    print("\n".join(f"below the limit: {line}" for line in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
