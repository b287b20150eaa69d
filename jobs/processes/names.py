"""Names of processes that are unique over all hosts and restarts."""

import os
import socket
from pathlib import Path


def this_process() -> str:
    """The unique name of this process: its machine, its number there, and when it started."""
    return f"{_machine()} {os.getpid()} {_started(os.getpid())}"


def _machine() -> str:
    """The boot of the host and its process namespace: a container has its own."""
    boot, numbers = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    try:
        return f"{socket.gethostname()[:50]}/{boot.read_text()[:8]}/{numbers.stat().st_ino}"
    except OSError:
        return socket.gethostname()[:50]


def is_known_to_be_gone(name: str) -> bool:
    """Whether this name is of a process of this machine that has ended; unknown for other machines, so false."""
    machine, pid, started = name.rsplit(" ", 2) if name.count(" ") >= 2 else ("", "0", "")
    return machine == _machine() and _started(int(pid)) != started


def _started(pid: int) -> str:
    """When a process started, as the kernel counts it; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
