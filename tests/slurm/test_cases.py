"""The table of cases on a real Slurm: what users do with jobs and what happens to nodes, all at the same time.

Single and multi-node jobs, arrays, shared nodes, requeues, failures, time limits and accounting are in `test_jobs`,
back-to-back work and what sbatch was given in `test_many_jobs`, the installation in `test_install`, what needs control
groups in `test_control_groups`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slurm import cases_of_jobs as jobs
from tests.slurm import cases_of_nodes as on_nodes
from tests.slurm.case_nodes import CaseNodes
from tests.slurm.together import Case, Running, started

pytestmark = pytest.mark.slurm

TABLE: dict[str, Case] = {
    "a job that its user cancels, running and pending": jobs.cancelled,
    "a heterogeneous job": jobs.heterogeneous,
    "several steps, one after the other and at once": jobs.several_steps,
    "a job that is suspended and resumed": jobs.suspended,
    "two jobs on one GPU": jobs.one_gpu_of_two_jobs,
    "a name and a comment made to deceive": jobs.hostile_name,
    "half of an exclusive node, and GPUs for each task": jobs.half_of_a_node,
    "a job that is over at once, and one that cannot be launched": jobs.over_at_once,
    "a prolog that fails after ours": on_nodes.failing_prolog,
    "a sampling process that is killed": on_nodes.killed_sampler,
    "a GPU whose files hang": on_nodes.hanging_gpu,
    "a portal that is away for the whole job": on_nodes.portal_away,
    "epilogs at the same moment": on_nodes.epilogs_at_once,
    "a slurmd that is started again": on_nodes.restarted_slurmd,
    "a node that is gone without a word": on_nodes.crashed_node,
    "a state folder that is full or read-only": on_nodes.state_folder,
}


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """All cases at once on the same four nodes; each knows which of them it may disturb."""
    nodes = CaseNodes()
    try:
        with started(request, nodes) as cases:
            yield cases
    finally:
        nodes.stop()


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())
def test_in(running: Running, case: Case) -> None:
    running[case].result()
