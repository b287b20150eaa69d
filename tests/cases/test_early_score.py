"""The limits of early words hold on draws that no rule was tuned on, and the score counts what is sent once."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest

from cases.early.activity import activity
from cases.early.courses import course_of_case
from cases.early.cutting import cuts
from cases.early.library import own_situations
from cases.early.pairs import Pair, situation_pairs
from cases.early.truth import Words, truth
from cases.early_score import PRECISION_MIN, EarlyScore, halves, is_kept_back, score
from cases.library import LIBRARY

EVERY = 7
"""One case of so many is drawn, so that the test is quick; another part of them for each seed."""

SCHEDULE_S = (600.0, 4200.0, 7800.0, 11_400.0, 15_000.0)
"""When nodes send: after ten minutes, then each hour."""


def noisy_pairs(seed: int) -> list[Pair]:
    found = []
    for index, case in enumerate(LIBRARY):
        if zlib.crc32(case.name.encode()) % EVERY == seed % EVERY:
            course = course_of_case(case, index, seed)
            seen = activity(course)
            found += [Pair(cut, truth(cut, seen, "gpu_out_of_memory" in case.must)) for cut in cuts(course, SCHEDULE_S)]
    return found


def idle_pairs() -> list[Pair]:
    return list(situation_pairs(one for one in own_situations() if one.name == "idle_host_idle_gpus"))


def test_words_about_noisy_runs_of_other_seeds_are_right() -> None:
    card = score(pair for seed in (11, 12) for pair in noisy_pairs(seed))
    assert len(card.sent) >= 10
    assert card.precision >= PRECISION_MIN, [str(word) for word in card.wrong]


def test_words_about_all_situations_together_are_right() -> None:
    card = score(situation_pairs())
    assert list(card.failures("situations")) == [], [str(word) for word in card.wrong]
    both = halves(card)
    assert sum(len(half.sent) for half in both.values()) == len(card.sent)


def test_a_word_that_still_holds_is_sent_once() -> None:
    pairs = idle_pairs()
    card = score([*pairs, *pairs])
    # It holds at 4200 and 7800 s, and the run is counted twice.
    assert (len(card.said), len(card.sent)) == (4, 1)


def test_a_word_that_was_not_allowed_is_wrong() -> None:
    pairs = idle_pairs()
    card = EarlyScore()
    for pair in pairs:
        card.count(Pair(pair.cut, Words(), pair.situation))
    assert (card.precision, card.recall) == (0.0, 1.0)
    assert list(card.failures("these")) == ["these: precision 0.000"]


def test_a_word_that_is_right_only_after_a_correction_is_counted_apart() -> None:
    pairs = idle_pairs()
    allowed = Words(may=frozenset({"all_gpus_idle"}))
    card = EarlyScore()
    for pair in pairs:
        assert pair.situation is not None
        expected = dict.fromkeys(pair.situation.expected, Words())
        card.count(Pair(pair.cut, allowed, replace(pair.situation, expected=expected)))
    assert (card.precision, card.precision_first, card.right_only_corrected) == (1.0, 0.0, 1)


def test_half_of_the_situations_is_kept_back() -> None:
    kept = sum(is_kept_back(one.name) for one in own_situations())
    assert kept / len(own_situations()) == pytest.approx(0.5, abs=0.1)
