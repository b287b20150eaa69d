"""Situations of training runs as facts: what the rules say of each, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from analysis.facts import JobFacts, job_facts
from analysis.findings import STOPPED, Evidence, FindingCode
from analysis.progress.logged import LoggedRun
from analysis.rules import findings
from tests.analysis.progress.runs import series
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

HANG, NAN, PAUSES = "hang", "loss_is_nan", "step_pauses"
ENDED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
NODE_GPUS, TIMELINE_POINTS_MAX = 8, 240

KINDS = (HANG, NAN, PAUSES)


def facts_of(case: Any) -> JobFacts:
    """The facts of a situation on one node, as if its GPUs had all been used alike."""
    step_s, use = _timeline(case)
    started_at = ENDED_AT - timedelta(seconds=case.elapsed_s)
    count = min(case.gpus, NODE_GPUS)
    record = job_record(
        state=case.state,
        gpus_requested=count,
        gpus_allocated=count,
        gpus_per_node=count,
        walltime_used_s=case.elapsed_s,
        walltime_requested_s=case.elapsed_s,
        started_at=started_at.isoformat(),
        submitted_at=started_at.isoformat(),
        ended_at=ENDED_AT.isoformat(),
    )
    known = [value for value in use if value is not None]
    mean = float(np.mean(known)) if known else 0.0
    gpus = [_gpu(index, mean, step_s, use, case) for index in range(count)]
    start_s = started_at.timestamp()
    logged = {
        name: series([step for step, _, _ in points], [start_s + at for _, at, _ in points], [v for _, _, v in points])
        for name, points in case.series.items()
        if points
    }
    metrics = metrics_of(node_payload([], gpus=gpus))
    return job_facts(record, metrics, logged=[LoggedRun(series=logged)])


def said(case: Any) -> dict[str, Evidence]:
    """What is said of a situation, with its evidence."""
    found = {finding.code: finding.evidence for finding in findings(facts_of(case))}
    waiting = found.get(FindingCode.BUSY_BUT_WAITING, {})
    kinds = {HANG: waiting if STOPPED in waiting else None}
    kinds |= {NAN: found.get(FindingCode.LOSS_IS_NAN), PAUSES: found.get(FindingCode.STEP_PAUSES)}
    return {kind: evidence for kind, evidence in kinds.items() if evidence is not None}


@dataclass
class Tally:
    """Of one finding: how often it was rightly said, said without reason, and missed; and what was said wrongly."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    off: tuple[str, ...] = ()

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def tallies(cases: Iterable[Any]) -> dict[str, Tally]:
    """What became of each finding over these situations."""
    found = {kind: Tally() for kind in KINDS}
    for case in cases:
        seen = said(case)
        for kind, tally in found.items():
            wanted = getattr(case, kind)
            if kind in seen and wanted is not False and not _is_met(case, kind, seen[kind]):
                tally.wrong += 1
                tally.off += (f"{case.name}: {dict(seen[kind])}",)
            elif kind in seen and wanted is False:
                tally.wrong += 1
                tally.off += (f"{case.name}: said",)
            elif wanted is True:
                tally.right += kind in seen
                tally.missed += kind not in seen
                tally.off += () if kind in seen else (f"{case.name}: not said",)
    return found


def _is_met(case: Any, kind: str, evidence: Evidence) -> bool:
    """Whether what is stated beside a finding is within what is right."""
    value, within = {
        HANG: (evidence.get("since_s"), case.hang_since_s),
        NAN: (evidence.get("step"), case.nan_since_step),
        PAUSES: (evidence.get("paused_fraction"), case.paused_share),
    }[kind]
    return within is None or within[0] <= float(value or 0) <= within[1]


def _timeline(case: Any) -> tuple[float, list[float | None]]:
    """Use in equal parts, as many as a collector keeps; None for what was not measured."""
    if not case.use:
        return 60.0, []
    step_s = case.use[0][1] - case.use[0][0]
    parts: list[float | None] = [None] * (round(case.use[-1][0] / step_s) + 1)
    for from_s, _, percent in case.use:
        parts[round(from_s / step_s)] = percent
    while len(parts) > TIMELINE_POINTS_MAX:
        parts, step_s = [_mean(parts[at : at + 2]) for at in range(0, len(parts), 2)], step_s * 2
    return step_s, parts


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gpu(index: int, mean: float, step_s: float, use: list[float | None], case: Any) -> dict[str, Any]:
    idle_s = step_s * sum(value is not None and value <= 1 for value in use)
    measured_s = step_s * sum(value is not None for value in use)
    power = {} if case.power is None or index % 2 else {"power_avg_w": min(2 * case.power, 560.0)}
    return gpu(
        index,
        mean,
        measured_s=measured_s,
        samples=round(measured_s),
        idle_s=idle_s,
        active_s=measured_s - idle_s,
        util_histogram_s=None,
        timeline={"step_s": step_s, "util": use, "mem_gb": [30.0] * len(use)},
        **power,
    )
