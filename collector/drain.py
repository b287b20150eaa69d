"""`collector ship`: close ended jobs, query Slurm for the records that are due, send all waiting data.

Started by every epilog, and by a timer for what those left behind and for the interim summaries of jobs that go on.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import sys
import time

from collector import asking, closing, failures, folder, interim, shipper, spool, statefile
from collector.hooks import start_sampling
from collector.record import Unfinished, by_hooks, job_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.config import Config

RECORD_PAUSES_S = (0.5, 1, 2, 4, 8, 15, 30)
"""A job shows COMPLETING until every node's epilog is over; these pauses end a minute after the first one's epilog."""


class Waiting:
    """When to query Slurm again for which record."""

    def __init__(self) -> None:
        self.due_s: dict[str, float] = {}
        self.asked: dict[str, int] = {}

    def is_due(self, name: str) -> bool:
        return time.monotonic() >= self.due_s.setdefault(name, time.monotonic() + RECORD_PAUSES_S[0])

    def again(self, name: str) -> bool:
        """Whether the record is worth another query; then it is due after a pause that is partly random."""
        count = self.asked[name] = self.asked.get(name, 0) + 1
        if count >= len(RECORD_PAUSES_S):
            return False
        self.due_s[name] = time.monotonic() + RECORD_PAUSES_S[count] * random.uniform(0.5, 1.5)  # noqa: S311
        return True

    def pause_s(self) -> float:
        """How long until the next one is due."""
        return max(min(self.due_s.values(), default=0.0) - time.monotonic(), 0.01)


def first_pause_s(config: Config, nodes: int) -> float:
    """How long this node waits before its first payload of a job of so many nodes: its own random part."""
    return random.uniform(0.0, spread_s(config, nodes))  # noqa: S311


def spread_s(config: Config, nodes: int) -> float:
    """The longest that a node of a job may wait before its first payload: zero for one node, a minute for thousands."""
    if nodes <= 1 or config.nodes_per_s <= 0:
        return 0.0
    return min(nodes / config.nodes_per_s, config.spread_max_s)


def drain(config: Config, config_file: str, nodes: int = 0) -> int:
    """One sender at a time on a node, and one that waits for it; the exit status shows whether anything is left.

    `nodes` are those of the job whose epilog started this one; 0 if the timer did.
    """
    until = time.monotonic() + config.ship_max_s
    time.sleep(first_pause_s(config, nodes))
    statefile.private_folder(config.state_dir)
    try:
        _take_turn(config.state_dir)
    except BlockingIOError:
        return 0
    try:
        _close(config, config_file)
    except OSError as error:
        failures.note(config, None, f"ship: {type(error).__name__}: {error}")
    try:
        sent, reason = _send(config, until)
        spool.forget_old(config.spool_dir)
        if not spool.due(config.spool_dir):
            shipper.ship_raw(config)
    except (shipper.ShipError, OSError) as error:
        sent, reason = 0, f"{type(error).__name__}: {error}"
        failures.note(config, None, f"ship: {reason}")
    if not nodes:
        interim.interim_summaries(config, lambda of_job: first_pause_s(config, of_job), lambda: _is_called(config))
    left = len(spool.due(config.spool_dir))
    print(f"{sent} sent, {left} left{': ' + reason if reason else ''}", file=sys.stderr)
    return 1 if left else 0


def resend(config: Config, config_file: str) -> int:
    """Send what was set aside again, with everything that waits."""
    count = spool.resend(config.spool_dir)
    print(f"{count} payloads that were set aside will be sent again", file=sys.stderr)
    return drain(config, config_file, nodes=1)


def _close(config: Config, config_file: str) -> None:
    folder.remove_leftovers(config)
    for each in (config.spool_dir, config.records_dir):
        statefile.remove_torn(each)
    for each in closing.close_what_is_over(config, lambda job_id: asking.is_gone(config.squeue, job_id)):
        # A job that is completing has nothing left to sample; its epilog, or the next sender, closes it.
        if not asking.is_ending(config.squeue, folder.job_of(each) or 0):
            start_sampling(config_file, each)


def _send(config: Config, until: float) -> tuple[int, str]:
    """Send everything that waits, and each record as soon as it is available; a slowly completing job does not delay
    others."""
    waiting, sent, reason = Waiting(), 0, ""
    stopped: shipper.ShipError | None = None
    while True:
        if not reason and stopped is None and spool.due(config.spool_dir):
            try:
                more, reason = shipper.ship(config, until)
                sent += more
            except shipper.ShipError as error:
                stopped = error
        if _make_records(config, waiting):
            continue
        if not waiting.due_s:
            break
        time.sleep(min(waiting.pause_s(), 1.0))
    if stopped is not None:
        raise stopped
    return sent, reason


def _is_called(config: Config) -> bool:
    """Whether something waits that must arrive: whoever stored it starts a sender, which waits for this one to end."""
    return bool(spool.due(config.spool_dir) or _asked_records(config))


def _take_turn(state_dir: str) -> None:
    """Hold `ship.lock` until this process ends; BlockingIOError if another one already waits for it.

    A process that waits starts after this call, so it will see everything that is on disk now, and one of them is
    enough.
    """
    turn, queue = (
        os.open(f"{state_dir}/ship.{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in ("lock", "queue")
    )
    fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(turn, fcntl.LOCK_EX)
    os.close(queue)


def _make_records(config: Config, waiting: Waiting) -> int:
    """Write a record to disk for every job that requested one and has ended in Slurm; returns how many."""
    made = 0
    for name in _asked_records(config):
        path = f"{config.records_dir}/{name}"
        job = statefile.read(path)
        if job is not None:
            if config.scontrol and config.squeue and not waiting.is_due(name):
                continue
            try:
                record = job_record(job, config.scontrol, config.squeue)
            except Unfinished:
                if waiting.again(name):
                    continue
                record = by_hooks(job)
            content = json.dumps(record, separators=(",", ":")).encode()
            room = config.spool_max_mb * closing.BYTES_PER_MB
            spool.put(config.spool_dir, spool.RECORD, name, content, room, int(job["ended_at"] * 1e9))
        waiting.due_s.pop(name, None)
        os.unlink(path)
        made += 1
    return made


def _asked_records(config: Config) -> list[str]:
    """The jobs for whose record Slurm is to be asked."""
    return [name for name in statefile.listed(config.records_dir) if not name.endswith(".new")]
