"""Sample jobs that run now: what squeue would list of them, and what the collectors of their nodes sent so far.

One works, one has been idle since an hour, one was not measured yet, one waits in a loop at low power, the host memory
of one fills, and one is a Jupyter session that has been idle since the morning. Every number is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.early.services import watch_running
from jobs.queue.services import store_queue
from jobs.queue.squeue import ListedJob, Queue
from portal.ingest.body import records
from portal.ingest.services import KINDS, ingest
from wire.payloads import NODE_SUMMARY

Floats = NDArray[np.float64]
Course = Callable[[Floats, np.random.Generator], Floats]
"""Use of a GPU in percent at these minutes before the demo began."""

FIRST_JOB, FIRST_NODE = 17_900_001, 7001
CLUSTER, PARTITION = "lumi", "small-g"
POINTS_MAX = 240  # wire.payloads.TIMELINE_POINTS_MAX
MEMORY_POINTS_MAX = 60
RECENT_S = 3600.0
SENT_AFTER, SENT_EACH = timedelta(minutes=4), timedelta(minutes=10)
"""How long ago the last interim summary was made when the demo began, and how often one is made then."""

FIRST_SUMMARY_MIN = 10
GPU_MEMORY_GB, MEMORY_OF_GPU_GB, CORES_OF_GPU = 64.0, 60.0, 7  # of a LUMI-G node, jobs/sites/lumi.toml
CAP_W = 560.0


def _working(level: float) -> Course:
    return lambda before_min, dice: level + dice.normal(0.0, 3.0, before_min.size)


def _idle_since(minutes: float, level: float) -> Course:
    def course(before_min: Floats, dice: np.random.Generator) -> Floats:
        return np.where(before_min > minutes, _working(level)(before_min, dice), 0.0)

    return course


def _waiting(before_min: Floats, dice: np.random.Generator) -> Floats:
    return 99.0 + dice.uniform(-0.5, 0.5, before_min.size)


@dataclass(frozen=True)
class RunningSample:
    """One running job; `grows_gb_per_min` is what the host memory grows by, from `host_gb` at the start."""

    name: str
    user: int
    gpus: int
    ran_min: int
    limit_h: float
    course: Course
    power_w: float = 380.0
    busy_cores: float = 9.0
    host_gb: float = 42.0
    grows_gb_per_min: float = 0.0


SAMPLES = (
    RunningSample("vit-pretrain", 0, 8, 170, 48, _idle_since(70, 91.0), power_w=95.0, busy_cores=0.2),
    RunningSample("gromacs_md", 0, 8, 305, 12, _working(92.0)),
    RunningSample("finetune_7b", 0, 2, 6, 4, _working(80.0)),
    RunningSample("diffusion_train", 1, 8, 185, 24, _waiting, power_w=150.0, busy_cores=8.2),
    RunningSample("embed_corpus", 2, 8, 250, 24, _working(76.0), host_gb=60.0, grows_gb_per_min=1.5),
    RunningSample("jupyter", 0, 1, 640, 12, _idle_since(570, 55.0), power_w=92.0, busy_cores=0.1, host_gb=14.0),
)


def show_running(people: tuple[str, ...], project: str, began: datetime, now: datetime, seed: int) -> None:
    """Store the queue as read now, and the last interim summary of each job, as if the jobs had been watched.

    `began` is when the sample times count to; `people` of the project own the jobs.
    """
    jobs = list(_listed(people, project, began))
    store_queue(CLUSTER, Queue(tuple(jobs), ()), now)
    sent_at = began + (now - began) // SENT_EACH * SENT_EACH - SENT_AFTER
    for place, sample in enumerate(SAMPLES):
        until_min = (sent_at - began) / timedelta(minutes=1) + sample.ran_min
        if until_min >= FIRST_SUMMARY_MIN:
            payload = _summary(sample, place, jobs[place], until_min, sent_at, seed)
            outcome = ingest(records(msgspec.json.encode(payload)), list(KINDS))
            if outcome.rejected:
                raise ValueError(f"running sample {sample.name} was rejected: {outcome.rejected}")
    watch_running(len(SAMPLES) * 2, now)


def _listed(people: tuple[str, ...], project: str, began: datetime) -> Iterator[ListedJob]:
    for place, sample in enumerate(SAMPLES):
        started_at = (began - timedelta(minutes=sample.ran_min)).replace(microsecond=0)
        yield ListedJob(
            job_id=FIRST_JOB + place,
            user_id=people[sample.user],
            project_id=project,
            is_running=True,
            array_job_id=None,
            array_task_id=None,
            task_count=1,
            job_name=sample.name,
            partition=PARTITION,
            qos="normal",
            reason="",
            node_count=1,
            gpus=sample.gpus,
            cores=CORES_OF_GPU * sample.gpus,
            memory_gb=MEMORY_OF_GPU_GB * sample.gpus,
            is_exclusive=False,
            time_limit_s=3600.0 * sample.limit_h,
            submitted_at=started_at - timedelta(minutes=20),
            eligible_at=started_at - timedelta(minutes=20),
            started_at=started_at,
        )


def _summary(
    sample: RunningSample, place: int, job: ListedJob, until_min: float, sent_at: datetime, seed: int
) -> dict[str, Any]:
    """What the one node of the job sent last: everything until so many minutes after the start."""
    dice = np.random.default_rng([seed, place])
    step_min = float(-(-until_min // POINTS_MAX))
    return {
        "schema": NODE_SUMMARY,
        "cluster": CLUSTER,
        "job_id": job.job_id,
        "attempt": 0,
        "node": f"nid{FIRST_NODE + place:06d}",
        # A later one replaces what an earlier start of the demo has left.
        "sequence": int(sent_at.timestamp()),
        "final": False,
        "started_at": job.started_at.isoformat() if job.started_at else None,
        "ended_at": sent_at.isoformat(),
        "interval_s": 1.0,
        "collector_version": "1.0.0",
        "recent_s": min(RECENT_S, 60.0 * until_min),
        "gpus": [_gpu(sample, number, until_min, step_min, dice) for number in range(sample.gpus)],
        "cpu": _host(sample, until_min),
        "errors": [],
    }


def _gpu(sample: RunningSample, number: int, until_min: float, step_min: float, dice: np.random.Generator) -> Any:
    middles = np.arange(step_min / 2, until_min, step_min)
    util = np.round(np.clip(sample.course(sample.ran_min - middles, dice), 0.0, 100.0), 1)
    seconds = 60.0 * step_min
    counts = np.bincount(np.round(util).astype(int), minlength=101)
    idle_s = float(np.sum(util <= 1.0)) * seconds
    memory_gb = round(GPU_MEMORY_GB * 0.62, 1)
    power = {"power_avg_w": 300.0, "power_cap_w": CAP_W, "recent_power_avg_w": sample.power_w} if not number % 2 else {}
    if sample.course is _waiting and power:
        power["power_avg_w"] = sample.power_w
    return power | {
        "gpu_id": number,
        "module_id": number // 2,
        "mem_total_gb": GPU_MEMORY_GB,
        "peak_mem_gb": memory_gb,
        "avg_util": float(util.mean()),
        "p95_util": float(np.percentile(util, 95)),
        "samples": round(util.size * seconds),
        "measured_s": util.size * seconds,
        "active_s": util.size * seconds - idle_s,
        "idle_s": idle_s,
        "util_histogram_s": {str(at): float(count) * seconds for at, count in enumerate(counts) if count},
        "timeline": {"step_s": seconds, "util": util.tolist(), "mem_gb": [memory_gb] * util.size},
    }


def _host(sample: RunningSample, until_min: float) -> dict[str, Any]:
    step_min = -(-until_min // MEMORY_POINTS_MAX)
    at_min = np.arange(step_min / 2, until_min, step_min)
    limit_gb = MEMORY_OF_GPU_GB * sample.gpus
    used_gb = np.round(np.clip(sample.host_gb + sample.grows_gb_per_min * at_min, 0.0, limit_gb * 0.97), 2)
    return {
        "cores_allocated": CORES_OF_GPU * sample.gpus,
        "busy_cores_avg": sample.busy_cores,
        "recent_busy_cores": sample.busy_cores,
        "ranks": sample.gpus,
        "peak_memory_gb": float(used_gb.max()) + 4.0,
        "peak_memory_anon_gb": float(used_gb.max()),
        "memory_limit_gb": limit_gb,
        "memory_timeline": {"step_s": 60.0 * step_min, "gb": used_gb.tolist()},
    }
