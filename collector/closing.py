"""The end of a job on its node: the sampling process ends, its payload is written to disk, the folder is removed.

The epilog does it; if no epilog ran (node failure, reboot, a killed hook), the next sender does. What has to be done is
read from the job's own folder and a clock that is never set. A lock that the kernel releases with its process keeps two
of them apart.
"""

from __future__ import annotations

import fcntl
import os
import time

from collector import failures, spool, statefile
from collector.folder import (
    boot_id,
    boottime_s,
    folders,
    is_sampled,
    job_of,
    kill,
    overlapping,
    own,
    remove,
    say_ended,
    shared,
)
from collector.summary import node_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from collector.config import Config

JSON = __import__("_json")
BYTES_PER_MB = 2**20
POLL_S = 0.002
LOST_S_MIN = 2.0
"""Seconds without a sample at the end of a job that are worth reporting; sampling itself rounds to an interval."""

EPILOG_S_MAX = 15.0
"""An epilog is over after this, by the hooks' own limits: then any process may close a job that is still open."""

OVERDUE_S = 900.0
"""This long past its limit, Slurm is queried about a job: OverTimeLimit and KillWait, which sites set, are shorter."""

CLOSED_KEPT = 500
"""This many closed jobs are remembered, so that a second epilog of one does not report that it was never sampled."""


def end(folder: str, ended: dict[str, Any], wait_s: float) -> None:
    """Make the sampling process take its last sample and end, and wait for that.

    If it does not answer within `wait_s` it is killed, and only what it wrote last is available.
    """
    say_ended(folder, ended)
    deadline = time.monotonic() + wait_s
    while is_sampled(folder):
        if time.monotonic() > deadline:
            kill(folder)
            return
        time.sleep(POLL_S)


def close(config: Config, folder: str) -> None:
    """Write the payload of an ended job to disk and remove its folder; nothing if another process is doing so."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not statefile.is_same(folder, lock):
            return
        job, ended = statefile.read(f"{folder}/job"), statefile.read(f"{folder}/ended")
        if job is not None and ended is not None:
            summary = payload(folder, job, ended)
            keep(config, summary, ended["ended_at"])
            _keep_raw(config, folder, job, summary)
            if job["is_first_node"] and not ended.get("no_epilog"):
                _ask_for_record(config, job, ended)
            _learn(config, folder)
            _remember(config, os.path.basename(folder))
        remove(folder)
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def keep(config: Config, payload: dict[str, Any], ended_at_s: float) -> None:
    """Write a summary to disk durably, with failures on this node before; the same summary twice is one file.

    Raises OSError; the job's folder is then still there to try again.
    """
    failed = failures.take(config)
    whole = {**payload, "errors": payload["errors"] + failures.sentences(failed)}
    name = spool_name(payload)
    content = encoded(whole)
    room = config.spool_max_mb * BYTES_PER_MB
    try:
        spool.put(config.spool_dir, spool.SUMMARY, name, content, room, int(ended_at_s * 1e9))
    except OSError:
        failures.put_back(config, failed)
        raise
    spool.drop_interim(config.spool_dir, name)


def spool_name(of_node: dict[str, Any]) -> str:
    """What identifies the payloads of one run on one node on disk; `of_node` is a payload, or the job."""
    return f"{of_node['job_id']}.{of_node['attempt']}-{of_node['node']}"


def _keep_raw(config: Config, folder: str, job: dict[str, Any], summary: dict[str, Any]) -> None:
    """The job's raw samples, if it has any, beside its summary; a failure is not worth an error."""
    state = own(folder, "checkpoint")
    rows = state.get("raw") if isinstance(state, dict) else None
    if not rows or not rows["rows"] or "interval_s" not in summary:
        return
    raw = __import__("collector.raw_payload", fromlist=["raw_samples"])
    name = spool_name(summary)
    try:
        content = encoded(raw.raw_samples(summary, rows, job["started_at"]))
        spool.put(config.spool_dir, spool.RAW, name, content, config.spool_max_mb * BYTES_PER_MB)
    except Exception as error:
        failures.note(config, job["job_id"], f"raw samples: {type(error).__name__}: {error}")


def encoded(payload: dict[str, Any]) -> bytes:
    """JSON as `json.dumps` makes it, by the same code of the interpreter: `json` itself imports `re` for reading."""
    encode = JSON.make_encoder(None, _no_json, JSON.encode_basestring_ascii, None, ":", ",", False, False, False)
    return "".join(encode(payload, 0)).encode()


def _no_json(value: object) -> None:
    raise TypeError(f"{type(value).__name__} has no JSON representation")


def was_closed(config: Config, job_id: int | None) -> bool:
    """Whether an epilog of this job ran before."""
    return any(job_of(name) == job_id for name in statefile.listed(config.closed_dir))


