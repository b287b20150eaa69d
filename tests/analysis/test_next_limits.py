"""Time limits, cores and host memory to request next time: less where unused, more where they ran out."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.comparable import ComparableRun
from analysis.findings import FindingCode
from analysis.rightsizing import RecommendationKind, recommendations
from analysis.rules import findings
from analysis.savings import savings
from reports.advice import reason
from tests.analysis.runs import SPELLED, advice, diff, facts, over_time
from tests.payloads import gpu

HOST = {"cores_allocated": 56, "busy_cores_avg": 7.9, "ranks": 8, "idle_fraction": 0.85, "peak_memory_gb": 80.2}


def one_gpu(peak_gb: float | None, busy: float = 1.0, **changes: Any) -> Any:
    """One GPU with 7 cores and 256 GB, all of it spelled out."""
    options = {"--gpus": "1", "--cpus-per-task": "7", "--mem": "256G"}
    shape = {"cpus_allocated": 7, "memory_requested_gb": 256.0, "ntasks": 1, "request": options} | changes
    cpu = {"cores_allocated": shape["cpus_allocated"], "busy_cores_avg": busy, "peak_memory_gb": peak_gb, "ranks": 1}
    return facts([90.0], cpu=cpu | shape.pop("cpu", {}), **shape)


def test_host_memory_that_alone_raises_the_bill_is_trimmed() -> None:
    # 1 GPU, 7 cores, 256 GB: 4 slices, 2 an hour. Peak 30 GB: ceil(36) = 36 GB, 1 slice, 0.5 an hour. 2 h: 4 - 1 = 3.
    known = one_gpu(30.0)
    (less,) = advice(known)
    assert (less.kind, less.recommended_gpus) == (RecommendationKind.HOST_MEMORY, None)
    assert diff(less) == ["--mem=256G -> --mem=36G"]
    assert savings(known, (less,)).gpu_hours == pytest.approx(3.0)


OWN_RUNS = (ComparableRun(1, 7000.0, 50.0), ComparableRun(1, 7000.0, 90.0), ComparableRun(2, 1.0, 200.0))


def test_own_runs_that_needed_more_host_memory_keep_it() -> None:
    # 1.2 x 90 = 108 GB of an earlier run on as many GPUs, where this one alone would leave 36.
    known = one_gpu(30.0)
    (less,) = recommendations(known, findings(known), past=OWN_RUNS)
    assert diff(less) == ["--mem=256G -> --mem=108G"]
    assert reason(less, known).startswith("Your comparable runs used up to 90.0 GB, and the job used 30.0 GB of the")


def test_cores_that_alone_raise_the_bill_are_given_back() -> None:
    # 56 cores are 7 slices: 3.5 an hour. Seven are 1 slice: 0.5 an hour. 2 h: 7 - 1 = 6.
    options = {"--gpus": "1", "--cpus-per-task": "56", "--mem": "60G"}
    known = one_gpu(20.0, 2.0, cpus_allocated=56, memory_requested_gb=60.0, request=options)
    (fewer,) = advice(known)
    assert (fewer.kind, fewer.basis) == (RecommendationKind.CORES, "busy_cores")
    assert diff(fewer) == ["--cpus-per-task=56 -> --cpus-per-task=7"]
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


def test_cores_that_were_busy_are_kept_with_a_fifth_more() -> None:
    # 1.2 x 15 = 18 cores are 3 slices; 56 were 7.
    options = {"--gpus": "1", "--cpus-per-task": "56", "--mem": "60G"}
    known = one_gpu(20.0, 15.0, cpus_allocated=56, memory_requested_gb=60.0, request=options)
    assert diff(advice(known)[0]) == ["--cpus-per-task=56 -> --cpus-per-task=18"]


BOTH = {
    "cpus_allocated": 32,
    "memory_requested_gb": 256.0,
    "request": {"--gpus": "1", "--cpus-per-task": "32", "--mem": "256G"},
}


def test_cores_and_memory_together_may_raise_the_bill_where_neither_does_alone() -> None:
    known = one_gpu(20.0, 2.0, **BOTH)
    (fewer,) = advice(known)
    # 32 cores and 256 GB are 4 slices each; 7 cores and ceil(1.2 x 20) = 24 GB are one.
    assert fewer.basis == "host_share"
    assert diff(fewer) == ["--cpus-per-task=32 -> --cpus-per-task=7", "--mem=256G -> --mem=24G"]
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(3.0)


def test_cores_and_memory_whose_spelling_is_not_known_are_advised_as_a_whole_request() -> None:
    # A record from accounting: no request, 32 cores and 256 GB beside one GPU.
    (fewer,) = advice(one_gpu(20.0, 2.0, **BOTH | {"request": {}}))
    assert fewer.changes == ()
    block = "--partition=small-g --nodes=1 --gpus-per-node=1 --ntasks-per-node=1 --cpus-per-task=7 --mem=24G"
    assert " ".join(fewer.request) == f"{block} --time=03:00:00"
    # More than the default of 64 GB was asked for somehow, even if the known options do not say how.
    (less,) = advice(one_gpu(20.0, 2.0, request={"--gpus": "1"}))
    assert "--mem=24G" in less.request


def test_host_memory_that_was_not_measured_is_left_alone() -> None:
    assert advice(one_gpu(None)) == ()


FOUR = {"cpus_allocated": 28, "ntasks": 4}
FOUR_OPTIONS = {"--gpus": "4", "--ntasks": "4", "--cpus-per-task": "7"}


def ran_out(memory_gb: float, **changes: Any) -> Any:
    """Four GPUs whose host memory ran out at `memory_gb`."""
    cpu = {"cores_allocated": 28, "busy_cores_avg": 4.0, "peak_memory_gb": memory_gb, "oom_kills": 1}
    return facts([50.0] * 4, cpu=cpu, memory_requested_gb=memory_gb, **FOUR | changes)


@pytest.mark.parametrize(
    ("held_gb", "options", "expected"),
    [
        (64.0, {}, "(not set) -> --mem=240G"),
        (200.0, {"--mem": "200G"}, "--mem=200G -> --mem=240G"),
        (239.0, {"--mem": "239G"}, "--mem=239G -> --mem=240G"),
    ],
)
def test_memory_that_ran_out_is_offered_all_that_comes_free_with_the_gpus(
    held_gb: float, options: dict, expected: str
) -> None:
    # 4 of 8 GPUs: half of 480 GB.
    known = ran_out(held_gb, request=FOUR_OPTIONS | options)
    (more,) = advice(known)
    assert (more.kind, more.basis) == (RecommendationKind.HOST_MEMORY, "out_of_memory")
    assert diff(more) == [expected]
    # 4 slices before and after: nothing is claimed.
    assert savings(known, (more,)) is None


@pytest.mark.parametrize(("held_gb", "more_gb"), [(240.0, 384.0), (256.0, 384.0), (384.0, 480.0)])
def test_memory_that_ran_out_at_the_share_is_tried_with_half_as_much_again_in_billed_slices(
    held_gb: float, more_gb: float
) -> None:
    # 1.5 x 240 = 360 -> 384 GB in slices of 64; 1.5 x 384 = 576, and the node has 480.
    known = ran_out(held_gb, request=FOUR_OPTIONS | {"--mem": f"{held_gb:.0f}G"})
    (more,) = advice(known)
    assert (more.basis, more.wanted.memory_gb) == ("more_memory", more_gb)
    assert more.evidence["share_gb"] == 240.0
    assert savings(known, (more,)) is None


def test_memory_that_ran_out_on_all_of_a_node_cannot_grow() -> None:
    assert advice(ran_out(480.0, request=FOUR_OPTIONS | {"--mem": "480G"})) == ()


def test_no_gpu_is_cut_and_no_memory_trimmed_beside_memory_that_ran_out() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=2.0) for index in range(8)]
    (more,) = advice(facts([], gpus=gpus, cpu=HOST | {"oom_kills": 1}, memory_requested_gb=64.0, request={}))
    assert (more.basis, more.wanted.gpus, more.wanted.memory_gb) == ("out_of_memory", 8, 480.0)
    (by_state,) = advice(one_gpu(30.0, state="OUT_OF_MEMORY"))
    assert (by_state.basis, by_state.wanted.memory_gb) == ("more_memory", 384.0)


def test_no_gpu_is_cut_beside_gpu_memory_that_ran_out() -> None:
    gpus = [
        *(each | {"peak_mem_gb": 63.5} for each in over_time([90.0] * 120, [90.0] * 120, mem_gb=[63.0] * 120)),
        *(gpu(index, 0.0, peak_mem_gb=0.2) for index in range(2, 8)),
    ]
    assert advice(facts([], gpus=gpus, cpu=HOST, state="FAILED", exit_code="1:0", request=SPELLED)) == ()
    assert advice(facts([], gpus=gpus, cpu=HOST, request=SPELLED))[0].recommended_gpus == 2


def test_walltime_is_the_run_and_a_fifth_to_the_next_quarter() -> None:
    # 1.2 x 7200 = 8640 s; the next 15 minutes end at 9000 s = 02:30:00.
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=86400, request={"--time": "1-00:00:00"})
    (shorter,) = advice(known)
    assert (shorter.kind, shorter.basis) == (RecommendationKind.WALLTIME, "run_time")
    assert diff(shorter) == ["--time=1-00:00:00 -> --time=02:30:00"]
    assert savings(known, (shorter,)) is None


def test_the_longest_comparable_run_decides_the_walltime() -> None:
    # 1.2 x 12000 = 14400 s = 04:00:00, where this run alone would say 02:30:00.
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=86400, request={"--time": "24:00:00"})
    past = (ComparableRun(8, 12_000.0), ComparableRun(4, 50_000.0))
    (shorter,) = recommendations(known, findings(known), past=past)
    assert shorter.basis == "own_runs"
    assert diff(shorter) == ["--time=24:00:00 -> --time=04:00:00"]


def test_a_limit_that_a_longer_own_run_needs_is_not_shortened() -> None:
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=14_400)
    assert len(recommendations(known, findings(known))) == 1
    assert recommendations(known, findings(known), past=(ComparableRun(8, 12_000.0),)) == ()


def test_a_shorter_limit_and_fewer_gpus_are_one_request() -> None:
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    cpu = HOST | {"ranks": 2}
    limit = {"walltime_requested_s": 86_400}
    spelled = facts([], gpus=gpus, cpu=cpu, request=SPELLED | {"--time": "24:00:00"}, **limit)
    fewer, shorter = advice(spelled)
    assert diff(shorter) == ["--time=24:00:00 -> --time=02:30:00"]
    assert not any("--time" in line for line in diff(fewer))
    assert (shorter.wanted.gpus, shorter.wanted.walltime_s) == (2, 9000.0)
    fewer, shorter = advice(facts([], gpus=gpus, cpu=cpu, request={}, **limit))
    assert fewer.request == shorter.request
    assert {"--gpus-per-node=2", "--time=02:30:00"} <= set(fewer.request)


TIMED_OUT = {"state": "TIMEOUT", "walltime_used_s": 10_800, "request": SPELLED}


def test_a_run_that_worked_until_its_limit_is_tried_with_half_as_much_again() -> None:
    # 1.5 x 10,800 = 16,200 s = 04:30:00.
    (longer,) = advice(facts([88.0] * 8, cpu=HOST, **TIMED_OUT))
    assert (longer.kind, longer.basis) == (RecommendationKind.WALLTIME, "more_time")
    assert diff(longer) == ["--time=03:00:00 -> --time=04:30:00"]


def test_own_longer_runs_say_how_much_time_the_work_needs() -> None:
    # 1.2 x 14,000 = 16,800 s -> 17,100 s = 04:45:00; what other numbers of GPUs took, or shorter runs, say nothing.
    known = facts([88.0] * 8, cpu=HOST, **TIMED_OUT)
    past = (ComparableRun(8, 14_000.0), ComparableRun(4, 90_000.0))
    (longer,) = recommendations(known, findings(known), past=past)
    assert (longer.basis, diff(longer)) == ("own_longer_runs", ["--time=03:00:00 -> --time=04:45:00"])
    (guessed,) = recommendations(known, findings(known), past=(ComparableRun(8, 10_800.0),))
    assert guessed.basis == "more_time"


def test_a_trial_is_advised_on_its_size_and_never_on_its_limit() -> None:
    """A trial is as long as somebody chose; what it shows is whether another number of GPUs is as good."""
    long, cut = {"walltime_requested_s": 86_400}, {"state": "TIMEOUT", "walltime_requested_s": 10_800}
    for changes in (long | {"walltime_used_s": 7200}, cut | TIMED_OUT):
        kinds = {}
        for name in ("train", "train-kaiku-trial-8"):
            given = facts([], gpus=over_time([90.0] * 120), job_name=name, **changes)
            kinds[name] = [one.kind for one in advice(given)], {finding.code for finding in findings(given)}
        assert RecommendationKind.WALLTIME in kinds["train"][0]
        assert RecommendationKind.WALLTIME not in kinds["train-kaiku-trial-8"][0]
        assert kinds["train-kaiku-trial-8"][1].isdisjoint({FindingCode.TIMEOUT, FindingCode.WALLTIME_OVERREQUEST})


def test_more_time_ends_at_the_partitions_limit() -> None:
    # small-g: 3 days.
    two_days = {"walltime_requested_s": 180_000, "walltime_used_s": 180_000}
    (longer,) = advice(facts([88.0] * 8, cpu=HOST, **TIMED_OUT | two_days))
    assert longer.wanted.walltime_s == 259_200
    three_days = {"walltime_requested_s": 259_200, "walltime_used_s": 259_200}
    assert advice(facts([88.0] * 8, cpu=HOST, **TIMED_OUT | three_days)) == ()


@pytest.mark.parametrize(
    ("gpus", "changes"),
    [
        ([gpu(i, 99.0, **({"power_avg_w": 120.0} if i % 2 == 0 else {})) for i in range(8)], {}),
        (over_time(*[[90.0] * 60 + [0.0] * 60] * 8), {}),
        ([gpu(i, 88.0) for i in range(8)], {"job_name": "interactive"}),
        ([gpu(i, 88.0) for i in range(8)], {"walltime_requested_s": None}),
        ([gpu(i, 88.0) for i in range(8)], {"state": "COMPLETED"}),
    ],
    ids=["spinning", "idle at the end", "interactive", "no limit", "completed"],
)
def test_a_run_that_spun_or_idled_or_had_a_person_at_it_is_not_told_to_take_more_time(
    gpus: list, changes: dict
) -> None:
    given = advice(facts([], gpus=gpus, cpu=HOST, **TIMED_OUT | changes))
    assert RecommendationKind.WALLTIME not in {each.kind for each in given}


@pytest.mark.parametrize(("cores", "raises"), [(7, 1), (32, 0)])
def test_more_memory_says_whether_it_raises_the_bill(cores: int, raises: int) -> None:
    # One GPU, 60 GB: half as much again is 90, in slices of 64 GB 128: two slices. 7 cores are one, 32 cores four.
    cpu = {"cores_allocated": cores, "busy_cores_avg": 2.0, "peak_memory_gb": 60.0, "oom_kills": 1}
    known = facts([80.0], cpu=cpu, state="OUT_OF_MEMORY", cpus_allocated=cores, memory_requested_gb=60.0)
    (more,) = recommendations(known, findings(known))
    assert (more.wanted.memory_gb, more.evidence["raises_bill"]) == (128.0, raises)


def test_a_cut_of_gpus_by_guess_leaves_time_for_the_slower_trial() -> None:
    # 8 GPUs at 17.5 % fit on two; the run took 2 h of 2 d. On a quarter of the GPUs it may take 8 h: 1.2 x 8 = 9.6 h,
    # to the next quarter of an hour 09:45.
    gpus = [gpu(index, 17.5, peak_mem_gb=4.0) for index in range(8)]
    request = SPELLED | {"--time": "2-00:00:00"}
    known = facts([], gpus=gpus, cpu={"idle_fraction": 0.9}, walltime_requested_s=172_800, request=request)
    lines = [line for one in advice(known) for line in diff(one)]
    assert [line for line in lines if line.startswith("--time")] == ["--time=2-00:00:00 -> --time=09:45:00"]


def test_a_run_that_its_limit_ended_is_not_sent_to_fewer_gpus_by_guess() -> None:
    gpus = [gpu(index, 17.5, peak_mem_gb=4.0) for index in range(8)]
    assert [one.basis for one in advice(facts([], gpus=gpus, state="TIMEOUT"))] == []


def test_no_size_is_advised_from_less_than_half_of_a_run() -> None:
    # Two of eight GPUs worked, seen for 3599 s and 3600 s of 7200 s.
    def bases(measured_s: float) -> list[str]:
        seen = {"peak_mem_gb": 4.0, "measured_s": measured_s}
        idle = seen | {"idle_s": measured_s, "active_s": 0.0}
        gpus = [gpu(index, 90.0, **seen) if index < 2 else gpu(index, 0.0, **idle) for index in range(8)]
        return [one.basis for one in advice(facts([], gpus=gpus))]

    assert (bases(3599.0), bases(3600.0)) == ([], ["active_gpus"])


def test_own_runs_that_still_gain_deny_that_there_were_too_many_gpus() -> None:
    # 2 GPUs took 28000 s, 8 take 7200 s: 56000 / 57600 of the speed a GPU.
    known = facts([], gpus=[gpu(index, 17.5, peak_mem_gb=4.0) for index in range(8)])
    codes = {finding.code.value for finding in findings(known, past=(ComparableRun(2, 28_000.0),))}
    assert "overscaling" not in codes
    assert "overscaling" in {finding.code.value for finding in findings(known, past=(ComparableRun(2, 7200.0),))}


@pytest.mark.parametrize(
    ("written", "used_s", "expected"),
    [
        # The limit was raised to 90 min after the job was submitted: 1.2 x 3000 s are exactly the written hour.
        ("01:00:00", 3000.0, None),
        ("60", 3000.0, None),
        # One second more is the next quarter of an hour, one quarter less the one before.
        ("01:00:00", 3001.0, ["--time=01:00:00 -> --time=01:15:00"]),
        ("01:00:00", 2250.0, ["--time=01:00:00 -> --time=00:45:00"]),
    ],
)
def test_a_time_limit_that_is_written_already_is_no_suggestion(written: str, used_s: float, expected) -> None:
    known = facts(
        [90.0] * 8,
        walltime_used_s=used_s,
        walltime_requested_s=5400.0,
        request={"--gpus-per-node": "8", "--ntasks-per-node": "8", "--time": written},
    )
    advised = advice(known)
    assert ([diff(each) for each in advised] or [None])[0] == expected
