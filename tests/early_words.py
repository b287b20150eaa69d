"""Early words as rows, of jobs that the queue lists as running; what the rules find is tested elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from analysis.models import EarlyWord, RunningRun
from jobs.models import Membership, Project, QueuedJob, QueueReading, User

FOUND_AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
IDLE = {"gpus": 8, "idle_s": 3900.0, "since_s": 0.0}


def found_word(
    job_id: int = 123456,
    *,
    user: str = "alice",
    code: str = "all_gpus_idle",
    project: str = "project_465000001",
    array: int | None = None,
    found_at: datetime = FOUND_AT,
    evidence: dict[str, Any] | None = None,
    job_name: str = "train",
    **columns: Any,
) -> EarlyWord:
    """A word that holds since `found_at` about a job of 8 GPUs that runs for 65 minutes by then."""
    owner = User.objects.get_or_create(username=user, defaults={"email": f"{user}@users.example"})[0]
    account = Project.objects.get_or_create(name=project)[0]
    Membership.objects.get_or_create(user=owner, project=account)
    started_at = found_at - timedelta(minutes=65)
    whose = {"user": owner, "project": account}
    QueuedJob.objects.update_or_create(
        cluster="lumi",
        job_id=job_id,
        defaults=whose
        | {"state": "RUNNING", "gpus": 8, "array_job_id": array, "started_at": started_at, "job_name": job_name},
    )
    # As if it were read again and again for the days that a test lasts.
    queue_was_read(found_at + timedelta(days=5))
    RunningRun.objects.get_or_create(
        cluster="lumi", job_id=job_id, defaults=whose | {"started_at": started_at, "new_revision": 1}
    )
    known = {
        "held_at": found_at,
        "confidence": 1.0,
        "is_fact": True,
        "is_interactive": False,
        "gpus": 8,
        "rules_version": "early-1",
    }
    return EarlyWord.objects.create(
        **whose,
        cluster="lumi",
        job_id=job_id,
        job_name=job_name,
        code=code,
        evidence=IDLE if evidence is None else evidence,
        started_at=started_at,
        ends_at=started_at + timedelta(hours=4),
        found_at=found_at,
        **known | columns,
    )


def queue_was_read(read_at: datetime) -> None:
    """The queue of the cluster was read last at this moment."""
    QueueReading.objects.update_or_create(cluster="lumi", defaults={"read_at": read_at, "tried_at": read_at})


def ended_job(job_id: int = 123456) -> None:
    """The job has left the queue."""
    QueuedJob.objects.filter(job_id=job_id).delete()
    RunningRun.objects.filter(job_id=job_id).delete()


def pi(user: str, project: str = "project_465000001") -> User:
    """A PI of the project."""
    person = User.objects.get_or_create(username=user, defaults={"email": f"{user}@users.example"})[0]
    account = Project.objects.get_or_create(name=project)[0]
    Membership.objects.update_or_create(user=person, project=account, defaults={"role": Membership.Role.PI})
    return person
