"""What a user gets of a run that has ended: a kept `node-summary/1`, a few lines, and a copy on the portal."""

from __future__ import annotations

import os

from collector import closing
from collector.own_start import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.config import Config

SEND_S_MAX = 5.0
"""The longest that a command's end waits for the portal; after that the file can be sent by hand."""

SHORT_S = 0.5
"""A shorter command is too short to measure: nobody waits until its sampling has begun."""

COPIES_MAX = 1000
GPU_LINES_MAX = 16


def finish(config: Config, payload: dict[str, Any], path: str, lasted_s: float) -> None:
    """Store the payload, print what it contains, and send it if the settings and a token allow it."""
    if not payload["gpus"]:
        say(f"not measured: {payload['errors'][0] if payload['errors'] else 'no GPU was found'}")
        return
    is_shown = payload["own_run"]["node_count"] == 1 or os.environ.get("SLURM_NODEID", "0") == "0"
    for line in lines(payload, lasted_s) if is_shown else ():
        say(line)
    try:
        kept = keep(payload, path)
    except OSError as error:
        say(f"not written: {error}")
        return
    if is_shown:
        say(f"written to {kept}")
    if config.portal_url and os.access(config.token_file, os.R_OK):
        _send(config, kept)


def _send(config: Config, kept: str) -> None:
    config.request_max_s = min(config.request_max_s, SEND_S_MAX)
    sending = __import__("collector.sending", fromlist=["send"])
    is_sent, how = sending.send(config, kept)
    say(f"{how} to {config.portal_url}" if is_sent else f"not sent to {config.portal_url}: {how}; later: send {kept}")


def keep(payload: dict[str, Any], path: str) -> str:
    """Write the payload under that name, or under the next free one. An existing file is never overwritten.

    If nothing can be written there, it is written to the folder for temporary files; raises OSError if that fails, too.
    """
    try:
        return _kept(payload, path)
    except OSError as error:
        say(f"{path}: {error.strerror}")
        return _kept(payload, os.path.join(os.environ.get("TMPDIR") or "/tmp", os.path.basename(path)))  # noqa: S108


def _kept(payload: dict[str, Any], path: str) -> str:
    stem = path.removesuffix(".json")
    for count in range(1, COPIES_MAX):
        name = f"{stem}.json" if count == 1 else f"{stem}-{count}.json"
        try:
            with open(name, "xb") as file:
                _write(file, closing.encoded(payload) + b"\n")
            return name
        except FileExistsError:
            continue
    raise FileExistsError(f"{stem}.json and {COPIES_MAX} more")


def _write(file: Any, content: bytes) -> None:
    """The complete file, or no file."""
    try:
        file.write(content)
        file.flush()
    except OSError:
        os.unlink(file.name)
        raise


def add_usage(payload: dict[str, Any], user_s: float, system_s: float, lasted_s: float) -> None:
    """CPU time of the commands and those they waited for, if no control group measured it (getrusage(2))."""
    cpu = payload.setdefault("cpu", {"missing": {}})
    if "busy_cores_avg" in cpu or lasted_s <= 0:
        return
    cpu["busy_cores_avg"] = round((user_s + system_s) / lasted_s, 3)
    cores = cpu.setdefault("cores_allocated", len(os.sched_getaffinity(0)))
    cpu["user_fraction"] = round(min(user_s / lasted_s / cores, 1.0), 4)
    cpu["system_fraction"] = round(min(system_s / lasted_s / cores, 1.0), 4)
    cpu["missing"] = {"peak_memory": "measured only if Slurm gives each job a control group"}


def lines(payload: dict[str, Any], lasted_s: float) -> list[str]:
    """The short summary: the mean, a row for each GPU, and what could not be measured."""
    gpus = payload["gpus"]
    measured = [gpu for gpu in gpus if "avg_util" in gpu]
    where = f"on {payload['node']} for {_duration(lasted_s)}"
    if not measured:
        return [f"not measured {where}: {gpus[0]['missing']['avg_util']}"]
    weight = sum(gpu["measured_s"] for gpu in measured)
    mean = sum(gpu["avg_util"] * gpu["measured_s"] for gpu in measured) / weight
    count = "1 GPU" if len(measured) == 1 else f"{len(measured)} GPUs"
    more = payload["own_run"]["node_count"] - 1
    beside = f"; summaries of other nodes, beside this one: {more}" if more else ""
    said = [f"{count} {where}: mean use {mean:.1f} %{beside}"]
    if len(measured) <= GPU_LINES_MAX:
        said += ["  GPU  mean use  95th percentile  peak memory     mean power", *map(_row, measured)]
    return said + [f"  {error}" for error in payload["errors"]]


def _row(gpu: dict[str, Any]) -> str:
    memory = f"{gpu['peak_mem_gb']:.1f} of {gpu.get('mem_total_gb', 0):.0f} GB" if "peak_mem_gb" in gpu else "-"
    power = f"{gpu['power_avg_w']:.0f} W" if "power_avg_w" in gpu else "-"
    return f"  {gpu['gpu_id']:3}  {gpu['avg_util']:6.1f} %  {gpu['p95_util']:13.0f} %  {memory:>14}  {power:>11}"


def _duration(seconds: float) -> str:
    """
    >>> _duration(3.24), _duration(75.0), _duration(7384.0)
    ('3.2 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(int(seconds), 60)
    return f"{minutes} min {rest_s} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
