"""The `raw-samples/1` payload, from the ring that a sampling process left."""

from __future__ import annotations

import struct

from collector.summary import BYTES_PER_GB, instant
from wire.payloads import RAW_SAMPLES, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def raw_samples(summary: dict[str, Any], rows: dict[str, Any], started_at_s: float) -> dict[str, Any]:
    """The `raw-samples/1` payload of the run of a node summary."""
    columns = list(zip(*struct.iter_unpack(rows["row"], b"".join(rows["rows"]))))
    first_s, last_s = columns[0][0], columns[0][-1]
    copied = ("cluster", "job_id", "attempt", "node", "interval_s")
    return {
        "schema": RAW_SAMPLES,
        **{name: summary[name] for name in copied},
        "collector_version": VERSION,
        "started_at": instant(started_at_s + first_s),
        "ended_at": instant(started_at_s + last_s),
        "at_s": [round(at_s - first_s, 3) for at_s in columns[0]],
        "gpus": [
            {
                "gpu_id": gpu["gpu_id"],
                "util": [_shown(value, 1) for value in columns[1 + 2 * index]],
                "mem_gb": [_shown(value / BYTES_PER_GB, 3) for value in columns[2 + 2 * index]],
            }
            for index, gpu in enumerate(summary["gpus"])
        ],
    }


def _shown(value: float, digits: int) -> float | None:
    return None if value != value else max(round(value, digits), 0.0)
