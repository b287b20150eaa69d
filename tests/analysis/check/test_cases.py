"""What is suggested for a request, against the answers of a sensible colleague."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from analysis.assess import Assessment, assess
from analysis.check.asked import Asked, asked
from analysis.check.earlier import Earlier, compared, earlier
from analysis.check.enough import enough
from analysis.check.risks import risks
from analysis.check.suggestion import Suggestion, suggestion
from analysis.findings import code_list
from analysis.host_share import busy_cores, host_peak_gb
from analysis.works.runs import PastRun
from jobs.records import JobRecord
from jobs.sbatch import apply, refusal, shape_of
from metrics.series import RunMetrics
from tests.analysis.check.cases import CASES, Case, Ran
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Judged:
    """An earlier run as it was stored."""

    record: JobRecord
    metrics: RunMetrics
    assessment: Assessment
    past: PastRun


def stored(number: int, ran: Ran, before: tuple[Judged, ...]) -> Judged:
    """The run as Slurm and the collector reported it, judged beside those before it."""
    shape = asked("lumi", ran.options).shape
    assert shape is not None
    elapsed_s, ended = ran.hours * 3600, NOW - timedelta(days=ran.days_ago)
    record = job_record(
        job_id=number,
        state=ran.state,
        partition=shape.partition,
        gpus_requested=shape.gpus,
        gpus_allocated=shape.gpus,
        gpus_per_node=None,
        ntasks=shape.ntasks,
        cpus_allocated=shape.cores,
        cpus_per_task=None,
        memory_requested_gb=shape.memory_gb,
        walltime_requested_s=shape.walltime_s,
        walltime_used_s=elapsed_s,
        started_at=(ended - timedelta(seconds=elapsed_s)).isoformat(),
        ended_at=ended.isoformat(),
        request=ran.options,
    )
    nodes = [node_payload(gpus=gpus(ran, elapsed_s), cpu=host(ran, shape.cores), job_id=number)] if ran.use else []
    metrics = metrics_of(*nodes)
    past = [each.past for each in before]
    found = assess(record, metrics, past=compared(earlier(past, asked("lumi", ran.options), NOW), past_run(record)))
    return Judged(record, metrics, found, past_run(record, found))


def gpus(ran: Ran, elapsed_s: float) -> list[dict]:
    last = ran.last_use
    series = [[use] * 80 + [use if last is None else last] * 40 for use in ran.use]
    means = [sum(one) / 120 for one in series]
    steady = {"measured_s": elapsed_s, "samples": int(elapsed_s)}
    return [
        gpu(
            index,
            mean,
            peak_mem_gb=ran.gpu_gb if mean > 1 else 0.3,
            active_s=elapsed_s if mean > 1 else 0.0,
            idle_s=0.0 if mean > 1 else elapsed_s,
            util_histogram_s={str(round(mean)): elapsed_s},
            timeline={"step_s": elapsed_s / 120, "util": one, "mem_gb": [ran.gpu_gb] * 120},
            **steady,
        )
        for index, (mean, one) in enumerate(zip(means, series, strict=True))
    ]


def host(ran: Ran, cores: int | None) -> dict:
    working = sum(use > 1 for use in ran.use) or 1
    killed = {"oom_kills": 1} if ran.state == "OUT_OF_MEMORY" else {}
    measured = {"busy_cores_avg": ran.busy_cores, "ranks": working, "peak_memory_gb": ran.host_gb, "idle_fraction": 0.8}
    return {"cores_allocated": cores, **measured, **killed}


def past_run(record: JobRecord, found: Assessment | None = None) -> PastRun:
    columns = {
        "pk": record.job_id,
        "cluster": record.cluster,
        "job_id": record.job_id,
        "attempt": 0,
        "state": record.state,
        "ended_at": record.ended_at,
        "partition": record.partition,
        "nodes": record.node_count,
        "gpus": record.gpus_allocated,
        "ntasks": record.ntasks,
        "cores": record.cpus_allocated,
        "memory_gb": record.memory_requested_gb,
        "walltime_s": record.walltime_requested_s,
        "elapsed_s": record.walltime_used_s,
        "request": record.request,
    }
    if found is None:
        return PastRun(**columns)
    advised = (each.recommended_gpus for each in found.recommendations)
    return PastRun(
        **columns,
        is_judged=True,
        avg_gpu_util=found.efficiency.avg_gpu_util,
        effective_gpus=found.efficiency.effective_gpus,
        gpu_hours=found.efficiency.gpu_hours,
        uncounted_reason=found.efficiency.uncounted_reason or "",
        finding_codes=code_list(each.code for each in found.findings),
        busy_cores=busy_cores(found.facts),
        host_peak_gb=host_peak_gb(found.facts),
        recommended_gpus=next((gpus for gpus in advised if gpus is not None), None),
    )


def history(case: Case) -> dict[int, Judged]:
    """The runs by number, judged in the order in which they ended."""
    found: tuple[Judged, ...] = ()
    for number, ran in enumerate(sorted(case.runs, key=lambda ran: -ran.days_ago), start=1):
        found = (stored(number, ran, found), *found)
    return {each.record.job_id: each for each in found}


def advised_shape(judged: Judged):
    return next((each.wanted for each in judged.assessment.recommendations if each.recommended_gpus is not None), None)


def answer(request: Asked, found: Earlier, ran: dict[int, Judged]) -> tuple[Suggestion | None, str]:
    """What the portal suggests for a request."""
    given, why = suggestion(
        request,
        found,
        lambda run: (ran[run.job_id].record, ran[run.job_id].metrics),
        lambda run: advised_shape(ran[run.job_id]),
    )
    return enough(request, found, given, why)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_is_that_of_a_sensible_colleague(case: Case) -> None:
    ran, request = history(case), asked("lumi", case.options)
    found = earlier([each.past for each in ran.values()], request, NOW)
    given, why = answer(request, found, ran)
    assert tuple(map(str, given.changes)) if given else case.changes == ()
    assert (tuple(map(str, given.changes)) if given else (), why) == (case.changes, case.why)
    if given:
        assert given.block == ()
        changed = apply(request.options, given.changes)
        assert refusal(changed) is None
        assert shape_of(changed, request.partition and asked("lumi", changed).partition, None, 2) is not None
        # What the suggestion costs is computed from `wanted`, so the request must be that with its changes.
        next_shape = asked("lumi", changed).shape
        assert (next_shape.gpus, next_shape.nodes) == (given.wanted.gpus, given.wanted.nodes)
        assert next_shape.walltime_s == (given.wanted.walltime_s or request.shape.walltime_s)
        expected = None if case.saves is None else pytest.approx(case.saves, abs=0.005)
        assert (given.saves and given.saves * case.tasks) == expected
    assert tuple(risk.code for risk in risks(found, request)) == case.risks
