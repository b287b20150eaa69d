"""How long jobs like the pending ones usually wait, where the waits of earlier jobs show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from analysis.queue_waits.ranges import WaitEstimate
from analysis.queue_waits.selectors import WaitHistory, wait_estimate
from portal.charts.queue_lines import Line

QUEUES_MAX = 4
"""Of so many partitions the starts are read, those of the first lines: each has up to 3,000 of them."""


def with_waits(lines: Sequence[Line], user_pk: int, now: datetime) -> list[Line]:
    """The lines, those that wait for nothing but their turn with the typical wait of jobs like them."""
    histories: dict[str, WaitHistory] = {}
    asked: set[tuple[str, str]] = set()
    made: dict[tuple[object, ...], WaitEstimate | None] = {}
    found = []
    for line in lines:
        job = line.job
        queue = job.cluster, job.partition
        if line.is_in_turn and job.node_count and job.gpus is not None and (queue in asked or len(asked) < QUEUES_MAX):
            asked.add(queue)
            history = histories.setdefault(job.cluster, WaitHistory(job.cluster, now))
            # The person's own starts say more about their own jobs, and are nobody else's business.
            user = user_pk if line.is_own else None
            request = (*queue, job.node_count, job.gpus, job.time_limit_s, job.project_id)
            if (*request, user) not in made:
                made[*request, user] = wait_estimate(*request, now, user=user, history=history)
            line = replace(line, wait=made[*request, user])
        found.append(line)
    return found
