"""What sacct prints of jobs that waited, imported as a site does, and a run that left GPUs idle meanwhile."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from analysis.services import analyse_job
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
PEOPLE = ("bob", "carol", "dave", "erin", "frank")
COLUMNS = (
    "JobIDRaw|JobID|User|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|NNodes|AllocCPUS"
    "|ReqTRES|AllocTRES|NodeList|JobName"
)


def minute(at: float) -> datetime:
    """Minutes after the run of `idle_run` began."""
    return START + timedelta(minutes=at)


def idle_run(job_id: int = 1, user: str = "alice", utils: Sequence[float] = (88.0, 88.0, *[0.0] * 6)) -> Job:
    """A judged run on a node of small-g from 10:00 to 12:00, 8 GPUs, 8 GPU-hours; with the default 6 GPUs are idle."""
    record_job(job_record(job_id=job_id, user_id=user))
    record_node_summary(node_payload(job_id=job_id, gpus=[gpu(index, util) for index, util in enumerate(utils)]))
    job = Job.objects.get(job_id=job_id)
    analyse_job(job.pk, minute(125))
    return job


def started(
    job_id: int, user: str, gpus: int, since: float, until: float, *, nodes: int = 1, partition: str = "small-g"
) -> str:
    """The row of a job that waited from one minute to another, and ran for an hour."""
    asked = f"billing={gpus},cpu={gpus},gres/gpu={gpus},mem=8G,node={nodes}"
    allocated = asked.replace("gres", f"gres/gpu:mi250={gpus},gres")
    names = "nid005200" if nodes == 1 else f"nid[{5200:06d}-{5199 + nodes:06d}]"
    cells = [job_id, job_id, user, "project_465000009", partition, "normal", "COMPLETED", "0:0"]
    cells += [_at(since), _at(since), _at(until), _at(until + 60), 3600, nodes, gpus, asked, allocated, names, "a"]
    return "|".join(map(str, cells))


def cancelled(job_id: int, user: str, gpus: int, since: float | None, until: float) -> str:
    """The row of a job that was cancelled before it started; without `since` its dependency was never met."""
    asked = f"billing={gpus},cpu={gpus},gres/gpu={gpus},mem=8G,node=1"
    eligible = "Unknown" if since is None else _at(since)
    cells = [job_id, job_id, user, "project_465000009", "small-g", "normal", "CANCELLED by 1000", "0:0"]
    cells += [
        _at(0 if since is None else since),
        eligible,
        "None",
        _at(until),
        0,
        1,
        0,
        asked,
        "",
        "None assigned",
        "a",
    ]
    return "|".join(map(str, cells))


def imported(*rows: str) -> None:
    """Import these rows with `manage.py import_jobs`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sacct.txt"
        file.write_text("\n".join([COLUMNS, *rows]) + "\n")
        errors = StringIO()
        call_command("import_jobs", "--from-file", str(file), stdout=StringIO(), stderr=errors)
        assert errors.getvalue() == ""


def _at(at: float) -> str:
    return minute(at).strftime("%Y-%m-%dT%H:%M:%S")
