"""The sampling beside a user's own command: a folder and a process, as for a job on a node.

The process ends with the tasks that run beside it, however they end.
"""

from __future__ import annotations

import contextlib
import os
import time

from collector import closing, hooks, own_job, own_report, statefile
from collector.config import DEFAULT_FILE, Config, ConfigError, load
from collector.folder import boottime_s, is_sampled, remove
from collector.job import node_name
from collector.own_tasks import OwnTasks, alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWN_SETTINGS = "~/.config/kaiku/collector.conf"
OWN_TOKEN = "~/.config/kaiku/token"  # noqa: S105  where it lies, not what it is
LAST_WORDS_S = 2.0
KILLED_S_MAX = 0.2


class Sampling:
    """One task's part in the sampling of its node; `end` once its command has ended. Raises what prevents sampling.

    The first task of a node starts the sampling, the last one of those that ran beside it ends it.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self.config, settings_file = settings(options["--config"])
        self.job = own_job.own_job(self.config, os.environ)
        self.output = options["--output"] or own_job.file_name(self.job, os.environ)
        self.place = os.getcwd()
        self.folder = f"{_top()}/{_prefix()}{own_job.step(os.environ) or f'{os.getpid()}.{os.urandom(4).hex()}'}"
        self.tasks = OwnTasks(f"{self.folder}.tasks")
        if os.environ.get("SLURM_LOCALID", "0") != "0":
            return
        _remove_leftovers()
        if is_sampled(self.folder):
            # Another command of the same step, beside this one: they are measured together.
            return
        remove(self.folder)
        os.mkdir(self.folder, 0o700)
        os.mkdir(f"{self.folder}/own", 0o700)
        os.mkfifo(f"{self.folder}/wake", 0o600)
        statefile.save(f"{self.folder}/job", {**self.job, "tasks_file": self.tasks.path})
        hooks.start_child(["run", "--config", settings_file, "--job", self.folder], self.folder)

    def end(self, status: int, usage: Any, told: frozenset[int]) -> None:
        """For the last task: the last sample, the kept file, a few lines for the user, and sending to the portal."""
        tasks = self.tasks.end(status, usage)
        job = None if tasks is None else statefile.read(f"{self.folder}/job")
        if tasks is None or job is None:
            return
        lasted_s = boottime_s() - job["started_boottime_s"]
        ended = {"ended_at": job["started_at"] + lasted_s, "boottime_s": job["started_boottime_s"] + lasted_s}
        is_short = lasted_s < own_report.SHORT_S
        closing.end(self.folder, ended, 0.0 if is_short else LAST_WORDS_S)
        _await_end(self.folder)
        job["gpus"] = job["gpus"] or []
        payload = closing.payload(self.folder, job, ended)
        remove(self.folder)
        if is_short:
            return
        job["gpus"] = [gpu["gpu_id"] for gpu in payload["gpus"]]
        worst = max((task[0] for task in tasks), key=lambda each: (each != 0, each))
        payload.update(sequence=0, own_run=own_job.facts_of_run(job, os.environ, worst, told))
        own_report.add_usage(payload, sum(task[1] for task in tasks), sum(task[2] for task in tasks), lasted_s)
        own_report.finish(self.config, payload, os.path.join(self.place, self.output), lasted_s)


def _await_end(folder: str) -> None:
    """A killed process takes a moment to end, and could write into a folder that is being removed."""
    until = time.monotonic() + KILLED_S_MAX
    while is_sampled(folder) and time.monotonic() < until:
        time.sleep(0.001)


def settings(named: str) -> tuple[Config, str]:
    """The settings of a named file, else the user's own, else the site's; and which file that is.

    Raises ConfigError. The user's own token is used instead of one that only root can read.
    """
    own = os.path.expanduser(OWN_SETTINGS)
    if named and not os.path.exists(named):
        raise ConfigError(f"{named} does not exist")
    path = os.path.abspath(named or (own if os.path.exists(own) else DEFAULT_FILE))
    config = load(path, node_name(os.environ))
    config.token_file = os.path.expanduser(config.token_file)
    if not os.access(config.token_file, os.R_OK):
        config.token_file = os.path.expanduser(OWN_TOKEN)
    return config, path


def _top() -> str:
    return os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  folders and files there are made or taken only as one's own


def _prefix() -> str:
    return f"kaiku-{os.getuid()}."


def _remove_leftovers() -> None:
    """What commands that were killed together with their run left behind: nobody holds their lock."""
    with contextlib.suppress(OSError):
        for name in os.listdir(_top()):
            if not name.startswith(_prefix()) or not name.endswith(".tasks"):
                continue
            path = f"{_top()}/{name}"
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if alone(fd):
                    remove(path.removesuffix(".tasks"))
                    os.unlink(path)
            finally:
                os.close(fd)
