"""Real Slurm, real hooks, a portal that only counts: nothing is lost or doubled in back-to-back work, and records hold
what sbatch was given."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.payloads import decoded, errors_of
from tests.processes import wait_until
from tests.slurm.case_nodes import seconds_of
from tests.slurm.cluster import ACCOUNT, CLUSTER, USER
from tests.slurm.hooks import Nodes

pytestmark = pytest.mark.slurm

JOBS = int(os.environ.get("BACK_TO_BACK_JOBS", "30"))
LONGEST_S = float(os.environ.get("BACK_TO_BACK_SECONDS", "0.8"))
SECOND_USER = "news"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    try:
        made.cluster.run("sacctmgr", "-iQ", "add", "user", SECOND_USER, f"cluster={CLUSTER}", f"account={ACCOUNT}")
        yield made
    finally:
        made.stop()


def records(nodes: Nodes) -> dict[int, dict[str, Any]]:
    return {body["job_id"]: body for body in nodes.received("job-records")}


def wait_for_records(nodes: Nodes, jobs: list[int], seconds: float) -> None:
    wait_until("every record", lambda: set(jobs) <= records(nodes).keys(), seconds)


def left(nodes: Nodes) -> list[str]:
    """What lies on the nodes of jobs, payloads and failures."""
    kept = ("ship.lock", "ship.queue", "calibration")
    files = [path for path in nodes.top.glob("nodes/*/state/**/*") if path.is_file() or path.parent.name == "jobs"]
    files += nodes.top.glob("nodes/*/failures")
    return [str(path) for path in files if path.name not in kept and path.parent.name != "closed"]


def test_every_one_of_many_jobs_back_to_back_has_one_sound_summary_and_one_record(nodes: Nodes) -> None:
    dice, whole_node = random.Random(7), ("--nodelist=nid005001", "--gpus=8", "--ntasks=64", "--mem=0", "--time=10")
    lasting = {}
    for number in range(JOBS):
        seconds = f"{dice.uniform(0.2, LONGEST_S):.2f}"
        user = (USER, SECOND_USER)[number % 2]
        job = nodes.cluster.submit(nodes.fake.work, *whole_node, arguments=("90", seconds), user=user)
        lasting[job] = float(seconds)
    wait_for_records(nodes, list(lasting), 4 * (60 + JOBS * (LONGEST_S + 3)))
    summaries = nodes.received("node-summaries")
    once = dict.fromkeys(lasting, 1)
    assert Counter(body["job_id"] for body in summaries) == once
    assert Counter(body["job_id"] for body in nodes.received("job-records")) == once
    assert {errors_of(body) for body in summaries} == {()}
    found = [decoded(body) for body in summaries]
    assert {len(each.gpus) for each in found} == {8}
    # Sampling begins with the prolog and ends with the epilog, so no two jobs of a node are sampled at once.
    assert all(gpu.measured_s > 0 for each in found for gpu in each.gpus)
    spans = sorted((each.started_at, each.ended_at) for each in found)
    assert [next_at for (_, ended_at), (next_at, _) in pairwise(spans) if next_at < ended_at] == []
    assert all(gpu.measured_s < seconds_of(each) + 1 for each in found for gpu in each.gpus)
    assert all(gpu.avg_util <= 90 for each in found for gpu in each.gpus)
    # The second user's work may not show itself in the files that the first one's made.
    owners = {job: body["user_id"] for job, body in records(nodes).items()}
    long = [each for each in found if owners[each.job_id] == USER and lasting[each.job_id] > 0.6]
    shown = [each for each in long if min(gpu.avg_util * gpu.measured_s for gpu in each.gpus) > 10]
    assert len(shown) > len(long) / 2
    assert {body["user_id"] for body in records(nodes).values()} == {USER, SECOND_USER}
    assert {body["state"] for body in records(nodes).values()} == {"COMPLETED"}
    wait_until("the samplers and the sender to end", lambda: not nodes.samplers() and not left(nodes))


NEWLINE = "x\n   JobState=FAILED AllocTRES=gres/gpu=1 NodeList=nid[1-9999999]\n1|1|N/A|FAILED|"
COMMON = {"--time": "00:05:00", "--partition": "small-g"}
CORE, SHARE = {"--mem-per-cpu": "1G"}, {"--mem": "1G"}
"""What slurm.conf gives every job; of one core a node both are one amount."""

CASES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "gpus per node": (
        ("--gpus-per-node=8", "--cpus-per-task=8"),
        {"--gpus-per-node": "8", "--cpus-per-task": "8"} | CORE,
    ),
    "gres": (("--gres=gpu:2", "--ntasks=2"), {"--gpus-per-node": "2", "--ntasks": "2"} | CORE),
    "typed": (("--gpus=mi250:4", "--ntasks=4"), {"--gpus": "mi250:4", "--ntasks": "4"} | CORE),
    "per task": (("--gpus-per-task=1", "--ntasks=4"), {"--gpus-per-task": "1", "--ntasks": "4"} | CORE),
    "per socket": (("--gpus-per-socket=2", "--sockets-per-node=1"), {"--gpus-per-socket": "2"} | SHARE),
    "two nodes": (
        ("--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=mi250:4"),
        {"--nodes": "2", "--ntasks-per-node": "4", "--gpus-per-node": "mi250:4"} | CORE,
    ),
    "memory a GPU": (
        ("--gpus=2", "--mem-per-gpu=60G", "--cpus-per-gpu=7"),
        {"--gpus": "2", "--mem-per-gpu": "60G", "--cpus-per-gpu": "7"},
    ),
    "memory a core": (
        ("--gpus=1", "--ntasks=2", "--cpus-per-task=4", "--mem-per-cpu=1500M"),
        {"--gpus": "1", "--ntasks": "2", "--cpus-per-task": "4", "--mem-per-cpu": "1500M"},
    ),
    "memory a node": (
        ("--gpus=1", "--cpus-per-task=4", "--mem=6G"),
        {"--gpus": "1", "--cpus-per-task": "4", "--mem": "6G"},
    ),
    "a whole node": (("--gpus=1", "--exclusive"), {"--gpus": "1", "--exclusive": ""} | CORE),
    NEWLINE: (("--gpus=1",), {"--gpus": "1"} | SHARE),
}


def test_a_record_holds_what_sbatch_was_given(nodes: Nodes) -> None:
    submitted = {
        nodes.cluster.submit(nodes.fake.work, f"--job-name={name}", "--time=5", *options, arguments=("50", "1")): name
        for name, (options, _) in CASES.items()
    }
    wait_for_records(nodes, list(submitted), 120)
    found = {name: records(nodes)[job] for job, name in submitted.items()}
    assert {name: body["request"] for name, body in found.items()} == {
        name: COMMON | wanted for name, (_, wanted) in CASES.items()
    }
    assert {name: body["job_name"] for name, body in found.items()} == {name: name for name in CASES}
    assert {(body["state"], body["exit_code"], body["user_id"]) for body in found.values()} == {
        ("COMPLETED", "0:0", USER)
    }
    assert {
        name: body["gpus_allocated"] for name, body in found.items() if name in (NEWLINE, "two nodes", "per task")
    } == {NEWLINE: 1, "two nodes": 8, "per task": 4}
    assert all(
        body["submitted_at"] <= body["eligible_at"] <= body["started_at"] <= body["ended_at"] for body in found.values()
    )
    assert [len(body["nodes"]) for body in (found[NEWLINE], found["two nodes"])] == [1, 2]
