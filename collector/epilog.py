"""What Slurm's epilog calls: end the sampling of a job, keep the collected data, and start the sender.

If one step fails, the others are still done, and the reason is kept.
"""

from __future__ import annotations

import os
import time

from collector import folder, statefile
from collector.folder import boottime_s
from collector.hooks import detach
from collector.job import NoGpuJob, from_environment, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from collector.config import Config

LAST_WORDS_S = 2.0
"""How long an epilog waits for the last sample of a process that may still be starting; after that the last checkpoint
is used."""


def epilog(config: Config, config_file: str, environment: Mapping[str, str]) -> None:
    """End the sampling of a job, write its payload to disk, and leave the sending to a separate process."""
    try:
        _end_job(config, environment)
    finally:
        nodes = whole(environment.get("SLURM_JOB_NUM_NODES")) or 1
        detach(["ship", "--config", config_file, "--nodes", str(nodes)])


def _end_job(config: Config, environment: Mapping[str, str]) -> None:
    job_id = whole(environment.get("SLURM_JOB_ID"))
    mine = [each for each in folder.folders(config) if folder.job_of(each) == job_id]
    ended = {each: _end(each, environment) for each in mine}
    # The modules that make a payload are loaded while the sampling process ends.
    closing, failures = (__import__(f"collector.{name}", fromlist=["name"]) for name in ("closing", "failures"))
    for each in mine:
        try:
            closing.end(each, ended[each], LAST_WORDS_S)
            closing.close(config, each)
        except Exception as error:
            # If the folder no longer exists, another epilog or the sender was faster.
            if os.path.isdir(each):
                failures.note(config, job_id, f"epilog: {type(error).__name__}: {error}")
    if not mine and not closing.was_closed(config, job_id):
        _say_unmeasured(config, environment, closing, failures)


def _end(mine: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Tell the sampling process of a job that it ended; record how, in any case."""
    ended = {"ended_at": _ends_at(mine), "exit_status": whole(environment.get("SLURM_JOB_EXIT_CODE")) or 0}
    try:
        folder.say_ended(mine, ended)
    except OSError:
        # It is tried again, and then reported.
        return ended
    return ended


def _ends_at(mine: str) -> float:
    """The present time, counted from the job's start by the monotonic clock, so that setting the clock changes no
    duration."""
    job = statefile.read(f"{mine}/job")
    return time.time() if job is None else job["started_at"] + boottime_s() - job["started_boottime_s"]


def _say_unmeasured(config: Config, environment: Mapping[str, str], closing: Any, failures: Any) -> None:
    """A GPU job that no prolog recorded: its payload states this, and any other payload of the same run replaces it."""
    try:
        job = from_environment(environment, config.cluster)
    except NoGpuJob:
        return
    now, found = time.time(), failures.take(config)
    own = [each for each in found if each[0] == job["job_id"]]
    failures.put_back(config, [each for each in found if each not in own])
    reason = f"not sampled: {own[0][1] if own else 'no prolog ran for this job on this node'}"
    payload = {**closing.node_summary({**job, "started_at": now}, None, now, [reason]), "sequence": 0}
    try:
        closing.keep(config, payload, now)
    except OSError:
        failures.put_back(config, own)
        raise
