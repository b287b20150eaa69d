"""The payload of a node: decoded by the portal without a problem, numbers by hand, and a reason for each lack."""

from __future__ import annotations

import os
from pathlib import Path

from collector import statefile
from collector.summary import node_summary
from tests.collector.fake_node import MI210, FakeNode
from tests.collector.sampling import GB, START, job, summary
from tests.payloads import decoded


def test_averages_histogram_idle_and_percentile_by_hand(node: FakeNode, make) -> None:
    sampler = make()
    # 10 s idle at 1 % with 1 GB, 80 s at 50 % with 20 GB, 10 s at 100 % with 60 GB.
    for second in range(1, 101):
        util, gigabytes = (1, 1) if second <= 10 else (50, 20) if second <= 90 else (100, 60)
        node.gpus[3].show(util, gigabytes * GB, stamp=second)
        sampler.tick(float(second))
    payload = summary(sampler)
    gpu = payload["gpus"][3]
    # (10 x 1 + 80 x 50 + 10 x 100) / 100 = 50.1; memory of GPU 3 is read at even seconds, so that 1 GB stood for 11 s
    # and 20 GB until 91: (11 x 1 + 80 x 20 + 9 x 60) / 100 = 21.51.
    assert (gpu["avg_util"], gpu["util_source"], gpu["p95_util"]) == (50.1, "samples", 100.0)
    assert (gpu["avg_mem_gb"], gpu["peak_mem_gb"], gpu["mem_total_gb"]) == (21.51, 60.0, 63.9844)
    assert gpu["util_histogram_s"] == {"1": 10.0, "50": 80.0, "100": 10.0}
    assert (gpu["measured_s"], gpu["idle_s"], gpu["active_s"], gpu["samples"]) == (100.0, 10.0, 90.0, 100)
    # Buckets of two intervals.
    assert gpu["timeline"]["step_s"] == 2.0
    assert gpu["timeline"]["util"] == [1] * 5 + [50] * 40 + [100] * 5
    assert gpu["timeline"]["mem_gb"][::24] == [1, 20, 60]


