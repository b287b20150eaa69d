"""What Slurm's prolog calls: record the job and start one sampling process for it.

Few file operations and few modules, because every job on every node waits for this.
"""

from __future__ import annotations

import os
import time

from collector import folder, statefile
from collector.folder import boot_id, boottime_s
from collector.hooks import detach, start_sampling
from collector.host import threads_per_core
from collector.job import NoGpuJob, from_environment
from collector.privilege import run_as
from collector.sources.amdgpu_sysfs import gpus_on_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from collector.config import Config


def prolog(config: Config, config_file: str, environment: Mapping[str, str]) -> None:
    """Record the job and start its sampling process; jobs without GPUs are ignored."""
    try:
        job = from_environment(environment, config.cluster)
    except NoGpuJob:
        return
    job.update(
        started_at=time.time(),
        started_boottime_s=boottime_s(),
        boot_id=boot_id(config.proc_root),
        is_whole_node=len(job["gpus"]) == gpus_on_node(config.sysfs_root),
        threads_per_core=threads_per_core(config.sysfs_root),
        run_as=run_as(config),
        raw_s=config.raw_asked_s if job.pop("is_raw_asked") else config.raw_s,
    )
    others = folder.overlapping(config, job["gpus"])
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
    """A second prolog of the same run does not touch the first one's sampling; folders from an earlier boot are
    closed."""
    before = statefile.read(f"{mine}/job")
    if before and before["boot_id"] == job["boot_id"] and not os.path.exists(f"{mine}/ended"):
        start_sampling(config_file, mine)
        return
    closing = __import__("collector.closing", fromlist=["close"])
    closing.end(mine, {"ended_at": (before or job)["started_at"], "no_epilog": True}, 1.0)
    closing.close(config, mine)
    made, wake_fd = folder.make(config, job)
    detach(["run", "--config", config_file, "--job", made], made, wake_fd)
