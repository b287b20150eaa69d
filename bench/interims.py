"""What interim summaries cost a node: CPU time of an hour with and without them, in one run; and when 2,978 nodes send.

The hour without them is that of the real sampling process, by its CPU time for some ticks, slow ticks and checkpoints,
and the runs of the timer's sender as processes. The driver's files are in memory and there is no control group, so the
sampling, and with it the hour, takes less than on any node, and the share of interim summaries is at its largest.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from collector import drain, hooks, statefile
from collector.config import Config
from collector.folder import boot_id
from collector.host import MemoryCourse
from collector.loop import Sampler
from tests.collector.answers import Answers, counted, serving

TICKS, SLOW_TICKS, CHECKPOINTS = 3600, 360, 120
"""Of an hour, by the defaults of the collector."""

TIMER_S, TIMER_DELAY_S = 600.0, 300.0
"""OnUnitInactiveSec and RandomizedDelaySec of deploy/slurm/kaiku-ship.timer: a run each 12.5 minutes on average."""

WARM_S, SAMPLED_S = 2.0, 10.0
TURNS = 31
REPEATS = 200
ALL_NODES = 2978


class Node(Protocol):
    """The made-up node of `bench.collector`."""

    folder: Path
    config_file: Path
    config: Config

    def job(self) -> dict[str, object]: ...


def hour_s(node: Node, sampler: Sampler, package: str) -> tuple[float, float]:
    """CPU seconds of an hour without interim summaries, and what one an hour adds; `sampler` has a full timeline."""
    folder = _running_job(node, sampler)
    tick_s = sampling_s(node, folder, package)
    slow_s = _least_s(lambda: sampler.slow_tick(10.0))
    kept_s = _least_s(lambda: statefile.save(str(node.folder / "kept"), sampler.state()))
    course = MemoryCourse()
    memory_s = _least_s(lambda: course.add(1800.0, 1e9))
    without_s, waiting_s, due_s = sender_s(node, folder, package)
    shutil.rmtree(folder)
    runs = 3600 / (TIMER_S + TIMER_DELAY_S / 2)
    today_s = TICKS * tick_s + SLOW_TICKS * (slow_s - memory_s) + CHECKPOINTS * kept_s + runs * without_s
    added_s = SLOW_TICKS * memory_s + (due_s - without_s) + (runs - 1) * max(waiting_s - without_s, 0.0)
    return today_s, added_s


def _running_job(node: Node, sampler: Sampler) -> Path:
    """The folder of a job that has run for as long as the sampler."""
    folder = Path(node.config.jobs_dir) / "1.0"
    statefile.private_folder(f"{folder}/own")
    started_s = time.clock_gettime(time.CLOCK_BOOTTIME) - sampler.elapsed_s
    job = {**node.job(), "boot_id": boot_id("/proc"), "node_count": 1, "started_boottime_s": started_s}
    statefile.save(f"{folder}/job", job)
    statefile.save(f"{folder}/own/checkpoint", sampler.state())
    os.mkfifo(folder / "wake")
    return folder


def sampling_s(node: Node, folder: Path, package: str) -> float:
    """CPU seconds of one wake-up of a real sampling process with its tick; it is told to end after some hundred."""
    settings = node.folder / "sampling.conf"
    settings.write_text(
        f"{node.config_file.read_text()}interval_s = 0.05\nslow_interval_s = 3600\ncheckpoint_s = 3600\n"
    )
    process = subprocess.Popen([*hooks.interpreter(package), "run", "--config", str(settings), "--job", str(folder)])
    time.sleep(WARM_S)
    spent, woken = [], []
    for pause_s in (0.0, SAMPLED_S):
        time.sleep(pause_s)
        spent.append(_cpu_s(process.pid))
        woken.append(
            int(Path(f"/proc/{process.pid}/status").read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
        )
    os.write(os.open(folder / "wake", os.O_WRONLY | os.O_NONBLOCK), b"end")
    process.wait(10)
    return (spent[1] - spent[0]) / (woken[1] - woken[0])


def _cpu_s(pid: int) -> float:
    """By the scheduler, in nanoseconds (proc(5), schedstat)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def sender_s(node: Node, folder: Path, package: str) -> tuple[float, float, float]:
    """CPU seconds of one run of the timer's sender, the least disturbed of many: without interim summaries, with none
    that is due, and with one that is made and sent."""
    wake_fd = os.open(folder / "wake", os.O_RDWR | os.O_NONBLOCK)  # as the sampling process has it
    token = node.folder / "token"
    token.touch(0o600)
    token.write_text("secret")
    spent: dict[float, list[float]] = {0.0: [], 3600.0: [], 600.0: []}
    with serving(Answers((201, counted()))) as portal:
        common = node.config_file.read_text() + (
            f"token_file = {token}\nportal_url = http://{portal.address}\nscontrol =\nsqueue =\n"
            f"failures_file = {node.folder}/failures\n"
        )
        for first_s in [*spent] * TURNS:
            settings = node.folder / "sender.conf"
            settings.write_text(f"{common}interim_first_s = {first_s}\n")
            (folder / "interim").unlink(missing_ok=True)
            spent[first_s].append(_child_s([*hooks.interpreter(package), "ship", "--config", str(settings)]))
        assert len(portal.requests) == TURNS
    os.close(wake_fd)
    without_s, waiting_s, due_s = map(min, spent.values())
    return without_s, waiting_s, due_s


def _child_s(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _least_s(step: Callable[[], object]) -> float:
    spent = []
    for _ in range(REPEATS):
        began = time.thread_time()
        step()
        spent.append(time.thread_time() - began)
    return min(spent)


def most_a_second(seed: int = 1, nodes: int = ALL_NODES) -> int:
    """The most first interim summaries in one second of a job that starts on all nodes at once.

    Each node's timer has its own rhythm; its sender waits the node's random part before it sends.
    """
    dice, config = random.Random(seed), Config()
    random.seed(seed)  # `drain` draws from the module's own generator
    per_second: Counter[int] = Counter()
    for _ in range(nodes):
        run_s = -dice.uniform(0.0, TIMER_S + TIMER_DELAY_S)  # the last run before the job
        while run_s < config.interim_first_s:
            run_s += TIMER_S + dice.uniform(0.0, TIMER_DELAY_S)
        per_second[int(run_s + drain.first_pause_s(config, nodes))] += 1
    return max(per_second.values())
