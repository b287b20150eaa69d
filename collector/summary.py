"""From the collected data to the `node-summary/1` payload: known numbers, and a reason for each missing one."""

from __future__ import annotations

from datetime import datetime, timezone

from collector.totals import buckets
from wire.payloads import HISTOGRAM_BINS, IDLE_UTIL_PERCENT_MAX, NODE_SUMMARY, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

BYTES_PER_GB = 2**30
ACCUMULATOR_COVERAGE_MIN = 0.9
"""The accumulator replaces the samples' mean only if it covers as much of the time as they do."""

DOUBT_SIGMAS, DOUBT_PERCENT = 6.0, 5.0
"""How far it may be from the samples' mean: six standard errors of as many samples of a wave between 0 and 100 %, and
the effect of the firmware's own filter."""

SHORT_JOB_S = 10.0
HOST_BOUNDS = {
    "busy_cores_avg": 4096,
    "peak_memory_gb": 60_000,
    "peak_memory_anon_gb": 60_000,
    "memory_limit_gb": 60_000,
    "oom_kills": 10**9,
    "pressure_cpu_s": 1e9,
    "pressure_memory_s": 1e9,
    "pressure_io_s": 1e9,
    "threads_per_rank": 1e6,
}
"""The limits of the portal (`metrics.payloads`); nothing may be below zero."""

GPU_BOUNDS = {
    "power_avg_w": 20_000,
    "power_peak_w": 20_000,
    "power_cap_w": 20_000,
    "energy_j": 1e12,
    "temperature_peak_c": 250,
    "gfx_clock_mhz": 20_000,
    "mem_clock_mhz": 20_000,
    "peak_mem_gb": 60_000,
    "avg_mem_gb": 60_000,
    "mem_total_gb": 60_000,
}
"""More than any GPU has; twenty kilowatts are more than any package uses."""


def node_summary(
    job: dict[str, Any], state: dict[str, Any] | None, ended_at_s: float, errors: list[str]
) -> dict[str, Any]:
    """The payload of one job on one node; without a `state` it only states that, and why, nothing was measured."""
    payload: dict[str, Any] = {
        "schema": NODE_SUMMARY,
        "cluster": job["cluster"],
        "job_id": job["job_id"],
        "attempt": job["attempt"],
        "node": job["node"],
        "sequence": 1,
        "final": True,
        "started_at": instant(job["started_at"]),
        "ended_at": instant(max(ended_at_s, job["started_at"])),
        "collector_version": VERSION,
    }
    if state is None:
        reason = errors[0] if errors else "the collector took no sample"
        gpus = [{"gpu_id": index, "missing": {"avg_util": reason}} for index in job["gpus"]]
        return {**payload, "gpus": gpus, "errors": errors}
    node_j = state["cray_node_j"]
    gpus = [_gpu(gpu, _points(state["timeline"], position), state) for position, gpu in enumerate(state["gpus"])]
    return {
        **payload,
        "interval_s": state["interval_s"],
        "source": state["source"],
        "gpus": gpus,
        "cpu": _cpu(job, state["host"], state["elapsed_s"]),
        "node_energy_j": None if node_j is None else round(node_j, 0),
        "errors": errors + _errors(state),
    }


