"""A job's folder on its node, `jobs/<job id>.<attempt>/`: its content shows the state of the job.

    job                  written by the prolog before the folder gets its name, so that it is never incomplete
    wake                 a pipe; the prolog opens it and passes it to the sampling process, so a job has a reader of it
                         from the moment its folder is there until its sampling process ends, however slowly that starts
    process              which process that is, to kill one that hangs
    ended                written by the epilog before it writes to `wake`
    interim              written by the sender: how many interim summaries it made, and the sums of the last one
    gpus-of-<id>.<n>     the GPUs that another job on this node also has
    own/                 the sampling process's: checkpoint, calibration, failed

Ages are read from the clock that counts since the boot and is never set.
"""

from __future__ import annotations

import marshal
import os
import stat
import time

from collector import statefile
from collector.job import whole
from collector.statefile import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.config import Config

OWN_BYTES_MAX = 1 << 24
KILL = 9  # the module `signal` would take a prolog a third of its time
HALF_MADE_S_MAX = 60.0
"""A prolog ends within seconds: a folder that is incomplete for longer was left by one that was killed."""


def boottime_s() -> float:
    """Seconds since the boot, including the time of a suspended machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id(proc: str) -> str:
    """The kernel's identifier of this boot; empty if there is none."""
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def folders(config: Config) -> list[str]:
    """The folders of the jobs that are not closed yet."""
    return [f"{config.jobs_dir}/{name}" for name in listed(config.jobs_dir) if name.replace(".", "", 1).isdigit()]


def job_of(folder: str) -> int | None:
    """The job id in a folder's name `<job id>.<attempt>`."""
    return whole(os.path.basename(folder).partition(".")[0])


def make(config: Config, job: dict[str, Any]) -> tuple[str, int]:
    """Create a job's complete folder under its name in one step, and its open pipe. FileExistsError if it already
    exists."""
    folder = f"{config.jobs_dir}/{job['job_id']}.{job['attempt']}"
    half = f"{folder}.{os.getpid()}.{int(boottime_s())}.new"
    statefile.private_folder(f"{half}/own")
    try:
        run_as = job.get("run_as")
        if run_as:
            os.chown(f"{half}/own", run_as[0], run_as[1])
        statefile.save(f"{half}/job", job, is_durable=True)
        os.mkfifo(f"{half}/wake", 0o600)
        wake_fd = _opened(half)
        os.rename(half, folder)
    except BaseException as error:
        _clear(half)
        if isinstance(error, OSError) and os.path.isdir(folder):
            raise FileExistsError(folder) from error
        raise
    statefile.sync_folder(config.jobs_dir)
    return folder, wake_fd


def hold(folder: str) -> int | None:
    """The pipe for a new sampling process of a running job; None if the job ended, is closed or is sampled."""
    if is_sampled(folder):
        return None
    try:
        wake_fd = _opened(folder)
    except OSError:
        return None
    # The epilog first records that the job ended and then writes to the pipe: one of the two is seen here or later.
    if os.path.exists(f"{folder}/ended"):
        os.close(wake_fd)
        return None
    return wake_fd


def is_sampled(folder: str) -> bool:
    """Whether a sampling process has the job's pipe, or will have it as soon as it has started."""
    fd = _writer(folder)
    if fd is None:
        return False
    os.close(fd)
    return True


def say_ended(folder: str, ended: dict[str, Any]) -> None:
    """Record how the job ended, unless that is known, and make the sampling process take its last sample and end.

    The pipe keeps the message for a process that is starting. Raises OSError if it could not be recorded: the process
    ends anyway, so that nobody samples a job that is over.
    """
    try:
        if not os.path.exists(f"{folder}/ended"):
            statefile.save(f"{folder}/ended", {**ended, "boottime_s": boottime_s()}, is_durable=True)
    finally:
        fd = _writer(folder)
        if fd is not None:
            try:
                os.write(fd, b"end")
            except (BrokenPipeError, BlockingIOError):
                # It was told before and ended since, or did not read any of it so far.
                pass
            finally:
                os.close(fd)


