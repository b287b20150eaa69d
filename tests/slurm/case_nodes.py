"""Four nodes on which many cases happen at the same time: what the cases ask of them, and what may be amiss there."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from collector import statefile
from jobs import records
from metrics.payloads import NodePayload
from tests.payloads import decoded
from tests.processes import PATIENCE_S, wait_until
from tests.slurm.cluster import ACCOUNT, CLUSTER, NODES, USER
from tests.slurm.hooks import SYSTEM_PYTHON, Nodes

NODE_SETTINGS: dict[str, object] = {"interval_s": 0.5}
"""Many cases at once keep two processors busy: twice the interval, and a tick may be as late."""

SLACK_S = 1.0
"""What an interval and the start of a script make of a duration, on a quiet machine."""
STARTS = 5
"""A job starts about as many programs, one after the other, before and after what is measured of it."""

# Hooks of a site's own that call the shipped ones, as the page says; what is amiss on a node lies in its folder.
OWN_PROLOG = """\
#!/bin/sh
{top}/kaiku-prolog
[ ! -e {top}/nodes/$SLURMD_NODENAME/fails ]
"""
OWN_EPILOG = """\
#!/bin/sh
[ ! -e {top}/nodes/$SLURMD_NODENAME/twice ] || {top}/kaiku-epilog &
{top}/kaiku-epilog
wait
"""
SUSPENDING_USER = "news"
"""Whoever suspends jobs has no others here: one kernel stands for all nodes."""

SHARED_GPU = 7
SHARES = 4


class CaseNodes(Nodes):
    """Nodes whose last GPU may be shared, with hooks of the site's own around the shipped ones."""

    def __init__(self) -> None:
        self.alone = {node: threading.Lock() for node in NODES}
        self.slack_s, self.is_over = SLACK_S, threading.Event()
        threading.Thread(target=self._watch_slack, daemon=True).start()
        super().__init__()
        add = ("sacctmgr", "-iQ", "add", "user", SUSPENDING_USER)
        try:
            self.cluster.run(*add, f"cluster={CLUSTER}", f"account={ACCOUNT}")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self.is_over.set()
        super().stop()

    def _watch_slack(self) -> None:
        """What the machine adds to a duration is told by a program that does nothing and is started all the time."""
        while not self.is_over.wait(0.5):
            began = time.monotonic()
            subprocess.run([SYSTEM_PYTHON, "-I", "-S", "-c", ""], check=True)
            self.slack_s = max(self.slack_s, SLACK_S + STARTS * (time.monotonic() - began))

    def arrange(self) -> None:
        for node in NODES:
            self.configure(node, **NODE_SETTINGS)
        for hook, text in (("prolog", OWN_PROLOG), ("epilog", OWN_EPILOG)):
            (self.top / hook).rename(self.top / f"kaiku-{hook}")
            (self.top / hook).write_text(text.format(top=self.top))
            (self.top / hook).chmod(0o755)
        path = self.top / "slurm.conf"
        text = path.read_text().replace("GresTypes=gpu", "GresTypes=gpu,shard")
        path.write_text(text.replace("Gres=gpu:mi250:8", f"Gres=gpu:mi250:8,shard:{SHARES}"))
        with (self.top / "gres.conf").open("a") as file:
            file.write(f"Name=shard Count={SHARES} File={self.top}/dev/gpu{SHARED_GPU}\n")

    def work(self, *options: str, percent: int = 90, seconds: float = 600, user: str = USER) -> int:
        """A job that shows so many percent for so long."""
        return self.cluster.submit(self.fake.work, *options, arguments=(str(percent), str(seconds)), user=user)

    def script(self, name: str, *lines: str) -> Path:
        """A batch script of these lines; `{work}` is what shows use."""
        path = self.top / name
        path.write_text("#!/bin/bash\n" + "".join(f"{line.format(work=self.fake.work)}\n" for line in lines))
        path.chmod(0o755)
        return path

    def checkpoint(self, job: int) -> dict[str, Any]:
        """What the sampling process of a job wrote last; empty before it did."""
        (found,) = [*self.top.glob(f"nodes/*/state/jobs/{job}.*/own/checkpoint"), None][:1]
        return (statefile.read(str(found)) if found else None) or {}

    def wait_for_samples(self, job: int, seconds: float) -> None:
        """Until so many seconds of a job were measured."""
        wait_until(f"samples of {job}", lambda: self.checkpoint(job).get("elapsed_s", 0.0) > seconds)

    def told(self, kind: str, job: int, seconds: float = PATIENCE_S) -> dict[str, Any]:
        """The one payload of this kind of a job, as soon as it is there."""
        wait_until(f"{kind} of {job}", lambda: self.told_so_far(kind, job), seconds)
        (body,) = self.told_so_far(kind, job)
        return body

    def told_so_far(self, kind: str, job: int) -> list[dict[str, Any]]:
        return [body for body in self.received(kind) if body["job_id"] == job]

    def summary(self, job: int, seconds: float = PATIENCE_S) -> NodePayload:
        return decoded(self.told("node-summaries", job, seconds))

    def record(self, job: int, seconds: float = PATIENCE_S) -> records.JobRecord:
        """As the portal takes it, without a problem."""
        found = msgspec.json.decode(json.dumps(self.told("job-records", job, seconds)), type=records.JobRecord)
        assert records.problems(found) == []
        return found

    def traces(self, job: int) -> list[str]:
        """What there is of a job: payloads, and files and folders on the nodes that bear its number."""
        mark = re.compile(rf"(?<![0-9]){job}(?![0-9])")
        paths = [path for path in self.top.glob("nodes/*/state/**/*") if mark.search(path.name)]
        sent = [kind for kind in ("node-summaries", "job-records") if self.told_so_far(kind, job)]
        return [*sent, *map(str, paths)]

    def failures(self, node: str) -> list[str]:
        """What the collector could not do on a node and has not said yet: job, tab, reason."""
        try:
            return (self.top / f"nodes/{node}/failures").read_text().splitlines()
        except FileNotFoundError:
            return []

    def jobs_on(self, node: str) -> list[str]:
        return sorted(path.name for path in (self.top / f"nodes/{node}/state").glob("jobs/*"))

    def waiting_on(self, node: str) -> list[str]:
        """The kinds of payloads that wait on a node."""
        return sorted(path.name.partition("-")[0] for path in (self.top / f"nodes/{node}/state").glob("spool/*.json"))

    def state(self, job: int) -> str:
        """Slurm's own word on a job, also when it is over."""
        return self.cluster.run("squeue", "-h", "-a", "-t", "all", "-j", str(job), "-o", "%T").strip()

    def wait_until_completed(self, job: int) -> int:
        """Until Slurm has it as completed; the seconds that it took, by Slurm's clock."""
        wait_until(f"the end of {job}", lambda: self.state(job) == "COMPLETED")
        shown = self.cluster.run("squeue", "-h", "-a", "-t", "all", "-j", str(job), "-o", "%M")
        return int(shown.strip().partition(":")[2])

    def is_idle(self, node: str) -> bool:
        return self.cluster.run("sinfo", "-h", "-n", node, "-p", "small-g", "-o", "%T").strip() == "idle"

    def as_user(self, *command: str, user: str = USER) -> None:
        """What a user types."""
        subprocess.run(
            ["runuser", "-u", user, "--", *command], env=self.cluster.environment, check=True, timeout=PATIENCE_S
        )


def seconds_of(found: NodePayload | records.JobRecord) -> float:
    """From the start to the end that it tells."""
    assert found.started_at is not None
    assert found.ended_at is not None
    return (found.ended_at - found.started_at).total_seconds()


def seconds_at(found: NodePayload) -> dict[int, float]:
    """Seconds at each busy percent, added up over the GPUs."""
    added: dict[int, float] = {}
    for gpu in found.gpus:
        for percent, seconds in (gpu.util_histogram_s or {}).items():
            added[percent] = round(added.get(percent, 0.0) + seconds, 2)
    return added


def number_in(text: str, pattern: str) -> int:
    """The number of a sentence that must be of this form."""
    found = re.fullmatch(pattern, text)
    assert found, text
    return int(found[1])
