"""The automatic export: every judged run reaches the target at least once, whatever fails in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from django.db import connection, transaction

from analysis.exports.selectors import exports_waiting_since
from analysis.exports.services import open_batch
from analysis.models import ExportBatch, ExportDue
from analysis.services import analyse_job
from jobs.models import Job, Tally, WorkFailure
from reports.performance.targets.services import sweep
from reports.performance.targets.services.sweep import EXPORT, export_due
from tests.conftest import NOW
from tests.processes import PATIENCE_S
from tests.reports.performance.targets.conftest import written


def lines(content: bytes) -> list[int]:
    """The jobs in a file of JSON lines."""
    return [json.loads(line)["job_id"] for line in content.splitlines()]


def runs_in(folder: Path) -> list[int]:
    return sorted(job_id for content in written(folder).values() for job_id in lines(content))


def nothing_is_left() -> bool:
    return not (ExportDue.objects.exists() or ExportBatch.objects.exists() or WorkFailure.objects.exists())


def test_judged_runs_are_written_once(folder: Path, judged: Callable[..., Job]) -> None:
    judged(1)
    judged(2)
    assert exports_waiting_since(10) == (2, NOW)
    assert export_due(now=NOW) == 2
    assert export_due(now=NOW) == 0
    ((name, content),) = written(folder).items()
    assert (name.startswith("2026-11-20/runs-20261120T123000Z-"), lines(content)) == (True, [1, 2])
    assert nothing_is_left()
    assert exports_waiting_since(10) == (0, None)
    assert Tally.objects.get(name="kaiku_exported_runs").value == 2


def test_each_judgement_becomes_a_document_of_its_own(folder: Path, judged: Callable[..., Job], settings) -> None:
    settings.EXPORT_FORMAT = "learning"
    job = judged(1)
    judged(2, ended_at="2026-11-21T00:30:00+02:00")
    assert export_due(now=NOW) == 2
    analyse_job(job.pk, NOW)
    assert export_due(now=NOW) == 1
    # The second ended on the 20th at 22:30 UTC.
    names = [f"2026-11-20/lumi/{name}.json" for name in ("1-0-r1", "1-0-r2", "2-0-r1")]
    files = written(folder)
    assert sorted(files) == names
    assert [json.loads(files[name])["job_metadata"]["job_id"] for name in names] == ["1", "1", "2"]
    assert nothing_is_left()


def test_documents_for_which_there_was_no_time_are_written_in_the_next_round(
    folder: Path, judged: Callable[..., Job], settings
) -> None:
    settings.EXPORT_FORMAT = "learning"
    pks = [judged(1).pk, judged(2).pk]
    batch = open_batch(10, NOW)
    assert batch
    assert sweep.write_batch(batch, target=settings.EXPORT_TARGET, until_s=0, now=NOW) == 1
    assert [due.job_id for due in ExportDue.objects.all()] == pks[1:]
    assert export_due(now=NOW) == 1
    assert sorted(written(folder)) == ["2026-11-20/lumi/1-0-r1.json", "2026-11-20/lumi/2-0-r1.json"]
    assert nothing_is_left()


def test_a_run_that_is_judged_again_is_written_again(folder: Path, judged: Callable[..., Job]) -> None:
    job = judged(1)
    export_due(now=NOW)
    analyse_job(job.pk, NOW)
    export_due(now=NOW + timedelta(minutes=5))
    assert runs_in(folder) == [1, 1]


def test_a_run_judged_twice_before_a_round_is_written_once(folder: Path, judged: Callable[..., Job]) -> None:
    job = judged(1)
    analyse_job(job.pk, NOW)
    assert export_due(now=NOW) == 1
    assert runs_in(folder) == [1]


def test_without_a_target_nothing_is_noted(judged: Callable[..., Job]) -> None:
    judged(1)
    assert export_due(now=NOW) == 0
    assert not ExportDue.objects.exists()
    assert exports_waiting_since(10) == (0, None)


def test_what_only_its_owner_told_is_not_exported(folder: Path, judged: Callable[..., Job]) -> None:
    job = judged(1)
    ExportDue.objects.all().delete()
    Job.objects.filter(pk=job.pk).update(is_told_by_owner=True)
    analyse_job(job.pk, NOW)
    assert not ExportDue.objects.exists()


def test_a_run_that_is_deleted_meanwhile_leaves_nothing_behind(
    folder: Path, judged: Callable[..., Job], settings
) -> None:
    for form in ("jsonl", "learning"):
        settings.EXPORT_FORMAT = form
        judged(1).delete()
        export_due(now=NOW)
        assert written(folder) == {}
        assert nothing_is_left()


def test_a_missing_folder_is_said_and_created_by_nobody(folder: Path, judged: Callable[..., Job]) -> None:
    folder.rmdir()
    judged(1)
    assert export_due(now=NOW) == 0
    assert not folder.exists()
    batch = ExportBatch.objects.get()
    assert (batch.fault, batch.failed_since) == ("MISSING", NOW)
    failed = WorkFailure.objects.get(kind=EXPORT)
    assert (failed.key, failed.tries, failed.next_at) == (batch.pk, 1, NOW + timedelta(seconds=60))
    assert failed.error.startswith("TargetError at reports/performance/targets/services/stores.py:")


def test_while_the_target_refuses_nothing_new_is_begun_and_then_everything_is_written(
    folder: Path, judged: Callable[..., Job]
) -> None:
    folder.rmdir()
    judged(1)
    export_due(now=NOW)
    judged(2)
    export_due(now=NOW + timedelta(seconds=30))
    assert ExportBatch.objects.count() == 1
    folder.mkdir()
    # The pause of a minute is not over.
    assert export_due(now=NOW + timedelta(seconds=59)) == 0
    assert export_due(now=NOW + timedelta(seconds=61)) == 2
    assert runs_in(folder) == [1, 2]
    assert nothing_is_left()


def test_no_pause_is_longer_than_ten_minutes_and_no_batch_is_set_aside(
    folder: Path, judged: Callable[..., Job]
) -> None:
    folder.rmdir()
    judged(1)
    now = NOW
    for _ in range(7):
        export_due(now=now)
        failed = WorkFailure.objects.get()
        pause = failed.next_at - now
        now = failed.next_at
    assert (failed.tries, failed.set_aside_at, pause) == (7, None, timedelta(minutes=10))
    assert ExportBatch.objects.get().failed_since == NOW


def test_a_process_that_ends_before_it_could_confirm_has_its_batch_written_again_under_its_name(
    folder: Path, judged: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sweep, "confirm_runs", killed)
        with pytest.raises(KeyboardInterrupt):
            export_due(now=NOW)
    (first,) = written(folder).items()
    assert ExportDue.objects.count() == 1
    # The first loss of a claim has no pause.
    later = NOW + timedelta(seconds=1)
    assert export_due(now=later) == 1
    assert list(written(folder).items()) == [first]
    assert nothing_is_left()


def test_one_run_that_cannot_be_written_stops_no_other(
    folder: Path, judged: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five, the batch is halved until the third is alone: it stays, and is tried again."""
    pks = [judged(job_id).pk for job_id in range(1, 6)]
    real = sweep.files_of

    def poisoned(batch: ExportBatch, job_pks: list[int], form: str) -> object:
        assert pks[2] not in job_pks, "poison"
        return real(batch, job_pks, form)

    monkeypatch.setattr(sweep, "files_of", poisoned)
    for second in range(6):
        export_due(now=NOW + timedelta(seconds=second))
    assert runs_in(folder) == [1, 2, 4, 5]
    assert [due.job_id for due in ExportDue.objects.all()] == [pks[2]]
    assert WorkFailure.objects.get().error.startswith("AssertionError")
    assert ExportBatch.objects.get().fault == ""


