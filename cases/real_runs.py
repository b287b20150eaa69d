"""A scorecard over real runs: the reports of 133 published training and inference runs, compared with what happened.

The runs, their origin and what is known about them: `tests/samples/traces/README.md`. Run by `make score`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from analysis.assess import Assessment, assess
from analysis.efficiency import EfficiencyClass
from cases.contradictions import codes, contradictions, ended_badly, evidence, is_early_end, weak_findings
from education.seeds import seed_lessons
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from reports.job_report import job_report
from reports.text import report_text
from tests.analysis.runs import metrics_of

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "samples" / "traces"

ABOUT_IDLE_GPUS = frozenset({"parallelism_mismatch", "idle_gpus", "exclusive_node_underused"})

# Sentences of a report that leave nothing to do: after a crash, or below Efficient, they must not be everything.
PRAISE = (
    "request fits",
    "nothing needs to change",
    "no change needed",
    "no change is needed",
)


# What a report without findings and advice may still end with.
NEXT_STEPS = ("what to try", "steps to try", "next step")


@dataclass(frozen=True)
class RealRun:
    """One run and what is known about it: `last_error` is None if its output was not kept, `process_gpus` are the GPUs
    on which its own process was seen (empty if the client named none)."""

    record: JobRecord
    nodes: tuple[NodePayload, ...]
    process_gpus: frozenset[int]
    last_error: str | None

    @property
    def name(self) -> str:
        return f"{self.record.cluster}/{self.record.job_id}"


@dataclass(frozen=True)
class Judged:
    """One run's assessment and its report as text."""

    run: RealRun
    assessment: Assessment

    @cached_property
    def report(self) -> str:
        return full_report(self.assessment)


@dataclass
class RealScore:
    """Runs by what their reports got wrong: a line each, named by cluster and job."""

    runs: int = 0
    measured: int = 0
    findings: int = 0
    dead_ends: list[str] = field(default_factory=list)
    short_dead_ends: list[str] = field(default_factory=list)
    memory_right: list[str] = field(default_factory=list)
    memory_false: list[str] = field(default_factory=list)
    memory_missed: list[str] = field(default_factory=list)
    memory_unseen: list[str] = field(default_factory=list)
    untrue_mismatch: list[str] = field(default_factory=list)
    praised: list[str] = field(default_factory=list)
    contradictory: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)

    def count(self, judged: Judged) -> None:
        run, assessment, name = judged.run, judged.assessment, judged.run.name
        self.runs += 1
        self.measured += bool(run.nodes)
        self.findings += len(assessment.findings)
        if leaves_nothing_to_do(assessment) and not has_next_step(judged.report):
            is_short = assessment.efficiency.uncounted_reason == "short"
            (self.short_dead_ends if is_short else self.dead_ends).append(f"{name} {_brief(assessment)}")
        self._count_memory(judged)
        self.untrue_mismatch += [f"{name} {line}" for line in untrue_idle_gpus(run, assessment)]
        if ended_in_a_crash(assessment) and has_praise(judged.report):
            self.praised.append(f"{name} {_brief(assessment)}")
        self.contradictory += [f"{name} {line}" for line in contradictions(assessment)]
        self.weak += [f"{name} {line}" for line in weak_findings(assessment)]

    def _count_memory(self, judged: Judged) -> None:
        run = judged.run
        if run.last_error is None:
            return
        is_said, is_true = "gpu_out_of_memory" in codes(judged.assessment), run.last_error == "OutOfMemory"
        line = f"{run.name} {_brief(judged.assessment)}, last error {run.last_error}"
        if is_said:
            (self.memory_right if is_true else self.memory_false).append(line)
        elif is_true:
            (self.memory_missed if run.nodes else self.memory_unseen).append(line)

    def failures(self) -> Iterator[str]:
        """The missed targets, a line each."""
        targets = (
            ("dead ends over 5 minutes", self.dead_ends),
            ("untrue statements of idle GPUs", self.untrue_mismatch),
            ("false out-of-memory", self.memory_false),
            ("contradictions", self.contradictory),
        )
        yield from (f"{name}: {len(lines)}, target 0" for name, lines in targets if lines)


