"""What to ask for next time, in hand-computed shapes, bills and diffs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.assess import assess
from analysis.comparable import ComparableRun
from analysis.facts import JobFacts
from analysis.rightsizing import Recommendation, RecommendationKind, recommendations
from analysis.rules import findings
from analysis.savings import savings
from tests.analysis.runs import facts, metrics_of
from tests.payloads import gpu, job_record, node_payload

HOST = {"cores_allocated": 56, "busy_cores_avg": 7.9, "ranks": 16, "idle_fraction": 0.85, "peak_memory_gb": 80.2}


def advice(known: JobFacts) -> tuple[Recommendation, ...]:
    return recommendations(known, findings(known))


def diff(recommendation: Recommendation) -> list[str]:
    return [str(change) for change in recommendation.changes]


def test_two_active_of_eight_asks_for_two_in_the_users_own_spelling() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST, ntasks=16, request={"--gpus": "8", "--ntasks": "16", "--mem": "480G"})
    (fewer,) = advice(known)
    # Peaks: 8 x 14.2 = 113.6 GB; 113.6 / (0.9 x 64) = 1.97, so 2 GPUs hold them. Memory: the share of 2 GPUs,
    # 120 GB, is above 1.2 x 80.2 = 96.24.
    assert (fewer.recommended_gpus, fewer.basis) == (2, "active_gpus")
    assert diff(fewer) == ["--gpus=8 -> --gpus=2", "--ntasks=16 -> --ntasks=2", "--mem=480G -> --mem=120G"]
    # Now 8 slices x 0.5 x 2 h = 8; then max(14 cores = 2, 120 GB = 2, 2 GPUs) x 0.5 x 2 h = 2.
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("request_options", "expected"),
    [
        ({"--gpus-per-node": "8"}, "--gpus-per-node=8 -> --gpus-per-node=2"),
        ({"--gres": "gpu:8"}, "--gres=gpu:8 -> --gres=gpu:2"),
        ({"--gres": "gpu:mi250:8"}, "--gres=gpu:mi250:8 -> --gres=gpu:mi250:2"),
        ({"--gpus": "mi250:8"}, "--gpus=mi250:8 -> --gpus=mi250:2"),
        ({}, "--gpus=8 -> --gpus=2"),
    ],
)
def test_the_diff_keeps_the_spelling_of_the_request(request_options: dict, expected: str) -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    assert diff(advice(facts([], gpus=gpus, request=request_options))[0])[0] == expected


def test_memory_can_need_more_gpus_than_the_work() -> None:
    # 8 x 40 GB = 320 GB; 320 / 57.6 = 5.56: six GPUs, though two work.
    (fewer,) = advice(facts([88.0] * 2 + [0.0] * 6))
    assert (fewer.recommended_gpus, fewer.basis) == (6, "gpu_memory")


def test_a_whole_node_with_one_busy_gpu_moves_to_the_shared_partition() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=2.0) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST, partition="standard-g", ntasks=1, request={"--nodes": "1", "--gpus": "8"})
    (fewer,) = advice(known)
    # 97 GB of host memory is more than the 64 GB that small-g gives without --mem, which standard-g does not need.
    assert diff(fewer) == [
        "--partition=standard-g -> --partition=small-g",
        "--gpus=8 -> --gpus=1",
        "(not set) -> --mem=97G",
    ]
    # Host memory 1.2 x 80.2 = 97 GB is 2 slices: 1 an hour. Standard-g: 4 x 1 node x 2 h = 8; then 1 x 2 h = 2.
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


def test_gpus_that_slurm_gave_unasked_leave_the_request_as_it_was() -> None:
    # standard-g gives the whole node: 4 asked, 8 held, 4 idle. The GPU option already fits; the partition does not.
    gpus = [gpu(index, 90.0 if index < 4 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, partition="standard-g", gpus_requested=4, request={"--gpus": "4"})
    assert diff(advice(known)[0])[0] == "--partition=standard-g -> --partition=small-g"
    assert not any("--gpus" in line for line in diff(advice(known)[0]))


def test_above_one_node_only_whole_nodes_are_advised() -> None:
    # 4 nodes of 8: 11 GPUs active need 2 nodes, 16 GPUs.
    utils = [[90.0] * 8, [90.0] * 3 + [0.0] * 5, [0.0] * 8, [0.0] * 8]
    names = [f"nid00512{index}" for index in range(4)]
    nodes = [
        node_payload(node=name, gpus=[gpu(i, util, peak_mem_gb=4.0) for i, util in enumerate(row)])
        for name, row in zip(names, utils, strict=True)
    ]
    record = job_record(
        partition="standard-g",
        nodes=names,
        node_count=4,
        gpus_requested=32,
        gpus_allocated=32,
        ntasks=32,
        cpus_allocated=224,
        memory_requested_gb=1920.0,
        request={"--nodes": "4", "--gpus-per-node": "8", "--ntasks-per-node": "8"},
    )
    judged = assess(record, metrics_of(*nodes))
    assert diff(judged.recommendations[0]) == ["--nodes=4 -> --nodes=2"]
    # 4 x 4 nodes x 2 h = 32 now, 4 x 2 x 2 = 16 then.
    assert judged.savings.gpu_hours == pytest.approx(16.0)


def test_no_gpu_use_asks_for_one_gpu() -> None:
    gpus = [gpu(index, 0.0, peak_mem_gb=0.1) for index in range(8)]
    fewer = advice(facts([], gpus=gpus))[0]
    assert (fewer.recommended_gpus, fewer.basis) == (1, "no_gpu_use")


def overscaled(**changes: Any) -> JobFacts:
    return facts([], gpus=[gpu(index, 17.5, peak_mem_gb=4.0) for index in range(8)], **changes)


def test_overscaling_asks_for_the_gpus_that_would_be_busy_at_70_percent() -> None:
    # ceil(8 x 17.5 / 70) = 2. Busy GPU-seconds: 8 x 7200 x 0.175 = 10080; on 2 GPUs at 70 %: 7200 s, the same run.
    known = overscaled(cpu=HOST)
    fewer = advice(known)[0]
    assert (fewer.recommended_gpus, fewer.basis) == (2, "overscaling")
    saved = savings(known, (fewer,))
    assert (saved.run_s, saved.assumption) == (pytest.approx(7200.0), "same_busy_gpu_seconds")
    assert saved.gpu_hours == pytest.approx(6.0)


def test_the_run_grows_where_fewer_gpus_take_over_the_work() -> None:
    # 8 x 30 % on ceil(240 / 70) = 4 GPUs: 8 x 7200 x 0.3 / (4 x 0.7) = 6171 s, below the run: the run time stays.
    gpus = [gpu(index, 30.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST | {"peak_memory_gb": 10.0})
    saved = savings(known, advice(known))
    assert saved.run_s == pytest.approx(7200.0)
    # 8 now; 4 slices x 0.5 x 2 h = 4 then.
    assert saved.gpu_hours == pytest.approx(4.0)


def test_a_cpu_bottleneck_is_not_answered_by_fewer_gpus() -> None:
    assert advice(overscaled(cpu=HOST | {"busy_cores_avg": 55.0})) == ()


def test_an_efficient_job_gets_no_advice() -> None:
    assert advice(facts([92.0] * 8, cpu=HOST)) == ()


def test_a_gpu_that_was_not_measured_is_not_advised_away() -> None:
    # Four of eight measured, one of them active: 1 + 4 unmeasured = 5.
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=4.0) for index in range(4)]
    fewer = advice(facts([], gpus=gpus, gpus_allocated=8, gpus_requested=8))[0]
    assert fewer.recommended_gpus == 5


def test_a_gpu_in_strong_bursts_counts_as_active() -> None:
    # 100 % for 40 % of the time: less than half of the run above 30, a mean of 40.
    bursty = gpu(0, 40.0, util_histogram_s={"100": 2880.0, "0": 4320.0}, peak_mem_gb=4.0)
    resting = [gpu(index, 0.0, peak_mem_gb=4.0) for index in range(1, 4)]
    assert advice(facts([], gpus=[bursty, *resting]))[0].recommended_gpus == 1


def test_host_memory_that_alone_raises_the_bill_is_trimmed() -> None:
    # 1 GPU, 7 cores, 256 GB: 4 slices, 2 an hour. Peak 30 GB: ceil(36) = 36 GB, 1 slice, 0.5 an hour. 2 h: 4 - 1 = 3.
    known = facts(
        [90.0],
        cpu={"cores_allocated": 7, "busy_cores_avg": 1.0, "peak_memory_gb": 30.0},
        cpus_allocated=7,
        memory_requested_gb=256.0,
        ntasks=1,
        request={"--gpus": "1", "--mem": "256G"},
    )
    (less,) = advice(known)
    assert (less.kind, less.recommended_gpus) == (RecommendationKind.HOST_MEMORY, None)
    assert diff(less) == ["--mem=256G -> --mem=36G"]
    assert savings(known, (less,)).gpu_hours == pytest.approx(3.0)


def test_host_memory_is_left_alone_where_it_ran_out_or_was_not_measured() -> None:
    shape = {"cpus_allocated": 7, "memory_requested_gb": 256.0, "request": {"--mem": "256G"}}
    assert advice(facts([90.0], cpu={"peak_memory_gb": 30.0, "oom_kills": 1}, **shape)) == ()
    assert advice(facts([90.0], cpu={}, **shape)) == ()


def test_walltime_is_the_run_and_a_fifth_to_the_next_quarter() -> None:
    # 1.2 x 7200 = 8640 s; the next 15 minutes end at 9000 s = 02:30:00.
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=86400, request={"--time": "1-00:00:00"})
    (shorter,) = advice(known)
    assert shorter.kind is RecommendationKind.WALLTIME
    assert diff(shorter) == ["--time=1-00:00:00 -> --time=02:30:00"]
    assert savings(known, (shorter,)) is None


def test_an_exclusive_small_job_is_told_to_share_the_node() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, request={"--gpus": "8", "--exclusive": ""})
    assert "--exclusive -> (leave out)" in diff(advice(known)[0])


def test_unknown_hardware_is_advised_without_a_bill() -> None:
    gpus = [gpu(index, 90.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    judged = assess(job_record(cluster="mini", partition="gpu"), metrics_of(node_payload(cluster="mini", gpus=gpus)))
    assert judged.recommendations[0].recommended_gpus == 2
    assert judged.savings is None


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.sampled_from(["small-g", "standard-g", "lumid"]))
def test_advice_never_asks_for_more_and_never_costs_more(utils: list[float], partition: str) -> None:
    known = facts([], gpus=[gpu(i, u, peak_mem_gb=u * 0.6) for i, u in enumerate(utils)], partition=partition)
    for recommendation in advice(known):
        assert 1 <= recommendation.wanted.gpus <= len(utils)
        assert recommendation.changes
    saved = savings(known, advice(known))
    assert saved is None or saved.gpu_hours >= 0


def test_the_users_own_runs_override_the_guess_of_overscaling() -> None:
    # 8 GPUs 7200 s, 2 GPUs 8000 s, 4 GPUs 5000 s. Work on 2: 16000 GPU-s; 4: 16000 / 20000 = 0.8 scales, 8: 16000 /
    # 57600 = 0.28 does not. So 4, where the guess from this run alone would be 2.
    known, past = overscaled(cpu=HOST), (ComparableRun(2, 8000.0), ComparableRun(4, 5000.0))
    fewer = recommendations(known, findings(known), past=past)[0]
    assert (fewer.recommended_gpus, fewer.basis) == (4, "own_scaling")
    saved = savings(known, (fewer,))
    # 8 GPU-hours now; 4 slices x 0.5 x 5000 / 3600 h = 2.77778.
    assert (saved.assumption, saved.run_s) == ("own_run_time", 5000.0)
    assert saved.gpu_hours == pytest.approx(8 - 2.77778, abs=1e-4)


def test_own_runs_that_show_scaling_silence_the_guess() -> None:
    known = overscaled(cpu=HOST)
    assert recommendations(known, findings(known), past=(ComparableRun(2, 28000.0),)) == ()


def test_runs_on_as_many_gpus_say_nothing_about_scaling() -> None:
    known = overscaled(cpu=HOST)
    (fewer, *_) = recommendations(known, findings(known), past=(ComparableRun(8, 7000.0),))
    assert fewer.basis == "overscaling"


def test_idle_gpus_are_counted_and_not_overridden() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus)
    assert recommendations(known, findings(known), past=(ComparableRun(4, 7300.0),))[0].recommended_gpus == 2


def test_the_longest_comparable_run_decides_the_walltime() -> None:
    # 1.2 x 12000 = 14400 s = 04:00:00, where this run alone would say 02:30:00.
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=86400, request={"--time": "24:00:00"})
    past = (ComparableRun(8, 12_000.0), ComparableRun(4, 50_000.0))
    (shorter,) = recommendations(known, findings(known), past=past)
    assert shorter.basis == "own_runs"
    assert diff(shorter) == ["--time=24:00:00 -> --time=04:00:00"]


def test_cores_that_alone_raise_the_bill_are_given_back() -> None:
    # 56 cores are 7 slices: 3.5 an hour. Seven are 1 slice: 0.5 an hour. 2 h: 7 - 1 = 6.
    known = facts(
        [90.0],
        cpu={"cores_allocated": 56, "busy_cores_avg": 2.0, "peak_memory_gb": 20.0},
        cpus_allocated=56,
        ntasks=1,
        memory_requested_gb=60.0,
        request={"--gpus": "1", "--cpus-per-task": "56", "--mem": "60G"},
    )
    (fewer,) = advice(known)
    assert (fewer.kind, fewer.basis) == (RecommendationKind.CORES, "busy_cores")
    assert diff(fewer) == ["--cpus-per-task=56 -> --cpus-per-task=7"]
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


def test_cores_and_memory_together_may_raise_the_bill_where_neither_does_alone() -> None:
    known = facts(
        [90.0],
        cpu={"cores_allocated": 32, "busy_cores_avg": 2.0, "peak_memory_gb": 20.0},
        cpus_allocated=32,
        ntasks=1,
        memory_requested_gb=256.0,
        request={"--gpus": "1", "--cpus-per-task": "32", "--mem": "256G"},
    )
    (fewer,) = advice(known)
    # 32 cores and 256 GB are 4 slices each; 7 cores and ceil(1.2 x 20) = 24 GB are one.
    assert fewer.basis == "host_share"
    assert diff(fewer) == ["--cpus-per-task=32 -> --cpus-per-task=7", "--mem=256G -> --mem=24G"]
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("asked_gb", "options", "expected"),
    [
        (64.0, {"--gpus": "4"}, ["(not set) -> --mem=77G"]),
        (200.0, {"--gpus": "4", "--mem": "200G"}, ["--mem=200G -> --mem=240G"]),
    ],
)
def test_memory_that_ran_out_grows_within_what_comes_with_the_gpus(
    asked_gb: float, options: dict, expected: list
) -> None:
    # 1.2 x 64 = 76.8 -> 77 GB; 1.2 x 200 = 240 GB is the share of four GPUs.
    cpu = {"cores_allocated": 28, "busy_cores_avg": 4.0, "peak_memory_gb": asked_gb, "oom_kills": 1}
    known = facts([50.0] * 4, cpu=cpu, memory_requested_gb=asked_gb, cpus_allocated=28, request=options)
    assert [diff(each) for each in advice(known)] == [expected]
    assert savings(known, advice(known)).gpu_hours == 0


def test_memory_that_ran_out_at_the_share_is_not_advised_to_cost_more() -> None:
    cpu = {"cores_allocated": 28, "busy_cores_avg": 4.0, "peak_memory_gb": 240.0, "oom_kills": 1}
    known = facts([50.0] * 4, cpu=cpu, memory_requested_gb=240.0, cpus_allocated=28, request={"--mem": "240G"})
    assert advice(known) == ()


def test_the_energy_of_idle_modules_that_are_given_back_is_told() -> None:
    # GPUs 0-1 work, the modules of 2-3, 4-5 and 6-7 idle at 100 W for 7200 s: 3 x 720 kJ.
    energy = [{"energy_j": 2_880_000.0}, {}, *[{"energy_j": 720_000.0}, {}] * 3]
    gpus = [gpu(i, 88.0 if i < 2 else 0.0, peak_mem_gb=4.0, **energy[i]) for i in range(8)]
    known = facts([], gpus=gpus)
    assert savings(known, advice(known)).energy_j == pytest.approx(2_160_000.0)
    # One of the three did not tell: a sum over two would be too low.
    gpus[2].pop("energy_j")
    known = facts([], gpus=gpus)
    assert savings(known, advice(known)).energy_j is None


def test_gpus_per_task_is_changed_where_one_task_holds_them_all() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, ntasks=1, request={"--gpus-per-task": "8", "--ntasks": "1"})
    assert diff(advice(known)[0]) == ["--gpus-per-task=8 -> --gpus-per-task=2"]


def test_memory_of_a_run_that_ran_out_of_it_is_not_advised_down() -> None:
    cpu = {"cores_allocated": 7, "busy_cores_avg": 1.0, "peak_memory_gb": 30.0}
    shape = {"cpus_allocated": 7, "memory_requested_gb": 256.0, "request": {"--mem": "256G"}}
    assert advice(facts([90.0], cpu=cpu, state="OUT_OF_MEMORY", **shape)) == ()


def test_a_run_that_the_system_ended_is_given_no_advice() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    cpu = {"cores_allocated": 56, "busy_cores_avg": 1.0, "peak_memory_gb": 30.0}
    assert advice(facts([], gpus=gpus, cpu=cpu, state="NODE_FAIL", memory_requested_gb=2000.0)) == ()


def test_memory_that_was_not_measured_is_not_taken_for_none() -> None:
    # Two work, two more are at 10 %: 20 + 20 GB fit on one GPU, but nobody knows what the other two hold: 1 + 2 = 3.
    known = [gpu(index, 90.0, peak_mem_gb=20.0) for index in range(2)]
    unknown = [gpu(index, 10.0, peak_mem_gb=None) for index in range(2, 4)]
    idle = [gpu(index, 0.0, peak_mem_gb=None) for index in range(4, 8)]
    (fewer, *_) = advice(facts([], gpus=[*known, *unknown, *idle]))
    assert (fewer.recommended_gpus, fewer.basis) == (3, "gpu_memory")


def test_cores_and_memory_whose_spelling_is_not_known_are_advised_in_the_plainest() -> None:
    # A record from accounting: no request, 32 cores and 256 GB beside one GPU.
    cpu = {"cores_allocated": 32, "busy_cores_avg": 2.0, "peak_memory_gb": 20.0}
    shape = {"cpus_allocated": 32, "memory_requested_gb": 256.0, "ntasks": 1}
    (fewer,) = advice(facts([90.0], cpu=cpu, request={}, **shape))
    assert diff(fewer) == ["--cpus-per-task=32 -> --cpus-per-task=7", "--mem=256G -> --mem=24G"]
    # More than the default of 64 GB was asked for somehow, even if the known options do not say how.
    (less,) = advice(
        facts([90.0], cpu=cpu | {"cores_allocated": 7}, request={"--gpus": "1"}, **shape | {"cpus_allocated": 7})
    )
    assert diff(less) == ["--mem=256G -> --mem=24G"]
