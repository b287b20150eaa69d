"""What is done: the place in the portal's comments, and those that wait for Slurm's record of their job."""

from __future__ import annotations

import fcntl
import os

from collector import statefile
from collector.comments.texts import ID_MAX, SINCE_MAX, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.comments.settings import Settings
    from collector.comments.texts import Wanted

WAIT_S_MAX = 7 * 86400.0
"""slurmctld keeps records for a slurmdbd that is down; after a week the job is not expected any more."""
WAITING_MAX = 20_000


class State:
    """`since`, and `waiting`: job id -> its text, when its attempt started, and since when it waits (s since 1970)."""

    def __init__(self, since: int, waiting: dict[int, tuple[str, int, float]]) -> None:
        self.since, self.waiting = since, waiting

    def keep_waiting(self, wanted: dict[int, Wanted], now_s: float) -> int:
        """Note that these wait; returns how many are given up, the oldest first."""
        for job_id, each in wanted.items():
            self.waiting[job_id] = (each.text, each.started_s, self.waiting.get(job_id, ("", 0, now_s))[2])
        by_age = sorted(self.waiting, key=lambda job_id: self.waiting[job_id][2], reverse=True)
        kept = [job_id for job_id in by_age[:WAITING_MAX] if self.waiting[job_id][2] > now_s - WAIT_S_MAX]
        given_up = len(self.waiting) - len(kept)
        self.waiting = {job_id: self.waiting[job_id] for job_id in kept}
        return given_up


def lock(state_dir: str) -> int:
    """The lock of this folder until this process ends. Raises BlockingIOError if another process holds it, OSError."""
    statefile.private_folder(state_dir)
    held = os.open(f"{state_dir}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def read(settings: Settings) -> State:
    """Where the last run was; the beginning for another portal or cluster, or if the file is unreadable."""
    stored = statefile.read(_path(settings))
    if not isinstance(stored, dict) or stored.get("of") != _of(settings):
        return State(0, {})
    since, waiting = stored.get("since"), stored.get("waiting")
    if type(since) is not int or not 0 <= since <= SINCE_MAX or not isinstance(waiting, dict):
        return State(0, {})
    return State(since, {job_id: tuple(told) for job_id, told in waiting.items() if _is_sound(job_id, told)})


def save(settings: Settings, state: State) -> None:
    """Store it all or nothing, and durably. Raises OSError."""
    waiting = {job_id: list(told) for job_id, told in state.waiting.items()}
    content = {"of": _of(settings), "since": state.since, "waiting": waiting}
    statefile.save(_path(settings), content, is_durable=True)


def _path(settings: Settings) -> str:
    return f"{settings.state_dir}/state"


def _of(settings: Settings) -> str:
    return f"{settings.portal_url} {settings.cluster}"


def _is_sound(job_id: Any, told: Any) -> bool:
    if type(job_id) is not int or not 1 <= job_id <= ID_MAX or not isinstance(told, (list, tuple)) or len(told) != 3:
        return False
    return isinstance(told[0], str) and bool(TEXT.fullmatch(told[0])) and [*map(type, told[1:])] == [int, float]
