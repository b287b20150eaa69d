"""The whole road: real accounting of a real Slurm, a summary from a file, analysis, report; every number by hand."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job
from reports.models import Report
from tests.payloads import gpu, summary

pytestmark = pytest.mark.django_db

ACCOUNTING = Path(__file__).parent / "samples" / "slurm" / "sacct-P-wide.txt"


def printed(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> bytes:
    """What a command writes to standard output as bytes."""
    capsysbinary.readouterr()
    call_command(*arguments)
    return capsysbinary.readouterr().out


@pytest.fixture
def job_2(tmp_path: Path) -> None:
    """Job 2 of the captured accounting: 8 GPUs for 5 s on small-g. Two of them worked at 90 %, six did nothing."""
    call_command("import_jobs", "--from-file", str(ACCOUNTING), "--cluster", "lumi", stdout=StringIO())
    brief = {"measured_s": 5.0, "samples": 5, "peak_mem_gb": 10.0, "timeline": None}
    gpus = [
        gpu(index, 90.0, **brief, active_s=5.0, util_histogram_s={"90": 5.0})
        if index < 2
        else gpu(index, 0.0, **brief, idle_s=5.0, util_histogram_s={"0": 5.0})
        for index in range(8)
    ]
    times = {"started_at": "2026-11-20T22:03:22Z", "ended_at": "2026-11-20T22:03:27Z"}
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(summary(job_id=2, node="nid005002", gpus=gpus, cpu=None, **times)))
    call_command("ingest", str(file), stdout=StringIO())
    call_command("analyse_job", "lumi/2", stdout=StringIO())


def test_real_accounting_and_a_measured_node_become_a_report_checked_by_hand(job_2, capsysbinary) -> None:
    report = json.loads(printed(capsysbinary, "report", "lumi/2", "--format", "json"))
    judged = report["efficiency"]
    # Mean (2 x 90 + 6 x 0) / 8 = 22.5.
    assert judged["avg_gpu_util"] == pytest.approx(22.5)
    # What ran for five seconds is not judged, whatever its mean.
    assert judged["efficiency_class"] == "UNKNOWN"
    assert (judged["effective_gpus"], judged["effective_gpus_fraction"]) == (2, 0.25)
    # 8 hardware threads are 4 cores: 1 slice; 8 GB: 1 slice; 8 GPUs decide. 8 x 0.5 x 5 s / 3600 = 0.0055556.
    assert judged["gpu_hours"] == pytest.approx(0.0055556, rel=1e-4)
    # x (1 - 0.225) = 0.0043056; x 6/8 idle = 0.0041667.
    assert judged["wasted_gpu_hours"] == pytest.approx(0.0043056, rel=1e-4)
    assert judged["idle_gpu_hours"] == pytest.approx(0.0041667, rel=1e-4)
    assert judged["uncounted_reason"] == "short"
    assert judged["peak_gpu_mem_gb"] == 10.0
    # Five seconds say nothing of how the GPUs are used: nothing is found, advised or claimed.
    assert (report["findings"], report["recommendations"], report["savings"]) == ([], [], None)
    assert "too short" in report["no_advice"]


def test_the_report_command_writes_every_format(job_2, capsysbinary, tmp_path: Path) -> None:
    text = printed(capsysbinary, "report", "2", "--format", "text")
    assert b"The job ran for less than 5 minutes" in text
    assert printed(capsysbinary, "report", "2", "--format", "markdown").startswith(b"# Kaiku: Job 2, gpn8")
    call_command("report", "lumi/2.0", "--format", "pdf", "-o", str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    call_command("report", "2", "--format", "html", "--output", str(tmp_path / "report.html"))
    assert "<!DOCTYPE html>" in (tmp_path / "report.html").read_text()


def test_importing_the_same_accounting_again_changes_nothing(job_2) -> None:
    before = list(Job.objects.order_by("pk").values())
    said = StringIO()
    call_command("import_jobs", "--from-file", str(ACCOUNTING), "--cluster", "lumi", stdout=said, stderr=StringIO())
    assert list(Job.objects.order_by("pk").values()) == before
    assert re.search(r"\b0 new", said.getvalue())


def test_whatever_ran_unmeasured_is_reported_as_such_and_what_never_started_is_not(job_2) -> None:
    call_command("analyse_job", "--due", stdout=StringIO())
    by_job = {row.job.job_id: row.content["efficiency"]["efficiency_class"] for row in Report.objects.all()}
    assert by_job[20] == "UNKNOWN"
    assert 9 not in by_job
    assert 8 not in by_job
    assert Job.objects.get(job_id=9).started_at is None


def test_a_run_that_is_not_there_or_has_no_report_is_said_plainly(job_2) -> None:
    with pytest.raises(CommandError, match="no job 999 is stored here"):
        call_command("report", "999")
    with pytest.raises(CommandError, match="has no report yet"):
        call_command("report", "lumi/20")
    with pytest.raises(CommandError, match="is not \\[CLUSTER/\\]JOBID"):
        call_command("report", "lumi/two")
