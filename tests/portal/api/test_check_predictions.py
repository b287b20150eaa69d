"""What a check predicts of the next run: in its answer, kept once, of one's own work alone, answered by that run."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.models import AdviceDue, MethodRecord, Prediction
from analysis.outcomes.services import settle_due
from jobs.models import Job
from tests.portal.api.test_check import OPTIONS, checked

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(cast, reported) -> Client:
    """Five runs of `train` of two hours on eight GPUs, of which two were used: four GPU-hours an hour."""
    ran(reported, *range(1, 6))
    return cast("alice")


def ran(reported, *job_ids: int) -> None:
    for job_id in job_ids:
        ended = timezone.now() - timedelta(days=6 - job_id)
        times = {"started_at": (ended - timedelta(hours=2)).isoformat(), "ended_at": ended.isoformat()}
        reported(job_id, job_name=f"train_v{job_id}", request=OPTIONS, walltime_requested_s=86_400, **times)


def test_the_answer_states_what_is_expected_in_numbers_and_words(alice) -> None:
    (one,) = checked(alice)["components"]
    found = {each["quantity"]: each for each in one["expected"]}
    assert list(found) == ["run_s", "gpu_hours", "gpus", "memory_gb"]
    time = found["run_s"]
    assert (time["method"], time["low"], time["typical"], time["high"], time["runs"]) == (
        *("own_quantiles", 7200.0, 7200.0, 7200.0, 5),
    )
    assert time["promised_fraction"] == pytest.approx(4 / 6)
    assert (
        time["text"].replace("\u00a0", " ")
        == "Run time: 2 h 00 min, as in all 5 earlier runs of this size; how often such predictions hold has not been "
        "checked on this site yet."
    )
    # What they all rest on is said once.
    assert found["gpu_hours"]["text"].replace("\u00a0", " ") == "Cost: 8.00 GPU-hours, as in all of them."
    assert found["gpus"]["text"].replace("\u00a0", " ") == "GPUs needed: 2, as in all of them."
    assert (found["gpu_hours"]["typical"], found["gpus"]["typical"]) == (8.0, 2.0)


def test_a_check_that_is_repeated_keeps_its_prediction_once(alice) -> None:
    for _ in range(3):
        checked(alice)
    rows = Prediction.objects.filter(source="check")
    assert sorted(rows.values_list("quantity", flat=True)) == ["gpu_hours", "gpus", "memory_gb", "run_s"]
    row = rows.get(quantity="run_s")
    assert (row.user.username, row.partition, row.nodes, row.gpus, row.limit_s) == ("alice", "small-g", 1, 8, 86_400.0)


def test_nothing_of_the_question_is_kept_but_the_size(alice) -> None:
    options = OPTIONS | {"--constraint": "secret-word", "--qos": "other-word"}
    checked(alice, {"job_name": "train_v9", "options": options})
    kept = json.dumps(list(Prediction.objects.values()), default=str)
    assert not any(word in kept for word in ("secret-word", "other-word", "train", "480G"))


def test_what_is_no_own_work_predicts_and_keeps_nothing(alice, cast) -> None:
    (one,) = checked(cast("bob"))["components"]
    (other,) = checked(alice, {"job_name": "something_else", "options": OPTIONS})["components"]
    assert (one["expected"], other["expected"]) == ([], [])
    assert not Prediction.objects.exists()


def test_the_next_run_answers_the_check(alice, reported) -> None:
    checked(alice)
    Prediction.objects.update(given_at=timezone.now() - timedelta(hours=9))
    ended = timezone.now() - timedelta(hours=1)
    times = {"started_at": (ended - timedelta(hours=3)).isoformat(), "ended_at": ended.isoformat()}
    submitted = {"submitted_at": (ended - timedelta(hours=4)).isoformat()}
    reported(7, job_name="train_v7", request=OPTIONS, walltime_requested_s=86_400, **times, **submitted)
    assert AdviceDue.objects.exists()
    settle_due(100, timezone.now())
    row = Prediction.objects.get(source="check", quantity="run_s")
    assert (row.job, row.answer) == (Job.objects.get(job_id=7), "answered")
    # As long as its record states: three hours, where two were predicted.
    assert row.actual == Job.objects.get(job_id=7).walltime_used_s


def test_without_a_kept_promise_no_range_is_stated_and_the_words_give_the_reason(alice) -> None:
    for quantity in ("run_s", "gpu_hours"):
        MethodRecord.objects.create(
            **{"method": "own_quantiles", "quantity": quantity, "answered": 40, "ranged": 40, "inside": 20},
            promised_fraction=0.8,
            misses_promise=True,
            made_at=timezone.now(),
        )
    (one,) = checked(alice)["components"]
    time = one["expected"][0]
    assert (time["low"], time["typical"], time["high"], time["promised_fraction"]) == (None, 7200.0, None, None)
    assert "no range is stated" in time["text"]
    assert one["expected"][2]["low"] == 2.0
    # It is kept with its range: only so can it be seen to hold again.
    row = Prediction.objects.get(quantity="run_s")
    assert (row.high, row.is_range_stated) == (7200.0, False)


def test_the_answer_states_that_ranges_are_as_wide_as_predictions_of_the_site_were_off(alice) -> None:
    """Two hours at 0.75 and 1.5 of it: 1 h 30 min to 3 h."""
    MethodRecord.objects.create(
        **{"method": "own_quantiles", "quantity": "run_s", "answered": 40, "ranged": 0, "inside": 0},
        **{"low_factor": 0.75, "high_factor": 1.5, "misses_promise": False, "made_at": timezone.now()},
    )
    (one,) = checked(alice)["components"]
    time = one["expected"][0]
    assert (time["low"], time["high"], time["promised_fraction"]) == (5400.0, 10800.0, 0.8)
    assert time["text"].replace("\u00a0", " ") == (
        "Run time: typically 2 h 00 min, in 8 of 10 cases 1 h 30 min to 3 h 00 min, from 5 earlier runs of this size; "
        "the range is at least as wide as 40 predictions on this site were off."
    )


@pytest.mark.one_database
def test_a_run_that_is_said_to_end_in_an_hour_predicts_nothing_yet(alice, reported) -> None:
    """A node whose clock is ahead: five runs have ended, the sixth has not."""
    ended = timezone.now() + timedelta(hours=1)
    times = {"started_at": (ended - timedelta(hours=9)).isoformat(), "ended_at": ended.isoformat()}
    reported(6, job_name="train_v6", request=OPTIONS, walltime_requested_s=86_400, **times)
    (one,) = checked(alice)["components"]
    assert {each["runs"] for each in one["expected"]} == {5}
    page = alice.get(f"/work/{Job.objects.get(job_id=1).work_key}/").content.decode()
    assert "5 earlier runs of this size" in page
    assert "6 earlier runs" not in page


@pytest.mark.one_database
def test_the_page_of_the_work_states_the_same_and_how_good_it_was(alice, cast, reported) -> None:
    key = Job.objects.get(job_id=1).work_key
    page = alice.get(f"/work/{key}/").content.decode().replace("\u00a0", " ")
    assert "Run time: 2 h 00 min, as in all 5 earlier runs of this size; how often" in page
    assert "How good earlier predictions were" not in page
    test_the_next_run_answers_the_check(alice, reported)
    page = alice.get(f"/work/{key}/").content.decode()
    assert "How good earlier predictions were" in page
    assert cast("bob").get(f"/work/{key}/").status_code == 404


@pytest.mark.one_database
def test_administrators_see_a_method_that_misses_its_promise(cast) -> None:
    MethodRecord.objects.create(
        **{"method": "regression", "quantity": "run_s", "answered": 40, "ranged": 40, "inside": 20},
        promised_fraction=0.8,
        misses_promise=True,
        misses_since=timezone.now(),
        made_at=timezone.now(),
    )
    page = cast("grace").get("/system/").content.decode()
    assert "Predictions miss their promise: run time, by line through own runs of similar shape" in page
    assert "20 of 40 ranges of 90 days held, 80% were promised." in page
