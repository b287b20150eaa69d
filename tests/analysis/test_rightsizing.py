"""How many GPUs to request next time, and where: in hand-computed shapes, bills and diffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.assess import assess
from analysis.comparable import ComparableRun
from analysis.findings import FindingCode
from analysis.rightsizing import Recommendation, recommendations
from analysis.rules import findings
from analysis.savings import savings
from tests.analysis.runs import SPELLED, advice, codes, diff, facts, metrics_of, of_nodes, over_time
from tests.payloads import gpu, job_record, node_payload

HOST = {"cores_allocated": 56, "busy_cores_avg": 7.9, "ranks": 8, "idle_fraction": 0.85, "peak_memory_gb": 80.2}
TWO_RANKS = HOST | {"ranks": 2}
TWO_OF_EIGHT = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]


def test_two_active_of_eight_asks_for_two_in_the_users_own_spelling() -> None:
    known = facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, request=SPELLED)
    (fewer,) = advice(known)
    # Two peaks of 14.2 GB fit on one GPU, the work fills two. Memory: the share of 2 GPUs, 120 GB, is above
    # 1.2 x 80.2 = 96.24; cores 2 x 7 = 14 are above 1.2 x 7.9 = 9.5, and two tasks of seven need no other line.
    assert (fewer.recommended_gpus, fewer.basis) == (2, "active_gpus")
    assert diff(fewer) == ["--gpus=8 -> --gpus=2", "--ntasks=8 -> --ntasks=2", "--mem=480G -> --mem=120G"]
    assert (fewer.wanted.cores, fewer.request) == (14, ())
    # Now 8 slices x 0.5 x 2 h = 8; then max(14 cores = 2, 120 GB = 2, 2 GPUs) x 0.5 x 2 h = 2.
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"--gpus-per-node": "8"}, "--gpus-per-node=8 -> --gpus-per-node=2"),
        ({"--gres": "gpu:8"}, "--gres=gpu:8 -> --gres=gpu:2"),
        ({"--gres": "gpu:mi250:8"}, "--gres=gpu:mi250:8 -> --gres=gpu:mi250:2"),
        ({"--gpus": "mi250:8"}, "--gpus=mi250:8 -> --gpus=mi250:2"),
    ],
)
def test_the_diff_keeps_the_spelling_of_the_request(options: dict, expected: str) -> None:
    request = {name: value for name, value in SPELLED.items() if name != "--gpus"} | options
    (fewer,) = advice(facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, request=request))
    assert diff(fewer) == [expected, "--ntasks=8 -> --ntasks=2", "--mem=480G -> --mem=120G"]


@pytest.mark.parametrize("options", [{}, {"--gpus": "8"}, {"--time": "03:00:00"}, {"--gpus": "8", "--mem": "480G"}])
def test_a_request_that_does_not_explain_the_run_is_answered_by_a_whole_block(options: dict) -> None:
    (fewer,) = advice(facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, request=options))
    assert fewer.changes == ()
    assert fewer.request == (
        "--partition=small-g",
        "--nodes=1",
        "--gpus-per-node=2",
        "--ntasks-per-node=2",
        "--cpus-per-task=7",
        "--mem=120G",
        "--time=03:00:00",
    )


def test_ranks_that_worked_stay_where_they_share_the_gpus() -> None:
    # Eight ranks kept 7.9 cores busy and shared two GPUs: at least half a core each.
    (fewer,) = advice(facts([], gpus=TWO_OF_EIGHT, cpu=HOST, request=SPELLED))
    assert (fewer.wanted.gpus, fewer.wanted.ntasks) == (2, 8)
    # Sixteen that kept 7.9 busy are no more than a launcher's.
    (waiting,) = advice(facts([], gpus=TWO_OF_EIGHT, cpu=HOST | {"ranks": 16}, request=SPELLED))
    assert (waiting.wanted.gpus, waiting.wanted.ntasks) == (2, 2)


@pytest.mark.parametrize(
    ("busy_cores", "cores"), [(20.0, 48), (24.0, None)], ids=["three cores a rank", "four would not fit"]
)
def test_tasks_that_stay_get_whole_cores_of_the_nodes_that_stay_or_nothing_is_advised(
    busy_cores: float, cores: int | None
) -> None:
    # Two nodes, 16 ranks, one GPU at work: 1.2 x 40 = 48 cores are 3 for each; 1.2 x 48 = 58 are more than a node has.
    cpu = {"cores_allocated": 56, "busy_cores_avg": busy_cores, "ranks": 8, "peak_memory_gb": 100.0}
    nodes = [
        node_payload(
            node=f"nid00512{row}",
            gpus=[gpu(i, 90.0 if row + i == 0 else 0.0, peak_mem_gb=4.0) for i in range(8)],
            cpu=cpu,
        )
        for row in (3, 0)
    ]
    assert [each.wanted.cores for each in advice(of_nodes(*nodes, request={}))] == ([] if cores is None else [cores])


def test_cores_for_each_task_are_rounded_down_where_a_node_has_no_more() -> None:
    # 12 ranks on one GPU that keep 35 cores busy: 42, 4 for each; with 40 busy 48. With 45 busy 54 are needed: 48 fit.
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=4.0) for index in range(8)]

    def wanted(busy_cores: float) -> list[int | None]:
        cpu = HOST | {"busy_cores_avg": busy_cores, "ranks": 12}
        given = advice(facts([], gpus=gpus, cpu=cpu, ntasks=12, cpus_allocated=56, request={}))
        return [each.wanted.cores for each in given]

    assert (wanted(35.0), wanted(40.0), wanted(45.0)) == ([48], [48], [])


def test_a_whole_node_with_one_busy_gpu_moves_to_the_shared_partition() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=2.0) for index in range(8)]
    options = {"--partition": "standard-g", "--nodes": "1", "--gpus": "8"}
    known = facts([], gpus=gpus, cpu=HOST | {"ranks": 1}, partition="standard-g", ntasks=1, request=options)
    (fewer,) = advice(known)
    # 1.2 x 7.9 = 9.5 cores are ten; 1.2 x 80.2 = 97 GB are more than the 64 GB that small-g gives without --mem.
    assert diff(fewer) == [
        "--partition=standard-g -> --partition=small-g",
        "--gpus=8 -> --gpus=1",
        "(not set) -> --cpus-per-task=10",
        "(not set) -> --mem=97G",
    ]
    # 97 GB and 10 cores are 2 slices: 1 an hour. Standard-g: 4 x 1 node x 2 h = 8; then 1 x 2 h = 2.
    assert savings(known, (fewer,)).gpu_hours == pytest.approx(6.0)


def test_memory_that_was_asked_for_and_fits_keeps_its_line_on_the_shared_partition() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=2.0) for index in range(8)]
    options = {"--partition": "standard-g", "--nodes": "1", "--gpus": "8", "--cpus-per-task": "7", "--mem": "97G"}
    quiet = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 1, "peak_memory_gb": 80.2}
    changes = {"partition": "standard-g", "ntasks": 1, "memory_requested_gb": 97.0, "request": options}
    (fewer,) = advice(facts([], gpus=gpus, cpu=quiet, **changes))
    assert not any("--mem" in line for line in diff(fewer))
    assert fewer.wanted.memory_gb == 97.0


def test_gpus_that_slurm_gave_unasked_leave_the_request_as_it_was() -> None:
    # standard-g gives the whole node: 4 asked, 8 held, 4 idle. The GPU option already fits; the partition does not.
    gpus = [gpu(index, 90.0 if index < 4 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    options = {"--partition": "standard-g", "--nodes": "1", "--gpus": "4"}
    known = facts([], gpus=gpus, cpu=HOST, partition="standard-g", gpus_requested=4, request=options)
    (moved,) = advice(known)
    assert diff(moved)[0] == "--partition=standard-g -> --partition=small-g"
    assert not any("--gpus" in line for line in diff(moved))
    # 28 cores = 4 slices, 240 GB = 4: 2 an hour instead of 4.
    assert savings(known, (moved,)).gpu_hours == pytest.approx(4.0)


def test_above_one_node_only_whole_nodes_are_advised() -> None:
    # 4 nodes of 8: 11 GPUs active need 2 nodes, 16 GPUs.
    utils = [[90.0] * 8, [90.0] * 3 + [0.0] * 5, [0.0] * 8, [0.0] * 8]
    names = [f"nid00512{index}" for index in range(4)]
    waiting = {"cores_allocated": 56, "busy_cores_avg": 2.0, "ranks": 8, "peak_memory_gb": 80.2}
    nodes = [
        node_payload(node=name, gpus=[gpu(i, util, peak_mem_gb=4.0) for i, util in enumerate(row)], cpu=waiting)
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


def test_without_work_on_gpu_or_cores_one_gpu_is_left() -> None:
    gpus = [gpu(index, 0.0, peak_mem_gb=0.1) for index in range(8)]
    (fewer,) = advice(facts([], gpus=gpus, cpu=HOST | {"busy_cores_avg": 5.8}, request=SPELLED))
    # 1.2 x 5.8 = 6.96 cores come with one GPU.
    assert (fewer.recommended_gpus, fewer.basis, fewer.wanted.cores) == (1, "no_gpu_use", 7)


def test_work_on_the_cores_of_a_gpu_node_belongs_on_the_cpu_partition_with_all_its_cores() -> None:
    gpus = [gpu(index, 0.0, peak_mem_gb=0.1) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST | {"busy_cores_avg": 40.0}, request=SPELLED)
    (moved,) = advice(known)
    assert (moved.recommended_gpus, moved.basis) == (0, "cpu_work")
    # 1.2 x 40 = 48 cores, six for each of eight tasks; 1.2 x 80.2 = 97 GB.
    block = "--partition=small --nodes=1 --ntasks-per-node=8 --cpus-per-task=6 --mem=97G --time=03:00:00"
    assert " ".join(moved.request) == block
    assert moved.changes == ()
    # The price of that partition is not known: nothing is claimed.
    assert savings(known, (moved,)) is None
    busiest = advice(facts([], gpus=gpus, cpu=HOST | {"busy_cores_avg": 55.0}, request=SPELLED))[0]
    assert busiest.wanted.cores == 56


@pytest.mark.parametrize(("busy_cores", "basis"), [(5.83, "no_gpu_use"), (5.84, "cpu_work")])
def test_work_of_more_cores_than_come_with_one_gpu_lives_on_them(busy_cores: float, basis: str) -> None:
    # 1.2 x 5.84 = 7.008: eight cores.
    gpus = [gpu(index, 0.0, peak_mem_gb=0.1) for index in range(8)]
    assert advice(facts([], gpus=gpus, cpu=HOST | {"busy_cores_avg": busy_cores}))[0].basis == basis


def test_cores_that_were_not_measured_move_nothing_to_the_cpu_partition() -> None:
    gpus = [gpu(index, 0.0, peak_mem_gb=0.1) for index in range(8)]
    assert advice(facts([], gpus=gpus, cpu={}))[0].basis == "no_gpu_use"


def test_whole_nodes_that_were_asked_for_stay_whole() -> None:
    nodes = [
        node_payload(
            node=f"nid00512{row}",
            gpus=[gpu(i, 90.0 if row == 3 else 0.0, peak_mem_gb=4.0) for i in range(8)],
            cpu=HOST | {"busy_cores_avg": 2.0},
        )
        for row in (3, 4)
    ]
    options = {"--gpus-per-node": "8", "--nodes": "2", "--exclusive": "", "--partition": "small-g"}
    (fewer,) = advice(of_nodes(*nodes, partition="small-g", is_exclusive=True, request=options))
    assert (fewer.wanted.nodes, fewer.wanted.gpus, fewer.wanted.is_exclusive) == (1, 8, True)


def test_an_efficient_job_gets_no_advice() -> None:
    assert advice(facts([92.0] * 8, cpu=HOST)) == ()


@pytest.mark.parametrize("state", ["FAILED", "CANCELLED"])
def test_a_run_that_ended_early_is_given_no_advice_on_gpus(state: str) -> None:
    early = facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, state=state, walltime_used_s=599)
    assert advice(early) == ()
    late = facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, state=state, walltime_used_s=600)
    assert advice(late)[0].recommended_gpus == 2


def test_a_run_that_the_system_ended_is_given_no_advice() -> None:
    cpu = {"cores_allocated": 56, "busy_cores_avg": 1.0, "peak_memory_gb": 30.0}
    for state in ("NODE_FAIL", "REQUEUED"):
        assert advice(facts([], gpus=TWO_OF_EIGHT, cpu=cpu, state=state, memory_requested_gb=2000.0)) == ()


def test_one_idle_gpu_is_something_to_look_at_and_not_a_size() -> None:
    gpus = [gpu(index, 90.0 if index < 7 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST | {"ranks": 7}, request=SPELLED)
    assert codes(known) == {FindingCode.IDLE_GPUS}
    assert advice(known) == ()


def test_a_count_that_the_ranks_have_proven_may_be_odd_where_two_gpus_or_more_are_left() -> None:
    for active, ranks, expected in ((6, 6, 6), (3, 3, 3), (3, 2, 4), (5, 5, 5), (5, 8, None)):
        gpus = [gpu(index, 90.0 if index < active else 0.0, peak_mem_gb=4.0) for index in range(8)]
        given = advice(facts([], gpus=gpus, cpu=HOST | {"ranks": ranks, "busy_cores_avg": 1.0}, request=SPELLED))
        assert [each.recommended_gpus for each in given] == ([] if expected is None else [expected])


def test_gpus_that_hand_their_work_over_keep_their_count() -> None:
    rows = ([90.0] * 60 + [0.0] * 60, [0.0] * 60 + [90.0] * 60)
    shape = {"cpus_allocated": 14, "memory_requested_gb": 120.0, "ntasks": 2}
    assert advice(facts([], gpus=over_time(*rows), cpu=HOST | {"ranks": 2}, **shape)) == ()


def test_an_exclusive_small_job_is_told_to_share_the_node() -> None:
    gpus = [gpu(index, 90.0 if index == 0 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    options = SPELLED | {"--exclusive": "", "--nodes": "1"}
    (fewer,) = advice(facts([], gpus=gpus, cpu=HOST | {"ranks": 1}, request=options))
    assert "--exclusive -> (leave out)" in diff(fewer)
    assert not fewer.wanted.is_exclusive


def test_unknown_hardware_is_advised_without_a_bill() -> None:
    gpus = [gpu(index, 90.0 if index < 2 else 0.0, peak_mem_gb=4.0) for index in range(8)]
    judged = assess(job_record(cluster="mini", partition="gpu"), metrics_of(node_payload(cluster="mini", gpus=gpus)))
    assert judged.recommendations[0].recommended_gpus == 2
    assert judged.savings is None


def test_gpus_per_task_is_changed_where_one_task_holds_them_all() -> None:
    options = {"--gpus-per-task": "8", "--ntasks": "1", "--cpus-per-task": "56", "--mem": "480G"}
    known = facts([], gpus=TWO_OF_EIGHT, cpu=TWO_RANKS, ntasks=1, request=options)
    assert diff(advice(known)[0])[0] == "--gpus-per-task=8 -> --gpus-per-task=2"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.sampled_from(["small-g", "standard-g", "lumid"]))
def test_advice_never_asks_for_more_and_never_costs_more(utils: list[float], partition: str) -> None:
    known = facts([], gpus=[gpu(i, u, peak_mem_gb=u * 0.6) for i, u in enumerate(utils)], partition=partition)
    for recommendation in advice(known):
        assert (recommendation.basis == "cpu_work") == (recommendation.wanted.gpus == 0)
        assert recommendation.wanted.gpus <= len(utils)
        assert bool(recommendation.changes) != bool(recommendation.request)
    saved = savings(known, advice(known))
    assert saved is None or saved.gpu_hours > 0


def test_idle_gpus_are_counted_and_not_overridden() -> None:
    known = facts([], gpus=TWO_OF_EIGHT)
    assert recommendations(known, findings(known), past=(ComparableRun(4, 7300.0),))[0].recommended_gpus == 2


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


def of_first_node(count: int, host: dict[str, Any], ntasks_per_node: int) -> Sequence[Recommendation]:
    """The advice to a run on whole nodes of standard-g whose first node alone works: 8 GPUs, 56 cores, 480 GB each."""
    names = [f"nid{5123 + index:06d}" for index in range(count)]
    nodes = [
        node_payload(
            node=name,
            gpus=[gpu(i, 90.0 if name == names[0] else 0.0, peak_mem_gb=20.0) for i in range(8)],
            cpu=HOST | host,
        )
        for name in names
    ]
    cores = str(56 // ntasks_per_node)
    record = job_record(
        partition="standard-g",
        nodes=names,
        node_count=count,
        gpus_requested=8 * count,
        gpus_allocated=8 * count,
        ntasks=ntasks_per_node * count,
        cpus_allocated=56 * count,
        memory_requested_gb=480.0 * count,
        request={
            **{"--nodes": str(count), "--gpus-per-node": "8"},
            **{"--ntasks-per-node": str(ntasks_per_node), "--cpus-per-task": cores},
        },
    )
    return assess(record, metrics_of(*nodes)).recommendations


def test_a_launcher_stays_one_a_node() -> None:
    # One torchrun a node drives all its GPUs: node 1 works, node 2 never joined. Two tasks would start it twice.
    (fewer,) = of_first_node(2, {"ranks": 1}, ntasks_per_node=1)
    assert (fewer.wanted.nodes, fewer.wanted.ntasks) == (1, 1)
    assert diff(fewer) == ["--nodes=2 -> --nodes=1"]


def test_the_next_larger_count_is_advised_where_the_hosts_of_few_are_too_small() -> None:
    # The 8 GPUs of node 1 work; 30 cores are busy on each of 4 nodes: 1.2 x 120 = 144 need three nodes of 56, which do
    # not divide 4, so all four stay. With 20 busy on each, 96 cores fit on two.
    def advised_nodes(busy: float) -> list[int]:
        host = {"busy_cores_avg": busy, "ranks": 8, "peak_memory_gb": 80.0}
        return [advice.wanted.nodes for advice in of_first_node(4, host, ntasks_per_node=8)]

    assert (advised_nodes(30.0), advised_nodes(20.0)) == ([], [2])


def test_where_the_request_is_not_known_the_limits_of_the_nodes_and_what_was_used_stay() -> None:
    # Slurm's record says nothing of cores and memory; the node's own limits are 56 cores and 480 GB, of which 28 cores
    # were busy and 456 GB used. Two of eight GPUs worked: 34 cores (1.2 x 28) and all 480 GB (1.2 x 456 is more) stay.
    cpu = {"cores_allocated": 56, "busy_cores_avg": 28.0, "peak_memory_gb": 456.0, "memory_limit_gb": 480.0}
    gpus = [gpu(i, 90.0 if i < 2 else 0.0, peak_mem_gb=4.0) for i in range(8)]
    known = facts([], gpus=gpus, cpu=cpu, request={}, cpus_allocated=None, memory_requested_gb=None, ntasks=None)
    fewer = advice(known)[0]
    assert (fewer.recommended_gpus, fewer.wanted.cores, fewer.wanted.memory_gb) == (2, 34, 480.0)
    # max(ceil(56 / 8), ceil(480 / 64), 8 GPUs) = 8 slices: 8 x 0.5 x 2 h = 8.
    assert known.gpu_hours == pytest.approx(8.0)


def test_a_share_is_never_less_than_what_was_used() -> None:
    # Neither Slurm nor the node names a limit: 7 cores and 60 GB would come with one GPU; 28 and 456 were used.
    cpu = {"busy_cores_avg": 28.0, "peak_memory_gb": 456.0}
    known = facts([90.0], cpu=cpu, request={}, cpus_allocated=None, memory_requested_gb=None)
    assert (known.held.cores, known.held.memory_gb) == (28, 456.0)


def test_a_line_has_one_new_value_where_size_and_time_change() -> None:
    # Support extended the limit: 1 h in the request, 4 h in the end.
    gpus = [gpu(i, 90.0 if i < 2 else 0.0, peak_mem_gb=4.0) for i in range(8)]
    request = {"--gpus": "8", "--ntasks": "8", "--cpus-per-task": "7", "--mem": "480G", "--time": "01:00:00"}
    known = facts([], gpus=gpus, cpu=HOST, ntasks=8, request=request, walltime_requested_s=14400)
    lines = [line for one in advice(known) for line in diff(one)]
    assert [line for line in lines if line.startswith("--time")] == ["--time=01:00:00 -> --time=02:30:00"]


def test_a_move_to_another_partition_has_to_lower_the_bill() -> None:
    # Four of eight GPUs of a whole node work, but 456 GB of host memory are used: on small-g 480 GB are 8 slices, 4
    # GPU-hours an hour, what the whole node costs.
    gpus = [gpu(i, 90.0 if i < 4 else 0.0, peak_mem_gb=4.0) for i in range(8)]
    host = HOST | {"peak_memory_gb": 456.0}
    assert advice(facts([], gpus=gpus, cpu=host, partition="standard-g", request={"--gpus": "8"})) == ()


def test_page_cache_is_no_need_of_memory() -> None:
    # 256 GB requested for one GPU, 200 GB touched of which 30 GB were the program's own: 1.2 x 30 = 36 GB, one slice.
    cpu = {"cores_allocated": 7, "busy_cores_avg": 1.0, "peak_memory_gb": 200.0, "peak_memory_anon_gb": 30.0}
    request = {"--gpus": "1", "--cpus-per-task": "7", "--ntasks": "1", "--mem": "256G"}
    shape = {"cpus_allocated": 7, "memory_requested_gb": 256.0, "ntasks": 1, "request": request}
    (less,) = advice(facts([90.0], cpu=cpu, **shape))
    assert diff(less) == ["--mem=256G -> --mem=36G"]
    # What the kernel killed for memory needed all of it.
    assert facts([90.0], cpu=cpu | {"oom_kills": 1}, **shape).host_peaks_gb.tolist() == [200.0]
