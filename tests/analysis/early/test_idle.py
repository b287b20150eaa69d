"""Words about GPUs without work: when they are due, when not, and the numbers that they state."""

from __future__ import annotations

import pytest

from analysis.early.findings import EarlyCode
from tests.analysis.early.running import HOUR_S, minutes, running, word, words

QUIET, COMPUTES = 0.2, 40.0
"""Busy cores: nothing runs but a shell; most of the 56 cores compute."""


def test_a_program_that_has_ended_leaves_half_an_hour() -> None:
    # It gave its GPU memory back: 0.1 GB are left.
    ended = [30.0] * 60 + [0.1] * 30
    facts = running(*[minutes((60, 90.0), (30, 0.0))] * 8, busy_cores=QUIET, mem_gb=ended)
    found = word(facts, EarlyCode.ALL_GPUS_IDLE)
    # 60 minutes of work, then 30 minutes without: since 3600 s, for 5400 - 3600 = 1800 s.
    assert (found.evidence["since_s"], found.evidence["idle_s"], found.evidence["gpus"]) == (3600.0, 1800.0, 8)
    assert (found.evidence["worked_before"], found.is_fact, found.confidence) == (1, True, 1.0)
    assert words(running(*[minutes((60, 90.0), (29, 0.0))] * 8, busy_cores=QUIET, mem_gb=ended[:-1])) == []


@pytest.mark.parametrize(
    ("busy_cores", "minute_count"), [(QUIET, 60), (0.5, 60), (5.5, 60), (5.7, 120), (COMPUTES, 120)]
)
def test_gpus_that_worked_have_as_long_as_what_is_left_may_take(busy_cores: float, minute_count: int) -> None:
    def idle_for(count: int) -> list[str]:
        return words(running(*[minutes((60, 90.0), (count, 0.0))] * 8, busy_cores=busy_cores))

    # GPU memory is held, so that something may go on: an hour; two where a tenth of 56 cores, 5.6, compute.
    assert (idle_for(minute_count - 1), idle_for(minute_count)) == ([], ["all_gpus_idle"])


def test_a_word_about_idle_gpus_holds_until_they_work() -> None:
    courses = [minutes((60, 90.0), (40, 0.0))] * 8
    assert words(running(*courses, busy_cores=QUIET)) == []
    assert words(running(*courses, busy_cores=COMPUTES, held=["all_gpus_idle"])) == ["all_gpus_idle"]
    # With less than half an hour left too; not once the GPUs work.
    assert words(running(*courses, limit_s=101 * 60.0, held=["all_gpus_idle"])) == ["all_gpus_idle"]
    assert words(running(*[minutes((60, 90.0), (39, 0.0), (1, 50.0))] * 8, held=["all_gpus_idle"])) == []


def test_the_word_that_holds_is_not_replaced_by_the_other_of_the_same_state() -> None:
    courses = [minutes((130, 0.0))] * 8
    assert words(running(*courses, busy_cores=COMPUTES, held=["all_gpus_idle"])) == ["all_gpus_idle"]
    # 5 of 56 cores are less than a tenth, and more than 0.07 of them.
    assert words(running(*courses, busy_cores=5.0)) == ["all_gpus_idle"]
    assert words(running(*courses, busy_cores=5.0, held=["cpu_only"])) == ["cpu_only"]


def test_one_gpu_at_work_is_enough_to_say_nothing_of_all() -> None:
    courses = [minutes((60, 90.0), (60, 0.0))] * 7 + [minutes((120, 50.0))]
    assert words(running(*courses, busy_cores=QUIET)) == []


@pytest.mark.parametrize(
    ("busy_cores", "minute_count", "said"),
    [
        (QUIET, 59, []),
        (QUIET, 60, ["all_gpus_idle"]),
        (COMPUTES, 179, []),
        (COMPUTES, 180, ["cpu_only"]),
        (8.0, 179, []),
        (8.0, 180, ["cpu_only"]),
        (1.0, 119, []),
        (1.0, 120, ["all_gpus_idle"]),
    ],
)
def test_gpus_that_never_worked_have_as_long_as_what_the_host_does_may_take(
    busy_cores: float, minute_count: int, said: list[str]
) -> None:
    # Quiet: an hour. 40 and 8 of 56 cores are a tenth and more: three hours. 1 core is less: two.
    assert words(running(*[minutes((minute_count, 0.0))] * 8, busy_cores=busy_cores)) == said


def test_a_host_that_was_not_measured_leaves_an_hour() -> None:
    def idle_for(count: int) -> list[str]:
        unknown = {"busy_cores_avg": None}
        return words(running(*[minutes((count, 0.0))] * 8, busy_cores=float("nan"), cpu=unknown))

    assert (idle_for(59), idle_for(60)) == ([], ["all_gpus_idle"])


def test_a_program_on_the_cpu_is_stated_with_its_cores() -> None:
    found = word(running(*[minutes((190, 0.0))] * 8, busy_cores=COMPUTES), EarlyCode.CPU_ONLY)
    assert (found.evidence["busy_cores"], found.evidence["cores_allocated"]) == (40.0, 56)
    assert (found.evidence["idle_s"], found.evidence["worked_before"]) == (11400.0, 0)


@pytest.mark.parametrize(("busy_cores", "code"), [(5.7, "cpu_only"), (5.5, "all_gpus_idle")])
def test_a_tenth_of_the_cores_is_where_the_host_computes(busy_cores: float, code: str) -> None:
    # 56 cores: a tenth of them are 5.6.
    assert words(running(*[minutes((180, 0.0))] * 8, busy_cores=busy_cores)) == [code]


