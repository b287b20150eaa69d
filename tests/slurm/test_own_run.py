"""`run -- COMMAND` inside the jobs of a plain user, at a site without hooks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.collector.hook_node import measured
from tests.processes import wait_until
from tests.slurm.cluster import USER
from tests.slurm.hooks import SYSTEM_PYTHON, Nodes

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def site() -> Iterator[Nodes]:
    site = Nodes()
    try:
        site.switch_hooks(is_on=False)
        yield site
    finally:
        site.stop()


@pytest.fixture
def place(site: Nodes, request: pytest.FixtureRequest) -> Path:
    """Where the user submits from."""
    folder = site.top / request.node.name
    folder.mkdir()
    shutil.chown(folder, USER)
    return folder


def submit(site: Nodes, place: Path, script: str, *options: str) -> int:
    (place / "collector.conf").write_text(f"sysfs_root = {site.top}/nodes/{{node}}/sys\ninterval_s = 0.2\n")
    run = f"{SYSTEM_PYTHON} -IS {site.top}/kaiku-collector.pyz run --config {place}/collector.conf --"
    path = place / "job.sh"
    path.write_text("#!/bin/bash\n" + script.format(run=run, work=site.fake.work))
    return site.cluster.submit(path, f"--chdir={place}", f"--output={place}/out", *options)


def kept(place: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_bytes()) for path in sorted(place.glob("kaiku-*.json"))}


def ended(site: Nodes, job_id: int) -> None:
    wait_until("the job's end", lambda: site.cluster.state(job_id) == "")


def test_one_summary_a_node_of_a_step_with_several_tasks(site: Nodes, place: Path) -> None:
    script = "srun --ntasks-per-node=2 {run} bash -c '[ $SLURM_LOCALID != 0 ] && sleep 3 || {work} 80 3 5'\n"
    script += "echo ended with $? >status\n"
    job_id = submit(site, place, script, "--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=4", "--job-name=own")
    ended(site, job_id)
    assert (place / "status").read_text() == "ended with 5\n"
    found = kept(place)
    nodes = [payload["node"] for payload in found.values()]
    assert list(found) == [f"kaiku-{job_id}.0-{node}.json" for node in nodes]
    assert len(nodes) == 2, (place / "out").read_text()
    for payload in found.values():
        assert [70 <= util <= 80 for util in measured(payload)] == [True] * 4
        facts = payload["own_run"]
        assert (facts["user_id"], facts["job_name"], facts["node_count"]) == (USER, "own", 2)
        assert (facts["state"], facts["exit_code"]) == ("FAILED", "5:0")
    said = (place / "out").read_text()
    assert said.count("mean use") == 2  # the line of the first node, and the head of its table


def test_steps_side_by_side_and_the_batch_script_each_keep_their_own(site: Nodes, place: Path) -> None:
    script = "srun -n1 --gpus=1 --exact {run} {work} 90 2 &\nsrun -n1 --gpus=1 --exact {run} {work} 40 2 &\nwait\n"
    script += "{run} {work} 60 1.5\n"
    job_id = submit(site, place, script, "--ntasks=2", "--gpus=2", "--nodes=1", "--mem-per-cpu=100")
    ended(site, job_id)
    (node,) = {payload["node"] for payload in kept(place).values()}
    assert sorted(kept(place)) == sorted(f"kaiku-{job_id}{step}-{node}.json" for step in (".0", ".1", ""))


def test_a_cancelled_job_keeps_its_summary(site: Nodes, place: Path) -> None:
    # Slurm ends all of its processes: the work may be gone before the shell that waits for it hears of it.
    command = 'trap "exit 9" TERM; {work} 75 600 & while :; do wait; done'
    job_id = submit(site, place, f"srun {{run}} bash -c '{command}'\n", "--gpus=2")
    wait_until("some seconds", lambda: _seconds(site, job_id) >= 4)
    site.cluster.run("scancel", str(job_id))
    ended(site, job_id)
    wait_until("the summary", lambda: kept(place))
    (payload,) = kept(place).values()
    assert measured(payload) == pytest.approx([75.0, 75.0], abs=8)
    assert payload["own_run"]["exit_code"] == "9:0"


def _seconds(site: Nodes, job_id: int) -> int:
    clock = site.cluster.run("squeue", "-h", "-o", "%M", "-j", str(job_id)).strip()
    return int(clock.rpartition(":")[2] or 0)
