"""The host side of a job on one node, from its control group: CPU time, memory, out-of-memory kills, pressure.

Version 1 and 2, found through the `cgroup` file of any process of the job's user, so that no site's mount points or
Slurm's naming (a SLUID instead of `job_N` since 26.05) need to be known. No command line or environment is read.
Source of the file names and units: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

USER_HZ = 100
NO_LIMIT_BYTES = 1 << 60
SEARCHES_MAX = 60
"""After so many fruitless searches, one at each slow tick, a job without a control group is left alone."""


class JobCgroup:
    """Where one job's files lie: `path(controller, name)`; `is_v2` when all controllers share one folder."""

    def __init__(self, root: str, folders: dict[str, str]) -> None:
        self.root, self.folders = root, folders
        self.is_v2 = "" in folders

    def path(self, controller: str, name: str) -> str:
        folder = self.folders.get("" if self.is_v2 else controller, "")
        mount = "" if self.is_v2 else controller
        return os.path.join(self.root, mount, folder.lstrip("/"), name)

    def number(self, controller: str, name: str) -> int | None:
        text = _content(self.path(controller, name)).strip()
        return int(text) if text.isdigit() else None

    def fields(self, controller: str, name: str) -> dict[str, int]:
        """A file of `name value` lines."""
        rows = (line.split() for line in _content(self.path(controller, name)).splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

    def pressure_s(self, what: str) -> float | None:
        """Seconds in which some task waited for `what`; None without pressure-stall information (v1, psi=0)."""
        for line in _content(self.path("", f"{what}.pressure")).splitlines() if self.is_v2 else ():
            if line.startswith("some") and "total=" in line:
                return int(line.rpartition("total=")[2]) / 1e6
        return None

    def tasks(self) -> tuple[int, int]:
        """How many tasks (ranks) Slurm started in the job's steps, and how many threads they have now."""
        ranks = threads = 0
        top = self.path("memory", "")
        listing = "cgroup.threads" if self.is_v2 else "tasks"
        for folder, _, _ in os.walk(top):
            name = os.path.basename(folder)
            if name.startswith("task_") and name[5:].isdigit():
                ranks += 1
                threads += _content(os.path.join(folder, listing)).count("\n")
        return ranks, threads


def find(root: str, proc: str, job_id: int, sluid: str, uid: int) -> JobCgroup | None:
    """The control group of a job, by the processes of its user; None while there is none."""
    marks = [f"/job_{job_id}", *([f"/{sluid}"] if sluid else [])]
    for pid in _pids(proc, uid):
        folders = {}
        for line in _content(os.path.join(proc, pid, "cgroup")).splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            top = _job_folder(path, marks)
            if top:
                folders.update({name.removeprefix("name="): top for name in controllers.split(",")})
        if folders:
            return JobCgroup(root, folders)
    return None


def _job_folder(path: str, marks: list[str]) -> str:
    """The path up to the job's own folder, empty when the path is not of this job."""
    for mark in marks:
        before, found, after = path.partition(mark)
        if found and (not after or after.startswith("/")):
            return before + mark
    return ""


def _pids(proc: str, uid: int) -> Iterator[str]:
    try:
        names = os.listdir(proc)
    except OSError:
        return
    for name in names:
        if name.isdigit():
            try:
                if os.stat(os.path.join(proc, name)).st_uid == uid:
                    yield name
            except OSError:
                continue


def has_processes(proc: str, uid: int) -> bool:
    """Whether the user still runs anything on this node."""
    return next(_pids(proc, uid), None) is not None


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(65536).decode("ascii", "replace")
    except OSError:
        return ""
