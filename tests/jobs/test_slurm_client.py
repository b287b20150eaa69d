"""Asking sacct: what it is asked, in which environment, and what is said when it fails; sacct is a script here."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.sacct import SACCT_FIELDS, job_runs
from jobs.slurm_client import SlurmClientError, accounting

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
SINCE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def script(tmp_path: Path, body: str) -> str:
    """A stand-in for sacct that knows the fields of a real 22.05."""
    file = tmp_path / "sacct"
    fields = (SAMPLES / "sacct-helpformat.txt").read_text()
    file.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\n"
        f"if '--helpformat' in sys.argv:\n    print({fields!r}); sys.exit()\n"
        f"{body}\n"
    )
    file.chmod(0o755)
    return str(file)


def test_sacct_is_asked_for_every_attempt_of_everybody_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tmp_path / "asked.json"
    monkeypatch.setenv("SLURM_TIME_FORMAT", "%s")
    monkeypatch.setenv("SACCT_FEDERATION", "1")
    sacct = script(tmp_path, f"json.dump([sys.argv[1:], dict(os.environ)], open({str(asked)!r}, 'w'))")
    output = accounting(SINCE, cluster="lumi", sacct=sacct)
    arguments, environment = json.loads(asked.read_text())
    assert {"--duplicates", "--allusers", "--allocations", "--clusters=lumi", "--parsable2"} <= set(arguments)
    assert arguments[arguments.index("--starttime") + 1] == "2026-11-20T12:00:00"
    assert f"--delimiter={output.delimiter}" in arguments
    (fields,) = (a.removeprefix("--format=").split(",") for a in arguments if a.startswith("--format="))
    # Slurm 22.05 would refuse to answer at all if asked for a field it does not know.
    assert fields == [field for field in SACCT_FIELDS if field != "Restarts"]
    assert environment["TZ"] == "UTC"
    assert not {"SLURM_TIME_FORMAT", "SACCT_FEDERATION"} & environment.keys()


def test_two_calls_never_share_a_delimiter_and_the_answer_is_readable(tmp_path: Path) -> None:
    sacct = script(
        tmp_path,
        "delimiter = next(a for a in sys.argv if a.startswith('--delimiter=')).removeprefix('--delimiter=')\n"
        "print(delimiter.join('JobIDRaw User Account State Start End JobName'.split()))\n"
        "print(delimiter.join('7 alice p FAILED 2026-11-20T10:00:00 2026-11-20T12:00:00 a|b'.split()))",
    )
    first, second = (accounting(SINCE, cluster="lumi", sacct=sacct) for _ in range(2))
    assert first.delimiter != second.delimiter
    (run,) = job_runs(first.text, cluster="lumi", delimiter=first.delimiter).records
    assert (run.job_id, run.job_name) == (7, "a|b")


def test_what_goes_wrong_is_said(tmp_path: Path) -> None:
    failing = script(tmp_path, "sys.stderr.write('slurm_persist_conn_open: failed\\x1b[31m'); sys.exit(1)")
    with pytest.raises(SlurmClientError, match=r"ended with status 1: slurm_persist_conn_open: failed�\[31m"):
        accounting(SINCE, cluster="lumi", sacct=failing)
    slow = script(tmp_path, "time.sleep(20)")
    with pytest.raises(SlurmClientError, match=r"did not answer within 0\.5 s"):
        accounting(SINCE, cluster="lumi", sacct=slow, timeout_s=0.5)
    with pytest.raises(SlurmClientError, match="cannot be started: No such file"):
        accounting(SINCE, cluster="lumi", sacct=str(tmp_path / "nowhere"))
