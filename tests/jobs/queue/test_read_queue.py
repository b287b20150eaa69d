"""`manage.py read_queue`: what it stores, what it says, and what it leaves out."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs.models import QueuedJob, QueueReading
from tests.jobs.queue.listing import SAMPLE, pending, row, sample
from tests.jobs.queue.test_services import squeue

pytestmark = pytest.mark.django_db


def read(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("read_queue", *arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue().strip()


def test_a_file_is_stored_and_again_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "queue.txt"
    file.write_text(sample())
    arguments = ("--from-file", str(file), "--cluster", "lumi")
    assert read(*arguments) == ("lumi: 18 jobs: 18 new, 0 changed, 0 gone; 0 rows left out", "")
    assert read(*arguments) == ("lumi: 18 jobs: 0 new, 0 changed, 0 gone; 0 rows left out", "")


def test_a_row_left_out_is_named_and_the_others_are_stored(tmp_path: Path) -> None:
    file = tmp_path / "queue.txt"
    file.write_text(row(JobID="1") + row(JobID="2", UserName="1003") + pending(JobID="3"))
    said, errors = read("--from-file", str(file), "--cluster", "other")
    assert said == "other: 2 jobs: 2 new, 0 changed, 0 gone; 1 rows left out"
    assert errors == "other: line 2: 2: belongs to user number 1003, whose name squeue does not know here"
    assert {job.cluster for job in QueuedJob.objects.all()} == {"other"}


def test_standard_input_and_a_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(row().encode())))
    read("--from-file", "-", "--cluster", "lumi", "--time-zone", "Europe/Helsinki")
    assert QueuedJob.objects.get().started_at.isoformat() == "2026-11-20T10:00:00+00:00"


def test_squeue_is_asked_for_one_cluster_or_for_those_of_the_settings(tmp_path, monkeypatch, settings) -> None:
    settings.QUEUE_CLUSTERS = ["lumi", "other"]
    squeue(tmp_path, monkeypatch, "row(7)")
    one = "1 jobs: 1 new, 0 changed, 0 gone; 0 rows left out"
    assert read()[0].splitlines() == [f"lumi: {one}", f"other: {one}"]
    assert read("--cluster", "third")[0] == f"third: {one}"


def test_a_cluster_that_cannot_be_read_stops_no_other(tmp_path, monkeypatch, settings) -> None:
    settings.QUEUE_CLUSTERS = ["broken", "lumi"]
    squeue(tmp_path, monkeypatch, "sys.exit('no such cluster') if 'broken' in sys.argv[1] else row(7)")
    with pytest.raises(CommandError, match="not read: broken"):
        read()
    assert QueuedJob.objects.get().cluster == "lumi"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "no cluster: name one with --cluster, or set QUEUE_CLUSTERS"),
        (("--from-file", str(SAMPLE)), "--from-file needs --cluster"),
        (("--from-file", "/nowhere/at/all", "--cluster", "lumi"), "/nowhere/at/all: No such file"),
        (("--from-file", __file__, "--cluster", "lumi"), "not squeue output in the format that is read"),
        (("--from-file", str(SAMPLE), "--cluster", "lumi", "--time-zone", "Mars/Base"), "not a known time zone"),
    ],
)
def test_what_cannot_be_read_is_said_plainly(arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        read(*arguments)
    assert not QueueReading.objects.exists()