def real_runs(folder: Path = FOLDER) -> tuple[RealRun, ...]:
    """All runs of the folder, in the order of their job records."""
    records = [msgspec.json.decode(line, type=JobRecord) for line in _lines(folder / "jobs.jsonl")]
    payloads = [msgspec.json.decode(line, type=NodePayload, strict=False) for line in _lines(folder / "nodes.jsonl")]
    with (folder / "runs.csv").open(encoding="utf-8", newline="") as rows:
        truth = {(row["cluster"], int(row["job_id"])): row for row in csv.DictReader(rows)}
    return tuple(
        RealRun(
            record=record,
            nodes=tuple(p for p in payloads if (p.cluster, p.job_id) == (record.cluster, record.job_id)),
            process_gpus=frozenset(int(gpu) for gpu in row["process_gpus"].split()),
            last_error=row["last_error"] or None,
        )
        for record in records
        for row in [truth[record.cluster, record.job_id]]
    )


def judge(run: RealRun) -> Judged:
    return Judged(run, assess(run.record, metrics_of(*run.nodes)))


def score(runs: Iterable[RealRun]) -> RealScore:
    card = RealScore()
    for run in runs:
        card.count(judge(run))
    return card


def full_report(assessment: Assessment) -> str:
    """The report as plain text, with the lessons that Kaiku comes with."""
    return report_text(job_report(assessment, seed_lessons()))


def has_praise(report: str) -> bool:
    return _has_phrase(report, PRAISE)


def has_next_step(report: str) -> bool:
    return _has_phrase(report, NEXT_STEPS)


def leaves_nothing_to_do(assessment: Assessment) -> bool:
    """Whether there is neither a finding nor advice although one is due: a counted and measured run below EFFICIENT, or
    one that ended badly whatever its length. A report without a next step of its own is then a dead end.

    A run that was cancelled within minutes is not judged by its use.
    """
    if assessment.findings or assessment.recommendations:
        return False
    if ended_badly(assessment.facts):
        return True
    judged = assessment.efficiency
    is_low = judged.efficiency_class not in (EfficiencyClass.EFFICIENT, EfficiencyClass.UNKNOWN)
    return is_low and not judged.uncounted_reason and not is_early_end(assessment.facts)


def ended_in_a_crash(assessment: Assessment) -> bool:
    """FAILED at any time, or CANCELLED within minutes."""
    facts = assessment.facts
    return facts.record.state == "FAILED" or (facts.record.state == "CANCELLED" and is_early_end(facts))


def untrue_idle_gpus(run: RealRun, assessment: Assessment) -> Iterator[str]:
    """Findings that call GPUs idle on which the run's own process was seen."""
    shown = frozenset(gpu.gpu_id for node in run.nodes for gpu in node.gpus)
    if not shown or not shown <= run.process_gpus:
        return
    for code in sorted(codes(assessment) & ABOUT_IDLE_GPUS):
        yield f"{code} {evidence(assessment, code)}, processes on all of GPUs {sorted(run.process_gpus)}"


def table(card: RealScore) -> Iterator[str]:
    yield f"{card.runs} real runs, {card.measured} of them measured, {card.findings} findings"
    rows = (
        ("dead ends over 5 minutes", card.dead_ends),
        ("dead ends of shorter runs", card.short_dead_ends),
        ("GPU out of memory: right", card.memory_right),
        ("GPU out of memory: false", card.memory_false),
        ("GPU out of memory: missed", card.memory_missed),
        ("GPU out of memory: not measured", card.memory_unseen),
        ("untrue statements of idle GPUs", card.untrue_mismatch),
        ("crashes that are praised", card.praised),
        ("contradictions", card.contradictory),
        ("findings below 20 % confidence", card.weak),
    )
    yield from (f"{name:34}{len(lines):5}" for name, lines in rows)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _has_phrase(report: str, phrases: Iterable[str]) -> bool:
    """Whether any of the phrases occurs in the text, wherever its lines were broken."""
    one_line = " ".join(report.split()).lower()
    return any(phrase in one_line for phrase in phrases)


def _brief(assessment: Assessment) -> str:
    record, judged = assessment.facts.record, assessment.efficiency
    return f"{record.state} after {assessment.facts.elapsed_s:.0f} s, {judged.efficiency_class.value}"


def main() -> int:
    card = score(real_runs())
    print("\n".join(table(card)))
    shown = (card.dead_ends, card.memory_false, card.untrue_mismatch, card.praised, card.contradictory, card.weak)
    print("\n".join(f"  {line}" for lines in shown for line in lines))
    failures = list(card.failures())
    print("\n".join(f"missed target: {line}" for line in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