def test_no_error_of_the_export_reaches_a_judgement(folder: Path, judged: Callable[..., Job]) -> None:
    folder.rmdir()
    folder.write_text("a file in its place")
    judged(1)
    export_due(now=NOW)
    assert ExportBatch.objects.get().fault == "MISSING"
    assert judged(2).efficiency.efficiency_class == "EFFICIENT"


@pytest.mark.needs("an ordinary user")
def test_a_folder_without_permission_is_said(folder: Path, judged: Callable[..., Job]) -> None:
    folder.chmod(0o500)
    judged(1)
    export_due(now=NOW)
    assert ExportBatch.objects.get().fault == "NOT_PERMITTED"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_judgement_that_is_committed_late_is_not_skipped(
    folder: Path, judged: Callable[..., Job], transactional_db: None
) -> None:
    """The first run is judged at an earlier time in a transaction that ends after the second was exported."""
    early, late = judged(1), judged(2)
    ExportDue.objects.all().delete()
    has_judged, may_commit = Event(), Event()

    def judge_slowly() -> None:
        try:
            with transaction.atomic():
                analyse_job(early.pk, NOW)
                has_judged.set()
                assert may_commit.wait(PATIENCE_S)
        finally:
            connection.close()

    slow = Thread(target=judge_slowly, daemon=True)
    slow.start()
    assert has_judged.wait(PATIENCE_S)
    analyse_job(late.pk, NOW + timedelta(hours=1))
    assert export_due(now=NOW + timedelta(hours=1)) == 1
    assert runs_in(folder) == [2]
    may_commit.set()
    slow.join(PATIENCE_S)
    assert export_due(now=NOW + timedelta(hours=2)) == 1
    assert runs_in(folder) == [1, 2]
    assert nothing_is_left()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_four_workers_at_once_write_every_run_and_none_twice(
    folder: Path, judged: Callable[..., Job], transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sweep.RUNS_TOGETHER, "jsonl", 3)
    for job_id in range(1, 21):
        judged(job_id)
    counts: list[int] = []

    def work() -> None:
        try:
            counts.append(export_due(now=NOW))
        finally:
            connection.close()

    workers = [Thread(target=work, daemon=True) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
    export_due(now=NOW)
    assert runs_in(folder) == list(range(1, 21))
    assert nothing_is_left()
