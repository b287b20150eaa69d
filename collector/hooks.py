"""What Slurm's prolog and epilog call: start one sampling process for a job, end it and keep what it gathered.

Both do a few file operations and return; whatever goes wrong, the job goes on and the reason is kept.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from collector import closing, failures, folder, statefile
from collector.folder import boot_id, boottime_s
from collector.host import threads_per_core
from collector.job import NoGpuJob, from_environment, whole
from collector.privilege import run_as
from collector.sources.amdgpu_sysfs import buses
from collector.sources.base import SourceError
from collector.summary import node_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from collector.config import Config

LAST_WORDS_S = 2.0
"""How long an epilog waits for the last sample, of a process that may still be starting; after that the last checkpoint
is what there is."""

NICE = 19
IONICE = "/usr/bin/ionice"
SETPRIV = "/usr/bin/setpriv"
KEPT_FD = 3
KEPT_VARIABLES = ("SLURM_CONF", "SLURMD_NODENAME")
"""What slurmd itself tells its hooks of where they are."""

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""Where this collector lies: a folder, or the path of a zip file."""


def prolog(config: Config, config_file: str, environment: Mapping[str, str]) -> None:
    """Write down the job and start its sampling process; jobs without GPUs are none of our business."""
    try:
        job = from_environment(environment, config.cluster)
    except NoGpuJob:
        return
    job.update(
        started_at=time.time(),
        started_monotonic_s=time.monotonic(),
        started_boottime_s=boottime_s(),
        boot_id=boot_id(config.proc_root),
        is_whole_node=len(job["gpus"]) == _gpus_on_node(config),
        threads_per_core=threads_per_core(config.sysfs_root),
        run_as=run_as(config),
    )
    others = closing.overlapping(config, job["gpus"])
    try:
        mine, wake_fd = folder.make(config, job)
    except FileExistsError as error:
        _go_on(config, config_file, str(error), job)
        return
    detach(["run", "--config", config_file, "--job", mine], mine, wake_fd)
    for other, gpus in others.items():
        folder.share(mine, other, gpus)
        folder.share(other, mine, gpus)


def _go_on(config: Config, config_file: str, mine: str, job: dict[str, Any]) -> None:
    """A second prolog of the same run leaves the first one's sampling alone; what an earlier boot left is closed."""
    before = statefile.read(f"{mine}/job")
    if before and before["boot_id"] == job["boot_id"] and not os.path.exists(f"{mine}/ended"):
        start_sampling(config_file, mine)
        return
    closing.end(mine, {"ended_at": (before or job)["started_at"], "no_epilog": True}, LAST_WORDS_S)
    closing.close(config, mine)
    made, wake_fd = folder.make(config, job)
    detach(["run", "--config", config_file, "--job", made], made, wake_fd)


def _gpus_on_node(config: Config) -> int:
    try:
        return len(buses(config.sysfs_root))
    except SourceError:
        return 0


def start_sampling(config_file: str, mine: str) -> None:
    """A new sampling process for the job of a folder that goes on, unless there is one."""
    wake_fd = folder.hold(mine)
    if wake_fd is not None:
        detach(["run", "--config", config_file, "--job", mine], mine, wake_fd)


def epilog(config: Config, config_file: str, environment: Mapping[str, str]) -> None:
    """End the sampling of a job, put its payload on disk, and leave the sending to a process of its own."""
    try:
        _end_job(config, environment)
    finally:
        nodes = whole(environment.get("SLURM_JOB_NUM_NODES")) or 1
        detach(["ship", "--config", config_file, "--nodes", str(nodes)])


def _end_job(config: Config, environment: Mapping[str, str]) -> None:
    job_id = whole(environment.get("SLURM_JOB_ID"))
    mine = [each for each in folder.folders(config) if folder.job_of(each) == job_id]
    status = whole(environment.get("SLURM_JOB_EXIT_CODE")) or 0
    for each in mine:
        try:
            closing.end(each, {"ended_at": _ends_at(each), "exit_status": status}, LAST_WORDS_S)
            closing.close(config, each)
        except Exception as error:
            # Where the folder is gone, another epilog or the sender was quicker.
            if os.path.isdir(each):
                failures.note(config, job_id, f"epilog: {type(error).__name__}: {error}")
    if not mine and not closing.was_closed(config, job_id):
        _say_unmeasured(config, environment)


def _ends_at(mine: str) -> float:
    """Now, as the clock stood at the job's start goes on: a clock that was set since changes no duration."""
    job = statefile.read(f"{mine}/job")
    return time.time() if job is None else job["started_at"] + boottime_s() - job["started_boottime_s"]


def _say_unmeasured(config: Config, environment: Mapping[str, str]) -> None:
    """A GPU job that no prolog wrote down: its payload says so, and gives way to any other of the same run."""
    try:
        job = from_environment(environment, config.cluster)
    except NoGpuJob:
        return
    now, found = time.time(), failures.take(config)
    own = [each for each in found if each[0] == job["job_id"]]
    failures.put_back(config, [each for each in found if each not in own])
    reason = f"not sampled: {own[0][1] if own else 'no prolog ran for this job on this node'}"
    payload = {**node_summary({**job, "started_at": now}, None, now, [reason]), "sequence": 0}
    try:
        closing.keep(config, payload, now)
    except OSError:
        failures.put_back(config, own)
        raise


def detach(arguments: list[str], mine: str = "", wake_fd: int = -1) -> None:
    """Run a command of the collector in a session of its own that holds none of our descriptors but a job's pipe.

    Slurm waits for whoever keeps a hook's output open and ends the hook's process group, so the new process leaves
    both behind, before this returns; it inherits slurmd's control group, not the job's.
    """
    child = os.fork()
    if child:
        if wake_fd >= 0:
            os.close(wake_fd)
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        _let_go(wake_fd)
        if os.fork() == 0:
            _become(arguments, mine)
    finally:
        os._exit(0)


def _let_go(wake_fd: int) -> None:
    """Hold nothing but the job's pipe, if any, as descriptor 3."""
    os.chdir("/")
    if wake_fd >= 0:
        os.dup2(wake_fd, KEPT_FD)
        os.set_inheritable(KEPT_FD, True)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.closerange(KEPT_FD + (wake_fd >= 0), os.sysconf("SC_OPEN_MAX"))


def _become(arguments: list[str], mine: str) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.nice(NICE)
    if mine:
        folder.say_process(mine)
    command = [*interpreter(), *arguments]
    # The path of the collector itself, never one that a job could set.
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    environment.update({name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ})
    if os.path.exists(IONICE):
        command = [IONICE, "-c3", *command]
    if mine and os.path.exists(SETPRIV):
        command = [SETPRIV, "--no-new-privs", *command]
    os.execve(command[0], command, environment)  # noqa: S606


def interpreter(top: str = TOP) -> list[str]:
    """How a command of the collector is started from the folder or the zip file that holds it.

    Not as `python FILE.pyz`: that loads modules which would stay in memory for the whole job.
    """
    start = f"import sys; sys.path.insert(0, {top!r}); from collector.__main__ import main; main()"
    return [sys.executable, "-I", "-S", "-c", start]
