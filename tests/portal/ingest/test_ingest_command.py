"""`manage.py ingest`: JSON, JSON Lines, both kinds of payload, the same checks as HTTP."""

from __future__ import annotations

import json
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job
from metrics.models import NodeSummary
from tests.payloads import record, summary

pytestmark = pytest.mark.django_db


def test_a_file_may_hold_both_kinds_as_a_list_or_as_lines(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps([summary(), record()], indent=1))
    (tmp_path / "lines.jsonl").write_text("\n".join(json.dumps(p) for p in (summary(sequence=2), record(job_id=2))))
    said = StringIO()
    call_command("ingest", str(tmp_path / "list.json"), str(tmp_path / "lines.jsonl"), stdout=said)
    assert said.getvalue().count("2 new, 0 known, 0 rejected") == 2
    assert (Job.objects.count(), NodeSummary.objects.get().sequence) == (2, 2)


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(json.dumps(record()).encode())))
    call_command("ingest", "-", stdout=StringIO())
    assert Job.objects.exists()


def test_a_bad_line_is_named_and_the_others_are_stored(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(f"{json.dumps(record())}\n{{cut\n{json.dumps(record(job_id=2, ntasks=-1))}\n")
    errors = StringIO()
    with pytest.raises(CommandError, match="2 records were rejected; all others are stored"):
        call_command("ingest", str(file), stdout=StringIO(), stderr=errors)
    assert "record 1: record: not JSON" in errors.getvalue()
    assert "record 2: ntasks: Expected `int` >= 0" in errors.getvalue()
    assert Job.objects.get().job_id == 123456


def test_a_file_that_is_missing_or_something_else_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("ingest", str(tmp_path / "none.json"))
    (tmp_path / "prose.txt").write_text("hello\nworld\n")
    with pytest.raises(CommandError, match="neither JSON nor JSON Lines"):
        call_command("ingest", str(tmp_path / "prose.txt"))
