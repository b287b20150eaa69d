"""How the hooks start the collector's other processes: in a separate session, without any of Slurm's descriptors."""

from __future__ import annotations

import os
import sys

from collector import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

NICE = 19
IONICE = "/usr/bin/ionice"
SETPRIV = "/usr/bin/setpriv"
KEPT_FD = 3
KEPT_VARIABLES = ("SLURM_CONF", "SLURMD_NODENAME")
"""What slurmd itself passes to its hooks about their place."""

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""Where this collector is: a folder, or the path of a zip file."""


def start_sampling(config_file: str, mine: str) -> None:
    """A new sampling process for the job of a folder that continues, unless there is one."""
    wake_fd = folder.hold(mine)
    if wake_fd is not None:
        detach(["run", "--config", config_file, "--job", mine], mine, wake_fd)


def detach(arguments: list[str], mine: str = "", wake_fd: int = -1) -> None:
    """Run a command of the collector in a separate session that keeps none of our descriptors except a job's pipe.

    Slurm waits for every process that keeps a hook's output open and kills the hook's process group, so the new process
    leaves both before this returns; it inherits slurmd's control group, not the job's.
    """
    child = os.fork()
    if child:
        if wake_fd >= 0:
            os.close(wake_fd)
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        _let_go(wake_fd)
        if os.fork() == 0:
            if mine:
                folder.say_process(mine)
            _become(arguments, _own_environment(), no_new_privs=bool(mine))
    finally:
        os._exit(0)


def start_child(arguments: list[str], mine: str) -> None:
    """Start a command of the collector in a separate session, with this user's own environment."""
    if os.fork():
        return
    try:
        os.setsid()
        _let_go(-1)
        folder.say_process(mine)
        _become(arguments, os.environ)
    finally:
        os._exit(1)


def _let_go(wake_fd: int) -> None:
    """Keep only the job's pipe, if any, as descriptor 3."""
    os.chdir("/")
    if wake_fd >= 0:
        os.dup2(wake_fd, KEPT_FD)
        os.set_inheritable(KEPT_FD, True)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.closerange(KEPT_FD + (wake_fd >= 0), os.sysconf("SC_OPEN_MAX"))


def _own_environment() -> dict[str, str]:
    """The path of the collector itself, never one that a job could set."""
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    return environment | {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


def _become(arguments: list[str], environment: Mapping[str, str], *, no_new_privs: bool = False) -> NoReturn:
    """Another command of the collector at the lowest priority."""
    os.nice(NICE)
    command = [*interpreter(), *arguments]
    if os.path.exists(IONICE):
        command = [IONICE, "-c3", *command]
    if no_new_privs and os.path.exists(SETPRIV):
        command = [SETPRIV, "--no-new-privs", *command]
    os.execve(command[0], command, environment)  # noqa: S606


def interpreter(top: str = TOP) -> list[str]:
    """How a command of the collector is started from the folder or the zip file that contains it.

    Not as `python FILE.pyz`, because that imports modules which would stay in memory for the whole job.
    """
    start = f"import sys; sys.path.insert(0, {top!r}); from collector.__main__ import main; main()"
    return [sys.executable, "-I", "-S", "-c", start]
