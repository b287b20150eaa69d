"""A job of a real Slurm that goes on: the timer's sender tells the portal of it, and its end replaces that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.processes import wait_until
from tests.slurm.site import Site

pytestmark = pytest.mark.slurm

NODE = "nid005001"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    try:
        site.configure(NODE, interim_first_s=0.5, interim_every_s=0.5)
        yield site
    finally:
        site.stop()


def rows(site: Site, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(site.address) as connection:
        return connection.execute(query).fetchall()


def summaries(site: Site) -> list[tuple[Any, ...]]:
    """Node, number and whether it is final, of every summary that the portal has."""
    return rows(site, "SELECT node, sequence, is_final FROM metrics_nodesummary")


def test_a_running_job_is_told_of_and_counted_once_when_it_has_ended(site: Site) -> None:
    job_id = site.cluster.submit(site.nodes.work, f"--nodelist={NODE}", "--gpus=4", arguments=("0", "25"))
    wait_until("the job to run", lambda: site.cluster.state(job_id) == "RUNNING")

    def told(number: int) -> bool:
        site.ship(NODE)
        return summaries(site) == [(NODE, number, False)]

    # Two of them, each from a checkpoint of its own.
    wait_until("the first interim summary", lambda: told(1))
    wait_until("the second one", lambda: told(2))
    ((running_id, number, recent_s, figures),) = rows(
        site, "SELECT job_id, sequence, recent_s, figures FROM metrics_runningnode"
    )
    assert (running_id, number) == (job_id, 2)
    assert 0 < recent_s < 25
    # GPUs 0 and 2 report the power of their modules, which idle at 90 W.
    assert figures["power_w"] == {"0": pytest.approx(90, abs=30), "2": pytest.approx(90, abs=30)}
    assert site.cluster.state(job_id) == "RUNNING"
    assert site.reports() == {}, "a run that goes on is not judged"

    wait_until("the report", lambda: f"{job_id}.0" in site.reports())
    ((node, number, is_final),) = summaries(site)
    assert (node, is_final) == (NODE, True)
    assert number >= 3
    assert rows(site, "SELECT count(*) FROM metrics_runningnode") == [(0,)]
    assert rows(site, "SELECT count(*), sum(gpus_allocated) FROM jobs_job") == [(1, 4)]
    assert len(site.reports()) == 1
    efficiency = site.reports()[f"{job_id}.0"]["efficiency"]
    assert (efficiency["efficiency_class"], efficiency["measured_gpus"]) == ("WASTED", 4)
    # Four GPUs are two modules, for 25 s and counted once.
    assert efficiency["gpu_hours"] == pytest.approx(2 * 25 / 3600, rel=0.3)
