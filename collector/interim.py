"""Interim summaries of jobs that go on, made and sent by the sender that the timer starts, after everything else.

A job's next one is due at `interim_first_s` after its start and then each `interim_every_s`. It is made from the last
checkpoint of its sampling process. Nothing here may hold up what must arrive, or end the sender: a failure is kept and
the next summary is as good.
"""

from __future__ import annotations

import time

from collector import closing, failures, shipper, spool, statefile
from collector.folder import boot_id, boottime_s, folders, has_ended, own
from collector.summary import BYTES_PER_GB, node_summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from collector.config import Config

NOTHING = (0.0, 0.0)
LOOK_S = 1.0
"""How often a pause is interrupted to look for something that must arrive."""


def interim_summaries(config: Config, pause_s: Callable[[int], float], is_called: Callable[[], bool]) -> None:
    """Make the interim summaries that are due, and offer those that wait to the portal once.

    Before that this node waits `pause_s` of the largest job's number of nodes; it stops as soon as `is_called` finds
    something that must arrive. Never raises.
    """
    try:
        if is_called():
            return
        nodes = _make(config)
        if not spool.interims(config.spool_dir) or _is_called_within(pause_s(nodes), is_called):
            return
        for reason in shipper.ship_interims(config, is_called):
            failures.note(config, None, f"interim summary: {reason}")
    except Exception as error:
        failures.note(config, None, f"interim summary: {type(error).__name__}: {error}")


def _make(config: Config) -> int:
    """Write the summaries that are due to disk; returns the nodes of the largest job that goes on."""
    boot, nodes = boot_id(config.proc_root), 1
    for folder in folders(config):
        job = statefile.read(f"{folder}/job")
        if job is None or job["boot_id"] != boot:
            continue
        nodes = max(nodes, job["node_count"] or 1)
        try:
            _make_one(config, folder, job)
        except FileNotFoundError:
            continue  # its epilog has removed the folder
        except Exception as error:
            failures.note(config, job["job_id"], f"interim summary: {type(error).__name__}: {error}")
    return nodes


def _make_one(config: Config, folder: str, job: dict[str, Any]) -> None:
    before = statefile.read(f"{folder}/interim")
    age_s = boottime_s() - job["started_boottime_s"]
    if age_s < _due_s(config, before) or has_ended(folder):
        return
    state = own(folder, "checkpoint")
    if not isinstance(state, dict) or state["elapsed_s"] <= (before["elapsed_s"] if before else 0.0):
        return
    payload, sums = interim_summary(job, state, before, closing.shared_gpus(folder))
    # First the number: a sender that is killed in between leaves it unused.
    statefile.save(f"{folder}/interim", {**sums, "age_s": age_s})
    name = closing.spool_name(job)
    spool.put_interim(config.spool_dir, name, closing.encoded(payload), config.spool_max_mb * closing.BYTES_PER_MB)
    # An epilog records the end before it drops the interim summaries: one of the two drops this one.
    if has_ended(folder):
        spool.drop_interim(config.spool_dir, name)


def _due_s(config: Config, before: dict[str, Any] | None) -> float:
    """The age of the job at which its next interim summary is due: infinite where there is none."""
    first_s, every_s = config.interim_first_s, config.interim_every_s
    if first_s <= 0 or (before and every_s <= 0):
        return float("inf")
    # From the times that were planned, so that the timer's own rhythm adds nothing to them.
    return first_s if before is None else first_s + (max(before["age_s"] - first_s, 0.0) // every_s + 1) * every_s


def interim_summary(
    job: dict[str, Any], state: dict[str, Any], before: dict[str, Any] | None, errors: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The payload of a job that goes on, and the sums from which the next one's recent use is counted."""
    sums = _sums(state, 1 + (before["number"] if before else 0))
    since = before or {"elapsed_s": 0.0, "power": dict.fromkeys(sums["power"], (NOTHING, NOTHING)), "cpu": NOTHING}
    payload = node_summary(job, state, job["started_at"] + state["elapsed_s"], errors)
    recent_s = round(state["elapsed_s"] - since["elapsed_s"], 3)
    payload.update(sequence=sums["number"], final=False, recent_s=recent_s)
    for gpu in payload["gpus"]:
        power_w = _recent_power_w(sums["power"].get(gpu["gpu_id"]), since["power"].get(gpu["gpu_id"]))
        if power_w is not None:
            gpu["recent_power_avg_w"] = round(power_w, 1)
    busy_cores = _per_second(sums["cpu"], since["cpu"])
    if busy_cores is not None:
        payload["cpu"]["recent_busy_cores"] = round(busy_cores, 3)
    if timeline := _memory(state["host"].get("memory")):
        payload["cpu"]["memory_timeline"] = timeline
    return payload, sums


def _sums(state: dict[str, Any], number: int) -> dict[str, Any]:
    values = state["host"]["values"]
    return {
        "number": number,
        "elapsed_s": state["elapsed_s"],
        "power": {gpu["index"]: _power_sums(gpu["totals"]) for gpu in state["gpus"] if gpu["power_from"]},
        "cpu": (values["cpu_s"], values["elapsed_s"]) if "cpu_s" in values else None,
    }


def _power_sums(totals: dict[str, Any]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Joules and seconds by the energy counter, and by the samples (`collector.summary` prefers the counter)."""
    return (totals["energy_j"], totals["energy_s"]), (totals["power_w_s"], totals["power_s"])


def _recent_power_w(now: Any, before: Any) -> float | None:
    if now is None or before is None:
        return None
    by_counter, by_samples = (_per_second(last, first) for last, first in zip(now, before))
    return by_counter or by_samples


def _per_second(now: tuple[float, float] | None, before: tuple[float, float] | None) -> float | None:
    """The growth of an amount by the growth of its seconds; None where neither grew, or one was not measured."""
    if now is None or before is None:
        return None
    (amount, seconds), (amount_before, seconds_before) = now, before
    if seconds <= seconds_before or amount < amount_before:
        return None
    return (amount - amount_before) / (seconds - seconds_before)


def _memory(course: dict[str, Any] | None) -> dict[str, Any] | None:
    """Memory over time as the payload has it; a bucket without a reading is a gap."""
    if not course or not course["sums"]:
        return None
    means = (total / count / BYTES_PER_GB if count else None for total, count in zip(course["sums"], course["counts"]))
    return {"step_s": course["step_s"], "gb": [None if mean is None else round(mean, 3) for mean in means]}


def _is_called_within(seconds: float, is_called: Callable[[], bool]) -> bool:
    """Wait that long, or until something must be sent; whether that is so."""
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0 and not is_called():
        time.sleep(min(left_s, LOOK_S))
    return is_called()
