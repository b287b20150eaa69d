"""What cannot stand together in one report, each with a report in which it does and one in which it may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.assess import Assessment
from analysis.findings import Evidence, Finding, FindingCode
from analysis.next_request import next_request, requested_shape
from analysis.rightsizing import Recommendation, RecommendationKind
from analysis.savings import Savings
from cases.contradictions import contradictions, is_early_end, request_after, weak_findings
from jobs.sbatch import OptionChange
from tests.payloads import gpu
from tests.reports.builders import judged

# The job of the builders: 2 of 8 GPUs at 88 %, 2 h of 3 h on small-g with 56 cores (7.9 busy) and 480 GB (80.2 used),
# billed for 8 slices of half a GPU-hour: 8 GPU-hours.
BUSY = [gpu(index, 90.0, peak_mem_gb=20.0) for index in range(8)]
HALF_BUSY = [gpu(index, 50.0, peak_mem_gb=20.0) for index in range(8)]


def found(base: Assessment, *codes: str, **evidence: Evidence) -> Assessment:
    """The same run with these findings and no advice; `evidence` by code."""
    findings = tuple(Finding(FindingCode(code), 0.8, evidence.get(code, {})) for code in (*codes, *evidence))
    return replace(base, findings=findings, recommendations=(), savings=None)


def advised(base: Assessment, *wanted: dict[str, Any], basis: str = "active_gpus", saved: float = 0.0) -> Assessment:
    """The same run with a piece of advice for each of these changes of its request."""
    now = requested_shape(base.facts)
    advice = tuple(
        Recommendation(RecommendationKind.GPUS, basis, {}, shape, (), written.block if written else ())
        for changes in wanted
        for shape in [replace(now, **changes)]
        for written in [next_request(base.facts, shape) if changes else None]
    )
    savings = Savings(saved, "same_run_time", base.facts.elapsed_s) if saved else None
    return replace(base, recommendations=advice, savings=savings)


def bare(gpus: list[dict[str, Any]] | None = None, **record: Any) -> Assessment:
    return found(judged(gpus, **record))


def test_a_run_of_which_nothing_is_said_does_not_contradict_itself() -> None:
    assert contradictions(bare()) == []
    assert contradictions(bare(BUSY)) == []
    assert contradictions(bare([])) == []


FULL = {"full_gpus": 8, "gpus": 8}
EDGES = {"late_start": {"idle_s": 4000.0}, "idle_tail": {"idle_s": 3300.0}}
FOUND = [
    (found(bare(), "no_gpu_use"), "no_gpu_use beside 2 GPUs in effective use"),
    (found(bare([gpu(0, 0.0)]), "no_gpu_use", "idle_tail"), "no_gpu_use beside idle_tail"),
    (
        found(bare(BUSY), "gpu_memory_pressure", "gpu_out_of_memory"),
        "gpu_memory_pressure beside gpu_out_of_memory",
    ),
    (found(bare(HALF_BUSY), "overscaling", "cpu_bottleneck"), "overscaling beside cpu_bottleneck"),
    (found(bare(), "timeout", "walltime_overrequest"), "timeout beside walltime_overrequest"),
    (
        found(bare(BUSY), "busy_but_waiting", timeout={"pattern": "busy"}),
        "timeout calls the GPUs at work beside busy_but_waiting",
    ),
    (found(bare(HALF_BUSY), **EDGES), "late_start and idle_tail together last 7300 s of 7200 s"),
    (
        found(bare(HALF_BUSY), io_or_sync_stall={"points_to": "synchronisation", "iowait_fraction": 0.25}),
        "a stall of ranks beside a host that waited for files 25% of the time",
    ),
    (
        found(bare(HALF_BUSY), io_or_sync_stall={"points_to": "io", "io_pressure_fraction": 0.02}),
        "a stall for files beside a host that waited for them 2% of the time",
    ),
    (
        found(bare(), parallelism_mismatch={"pattern": "ranks_share_gpus", "ranks": 2}),
        "ranks that share GPUs on nid005123, where 2 ranks had 2 GPUs",
    ),
    (found(bare(), "exclusive_node_underused"), "exclusive_node_underused of a job that shared its nodes"),
    (found(bare(), idle_gpus={"idle_gpus": 7}), "idle_gpus counts 7 GPUs, measured idle are 6"),
    (found(bare([gpu(0, 0.0)]), idle_gpus={"idle_gpus": 1}), "idle_gpus counts all 1 measured GPUs"),
    (found(bare(BUSY), parallelism_mismatch={"active_gpus": 8}), "parallelism_mismatch with all GPUs active"),
    (found(bare(BUSY), "low_use_unexplained"), "low_use_unexplained in class EFFICIENT"),
    (
        found(bare(HALF_BUSY), "low_use_unexplained", "io_or_sync_stall"),
        "low_use_unexplained beside io_or_sync_stall",
    ),
    (found(bare([]), "overscaling"), "overscaling without a measurement of the GPUs"),
    (
        found(bare(HALF_BUSY, walltime_used_s=290), "load_imbalance"),
        "load_imbalance of a run that ended COMPLETED after 290 s",
    ),
    (
        found(bare([gpu(0, 0.0)], state="FAILED", walltime_used_s=590), "no_gpu_use"),
        "no_gpu_use of a run that ended FAILED after 590 s",
    ),
]


@pytest.mark.parametrize(("assessment", "line"), FOUND, ids=[line for _, line in FOUND])
def test_findings_that_cannot_both_hold_are_named(assessment: Assessment, line: str) -> None:
    assert contradictions(assessment) == [line]


AT_PEACE = {
    "a GPU that never worked": found(bare([gpu(0, 0.0)]), "no_gpu_use", "timeout"),
    "one core of every rank is a hint only": found(
        bare(HALF_BUSY), "overscaling", cpu_bottleneck={"pattern": "one_core_per_rank"}
    ),
    "a stall of ranks beside a quiet host": found(
        bare(HALF_BUSY), io_or_sync_stall={"points_to": "synchronisation", "iowait_fraction": 0.02}
    ),
    "a whole node for two GPUs": found(bare(is_exclusive=True), "exclusive_node_underused"),
    "a timeout that says that they spun": found(bare(BUSY), "busy_but_waiting", timeout={"pattern": "spinning"}),
    "edges that fit the run": found(bare(HALF_BUSY), late_start={"idle_s": 4000.0}, idle_tail={"idle_s": 3200.0}),
    "as many idle GPUs as measured": found(bare(), "parallelism_mismatch", idle_gpus={"idle_gpus": 6}),
    "a busy run that failed unexplained": found(bare(BUSY, state="FAILED"), "low_use_unexplained"),
    "a fact beside low use unexplained": found(bare(HALF_BUSY), "low_use_unexplained", "walltime_overrequest"),
    "memory that ran out within minutes": found(bare(BUSY, state="FAILED", walltime_used_s=60), gpu_out_of_memory=FULL),
    "a crash after ten minutes": found(bare([gpu(0, 0.0)], state="FAILED", walltime_used_s=600), "no_gpu_use"),
}


@pytest.mark.parametrize("assessment", AT_PEACE.values(), ids=AT_PEACE.keys())
def test_findings_that_go_together_are_not(assessment: Assessment) -> None:
    assert contradictions(assessment) == []


def _on_four(run_s: float) -> Assessment:
    """Advice for half of the GPUs of a run at 50 %, said to take so long."""
    half = {"gpus": 4, "ntasks": 4, "cores": 28, "memory_gb": 240.0}
    base = advised(found(bare(HALF_BUSY), "overscaling"), half)
    return replace(base, savings=Savings(0.5, "same_busy_gpu_seconds", run_s))


FEWER = {"gpus": 2, "ntasks": 2, "cores": 14, "memory_gb": 120.0}
ADVISED = [
    (
        advised(found(bare(), gpu_out_of_memory=FULL), FEWER),
        "advice for 2 GPUs beside gpu_out_of_memory on all of them",
    ),
    (
        advised(found(bare(), gpu_memory_pressure=FULL), FEWER),
        "advice for 2 GPUs beside gpu_memory_pressure on all of them",
    ),
    (advised(bare(), FEWER | {"gpus": 1}), "advice for 1 GPUs with 2 in effective use"),
    # 8 GPUs at 50 % are the work of 4 at 100 %.
    (advised(found(bare(HALF_BUSY), "overscaling"), FEWER | {"gpus": 3}), "advice for 3 GPUs with the work of 4.0"),
    # 8 GPUs at 10 % are the work of 1, and hold 8 x 20 GB: more than 2 x 64 GB.
    (
        advised(found(bare([gpu(index, 10.0, peak_mem_gb=20.0) for index in range(8)]), "overscaling"), FEWER),
        "advice for 2 GPUs of 64 GB with 160 GB on those that worked",
    ),
    # 8 GPUs at 50 % for 7200 s are 28,800 busy GPU-seconds: 100 % of 4 GPUs in the same time.
    (
        _on_four(run_s=7200.0),
        "a saving in 7200 s on 4 GPUs, which the work fills to 100 %",
    ),
    (advised(bare(BUSY), {"gpus": 16, "nodes": 2}), "advice for 16 GPUs, more than the 8 of the run"),
    (advised(bare(BUSY), {"walltime_s": 7100.0}), "a time limit of 7100 s for a run of 7200 s"),
    (
        advised(found(bare(BUSY), "busy_but_waiting"), {"walltime_s": 20000.0}),
        "advice for more time beside busy_but_waiting",
    ),
    (advised(found(bare(BUSY), "timeout"), {"walltime_s": 9000.0}), "advice for less time beside timeout"),
    (
        advised(found(bare(BUSY), "walltime_overrequest"), {"walltime_s": 20000.0}),
        "advice for more time beside walltime_overrequest",
    ),
    (advised(bare(BUSY), {"cores": 7}), "7 cores advised, 7.9 were busy"),
    (advised(bare(BUSY), {"memory_gb": 80.0}), "80.0 GB of host memory advised, 80.2 GB were used"),
    (advised(bare(BUSY), {}), "advice that changes nothing"),
    (
        advised(bare(BUSY), {"walltime_s": 7200.0}, {"walltime_s": 9000.0}),
        "gpus and gpus change walltime_s in two ways",
    ),
    (
        advised(bare(BUSY), {"walltime_s": 8000.0}, saved=1.0),
        "a saving of 1.00 GPU-hours and no advice that lowers the bill",
    ),
    # 2 of 8 slices: 8 less 2 GPU-hours.
    (advised(bare(), FEWER, saved=6.5), "a saving of 6.50 GPU-hours where the advised request saves 6.00"),
    (advised(bare(cluster="other"), FEWER, saved=1.0), "a saving without a price"),
    (
        advised(bare(), FEWER | {"memory_gb": 500.0}),
        "advice for 500 GB of host memory on 1 nodes of small-g, which gives 480",
    ),
    (
        advised(bare(BUSY, walltime_used_s=200), FEWER),
        "advice on GPUs (active_gpus) of a run that ended COMPLETED after 200 s",
    ),
]


@pytest.mark.parametrize(("assessment", "line"), ADVISED, ids=[line for _, line in ADVISED])
def test_advice_against_the_run_is_named(assessment: Assessment, line: str) -> None:
    assert line in contradictions(assessment)


GOOD_ADVICE = {
    "the GPUs that worked": advised(found(bare(), idle_gpus={"idle_gpus": 6}), FEWER, saved=6.0),
    # 28,800 busy GPU-seconds are 70 % of 4 GPUs in 10,286 s.
    "the same work on half of them, for longer": _on_four(run_s=10_290.0),
    "the work of all on half of them": advised(found(bare(HALF_BUSY), "overscaling"), {"gpus": 6}),
    "what an own run on fewer GPUs showed": advised(bare(HALF_BUSY), {"gpus": 3}, basis="own_scaling"),
    "a partition without GPUs": advised(
        bare([gpu(0, 0.0)]), {"gpus": 0, "cores": 32, "partition": "small"}, basis="cpu_work", saved=8.0
    ),
    "a limit that holds the run": advised(bare(BUSY), {"walltime_s": 9000.0}),
    "more time after a timeout": advised(found(bare(BUSY), "timeout"), {"walltime_s": 20000.0}),
    "two parts of the request": advised(bare(), FEWER, FEWER | {"walltime_s": 9000.0}),
    "the host memory that was used": advised(bare(BUSY), {"memory_gb": 100.0}),
}


@pytest.mark.parametrize("assessment", GOOD_ADVICE.values(), ids=GOOD_ADVICE.keys())
def test_advice_that_fits_the_run_is_not(assessment: Assessment) -> None:
    assert contradictions(assessment) == []


def test_one_option_advised_in_two_ways_is_named() -> None:
    both = advised(bare(), FEWER, FEWER | {"walltime_s": 9000.0})
    first, second = (
        replace(advice, changes=(OptionChange("--mem", "480G", memory),))
        for advice, memory in zip(both.recommendations, ("120G", "97G"), strict=True)
    )
    assert "gpus and gpus change --mem in two ways" in contradictions(replace(both, recommendations=(first, second)))


def test_the_request_after_follows_all_advice() -> None:
    wanted = request_after(advised(bare(), FEWER, FEWER | {"walltime_s": 9000.0}))
    assert (wanted.gpus, wanted.cores, wanted.memory_gb, wanted.walltime_s) == (2, 14, 120.0, 9000.0)
    assert request_after(bare()) == requested_shape(bare().facts)


def test_an_early_end_is_one_under_five_minutes_or_a_crash_within_ten() -> None:
    ends = [("COMPLETED", 299), ("COMPLETED", 300), ("CANCELLED", 599), ("CANCELLED", 600), ("TIMEOUT", 400)]
    early = [is_early_end(bare(state=state, walltime_used_s=seconds).facts) for state, seconds in ends]
    assert early == [True, False, True, False, False]


def test_an_inference_of_next_to_no_confidence_is_named_and_a_fact_is_not() -> None:
    weak = Finding(FindingCode.OVERSCALING, 0.04, {})
    fact = Finding(FindingCode.NO_GPU_USE, 0.01, {})
    strong = Finding(FindingCode.LOAD_IMBALANCE, 0.2, {})
    no_cause = Finding(FindingCode.LOW_USE_UNEXPLAINED, 0.1, {})
    assert weak_findings(replace(bare(), findings=(weak, fact, strong, no_cause))) == ["overscaling at 4%"]