def has_ended(folder: str) -> bool:
    """Whether a job's end was recorded, or its folder is gone."""
    return os.path.exists(f"{folder}/ended") or not os.path.exists(f"{folder}/job")


def say_process(folder: str) -> None:
    """Record that this process is the job's sampling process."""
    statefile.save(f"{folder}/process", [os.getpid(), _started(os.getpid())])


def kill(folder: str) -> None:
    """End a sampling process that does not answer; a process that got its number since is not touched."""
    pid, started = statefile.read(f"{folder}/process") or (0, "")
    if pid and is_sampled(folder) and _started(pid) == started:
        try:
            os.kill(pid, KILL)
        except ProcessLookupError:
            # It ended by itself in between.
            return


def remove(folder: str) -> None:
    """Remove it in one step, so that nobody finds half of it, even while something is still written into it."""
    gone = f"{folder}.{os.getpid()}.{int(boottime_s())}.gone"
    try:
        os.rename(folder, gone)
    except FileNotFoundError:
        return
    _clear(gone)


def remove_leftovers(config: Config) -> None:
    """Parts of folders that killed prologs and epilogs left."""
    now_s = boottime_s()
    for name in listed(config.jobs_dir):
        *_, written_s, kind = name.rsplit(".", 2)
        age_s = now_s - float(written_s) if written_s.isdigit() else -1.0
        if kind in ("new", "gone") and not 0 <= age_s < HALF_MADE_S_MAX:
            _clear(f"{config.jobs_dir}/{name}")


def overlapping(config: Config, gpus: list[int]) -> dict[str, list[int]]:
    """The folders of jobs that have not ended and have some of these GPUs, with those GPUs."""
    found = {}
    for each in folders(config):
        job = statefile.read(f"{each}/job")
        both = sorted(set(gpus) & set(job["gpus"])) if job else []
        if both and not os.path.exists(f"{each}/ended"):
            found[each] = both
    return found


def _clear(folder: str) -> None:
    """Remove a folder that nobody finds by its name any more; what cannot be removed now is removed later.

    Nothing below `own` is entered: it belongs to another user, who could put a link there.
    """
    for inside in (f"{folder}/own", folder):
        for name in listed(inside):
            try:
                os.unlink(f"{inside}/{name}")
            except OSError:
                continue
        try:
            os.rmdir(inside)
        except OSError:
            continue


def own(folder: str, name: str) -> Any:
    """A file that the sampling process wrote, None if there is none: it may be anybody's, so no link is followed."""
    try:
        fd = os.open(f"{folder}/own/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > OWN_BYTES_MAX:
            return None
        try:
            return marshal.loads(file.read())  # noqa: S302  plain values; root never runs what they hold
        except (OSError, EOFError, ValueError, TypeError):
            return None


def share(folder: str, other: str, gpus: list[int]) -> None:
    """Record that another job on this node also has some of this one's GPUs."""
    statefile.save(f"{folder}/gpus-of-{os.path.basename(other)}", gpus)


def shared(folder: str) -> dict[int, list[int]]:
    """By job id the GPUs that other jobs also had."""
    names = [name for name in listed(folder) if name.startswith("gpus-of-") and not name.endswith(".new")]
    return {job_of(name.partition("gpus-of-")[2]) or 0: statefile.read(f"{folder}/{name}") or [] for name in names}


def _opened(folder: str) -> int:
    """Both ends of the pipe: it has a reader as long as this is open, and opening never waits."""
    return os.open(f"{folder}/wake", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def _writer(folder: str) -> int | None:
    try:
        return os.open(f"{folder}/wake", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def _started(pid: int) -> str:
    """When a process started, as the kernel writes it: with its number this identifies it permanently."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""
