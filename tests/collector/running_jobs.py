"""Jobs that go on, as folders of a node with a checkpoint in each, without a sampling process and without waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collector import spool, statefile
from collector.config import Config
from collector.folder import boottime_s
from tests.collector.answers import shipping_config
from tests.collector.sampling import START

HOUR_S = 3600.0


def node_config(folder: Path) -> Config:
    """Settings of a node whose spool, jobs and failures are in this folder."""
    config = shipping_config(folder)
    config.failures_file, config.proc_root = str(folder / "run/failures"), str(folder / "proc")
    statefile.private_folder(config.spool_dir)
    return config


def running(config: Config, age_s: float, state: dict[str, Any] | None, job_id: int = 42, **job: object) -> Path:
    """A job that began `age_s` seconds ago, with this checkpoint."""
    folder = Path(config.jobs_dir) / f"{job_id}.0"
    statefile.private_folder(f"{folder}/own")
    known = {
        **{"cluster": "lumi", "job_id": job_id, "attempt": 0, "node": "nid005001", "gpus": [0, 1], "node_count": 1},
        **{"cpu_threads": 112, "threads_per_core": 2, "boot_id": "", "is_first_node": False, "started_at": START},
    }
    statefile.save(f"{folder}/job", {**known, "started_boottime_s": boottime_s() - age_s, **job})
    if state is not None:
        statefile.save(f"{folder}/own/checkpoint", state)
    return folder


def checkpoint(
    elapsed_s: float, energy_j: float = 0.0, cpu_s: float | None = None, memory: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The state of a sampling process: two GPUs of one module at 50 %, the first of which reports its power."""
    sums = dict.fromkeys(
        "util_rest_s mem_byte_s mem_s mem_peak power_w_s power_s power_peak_w throttled_s throttle_s temperature_peak_c"
        " gfx_clock_sum gfx_clock_count mem_clock_sum mem_clock_count busy_acc busy_weight busy_s".split(),
        0.0,
    )
    hist = [0.0] * 101
    hist[50] = elapsed_s
    totals = {**sums, "hist": hist, "reasons": {}, "measured_s": elapsed_s, "util_s": 50 * elapsed_s}
    totals |= {"samples": elapsed_s, "energy_j": 0.0, "energy_s": 0.0}
    powered = {**totals, "energy_j": energy_j, "energy_s": elapsed_s if energy_j else 0.0}
    gpu = {"bus": "", "module_id": 0, "mem_total_bytes": None, "power_cap_w": None}
    values = {} if cpu_s is None else {"cpu_s": cpu_s, "user_s": cpu_s, "system_s": 0.0, "elapsed_s": elapsed_s}
    return {
        **{"source": "replay", "interval_s": 1.0, "elapsed_s": elapsed_s, "gap_s": 0.0, "restarts": 0},
        **{"lost_checkpoints": 0, "cray_gpus_j": {}, "cray_node_j": None, "scale": None},
        "gpus": [
            {**gpu, "index": 0, "power_from": "module", "totals": powered},
            {**gpu, "index": 1, "power_from": "", "totals": totals},
        ],
        "timeline": {"step_s": 2.0, "rows": [b"", b""]},
        "host": {"values": values, "iowait": (None, None)} | ({"memory": memory} if memory else {}),
    }


def waiting(config: Config) -> list[str]:
    """What waits on disk: kinds and names."""
    parts = (entry.name.removesuffix(".json").split("-", 2) for entry in spool.entries(config.spool_dir))
    return [f"{kind} {name}" for kind, _, name in parts]
