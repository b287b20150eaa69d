"""Runs cut at a moment: what a collector would have sent by then, what came after, and the words that were true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from cases.early.activity import activity
from cases.early.courses import course_of_case, course_of_real_run
from cases.early.cutting import Course, Cut, Host, cuts, schedule
from cases.early.library import own_situations
from cases.early.pairs import situation_pairs
from cases.early.truth import CODES, Words, is_session, truth
from cases.library import LIBRARY
from cases.readings import Node
from cases.real_runs import real_runs
from metrics.payloads import NodePayload, problems

HOUR_S = 3600.0
RECORD = {
    "cluster": "lumi",
    "job_id": 7,
    "attempt": 0,
    "nodes": ["nid005200"],
    "started_at": "2026-11-20T08:00:00Z",
}


def course(util: Sequence[float], step_s: float = 60.0, power_w: Sequence[float] = (), **fields: Any) -> Course:
    """A run of one node whose two GPUs have the same use, a value a step, and half of their memory."""
    columns = np.repeat(np.array(util, dtype=float)[:, None], 2, axis=1)
    watts = np.array(power_w, dtype=float)[:, None] if power_w else None
    node = Node(columns, np.full(columns.shape, 32.0), watts, gpu_ids=(0, 1), step_s=step_s)
    wanted: dict[str, Any] = {"name": "a", "job_name": "train", "hosts": (None,), "state": "COMPLETED"} | fields
    return Course(record=RECORD, nodes=(node,), elapsed_s=len(util) * step_s, **wanted)


def at(run: Course, *seconds: float) -> list[Cut]:
    return list(cuts(run, seconds))


def checked(payload: dict[str, Any]) -> NodePayload:
    decoded = msgspec.json.decode(msgspec.json.encode(payload), type=NodePayload, strict=False)
    assert problems(decoded) == []
    return decoded


def words(run: Course, at_s: float) -> Words:
    return truth(at(run, at_s)[0], activity(run))


def test_the_schedule_is_ten_minutes_and_each_hour_after_that_while_the_run_lasts() -> None:
    assert schedule(7801) == (600, 4200, 7800)
    assert schedule(7800) == (600, 4200)
    assert schedule(600) == ()


def test_a_payload_knows_nothing_of_what_comes_after_its_cut() -> None:
    """20 minutes at 80 %, then 40 idle ones. At 1800 s: 20 of 30 minutes at 80 % are 53.333 %, 600 s idle."""
    cut = at(course([80] * 20 + [0] * 40), 1800)[0]
    gpu = checked(cut.payloads[0]).gpus[0]
    assert (gpu.avg_util, gpu.idle_s, gpu.active_s, gpu.measured_s) == (53.333, 600, 1200, 1800)
    assert cut.payloads[0]["ended_at"] == "2026-11-20T08:30:00Z"
    assert (cut.payloads[0]["final"], cut.payloads[0]["sequence"]) == (False, 1)


def test_what_comes_after_the_cut_is_told_for_each_gpu() -> None:
    """20 minutes at 80 %, 10 idle, 30 at 40 %. From 900 s on: 5 x 80 + 10 x 0 + 30 x 40 = 1600 over 45 minutes."""
    after = at(course([80] * 20 + [0] * 10 + [40] * 30), 900)[0].after
    assert after.util_mean["nid005200", 0] == pytest.approx(1600 / 45)
    assert (after.left_s, after.state) == (2700, "COMPLETED")


def test_recent_power_covers_only_the_time_since_the_payload_before() -> None:
    """400 W in the first ten minutes, 100 W after them: at 1800 s (10 x 400 + 20 x 100) / 30 = 200 W, recently 100."""
    first, second = at(course([90] * 60, power_w=[400] * 10 + [100] * 50), 600, 1800)
    assert (first.payloads[0]["recent_s"], second.payloads[0]["recent_s"]) == (600, 1200)
    assert first.payloads[0]["gpus"][0]["recent_power_avg_w"] == 400
    even, odd = second.payloads[0]["gpus"]
    assert (even["power_avg_w"], even["recent_power_avg_w"]) == (200, 100)
    assert "recent_power_avg_w" not in odd
    assert second.payloads[0]["sequence"] == 2


def test_host_memory_is_a_timeline_of_at_most_60_points_whose_step_doubles() -> None:
    """90 minutes need buckets of two minutes: 45 points. Minute i holds i GB; the first bucket is (0 + 1) / 2 GB."""
    host = Host(np.array([1.0] * 60 + [4.0] * 120), np.arange(180.0), cores=7, limit_gb=60)
    cut = at(course([50] * 180, hosts=(host,)), 3600, 5400)[1]
    cpu = cut.payloads[0]["cpu"]
    assert (cpu["memory_timeline"]["step_s"], len(cpu["memory_timeline"]["gb"])) == (120, 45)
    assert cpu["memory_timeline"]["gb"][:2] == [0.5, 2.5]
    assert (cpu["peak_memory_anon_gb"], cpu["peak_memory_gb"]) == (89, 60)
    assert (cpu["busy_cores_avg"], cpu["recent_busy_cores"]) == (2, 4)


def test_memory_that_was_not_read_is_null() -> None:
    host = Host(np.ones(60), np.array([1.0, np.nan, 3.0] + [4.0] * 57))
    assert at(course([50] * 60, hosts=(host,)), 600)[0].payloads[0]["cpu"]["memory_timeline"]["gb"][:3] == [1, None, 3]


def test_a_run_that_has_ended_gives_nothing() -> None:
    assert [cut.at_s for cut in at(course([50] * 30), 600, 1800, 3600)] == [600]


def test_a_silent_node_sends_no_more_and_its_last_payload_stands() -> None:
    run = course([90] * 20)
    first, second = at(Course(**{**run.__dict__, "elapsed_s": 2 * HOUR_S}), 600, 3600)
    assert (first.silent, second.silent) == ((), ("nid005200",))
    assert second.payloads == ()
    assert [payload["sequence"] for payload in second.standing] == [1]


def test_gpus_that_stay_idle_to_the_end_are_due_and_a_pause_is_not() -> None:
    """Half an hour of work, then idle. At 4200 s idle for 40 minutes: due if it lasts four hours, noise if the work
    returns at two hours, 50 minutes later, and only right if it returns at three hours."""
    idle = words(course([90] * 30 + [0] * 240), 4200)
    assert idle.must == {"all_gpus_idle"}
    assert words(course([90] * 30 + [0] * 90 + [90] * 120), 4200) == Words()
    assert words(course([90] * 30 + [0] * 150 + [90] * 120), 4200) == Words(may=frozenset({"all_gpus_idle"}))
    assert words(course([90] * 30 + [0] * 240), 3000) == Words()


def test_a_session_over_lunch_is_left_alone_and_one_over_night_is_not() -> None:
    """Work for ten minutes, then nothing for ten hours: idle for 1 h at 4200 s, for 5 h at 18600 s."""
    notebook = course([90] * 10 + [0] * 600, job_name="sys/dashboard/sys/ood-jupyter")
    assert words(notebook, 4200) == Words()
    assert words(notebook, 18600).must == {"all_gpus_idle"}


def test_a_busy_host_makes_it_a_run_on_the_cpu_alone() -> None:
    """No GPU is ever used. Seven busy cores: `cpu_only` is due, idle GPUs are true beside it. No busy core: idle."""
    busy, quiet = (Host(np.full(300, cores), None) for cores in (7.0, 0.05))
    assert words(course([0] * 300, hosts=(busy,)), 4200) == Words(frozenset({"cpu_only"}), frozenset({"all_gpus_idle"}))
    assert words(course([0] * 300, hosts=(quiet,)), 4200) == Words(frozenset({"all_gpus_idle"}))
    assert words(course([0] * 300, hosts=(busy,)), 600) == Words(may=frozenset({"cpu_only"}))


def test_memory_is_due_when_its_growth_was_to_be_seen_and_not_when_it_stays_below_the_limit() -> None:
    """60 GB, reached at 5 h in a line: 12 GB an hour. At 2 h it holds 24 GB, 40 %, and grew by 20 % in an hour; at
    1 h it holds 12 GB, 20 %: right, but too early to expect. A line to 48 GB, 80 %, is noise."""
    full, most = (Host(np.ones(300), np.linspace(0, gb, 300), limit_gb=60) for gb in (60, 48))
    assert words(course([90] * 300, hosts=(full,)), 7200).must == {"host_memory_filling"}
    assert words(course([90] * 300, hosts=(full,)), 3600) == Words(may=frozenset({"host_memory_filling"}))
    assert words(course([90] * 300, hosts=(most,)), 7200) == Words()


def test_a_gpu_that_works_within_the_hour_was_not_unused() -> None:
    """GPU 1 of two starts at 80 minutes: noise at half an hour. If it never starts, the word is due."""
    late, never = course([90] * 240), course([90] * 240)
    late.nodes[0].util[:80, 1] = 0
    never.nodes[0].util[:, 1] = 0
    assert words(late, 1800) == Words()
    assert words(never, 1800).must == {"some_gpus_unused"}


def test_the_known_hang_of_the_library_is_due_and_a_healthy_case_is_not() -> None:
    """`deadlock_in_a_collective` works for under an hour and spins to its limit of six hours."""
    index = next(number for number, case in enumerate(LIBRARY) if case.name == "deadlock_in_a_collective")
    hang = course_of_case(LIBRARY[index], index, seed=0)
    assert words(hang, 1800).must == frozenset()
    assert words(hang, 7800).must == {"spinning"}


def test_a_case_gives_payloads_that_are_accepted() -> None:
    """Every 40th case of the library, each node of each cut."""
    for index in range(0, len(LIBRARY), 40):
        for cut in at(course_of_case(LIBRARY[index], index, seed=1), 600, 4200):
            for payload in cut.payloads:
                checked(payload)


def test_real_runs_are_cut_from_their_timelines() -> None:
    """wb-d/1104 trains on the CPU for 6736 s with an idle GPU: at 3600 s its 120 buckets of 30 s are idle."""
    run = next(run for run in real_runs() if run.name == "wb-d/1104")
    whole = course_of_real_run(run)
    assert whole is not None
    gpu = checked(at(whole, 3600)[0].payloads[0]).gpus[0]
    assert (gpu.measured_s, gpu.power_avg_w) == (3600, None)
    assert words(whole, 3600).must == {"all_gpus_idle"}


def test_names_of_sessions() -> None:
    assert all(map(is_session, ("interactive", "bash", "sys/dashboard/sys/ood-jupyter", "jupyter-lab", "my_notebook")))
    assert not any(map(is_session, ("train", "crash_test", "bashful", "wood")))


def test_every_situation_has_a_name_of_its_own_and_all_of_its_cuts_and_sends_accepted_payloads() -> None:
    assert len({situation.name for situation in own_situations()}) == len(own_situations()) >= 90
    pairs = list(situation_pairs())
    assert len(pairs) == sum(len(situation.expected) for situation in own_situations())
    for pair in pairs:
        for payload in pair.cut.payloads:
            checked(payload)


def test_each_word_is_due_in_at_least_six_situations() -> None:
    for code in CODES:
        due = [one.name for one in own_situations() if any(code in words.must for words in one.expected.values())]
        assert len(due) >= 6, code
