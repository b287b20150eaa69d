"""`collector check`: whether everything on this node works, one line for each thing that a job's summary depends on.

It changes nothing except a file that it writes and removes in the state folder, and sends nothing except an empty list.
"""

from __future__ import annotations

import glob
import gzip
import os
import sys
import time

from collector import asking, closing, folder, guard, privilege, shipper, spool, statefile
from collector.calibration import Calibration
from collector.commands import output
from collector.sources.base import SourceError
from collector.sources.choose import source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collector.config import Config

    Line = tuple[str, str]

OK, LOOK, BAD = "ok", "look", "BAD"
STEP_S_MAX = 30.0
SPACE_MB_MIN = 10.0
OLD_S = 3600.0


def check(config: Config, config_file: str) -> int:
    """Print every line; 1 if one of them is BAD."""
    steps: dict[str, Callable[[], Iterator[Line]]] = {
        "python": _python,
        "settings": lambda: _settings(config_file),
        "state folder": lambda: _state(config),
        "failures": lambda: _failures(config),
        "GPUs": lambda: _gpus(config),
        "user": lambda: _user(config),
        "portal": lambda: _portal(config),
        "Slurm": lambda: _slurm(config),
        "waiting": lambda: _waiting(config),
        "jobs": lambda: _jobs(config),
    }
    is_bad = False
    for what, step in steps.items():
        for level, detail in _within_time(step):
            is_bad = is_bad or level == BAD
            print(f"{level:5}{what:14}{detail}")
    return 1 if is_bad else 0


def _within_time(step: Callable[[], Iterator[Line]]) -> list[Line]:
    """The result of a step; one that hangs or fails is bad."""
    guard.limit(STEP_S_MAX)
    try:
        return list(step())
    except guard.TooLong:
        return [(BAD, f"no end within {STEP_S_MAX:g} s")]
    except Exception as error:
        return [(BAD, f"{type(error).__name__}: {error}")]
    finally:
        guard.limit(0.0)


def _python() -> Iterator[Line]:
    yield OK, f"{sys.executable} {sys.version.split()[0]}"


def _settings(config_file: str) -> Iterator[Line]:
    # The content of the file was read before this: an error in it ends the command with its line.
    yield (OK, config_file) if os.path.exists(config_file) else (LOOK, f"{config_file} does not exist: all defaults")


def _state(config: Config) -> Iterator[Line]:
    statefile.private_folder(config.state_dir)
    probe = f"{config.state_dir}/check"
    statefile.save(probe, "written by `collector check`", is_durable=True)
    os.unlink(probe)
    space = os.statvfs(config.state_dir)
    free_mb = space.f_bavail * space.f_frsize / closing.BYTES_PER_MB
    yield (OK if free_mb >= SPACE_MB_MIN else BAD), f"{config.state_dir}, {free_mb:.0f} MB free"


def _failures(config: Config) -> Iterator[Line]:
    try:
        with open(config.failures_file, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = []
    if not lines:
        yield OK, "none since the last summary"
    for line in lines[-3:]:
        job, _, reason = line.partition("\t")
        yield LOOK, f"job {job or '-'}: {reason}"


def _gpus(config: Config) -> Iterator[Line]:
    try:
        found = source(config, None, Calibration())
    except SourceError as error:
        yield BAD, f"no source: {error}"
        return
    yield OK, f"{len(found.gpus)} through {found.name}"


def _user(config: Config) -> Iterator[Line]:
    wanted = privilege.run_as(config)
    if wanted is None:
        yield (
            LOOK,
            "sampling keeps the privileges it starts with (`user = root`, processes are hidden, or this is not root)",
        )
    else:
        yield OK, f"sampling runs as user {wanted[0]}, group {wanted[1]}"


def _portal(config: Config) -> Iterator[Line]:
    try:
        portal = shipper.Portal(config)
        status, _, answer = portal.exchange(shipper.PATHS[spool.SUMMARY], gzip.compress(b"[]"))
    except (shipper.ShipError, shipper.TryLater) as error:
        yield BAD, str(error)
        return
    if status in (200, 201):
        yield OK, f"{config.portal_url} accepts this token"
    else:
        yield BAD, f"{config.portal_url} answered {status}: {answer[:200].decode('utf-8', 'replace')}"


def _slurm(config: Config) -> Iterator[Line]:
    if not config.scontrol or not config.squeue:
        yield LOOK, "disabled in the settings: job records come from accounting only"
        return
    said = asking.settings(config.scontrol)
    if not said:
        yield BAD, f"{config.scontrol} show config: no answer"
        return
    status, printed = output([config.squeue, "--noheader", "--all", "--states=all", "--jobs=1"], 10.0, with_errors=True)
    is_answer = status == 0 or "Invalid job id" in printed
    yield (
        (OK, f"squeue of {said.get('SLURM_VERSION', '?')} answers") if is_answer else (BAD, f"squeue: {printed[:200]}")
    )
    if "alloc" not in said.get("PrologFlags", "").lower():
        yield LOOK, "PrologFlags has no Alloc: the prolog runs where the first step begins, not on every node at once"
    for hook in ("Prolog", "Epilog"):
        yield from _hook(hook, said.get(hook, ""))


def _hook(name: str, pattern: str) -> Iterator[Line]:
    """Whether slurm.conf's hook is ours, or a script that calls ours."""
    paths = sorted(glob.glob(pattern))
    ours = [path for path in paths if _names_us(path)]
    if not ours:
        yield BAD, f"{name}={pattern or '(null)'}: does not start the collector"
    elif not os.access(ours[0], os.X_OK):
        yield BAD, f"{name}: {ours[0]} is not executable"
    else:
        yield OK, f"{name}={pattern}"
    if glob.has_magic(pattern):
        left = [
            path
            for path in paths
            if path.rpartition(".")[2] in ("rpmsave", "rpmnew", "dpkg-old", "bak") or path[-1] == "~"
        ]
        yield (
            (BAD, f"{left[0]} also runs as a hook: if it fails, the node is drained")
            if left
            else (
                LOOK,
                f"{name}={pattern} runs every file there, and one that fails drains the node: name a single file",
            )
        )


def _names_us(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"kaiku" in file.read(1 << 16)
    except OSError:
        return False


def _waiting(config: Config) -> Iterator[Line]:
    waiting = list(spool.entries(config.spool_dir))
    if waiting:
        age_s = time.time() - min(os.stat(entry.path).st_mtime for entry in waiting)
        yield (LOOK if age_s > OLD_S else OK), f"{len(waiting)} payloads, the oldest for {age_s / 60:.0f} min"
    else:
        yield OK, "nothing"
    aside = glob.glob(f"{glob.escape(config.spool_dir)}/{spool.SET_ASIDE}/*.json")
    if aside:
        yield LOOK, f"{len(aside)} payloads were rejected and set aside; `resend` sends them again"


def _jobs(config: Config) -> Iterator[Line]:
    found = folder.folders(config)
    if not found:
        yield OK, "none here"
    for each in found:
        name = os.path.basename(each)
        if os.path.exists(f"{each}/ended"):
            yield LOOK, f"{name} has ended and is not closed; `ship` closes it"
        elif folder.is_sampled(each):
            yield OK, f"{name} is sampled"
        else:
            yield BAD, f"{name} is not sampled: {folder.own(each, 'failed') or folder.own(each, 'crashed') or 'killed'}"
