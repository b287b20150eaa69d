"""The GPUs of the made-up nodes: files that move as the driver's do, and show what the jobs pretend to compute."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.collector.fake_node import FakeGpu, FakeNode
from tests.slurm.cluster import GPUS_PER_NODE, NODES

BEAT_S = 0.1
BUSY_W, IDLE_W = 400, 90
BYTES_PER_GB = 2**30
ENERGY_J = 2**-16

# What a job does here instead of computing: `work PERCENT[,PERCENT…] SECONDS EXIT`, one percent for all of its GPUs or
# one each. A GPU shows it while the process lives.
WORK = """\
#!/bin/bash
percents=(${{1//,/ }}); index=0
for gpu in ${{ROCR_VISIBLE_DEVICES//,/ }}; do
  echo "${{percents[index]:-${{percents[0]}}}} 10 $$" >{top}/nodes/$SLURMD_NODENAME/show/$gpu
  index=$((index + 1))
done
sleep "$2"
exit "${{3:-0}}"
"""


class FakeNodes:
    """Every node's files under `top/nodes/<name>/sys`, renewed ten times a second until `stop`."""

    def __init__(self, top: Path) -> None:
        self.top, self.nodes = top, {}
        for name in NODES:
            folder = top / "nodes" / name
            (folder / "show").mkdir(parents=True)
            (folder / "show").chmod(0o1777)
            self.nodes[folder / "show"] = FakeNode(folder / "sys", GPUS_PER_NODE)
        self.work = top / "work"
        self.work.write_text(WORK.format(top=top))
        self.work.chmod(0o755)
        self.is_over = threading.Event()
        self.hung: list[FakeGpu] = []
        self.writing = threading.Lock()
        self.thread = threading.Thread(target=self._beat, daemon=True)
        self.thread.start()

    @contextmanager
    def hanging(self, node: str, index: int, name: str) -> Iterator[None]:
        """A file of a GPU that does not answer who opens it; its other files stay as they are."""
        gpu = self.nodes[self.top / "nodes" / node / "show"].gpus[index]
        file = gpu.folder / name
        with self.writing:
            self.hung.append(gpu)
        content = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        try:
            yield
        finally:
            file.unlink()
            file.write_bytes(content)
            self.hung.remove(gpu)

    def _beat(self) -> None:
        shown_s = time.monotonic()
        while not self.is_over.wait(BEAT_S):
            with self.writing:
                # On a busy machine a beat comes late; what the GPUs used until then does not.
                before_s, shown_s = shown_s, time.monotonic()
                self._show(shown_s - before_s)

    def _show(self, passed_s: float) -> None:
        for shown, node in self.nodes.items():
            for index, gpu in enumerate(node.gpus):
                if gpu not in self.hung:
                    percent, used_gb = _pretended(shown / str(index))
                    power_w = BUSY_W if percent else IDLE_W
                    if gpu.is_primary:
                        gpu.energy += int(power_w * passed_s / ENERGY_J)
                    gpu.show(percent, used_gb * BYTES_PER_GB, power_w)

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()


def _pretended(path: Path) -> tuple[int, int]:
    """Busy percent and GB of the process that shows itself on a GPU, nothing once it is gone."""
    try:
        percent, used_gb, pid = path.read_text().split()
    except (OSError, ValueError):
        return 0, 0
    return (int(percent), int(used_gb)) if Path("/proc", pid).exists() else (0, 0)
