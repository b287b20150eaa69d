"""What Slurm's prolog and epilog call: start one sampling process for a job, end it and keep what it gathered.

Both do a few file operations and return; whatever goes wrong, the job goes on and the reason is kept.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from collector import closing, statefile
from collector.host import threads_per_core
from collector.job import NoGpuJob, from_environment, whole
from collector.sources.amdgpu_sysfs import buses
from collector.sources.base import SourceError
from collector.summary import node_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from collector.config import Config

LAST_WORDS_S = 0.7
"""How long an epilog waits for the last sample; after that the last checkpoint is what there is."""

NICE = 19
IONICE = "/usr/bin/ionice"
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
    _end_overtaken(config, set(job["gpus"]))
    folder = f"{config.jobs_dir}/{job['job_id']}.{job['attempt']}"
    statefile.private_folder(folder)
    job.update(
        started_at=time.time(),
        started_monotonic_s=time.monotonic(),
        boot_id=closing.boot_id(config.proc_root),
        is_whole_node=len(job["gpus"]) == _gpus_on_node(config),
        threads_per_core=threads_per_core(config.sysfs_root),
    )
    statefile.save(f"{folder}/job", job, is_durable=True)
    start_sampling(config_file, folder)


def _gpus_on_node(config: Config) -> int:
    try:
        return len(buses(config.sysfs_root))
    except SourceError:
        return 0


def start_sampling(config_file: str, folder: str) -> None:
    """A sampling process for the job of a folder, unless there is one."""
    if closing.is_sampled(folder):
        return
    wake = f"{folder}/wake"
    if not os.path.exists(wake):
        os.mkfifo(wake, 0o600)
    detach(["run", "--config", config_file, "--job", folder])


def epilog(config: Config, config_file: str, environment: Mapping[str, str]) -> None:
    """End the sampling of a job, put its payload on disk, and leave the sending to a process of its own."""
    job_id = whole(environment.get("SLURM_JOB_ID"))
    folders = [folder for folder in closing.job_folders(config) if closing.job_of(folder) == job_id]
    was_written_down = any(statefile.read(f"{folder}/job") for folder in folders)
    ended = {"ended_at": time.time(), "exit_status": whole(environment.get("SLURM_JOB_EXIT_CODE")) or 0}
    for folder in folders:
        closing.end(folder, ended, LAST_WORDS_S)
        closing.close(config, folder)
    if not was_written_down:
        _say_unmeasured(config, environment, ended)
    detach(["ship", "--config", config_file])


def _say_unmeasured(config: Config, environment: Mapping[str, str], ended: dict[str, Any]) -> None:
    """A GPU job that no prolog wrote down: its payload says so, and gives way to any other of the same run."""
    try:
        job = from_environment(environment, config.cluster)
    except NoGpuJob:
        return
    job.update(started_at=ended["ended_at"])
    why = statefile.read(config.hook_error_file)
    reason = f"not sampled: {why or 'no prolog ran for this job on this node'}"
    closing.keep(config, {**node_summary(job, None, ended["ended_at"], [reason]), "sequence": 0})
    if why:
        os.unlink(config.hook_error_file)


def _end_overtaken(config: Config, gpus: set[int]) -> None:
    """Sampling of a job whose GPUs Slurm gives to another one now: its epilog never ran."""
    for folder in closing.job_folders(config):
        job = statefile.read(f"{folder}/job")
        if job is not None and gpus & set(job["gpus"]):
            closing.end(folder, {"ended_at": time.time(), "no_epilog": True}, 0.0)


def detach(arguments: list[str]) -> None:
    """Run a command of the collector in a session of its own that holds none of our descriptors.

    Slurm waits for whoever keeps a hook's output open and ends the hook's process group, so the new process leaves
    both behind; it inherits slurmd's control group, not the job's.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _become(arguments)
    finally:
        os._exit(0)


def _become(arguments: list[str]) -> None:
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.nice(NICE)
    signal.setitimer(signal.ITIMER_REAL, 0)
    command = [*interpreter(), *arguments]
    # The path of the collector itself, never one that a job could set.
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    environment.update({name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ})
    if os.path.exists(IONICE):
        command = [IONICE, "-c3", *command]
    os.execve(command[0], command, environment)  # noqa: S606


def interpreter(top: str = TOP) -> list[str]:
    """How a command of the collector is started from the folder or the zip file that holds it.

    Not as `python FILE.pyz`: that loads modules which would stay in memory for the whole job.
    """
    start = f"import sys; sys.path.insert(0, {top!r}); from collector.__main__ import main; main()"
    return [sys.executable, "-I", "-S", "-c", start]
