"""`manage.py import_jobs`: what it stores, what it says, and what it leaves out."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, connection

from jobs.models import Job

pytestmark = pytest.mark.django_db

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
HEADER = "JobIDRaw|User|Account|State|Start|End|JobName"


def imported(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_jobs", *arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue().strip()


def test_a_file_is_stored_and_again_changes_nothing() -> None:
    file = str(SAMPLES / "sacct-P-wide-duplicates.us.txt")
    assert imported("--from-file", file) == ("27 runs: 27 new or changed, 0 unchanged; 0 rows left out", "")
    assert Job.objects.filter(cluster="lumi", job_id=16).count() == 2
    assert imported("--from-file", file) == ("27 runs: 0 new or changed, 27 unchanged; 0 rows left out", "")


def test_a_row_left_out_is_named_and_the_others_are_stored(tmp_path: Path) -> None:
    times = "2026-11-20T10:00:00|2026-11-20T12:00:00"
    file = tmp_path / "sacct.txt"
    file.write_text(f"{HEADER}\n7|alice|p1|FAILED|{times}|a\n8||p1|FAILED|{times}|b\n9|bob|p1|RUNNING|{times}|c\n")
    said, errors = imported("--from-file", str(file), "--cluster", "other")
    assert said == "1 runs: 1 new or changed, 0 unchanged; 2 rows left out"
    assert errors.splitlines() == ["line 3: 8: has no user", "line 4: 9: has not ended (RUNNING)"]
    assert Job.objects.get().cluster == "other"


def test_a_run_that_would_change_hands_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "sacct.txt"
    for user in ("alice", "bob"):
        file.write_text(f"{HEADER}\n7|{user}|p1|FAILED|2026-11-20T10:00:00|2026-11-20T12:00:00|a\n")
        said, errors = imported("--from-file", str(file))
    assert said == "0 runs: 0 new or changed, 0 unchanged; 1 rows left out"
    assert errors == "line 2: 7: user_id differs from the stored run of this job"
    assert Job.objects.get().user.username == "alice"


REFUSED = 987_654_321
"""As no other number of a row is, such as the key of its person."""


def test_a_row_that_no_database_takes_keeps_no_other_out(tmp_path: Path) -> None:
    times = "2026-11-20T10:00:00|2026-11-20T12:00:00"
    file = tmp_path / "sacct.txt"
    file.write_text(f"{HEADER}\n" + "".join(f"{job_id}|alice|p1|FAILED|{times}|a\n" for job_id in (7, REFUSED, 9)))

    def refuse(execute, sql, params, many, context):
        if sql.startswith('INSERT INTO "jobs_job"') and REFUSED in params:
            raise DataError("out of range")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        said, errors = imported("--from-file", str(file))
    assert said == "2 runs: 2 new or changed, 0 unchanged; 1 rows left out"
    assert errors == f"line 3: {REFUSED}: cannot be stored: DataError"
    assert set(Job.objects.values_list("job_id", flat=True)) == {7, 9}


def test_standard_input_and_a_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    content = f"{HEADER}\n7|alice|p1|FAILED|2026-11-20T10:00:00|2026-11-20T12:00:00|a\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    imported("--from-file", "-", "--time-zone", "Europe/Helsinki")
    assert Job.objects.get().started_at.isoformat() == "2026-11-20T08:00:00+00:00"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--from-file", "/nowhere/at/all"), "/nowhere/at/all: No such file"),
        (("--from-file", str(SAMPLES / "sacct-helpformat.txt")), "not sacct -P output with a header"),
        (("--from-file", str(SAMPLES / "sacct-P-wide.txt"), "--time-zone", "Mars/Base"), "not a known time zone"),
        (("--since", "yesterday"), "--since yesterday: not an age"),
    ],
)
def test_what_cannot_be_read_is_said_plainly(arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        imported(*arguments)
    assert not Job.objects.exists()


def test_without_slurm_the_command_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="sacct cannot be started: No such file"):
        imported("--since", "24h")
