"""The last minutes of samples of one job, each as it was taken: off by default, for detailed analysis.

A ring of fixed size in the sampling process; at the end of the job a payload is made from it (`collector.raw_payload`).
"""

from __future__ import annotations

import struct

from collector.totals import sums
from wire.payloads import RAW_POINTS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.totals import GpuTotals

NONE = float("nan")
STEP_S_MIN = 0.002
"""The last tick of a job may follow the one before immediately: the payload counts in milliseconds."""


class RawWindow:
    """The samples of the last `seconds`: how much each GPU's sums grew with a tick is the value that the tick read."""

    def __init__(self, gpus: list[GpuTotals], seconds: float, interval_s: float) -> None:
        self.gpus = gpus
        self.row = struct.Struct(f"<d{2 * len(gpus)}f")
        # Ticks are an interval apart on average, so somewhat more than the mean number may be within the time.
        self.size = max(min(int(seconds / interval_s), RAW_POINTS_MAX), 1)
        self.rows: list[bytes] = []
        self.count = 0
        self.last_s = -STEP_S_MIN
        self.before = [sums(gpu) for gpu in gpus]

    def add(self, now_s: float) -> None:
        """One tick, at `now_s` seconds after the start of the job; the totals are up to date."""
        if now_s - self.last_s < STEP_S_MIN:
            return
        self.last_s = now_s
        values = [now_s]
        for index, gpu in enumerate(self.gpus):
            util_s, measured_s, byte_s, mem_s = now = sums(gpu)
            before = self.before[index]
            values.append(_mean(util_s - before[0], measured_s - before[1]))
            values.append(_mean(byte_s - before[2], mem_s - before[3]))
            self.before[index] = now
        row = self.row.pack(*values)
        if len(self.rows) < self.size:
            self.rows.append(row)
        else:
            self.rows[self.count % self.size] = row
        self.count += 1

    def state(self) -> dict[str, Any]:
        """The rows in their order."""
        at = self.count % self.size if len(self.rows) == self.size else 0
        return {"row": self.row.format, "rows": self.rows[at:] + self.rows[:at]}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.rows = list(state["rows"])[-self.size :]
        self.count = len(self.rows)
        self.before = [sums(gpu) for gpu in self.gpus]


def _mean(amount: float, seconds: float) -> float:
    """What one tick added for each of its seconds; empty if it was not a sample."""
    return amount / seconds if seconds > 1e-6 else NONE
