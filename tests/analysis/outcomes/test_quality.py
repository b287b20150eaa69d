"""How good the rules of advice are: sums that hide every person, and which record is poor."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from analysis.models import AdviceDue, AdviceOutcome, ClosedMonth
from analysis.months.services import close_months
from analysis.outcomes.quality import Given, RuleFigures, month_figures, rule_records
from analysis.outcomes.selectors import closed_months
from analysis.outcomes.services import ADVICE
from jobs.models import Job, User
from jobs.services import record_job
from tests.payloads import job_record

FOLLOWED = Given(1, "gpus", "active_gpus", "followed", 1, 1, 0, 0, 1, 6.0, 6.0)
IGNORED = replace(FOLLOWED, status="not_followed", following_runs=0, compared_runs=0, realised_gpu_hours=None)
OPEN = replace(IGNORED, status="open", later_runs=0)


def of(people: int, each: Given) -> list[Given]:
    """The same of this many people."""
    return [replace(each, user=user) for user in range(1, people + 1)]


def test_five_people_who_followed_are_shown_and_four_are_not() -> None:
    (shown,) = month_figures(of(5, FOLLOWED))
    # Five times 6 GPU-hours, rounded to steps of 2: a fifth of the 6 of one person is 1.2.
    assert (shown.given, shown.answered, shown.followed, shown.runs, shown.compared) == (5, 5, 5, 5, 5)
    assert (shown.claimed_gpu_hours, shown.realised_gpu_hours) == (30.0, 30.0)
    (withheld,) = month_figures(of(4, FOLLOWED))
    assert withheld == RuleFigures("gpus", "active_gpus", is_withheld=True)


@pytest.mark.parametrize(
    ("more", "is_shown"),
    [
        ([IGNORED], False),  # one who did not follow would be known
        (of(4, IGNORED), False),
        (of(5, IGNORED), True),
        ([*of(5, IGNORED), replace(OPEN, user=9)], False),
        (of(5, IGNORED) + of(6, OPEN), True),
        # 26 of the 30 recommendations of the group that did not follow are one person's: 87 %.
        (of(5, IGNORED) + [replace(IGNORED, user=5)] * 25, False),
    ],
)
def test_those_who_did_not_follow_are_a_group_too_or_nothing_is_shown(more: list[Given], *, is_shown: bool) -> None:
    (figures,) = month_figures([*of(5, FOLLOWED), *more])
    assert figures.is_withheld is not is_shown


def test_hours_of_which_one_person_saved_most_are_withheld_and_the_counts_are_not() -> None:
    large = replace(FOLLOWED, user=1, claimed_gpu_hours=600.0, realised_gpu_hours=600.0)
    (figures,) = month_figures([large, *of(5, FOLLOWED)[1:]])
    assert (figures.followed, figures.claimed_gpu_hours, figures.realised_gpu_hours) == (5, None, None)


def test_months_add_up_and_withheld_ones_are_counted() -> None:
    month = month_figures(of(5, FOLLOWED))
    (record,) = rule_records([month, month_figures(of(4, FOLLOWED)), month])
    assert (record.sums.given, record.withheld_months, record.sums.claimed_gpu_hours) == (10, 1, 60.0)
    assert (record.followed_fraction, record.realised_fraction, record.poor) == (1.0, 1.0, ())
    (nothing,) = rule_records([month_figures(of(4, FOLLOWED))])
    assert (nothing.sums.is_withheld, nothing.followed_fraction, nothing.realised_fraction) == (True, None, None)


def figures(**changes: object) -> RuleFigures:
    good = {"given": 40, "answered": 40, "followed": 20, "runs": 20, "other_runs": 20, "compared": 20}
    return RuleFigures(**({"kind": "gpus", "basis": "overscaling"} | good | changes))


@pytest.mark.parametrize(
    ("changes", "poor"),
    [
        ({"claimed_gpu_hours": 100.0, "realised_gpu_hours": 50.0}, ()),
        ({"claimed_gpu_hours": 100.0, "realised_gpu_hours": 49.0}, ("little_realised",)),
        ({"claimed_gpu_hours": 100.0, "realised_gpu_hours": -3.0}, ("little_realised",)),
        ({"claimed_gpu_hours": 100.0, "realised_gpu_hours": 49.0, "compared": 9}, ()),
        # At 1 in 100 one failure of 20 has a chance of 1 - 0.99^20 = 18 %, two of 1.7 %.
        ({"failed": 1}, ()),
        ({"failed": 2}, ("many_failures",)),
        # A fifth of the other runs fails as well: 6 of 20 has a chance of 20 %, 8 of 3 %.
        ({"failed": 6, "other_failed": 4}, ()),
        ({"failed": 8, "other_failed": 4}, ("many_failures",)),
        ({"failed": 3, "runs": 9}, ()),
    ],
)
def test_a_poor_record_is_little_saved_or_more_failures_than_chance(changes: dict, poor: tuple[str, ...]) -> None:
    (record,) = rule_records([[figures(**changes)]])
    assert record.poor == poor


def test_poor_rules_come_first() -> None:
    poor = figures(basis="smaller_gpu", followed=11, failed=9)
    assert [row.sums.basis for row in rule_records([[figures(), poor]])] == ["smaller_gpu", "overscaling"]


NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)


@pytest.fixture
def october(db) -> None:
    """Five people followed advice of October."""
    for number in range(5):
        record_job(job_record(job_id=number + 1, user_id=f"reader{number}"))
        job = Job.objects.get(job_id=number + 1)
        AdviceOutcome.objects.create(
            job=job,
            user=User.objects.get(username=f"reader{number}"),
            project=job.project,
            work_key=job.work_key,
            given_at=datetime(2026, 10, 20, tzinfo=UTC),
            **{name: getattr(FOLLOWED, name) for name in FOLLOWED.__dataclass_fields__ if name != "user"},
        )


def test_a_month_is_added_up_once_a_month_after_its_end_and_stays(october) -> None:
    assert close_months(ADVICE, datetime(2026, 11, 30, tzinfo=UTC)) == 0, "31 days after the end are not over"
    assert close_months(ADVICE, NOW) == 1
    (found,) = closed_months()
    assert (found[0], found[1][0].followed) == (date(2026, 10, 1), 5)
    AdviceOutcome.objects.all().delete()
    assert close_months(ADVICE, NOW) == 0
    assert closed_months()[0][1][0].followed == 5


def test_a_month_waits_until_the_works_of_an_update_were_looked_at(october) -> None:
    user = User.objects.first()
    AdviceDue.objects.create(user=user, work_key="x", noted_at=NOW - timedelta(hours=2))
    assert close_months(ADVICE, NOW) == 0
    AdviceDue.objects.update(noted_at=NOW)
    assert close_months(ADVICE, NOW) == 1


def test_the_command_closes_months_of_advice(october) -> None:
    printed = StringIO()
    call_command("close_months", stdout=printed)
    assert "Monthly figures of the advice: " in printed.getvalue()
    assert ClosedMonth.objects.filter(kind="advice").count() <= 1
