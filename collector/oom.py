"""Out-of-memory kills of a job from the kernel's log, because its control group is removed some 25 ms later (Slurm
22.05).

The log is opened at the start, at its end, and read when the job is over. Only the kernel's own lines count, and in
them only the control group's path and sizes, which come before anything that a user can choose (mm/oom_kill.c,
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
USAGE = "memory: usage "


class OomLog:
    """The kernel's messages from now on; without the right to read them, there are none."""

    def __init__(self, path: str = LOG) -> None:
        self.fd: int | None = None
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def kills(self, marks: list[str]) -> tuple[int, int]:
        """How many processes of the control group with one of these names were killed, and its memory then in bytes."""
        return self.counted([line for record in self._records() for line in self.lines_of(record)], marks)

    @staticmethod
    def counted(lines: list[str], marks: list[str]) -> tuple[int, int]:
        kills = peak_bytes = usage_bytes = 0
        for line in lines:
            if line.startswith(USAGE):
                usage_bytes = _bytes(line[len(USAGE) :])
            elif line.startswith("oom-kill:"):
                if _is_of(line, marks):
                    kills += 1
                    peak_bytes = max(peak_bytes, usage_bytes)
                usage_bytes = 0
        return kills, peak_bytes

    @staticmethod
    def lines_of(record: bytes) -> list[str]:
        """The text of a record, empty if it is not the kernel's own."""
        facts, _, text = record.decode("utf-8", "replace").partition(";")
        priority = facts.partition(",")[0]
        is_kernels = priority.isdigit() and int(priority) < USER_PRIORITY_MIN
        return [text.partition("\n")[0]] if is_kernels else []

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _records(self) -> list[bytes]:
        """New records; records that were overwritten before they were read are skipped."""
        records: list[bytes] = []
        for _ in range(RECORDS_MAX if self.fd is not None else 0):
            try:
                record = os.read(self.fd or 0, RECORD_BYTES_MAX)
            except BrokenPipeError:
                continue
            except OSError:
                break
            if not record:
                break
            if b"memory: usage" in record or b"oom-kill:" in record:
                records.append(record)
        return records


def _is_of(line: str, marks: list[str]) -> bool:
    """Whether the process that was killed was in one of these control groups."""
    path = line.partition("task_memcg=")[2].partition(",task=")[0]
    return any(f"/{mark}/" in f"{path}/" for mark in marks)


def _bytes(written: str) -> int:
    digits = written.partition("kB")[0]
    return int(digits) * BYTES_PER_KB if digits.isdigit() else 0
