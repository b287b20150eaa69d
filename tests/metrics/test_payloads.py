"""What a node summary may hold, and what each impossible value is called."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from metrics.packing import pack_histogram, pack_timeline, unpack_histograms, unpack_timelines
from metrics.payloads import NodePayload, problems
from tests.payloads import gpu, node_payload, summary


def test_a_sound_summary_has_no_problems() -> None:
    assert problems(node_payload()) == []


def test_only_the_required_fields_are_required() -> None:
    smallest = {"schema": "node-summary/1", "cluster": "lumi", "job_id": 1, "node": "nid1"}
    payload = msgspec.convert(smallest | {"gpus": [{"gpu_id": 0, "avg_util": 5.0}]}, NodePayload)
    assert problems(payload) == []
    assert payload.gpus[0].peak_mem_gb is None


def test_use_may_be_missing_only_with_a_reason() -> None:
    assert problems(node_payload(gpus=[gpu(0, None)])) == [
        ("gpus[0].avg_util", "required, or a reason for it in missing")
    ]
    assert problems(node_payload(gpus=[gpu(0, None, missing={"avg_util": "unreadable"})])) == []


def test_memory_above_capacity_is_named_with_its_path() -> None:
    found = problems(node_payload(gpus=[gpu(0), gpu(1, peak_mem_gb=70.0)]))
    assert found == [("gpus[1].peak_mem_gb", "70.0 GB is above the capacity of 64.0 GB")]


def test_memory_above_capacity_inside_the_timeline_is_named_too() -> None:
    timeline = {"step_s": 1.0, "util": [1.0, 2.0], "mem_gb": [1.0, 99.0]}
    assert problems(node_payload(gpus=[gpu(0, timeline=timeline)]))[0][0] == "gpus[0].timeline.mem_gb[1]"


def test_the_same_gpu_twice_is_a_contradiction() -> None:
    assert problems(node_payload(gpus=[gpu(3), gpu(3)])) == [("gpus[1].gpu_id", "GPU 3 is already in this summary")]


def test_more_seconds_than_were_measured_are_a_contradiction() -> None:
    # 7200 s and 2 % and one interval of 1 s allow 7345 s.
    sound = gpu(0, active_s=7345.0, idle_s=0.0)
    broken = gpu(0, active_s=7346.0, idle_s=0.0)
    assert problems(node_payload(gpus=[sound])) == []
    assert problems(node_payload(gpus=[broken]))[0][0] == "gpus[0].active_s"


def test_an_end_before_the_start_is_a_contradiction() -> None:
    assert problems(node_payload(ended_at="2026-11-20T09:00:00Z")) == [("ended_at", "lies before started_at")]


@pytest.mark.parametrize("node", ["", "nid 1", "../etc", "nid\n1", "a" * 65, "-x"])
def test_a_node_name_is_a_host_name_and_nothing_else(node: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="node"):
        msgspec.convert(summary(node=node), NodePayload, str_keys=True)


def test_control_characters_in_free_text_become_replacement_characters() -> None:
    payload = node_payload(errors=["boom\x1b[31m\x00"], gpus=[gpu(0, None, missing={"avg_util": "a\nb"})])
    assert payload.errors == ("boom\ufffd[31m\ufffd",)
    assert payload.gpus[0].missing == {"avg_util": "a\ufffdb"}


def test_a_timeline_longer_than_the_contract_is_refused() -> None:
    timeline = {"step_s": 1.0, "util": [1.0] * 241, "mem_gb": []}
    with pytest.raises(msgspec.ValidationError, match=r"timeline\.util"):
        node_payload(gpus=[gpu(0, timeline=timeline)])


def test_packing_keeps_gaps_and_the_stated_precision() -> None:
    values = unpack_timelines([pack_timeline([0.0, None, 99.97, 63.98])])[:, 0]
    assert values[0] == 0.0
    assert values[1] != values[1]
    assert abs(values[2] - 99.97) <= 0.04
    assert abs(values[3] - 63.98) <= 0.02


def test_a_histogram_comes_back_and_none_is_not_zero() -> None:
    assert unpack_histograms([pack_histogram({0: 5.0, 100: 2.5})])[0][[0, 1, 100]].tolist() == [5.0, 0.0, 2.5]
    assert np.isnan(unpack_histograms([pack_histogram(None)])).all()
