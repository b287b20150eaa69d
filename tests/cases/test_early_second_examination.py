"""The second examination is large, covers each code from both sides, and follows the real schedule."""

from __future__ import annotations

import pytest

from cases.early.cutting import cuts, schedule
from cases.early.library import (
    first_examination,
    healthy,
    own_situations,
    problems,
    second_examination,
    seeming,
)
from cases.early.pairs import SCHEDULED_S_MAX
from cases.early.situation import Situation
from cases.early.truth import CODES, Words

SITUATIONS_MIN, EACH_MIN = 80, 8


def _is_due(situation: Situation, code: str) -> bool:
    return any(code in words.must for words in situation.expected.values())


def _is_right(situation: Situation, code: str) -> bool:
    return any(code in words.must | words.may for words in situation.expected.values())


def test_it_is_large_and_a_third_of_it_each_is_healthy_in_trouble_or_only_looks_so() -> None:
    misleading = sum(len(several) for several in seeming().values())
    assert len(second_examination()) == len(problems()) + misleading + len(healthy()) >= SITUATIONS_MIN
    for part in (len(problems()), misleading, len(healthy())):
        assert 0.3 <= part / len(second_examination()) <= 0.37


@pytest.mark.parametrize("code", CODES)
def test_each_word_is_due_in_at_least_eight_and_only_seems_due_in_eight(code: str) -> None:
    assert sum(_is_due(one, code) for one in second_examination()) >= EACH_MIN
    assert len(seeming()[code]) >= EACH_MIN
    assert not any(_is_due(one, code) for one in seeming()[code] if code != "all_gpus_idle")


def test_no_word_is_right_for_a_healthy_job() -> None:
    assert not [one.name for one in healthy() if any(_is_right(one, code) for code in CODES)]


def test_names_are_unique_also_beside_the_other_situations() -> None:
    names = [one.name for one in (*second_examination(), *first_examination(), *own_situations())]
    assert sorted(names) == sorted(set(names))


def test_words_are_written_for_each_cut_of_the_real_schedule_of_half_a_day() -> None:
    for one in second_examination():
        assert tuple(one.expected) == tuple(at_s for at_s in schedule(one.elapsed_s) if at_s <= SCHEDULED_S_MAX)


def test_some_lack_power_or_host_and_some_nodes_fall_silent() -> None:
    without_power = [one for one in second_examination() if any(node.power_w is None for node in one.nodes)]
    without_host = [one for one in second_examination() if None in one.hosts]
    silent = [one for one in second_examination() if any(_ends_early(one, node.util.shape[0]) for node in one.nodes)]
    assert len(without_power) >= EACH_MIN
    assert len(without_host) >= EACH_MIN
    assert 3 <= len(silent) <= EACH_MIN


def _ends_early(situation: Situation, samples: int) -> bool:
    return samples * situation.nodes[0].step_s < situation.elapsed_s - 600


def test_the_same_situation_reads_the_same_each_time_it_is_cut() -> None:
    chosen = next(one for one in second_examination() if one.name == "array_task_without_its_input")
    first, second = ([cut.payloads for cut in cuts(chosen.course(), tuple(chosen.expected))] for _ in range(2))
    assert first == second
    # Five hours have cuts at 600, 4200, 7800, 11400 and 15000 s, and no word is due at the first.
    assert len(first) == 5
    assert chosen.expected[600.0] == Words(frozenset(), frozenset())
