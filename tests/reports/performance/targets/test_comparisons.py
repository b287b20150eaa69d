"""What the automatic export says of predictions: a document is written again when its run is compared, and anew."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.exports.services import open_batch
from analysis.models import ExportDue, Prediction
from analysis.outcomes.services import settle_due
from analysis.services import analyse_job
from jobs.models import Job
from reports.performance.targets.services.sweep import export_due
from tests.analysis.outcomes.test_settling import NOW, run
from tests.reports.performance.targets.conftest import written

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

ACCURACY = "prediction_validation.runtime_accuracy"


def export() -> int:
    """How many runs were written."""
    return export_due(now=NOW)


def document(folder: Path, job_id: int) -> dict[str, Any]:
    """The only document of this run, which has the name of its first judgement."""
    (name,) = (name for name in written(folder) if name.endswith(f"/lumi/{job_id}-0-r1.json"))
    return json.loads(written(folder)[name])


@pytest.fixture
def predicted(folder: Path, settings) -> Job:
    """A sixth run of two hours, judged after five equal ones were settled and exported; it is not settled yet."""
    settings.EXPORT_FORMAT = "learning"
    for job_id in range(1, 6):
        run(job_id, 10 - job_id)
    settle_due(100, NOW - timedelta(days=4))
    export()
    return run(6, 2)


def test_a_document_from_before_the_comparison_is_written_again_with_it(folder: Path, predicted: Job) -> None:
    assert export() == 1
    before = document(folder, 6)
    assert (before["missing"][ACCURACY], "runtime_accuracy" in before["prediction_validation"]) == (
        "not_analysed",
        False,
    )
    settle_due(100, NOW)
    # The sixth alone: no other run's answers changed.
    assert export() == 1
    after = document(folder, 6)
    assert (after["prediction_validation"]["runtime_accuracy"], ACCURACY in after["missing"]) == (1.0, False)
    settle_due(100, NOW)
    assert export() == 0


def test_when_a_late_record_takes_the_answer_both_runs_are_written_again(folder: Path, predicted: Job) -> None:
    """A run that was submitted an hour before the sixth arrives last: what was predicted was of that one."""
    settle_due(100, NOW)
    export()
    run(7, 2 + 1 / 24)
    settle_due(100, NOW)
    assert export() == 2
    assert document(folder, 7)["prediction_validation"]["runtime_accuracy"] == 1.0
    assert document(folder, 6)["missing"][ACCURACY] == "not_predicted"


def test_tables_have_no_predictions_and_repeat_no_row_for_them(folder: Path, predicted: Job, settings) -> None:
    settings.EXPORT_FORMAT = "csv"
    export()
    settle_due(100, NOW)
    assert Prediction.objects.filter(job=predicted).exists()
    assert not ExportDue.objects.exists()


def test_what_only_its_owner_told_is_not_exported_after_a_comparison(folder: Path, predicted: Job) -> None:
    ExportDue.objects.all().delete()
    Job.objects.filter(pk=predicted.pk).update(is_told_by_owner=True)
    analyse_job(predicted.pk, NOW)
    settle_due(100, NOW)
    assert not ExportDue.objects.exists()


def test_a_run_that_is_being_written_is_put_into_no_second_batch(folder: Path, predicted: Job) -> None:
    assert open_batch(10, NOW)
    settle_due(100, NOW)
    assert ExportDue.objects.filter(job=predicted, batch=None).exists()
    assert open_batch(10, NOW) is None
    # The unfinished batch first, then the run again in one of its own.
    assert export() == 2
    assert document(folder, 6)["prediction_validation"]["runtime_accuracy"] == 1.0
