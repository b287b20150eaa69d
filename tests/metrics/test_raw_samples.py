"""What a short raw window may hold: one clock for all GPUs, gaps for what cannot be, and bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest

from metrics.packing import pack_samples, unpack_samples
from metrics.raw_samples import RawSamplesPayload, problems, window_end
from tests.payloads import raw_payload, raw_samples


def points(gpu_id: int = 0, util: list[Any] | None = None, mem_gb: list[Any] | None = None) -> dict[str, Any]:
    return {"gpu_id": gpu_id, "util": util or [1.0, 2.0, 3.0], "mem_gb": mem_gb or [1.0, 1.0, 1.0]}


def test_a_sound_window_has_no_problems() -> None:
    assert problems(raw_payload()) == []
    assert problems(raw_payload(points(0), points(7))) == []


def test_only_what_places_the_samples_is_required() -> None:
    smallest = {name: raw_samples()[name] for name in "schema cluster job_id node started_at at_s gpus".split()}
    payload = msgspec.convert(smallest, RawSamplesPayload)
    assert problems(payload) == []
    assert (payload.attempt, payload.ended_at, payload.interval_s) == (0, None, None)
    # Without an end of its own it ends with its last tick, 1.9 s after 11:50.
    assert window_end(payload) == datetime(2026, 11, 20, 11, 50, 1, 900_000, tzinfo=UTC)
    assert window_end(raw_payload()) == datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("util", "kept"),
    [([140, 94.5, None], (None, 94.5, None)), ([-1, 0, 100], (None, 0.0, 100.0)), ([1, 2, 100.01], (1.0, 2.0, None))],
)
def test_a_value_that_cannot_be_is_a_gap_and_costs_nothing_beside_itself(util: list, kept: tuple) -> None:
    payload = raw_payload(points(0, util), points(1))
    assert problems(payload) == []
    assert (payload.gpus[0].util, payload.gpus[0].mem_gb) == (kept, (1.0, 1.0, 1.0))
    assert payload.gpus[1].util == (1.0, 2.0, 3.0)


def test_memory_and_an_interval_that_cannot_be_are_unknown() -> None:
    payload = raw_payload(points(0, mem_gb=[-0.1, 60_000, 60_001]), interval_s=0)
    assert (payload.gpus[0].mem_gb, payload.interval_s) == ((None, 60_000.0, None), None)
    assert raw_payload(interval_s=1e9).interval_s is None


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"at_s": [0.0, 2.0, 2.0]}, [("at_s[2]", "is not after the tick before it")]),
        ({"at_s": [3.0, 2.0, 9.0]}, [("at_s[1]", "is not after the tick before it")]),
        (
            {"at_s": [0.0, 1.0]},
            [
                ("gpus[0].util", "has 3 points, and at_s has 2"),
                ("gpus[0].mem_gb", "has 3 points, and at_s has 2"),
            ],
        ),
        ({"gpus": [points(3), points(3)]}, [("gpus[1].gpu_id", "GPU 3 is already in this window")]),
        ({"ended_at": "2026-11-20T11:49:59Z"}, [("ended_at", "is before started_at")]),
        (
            {"ended_at": "2028-11-20T11:50:00Z"},
            [("ended_at", "is longer after started_at than any job can run")],
        ),
        ({"ended_at": "9999-12-31T23:59:59-14:00"}, [("ended_at", "is not a plausible time of a job")]),
        (
            {"started_at": "9999-12-31T23:59:59Z", "ended_at": None},
            [("started_at", "is not a plausible time of a job")],
        ),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, [("started_at", "is not a plausible time of a job")]),
    ],
)
def test_what_contradicts_itself_is_named_with_its_path(changes: dict[str, Any], found: list) -> None:
    assert problems(raw_payload(**changes)) == found


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"at_s": []}, "at_s"),
        ({"at_s": [None, 1.0, 2.0]}, r"at_s\[0\]"),
        ({"at_s": [-1.0, 1.0, 2.0]}, r"at_s\[0\]"),
        ({"at_s": [0.0, 1.0, 1e12]}, r"at_s\[2\]"),
        ({"at_s": [float(second) for second in range(3601)]}, "at_s"),
        ({"gpus": []}, "gpus"),
        ({"gpus": [points(index) for index in range(65)]}, "gpus"),
        ({"gpus": [points(0, ["93", 1, 2])]}, r"gpus\[0\]\.util\[0\]"),
        ({"gpus": [points(0, [True, 1, 2])]}, r"gpus\[0\]\.util\[0\]"),
        ({"gpus": [{"gpu_id": 0, "util": [1, 2, 3]}]}, "mem_gb"),
        ({"gpus": [{"util": [1, 2, 3], "mem_gb": [1, 2, 3]}]}, "gpu_id"),
        ({"started_at": None}, "started_at"),
        ({"started_at": "2026-11-20T11:50:00"}, "started_at"),
        ({"node": "nid 1; rm"}, "node"),
        ({"job_id": 0}, "job_id"),
    ],
)
def test_a_wrong_shape_refuses_the_record(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=path):
        raw_payload(**changes)


def test_the_largest_window_is_taken() -> None:
    ticks = [index * 0.5 for index in range(3600)]
    gpus = [points(index, [50.0] * 3600, [1.0] * 3600) for index in range(64)]
    assert problems(raw_payload(*gpus, at_s=ticks)) == []


def test_samples_come_back_with_their_gaps_and_seven_digits() -> None:
    columns = [(93.0, 94.5, None), (12.37, None, 0.0)]
    packed = pack_samples(columns)
    assert len(packed) == 2 * 3 * 4
    back = unpack_samples(packed, 2)
    assert back.shape == (3, 2)
    assert [str(value) for value in back[:, 1]] == ["12.37", "nan", "0.0"]
    assert np.array_equal(back[:, 0], np.array([93.0, 94.5, np.nan], dtype=np.float32), equal_nan=True)
