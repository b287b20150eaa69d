"""Out-of-memory kills of a job from the kernel's log: its control group goes away within milliseconds of them.

The log is opened at the start, at its end, and read when the job is over. Only the kernel's own lines count, and of
them the control group's path and sizes, which stand before anything that a user can choose (mm/oom_kill.c,
`dump_oom_victim`; mm/memcontrol.c, `mem_cgroup_print_oom_meminfo`; the records: Documentation/ABI/testing/dev-kmsg).
"""

from __future__ import annotations

import os

LOG = "/dev/kmsg"
RECORD_BYTES_MAX = 8192
RECORDS_MAX = 200_000
USER_PRIORITY_MIN = 8
"""Records of the kernel itself have facility 0, so a priority below this."""

BYTES_PER_KB = 1024
NO_BYTES = 0


class OomLog:
    """What the kernel says from now on; without the right to read it, it says nothing."""

    def __init__(self, path: str = LOG) -> None:
        self.fd: int | None = None
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def kills(self, marks: list[str]) -> tuple[int, int]:
        """How many processes of the control group with one of these names were killed, and its memory then in bytes."""
        kills = peak_bytes = usage_bytes = 0
        for line in self._lines():
            if line.startswith("memory: usage ") and "kB" in line:
                usage_bytes = _bytes(line[len("memory: usage ") :])
            elif line.startswith("oom-kill:"):
                if _is_of(line, marks):
                    kills += 1
                    peak_bytes = max(peak_bytes, usage_bytes)
                usage_bytes = NO_BYTES
        return kills, peak_bytes

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _lines(self) -> list[str]:
        """Every new line of the kernel's; records that were overwritten before they were read are skipped."""
        lines: list[str] = []
        for _ in range(RECORDS_MAX if self.fd is not None else 0):
            try:
                record = os.read(self.fd or 0, RECORD_BYTES_MAX)
            except BrokenPipeError:
                continue
            except OSError:
                break
            if not record:
                break
            facts, _, text = record.decode("utf-8", "replace").partition(";")
            priority = facts.partition(",")[0]
            if priority.isdigit() and int(priority) < USER_PRIORITY_MIN:
                lines.append(text.partition("\n")[0])
        return lines


def _is_of(line: str, marks: list[str]) -> bool:
    """Whether the process that was killed was in one of these control groups."""
    path = line.partition("task_memcg=")[2].partition(",task=")[0]
    return any(f"/{mark}/" in f"{path}/" for mark in marks)


def _bytes(written: str) -> int:
    digits = written.partition("kB")[0]
    return int(digits) * BYTES_PER_KB if digits.isdigit() else NO_BYTES
