"""Where the control group of a job is, and how its files are read.

Versions 1 and 2. Slurm's default place costs a few look-ups, so it is tried at every reading; otherwise the group is
found through the `cgroup` file of any process of the job's user, so no site's mount points need to be known. No command
line or environment is read. Source of the file names and units: Linux Documentation/admin-guide/cgroup-v2.rst and
cgroup-v1/; of the places: Slurm's cgroup plugins (a SLUID instead of `job_N` since 26.05).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NO_LIMIT_BYTES = 1 << 60
V1_CONTROLLERS = ("memory", "cpuacct", "freezer")
V2_SLICE = "system.slice"
STOPPED = "T"
SCRIPT_STEPS = ("step_batch", "step_interactive")


class JobCgroup:
    """Where one job's files are: `path(controller, name)`; `is_v2` if all controllers share one folder."""

    def __init__(self, root: str, folders: dict[str, str]) -> None:
        self.root, self.folders = root, folders
        self.is_v2 = "" in folders

    @property
    def is_there(self) -> bool:
        """Whether the group still exists."""
        return any(os.path.isdir(self.path(controller, "")) for controller in self.folders)

    def path(self, controller: str, name: str) -> str:
        # A controller's group may be created after another's, at the same place; until then the top folder belongs to
        # all jobs.
        folder = self.folders.get("" if self.is_v2 else controller) or next(iter(self.folders.values()))
        mount = "" if self.is_v2 else controller
        return os.path.join(self.root, mount, folder.lstrip("/"), name)

    def number(self, controller: str, name: str) -> int | None:
        text = content(self.path(controller, name)).strip()
        return int(text) if text.isdigit() else None

    def fields(self, controller: str, name: str) -> dict[str, int]:
        """A file of `name value` lines."""
        rows = (line.split() for line in content(self.path(controller, name)).splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

    def pressure_s(self, what: str) -> float | None:
        """Seconds in which some task waited for `what`; None without pressure-stall information (v1, psi=0)."""
        for line in content(self.path("", f"{what}.pressure")).splitlines() if self.is_v2 else ():
            if line.startswith("some") and "total=" in line:
                return int(line.rpartition("total=")[2]) / 1e6
        return None

    def freeze_file(self) -> str:
        """The file that shows whether Slurm has suspended the job, of one of its steps; empty if there is none."""
        top = self.path("freezer", "")
        for step in _listed(top):
            if not step.startswith("step_") or step == "step_extern":
                continue
            names = ("user/cgroup.freeze", "cgroup.freeze") if self.is_v2 else ("freezer.state",)
            for name in names:
                path = os.path.join(top, step, name)
                if os.path.exists(path):
                    return path
        return ""

    def oom_kills(self) -> int | None:
        """Processes killed for lack of memory; version 1 counts each in the group of the process, not above."""
        if self.is_v2:
            return self.fields("memory", "memory.events").get("oom_kill")
        kills = None
        for folder, _, _ in os.walk(self.path("memory", "")):
            rows = (line.split() for line in content(os.path.join(folder, "memory.oom_control")).splitlines())
            for row in rows:
                if row[0] == "oom_kill" and row[-1].isdigit():
                    kills = (kills or 0) + int(row[-1])
        return kills

    def tasks(self) -> tuple[int, int]:
        """How many tasks (ranks) Slurm started in the job's steps, and how many threads they have now.

        The batch script is also a task: a rank if it does the work itself, none if it started others.
        """
        scripts: list[int] = []
        ranks: list[int] = []
        listing = "cgroup.threads" if self.is_v2 else "tasks"
        for folder, _, _ in os.walk(self.path("memory", "")):
            name = os.path.basename(folder)
            if name.startswith("task_") and name[5:].isdigit():
                is_script = any(f"/{step}/" in folder for step in SCRIPT_STEPS)
                (scripts if is_script else ranks).append(content(os.path.join(folder, listing)).count("\n"))
        counted = ranks or scripts
        return len(counted), sum(counted)


def at_usual_place(root: str, job_id: int, sluid: str, uid: int) -> JobCgroup | None:
    """The control group of a job at the place of Slurm's plugins; None if there is none."""
    names = [f"job_{job_id}", *([sluid] if sluid else [])]
    for scope in _listed(os.path.join(root, V2_SLICE)):
        if scope.endswith("slurmstepd.scope"):
            for name in names:
                if os.path.exists(os.path.join(root, V2_SLICE, scope, name, "cpu.stat")):
                    return JobCgroup(root, {"": f"/{V2_SLICE}/{scope}/{name}"})
    folders = {}
    for controller in V1_CONTROLLERS:
        for top in _listed(os.path.join(root, controller)):
            if top == "slurm" or top.startswith("slurm_"):
                path = f"/{top}/uid_{uid}/job_{job_id}"
                if os.path.isdir(f"{root}/{controller}{path}"):
                    folders[controller] = path
    return JobCgroup(root, folders) if "memory" in folders or "cpuacct" in folders else None


def by_processes(root: str, proc: str, job_id: int, sluid: str, uid: int) -> JobCgroup | None:
    """The control group of a job, found by the processes of its user; None while there is none."""
    marks = [f"/job_{job_id}", *([f"/{sluid}"] if sluid else [])]
    for pid in _pids(proc, uid):
        folders = {}
        for line in content(os.path.join(proc, pid, "cgroup")).splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            top = _job_folder(path, marks)
            if top:
                folders.update({name.removeprefix("name="): top for name in controllers.split(",")})
        if folders:
            return JobCgroup(root, folders)
    return None


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _job_folder(path: str, marks: list[str]) -> str:
    """The path up to the job's own folder, empty if the path is not of this job."""
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


def are_stopped(proc: str, uid: int) -> bool:
    """Whether the user has processes on this node and all of them are stopped, as a suspended job's are."""
    states = [content(os.path.join(proc, pid, "stat")).rpartition(")")[2].split()[:1] for pid in _pids(proc, uid)]
    return bool(states) and all(state == [STOPPED] for state in states if state)


def content(path: str) -> str:
    """The text of a small file, empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(65536).decode("ascii", "replace")
    except OSError:
        return ""
