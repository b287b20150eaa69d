"""Reading the queue as it was read last."""

from __future__ import annotations

from jobs.queue.models import QueuedJob


def state_in_queue(user_pk: int, cluster: str, job_id: int) -> str:
    """The state of a job of this person that is in the queue; empty where it is not, or the queue is not read.

    An empty cluster is any.
    """
    rows = QueuedJob.objects.filter(user=user_pk, job_id=job_id)
    rows = rows.filter(cluster=cluster) if cluster else rows
    return rows.values_list("state", flat=True).first() or ""
