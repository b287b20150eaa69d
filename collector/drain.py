"""`collector ship`: close what is over, ask Slurm for the records that are due, send all that waits.

Started by every epilog, and by a timer for what those left behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

from collector import closing, shipper, spool, statefile
from collector.hooks import start_sampling
from collector.record import job_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.config import Config


def drain(config: Config, config_file: str) -> int:
    """One shipper at a time on a node, and one that waits for it; the exit status says whether anything is left."""
    statefile.private_folder(config.state_dir)
    try:
        _take_turn(config.state_dir)
    except BlockingIOError:
        return 0
    until = time.monotonic() + config.ship_max_s
    for folder in closing.close_what_is_over(config):
        start_sampling(config_file, folder)
    try:
        sent, reason = shipper.ship(config, until)
        while _make_records(config) and time.monotonic() < until:
            more, reason = shipper.ship(config, until)
            sent += more
    except shipper.ShipError as error:
        _make_records(config)
        sent, reason = 0, str(error)
    left = len(list(spool.entries(config.spool_dir)))
    print(f"{sent} sent, {left} left{': ' + reason if reason else ''}", file=sys.stderr)
    return 1 if left else 0


def _take_turn(state_dir: str) -> None:
    """Hold `ship.lock` until this process ends; BlockingIOError where another one already waits for it.

    Whoever waits begins after this call, so it will see all that is on disk now and one of them is enough.
    """
    turn, queue = (
        os.open(f"{state_dir}/ship.{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in ("lock", "queue")
    )
    fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(turn, fcntl.LOCK_EX)
    os.close(queue)


def _make_records(config: Config) -> int:
    """A record on disk for every job that asked for one; how many."""
    try:
        names = sorted(name for name in os.listdir(config.records_dir) if not name.endswith(".new"))
    except FileNotFoundError:
        return 0
    for name in names:
        path = f"{config.records_dir}/{name}"
        job = statefile.read(path)
        if job is not None:
            content = json.dumps(job_record(job, config.scontrol), separators=(",", ":")).encode()
            room = config.spool_max_mb * closing.BYTES_PER_MB
            spool.put(config.spool_dir, spool.RECORD, name, content, room)
        os.unlink(path)
    return len(names)
