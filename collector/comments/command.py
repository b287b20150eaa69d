"""`kaiku-collector comments`: write the portal's comments of judged jobs into Slurm's accounting.

    --config FILE    default: /etc/kaiku/comments.conf
    --dry-run        print the commands; change neither Slurm nor the state
Exit status: 0 everything is done, 1 something is left for the next run, 2 the settings or the token cannot be used,
3 another run has the lock.
"""

from __future__ import annotations

import collections
import os
import shlex
import sys
import time

from collector import statefile
from collector.comments import slurm, state
from collector.comments.portal import Comments, Unreachable
from collector.comments.texts import Wanted, grouped, modification, parted
from collector.shipper import ShipError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from collector.comments.settings import Settings
    from collector.comments.state import State

DONE, LEFT, UNUSABLE, BUSY = 0, 1, 2, 3
FAILURES_MAX = 3
"""Commands in a row that may fail before a run ends: slurmdbd is down, and each may take its whole time limit."""


class Run:
    """One run: what was done so far, and what failed."""

    def __init__(self, settings: Settings, *, is_dry: bool) -> None:
        self.settings, self.is_dry = settings, is_dry
        self.counts: collections.Counter[str] = collections.Counter()
        self.failures, self.error = 0, ""

    def comment(self, wanted: Mapping[int, Wanted]) -> dict[int, Wanted]:
        """Write these; returns those that wait: Slurm does not have the end of their job yet, or did not take them.

        Raises SlurmError.
        """
        waiting: dict[int, Wanted] = {}
        for ids in parted(sorted(wanted)):
            some = {job_id: wanted[job_id] for job_id in ids}
            todo = slurm.decide(some, slurm.rows_of(self.settings, ids))
            self.counts.update(why for why in todo.values() if why != slurm.WRITE)
            waiting.update((job_id, some[job_id]) for job_id, why in todo.items() if why == slurm.LATER)
            waiting.update(self._write({job_id: some[job_id] for job_id, why in todo.items() if why == slurm.WRITE}))
        return waiting

    def _write(self, wanted: dict[int, Wanted]) -> dict[int, Wanted]:
        """Write what may be written; returns those of which Slurm does not have the text afterwards."""
        groups = grouped({job_id: each.text for job_id, each in wanted.items()})
        if not groups:
            return {}
        if self.is_dry:
            for text, ids in groups:
                print(shlex.join(modification(self.settings.sacctmgr, self.settings.cluster, text, ids)))
            self.counts["would"] += len(wanted)
            return {}
        if not sum(self._command(text, ids) for text, ids in groups):
            missed = wanted
        else:
            after = slurm.decide(wanted, slurm.rows_of(self.settings, sorted(wanted)))
            missed = {job_id: wanted[job_id] for job_id, why in after.items() if why != slurm.THERE}
        self.counts["written"] += len(wanted) - len(missed)
        self.counts["missed"] += len(missed)
        return missed

    def _command(self, text: str, ids: Sequence[int]) -> bool:
        """Whether one command succeeded. Raises SlurmError if too many in a row did not."""
        try:
            slurm.write(self.settings, text, ids)
        except slurm.SlurmError as error:
            self.failures, self.error = self.failures + 1, str(error)
            if self.failures >= FAILURES_MAX:
                raise
            return False
        self.failures = 0
        self.counts["commands"] += 1
        return True

    def summary(self) -> str:
        """One line for the log."""
        said = {
            "would": "would be written",
            "written": "written",
            "commands": "commands",
            slurm.THERE: "were there",
            slurm.FOREIGN: "left alone: the comment is not ours",
            slurm.SHARED: "left alone: the number stands for a whole array or heterogeneous job",
            slurm.OTHER: "left alone: Slurm has another attempt of the job by now",
            slurm.LATER: "wait for Slurm's record",
            "missed": "not taken by Slurm, tried again",
            "given up": "given up",
        }
        counts = [f"{self.counts[name]} {words}" for name, words in said.items() if self.counts[name]]
        return f"{self.settings.cluster}: {', '.join(counts) or 'nothing to do'}"


def comments(settings: Settings, *, is_dry: bool) -> int:
    """Everything that the portal has and Slurm has not; the exit status."""
    try:
        held = state.lock(settings.state_dir)
    except BlockingIOError:
        print("another run is at work", file=sys.stderr)
        return BUSY
    except OSError as error:
        print(f"{settings.state_dir}: {error.strerror}", file=sys.stderr)
        return UNUSABLE
    statefile.remove_torn(settings.state_dir)
    run = Run(settings, is_dry=is_dry)
    try:
        status = _follow(run, state.read(settings))
    except ShipError as error:
        print(error, file=sys.stderr)
        status = UNUSABLE
    except (Unreachable, slurm.SlurmError, OSError) as error:
        print(error, file=sys.stderr)
        status = LEFT
    finally:
        os.close(held)
    print(run.summary())
    return status


def _follow(run: Run, known: State) -> int:
    """Page after page. What was done is stored after each, so that a repetition begins at most one page earlier."""
    settings, until = run.settings, time.monotonic() + run.settings.run_max_s
    portal = Comments(settings)
    waited = {job_id: Wanted(text, started_s) for job_id, (text, started_s, _) in known.waiting.items()}
    _store(run, known, waited, run.comment(waited))
    while time.monotonic() < until:
        page = portal.page(known.since)
        if not page.wanted and page.next_since == known.since:
            if run.error:
                print(run.error, file=sys.stderr)
            return LEFT if run.error or run.counts["missed"] else DONE
        left = run.comment(page.wanted)
        known.since = page.next_since
        _store(run, known, page.wanted, left)
    print("the time limit was reached", file=sys.stderr)
    return LEFT


def _store(run: Run, known: State, done: Mapping[int, Wanted], left: dict[int, Wanted]) -> None:
    for job_id in done:
        if job_id not in left:
            known.waiting.pop(job_id, None)
    run.counts["given up"] += known.keep_waiting(left, time.time())
    if not run.is_dry:
        state.save(run.settings, known)
