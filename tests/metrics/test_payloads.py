"""What a node summary may hold, and that an impossible value costs nothing but itself."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from metrics.packing import pack_histogram, pack_timeline, unpack_histograms, unpack_timelines
from metrics.payloads import GpuPayload, MemoryTimelinePayload, NodePayload, TimelinePayload, problems
from tests.payloads import decoded, gpu, interim, node_payload, summary


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


def one(**changes: Any) -> GpuPayload:
    """The first GPU of a sound summary with these fields, as decoded."""
    payload = node_payload(gpus=[gpu(0) | changes, gpu(1)])
    assert problems(payload) == []
    assert payload.gpus[1] == node_payload().gpus[1]
    return payload.gpus[0]


SOUND = node_payload().gpus[0]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("avg_util", 250, "250 is above 100"),
        ("avg_util", 100.0000001, "100.0000001 is above 100"),
        ("p95_util", -1, "-1 is below 0"),
        ("measured_s", -1, "-1 is below 0"),
        ("samples", -5, "-5 is below 0"),
        ("samples", 10**400, "a number beyond all limits is above 1000000000"),
        ("module_id", 1024, "1024 is above 1023"),
        ("power_avg_w", float("nan"), "it is not a number"),
        ("energy_j", float("inf"), "a number beyond all limits is above 1e+15"),
        ("mem_total_gb", -64, "-64 is below 0"),
        ("peak_mem_gb", 70, "70 GB is above the capacity of 64 GB"),
        ("avg_mem_gb", 64.33, "64.33 GB is above the capacity of 64 GB"),
        ("throttled_s", 7346, "7346 s in all, 7200 s were measured"),
        ("pci_bus", "<b>", "not the address of a PCI device"),
        ("util_histogram_s", {"101": 1.0}, "101 is not a whole percent"),
        ("util_histogram_s", {"-1": 1.0}, "-1 is not a whole percent"),
        ("util_histogram_s", {"9": -2.0}, "-2 s at 9 %"),
        ("util_histogram_s", {"9": 7000.0, "10": 346.0}, "7346 s in all, 7200 s were measured"),
    ],
)
def test_a_value_that_cannot_be_true_is_dropped_and_named_and_costs_nothing_else(field, value, reason) -> None:
    found = one(**{field: value})
    assert found == msgspec.structs.replace(SOUND, **{field: None}, missing={field: f"not possible: {reason}"})


def test_what_is_just_possible_is_kept() -> None:
    # Half a percent above 64 GB is 64.32 GB; 7200 s and 2 % and one interval of 1 s are 7345 s.
    kept = {"peak_mem_gb": 64.32, "avg_util": 100.0, "active_s": 7345.0, "idle_s": 0.0, "throttled_s": 7345.0}
    found = one(**kept)
    assert {name: getattr(found, name) for name in kept} == kept
    assert found.missing == {}


def test_active_and_idle_seconds_beyond_the_measured_ones_both_go() -> None:
    found = one(active_s=7000.0, idle_s=346.0)
    reason = "not possible: 7346 s in all, 7200 s were measured"
    assert (found.active_s, found.idle_s, found.measured_s) == (None, None, 7200.0)
    assert found.missing == {"active_s": reason, "idle_s": reason}


def test_the_reason_stands_beside_those_that_the_collector_gave() -> None:
    many = {f"sensor_{index}": "unsupported" for index in range(60)}
    missing = one(avg_util=250, missing=many).missing
    assert len(missing) == 51
    assert missing["avg_util"] == "not possible: 250 is above 100"
    assert missing["sensor_0"] == "unsupported"


def test_impossible_points_of_a_timeline_become_gaps() -> None:
    found = one(timeline={"step_s": 1.0, "util": [1.0, 250.0, -3.0], "mem_gb": [1.0, None, 99.0]})
    assert found.timeline == TimelinePayload(step_s=1.0, util=(1.0, None, None), mem_gb=(1.0, None, None))
    assert found.missing == {
        "timeline.util": "not possible: 2 of 3 points, such as 250",
        "timeline.mem_gb": "not possible: 1 of 3 points, such as 99",
    }


@pytest.mark.parametrize(
    ("util", "mem_gb", "kept", "dropped"),
    [([1.0, 2.0], [3.0], "util", "mem_gb"), ([1.0], [3.0, 4.0], "mem_gb", "util")],
)
def test_of_two_unequal_series_the_shorter_is_dropped(util, mem_gb, kept, dropped) -> None:
    found = one(timeline={"step_s": 1.0, "util": util, "mem_gb": mem_gb})
    assert len(getattr(found.timeline, kept)) == 2
    assert getattr(found.timeline, dropped) == ()
    assert found.missing == {
        f"timeline.{dropped}": f"not possible: lengths differ, {len(util)} points of use and {len(mem_gb)} of memory"
    }


def test_a_series_that_was_not_sent_is_not_one_of_another_length() -> None:
    found = one(timeline={"step_s": 1.0, "util": [1.0, 2.0]})
    assert (found.timeline.util, found.missing) == ((1.0, 2.0), {})


@pytest.mark.parametrize("step_s", [0, -1, 1e8])
def test_a_timeline_whose_buckets_cannot_be_is_dropped(step_s: float) -> None:
    found = one(timeline={"step_s": step_s, "util": [1.0], "mem_gb": [1.0]})
    assert found.timeline is None
    assert found.missing == {"timeline": f"not possible: buckets of {step_s:.12g} s"}


def test_an_impossible_value_of_the_host_costs_only_itself() -> None:
    payload = node_payload(cpu={"cores_allocated": 56, "iowait_fraction": 1.5, "ranks": -1})
    assert problems(payload) == []
    assert (payload.cpu.cores_allocated, payload.cpu.iowait_fraction, payload.cpu.ranks) == (56, None, None)
    assert payload.cpu.missing == {
        "iowait_fraction": "not possible: 1.5 is above 1",
        "ranks": "not possible: -1 is below 0",
    }


def test_an_impossible_interval_is_dropped_and_said_among_the_errors() -> None:
    payload = node_payload(interval_s=0, errors=["boom"])
    assert (payload.interval_s, payload.errors) == (None, ("boom", "interval_s: not possible: 0 s"))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"avg_util": "90"}, "avg_util"),
        ({"avg_util": True}, "avg_util"),
        ({"samples": 1.5}, "samples"),
        ({"timeline": [1.0]}, "timeline"),
        ({"util_histogram_s": {"busy": 1.0}}, "util_histogram_s"),
        ({"missing": {"avg_util": 7}}, "missing"),
        ({"gpu_id": -1}, "gpu_id"),
        ({"gpu_id": None}, "gpu_id"),
    ],
)
def test_a_value_of_the_wrong_type_or_a_gpu_without_its_number_refuses_the_record(changes, path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=path):
        node_payload(gpus=[gpu(0) | changes])


def test_the_same_gpu_twice_is_a_contradiction() -> None:
    assert problems(node_payload(gpus=[gpu(3), gpu(3)])) == [("gpus[1].gpu_id", "GPU 3 is already in this summary")]


def test_an_end_before_the_start_is_a_contradiction() -> None:
    assert problems(node_payload(ended_at="2026-11-20T09:00:00Z")) == [("ended_at", "is before started_at")]


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


def test_a_summary_of_a_run_that_goes_on_tells_its_recent_use() -> None:
    payload = decoded(interim([80.0, 70.0], power_w=120.0, busy_cores=4.0, memory_gb=[1.0, None]))
    assert problems(payload) == []
    assert (payload.recent_s, payload.cpu.recent_busy_cores) == (600.0, 4.0)
    assert [gpu.recent_power_avg_w for gpu in payload.gpus] == [120.0, None]
    assert payload.cpu.memory_timeline == MemoryTimelinePayload(step_s=60.0, gb=(1.0, None))


def test_a_final_summary_has_no_recent_use() -> None:
    payload = decoded(interim(final=True))
    assert (payload.recent_s, payload.cpu.recent_busy_cores, payload.cpu.memory_timeline) == (None, None, None)
    assert {gpu.recent_power_avg_w for gpu in payload.gpus} == {None}
    assert (payload.errors, payload.cpu.missing) == ((), {})


@pytest.mark.parametrize("recent_s", [0.0, -1.0, 613.1, 1e300])
def test_recent_use_over_a_time_that_cannot_be_is_dropped_and_the_memory_kept(recent_s: float) -> None:
    # 600 s were measured: with 2 % and one interval of 1 s at most 613 s are recent.
    payload = decoded(interim(recent_s=recent_s))
    assert (payload.recent_s, payload.cpu.recent_busy_cores) == (None, None)
    assert {gpu.recent_power_avg_w for gpu in payload.gpus} == {None}
    assert len(payload.cpu.memory_timeline.gb) == 10
    assert payload.errors[0].startswith("recent_s: not possible: ")
    assert decoded(interim(recent_s=613.0)).recent_s == 613.0


def test_impossible_recent_numbers_are_dropped_and_named() -> None:
    payload = decoded(interim(power_w=-5.0, busy_cores=5000.0, memory_gb=[1.0, -2.0, 1e9]))
    assert payload.gpus[0].missing == {"recent_power_avg_w": "not possible: -5 is below 0"}
    assert payload.cpu.memory_timeline.gb == (1.0, None, None)
    assert payload.cpu.missing == {
        "recent_busy_cores": "not possible: 5000 is above 4096",
        "memory_timeline.gb": "not possible: 2 of 3 points, such as -2",
    }


def test_memory_in_impossible_buckets_is_dropped_and_too_many_points_refuse_the_summary() -> None:
    cpu = {"memory_timeline": {"step_s": 0.0, "gb": [1.0]}}
    payload = decoded(interim(cpu=cpu))
    assert payload.cpu.memory_timeline is None
    assert payload.cpu.missing == {"memory_timeline": "not possible: buckets of 0 s"}
    assert len(decoded(interim(memory_gb=[1.0] * 240)).cpu.memory_timeline.gb) == 240
    with pytest.raises(msgspec.ValidationError):
        decoded(interim(memory_gb=[1.0] * 241))
