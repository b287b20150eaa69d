"""Facts of a running job from numbers: how the tests of early rules say what was measured so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.comparable import ComparableRun
from analysis.early.facts import EarlyFacts, MemoryCourse, NodeStretch, early_facts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.rules import early_findings
from analysis.progress.logged import LoggedRun
from tests.analysis.runs import metrics_of, over_time
from tests.payloads import job_record, node_payload

MINUTE_S, HOUR_S = 60.0, 3600.0
START_MS = 1_763_632_800_000  # 2025-11-20T10:00:00Z
NODE = "nid005123"


def minutes(*parts: tuple[int, float | None]) -> list[float | None]:
    """A course of use by the minute: so many minutes at so many percent, one after the other."""
    return [percent for count, percent in parts for _ in range(count)]


def course(*gb: float | None, step_s: float = MINUTE_S) -> MemoryCourse:
    """Host memory in equal parts of the time, as interim summaries have it."""
    known = [(place, value) for place, value in enumerate(gb) if value is not None]
    at_s = np.array([(place + 0.5) * step_s for place, _ in known], dtype=np.float64)
    return MemoryCourse(at_s, np.array([value for _, value in known], dtype=np.float64))


NOTHING = MemoryCourse(np.zeros(0), np.zeros(0))


def running(
    *utils: list[float | None],
    power_w: float | None = None,
    recent_power_w: float | None = None,
    span_s: float | None = None,
    busy_cores: float = 8.0,
    memory: MemoryCourse = NOTHING,
    cpu: dict[str, Any] | None = None,
    mem_gb: list[float] | None = None,
    ran_s: float | None = None,
    limit_s: float | None = 48 * HOUR_S,
    earlier: Sequence[ComparableRun] = (),
    logged: Sequence[LoggedRun] = (),
    held: Sequence[str] = (),
    step_s: float = MINUTE_S,
    **record: Any,
) -> EarlyFacts:
    """A job on one node with these courses of use, a GPU each; every second GPU reports the power of its module.

    `power_w` is the mean over the job so far, `recent_power_w` over the last `span_s`; both the same unless stated.
    """
    until_s = len(utils[0]) * step_s
    gpus = over_time(*utils, step_s=step_s, mem_gb=mem_gb)
    for number, one in enumerate(gpus):
        one |= {"power_avg_w": power_w, "power_cap_w": 560.0} if number % 2 == 0 and power_w is not None else {}
    host = {"cores_allocated": 56, "busy_cores_avg": busy_cores, "memory_limit_gb": 480.0} | (cpu or {})
    payload = node_payload([], gpus=gpus, cpu=host, node=NODE)
    watts = power_w if recent_power_w is None else recent_power_w
    power = dict.fromkeys(range(0, len(gpus), 2), watts) if watts is not None else {}
    count = len(gpus)
    shape = {
        "state": "RUNNING",
        "ended_at": None,
        "started_at": "2025-11-20T10:00:00Z",
        "gpus_requested": count,
        "gpus_allocated": count,
        "gpus_per_node": count,
        "walltime_used_s": until_s,
        "walltime_requested_s": limit_s,
    }
    return early_facts(
        job_record(**shape | record),
        metrics_of(payload),
        {NODE: NodeStretch(until_s, until_s if span_s is None else span_s, busy_cores, power, memory)},
        ran_s=until_s if ran_s is None else ran_s,
        time_limit_s=limit_s,
        earlier=earlier,
        logged=logged,
        held=held,
    )


def words(facts: EarlyFacts) -> list[str]:
    """The codes of what is said."""
    return [finding.code.value for finding in early_findings(facts)]


def word(facts: EarlyFacts, code: EarlyCode) -> EarlyFinding:
    """The word of this code, which must be said."""
    return next(finding for finding in early_findings(facts) if finding.code is code)
