"""Jobs one after the other on one node, hooks overlapping with the sender: nothing is lost, doubled or left."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import Node, processes
from tests.payloads import decoded, errors_of
from tests.processes import wait_until

JOBS = int(os.environ.get("BACK_TO_BACK_JOBS", "25"))
SECONDS = (0.2, 0.5, 0.0, 1.0, 0.3)
UIDS = (65532, 65533)
"""Two users without a process of their own, as in every prolog."""


@pytest.fixture
def portal() -> Iterator[Answers]:
    with serving(Answers((201, counted()))) as made:
        yield made


@pytest.fixture
def node(tmp_path: Path, portal: Answers) -> Iterator[Node]:
    with Node(tmp_path) as made:
        as_shipped = {"interval_s": 1, "slow_interval_s": 10, "checkpoint_s": 30}
        made.write_config(portal_url=f"http://{portal.address}", ship_max_s=60, **as_shipped)
        yield made


def test_jobs_back_to_back_each_have_one_sound_summary_and_one_record(node: Node, portal: Answers) -> None:
    for number in range(JOBS):
        job = {"SLURM_JOB_ID": str(1000 + number), "SLURM_JOB_UID": str(UIDS[number % 2])}
        job |= {"SLURM_JOB_GPUS": "0-7", "SLURM_JOB_USER": ("alice", "bob")[number % 2]}
        node.hook("prolog", **job)
        time.sleep(SECONDS[number % len(SECONDS)])
        node.hook("epilog", **job)
    wait_until("the sender goes on", lambda: not processes("ship", str(node.config)))
    node.ship()
    wanted = {1000 + number: 1 for number in range(JOBS)}
    documents = {kind: [body for path, _, body in portal.requests if path.endswith(kind)] for kind in ("ies", "rds")}
    summaries, records = documents["ies"], documents["rds"]
    sound = [body["job_id"] for body in summaries if all("avg_util" in gpu for gpu in body["gpus"])]
    assert (Counter(sound), node.samplers()) == (wanted, [])
    assert Counter(body["job_id"] for body in summaries) == Counter(body["job_id"] for body in records) == wanted
    assert {gpu.avg_util for body in summaries for gpu in decoded(body).gpus} == {90.0}
    assert {errors_of(body) for body in summaries} == {()}
    left = [path for path in node.state.rglob("*") if path.is_file() and path.parent.name in ("spool", "records")]
    assert (left, node.jobs()) == ([], [])
