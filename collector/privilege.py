"""Giving up root in the sampling process, once the files that need it are open."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from collector.config import Config

PASSWD = "/etc/passwd"  # noqa: S105  read as a file: a name service may hang, and its modules stay in memory
OTHERWISE = "nobody"


def run_as(config: Config) -> list[int] | None:
    """User and group that sampling should have; None if they do not change.

    That is the case if this is not root, the settings say `root`, or the kernel hides other users' processes, which are
    needed to find a job's control group.
    """
    if os.geteuid() != 0 or config.user == "root" or _hides_processes(config.proc_root):
        return None
    known = _local_users()
    return known.get(config.user) or known.get(OTHERWISE)


def give_up_root(wanted: Sequence[int] | None) -> None:
    """Become that user permanently, with no other group and without capabilities."""
    if not wanted or os.geteuid() != 0:
        return
    user, group = wanted
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def _local_users() -> dict[str, list[int]]:
    """User and group number by name, of the machine's own accounts."""
    try:
        with open(PASSWD, encoding="utf-8", errors="replace") as lines:
            rows = [line.split(":") for line in lines]
    except OSError:
        return {}
    return {
        row[0]: [int(row[2]), int(row[3])] for row in rows if len(row) > 3 and row[2].isdigit() and row[3].isdigit()
    }


def _hides_processes(proc: str) -> bool:
    """Whether /proc is mounted so that users see only their own processes (proc(5), hidepid)."""
    try:
        with open(f"{proc}/mounts", encoding="utf-8", errors="replace") as lines:
            options = [line.split()[3].split(",") for line in lines if line.split()[1:2] == [proc]]
    except (OSError, IndexError):
        return False
    hidden = {"hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable"}
    return any(hidden & set(each) for each in options)
