"""Files of the driver that do not answer: the sampler goes on with the others, and ends with its job."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import loop, statefile
from collector.calibration import Calibration
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from tests.collector.fake_node import FakeNode, table
from tests.collector.sampling import config_of, job
from tests.processes import PATIENCE_S, held, patience

END_S_MAX = 6.0
"""Two reads that hang at the end, of 2 s and 1 s, and a loaded machine."""


class Job:
    """A job's folder with its pipe, and the sampling process in a process of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "jobs/42.0"
        (self.folder / "own").mkdir(parents=True)
        os.mkfifo(self.folder / "wake")
        self.wake_fd = os.open(self.folder / "wake", os.O_RDWR | os.O_NONBLOCK)
        self.config = config_of(tmp_path)
        self.config.state_dir = str(tmp_path)
        self.config.interval_s, self.config.slow_interval_s, self.config.checkpoint_s = 0.1, 0.5, 0.2
        clock_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        statefile.save(f"{self.folder}/job", {**job([0, 1]), "started_boottime_s": clock_s})
        self.pid = 0

    def start(self, pread: object) -> None:
        """Sample in a child whose reads are these."""
        self.pid = os.fork()
        if not self.pid:
            try:
                os.pread = pread
                loop.run(self.config, str(self.folder))
            finally:
                os._exit(0)

    def seconds_to_end(self) -> float:
        began = time.monotonic()
        os.write(self.wake_fd, b"end")
        while time.monotonic() - began < PATIENCE_S:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self.pid = 0
                return time.monotonic() - began
            time.sleep(0.02)
        return float("inf")

    def own(self, name: str) -> object:
        return statefile.read(f"{self.folder}/own/{name}")


@pytest.fixture
def started(tmp_path: Path, node: FakeNode) -> Iterator[Job]:
    """A job whose GPUs show something new all the time."""
    is_over = threading.Event()

    def show() -> None:
        for gpu in node.gpus[:2]:
            gpu.write("gpu_metrics", table(60, 90, 0, stamp=time.monotonic_ns() // 10))

    def beat() -> None:
        while not is_over.wait(0.02):
            show()

    # The first reading must not find what the node showed before.
    show()
    thread = threading.Thread(target=beat, daemon=True)
    made = Job(tmp_path)
    thread.start()
    try:
        yield made
    finally:
        is_over.set()
        thread.join()
        if made.pid:
            os.kill(made.pid, signal.SIGKILL)
            os.waitpid(made.pid, 0)


def test_a_gpu_whose_file_hangs_costs_neither_the_others_nor_the_end(started: Job) -> None:
    calls: dict[int, int] = {}

    def pread(fd: int, size: int, offset: int, real: object = os.pread) -> bytes:
        calls[fd] = calls.get(fd, 0) + 1
        # From its fifth reading on, the table of the first GPU does not answer.
        if os.readlink(f"/proc/self/fd/{fd}").endswith("c1:00.0/gpu_metrics") and calls[fd] > 5:
            time.sleep(60)
        return real(fd, size, offset)

    started.start(pread)
    time.sleep(5)
    assert started.seconds_to_end() < patience(END_S_MAX)
    hung, other = (gpu["totals"] for gpu in started.own("checkpoint")["gpus"])
    assert hung["reasons"]["unreadable"] == "for some of the time: no answer in time"
    assert 0 < hung["samples"] <= 5 < other["samples"]
    assert other["util_s"] / other["measured_s"] == pytest.approx(60.0, abs=2.0)


def test_a_driver_that_hangs_from_the_start_is_said_and_no_process_stays(started: Job, node: FakeNode) -> None:
    file = node.gpus[0].folder / "mem_info_vram_used"
    file.unlink()
    os.mkfifo(file)
    began = time.monotonic()
    started.start(os.pread)
    os.waitpid(started.pid, 0)
    started.pid = 0
    assert time.monotonic() - began < patience(END_S_MAX)
    assert "mem_info_vram_used of 0000:c1:00.0: no answer in time" in str(started.own("failed"))


def test_a_sampler_whose_folder_is_gone_ends(started: Job, tmp_path: Path) -> None:
    started.start(os.pread)
    time.sleep(1)
    with held(started.pid):
        (tmp_path / "jobs/42.0").rename(tmp_path / "jobs/42.0.gone")
        shutil.rmtree(tmp_path / "jobs/42.0.gone/own")
    deadline = time.monotonic() + PATIENCE_S
    while not os.waitpid(started.pid, os.WNOHANG)[0]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    started.pid = 0


def test_a_gpu_that_hung_rests_for_a_minute_and_is_asked_again(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    from_now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: from_now[0])
    source = AmdgpuSysfs(str(node.root), [0, 1], Calibration())
    asked = []

    def pread(fd: int, size: int, offset: int, real: object = os.pread) -> bytes:
        if fd == source.dies[0].table_fd:
            asked.append(from_now[0])
            raise TimeoutError("no answer in time")
        return real(fd, size, offset)

    monkeypatch.setattr("os.pread", pread)
    for _ in range(130):
        from_now[0] += 1.0
        source.tick(1.0)
        source.settle()
    assert asked == [1001.0, 1061.0, 1121.0]
    assert [die.gpu.totals.samples for die in source.dies] == [0.0, 130.0]
    assert (source.gpus[0].totals.measured_s, source.gpus[1].totals.measured_s) == (0.0, 130.0)
