"""A sampler of a made-up node without waiting for time to pass, and the payload that comes of it."""

from __future__ import annotations

import json
import marshal
from pathlib import Path

from collector import statefile
from collector.config import Config
from collector.loop import Sampler
from collector.summary import node_summary
from tests.payloads import decoded

GB = 2**30
START = 1_790_000_000.0


def job(gpus: range | list[int] = range(8)) -> dict:
    return {
        "cluster": "lumi",
        "job_id": 42,
        "attempt": 1,
        "node": "nid005001",
        "gpus": list(gpus),
        "cpu_threads": 112,
        "threads_per_core": 2,
        "started_at": START,
        "is_whole_node": len(gpus) == 8,
        "sluid": "",
        "uid": -1,
    }


def config_of(tmp_path: Path) -> Config:
    config = Config()
    config.sysfs_root, config.proc_root, config.cgroup_root, config.pm_counters_root = (
        str(tmp_path / name) for name in ("sys", "proc", "cgroup", "pm_counters")
    )
    return config


def summary(sampler: Sampler, errors: list[str] | None = None) -> dict:
    """What the epilog makes of the last checkpoint, after a trip through the disk and the portal's check."""
    sampler.finish(sampler.interval_s)
    state = marshal.loads(marshal.dumps(sampler.state(), statefile.FORMAT))
    payload = node_summary(sampler.job, state, START + sampler.elapsed_s, errors or [])
    decoded(payload)
    return payload


def write_trace(folder: Path, gpus: list[dict], ticks: list[dict], interval_s: float = 1.0) -> str:
    file = folder / "trace.jsonl"
    lines = [{"gpus": gpus, "interval_s": interval_s}, *ticks]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(file)