def test_a_pause_as_long_as_those_before_is_usual() -> None:
    rounds = [(30, 90.0), (40, 0.0), (30, 90.0)]
    # The longest pause between work was 40 minutes: twice that must pass.
    assert words(running(*[minutes(*rounds, (79, 0.0))] * 8, busy_cores=QUIET)) == []
    assert words(running(*[minutes(*rounds, (80, 0.0))] * 8, busy_cores=QUIET)) == ["all_gpus_idle"]


def test_a_single_reading_of_use_is_no_work() -> None:
    # One minute at 10 percent are 6 busy seconds, at 20 percent 12: from 10 on it counts as work.
    def read(percent: float) -> list[str]:
        return words(running(*[minutes((40, 0.0), (1, percent), (39, 0.0))] * 8, busy_cores=QUIET))

    assert (read(10.0), read(20.0)) == (["all_gpus_idle"], [])


@pytest.mark.parametrize("job_name", ["sys/dashboard/sys/jupyter", "bash", "jupyter-notebook", "interactive"])
def test_a_session_may_be_idle_for_hours(job_name: str) -> None:
    def session(parts: int) -> list[str]:
        course = minutes((6, 60.0), (parts, 0.0))
        return words(running(course, course, job_name=job_name, busy_cores=0.1, step_s=600.0))

    # Parts of ten minutes: 4 hours are 24 of them.
    assert (session(23), session(24)) == ([], ["all_gpus_idle"])


def test_a_session_that_computes_on_the_cpu_is_no_program_without_gpus() -> None:
    course = minutes((30, 0.0))
    assert words(running(course, course, job_name="jupyter-lab", busy_cores=COMPUTES, step_s=600.0)) == [
        "all_gpus_idle"
    ]


def test_shortly_before_the_time_limit_nothing_can_be_changed_any_more() -> None:
    idle = [minutes((60, 90.0), (60, 0.0))] * 8
    # 120 minutes have passed: of 150 minutes 30 are left, of 149 only 29.
    assert words(running(*idle, busy_cores=QUIET, limit_s=150 * 60.0)) == ["all_gpus_idle"]
    assert words(running(*idle, busy_cores=QUIET, limit_s=149 * 60.0)) == []


def test_a_node_that_fell_silent_decides_nothing() -> None:
    idle = [minutes((70, 0.0))] * 8
    assert words(running(*idle, busy_cores=QUIET, ran_s=4200.0 + 1.5 * HOUR_S)) == ["all_gpus_idle"]
    assert words(running(*idle, busy_cores=QUIET, ran_s=4201.0 + 1.5 * HOUR_S)) == []


def test_a_node_that_sent_nothing_leaves_open_what_all_gpus_do() -> None:
    idle = [minutes((70, 0.0))] * 8
    assert words(running(*idle, busy_cores=QUIET, node_count=2)) == []
    assert words(running(*idle, busy_cores=QUIET, gpus_allocated=16)) == []


def test_time_that_was_not_measured_is_not_idle_time() -> None:
    # 15 of the last 75 minutes are missing: 60 are just four fifths. 40 of 75 are too few.
    assert words(running(*[minutes((20, 90.0), (60, 0.0), (15, None))] * 8, busy_cores=QUIET)) == ["all_gpus_idle"]
    assert words(running(*[minutes((20, 90.0), (40, 0.0), (35, None))] * 8, busy_cores=QUIET)) == []


def test_gpus_that_were_never_used_beside_others_at_work() -> None:
    facts = running(*[minutes((130, 90.0))] * 2, *[minutes((130, 0.0))] * 6)
    assert words(facts) == ["some_gpus_unused"]
    found = word(facts, EarlyCode.SOME_GPUS_UNUSED)
    assert (found.evidence["unused_gpus"], found.evidence["working_gpus"], found.evidence["gpus"]) == (6, 2, 8)
    assert (found.evidence["gpu_list"], found.evidence["idle_s"]) == ("nid005123: 2-7", 7800.0)


@pytest.mark.parametrize(("minute_count", "said"), [(119, []), (120, ["some_gpus_unused"])])
def test_unused_gpus_are_named_after_two_hours(minute_count: int, said: list[str]) -> None:
    assert words(running(minutes((minute_count, 90.0)), minutes((minute_count, 0.0)))) == said


@pytest.mark.parametrize(("start_minutes", "said"), [(90, ["some_gpus_unused"]), (91, [])])
def test_gpus_that_start_one_after_the_other_have_half_an_hour(start_minutes: int, said: list[str]) -> None:
    # In the last half hour of two the others must have worked all the time.
    first = minutes((start_minutes, 0.0), (120 - start_minutes, 90.0))
    assert words(running(first, minutes((120, 0.0)))) == said


def test_gpus_that_worked_once_are_not_unused() -> None:
    assert words(running(minutes((180, 90.0)), minutes((20, 90.0), (160, 0.0)))) == []


def test_gpus_that_the_site_added_are_not_the_users_choice() -> None:
    courses = [minutes((130, 90.0))] * 4 + [minutes((130, 0.0))] * 4
    assert words(running(*courses, partition="standard-g", gpus_requested=4)) == []
    assert words(running(*courses, partition="standard-g", gpus_requested=8)) == ["some_gpus_unused"]


def test_a_job_that_is_not_running_gets_no_word() -> None:
    assert words(running(*[minutes((70, 0.0))] * 8, busy_cores=QUIET, state="SUSPENDED")) == []
