"""The same run as the hooks of a node tell it and as accounting does: captured text of a real Slurm, and only that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from collector import asking, record
from collector.job import from_environment
from jobs.records import JobRecord, problems
from jobs.sacct import job_runs

SAMPLES = Path(__file__).parent / "samples" / "slurm"
ENDED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
ELAPSED_S = 7200
QUEUED = timedelta(minutes=15)
COLUMNS = (
    "JobIDRaw JobID User Account Partition QOS State ExitCode Submit Eligible Start End ElapsedRaw TimelimitRaw NNodes"
    " AllocCPUS ReqTRES AllocTRES NodeList JobName"
).split()


@dataclass(frozen=True)
class Run:
    """What both doors tell of one run on one node of small-g."""

    ended_at: datetime = ENDED_AT
    elapsed_s: int = ELAPSED_S
    gpus: int = 8
    state: str = "COMPLETED"
    user: str = "alice"
    project: str = "project_465000001"

    @property
    def started_at(self) -> datetime:
        return self.ended_at - timedelta(seconds=self.elapsed_s)


def hooks_payload(job_id: int, name: str, **changes: Any) -> dict[str, Any]:
    """What the first node of a job sends, but the job id: squeue's fields as captured of the sample's job gpn8."""
    run = Run(**changes)
    text = (SAMPLES / "squeue-format-ended.txt").read_text().partition(" gpn8:")[2].splitlines()[1]
    cells = dict(zip(asking.COLUMNS, text.split("|"), strict=False)) | {
        **{"JobID": str(job_id), "ArrayJobID": str(job_id), "State": run.state},
        **{"TimeUsed": _clock(run.elapsed_s), "TimeLimit": "03:00:00", "NodeList": "nid005123"},
        **{"SubmitTime": _at(run.started_at - QUEUED), "EligibleTime": _at(run.started_at - QUEUED)},
        **{"StartTime": _at(run.started_at), "EndTime": _at(run.ended_at)},
        "tres-per-node": f"gres:gpu:{run.gpus}",
        "tres-alloc": f"cpu=8,mem=8G,node=1,billing=8,gres/gpu={run.gpus},gres/gpu:mi250={run.gpus}",
    }
    environment = {
        **{"SLURM_JOB_ID": str(job_id), "SLURM_JOB_GPUS": "0-7", "SLURMD_NODENAME": "nid005123"},
        **{"SLURM_CLUSTER_NAME": "lumi", "SLURM_JOB_USER": run.user, "SLURM_JOB_ACCOUNT": run.project},
        **{"SLURM_JOB_PARTITION": "small-g", "SLURM_JOB_NUM_NODES": "1"},
    }
    moments = {"started_at": run.started_at.timestamp(), "ended_at": run.ended_at.timestamp()}
    job = {**from_environment(environment, ""), **moments, "exit_status": 0, "threads_per_core": 2}
    shown = asking.fields_of("|".join(cells.values()) + "|\n", job_id)
    assert shown is not None
    told = {**record.by_hooks(job), **record.by_slurm({**shown, "JobName": name}, job, ["nid005123"])}
    assert told.pop("job_id") == job_id
    return told


def by_hooks(job_id: int, name: str, **run: Any) -> JobRecord:
    """The whole of it, as the portal takes it."""
    found = msgspec.json.decode(json.dumps({"job_id": job_id, **hooks_payload(job_id, name, **run)}), type=JobRecord)
    assert problems(found) == []
    return found


def by_accounting(job_id: int, name: str, **changes: Any) -> JobRecord:
    """The row that `sacct -P` prints of such a job, in the columns that the portal asks for."""
    run = Run(**changes)
    asked = f"billing=8,cpu=8,gres/gpu={run.gpus},mem=8G,node=1"
    cells = {
        **{"JobIDRaw": job_id, "JobID": job_id, "User": run.user, "Account": run.project, "Partition": "small-g"},
        **{"QOS": "normal", "State": run.state, "ExitCode": "0:0", "Submit": _at(run.started_at - QUEUED)},
        **{"Eligible": _at(run.started_at - QUEUED), "Start": _at(run.started_at)},
        **{"End": _at(run.ended_at), "ElapsedRaw": run.elapsed_s, "TimelimitRaw": 180, "NNodes": 1, "AllocCPUS": 8},
        **{"ReqTRES": asked, "AllocTRES": asked.replace("gres", f"gres/gpu:mi250={run.gpus},gres"), "JobName": name},
        **{"NodeList": "nid005123"},
    }
    found = job_runs("|".join(COLUMNS) + "\n" + "|".join(str(cells[name]) for name in COLUMNS), cluster="lumi")
    assert found.skipped == ()
    return found.records[0]


def _at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
