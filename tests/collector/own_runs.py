"""A user's run on a made-up node: how it is started, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.collector.hook_node import Node, collector_zip, processes, put_settings
from tests.processes import PATIENCE_S, by_load, patience

JOB = {
    "SLURM_JOB_ID": "77", "SLURM_JOB_GPUS": "2,3", "SLURM_CLUSTER_NAME": "lumi", "SLURM_JOB_USER": "alice",
    "SLURM_JOB_ACCOUNT": "project_465000001", "SLURM_JOB_PARTITION": "small-g", "SLURM_JOB_NAME": "train",
    "SLURMD_NODENAME": "nid005001", "SLURM_JOB_NUM_NODES": "1", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "0",
    "SLURM_JOB_CPUS_PER_NODE": "14", "SLURM_NTASKS": "2", "SLURM_JOB_START_TIME": "1795358000",
    "SLURM_JOB_END_TIME": "1795361600",
}  # fmt: skip


def a_while(seconds: float = 0.6) -> str:
    """How long a command lasts that is to be measured: sampling begins after it, on a busy machine much later."""
    return f"{by_load(seconds):.1f}"


def node_of_a_user(tmp_path: Path) -> Iterator[Node]:
    """A node with GPUs, and a user's home and folder for temporary files."""
    with Node(tmp_path) as node:
        (tmp_path / "home").mkdir()
        (tmp_path / "tmp").mkdir()
        put_settings(node.config, f"sysfs_root = {tmp_path}/sys\ninterval_s = 0.1\nslow_interval_s = 0.2\n")
        yield node


def variables(node: Node, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": f"{node.top}/home", "TMPDIR": f"{node.top}/tmp", **more}


def words(node: Node, *command: str) -> list[str]:
    return [sys.executable, "-IS", str(collector_zip()), "run", "--config", str(node.config), "--", *command]


def run(node: Node, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(node, *command), cwd=node.top, env=variables(node, **more), capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def begin(node: Node, *command: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words(node, *command), cwd=node.top, env=variables(node, **more), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=PATIENCE_S)
    return process.returncode


def kept(node: Node) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(node.top.glob("kaiku-*.json"))]


def is_left_clean(node: Node) -> bool:
    """Whether no file and no process is left, within the moment that a killed one takes to be gone."""
    until = time.monotonic() + patience(3)
    while os.listdir(node.top / "tmp") or processes("run", str(node.config)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
