"""Words about GPUs without work: when they are due, when not, and the numbers that they state."""

from __future__ import annotations

import pytest

from analysis.early.findings import EarlyCode
from tests.analysis.early.running import HOUR_S, minutes, running, word, words


def test_gpus_that_worked_and_have_been_idle_for_half_an_hour_are_worth_a_word() -> None:
    facts = running(*[minutes((60, 90.0), (30, 0.0))] * 8, busy_cores=2.0)
    found = word(facts, EarlyCode.ALL_GPUS_IDLE)
    # 60 minutes of work, then 30 minutes without: since 3600 s, for 5400 - 3600 = 1800 s.
    assert (found.evidence["since_s"], found.evidence["idle_s"], found.evidence["gpus"]) == (3600.0, 1800.0, 8)
    assert (found.evidence["worked_before"], found.is_fact, found.confidence) == (1, True, 1.0)


def test_one_minute_less_than_half_an_hour_is_not() -> None:
    assert words(running(*[minutes((60, 90.0), (29, 0.0))] * 8, busy_cores=2.0)) == []


def test_one_gpu_at_work_is_enough_to_say_nothing_of_all() -> None:
    courses = [minutes((60, 90.0), (60, 0.0))] * 7 + [minutes((120, 50.0))]
    assert words(running(*courses, busy_cores=2.0)) == []


def test_gpus_that_never_worked_beside_an_idle_host_are_idle() -> None:
    facts = running(*[minutes((40, 0.0))] * 8, busy_cores=0.2)
    assert words(facts) == ["all_gpus_idle"]
    assert word(facts, EarlyCode.ALL_GPUS_IDLE).evidence["worked_before"] == 0


def test_gpus_that_never_worked_beside_a_host_that_computes_are_a_program_on_the_cpu() -> None:
    facts = running(*[minutes((40, 0.0))] * 8, busy_cores=30.0)
    assert words(facts) == ["cpu_only"]
    found = word(facts, EarlyCode.CPU_ONLY)
    assert (found.evidence["busy_cores"], found.evidence["cores_allocated"]) == (30.0, 56)
    assert found.evidence["idle_s"] == 2400.0


@pytest.mark.parametrize(("busy_cores", "code"), [(5.7, "cpu_only"), (5.5, "all_gpus_idle")])
def test_a_tenth_of_the_cores_is_where_the_host_computes(busy_cores: float, code: str) -> None:
    # 56 cores: a tenth of them are 5.6.
    assert words(running(*[minutes((40, 0.0))] * 8, busy_cores=busy_cores)) == [code]


def test_work_that_went_on_on_the_cpu_has_an_hour() -> None:
    def idle_for(count: int) -> list[str]:
        return words(running(*[minutes((60, 90.0), (count, 0.0))] * 8, busy_cores=40.0))

    assert (idle_for(59), idle_for(60)) == ([], ["all_gpus_idle"])


def test_a_pause_as_long_as_those_before_is_usual() -> None:
    rounds = [(30, 90.0), (40, 0.0), (30, 90.0)]
    # The longest pause between work was 40 minutes: twice that must pass.
    assert words(running(*[minutes(*rounds, (79, 0.0))] * 8, busy_cores=2.0)) == []
    assert words(running(*[minutes(*rounds, (80, 0.0))] * 8, busy_cores=2.0)) == ["all_gpus_idle"]


def test_a_session_may_be_idle_for_hours() -> None:
    def session(hours: int) -> list[str]:
        course = minutes((6, 60.0), (6 * hours, 0.0))
        return words(running(course, course, job_name="sys/dashboard/sys/jupyter", busy_cores=0.1, step_s=600.0))

    assert (session(3), session(7), session(8)) == ([], [], ["all_gpus_idle"])


def test_shortly_before_the_time_limit_nothing_can_be_changed_any_more() -> None:
    idle = [minutes((60, 90.0), (40, 0.0))] * 8
    # 100 minutes have passed: of 130 minutes 30 are left, of 129 only 29.
    assert words(running(*idle, busy_cores=2.0, limit_s=130 * 60.0)) == ["all_gpus_idle"]
    assert words(running(*idle, busy_cores=2.0, limit_s=129 * 60.0)) == []


def test_a_node_that_fell_silent_decides_nothing() -> None:
    idle = [minutes((40, 0.0))] * 8
    assert words(running(*idle, busy_cores=0.2, ran_s=2400.0 + 1.5 * HOUR_S)) == ["all_gpus_idle"]
    assert words(running(*idle, busy_cores=0.2, ran_s=2401.0 + 1.5 * HOUR_S)) == []


def test_a_node_that_sent_nothing_leaves_open_what_all_gpus_do() -> None:
    idle = [minutes((40, 0.0))] * 8
    two = {"nodes": ["nid005123", "nid005124"], "node_count": 2, "gpus_requested": 16, "gpus_allocated": 16}
    assert words(running(*idle, busy_cores=0.2, **two)) == []


def test_time_that_was_not_measured_is_not_idle_time() -> None:
    # 8 of the last 40 minutes are missing: 32 of 40 are just four fifths, with the part that is not complete yet.
    assert words(running(*[minutes((20, 90.0), (32, 0.0), (8, None))] * 8, busy_cores=2.0)) == ["all_gpus_idle"]
    assert words(running(*[minutes((20, 90.0), (20, 0.0), (20, None))] * 8, busy_cores=2.0)) == []


def test_gpus_that_were_never_used_beside_others_at_work() -> None:
    facts = running(*[minutes((40, 90.0))] * 2, *[minutes((40, 0.0))] * 6)
    assert words(facts) == ["some_gpus_unused"]
    found = word(facts, EarlyCode.SOME_GPUS_UNUSED)
    assert (found.evidence["unused_gpus"], found.evidence["working_gpus"], found.evidence["gpus"]) == (6, 2, 8)
    assert (found.evidence["gpu_list"], found.evidence["idle_s"]) == ("nid005123: 2-7", 2400.0)


@pytest.mark.parametrize(("minute_count", "said"), [(29, []), (30, ["some_gpus_unused"])])
def test_unused_gpus_are_named_after_half_an_hour(minute_count: int, said: list[str]) -> None:
    assert words(running(minutes((minute_count, 90.0)), minutes((minute_count, 0.0)))) == said


def test_gpus_that_worked_once_are_not_unused() -> None:
    assert words(running(minutes((90, 90.0)), minutes((20, 90.0), (70, 0.0)))) == []


def test_gpus_that_the_site_added_are_not_the_users_choice() -> None:
    courses = [minutes((40, 90.0))] * 4 + [minutes((40, 0.0))] * 4
    assert words(running(*courses, partition="standard-g", gpus_requested=4)) == []
    assert words(running(*courses, partition="standard-g", gpus_requested=8)) == ["some_gpus_unused"]


def test_a_job_that_is_not_running_gets_no_word() -> None:
    assert words(running(*[minutes((40, 0.0))] * 8, busy_cores=0.2, state="SUSPENDED")) == []