def instant(seconds: float) -> str:
    """RFC 3339 in UTC.

    >>> instant(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z")


def percentile(histogram_s: Sequence[float], fraction: float) -> float:
    """The lowest whole percent below or at which `fraction` of the seconds lie.

    >>> percentile([94.0, 0.0, 6.0] + [0.0] * 98, 0.95)
    2.0
    """
    wanted, seen = fraction * sum(histogram_s), 0.0
    for percent in range(HISTOGRAM_BINS):
        seen += histogram_s[percent]
        if seen >= wanted:
            return float(percent)
    return float(HISTOGRAM_BINS - 1)


def _gpu(gpu: dict[str, Any], timeline: dict[str, Any] | None, state: dict[str, Any]) -> dict[str, Any]:
    totals = gpu["totals"]
    missing = dict(totals["reasons"])
    known: dict[str, Any] = {"gpu_id": gpu["index"], "module_id": gpu["module_id"], "pci_bus": gpu["bus"] or None}
    measured_s = totals["measured_s"]
    if measured_s > 0:
        known.update(_use(totals, measured_s, state["scale"]), timeline=timeline)
    else:
        missing.setdefault("avg_util", missing.pop("unreadable", "no sample"))
    if gpu["mem_total_bytes"]:
        known["mem_total_gb"] = round(gpu["mem_total_bytes"] / BYTES_PER_GB, 4)
    if totals["mem_s"] > 0:
        known["peak_mem_gb"] = round(totals["mem_peak"] / BYTES_PER_GB, 4)
        known["avg_mem_gb"] = round(totals["mem_byte_s"] / totals["mem_s"] / BYTES_PER_GB, 4)
    known.update(_power(gpu, totals, state["cray_gpus_j"].get(gpu["index"])))
    for name in ("gfx_clock", "mem_clock"):
        if totals[f"{name}_count"]:
            known[f"{name}_mhz"] = round(totals[f"{name}_sum"] / totals[f"{name}_count"])
    if totals["temperature_peak_c"]:
        known["temperature_peak_c"] = totals["temperature_peak_c"]
    if totals["throttle_s"]:
        known["throttled_s"] = round(totals["throttled_s"], 3)
    if measured_s > 0:
        _explain(known, missing, has_power=bool(gpu["power_from"]))
    if state.get("suspended_s"):
        missing["suspended"] = (
            f"the job was suspended for {state['suspended_s']:.0f} s, which count as neither use nor idle"
        )
    missing.setdefault("pcie_bandwidth", "not read: it would stall the GPU's counters")
    _drop_impossible(known, missing, GPU_BOUNDS)
    return {**{name: value for name, value in known.items() if value is not None}, "missing": missing}


def _drop_impossible(known: dict[str, Any], missing: dict[str, str], bounds: dict[str, float]) -> None:
    """Remove every impossible number and list it by name; the others stay."""
    for name, highest in bounds.items():
        value = known.get(name)
        if value is not None and not 0 <= value <= highest:
            missing[name] = f"impossible: {value:g}"
            del known[name]


def _explain(known: dict[str, Any], missing: dict[str, str], *, has_power: bool) -> None:
    """A reason for every number that a measured GPU still lacks; the reason for missing power is in `missing`
    already."""
    wanted = {"peak_mem_gb": "peak_mem_gb", "temperature": "temperature_peak_c", "clocks": "gfx_clock_mhz"}
    if has_power:
        wanted.update(power="power_avg_w", energy="energy_j")
    for name, field in wanted.items():
        if field not in known:
            missing.setdefault(name, "the source gave no reading")


def _use(totals: dict[str, Any], measured_s: float, scale: float | None) -> dict[str, Any]:
    histogram_s = totals["hist"]
    idle_s = sum(histogram_s[: int(IDLE_UTIL_PERCENT_MAX) + 1])
    exact = _accumulated_util(totals, measured_s, scale)
    return {
        "avg_util": round(totals["util_s"] / measured_s if exact is None else exact, 4),
        "util_source": "samples" if exact is None else "accumulator",
        "p95_util": percentile(histogram_s, 0.95),
        "samples": int(totals["samples"]),
        "measured_s": round(measured_s, 3),
        "idle_s": round(idle_s, 3),
        "active_s": round(measured_s - idle_s, 3),
        "util_histogram_s": {str(percent): _whole(round(s, 2)) for percent, s in enumerate(histogram_s) if s > 0},
    }


def _accumulated_util(totals: dict[str, Any], measured_s: float, scale: float | None) -> float | None:
    """The mean from the activity accumulator, None until its scale is known or if it cannot be true."""
    weight = totals["busy_weight"]
    if scale is None or weight <= 0 or totals["busy_s"] < ACCUMULATOR_COVERAGE_MIN * measured_s:
        return None
    util = 100 * float(totals["busy_acc"]) / weight / scale
    doubtful = DOUBT_PERCENT + DOUBT_SIGMAS * 50 / max(totals["samples"], 1.0) ** 0.5
    is_likely = abs(util - totals["util_s"] / measured_s) <= doubtful
    return min(util, 100.0) if util <= 101.0 and is_likely else None


def _power(gpu: dict[str, Any], totals: dict[str, Any], package_j: float | None) -> dict[str, Any]:
    """Watts and joules, if they belong to this GPU, or to its package and the job has all of it."""
    if not gpu["power_from"]:
        return {}
    known: dict[str, Any] = {"power_cap_w": gpu["power_cap_w"]}
    energy_j = package_j if package_j is not None else totals["energy_j"]
    if totals["energy_j"] > 0 and totals["energy_s"] > 0:
        # The counter includes every moment; the samples do not, and they are filtered.
        known["power_avg_w"] = round(totals["energy_j"] / totals["energy_s"], 1)
    elif totals["power_s"] > 0:
        known["power_avg_w"] = round(totals["power_w_s"] / totals["power_s"], 1)
    if totals["power_peak_w"]:
        known["power_peak_w"] = totals["power_peak_w"]
    if energy_j > 0:
        known["energy_j"] = round(energy_j, 1)
    return known


def _points(timeline: dict[str, Any], position: int) -> dict[str, Any] | None:
    """The limited timeline of one GPU; a bucket without a sample is a gap."""
    points = buckets(timeline, position)
    if not points:
        return None
    return {
        "step_s": timeline["step_s"],
        "util": [_short(util_s / s) if s > 0 else None for util_s, s, _, _ in points],
        "mem_gb": [_short(byte_s / s / BYTES_PER_GB) if s > 0 else None for _, _, byte_s, s in points],
    }


def _short(value: float) -> float:
    """A point of a timeline, which is for looking at: a decimal below 10 alone, and none that is zero.

    >>> _short(3.14), _short(7.0), _short(81.62)
    (3.1, 7, 82)
    """
    return _whole(round(value, 1)) if value < 10 else round(value)


def _whole(value: float) -> float:
    """The same number, without decimals that add no information."""
    return int(value) if value == int(value) else value


def _cpu(job: dict[str, Any], host: dict[str, Any], elapsed_s: float) -> dict[str, Any]:
    values = host["values"]
    cores = None if job["cpu_threads"] is None else -(-job["cpu_threads"] // job["threads_per_core"])
    known: dict[str, Any] = {} if cores is None else {"cores_allocated": cores}
    if not values:
        short = "the job ended before its control group was read"
        why = short if elapsed_s < SHORT_JOB_S else "the job has no control group on this node"
        return {**known, "missing": {"cpu": why}}
    missing: dict[str, str] = {}
    if "cpu_s" in values:
        known.update(_cores_used(values, cores))
    else:
        missing["busy_cores_avg"] = "its control group does not contain it"
    if cores:
        _add_iowait(known, missing, host["iowait"], max(elapsed_s, 1.0) * cores)
    for name in ("peak_memory", "peak_memory_anon", "memory_limit"):
        if f"{name}_bytes" in values:
            known[f"{name}_gb"] = round(values[f"{name}_bytes"] / BYTES_PER_GB, 3)
    for name in ("oom_kills", "pressure_cpu_s", "pressure_memory_s", "pressure_io_s"):
        if name in values:
            known[name] = values[name]
    if values.get("ranks"):
        known.update(ranks=values["ranks"], threads_per_rank=round(values["threads"] / values["ranks"], 2))
    _drop_impossible(known, missing, HOST_BOUNDS)
    return {**known, "missing": missing}


def _cores_used(values: dict[str, float], cores: int | None) -> dict[str, float]:
    """Busy cores, and the shares of the job's allocation, up to the last reading."""
    seconds = max(values["elapsed_s"], 0.1)
    known = {"busy_cores_avg": round(values["cpu_s"] / seconds, 3)}
    if cores:
        share = seconds * cores
        known["user_fraction"] = _fraction(values["user_s"] / share)
        known["system_fraction"] = _fraction(values["system_s"] / share)
        known["idle_fraction"] = _fraction(1 - values["cpu_s"] / share)
    return known


def _add_iowait(
    known: dict[str, Any], missing: dict[str, str], iowait: tuple[float | None, float | None], core_s: float
) -> None:
    first_s, last_s = iowait
    if first_s is not None and last_s is not None:
        known["iowait_fraction"] = _fraction((last_s - first_s) / core_s)
    else:
        missing["iowait_fraction"] = "known for whole nodes only"


def _fraction(share: float) -> float:
    return round(min(max(share, 0.0), 1.0), 4)


def _errors(state: dict[str, Any]) -> list[str]:
    said = {
        "sampling stood still for {:.0f} s": state["gap_s"],
        "the collector was restarted {} times": state["restarts"],
        "{} checkpoints could not be written": state["lost_checkpoints"],
        "{} times a reading hung and was cut off": state.get("hangs", 0),
    }
    return [sentence.format(count) for sentence, count in said.items() if round(count)]
