"""Every claimed saving is what the printed request gives, whatever is known of the user's own: for all sample runs."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.assess import assess
from cases.claims import STATES, Claim, claim, claims, printed_request, sample_runs
from jobs.records import JobRecord
from tests.analysis.runs import metrics_of
from tests.cases.noisy_runs import drawn_library, in_one_process
from tests.payloads import gpu, job_record, node_payload

CLAIMS_MIN = 40
"""In each state of knowledge, of both libraries: fewer would hold nothing."""


@in_one_process
def test_every_claim_of_every_sample_run_is_true_in_every_state_of_knowledge() -> None:
    untrue, claimed, diffs = [], Counter[str](), Counter[str]()
    noisy = ((case.name, record, metrics_of(*nodes)) for case, record, nodes in drawn_library())
    for name, record, metrics in chain(sample_runs(), noisy):
        for one in claims(record, metrics):
            claimed[one.state] += one.claimed is not None
            diffs[one.state] += one.is_diff
            untrue += [] if one.is_true else [(name, one)]
    assert untrue == []
    assert all(claimed[state] >= CLAIMS_MIN for state in STATES)
    assert (diffs["complete"] >= CLAIMS_MIN, diffs["from accounting"], diffs["unknown"]) == (True, 0, 0)


@pytest.mark.parametrize(
    ("claimed", "given_hours", "refusal", "is_true"),
    [
        (6.0, 6.0, "", True),
        (6.0, 6.009, "", True),
        (6.0, 5.9, "", False),
        (6.0, None, "", False),
        (6.0, 6.0, "--mem and --mem-per-cpu", False),
        (None, None, "", True),
        (None, 0.0, "", True),
        (None, 2.0, "", False),
        (None, -2.0, "", True),
    ],
)
def test_a_claim_is_true_where_the_printed_request_gives_it(
    claimed: float | None, given_hours: float | None, refusal: str, is_true: bool
) -> None:
    assert Claim("complete", claimed, given_hours, refusal, True).is_true == is_true


Run = tuple[JobRecord, list[dict[str, Any]], dict[str, Any]]
"""A record, its GPUs and its host."""

SPELLINGS = (
    ("--gpus", lambda gpus: str(gpus)),
    ("--gpus", lambda gpus: f"mi250:{gpus}"),
    ("--gpus-per-node", lambda gpus: str(gpus)),
    ("--gres", lambda gpus: f"gpu:{gpus}"),
    ("--gres", lambda gpus: f"gpu:mi250:{gpus}"),
)


@st.composite
def one_node_runs(draw: st.DrawFn) -> Run:
    """A run on one node of a shared or whole-node partition, fully spelled, with any use of GPUs, cores and memory."""
    gpus = draw(st.integers(1, 8))
    tasks = draw(st.sampled_from([1, gpus, 8]))
    cores = draw(st.integers(1, 56 // tasks))
    memory_gb = draw(st.sampled_from([16, 60 * gpus, 64, 300, 480]))
    partition = draw(st.sampled_from(["small-g", "standard-g"]))
    option, spelled = draw(st.sampled_from(SPELLINGS))
    options = {
        "--partition": partition,
        "--nodes": "1",
        option: spelled(gpus),
        "--ntasks": str(tasks),
        "--cpus-per-task": str(cores),
        "--mem": f"{memory_gb}G",
        "--time": "03:00:00",
    }
    is_whole = partition == "standard-g" or draw(st.booleans())
    if is_whole and partition == "small-g":
        options["--exclusive"] = ""
    held = 8 if partition == "standard-g" else gpus
    record = job_record(
        partition=partition,
        state=draw(st.sampled_from(["COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY"])),
        gpus_requested=gpus,
        gpus_allocated=held,
        ntasks=tasks,
        cpus_allocated=56 if is_whole else tasks * cores,
        cpus_per_task=cores,
        memory_requested_gb=float(memory_gb),
        walltime_used_s=draw(st.sampled_from([1800, 7200, 10_800])),
        request=options,
    )
    level = st.sampled_from([0.0, 3.0, 17.5, 30.0, 45.0, 90.0]) | st.floats(0, 100)
    peak = st.sampled_from([0.2, 4.0, 20.0, 63.0])
    measured = [gpu(i, draw(level), peak_mem_gb=draw(peak)) for i in range(held)]
    host = {
        "cores_allocated": record.cpus_allocated,
        "busy_cores_avg": draw(st.floats(0, float(record.cpus_allocated or 0))),
        "ranks": tasks,
        "peak_memory_gb": draw(st.floats(0.5, float(memory_gb))),
    }
    return record, measured, host


@settings(max_examples=60)
@given(
    st.sampled_from([2, 3, 4, 6]),
    st.lists(st.sampled_from([0.0, 3.0, 20.0, 40.0, 90.0]), min_size=6, max_size=6),
    st.integers(0, 8),
    st.sampled_from(["--ntasks", "--ntasks-per-node"]),
    st.sampled_from([4.0, 40.0]),
    st.sampled_from([2.0, 30.0, 54.0]),
)
def test_claims_are_true_on_several_nodes(
    nodes: int, levels: list[float], busy: int, option: str, peak_gb: float, cores: float
) -> None:
    # On each node so many GPUs at its level, the others idle.
    payloads = [
        node_payload(
            node=f"nid00512{index}",
            gpus=[gpu(i, levels[index] if i < busy else 0.0, peak_mem_gb=peak_gb) for i in range(8)],
            cpu={"cores_allocated": 56, "busy_cores_avg": cores, "ranks": 8, "peak_memory_gb": 100.0},
        )
        for index in range(nodes)
    ]
    record = job_record(
        partition="standard-g",
        nodes=[payload.node for payload in payloads],
        node_count=nodes,
        gpus_requested=8 * nodes,
        gpus_allocated=8 * nodes,
        ntasks=8 * nodes,
        cpus_allocated=56 * nodes,
        memory_requested_gb=480.0 * nodes,
        request={
            "--partition": "standard-g",
            "--nodes": str(nodes),
            "--gpus-per-node": "8",
            option: str(8 * nodes if option == "--ntasks" else 8),
            "--time": "03:00:00",
        },
    )
    for one in claims(record, metrics_of(*payloads)):
        assert one.is_true, one


@settings(max_examples=200)
@given(one_node_runs())
def test_claims_are_true_for_any_use_and_any_request(run: Run) -> None:
    record, measured, host = run
    metrics = metrics_of(node_payload(gpus=measured, cpu=host))
    for one in claims(record, metrics):
        assert one.is_true, one


@settings(max_examples=100)
@given(one_node_runs(), st.integers(0, 2**10))
def test_claims_are_true_where_only_some_of_the_request_is_known(run: Run, known: int) -> None:
    record, measured, host = run
    options = {name: value for i, (name, value) in enumerate(record.request.items()) if known >> i & 1}
    metrics = metrics_of(node_payload(gpus=measured, cpu=host))
    judged = assess(job_record(**{name: getattr(record, name) for name in SHAPE}, request=options), metrics)
    one = claim("in part", judged)
    assert one.is_true, (one, printed_request(judged))


SHAPE = (
    "partition state gpus_requested gpus_allocated ntasks cpus_allocated memory_requested_gb walltime_used_s"
).split()