def test_a_whole_node_is_eight_gpus_with_their_places_and_the_run_they_belong_to(node: FakeNode, make) -> None:
    sampler = make()
    sampler.tick(1.0)
    payload = summary(sampler)
    found = decoded(payload)
    assert (found.cluster, found.job_id, found.attempt, found.node, found.sequence) == ("lumi", 42, 1, "nid005001", 1)
    assert [(gpu.gpu_id, gpu.module_id) for gpu in found.gpus] == [(index, index // 2) for index in range(8)]
    assert found.gpus[7].pci_bus == "0000:de:00.0"
    assert (found.ended_at - found.started_at).total_seconds() == 1.0
    assert payload["cpu"]["cores_allocated"] == 56
    assert payload["cpu"]["missing"] == {"cpu": "the job ended before its control group was read"}


def test_power_and_energy_are_on_the_primary_die_only(node: FakeNode, make) -> None:
    sampler = make()
    for second, watts in enumerate((200, 400, 300), 1):
        for gpu in node.gpus:
            # 2^-16 J a count, 300 J a second.
            gpu.show(90, GB, watts, stamp=second, energy=gpu.energy and gpu.energy + second * 300 * 65536)
        sampler.tick(float(second))
        sampler.slow_tick(1.0)
    primary, secondary = summary(sampler)["gpus"][:2]
    assert (primary["power_avg_w"], primary["power_peak_w"], primary["power_cap_w"]) == (300.0, 400, 560.0)
    # From the first second on: 3 x 300 J.
    assert primary["energy_j"] == 900.0
    assert not {name for name in secondary if "power" in name or "energy" in name}
    assert "power" not in secondary["missing"]


def test_a_shared_package_gives_no_power_and_says_why(node: FakeNode, make) -> None:
    sampler = make([2, 5])
    for second in (1, 2):
        for gpu in node.gpus:
            gpu.show(90, GB, 400, stamp=second, energy=gpu.energy and gpu.energy + second * 65536)
        sampler.tick(float(second))
        sampler.slow_tick(1.0)
    for gpu in summary(sampler)["gpus"]:
        assert not {name for name in gpu if "power" in name or "energy" in name}
        assert gpu["missing"]["power"] == "shared module: its other GPU is not this job's"


def test_crays_counters_are_the_energy_where_they_are(node: FakeNode, make, tmp_path: Path) -> None:
    sampler = make()
    (tmp_path / "pm_counters").mkdir()
    for second in (0, 1):
        (tmp_path / "pm_counters/accel1_energy").write_text(f"{5000 + second * 700} J 1784929200361701 us\n")
        (tmp_path / "pm_counters/energy").write_text(f"{90000 + second * 2500} J 1784929200361701 us\n")
        sampler.tick(float(second + 1))
        sampler.slow_tick(1.0)
    payload = summary(sampler)
    assert (payload["gpus"][2]["energy_j"], payload["node_energy_j"]) == (700.0, 2500.0)
    assert "energy_j" not in payload["gpus"][3]


def test_every_number_that_is_not_known_has_a_reason_and_no_value(node: FakeNode, make, tmp_path: Path) -> None:
    for gpu in node.gpus:
        gpu.write("gpu_metrics", b"\xff" * 96)
        gpu.write("gpu_busy_percent", b"66\n")
    sampler = make()
    sampler.tick(1.0)
    for gpu in summary(sampler)["gpus"]:
        assert gpu["avg_util"] == 66.0
        assert not {"energy_j", "power_avg_w", "temperature_peak_c", "gfx_clock_mhz", "throttled_s"} & gpu.keys()
        assert gpu["missing"].keys() >= {"energy", "power", "temperature", "clocks", "pcie_bandwidth"}
        assert None not in gpu.values()


def test_a_model_of_one_die_that_says_nothing_of_its_power_has_a_reason(tmp_path: Path, make) -> None:
    node = FakeNode(tmp_path / "sys", gpus=1, device=MI210)
    sampler = make([0])
    node.gpus[0].show(10, GB, 0xFFFF, energy=2**64 - 1)
    sampler.tick(1.0)
    (gpu,) = summary(sampler)["gpus"]
    assert "power_avg_w" not in gpu
    assert (gpu["missing"]["power"], gpu["missing"]["energy"]) == ("the source gave no reading",) * 2


def test_without_a_checkpoint_the_payload_says_so_and_why() -> None:
    for errors, reason in (
        ([], "the collector took no sample"),
        (["not sampled: no driver"], "not sampled: no driver"),
    ):
        payload = node_summary(job([0, 4]), None, START + 60, errors)
        found = decoded(payload)
        assert [gpu.missing["avg_util"] for gpu in found.gpus] == [reason, reason]
        assert [gpu.avg_util for gpu in found.gpus] == [None, None]
        assert list(found.errors) == errors


def test_a_job_without_one_sample_has_no_numbers(node: FakeNode, make) -> None:
    payload = summary(make([0]))
    assert "avg_util" not in payload["gpus"][0]
    assert payload["gpus"][0]["missing"]["avg_util"] == "no sample"
    assert "timeline" not in payload["gpus"][0]


def test_a_gpu_that_vanishes_in_mid_job_keeps_what_it_had_and_says_the_rest_is_unmeasured(node: FakeNode, make) -> None:
    sampler = make()
    for second in range(1, 11):
        for gpu in node.gpus:
            gpu.show(80, 10 * GB, stamp=second)
        if second > 4:
            node.gpus[6].write("gpu_metrics", b"")
        sampler.tick(float(second))
    payload = summary(sampler)
    gone, other = payload["gpus"][6], payload["gpus"][7]
    assert (gone["measured_s"], gone["avg_util"], other["measured_s"]) == (4.0, 80.0, 10.0)
    assert gone["missing"]["unreadable"].startswith("for some of the time: ")
    assert gone["timeline"]["util"] == [80] * 2 + [None] * 3
    # Its memory is another file, which can be read still.
    assert gone["timeline"]["mem_gb"] == [10] * 5


def test_a_gpu_that_was_never_readable_has_no_average(node: FakeNode, make) -> None:
    sampler = make([0, 1])
    node.gpus[0].write("gpu_metrics", b"")
    sampler.tick(1.0)
    first, second = summary(sampler)["gpus"]
    assert "avg_util" not in first
    assert first["missing"]["avg_util"] == "for some of the time: an empty or cut reading"
    assert second["avg_util"] == 0.0


def test_a_late_tick_leaves_a_gap_and_counts_for_one_interval(node: FakeNode, make) -> None:
    sampler = make([0])
    for now_s in (1.0, 2.0, 62.0, 63.0):
        node.gpus[0].show(100, GB, stamp=int(now_s))
        sampler.tick(now_s)
    payload = summary(sampler)
    gpu = payload["gpus"][0]
    # 61 s lie between the second and the last tick, of which 2 were measured.
    assert (gpu["measured_s"], gpu["avg_util"]) == (4.0, 100.0)
    assert payload["errors"] == ["sampling stood still for 59 s"]
    util = gpu["timeline"]["util"]
    # Buckets of 2 s: the first, 29 of the gap, one in which the late sample lies, and the last.
    assert util == [100] + [None] * 29 + [100, 100]


def test_a_clock_that_stands_or_goes_back_adds_nothing(node: FakeNode, make) -> None:
    sampler = make([0])
    for count, now_s in enumerate((1.0, 1.0, 0.5, -3.0, 2.0)):
        node.gpus[0].show(100, GB, stamp=count + 1)
        sampler.tick(now_s)
    assert summary(sampler)["gpus"][0]["measured_s"] == 2.0


def test_a_wall_clock_that_was_set_back_ends_the_job_no_earlier_than_it_began() -> None:
    payload = node_summary(job([0]), None, START - 3600, [])
    assert payload["ended_at"] == payload["started_at"]
    decoded(payload)


def test_slow_and_jittering_ticks_stand_for_the_time_they_cover(node: FakeNode, make) -> None:
    sampler = make([0])
    for util, now_s in ((100, 1.0), (0, 3.0), (50, 3.5)):
        node.gpus[0].show(util, GB, stamp=int(now_s * 10))
        sampler.tick(now_s)
    gpu = summary(sampler)["gpus"][0]
    # (1 x 100 + 2 x 0 + 0.5 x 50) / 3.5
    assert (gpu["avg_util"], gpu["measured_s"], gpu["idle_s"]) == (35.7143, 3.5, 2.0)


def test_the_accumulator_gives_the_mean_once_its_scale_is_known(node: FakeNode, make) -> None:
    means = {}
    for scale in (None, 1e5):
        sampler = make([0], scale=scale)
        for second in range(11):
            # The samples see 100 % every other second; the accumulator counts 60 % of each.
            node.gpus[0].show(100 * (second % 2), GB, stamp=(second + 1) * 10**8, busy_acc=second * 60_000)
            sampler.tick(float(second))
            sampler.slow_tick(1.0)
        gpu = summary(sampler)["gpus"][0]
        means[gpu["util_source"]] = gpu["avg_util"]
    assert means == {"samples": 50.0, "accumulator": 60.0}


def test_an_accumulator_that_covers_too_little_or_says_too_much_is_not_used(node: FakeNode, make) -> None:
    for seconds_covered, counts in ((5, 60_000), (10, 103_000)):
        sampler = make([0], scale=1e5)
        for second in range(11):
            node.gpus[0].show(70, GB, stamp=(second + 1) * 10**8, busy_acc=second * counts)
            sampler.tick(float(second))
            if second <= seconds_covered:
                sampler.slow_tick(1.0)
        state = sampler.state()
        gpu = node_summary(job([0]), state, START + 10, [])["gpus"][0]
        assert (gpu["util_source"], gpu["avg_util"]) == ("samples", 70.0)


def test_a_restarted_collector_goes_on_and_says_so(node: FakeNode, make, tmp_path: Path) -> None:
    first = make([0])
    for second in range(1, 11):
        node.gpus[0].show(100, 30 * GB, stamp=second)
        first.tick(float(second))
    first.slow_tick(10.0)
    statefile.save(str(tmp_path / "checkpoint"), first.state())
    second_one = make([0])
    second_one.restore(statefile.read(str(tmp_path / "checkpoint")), 20.0)
    for second in range(21, 31):
        node.gpus[0].show(0, GB, stamp=second, energy=node.gpus[0].energy + second * 65536)
        second_one.tick(float(second))
    payload = summary(second_one)
    gpu = payload["gpus"][0]
    assert (gpu["avg_util"], gpu["measured_s"], gpu["peak_mem_gb"], gpu["samples"]) == (50.0, 20.0, 30.0, 20)
    assert payload["errors"] == ["sampling stood still for 10 s", "the collector was restarted 1 times"]
    assert gpu["timeline"]["util"] == [100] * 5 + [None] * 5 + [0] * 5


def test_lost_checkpoints_and_errors_are_said(node: FakeNode, make) -> None:
    sampler = make([0])
    sampler.tick(1.0)
    sampler.lost_checkpoints = 3
    assert summary(sampler, ["first"])["errors"] == ["first", "3 checkpoints could not be written"]


def test_the_host_side_is_in_fractions_of_the_cores_that_the_job_holds(node: FakeNode, make, tmp_path: Path) -> None:
    group = tmp_path / "cgroup/job_42"
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 560000000\nuser_usec 504000000\nsystem_usec 56000000\n")
    (group / "memory.peak").write_text(f"{80 * GB}\n")
    (group / "memory.stat").write_text(f"anon {30 * GB}\nfile {50 * GB}\nshmem {10 * GB}\n")
    (group / "memory.max").write_text(f"{480 * GB}\n")
    process = tmp_path / "proc/123"
    process.mkdir(parents=True)
    (process / "cgroup").write_text("0::/job_42\n")
    sampler = make()
    sampler.job["uid"] = os.getuid()
    sampler.tick(100.0)
    sampler.slow_tick(1.0)
    # Read 100 s after the start: 560 core-seconds of 56 cores x 100 s.
    cpu = node_summary(sampler.job, sampler.state(), sampler.job["started_at"] + 100, [])["cpu"]
    assert (cpu["busy_cores_avg"], cpu["user_fraction"], cpu["system_fraction"]) == (5.6, 0.09, 0.01)
    assert (cpu["idle_fraction"], cpu["peak_memory_gb"], cpu["memory_limit_gb"]) == (0.9, 80.0, 480.0)
    assert cpu["missing"] == {"iowait_fraction": "known for whole nodes only"}
    # 30 GB of its own and 10 GB shared: what files keep in memory is in the total alone.
    payload = node_summary(sampler.job, sampler.state(), sampler.job["started_at"] + 100, [])
    assert decoded(payload).cpu.peak_memory_anon_gb == 40.0
