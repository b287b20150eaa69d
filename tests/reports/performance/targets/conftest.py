"""A target to export to, and judged runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.services import analyse_job
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.performance.targets.address import Folder
from tests.conftest import NOW
from tests.payloads import job_record, node_payload


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    """The empty folder that runs are exported to, as JSON lines."""
    path = tmp_path / "export"
    path.mkdir()
    settings.EXPORT_TARGET, settings.EXPORT_FORMAT = Folder(str(path)), "jsonl"
    return path


@pytest.fixture
def judged(db: None) -> Callable[..., Job]:
    """Make a judged run of alice's on eight GPUs."""

    def judge(job_id: int = 1, **record: object) -> Job:
        record_job(job_record(job_id=job_id, **record))
        record_node_summary(node_payload(job_id=job_id))
        job = Job.objects.get(job_id=job_id)
        analyse_job(job.pk, NOW)
        return job

    return judge


def written(folder: Path) -> dict[str, bytes]:
    """The content of each file of a folder that has its name, by that name."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".unfinished" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
