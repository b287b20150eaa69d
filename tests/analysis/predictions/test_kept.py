"""Predictions from real judgements: made by the sweep, answered by the next run, once, also when data come late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from analysis.models import ClosedMonth, MethodRecord, Prediction
from analysis.months.services import close_months
from analysis.outcomes.services import settle_due
from analysis.predictions.expected import Known
from analysis.predictions.quantities import Method, Quantity, Source
from analysis.predictions.selectors import (
    checked_between,
    checked_of_work,
    known_of_methods,
    methods_that_miss,
    predictions_of,
)
from analysis.predictions.services import (
    OPEN_MAX,
    PREDICTIONS,
    Occasion,
    Place,
    Stated,
    keep_records,
    record_asked,
    remove_predictions,
)
from jobs.models import Job, Project, User
from jobs.services import record_job
from tests.analysis.outcomes.test_settling import HOUR, NOW, run
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

OWN = {"source": "recommendation", "method": "own_quantiles"}


def settled(at: datetime) -> None:
    assert settle_due(100, at) == 1


@pytest.fixture
def five() -> list[Job]:
    """Five runs of two hours on eight GPUs, of which two worked; the last ended three days ago."""
    jobs = [run(job_id, 10 - job_id) for job_id in range(1, 6)]
    settled(NOW - timedelta(days=4))
    return jobs


def open_run_time() -> Prediction:
    return Prediction.objects.get(**OWN, quantity="run_s", job=None)


def test_four_runs_predict_nothing_but_what_the_report_assumes() -> None:
    for job_id in range(1, 5):
        run(job_id, 10 - job_id)
    settled(NOW - timedelta(days=5))
    assert set(Prediction.objects.values_list("method", flat=True)) == {"advice"}


def test_after_five_runs_the_next_one_is_predicted(five) -> None:
    """Each took two hours at 4 GPU-hours an hour; the report finds that two GPUs suffice."""
    found = {row.quantity: row for row in Prediction.objects.filter(**OWN)}
    assert {name: (row.low, row.typical, row.high) for name, row in found.items() if name != "memory_gb"} == {
        "run_s": (7200.0, 7200.0, 7200.0),
        "gpu_hours": (8.0, 8.0, 8.0),
        "gpus": (2.0, 2.0, 2.0),
    }
    assert (found["run_s"].promised_fraction, found["run_s"].runs) == (pytest.approx(4 / 6), 5)
    assert (found["run_s"].partition, found["run_s"].nodes, found["run_s"].gpus) == ("small-g", 1, 8)
    assert {row.is_shown for row in found.values()} == {True}
    advice = Prediction.objects.get(method="advice", quantity="run_s")
    assert (advice.gpus, advice.low, advice.promised_fraction) == (2, None, None)


def test_the_next_run_answers_once_however_often_the_sweep_runs(five) -> None:
    """It took two hours as well, and its report finds two GPUs again."""
    sixth = run(6, 2)
    settled(NOW - timedelta(days=1))
    run(6, 2, comment="sent again")
    settle_due(100, NOW)
    values = {each.quantity: each for each in predictions_of([sixth.pk])[sixth.pk]}
    assert set(values) == {"run_s", "gpu_hours", "gpus", "memory_gb"}
    assert (values["run_s"].actual, values["run_s"].error_fraction, values["run_s"].is_inside) == (7200.0, 0.0, True)
    assert (values["gpus"].actual, values["gpu_hours"].actual) == (2.0, 8.0)
    assert values["run_s"].answered_at == NOW - timedelta(days=1)
    assert Prediction.objects.filter(job=sixth).count() == 4


def test_a_run_that_was_submitted_before_does_not_answer(five) -> None:
    run(6, 2, submitted_at=(NOW - timedelta(days=20)).isoformat())
    settled(NOW - timedelta(days=1))
    assert not Prediction.objects.filter(job__isnull=False).exists()


def test_a_failed_run_leaves_the_prediction_to_the_next_one(five) -> None:
    failed = run(6, 2.5, state="FAILED", exit_code="1:0")
    settled(NOW - timedelta(days=2.4))
    assert not Prediction.objects.filter(job=failed, quantity="run_s").exists()
    seventh = run(7, 1)
    settled(NOW)
    assert Prediction.objects.get(**OWN, quantity="run_s", job__isnull=False).job == seventh


def test_a_record_that_comes_late_takes_its_answer_back_from_a_later_run(five) -> None:
    eighth = run(8, 1)
    settled(NOW - HOUR)
    assert {row.job for row in Prediction.objects.filter(**OWN, job__isnull=False)} == {eighth}
    seventh = run(7, 2)
    settled(NOW)
    answered = Prediction.objects.filter(**OWN, quantity="run_s", job__isnull=False)
    assert {row.job for row in answered} == {seventh}


def test_what_is_predicted_again_on_the_same_day_is_kept_once(five) -> None:
    first = open_run_time()
    run(6, 2, submitted_at=(NOW - timedelta(days=20)).isoformat())
    settled(first.given_at + HOUR)
    assert open_run_time().pk == first.pk
    run(7, 2, submitted_at=(NOW - timedelta(days=20)).isoformat())
    settled(first.given_at + timedelta(days=1))
    assert Prediction.objects.filter(**OWN, quantity="run_s", job=None).count() == 2


def test_predictions_go_with_their_run_and_open_ones_after_their_time(five) -> None:
    sixth = run(6, 2)
    settled(NOW)
    assert Prediction.objects.filter(job=sixth).exists()
    sixth.delete()
    assert not Prediction.objects.filter(job__isnull=False).exists()
    assert sum(remove_predictions(NOW + HOUR)) > 0
    assert not Prediction.objects.exists()


def asked(user: User, at: datetime = NOW) -> Occasion:
    project = Project.objects.get_or_create(name="project_465000001")[0]
    return Occasion(user.pk, project.pk, "lumi", "k" * 32, Source.CHECK, at)


def test_requests_that_are_never_submitted_do_not_pile_up() -> None:
    user = User.objects.create(username="bob")
    number = Stated(Quantity.RUN_S, Method.REGRESSION, 60.0)
    for gpus in range(1, OPEN_MAX + 4):
        record_asked(asked(user, NOW + gpus * timedelta(seconds=1)), [(Place("small-g", 1, gpus, None), number)], [])
    assert Prediction.objects.count() == OPEN_MAX
    assert min(Prediction.objects.values_list("gpus", flat=True)) == 4


def answer(user: User, count: int, inside: int, at: datetime, **columns: Any) -> None:
    """`count` answered predictions, `inside` of which held 60 to 120 s; each of a work of its own."""
    project = Project.objects.get_or_create(name="project_465000001")[0]
    for place in range(count):
        job_id = 1_000_000 * user.pk + place
        record_job(job_record(job_id=job_id, user_id=user.username))
        values = {
            **{"work_key": f"{user.pk} {place}", "source": "recommendation", "quantity": "run_s"},
            **{"partition": "small-g", "nodes": 1, "gpus": 8},
            **{"low": 60.0, "typical": 100.0, "high": 120.0, "promised_fraction": 0.8, "is_widened": True},
            **{"method": "own_quantiles", "method_version": 1, "runs": 9, "is_shown": True, "fingerprint": ""},
            **{"given_at": at - HOUR, "answer": "answered", "answered_at": at},
            **{"actual": 110.0 if place < inside else 240.0, "job": Job.objects.get(job_id=job_id)},
        }
        Prediction.objects.create(user=user, project=project, cluster="lumi", **values | columns)


def people(count: int) -> list[User]:
    return [User.objects.create(username=f"person{place}") for place in range(count)]


def test_a_method_that_misses_its_promise_is_marked_until_it_keeps_it_again() -> None:
    """Six people with three of six each: 18 of 36 held, 80 % were promised."""
    everyone = people(6)
    for user in everyone:
        answer(user, 6, 3, NOW)
    assert keep_records(NOW) == 1
    assert known_of_methods().missing == {(Method.OWN_QUANTILES, Quantity.RUN_S)}
    (row,) = methods_that_miss()
    assert (row.ranged, row.inside, row.misses_since) == (36, 18, NOW)
    assert keep_records(NOW + HOUR) == 1
    assert methods_that_miss()[0].misses_since == NOW
    # 91 days later none of them counts any more.
    assert keep_records(NOW + timedelta(days=91)) == 0
    assert not MethodRecord.objects.exists()


def test_ranges_are_as_wide_as_earlier_predictions_were_off_and_then_stated_so(five) -> None:
    """30 answers of five people, 24 of 110 s and 6 of 240 s where 100 s were predicted, within 60 to 120 s.

    The 3rd smallest factor is 1.1, so at most 1; the 28th is 2.4. Two hours become 2 to 4.8 hours. What held 24 of 30
    times was not widened, so it is no longer judged.
    """
    for place, user in enumerate(people(5)):
        answer(user, 6, 5 if place < 4 else 4, NOW - timedelta(days=3), is_widened=False)
    assert keep_records(NOW - timedelta(days=2)) == 0
    (factors,) = known_of_methods().factors.values()
    assert (factors.low, round(factors.high, 9), factors.answers) == (1.0, 2.4, 30)
    assert MethodRecord.objects.get().ranged == 0
    run(6, 2, submitted_at=(NOW - timedelta(days=20)).isoformat())
    settled(NOW - timedelta(days=1))
    row = Prediction.objects.filter(**OWN, quantity="run_s", job=None).latest("given_at")
    assert (row.low, row.high, row.promised_fraction) == (7200.0, pytest.approx(17280.0), 0.8)
    assert (row.is_widened, row.is_range_stated) == (True, True)
    # At 4 GPU-hours an hour.
    cost = Prediction.objects.filter(**OWN, quantity="gpu_hours", job=None).latest("given_at")
    assert (cost.low, cost.high) == (8.0, pytest.approx(19.2))


def test_what_ended_beyond_its_range_counts_among_the_longest() -> None:
    """30 answers, four of runs that did not complete: more than the three that may lie above the range."""
    everyone = people(5)
    for user in everyone:
        answer(user, 6, 6, NOW)
    keep_records(NOW)
    assert known_of_methods().factors
    Prediction.objects.filter(user__in=everyone[:4], work_key__endswith=" 0").update(answer="exceeded")
    keep_records(NOW)
    assert not known_of_methods().factors


def test_a_range_that_is_not_stated_is_kept_and_shown_to_nobody() -> None:
    (user,) = people(1)
    answer(user, 1, 1, NOW, is_range_stated=False)
    row = Prediction.objects.get()
    (value,) = predictions_of([row.job_id])[row.job_id]
    assert (row.high, value.low, value.high, value.is_inside, value.typical) == (120.0, None, None, None, 100.0)
    (checked,) = checked_of_work(user.pk, row.work_key)
    assert (checked.promised_fraction, checked.is_inside, checked.error_fraction) == (None, None, pytest.approx(0.1))


def test_a_run_that_answers_a_report_and_a_check_counts_once_with_what_was_given_last() -> None:
    """Each of five people has 7 runs, predicted after a report at 100 s and an hour later for a check at 220 s.

    They took 240 s: 140 % more than the first, 9 % more than the second. 35 of the 70 answers count, here and in the
    factors, of which the largest is then 240 / 220.
    """
    everyone = people(5)
    for user in everyone:
        answer(user, 7, 0, NOW, given_at=NOW - 3 * HOUR)
        for row in Prediction.objects.filter(user=user):
            row.pk, row.source, row.typical, row.given_at = None, "check", 220.0, NOW - 2 * HOUR
            row.save()
    (checked,) = checked_of_work(everyone[0].pk, f"{everyone[0].pk} 0")
    assert checked.error_fraction == pytest.approx(20 / 220)
    keep_records(NOW)
    record = MethodRecord.objects.get()
    assert (record.answered, record.high_factor) == (35, pytest.approx(240 / 220))
    assert sum(row.quantity == "run_s" for row in checked_between(NOW.date(), NOW.date() + timedelta(days=1))) == 35


def test_what_was_stated_before_another_method_was_chosen_does_not_count_on_the_page() -> None:
    """The report stated it; the check that came after stated another method and kept this one beside it."""
    (user,) = people(1)
    answer(user, 1, 1, NOW, given_at=NOW - 3 * HOUR)
    row = Prediction.objects.get()
    for method, is_shown in (("own_quantiles", False), ("regression", True)):
        row.pk, row.source, row.method, row.is_shown, row.given_at = None, "check", method, is_shown, NOW - 2 * HOUR
        row.save()
    assert [each.method for each in checked_of_work(user.pk, row.work_key)] == ["regression"]


def test_four_people_mark_nothing() -> None:
    for user in people(4):
        answer(user, 9, 0, NOW)
    assert keep_records(NOW) == 0
    assert known_of_methods() == Known()


def test_a_month_is_closed_once_a_week_after_its_end_and_never_changes() -> None:
    in_october = datetime(2026, 10, 20, 12, tzinfo=NOW.tzinfo)
    for user in people(5):
        answer(user, 2, 1, in_october)
    assert close_months(PREDICTIONS, datetime(2026, 11, 5, tzinfo=NOW.tzinfo)) == 0
    assert close_months(PREDICTIONS, NOW) == 1
    (month,) = ClosedMonth.objects.filter(kind="predictions")
    # Ten: five took 110 s instead of 100, five 240 s; within 20 % five, inside five.
    (figures,) = month.figures
    assert (figures["answered"], figures["within_20"], figures["inside"], figures["promised_percent"]) == (10, 5, 5, 80)
    Prediction.objects.all().delete()
    assert close_months(PREDICTIONS, NOW + timedelta(days=1)) == 0
    assert ClosedMonth.objects.get(kind="predictions").figures == month.figures
