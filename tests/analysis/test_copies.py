"""What a judgement copies of its run: from its record, after other keys of works, and in rows from before."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command

from analysis.models import JobEfficiency
from jobs.models import Job
from tests.analysis.rollups.test_rollups import NOW, run

FILL = import_module("analysis.migrations.0033_fill_work_and_early_end")


def copies() -> list[tuple[int, str, bool]]:
    rows = JobEfficiency.objects.order_by("job__job_id")
    return list(rows.values_list("job__job_id", "work_key", "ended_early"))


def keys() -> list[str]:
    return list(Job.objects.order_by("job_id").values_list("work_key", flat=True))


def test_a_judgement_has_the_work_of_its_run_also_after_the_keys_are_made_anew(db, settings) -> None:
    run(1, 50.0, NOW, job_name="train")
    run(2, 50.0, NOW, job_name="bash")
    before = keys()
    assert (len(before[0]), before[1]) == (32, "")
    assert copies() == [(1, before[0], False), (2, "", False)]
    settings.WORK_KEY_SECRET = "another secret, as long as one should be"
    call_command("backfill_work_keys", stdout=StringIO())
    assert keys()[0] not in before
    assert copies() == [(1, keys()[0], False), (2, "", False)]


@pytest.mark.parametrize(
    ("state", "run_time_s", "minutes", "is_early"),
    [
        *(("FAILED", 599.0, 120, True), ("FAILED", 600.0, 120, False), ("CANCELLED", 0.0, 120, True)),
        *(("TIMEOUT", 60.0, 120, False), ("COMPLETED", 60.0, 120, False)),
        # Without a run time that of the two times counts.
        *(("FAILED", None, 9, True), ("FAILED", None, 10, False)),
    ],
)
def test_judgements_from_before_are_filled_in_batches(
    db, monkeypatch, state: str, run_time_s: float | None, minutes: int, is_early: bool
) -> None:
    monkeypatch.setattr(FILL, "BATCH_ROWS", 2)
    for job_id in (1, 2, 3):
        run(job_id, 50.0, NOW, job_name=f"train-{'abc'[job_id - 1]}")
    started_at = NOW - timedelta(minutes=minutes)
    Job.objects.filter(job_id=3).update(state=state, walltime_used_s=run_time_s, started_at=started_at)
    JobEfficiency.objects.update(work_key="", ended_early=False)
    FILL.fill(apps, None)
    assert [work for _, work, _ in copies()] == keys()
    assert len(set(keys())) == 3
    assert [early for *_, early in copies()] == [False, False, is_early]
