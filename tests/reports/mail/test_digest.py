"""Who is told what and when: every time below is counted by hand from NOON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.efficiency import EfficiencyClass
from reports.mail.digest import Choices, Frequency, Message, Past, Plan, Silence, Waiting, Withheld, is_better, plan

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EFFICIENT, ACCEPTABLE, INEFFICIENT, WASTED, UNKNOWN = EfficiencyClass
ARRAY = ("lumi", 4711)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def waiting(pk: int = 1, at: datetime = NOON, **changes: Any) -> Waiting:
    """A WASTED job of project 7 that ended and was reported at the same moment."""
    given = {
        "report_pk": pk,
        "project_pk": 7,
        "efficiency_class": WASTED,
        "uncounted_reason": "",
        "allocated_gpus": 8,
        "array": None,
        "ended_at": at,
        "reported_at": at,
    }
    return Waiting(**given | changes)


def daily(*pks: int) -> Plan:
    return Plan(messages=(Message(Frequency.DAILY, pks),))


def kept_back(reason: Silence, *pks: int) -> Plan:
    return Plan(withheld=(Withheld(reason, pks),))


NOTHING = Plan()
CALM = Choices()
IMMEDIATE = Choices(Frequency.IMMEDIATE)
WEEKLY = Choices(Frequency.WEEKLY)


@pytest.mark.parametrize(("waited", "expected"), [(minutes(14.9), NOTHING), (minutes(15), daily(1))])
def test_one_job_is_one_message_after_a_quarter_of_an_hour(waited: timedelta, expected: Plan) -> None:
    assert plan([waiting()], CALM, Past(), NOON + waited) == expected


def test_several_jobs_of_the_window_share_one_message_in_the_order_they_ended() -> None:
    several = [waiting(3, NOON + minutes(14)), waiting(1), waiting(2, NOON + minutes(5))]
    assert plan(several, CALM, Past(), NOON + minutes(15)) == daily(1, 2, 3)


@pytest.mark.parametrize(("hours", "expected"), [(23.99, NOTHING), (24, daily(1))])
def test_nobody_gets_two_messages_in_a_day(hours: float, expected: Plan) -> None:
    past = Past(last_message_at=NOON - timedelta(hours=hours) + minutes(15))
    assert plan([waiting()], CALM, past, NOON + minutes(15)) == expected


def test_while_a_message_waits_for_the_mail_server_no_other_is_made() -> None:
    assert plan([waiting()], CALM, Past(has_open_message=True), NOON + minutes(15)) == NOTHING


def test_who_wants_it_at_once_gets_each_job_by_itself() -> None:
    told = plan([waiting(1), waiting(2)], IMMEDIATE, Past(last_message_at=NOON, has_open_message=True), NOON)
    assert told.messages == (Message(Frequency.IMMEDIATE, (1,)), Message(Frequency.IMMEDIATE, (2,)))


@pytest.mark.parametrize(("days", "is_due"), [(6.99, False), (7, True)])
def test_who_wants_it_weekly_waits_a_week_from_the_first_job(days: float, is_due: bool) -> None:
    two = [waiting(1), waiting(2, NOON + timedelta(days=6))]
    told = plan(two, WEEKLY, Past(), NOON + timedelta(days=days))
    assert told == (Plan(messages=(Message(Frequency.WEEKLY, (1, 2)),)) if is_due else NOTHING)


def test_who_wants_nothing_gets_nothing_and_the_outbox_says_so() -> None:
    assert plan([waiting()], Choices(Frequency.OFF), Past(), NOON) == kept_back(Silence.OFF, 1)


def test_a_project_can_have_a_frequency_of_its_own() -> None:
    choices = Choices(projects={8: Frequency.OFF, 9: Frequency.IMMEDIATE})
    told = plan([waiting(1), waiting(2, project_pk=8), waiting(3, project_pk=9)], choices, Past(), NOON)
    assert told == Plan((Message(Frequency.IMMEDIATE, (3,)),), (Withheld(Silence.OFF, (2,)),))


def test_weekly_and_daily_mail_that_fall_together_are_one_message() -> None:
    choices = Choices(projects={8: Frequency.WEEKLY})
    now = NOON + timedelta(days=7)
    both = [waiting(1, project_pk=8), waiting(2, now - minutes(20))]
    assert plan(both, choices, Past(), now) == daily(1, 2)


def test_an_array_is_one_message_once_it_has_been_quiet_for_an_hour() -> None:
    tasks = [waiting(pk, NOON + minutes(pk), array=ARRAY) for pk in range(3)]
    # The last task was reported at 12:02, so the array is quiet at 13:02.
    assert plan(tasks, IMMEDIATE, Past(), NOON + minutes(61)) == NOTHING
    told = plan(tasks, IMMEDIATE, Past(), NOON + minutes(62))
    assert told.messages == (Message(Frequency.IMMEDIATE, (0, 1, 2)),)


def test_an_array_that_never_rests_is_told_after_a_day_and_then_once_a_day() -> None:
    now = NOON + timedelta(days=1)
    tasks = [waiting(1, array=ARRAY), waiting(2, now - minutes(1), array=ARRAY)]
    assert plan(tasks, IMMEDIATE, Past(), now).messages == (Message(Frequency.IMMEDIATE, (1, 2)),)
    told_before = Past(arrays_told_at={ARRAY: now - timedelta(hours=23)})
    assert plan(tasks, IMMEDIATE, told_before, now) == NOTHING


def crash(pk: int, hour: float) -> Waiting:
    return waiting(pk, NOON + timedelta(hours=hour), series=("lumi", "key of train"))


def test_crashes_of_one_work_are_one_message_once_they_have_stopped_for_an_hour() -> None:
    # The first follow each other within six hours; the fourth comes seven hours after the third.
    runs = [crash(1, 0), crash(2, 1), crash(3, 7)]
    assert plan(runs, IMMEDIATE, Past(), NOON + timedelta(hours=7.9)) == NOTHING
    told = plan(runs, IMMEDIATE, Past(), NOON + timedelta(hours=8))
    assert told.messages == (Message(Frequency.IMMEDIATE, (1, 2, 3)),)
    later = plan([*runs, crash(4, 14)], IMMEDIATE, Past(), NOON + timedelta(hours=15))
    assert later.messages == (Message(Frequency.IMMEDIATE, (1, 2, 3)), Message(Frequency.IMMEDIATE, (4,)))


def test_one_crash_and_crashes_of_different_works_are_told_at_once_and_apart() -> None:
    other = waiting(2, series=("lumi", "key of evaluate"))
    told = plan([crash(1, 0), other], IMMEDIATE, Past(), NOON)
    assert told.messages == (Message(Frequency.IMMEDIATE, (1,)), Message(Frequency.IMMEDIATE, (2,)))


def test_a_running_array_does_not_hold_back_the_job_beside_it() -> None:
    mixed = [waiting(1), waiting(2, NOON + minutes(10), array=ARRAY)]
    assert plan(mixed, CALM, Past(), NOON + minutes(15)) == daily(1)


@pytest.mark.parametrize(
    "changes",
    [{"uncounted_reason": "short"}, {"uncounted_reason": "system_failure"}, {"efficiency_class": UNKNOWN}],
    ids=["short", "exonerated", "unmeasured"],
)
def test_a_short_an_exonerated_or_an_unmeasured_job_is_never_a_message_alone(changes: dict[str, Any]) -> None:
    odd = waiting(2, **changes)
    assert plan([odd], CALM, Past(), NOON + timedelta(days=6.9)) == NOTHING
    assert plan([odd], CALM, Past(), NOON + timedelta(days=7)) == kept_back(Silence.NOTHING_TO_TELL, 2)
    assert plan([odd], IMMEDIATE, Past(), NOON) == kept_back(Silence.NOTHING_TO_TELL, 2)
    # Beside a job that is told it may be named.
    assert plan([odd, waiting(1)], CALM, Past(), NOON + minutes(15)) == daily(1, 2)


@pytest.mark.parametrize(
    ("minimum", "heard"),
    [
        (EFFICIENT, {EFFICIENT, ACCEPTABLE, INEFFICIENT, WASTED}),
        (ACCEPTABLE, {ACCEPTABLE, INEFFICIENT, WASTED}),
        (INEFFICIENT, {INEFFICIENT, WASTED}),
        (WASTED, {WASTED}),
    ],
)
def test_people_hear_of_the_classes_they_chose(minimum: EfficiencyClass, heard: set[EfficiencyClass]) -> None:
    choices = Choices(Frequency.IMMEDIATE, minimum)
    jobs = [waiting(pk, efficiency_class=name) for pk, name in enumerate(EfficiencyClass) if name != UNKNOWN]
    told = {list(EfficiencyClass)[message.report_pks[0]] for message in plan(jobs, choices, Past(), NOON).messages}
    assert told == heard


def test_an_improvement_of_work_that_was_told_is_told_as_well() -> None:
    choices = Choices(Frequency.IMMEDIATE, INEFFICIENT)
    better = waiting(1, efficiency_class=EFFICIENT, earlier_class=WASTED)
    from_acceptable = waiting(2, efficiency_class=EFFICIENT, earlier_class=ACCEPTABLE)
    told = plan([better, from_acceptable], choices, Past(), NOON)
    assert told == Plan((Message(Frequency.IMMEDIATE, (1,)),), (Withheld(Silence.ABOVE_MINIMUM, (2,)),))


def test_neither_the_same_class_nor_an_unmeasured_run_is_an_improvement() -> None:
    assert is_better(ACCEPTABLE, INEFFICIENT)
    assert not is_better(INEFFICIENT, INEFFICIENT)
    assert not is_better(WASTED, EFFICIENT)
    assert not is_better(UNKNOWN, WASTED)
    assert not is_better(EFFICIENT, UNKNOWN)


def test_a_job_without_gpus_and_one_that_ended_long_before_its_report_are_not_mailed() -> None:
    assert plan([waiting(allocated_gpus=0)], CALM, Past(), NOON) == kept_back(Silence.NO_GPU, 1)
    late = waiting(ended_at=NOON - timedelta(days=14, seconds=1))
    assert plan([late], CALM, Past(), NOON) == kept_back(Silence.OLD, 1)


jobs = st.builds(
    waiting,
    pk=st.integers(1, 10**6),
    at=st.integers(0, 20_000).map(lambda passed: NOON - minutes(passed)),
    project_pk=st.sampled_from([7, 8, 9]),
    efficiency_class=st.sampled_from(EfficiencyClass),
    uncounted_reason=st.sampled_from(["", "short"]),
    array=st.sampled_from([None, ARRAY]),
)


@given(
    st.lists(jobs, max_size=12, unique_by=lambda item: item.report_pk),
    st.sampled_from(Frequency),
    st.dictionaries(st.sampled_from([7, 8, 9]), st.sampled_from(Frequency)),
    st.sampled_from(EfficiencyClass).filter(lambda name: name != UNKNOWN),
)
def test_no_report_is_told_twice_and_never_one_that_nobody_wants(items, frequency, projects, minimum) -> None:
    choices = Choices(frequency, minimum, projects=projects)
    made = plan(items, choices, Past(), NOON)
    named = [pk for part in (*made.messages, *made.withheld) for pk in part.report_pks]
    assert len(named) == len(set(named))
    by_pk = {item.report_pk: item for item in items}
    for message in made.messages:
        members = [by_pk[pk] for pk in message.report_pks]
        assert any(item.is_telling for item in members)
        assert all(choices.frequency_of(item.project_pk) is not Frequency.OFF for item in members)
    assert sum(message.frequency is not Frequency.IMMEDIATE for message in made.messages) <= 1
