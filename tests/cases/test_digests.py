"""What is drawn of the labelled jobs is what was drawn before, and a digest misses no change."""

from __future__ import annotations

import numpy as np
import pytest

from cases.digests import SEED, digest, kept, of_kinds, of_library, of_samples, of_situations
from tests.cases import noisy_runs
from tests.cases.noisy_runs import drawn_library, in_one_process


@in_one_process
def test_every_run_is_drawn_as_it_was_drawn_before() -> None:
    assert noisy_runs.SEED == SEED
    drawn = of_kinds([*of_library(drawn_library()), *of_situations(), *of_samples()])
    assert drawn == kept(), "if the change is meant: python -m cases.digests --write"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.00001])),
        (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        ({"a": 1}, {"b": 1}),
        ([1, [2]], [1, 2]),
        (frozenset({"a"}), frozenset()),
        (1.0, 1.00001),
        (None, ""),
    ],
)
def test_what_differs_has_another_digest(one: object, other: object) -> None:
    assert digest(one) != digest(other)


def test_the_last_bit_of_a_processor_does_not_count() -> None:
    assert digest(np.array([0.1 + 0.2, -0.0]), 0.1 + 0.2) == digest(np.array([0.3, 0.0]), 0.3)
