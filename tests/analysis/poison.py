"""Runs with rows that nobody can judge among those that somebody waits for."""

from __future__ import annotations

from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.metrics.stored import change_series
from tests.payloads import gpu, job_record, node_payload


def run(job_id: int) -> None:
    record_job(job_record(job_id=job_id))
    record_node_summary(node_payload(job_id=job_id, gpus=[gpu(0, 90.0), gpu(1, 0.0)]))


def cut_timeline(job_id: int) -> None:
    """Half of a number at its end."""
    change_series(lambda series: {"util": (b"\x00\x3c\x00",) * 2}, job_id=job_id)


def broken_request(job_id: int) -> None:
    Job.objects.filter(job_id=job_id).update(request=["--gpus"])


def broken_histogram(job_id: int) -> None:
    change_series(lambda series: {"histogram_s": (b"\x01" * 7,) * 2}, job_id=job_id)


POISON = (cut_timeline, broken_request, broken_histogram)


def runs_with_poison(jobs: int, bad: int) -> list[int]:
    """So many runs; the keys of those, one in every so many, that cannot be judged."""
    for job_id in range(1, jobs + 1):
        run(job_id)
    poisoned = list(range(1, jobs + 1, jobs // bad))
    for place, job_id in enumerate(poisoned):
        POISON[place % len(POISON)](job_id)
    return sorted(Job.objects.filter(job_id__in=poisoned).values_list("pk", flat=True))
