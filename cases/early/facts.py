"""The facts of a running job as the portal has them at a cut: from the payloads that were sent until then."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from analysis.comparable import ComparableRun
from analysis.early.facts import EarlyFacts, MemoryCourse, NodeStretch, early_facts
from analysis.progress.logged import LoggedRun
from cases.early.cutting import Course, Cut
from cases.early.pairs import Pair
from cases.early.situation import Progress
from jobs.experiments.points import Points, merged
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from tests.analysis.runs import metrics_of

OF_THE_QUEUE = (
    "cluster job_id attempt user_id project_id job_name partition node_count gpus_requested gpus_allocated"
    " cpus_allocated memory_requested_gb is_exclusive"
).split()
"""What is known of a running job by its queue; what it requested is not, but for the numbers that it was allocated."""


def facts_of(pair: Pair, held: Collection[str] = ()) -> EarlyFacts:
    """What the portal knows at the cut: the newest payload of each node, the queue's record, what was logged, and the
    words that held at the cut before."""
    cut, course, situation = pair.cut, pair.cut.course, pair.situation
    until_s = {str(one["node"]): _until_s(one, course) for one in cut.standing}
    payloads = [msgspec.convert(one, NodePayload, str_keys=True) for one in cut.standing]
    progress = situation.progress if situation else None
    return early_facts(
        _record(course, tuple(until_s), max(until_s.values(), default=0.0)),
        metrics_of(*payloads),
        {str(one["node"]): _stretch(one, until_s[str(one["node"])]) for one in cut.standing},
        ran_s=cut.at_s,
        time_limit_s=course.limit_s,
        earlier=[ComparableRun(gpus, elapsed_s) for elapsed_s, gpus in situation.earlier_runs] if situation else (),
        logged=[_logged(progress, course, cut)] if progress else (),
        held=held,
    )


def _record(course: Course, nodes: tuple[str, ...], until_s: float) -> JobRecord:
    known = {name: course.record[name] for name in OF_THE_QUEUE if course.record.get(name) is not None}
    allocated = known.get("gpus_allocated") or known.get("gpus_requested")
    counts = {"gpus_requested": allocated, "gpus_allocated": allocated} if allocated else {}
    missing = {"user_id": "alice", "project_id": "project_465000001", "job_name": course.job_name}
    state = {
        "state": "RUNNING",
        "nodes": nodes,
        "started_at": course.record["started_at"],
        "walltime_used_s": until_s,
        "walltime_requested_s": course.limit_s,
        "node_count": known.get("node_count") or len(course.record["nodes"]),
    }
    return msgspec.convert(missing | known | counts | state, JobRecord)


def _until_s(payload: Mapping[str, Any], course: Course) -> float:
    return (datetime.fromisoformat(payload["ended_at"]) - course.started_at).total_seconds()


def _stretch(payload: Mapping[str, Any], until_s: float) -> NodeStretch:
    cpu = payload.get("cpu") or {}
    watts = {gpu["gpu_id"]: gpu.get("recent_power_avg_w") for gpu in payload["gpus"]}
    return NodeStretch(
        until_s=until_s,
        span_s=float(payload["recent_s"]),
        busy_cores=float(cpu.get("recent_busy_cores", np.nan)),
        power_w={gpu_id: float(power_w) for gpu_id, power_w in watts.items() if power_w is not None},
        memory=_memory(cpu.get("memory_timeline")),
    )


def _memory(timeline: Mapping[str, Any] | None) -> MemoryCourse:
    if timeline is None:
        return MemoryCourse(np.zeros(0), np.zeros(0))
    gb = np.array(timeline["gb"], dtype=np.float64)
    at_s = (np.arange(gb.size) + 0.5) * timeline["step_s"]
    return MemoryCourse(at_s[~np.isnan(gb)], gb[~np.isnan(gb)])


def _logged(progress: Progress, course: Course, cut: Cut) -> LoggedRun:
    """The steps of a loss; epochs as a metric that counts them."""
    start_ms = round(course.started_at.timestamp() * 1000)
    seen = [(second, step) for second, step in progress.points if second <= cut.at_s]
    steps = np.array([step for _, step in seen], dtype=np.int64)
    times_ms = np.array([start_ms + round(second * 1000) for second, _ in seen], dtype=np.int64)
    is_epochs = "epoch" in progress.parameter
    values = steps.astype(np.float64) if is_epochs else np.linspace(3.0, 1.0, steps.size)
    series = {"epoch" if is_epochs else "train_loss": merged(None, Points(steps, times_ms, values))} if seen else {}
    return LoggedRun({} if progress.total is None else {progress.parameter: str(progress.total)}, series)
