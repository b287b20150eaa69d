"""What a drawing as data means, and that nobody's typing error is passed over."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from cases.drawing import expanded, fields_by_gpu
from cases.early.situation import expect
from cases.library import Told as Case
from cases.library import full_record
from cases.progress.library import Told
from cases.shapes import inspector
from cases.shapes.curves import curve
from cases.shapes.logged import Logged
from cases.shapes.progress import drawn as drawn_progress

WORK = {"parts": [[0.1, 0.0], [0.9, 0.8]]}
NODE = {"used_s": 600, "works": [{"times": 2, **WORK}], "memory_gb": 30, "step_s": 1}


def drawn(*nodes: dict[str, object], seed: int = 1) -> list[float]:
    """The mean use of each GPU of all nodes."""
    draw = inspector.drawn(expanded({"nodes": [*nodes]}))
    return [float(np.nanmean(column)) for node in draw(np.random.default_rng(seed)) for column in node.util.T]


def test_times_repeat_a_gpu_a_node_and_a_number() -> None:
    assert len(drawn(NODE)) == 2
    assert len(drawn({"times": 3, **NODE})) == 6
    assert expanded([{"times": 2, "of": [1, 2]}, 3]) == [[1, 2], [1, 2], 3]


def test_repeated_gpus_are_drawn_each_on_their_own_and_a_seed_gives_the_same_again() -> None:
    first, second = drawn(NODE)
    assert first != second
    assert drawn(NODE) == [first, second] != drawn(NODE, seed=2)


def test_a_field_that_no_shape_knows_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="memori_gb"):
        drawn({**NODE, "memori_gb": 3})
    with pytest.raises(msgspec.ValidationError, match="paus"):
        drawn({**NODE, "works": [{**WORK, "paus": [1, 2, 3]}]})


def test_a_name_that_no_case_and_no_series_has_is_an_error() -> None:
    told = {"name": "a", "source": "b", "story": "c", "class": "EFFICIENT", "record": {}}
    assert msgspec.convert(told, Case).may == frozenset()
    with pytest.raises(msgspec.ValidationError, match="musts"):
        msgspec.convert({**told, "musts": ["timeout"]}, Case)
    with pytest.raises(msgspec.ValidationError, match="gpu"):
        msgspec.convert({**told, "sensible": {"gpu": [1]}}, Case)
    at = {"ticks": {"from_s": 0, "to_s": 60, "step_s": 1}}
    with pytest.raises(ValueError, match="shift"):
        drawn_progress(np.random.default_rng(1), 60, {"at": at, "loss": {"fall": {"of": "at"}, "shift": 3}}, {})


def test_fields_that_a_gpu_does_not_send_are_none() -> None:
    fields = fields_by_gpu([{"gpus": [0, 1], "drop": ["energy_j"]}, {"gpus": [4], "peak_mem_gb": 9999.0}])
    assert fields == {0: {"energy_j": None}, 1: {"energy_j": None}, 4: {"peak_mem_gb": 9999.0}}


def test_a_record_says_alone_what_is_not_as_usual() -> None:
    record = full_record({"gpus_requested": 16, "node_count": 2, "request": "--gpus=16 --exclusive"})
    assert (record["state"], record["exit_code"], record["ntasks"]) == ("COMPLETED", "0:0", 16)
    assert (record["gpus_allocated"], record["gpus_per_node"]) == (16, 8)
    assert record["request"] == {"--gpus": "16", "--exclusive": ""}
    assert full_record({"gpus_requested": 1, "unknown": ["gpus_per_node"]})["gpus_per_node"] is None
    assert "unknown" not in full_record({"gpus_requested": 1, "unknown": ["gpus_per_node"]})


def test_words_stand_for_each_cut_of_a_stretch_of_the_schedule() -> None:
    words = expect("600 - | 4200..11400 spinning ?all_gpus_idle")
    assert list(words) == [600.0, 4200.0, 7800.0, 11400.0]
    assert (words[600.0].must, words[11400.0].must, words[11400.0].may) == (set(), {"spinning"}, {"all_gpus_idle"})
    with pytest.raises(ValueError, match="unknown code"):
        expect("600 spining")


@pytest.mark.parametrize(
    ("described", "values"),
    [
        (20, [20, 20, 20]),
        ({"line": [[0, 10], [2, 30]]}, [10, 20, 30]),
        ({"steps": [[1, 5], [2, 7]]}, [5, 7, 7]),
        ({"flat": 48}, [0.6, 48, 48]),
        ({"saw": [10, 20, 2]}, [10, 15, 10]),
        ({"wave": [10, 20, 4]}, [15, 20, 15]),
        ({"saturates": [0, 100, 1]}, [0, 100 * (1 - math.exp(-2.3)), 100 * (1 - math.exp(-4.6))]),
    ],
)
def test_curves_at_the_start_and_after_one_and_two_hours(described: object, values: list[float]) -> None:
    assert curve(described)(np.array([0.0, 1.0, 2.0])) == pytest.approx(values)


@pytest.mark.parametrize(
    ("logged", "points"),
    [
        (Logged(count=3, every_s=60, from_s=120, steps=10), ((120, 0), (180, 10), (240, 20))),
        # 1000 steps from 600 s to 2 h are 0.1515 a second.
        (Logged(count=3, every_s=60, from_s=600, thousand_at_h=2), ((600, 0), (660, 9), (720, 18))),
        (Logged(knots=((1, 0), (2, 60)), until_h=1.16), ((3780, 3), (3960, 6), (4140, 9))),
        (Logged(pieces=((0, 0, 0.1, 30), (1, 30, 1.1, 60))), ((0, 0), (360, 30), (3600, 30), (3960, 60))),
    ],
)
def test_logged_steps(logged: Logged, points: tuple[tuple[float, int], ...]) -> None:
    assert logged.points == points


def test_what_is_told_of_a_training_run_is_drawn_in_its_order() -> None:
    told = {
        "name": "a run",
        "story": "by hand",
        "elapsed_s": 3600,
        "loss_is_nan": "either",
        "power": math.nan,
        "draw": {
            "at": {"ticks": {"from_s": 0, "to_s": 3600, "step_s": 10, "every": 6, "jitter": 0.0}},
            "use": {"paused": {"pauses": {"cycle": [0, 3600, 900, 300]}, "busy": 90, "low": 5}},
            "loss": {"fall": {"of": "at", "to": 5, "noise": 0}, "spoilt": [{"from_step": 24}]},
            "lr": {"level": {"of": "at", "from": 57, "value": 0.1}, "shift_s": -60, "is_reversed": True},
        },
    }
    run = msgspec.convert(told, Told).situation()
    # A step takes 10 s and each sixth is logged: at 60, 120 ... 3540 s.
    assert [(step, at_s) for step, at_s, _ in run.series["loss"]] == [(6 * n, 60.0 * n) for n in range(1, 6)]
    assert [math.isnan(value) for _, _, value in run.series["loss"]] == [False] * 3 + [True] * 2
    assert run.series["lr"] == [(354, 3480.0, 0.1), (348, 3420.0, 0.1)]
    assert (run.loss_is_nan, run.power, run.hang) == (None, None, False)
    paused = [mean for begin, end, mean in run.use if begin >= 900 and end <= 1200]
    assert len(paused) == 10
    assert max(paused) < 10
