"""`run -- COMMAND`: a user's own command, while the GPUs that its job has on this node are sampled.

The command starts first and is not affected by what follows: it keeps the terminal, every signal reaches it, and its
end is this process's end. If sampling fails, the only effect is one line on standard error.
"""

from __future__ import annotations

import os
import resource
import signal

from collector import guard
from collector.own_start import is_slurm, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.own_sampling import Sampling

MARK = "KAIKU_RUN"
"""Marks for a run inside this one that its GPUs are sampled already."""

TOLD = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Set by Python itself at its start; a command that it starts must find the usual handling."""

SI_USER = 0
"""A signal that a process sent (sigaction(2)); those of the terminal come from the kernel, and also reach the
command."""

BEGIN_S_MAX = 3.0
"""A node whose files hang is not measured."""

NOT_FOUND, NOT_RUN = 127, 126
"""The exit statuses of a shell for a command that does not exist, or that cannot be run."""


def run(options: dict[str, str], command: list[str]) -> int:
    """Run the command to its end; returns its exit status, or ends by the signal that ended it."""
    if os.environ.get(MARK) == _mark():
        return _become(command)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*TOLD, signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    environment = {**_environment(), MARK: _mark()}
    try:
        pid = os.posix_spawnp(command[0], command, environment, setsigmask=before, setsigdef=IGNORED)
    except (OSError, ValueError) as error:
        return _cannot_run(command, error)
    sampling = _begun(options)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    status, usage, told = _ended(pid)
    if sampling is not None:
        try:
            sampling.end(status, usage, told)
        except Exception as error:
            say(f"not measured: {type(error).__name__}: {error}")
    return _like(status)


def _mark() -> str:
    """The name of a job on a node, so that a run inside another one can be distinguished from one beside it."""
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    return f"{os.environ.get('SLURM_JOB_ID', '')}@{node}"


def _environment() -> dict[str, str]:
    """The environment as it was before Python started: Python sets LC_CTYPE in a C locale (PEP 538)."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    except OSError:
        return dict(os.environ)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _begun(options: dict[str, str]) -> Sampling | None:
    """The sampling, or a line that states why there is none."""
    try:
        guard.limit(BEGIN_S_MAX)
        # Imported only now that the command is running, because the import may fail as well.
        loaded = __import__("collector.own_sampling", fromlist=["Sampling"])
        found: Sampling = loaded.Sampling(options)
        return found
    except (Exception, guard.TooLong) as error:
        why = str(error) if error.__class__.__module__.startswith("collector.") else f"{type(error).__name__}: {error}"
        say(f"not measured: {why}")
        return None
    finally:
        guard.limit(0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _ended(pid: int) -> tuple[int, Any, frozenset[int]]:
    """Wait for the command: how it ended, what it used, and the signals that arrived.

    Signals that it has not received itself are passed on.
    """
    came: set[int] = set()
    while True:
        told = signal.sigwaitinfo({*TOLD, signal.SIGALRM, signal.SIGCHLD})
        if told.si_signo == signal.SIGCHLD:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                return status, usage, frozenset(came)
            continue
        came.add(told.si_signo)
        if told.si_code <= SI_USER and not (_is_of_slurm(told.si_uid) and not _is_batch_process()):
            os.kill(pid, told.si_signo)


def _is_of_slurm(sender: int) -> bool:
    """Whether it came from slurmstepd, which signals every process of a step."""
    return is_slurm() and sender == 0 and os.getuid() != 0


def _is_batch_process() -> bool:
    """Whether this is the process of the batch script itself (`exec … run --`): `--signal=B:` reaches only that one."""
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="ascii") as file:
            return file.read().startswith("slurmstepd") and "SLURM_STEP_ID" not in os.environ
    except OSError:
        return False


def _like(status: int) -> int:
    """The command's exit status; after a signal this process ends by the same signal."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    # The command has already written its core dump, if it was to write one.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def _become(command: list[str]) -> int:
    """Only the command: another process samples this node's GPUs for the same job."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, _environment())  # noqa: S606
    except (OSError, ValueError) as error:
        return _cannot_run(command, error)


def _cannot_run(command: list[str], error: Exception) -> int:
    say(f"{command[0]}: {getattr(error, 'strerror', '') or error}")
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUN
