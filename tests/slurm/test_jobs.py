"""Real Slurm, real hooks: every kind of job ends as a report, with the right class, without a human step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.processes import wait_until
from tests.slurm.cluster import ACCOUNT, USER
from tests.slurm.logging_person import LoggingPerson, page
from tests.slurm.site import Site

pytestmark = pytest.mark.slurm

"""Slurm looks for overdue jobs twice a minute, so a limit of one minute ends a job after up to ninety seconds."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    try:
        yield site
    finally:
        site.stop()


class Submitted:
    """The ids of the jobs that all run together on the four nodes."""

    def __init__(self, site: Site) -> None:
        submit, work = site.cluster.submit, site.nodes.work
        on_each = site.top / "on-each-node"
        on_each.write_text(f'#!/bin/bash\nsrun --ntasks-per-node=1 {work} "$@"\n')
        on_each.chmod(0o755)
        self.person = LoggingPerson(site)
        one, shared = "--nodelist=nid005001", "--nodelist=nid005004"
        whole = "--partition=standard-g"
        # Before all others: while hooks are away, no other job may begin or end.
        site.switch_hooks(is_on=False)
        self.missed = submit(work, "--gpus=2", arguments=("90", "2"))
        wait_until("the job that no hook sees", lambda: site.cluster.state(self.missed) == "")
        site.switch_hooks(is_on=True)
        self.single = submit(work, one, "--gpus=8", arguments=("90", "12"))
        self.multi = submit(
            on_each, whole, "--nodelist=nid005002,nid005003", "--gpus-per-node=8", arguments=("60", "12")
        )
        self.requeued = submit(work, shared, "--gpus=2", "--requeue", arguments=("90", "8"))
        self.array = submit(work, shared, "--gpus=1", "--array=1-2", arguments=("30", "10"))
        self.busy = submit(work, shared, "--gpus=1", "--job-name=busy\u202e<b>", arguments=("95", "12"))
        self.idle = submit(work, shared, "--gpus=1", arguments=("0", "12"))
        self.failed = submit(work, shared, "--gpus=1", arguments=("50", "8", "3"))
        self.timed_out = submit(self.person.script, shared, "--gpus=1", "--time=1")
        self.no_gpu = submit(work, shared, arguments=("0", "3"))
        self.never_ran = submit(work, shared, "--begin=now+1hour", "--gpus=1", arguments=("0", "1"))
        wait_until("the job to be requeued", lambda: site.cluster.state(self.requeued) == "RUNNING")
        time.sleep(4)
        site.cluster.run("scontrol", "requeue", str(self.requeued))
        site.cluster.run("scancel", str(self.never_ran))


@pytest.fixture(scope="module")
def jobs(site: Site) -> Submitted:
    return Submitted(site)


def report(site: Site, job_id: int, attempt: int = 0) -> dict[str, Any]:
    """The report of one run, as soon as there is one."""
    key = f"{job_id}.{attempt}"
    wait_until(f"a report on {key}", lambda: key in site.reports())
    return site.reports()[key]


def verdict(found: dict[str, Any]) -> tuple[str, str, int]:
    return found["job"]["state"], found["efficiency"]["efficiency_class"], found["efficiency"]["measured_gpus"]


def test_a_single_node(site: Site, jobs: Submitted) -> None:
    found = report(site, jobs.single)
    assert verdict(found) == ("COMPLETED", "EFFICIENT", 8)
    assert found["efficiency"]["peak_gpu_mem_gb"] == 10.0
    # Four packages at 400 W for twelve seconds, and at 90 W before and after.
    assert found["efficiency"]["energy_j"] == pytest.approx(4 * 400 * 12, rel=0.25)
    assert found["job"]["gpus_allocated"] == 8


def test_every_node_of_a_job_is_measured(site: Site, jobs: Submitted) -> None:
    wait_until("both nodes", lambda: report(site, jobs.multi)["efficiency"]["measured_gpus"] == 16)
    found = report(site, jobs.multi)
    assert verdict(found) == ("COMPLETED", "ACCEPTABLE", 16)
    assert found["job"]["nodes"] == ["nid005002", "nid005003"]
    assert found["job"]["request"]["--gpus-per-node"] == "8"


def test_every_task_of_an_array(site: Site, jobs: Submitted) -> None:
    tasks = [found for found in _settled(site).values() if found["job"]["array_job_id"] == jobs.array]
    assert sorted(found["job"]["array_task_id"] for found in tasks) == [1, 2]
    assert {verdict(found) for found in tasks} == {("COMPLETED", "INEFFICIENT", 1)}


def test_jobs_that_share_a_node_are_told_apart(site: Site, jobs: Submitted) -> None:
    assert verdict(report(site, jobs.busy)) == ("COMPLETED", "EFFICIENT", 1)
    assert verdict(report(site, jobs.idle)) == ("COMPLETED", "WASTED", 1)
    assert report(site, jobs.busy)["job"]["job_name"] == "busy\ufffd<b>"


def test_both_runs_of_a_requeued_job(site: Site, jobs: Submitted) -> None:
    assert report(site, jobs.requeued)["job"]["state"] == "REQUEUED"
    assert verdict(report(site, jobs.requeued, attempt=1)) == ("COMPLETED", "EFFICIENT", 2)


def test_a_failed_job(site: Site, jobs: Submitted) -> None:
    found = report(site, jobs.failed)
    assert verdict(found) == ("FAILED", "ACCEPTABLE", 1)
    assert found["job"]["exit_code"] == "3:0"