def close_what_is_over(config: Config, is_gone: Callable[[int], bool]) -> list[str]:
    """Close every job that ended or cannot continue; returns the folders of those whose sampling should be restarted.

    `is_gone` queries Slurm whether it no longer runs a job; only for jobs whose folder does not answer this.
    """
    to_restart = []
    for folder in folders(config):
        job, ended = statefile.read(f"{folder}/job"), statefile.read(f"{folder}/ended")
        if job is None:
            remove(folder)
        elif ended is not None:
            if is_sampled(folder) and 0 <= boottime_s() - ended.get("boottime_s", 0.0) < EPILOG_S_MAX:
                continue
            kill(folder)
            close(config, folder)
        elif _cannot_go_on(config, job) or (_is_doubtful(config, folder, job) and is_gone(job["job_id"])):
            end(folder, {"ended_at": job["started_at"] + _sampled_s(folder), "no_epilog": True}, 0.5)
            close(config, folder)
        elif not is_sampled(folder) and own(folder, "failed") is None:
            to_restart.append(folder)
    return to_restart


def _cannot_go_on(config: Config, job: dict[str, Any]) -> bool:
    """Whether a job is from another boot, or older than any job may be."""
    is_young = 0 <= boottime_s() - job["started_boottime_s"] < config.job_max_s
    return job["boot_id"] != boot_id(config.proc_root) or not is_young


def _is_doubtful(config: Config, folder: str, job: dict[str, Any]) -> bool:
    """Whether its epilog may have been lost: nobody samples the job, or not since its prolog, its time is over, or a
    later job has its GPUs."""
    state = own(folder, "checkpoint")
    is_restarted = isinstance(state, dict) and bool(state.get("restarts"))
    is_overdue = time.time() - (job.get("ends_at_s") or float("inf")) > OVERDUE_S
    if is_restarted or is_overdue or not is_sampled(folder):
        return True
    others = [statefile.read(f"{other}/job") for other in overlapping(config, job["gpus"]) if other != folder]
    return any(other and other["started_boottime_s"] > job["started_boottime_s"] for other in others)


def _sampled_s(folder: str) -> float:
    state = own(folder, "checkpoint")
    return float(state["elapsed_s"]) if isinstance(state, dict) else 0.0


def payload(folder: str, job: dict[str, Any], ended: dict[str, Any]) -> dict[str, Any]:
    """The summary of the collected data, or, if they cannot be read, one that states so."""
    state, errors = own(folder, "checkpoint"), _errors(folder, job, ended)
    try:
        made = node_summary(job, state, ended["ended_at"], errors)
    except Exception as error:
        why = f"not sampled: the collected data cannot be read: {type(error).__name__}"
        made = node_summary(job, None, ended["ended_at"], [why, *errors])
    before = statefile.read(f"{folder}/interim")
    return {**made, "sequence": 1 + (before["number"] if before else 0)}


def _errors(folder: str, job: dict[str, Any], ended: dict[str, Any]) -> list[str]:
    failed, crashed = own(folder, "failed"), own(folder, "crashed")
    said = [f"not sampled: {str(failed)[:300]}"] if failed else []
    if crashed:
        said.append(f"the sampling process ended with an error: {str(crashed)[:300]}")
    lost_s = ended.get("boottime_s", 0.0) - job["started_boottime_s"] - _sampled_s(folder)
    if ended.get("no_epilog"):
        said.append(
            "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end"
        )
    elif not failed and lost_s > LOST_S_MIN:
        said.append(f"the sampling process hung or was killed: the last {lost_s:.0f} s of the job were not measured")
    return said + shared_gpus(folder)


def shared_gpus(folder: str) -> list[str]:
    """A sentence for each other job that also had GPUs of this one."""
    return [
        f"GPU {', '.join(map(str, gpus))} was job {other}'s as well for some of the time: its use is of both"
        for other, gpus in sorted(shared(folder).items())
    ]


def _ask_for_record(config: Config, job: dict[str, Any], ended: dict[str, Any]) -> None:
    """Leave the job's record to the sender: Slurm is not queried while its epilog runs."""
    statefile.private_folder(config.records_dir)
    path = f"{config.records_dir}/{job['job_id']}.{job['attempt']}"
    statefile.save(path, {**job, **ended}, is_durable=True)


def _learn(config: Config, folder: str) -> None:
    """What the job's sampling learned about this node's GPUs is the start for the next one; a failure is not worth an
    error."""
    learned = own(folder, "calibration")
    if learned is not None:
        try:
            statefile.save(config.calibration_file, learned)
        except OSError:
            return


def _remember(config: Config, name: str) -> None:
    statefile.private_folder(config.closed_dir)
    os.close(os.open(f"{config.closed_dir}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    kept = sorted(os.listdir(config.closed_dir), key=lambda closed: job_of(closed) or 0)
    for old in kept[:-CLOSED_KEPT]:
        try:
            os.unlink(f"{config.closed_dir}/{old}")
        except FileNotFoundError:
            continue
