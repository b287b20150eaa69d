"""`manage.py export_performance --to-target`: the automatic export by hand, also for runs from before it was set up."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from analysis.models import ExportDue
from jobs.models import AuditEntry, Job, WorkFailure
from reports.performance.targets.address import Folder
from reports.performance.targets.services.sweep import export_due

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    settings.EXPORT_TARGET, settings.EXPORT_FORMAT = Folder(str(tmp_path / "export")), "jsonl"
    return tmp_path / "export"


@pytest.fixture
def say(capsys) -> Callable[..., str]:
    def said(*words: str) -> str:
        capsys.readouterr()
        call_command("export_performance", "--to-target", *words)
        return capsys.readouterr().out.strip()

    return said


def exported(folder: Path) -> list[int]:
    files = folder.glob("*/*.jsonl")
    return sorted(json.loads(line)["job_id"] for path in files for line in path.read_bytes().splitlines())


def test_earlier_runs_are_exported_since_a_day(reported, settings, tmp_path: Path, say) -> None:
    """Of three runs before there was a target, two ended on that day or later; one has told its owner alone."""
    reported(1, started_at="2026-11-19T10:00:00Z", ended_at="2026-11-19T12:00:00Z")
    reported(2, 3, 4)
    Job.objects.filter(job_id=4).update(is_told_by_owner=True)
    settings.EXPORT_TARGET, settings.EXPORT_FORMAT = Folder(str(tmp_path)), "jsonl"
    assert say() == "0 written, 0 left"
    assert say("--since", "2026-11-20") == "2 runs put on the list, 2 written, 0 left"
    assert exported(tmp_path) == [2, 3]
    entry = AuditEntry.objects.get(action="runs_exported")
    assert (entry.name, entry.details) == ("since 2026-11-20 00:00", "to EXPORT_TARGET")


def test_a_target_that_takes_nothing_fails_the_command_and_the_next_one_does_not_wait(
    folder: Path, reported, say
) -> None:
    reported(1)
    with pytest.raises(CommandError, match="0 written, 1 left: the target takes nothing: the folder is not there"):
        say()
    folder.mkdir()
    # The workers' pause of a minute has just begun.
    assert export_due(now=timezone.now()) == 0
    assert say() == "1 written, 0 left"
    assert exported(folder) == [1]


def test_while_another_worker_writes_no_earlier_fault_is_said(folder: Path, reported, say) -> None:
    """The folder was missing; then a worker began to write the batch, and has not finished."""
    reported(1)
    export_due(now=timezone.now())
    folder.mkdir()
    until = timezone.now() + timedelta(minutes=9)
    WorkFailure.objects.update(owner="another host 1 1", claimed_until=until)
    assert say() == "0 written, 1 left: another worker is writing now"
    WorkFailure.objects.update(owner="", claimed_until=None)
    assert say() == "1 written, 0 left"


def test_what_was_put_on_the_list_is_exported_after_the_command_was_killed(
    folder: Path, reported, say, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    reported(1, 2)
    ExportDue.objects.all().delete()

    def killed() -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("portal.management.commands.export_performance.export_due", killed)
        with pytest.raises(KeyboardInterrupt):
            say("--since", "2026-11-01")
    assert say() == "2 written, 0 left"
    assert exported(folder) == [1, 2]


def test_other_options_are_refused_with_it(folder: Path, say, settings) -> None:
    for words in (("1",), ("--user", "alice"), ("--until", "2026-11-20"), ("-o", "x")):
        with pytest.raises(CommandError, match="--to-target takes --since alone"):
            say(*words)
    with pytest.raises(CommandError, match="since must be a day"):
        say("--since", "soon")
    settings.EXPORT_TARGET = None
    with pytest.raises(CommandError, match="EXPORT_TARGET is not set"):
        say()
