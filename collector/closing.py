"""The end of a job on its node: the sampling process ends, its payload goes to disk, the folder goes away.

The epilog does it; where no epilog came (node failure, reboot, a killed hook), whoever ships next does.
A lock that the kernel lets go with its process keeps two of them apart.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time

from collector import cgroup, spool, statefile
from collector.job import whole
from collector.summary import node_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.config import Config

BYTES_PER_MB = 2**20


def job_folders(config: Config) -> list[str]:
    """The folders of the jobs that are not closed yet."""
    try:
        names = os.listdir(config.jobs_dir)
    except FileNotFoundError:
        return []
    return [f"{config.jobs_dir}/{name}" for name in sorted(names) if name.replace(".", "", 1).isdigit()]


def job_of(folder: str) -> int | None:
    """The job id in a folder's name `<job id>.<attempt>`."""
    return whole(os.path.basename(folder).partition(".")[0])


def end(folder: str, ended: dict[str, Any], wait_s: float) -> None:
    """Have the sampling process take its last sample, and write down how the job ended, unless that is known."""
    _wake(folder)
    if not os.path.exists(f"{folder}/ended"):
        statefile.save(f"{folder}/ended", ended, is_durable=True)
    deadline = time.monotonic() + wait_s
    while is_sampled(folder) and time.monotonic() < deadline:
        time.sleep(0.01)


def close(config: Config, folder: str) -> None:
    """Put the payload of an ended job on disk and remove its folder; nothing when another process is at it."""
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        job, ended = statefile.read(f"{folder}/job"), statefile.read(f"{folder}/ended")
        if job is not None and ended is not None:
            state, errors = statefile.read(f"{folder}/checkpoint"), _errors(folder, ended)
            keep(config, node_summary(job, state, ended["ended_at"], errors))
            if job["is_first_node"] and not ended.get("no_epilog"):
                _ask_for_record(config, job, ended)
        shutil.rmtree(folder)
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def keep(config: Config, payload: dict[str, Any]) -> None:
    """A summary on disk, for good. Raises OSError, then the job's folder is still there to try again."""
    name = f"{payload['job_id']}.{payload['attempt']}-{payload['node']}"
    content = json.dumps(payload, separators=(",", ":"), allow_nan=False).encode()
    spool.put(config.spool_dir, spool.SUMMARY, name, content, config.spool_max_mb * BYTES_PER_MB)


def close_what_is_over(config: Config) -> list[str]:
    """Close every job that ended or cannot go on; the folders of those whose sampling should be started again."""
    to_restart = []
    for folder in job_folders(config):
        job, checkpoint = statefile.read(f"{folder}/job"), statefile.read(f"{folder}/checkpoint")
        if job is None or os.path.exists(f"{folder}/ended"):
            close(config, folder)
        elif not is_sampled(folder):
            if _still_runs(config, job):
                to_restart.append(folder)
                continue
            elapsed_s = checkpoint["elapsed_s"] if checkpoint else 0.0
            end(folder, {"ended_at": job["started_at"] + elapsed_s, "no_epilog": True}, 0.0)
            close(config, folder)
    return to_restart


def is_sampled(folder: str) -> bool:
    """Whether a sampling process holds the job's pipe: only a reader lets a writer in without waiting."""
    fd = _writer(folder)
    if fd is None:
        return False
    os.close(fd)
    return True


def boot_id(proc: str) -> str:
    """The kernel's mark of this boot; empty where it gives none."""
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _still_runs(config: Config, job: dict[str, Any]) -> bool:
    """Whether a job without an epilog may still be running: same boot, within the longest walltime, its user here."""
    is_young = time.monotonic() - job["started_monotonic_s"] < config.job_max_s
    return (
        job["boot_id"] == boot_id(config.proc_root) and is_young and cgroup.has_processes(config.proc_root, job["uid"])
    )


def _errors(folder: str, ended: dict[str, Any]) -> list[str]:
    failed = statefile.read(f"{folder}/failed")
    said = [f"not sampled: {failed}"] if failed else []
    if ended.get("no_epilog"):
        said.append("no epilog ran for this job on this node; it ends with its last checkpoint")
    return said


def _ask_for_record(config: Config, job: dict[str, Any], ended: dict[str, Any]) -> None:
    """Leave the job's record to the shipper: Slurm is not asked while its epilog runs."""
    statefile.private_folder(config.records_dir)
    path = f"{config.records_dir}/{job['job_id']}.{job['attempt']}"
    statefile.save(path, {**job, **ended}, is_durable=True)


def _wake(folder: str) -> None:
    """Tell the sampling process to take its last sample and end."""
    fd = _writer(folder)
    if fd is not None:
        os.write(fd, b"end")
        os.close(fd)


def _writer(folder: str) -> int | None:
    try:
        return os.open(f"{folder}/wake", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