def test_jobs_without_gpus_or_without_a_run_are_left_alone(site: Site, jobs: Submitted) -> None:
    reported = {key.partition(".")[0] for key in _settled(site)}
    assert not {str(jobs.no_gpu), str(jobs.never_ran)} & reported


def test_a_job_whose_node_dies(site: Site, jobs: Submitted) -> None:
    """The surviving node tells of its end; the dead one, once it is back, of what it had measured until then."""
    report(site, jobs.multi)
    nodes = ("--nodelist=nid005002,nid005003", "--nodes=2", "--gpus-per-node=8", "--no-requeue")
    job_id = site.cluster.submit(site.top / "on-each-node", *nodes, arguments=("90", "600"))
    wait_until("samplers", lambda: site.samplers("nid005002") and site.samplers("nid005003"))
    time.sleep(5)
    site.kill_node("nid005003")
    wait_until("Slurm to notice", lambda: site.cluster.state(job_id) == "")
    site.cluster.start_node("nid005003")
    site.ship("nid005003")
    measured = "the dead node's part"
    wait_until(measured, lambda: report(site, job_id)["efficiency"]["measured_gpus"] == 16)
    found = report(site, job_id)
    # The dead node's GPUs are known until its last checkpoint, and the rest of their time is said to be missing.
    assert verdict(found) == ("NODE_FAIL", "EFFICIENT", 16)
    assert found["efficiency"]["partial"]
    assert found["efficiency"]["uncounted_reason"] == "system_failure"
    assert not found["findings"]


def test_associations_and_coordinators_become_members_and_pis(site: Site) -> None:
    for command in ("add user carol", "add coordinator names=carol"):
        site.cluster.run("sacctmgr", "-iQ", *command.split(), f"account={ACCOUNT}")
    said = "1 projects, 2 memberships: {} began, {} ended; 0 identities changed;"
    said += " portal roles: 0 began, 0 ended; 0 rows left out"
    assert site.manage("import_projects", "--slurm") == said.format(2, 0)
    assert site.manage("import_projects", "--slurm") == said.format(0, 0)
    assert site.roles() == {"carol": "pi", USER: "member"}
    site.cluster.run("sacctmgr", "-iQ", "delete", "user", "carol", f"account={ACCOUNT}")
    site.manage("import_projects", "--slurm")
    assert site.roles() == {USER: "member"}


def test_a_job_that_reaches_its_time_limit(site: Site, jobs: Submitted) -> None:
    found = report(site, jobs.timed_out)
    assert verdict(found) == ("TIMEOUT", "EFFICIENT", 1)
    assert "timeout" in {finding["code"] for finding in found["findings"]}


def test_what_its_script_logged_until_then_stands_beside_its_gpu_use(site: Site, jobs: Submitted) -> None:
    """Logged with MLflow's own client and by the API; neither could report the end, which is Slurm's."""
    ended_at = report(site, jobs.timed_out)["job"]["ended_at"]
    wait_until("the end of both runs", lambda: {run["status"] for run in jobs.person.runs().values()} == {"KILLED"})
    runs = jobs.person.runs()
    assert sorted(runs) == ["by MLflow", "by the API"]
    for run in runs.values():
        assert (run["reported"], run["status_by"]) == ("RUNNING", "slurm")
        assert datetime.fromisoformat(run["ended_at"]) == datetime.fromisoformat(ended_at)
        assert [job["job_id"] for job in run["jobs"]] == [jobs.timed_out]
        loss = run["metrics"]["loss"]
        # A step takes a tenth of a second, and a call of MLflow's; the job has a minute at least.
        assert 50 < loss["last_step"] < 1500
        assert loss["count"] == loss["last_step"] + 1
        assert loss["nan_count"] == 0
        assert loss["last_value"] < 0.01 < loss["most_value"]
    _, of_job = page(site, f"/jobs/lumi/{jobs.timed_out}/")
    for run in runs.values():
        status, shown = page(site, run["url"])
        assert status == 200
        assert f'href="/jobs/lumi/{jobs.timed_out}/' in shown
        assert f'href="{run["url"]}"' in of_job
        assert page(site, run["url"], "mallory")[0] == 404


def test_accounting_agrees_with_the_hooks_and_finds_what_they_missed(site: Site, jobs: Submitted) -> None:
    report(site, jobs.timed_out)
    before = {key: verdict(found) for key, found in site.reports().items()}
    assert f"{jobs.missed}.0" not in before
    wait_until("accounting", lambda: site.accounted_gpus(jobs.missed))
    site.manage("import_jobs", "--since", "1h")
    found = report(site, jobs.missed)
    assert verdict(found) == ("COMPLETED", "UNKNOWN", 0)
    after = {key: verdict(each) for key, each in site.reports().items() if key in before}
    assert after == before


def test_nothing_is_left_on_the_nodes(site: Site, jobs: Submitted) -> None:
    report(site, jobs.timed_out)
    wait_until("the last sampler to end", lambda: not site.samplers())
    found = [path for path in site.top.glob("nodes/*/state/*/*") if path.is_file() or path.parent.name == "jobs"]
    # Names of jobs that are closed are kept for a second epilog, and nothing of the jobs.
    assert [path for path in found if path.parent.name != "closed" or path.stat().st_size] == []


def _settled(site: Site) -> dict[str, dict[str, Any]]:
    """Every report once the jobs that run for some seconds are over."""
    wait_until("the short jobs", lambda: len(site.reports()) >= SHORT_RUNS)
    return site.reports()


# single, multi, two of the requeued one, two of the array, busy, idle, failed
SHORT_RUNS = 9
