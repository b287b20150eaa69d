"""A month of answers is added up once, after it ended, and stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.core.management import call_command

from analysis.answers.figures import FindingAnswers
from analysis.answers.selectors import answers_of_month, closed_months
from analysis.answers.services import ANSWERS
from analysis.models import ClosedMonth, JobEfficiency
from analysis.months.selectors import months_to_close
from analysis.months.services import close_months
from analysis.services import analyse_job, give_feedback, withdraw_feedback
from jobs.models import Job, User
from jobs.services import record_job
from tests.payloads import job_record
from tests.steps import often_celery, often_local

pytestmark = pytest.mark.django_db

OCTOBER = datetime(2026, 10, 15, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 8, 0, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
MONTH = OCTOBER.date().replace(day=1)
SHOWN = [FindingAnswers("verdict", 10, "wrong", 0, 5)]


def answer(number: int, is_right: bool = True, at: datetime = OCTOBER) -> None:
    """One person's answer about the class of a run of their own, as the page stores it."""
    if not Job.objects.filter(job_id=number).exists():
        ended = OCTOBER - timedelta(days=1)
        times = {"started_at": (ended - 2 * HOUR).isoformat(), "ended_at": ended.isoformat()}
        record_job(job_record(job_id=number, user_id=f"user{number}", walltime_used_s=7200.0, **times))
        analyse_job(Job.objects.get(job_id=number).pk, ended + HOUR)
    judged = JobEfficiency.objects.get(job__job_id=number)
    give_feedback(judged, judged.user, code="verdict", is_right=is_right, comment="", now=at)


@pytest.fixture
def eleven() -> None:
    """Eleven people, 3 of whom answer "wrong": about 10, of which 0 to 4 are wrong."""
    for number in range(1, 12):
        answer(number, number > 3)


def test_a_month_is_closed_seven_days_after_its_end(eleven) -> None:
    assert close_months(ANSWERS, NOW - HOUR) == 0
    assert months_to_close(ANSWERS, NOW) == [MONTH]
    assert answers_of_month(MONTH) is None
    assert close_months(ANSWERS, NOW) == 1
    assert closed_months() == [(MONTH, SHOWN)]
    assert answers_of_month(MONTH) == SHOWN
    assert (close_months(ANSWERS, NOW + HOUR), months_to_close(ANSWERS, NOW)) == (0, [])


def test_what_people_answer_change_or_withdraw_later_changes_nothing(eleven) -> None:
    close_months(ANSWERS, NOW)
    before = ClosedMonth.objects.filter(kind="answers").values_list("figures", "closed_at").get()
    answer(12, False)
    answer(1, True, NOW)
    withdraw_feedback(Job.objects.get(job_id=2), User.objects.get(username="user2"), "verdict")
    close_months(ANSWERS, NOW + timedelta(days=1))
    assert ClosedMonth.objects.filter(kind="answers").values_list("figures", "closed_at").get() == before


def test_a_month_of_too_few_answers_is_closed_and_names_no_finding() -> None:
    for number in range(1, 10):
        answer(number)
    assert close_months(ANSWERS, NOW) == 1
    assert closed_months() == [(MONTH, [])]


def test_answers_belong_to_the_month_in_which_they_are_given(eleven) -> None:
    for number in range(1, 12):
        answer(number, False, OCTOBER + timedelta(days=31))
    assert close_months(ANSWERS, NOW) == 0, "nothing is left of October"
    assert close_months(ANSWERS, NOW + timedelta(days=31)) == 1
    assert [(day.month, [row.rarer for row in rows]) for day, rows in closed_months()] == [(11, ["right"])]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("close", [often_local, often_celery, partial(call_command, "close_months")])
def test_the_worker_the_task_and_the_command_close_months(close: Callable[[], object], eleven) -> None:
    close()
    assert closed_months() == [(MONTH, SHOWN)]


def test_without_answers_nothing_is_closed_in_one_query(django_assert_num_queries) -> None:
    with django_assert_num_queries(2):
        assert months_to_close(ANSWERS, NOW) == []
