"""A node as slurmd sees it: the shipped hooks, the one file of the collector, and made-up GPUs."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from collector import statefile
from tests.collector.fake_node import FakeNode
from tests.payloads import decoded
from tests.processes import PATIENCE_S, patience, wait_until

DEPLOYED = Path(__file__).parents[2] / "deploy/slurm"
HOOK_S_MAX = 4.0
"""The hooks' own limit; a run takes about 0.05 s, and a loaded machine is given time."""


@functools.cache
def collector_zip() -> Path:
    """The one file that goes to the nodes, made once by what makes it for them."""
    target = Path(tempfile.mkdtemp(prefix="kaiku-zip-")) / "kaiku-collector.pyz"
    atexit.register(shutil.rmtree, target.parent)
    build = [DEPLOYED.parent / "collector-zip", target]
    subprocess.run(build, env=os.environ | {"NODE_PYTHON": sys.executable}, check=True)
    return target


class Node:
    """A node with simulated GPUs: what slurmd would run, and what lies on its disk."""

    def __init__(self, top: Path) -> None:
        self.top, self.state, self.failures = top, top / "state", top / "run/failures"
        self.gpus = FakeNode(top / "sys").gpus
        self.config = top / "collector.conf"
        (top / "token").touch(0o600)
        (top / "token").write_text("secret")
        self.write_config()
        self.is_over = threading.Event()
        # The first reading must not find GPUs that show nothing yet.
        self._show()
        self.thread = threading.Thread(target=self._beat, daemon=True)
        self.thread.start()

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def write_config(self, **settings: object) -> None:
        lines = {
            "state_dir": self.state,
            "sysfs_root": self.top / "sys",
            "scontrol": "",
            "token_file": self.top / "token",
            "failures_file": self.failures,
            # Nobody listens there: what is to be sent stays where the tests look for it.
            "portal_url": "http://127.0.0.1:9",
            "ship_max_s": 0.3,
            "interval_s": 0.2,
            "slow_interval_s": 0.2,
            "checkpoint_s": 0.2,
            **settings,
        }
        put_settings(self.config, "".join(f"{name} = {value}\n" for name, value in lines.items()))

    def _beat(self) -> None:
        while not self.is_over.wait(0.02):
            self._show()

    def _show(self) -> None:
        for gpu in self.gpus:
            gpu.show(90, used_bytes=2**33)

    def hook(self, name: str, file_bytes_max: int = resource.RLIM_INFINITY, **variables: str) -> None:
        """Run one hook with its output held open by a pipe, as slurmd does: it ends only when nobody holds it.

        A limit on the size of files stands for a full disk: it holds for the sampling process of a prolog too.
        """
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", self.script(name)],
            env=environment(**variables),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, resource.RLIM_INFINITY)),
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert time.monotonic() - began < patience(HOOK_S_MAX)

    def script(self, name: str, **changed: object) -> Path:
        """A hook as it is shipped, but for the four paths at its top."""
        paths = {"python": sys.executable, "collector": collector_zip(), "config": self.config, **changed}
        text = (DEPLOYED / name).read_text()
        for variable, path in {**paths, "failures": self.failures}.items():
            text, count = re.subn(f"(?m)^{variable}=.*$", f"{variable}={path}", text)
            assert count == 1
        made = self.top / name
        made.write_text(text)
        return made

    def samplers(self) -> list[int]:
        return processes("run", str(self.config))

    def spooled(self) -> list[dict[str, Any]]:
        paths = sorted((self.state / "spool").glob("summary-*.json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def jobs(self) -> list[str]:
        return sorted(path.name for path in (self.state / "jobs").glob("*"))

    def ship(self) -> None:
        command = [sys.executable, str(collector_zip()), "ship", "--config", str(self.config)]
        subprocess.run(command, env=environment(), capture_output=True, timeout=PATIENCE_S, check=False)

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()
        for pid in [*self.samplers(), *processes("ship", str(self.config))]:
            os.kill(pid, signal.SIGKILL)


def put_settings(settings: Path, text: str) -> None:
    """Settings in one step: a sender that starts meanwhile would take an empty file for the defaults."""
    new = settings.with_name(f"{settings.name}.new")
    new.write_text(text)
    new.replace(settings)


def environment(**variables: str) -> dict[str, str]:
    job = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_ACCOUNT": "project_465000001",
        "SLURM_JOB_PARTITION": "small-g",
        "SLURM_JOB_GPUS": "0,1",
        "SLURM_JOB_NODELIST": "nid[005001-005002]",
        "SLURM_CLUSTER_NAME": "lumi",
        "SLURMD_NODENAME": "nid005001",
    }
    wanted = {**job, **variables}
    return {"PATH": os.environ["PATH"]} | {name: value for name, value in wanted.items() if value}


def processes(*words: str) -> list[int]:
    """Processes of the collector whose command line has all these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if set(words) <= set(line) and state != "Z":
            found.append(int(folder.name))
    return found


def measured(payload: dict[str, Any]) -> list[float | None]:
    """The mean use of every GPU of a payload that the portal takes."""
    return [gpu.avg_util for gpu in decoded(payload).gpus]


def checkpoint(node: Node, job: str = "7.0") -> dict[str, Any]:
    path = node.state / "jobs" / job / "own/checkpoint"
    wait_until("no checkpoint", lambda: (statefile.read(str(path)) or {"elapsed_s": 0})["elapsed_s"] > 0.3)
    kept: dict[str, Any] = statefile.read(str(path))
    return kept
