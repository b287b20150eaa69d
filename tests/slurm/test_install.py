"""The package, installed on this machine as the page says, in a real Slurm; and taken off again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts import COLLECTOR_PLACES, need
from tests.payloads import decoded, errors_of
from tests.processes import PATIENCE_S, wait_until
from tests.slurm.hooks import CHECKOUT, SYSTEM_PYTHON, Nodes

BUILD = CHECKOUT / "deploy/collector-package"


def run(*command: object, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def site() -> Iterator[Nodes]:
    """A Slurm without hooks; whatever the package brought goes away with the test."""
    need("a Debian without the collector")
    made = Nodes()
    try:
        made.switch_hooks(is_on=False)
        yield made
    finally:
        made.stop()
        subprocess.run(["dpkg", "--purge", "kaiku-collector"], capture_output=True, check=False)
        for place in COLLECTOR_PLACES:
            shutil.rmtree(place, ignore_errors=True)
        subprocess.run(["userdel", "kaiku"], capture_output=True, check=False)


def checked(site: Nodes) -> tuple[int, list[str]]:
    """The status of `check`, and what is bad."""
    command = ["/opt/kaiku/kaiku-collector", "check"]
    variables = site.cluster.environment | {"SLURMD_NODENAME": "nid005001"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, [" ".join(line.split()) for line in done.stdout.splitlines() if line.startswith("BAD")]


@pytest.mark.slurm
def test_the_page_followed_on_a_real_slurm(site: Nodes, tmp_path: Path) -> None:
    package = tmp_path / "kaiku-collector.deb"
    run(BUILD, "deb", package, NODE_PYTHON=SYSTEM_PYTHON)
    run("dpkg", "--install", package)
    assert "kaiku:" in Path("/etc/passwd").read_text()
    settings = Path("/etc/kaiku/collector.conf")
    ours = settings.read_text().replace("https://kaiku.example.org", f"http://{site.portal.address}")
    # Four nodes share this machine.
    ours += f"state_dir = /var/lib/kaiku/{{node}}\nsysfs_root = {site.top}/nodes/{{node}}/sys\n"
    settings.write_text(ours)
    status, bad = checked(site)
    assert (status, bad[0]) == (
        1,
        "BAD portal /etc/kaiku/token: [Errno 2] No such file or directory: '/etc/kaiku/token'",
    )
    shutil.copy(site.top / "token", "/etc/kaiku/token")
    Path("/etc/kaiku/token").chmod(0o600)
    status, bad = checked(site)
    assert (status, bad) == (
        1,
        [f"BAD Slurm {hook}=/bin/true: does not start the collector" for hook in ("Prolog", "Epilog")],
    )

    variables = {
        "SLURM_JOB_ID": "100001",
        "SLURM_JOB_GPUS": "0",
        "SLURM_JOB_USER": "alice",
        "SLURMD_NODENAME": "nid005001",
    }
    variables |= {
        "SLURM_JOB_ACCOUNT": "project_465000001",
        "SLURM_CLUSTER_NAME": "lumi",
        "SLURM_CONF": f"{site.top}/slurm.conf",
    }
    run("/opt/kaiku/prolog", **variables)
    run("sleep", "2")
    run("/opt/kaiku/epilog", **variables)
    wait_until("the acted job", lambda: [body["job_id"] for body in site.received("node-summaries")] == [100001])

    # Hooks of the site's own, with the two lines of the page.
    for hook in ("prolog", "epilog"):
        own = site.top / hook
        own.write_text(f"#!/bin/sh\ntrue # what the site does\n[ ! -x /opt/kaiku/{hook} ] || /opt/kaiku/{hook}\n")
    site.switch_hooks(is_on=True)
    wait_until("check", lambda: checked(site) == (0, []))
    job = site.cluster.submit(site.fake.work, "--gpus=8", "--nodelist=nid005001", arguments=("80", "3"))
    wait_until("its record", lambda: job in [body["job_id"] for body in site.received("job-records")])
    (summary,) = [body for body in site.received("node-summaries") if body["job_id"] == job]
    assert (len(decoded(summary).gpus), errors_of(summary)) == (8, ())
    assert all(gpu.avg_util > 10 for gpu in decoded(summary).gpus)

    # An update keeps the settings; taking it off leaves hooks that do nothing, and no node drained.
    run("dpkg", "--install", package)
    assert settings.read_text() == ours
    run("dpkg", "--purge", "kaiku-collector")
    assert not COLLECTOR_PLACES[0].exists()
    job = site.cluster.submit(site.fake.work, "--gpus=8", "--nodelist=nid005001", arguments=("80", "1"))
    wait_until("the job without a collector", lambda: site.cluster.state(job) == "")
    assert site.cluster.run("sinfo", "-h", "-N", "-p", "small-g", "-o", "%T").split() == ["idle"] * 4


@pytest.mark.needs("rpmbuild")
def test_the_rpm_holds_the_same_files(tmp_path: Path) -> None:
    package, root = tmp_path / "kaiku-collector.rpm", tmp_path / "root"
    run(BUILD, "rpm", package, NODE_PYTHON=SYSTEM_PYTHON)
    run("rpm", "--install", "--nodeps", "--noscripts", "--root", root, package)
    found = {str(path.relative_to(root)): path.stat().st_mode & 0o777 for path in root.glob("*/kaiku/*")}
    assert found == {
        **dict.fromkeys(("opt/kaiku/prolog", "opt/kaiku/epilog", "opt/kaiku/kaiku-collector"), 0o755),
        **{"opt/kaiku/kaiku-collector.pyz": 0o755, "etc/kaiku/collector.conf": 0o644, "etc/kaiku/hooks.conf": 0o644},
    }
    assert (root / "usr/lib/systemd/system/kaiku-ship.timer").exists()
    assert (root / "opt/kaiku/prolog").read_text() == (CHECKOUT / "deploy/slurm/prolog").read_text()
    scripts = run("rpm", "--query", "--scripts", "--package", package)
    assert "useradd --system" in scripts
    assert "systemctl enable --now kaiku-ship.timer" in scripts
