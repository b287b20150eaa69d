"""The collector and its hooks on the nodes of a real Slurm, as they are shipped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.collector.answers import Answers, counted, serving
from tests.collector.hook_node import put_settings
from tests.processes import PATIENCE_S
from tests.slurm.cluster import NODES, Cluster, pids_of
from tests.slurm.nodes import FakeNodes

CHECKOUT = Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"

SETTINGS = {
    "token_file": "{top}/token",
    "state_dir": "{top}/nodes/{{node}}/state",
    "sysfs_root": "{top}/nodes/{{node}}/sys",
    "failures_file": "{top}/nodes/{{node}}/failures",
    "pm_counters_root": "{top}/nothing",
    "interval_s": 0.2,
    "slow_interval_s": 1,
    "checkpoint_s": 1,
    "ship_max_s": 60,
}


class WithHooks:
    """A Slurm whose nodes have the collector."""

    cluster: Cluster
    top: Path
    port: int

    def install_collector(self, port: int) -> None:
        """The one file and both hooks as they are shipped; only their paths are this machine's."""
        self.port = port
        zip_file, on_node = self.top / "kaiku-collector.pyz", f"{self.top}/nodes/$SLURMD_NODENAME"
        build = [CHECKOUT / "deploy/collector-zip", zip_file]
        subprocess.run(build, env=os.environ | {"NODE_PYTHON": SYSTEM_PYTHON}, check=True)
        for node in NODES:
            self.configure(node)
        for hook in ("prolog", "epilog"):
            shipped = (CHECKOUT / "deploy/slurm" / hook).read_text()
            shipped = shipped.replace("/opt/kaiku/kaiku-collector.pyz", str(zip_file))
            shipped = shipped.replace("/run/kaiku/failures", f"{on_node}/failures")
            (self.top / hook).write_text(shipped.replace("/etc/kaiku/collector.conf", f"{on_node}/collector.conf"))
            (self.top / hook).chmod(0o755)
        self.switch_hooks(is_on=True)

    def configure(self, node: str, **changed: object) -> None:
        """The settings of a node, with what is otherwise there."""
        settings = {"portal_url": f"http://127.0.0.1:{self.port}", **SETTINGS, **changed}
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        put_settings(self.top / f"nodes/{node}/collector.conf", text.format(top=self.top))

    def switch_hooks(self, *, is_on: bool) -> None:
        """The shipped hooks, or ones that do nothing: Slurm hands a node on in another way when there are none."""
        path = self.top / "slurm.conf"
        kept = [line for line in path.read_text().splitlines() if not line.startswith(("Prolog", "Epilog"))]
        prolog, epilog = (self.top / "prolog", self.top / "epilog") if is_on else ("/bin/true", "/bin/true")
        path.write_text("\n".join([*kept, f"Prolog={prolog}", f"Epilog={epilog}", "PrologFlags=Alloc"]) + "\n")
        if "slurmctld" in self.cluster.daemons:
            self.cluster.run("scontrol", "reconfigure")

    def ship(self, node: str) -> None:
        """What the timer does on a node."""
        command = [SYSTEM_PYTHON, "-I", "-S", str(self.top / "kaiku-collector.pyz"), "ship"]
        command += ["--config", f"{self.top}/nodes/{node}/collector.conf"]
        subprocess.run(
            command, env=self.cluster.environment | {"SLURMD_NODENAME": node}, timeout=PATIENCE_S, check=False
        )

    def crash(self, node: str) -> None:
        """What a failure of power does: slurmd, the jobs' processes and the sampling ones are gone at once."""
        slurmd = self.cluster.daemons[f"slurmd-{node}"]
        slurmd.kill()
        slurmd.wait()
        on_node = pids_of(f"SLURM_CONF={self.top}/slurm.conf", f"SLURMD_NODENAME={node}")
        # Stopped before any is killed: Slurm's own process above a job's must not tell of its end.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in {*on_node, *map(step_above, on_node), *self.samplers(node)} - {0}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def samplers(self, node: str = "") -> list[int]:
        """The sampling processes that run, by their arguments."""
        mark = f"{self.top}/nodes/{node}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"run" in words and any(word.startswith(mark) for word in words):
                found.append(int(folder.name))
        return found


def step_above(pid: int) -> int:
    """The slurmstepd that started a process, 0 where another one did."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return parent if Path(f"/proc/{parent}/comm").read_text() == "slurmstepd\n" else 0
    except OSError:
        return 0


class Nodes(WithHooks):
    """Slurm and its nodes with a portal that only counts."""

    def __init__(self) -> None:
        with ExitStack() as ending:
            self.portal = ending.enter_context(serving(Answers((201, counted()))))
            self.cluster = Cluster()
            self.top = self.cluster.top
            ending.callback(self.cluster.stop)
            (self.top / "token").touch(0o600)
            (self.top / "token").write_text("secret")
            self.fake = FakeNodes(self.top)
            ending.callback(self.fake.stop)
            self.install_collector(self.portal.server.server_port)
            self.arrange()
            self.cluster.start()
            self.ending = ending.pop_all()

    def arrange(self) -> None:
        """What a kind of site has otherwise, before its Slurm starts."""

    def received(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of one kind that came so far; `check` sends an empty list."""
        return [body for path, _, body in list(self.portal.requests) if path.endswith(kind) and body]

    def stop(self) -> None:
        self.ending.close()
