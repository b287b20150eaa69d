"""Works of several people, each in a project of its own, by real records, judgements and outcomes of advice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analysis.months.services import close_months
from analysis.outcomes.services import ADVICE, settle_due
from analysis.practices.services import practice_months
from analysis.services import analyse_job
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from portal.charts.programs import program_titles
from tests.analysis.outcomes.histories import SMALL
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
"""September's advice is added up 31 days after its end; October's on 1 December."""

SEPTEMBER = datetime(2026, 9, 10, 12, 0, tzinfo=UTC)
HOUR_S = 3600.0
FOUR = SMALL | {"gpus_allocated": 4, "gpus_requested": 4, "gpus_per_node": 4, "ntasks": 4, "cpus_allocated": 28}


def run(job_id: int, ended_at: datetime, gpus: int, run_s: float, utils: tuple[float, ...], **record: object) -> None:
    """One run that was judged five minutes after its end; of eight GPUs the request is known."""
    started = ended_at - timedelta(seconds=run_s)
    times = {"started_at": started.isoformat(), "ended_at": ended_at.isoformat()}
    shape = {2: SMALL, 4: FOUR, 8: {"request": WHOLE_REQUEST}}[gpus]
    more = {"job_id": job_id, "submitted_at": started.isoformat(), "walltime_used_s": run_s}
    record_job(job_record(**more | times | shape | record))
    used = [gpu(index, utils[index % len(utils)], peak_mem_gb=14.2) for index in range(gpus)]
    record_node_summary(node_payload(gpus=used, cpu=TWO_RANKS, job_id=job_id, **times))
    analyse_job(Job.objects.get(job_id=job_id).pk, ended_at + timedelta(minutes=5))


def store_person(number: int, start: datetime = SEPTEMBER, advised: str = "gmx_md", scaled: str = "train_vit") -> None:
    """Two works of one person. One ran on 8 GPUs of which 2 worked, then on 2, `number` times 2 % longer.

    The other, where it has a name, ran on 8 busy GPUs for two hours, then twice on 4 for three hours.
    """
    who = {"user_id": f"person{number}", "project_id": f"project_46500010{number}"}
    first, idle = 1000 * (number + 1), (88.0, 88.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    run(first, start, 8, 2 * HOUR_S, idle, job_name=advised, **who)
    slower_s = 2 * HOUR_S * (1 + 0.02 * number)
    run(first + 1, start + timedelta(days=1), 2, slower_s, (88.0,), job_name=advised, **who)
    if not scaled:
        return
    run(first + 2, start + timedelta(days=2), 8, 2 * HOUR_S, (90.0,), job_name=scaled, **who)
    for day in (3, 4):
        run(first + day, start + timedelta(days=day), 4, 3 * HOUR_S, (90.0,), job_name=scaled, **who)


def close(now: datetime = NOW) -> int:
    """Determine what became of the advice, then close what has ended."""
    settle_due(1000, now)
    close_months(ADVICE, now)
    return close_months(practice_months(program_titles), now)
