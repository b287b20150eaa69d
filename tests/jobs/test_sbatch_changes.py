"""The lines to change and the block to request: applied, they give exactly the shape that a saving is computed from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobs.hardware import partition_of
from jobs.sbatch import (
    OptionChange,
    Shape,
    apply,
    changes_to,
    explains,
    parse_block,
    refusal,
    request_block,
    rounded,
    shape_of,
    walltime_text,
)

NODE_GPUS, NODE_CORES, NODE_GB, THREADS = 8, 56, 480, 2
SMALL, STANDARD = partition_of("lumi", "small-g"), partition_of("lumi", "standard-g")
PARTITIONS = {"small-g": SMALL, "standard-g": STANDARD}


def lines(request: dict[str, str], wanted: Shape, partition: str = "") -> list[str] | None:
    """The diff from what the request gives on its partition to `wanted`."""
    name = partition or request.get("--partition", "small-g")
    now = shape_of(request, PARTITIONS[name], Shape(1, 1, partition=name), THREADS)
    assert now is not None
    wanted = wanted if wanted.partition else replace(wanted, partition=name)
    changes = changes_to(request, now, wanted, PARTITIONS[name], PARTITIONS[wanted.partition], THREADS)
    return None if changes is None else [str(change) for change in changes]


@st.composite
def shapes(draw: st.DrawFn, most: Shape, partition: str) -> Shape:
    """Shapes of at most as many nodes, GPUs and tasks as `most` that the partition's nodes can hold."""
    nodes = draw(st.integers(1, most.nodes))
    per_node = draw(st.integers(1, 8))
    gpus = draw(st.sampled_from([nodes * min(per_node, NODE_GPUS), *range(nodes, nodes * NODE_GPUS + 1)]))
    ntasks = draw(st.integers(nodes, nodes * 8))
    cores = ntasks * draw(st.integers(1, NODE_CORES // 8))
    memory_gb = float(nodes * draw(st.integers(1, NODE_GB)))
    walltime_s = draw(st.integers(1, 192)) * 900.0
    shape = Shape(nodes, min(gpus, max(most.gpus, nodes)), ntasks, cores, memory_gb, walltime_s, partition)
    return replace(shape, cores=nodes * NODE_CORES) if partition == "standard-g" else shape


@st.composite
def requests(draw: st.DrawFn) -> dict[str, str]:
    """Requests in all spellings; some give no shape."""
    nodes, per_node, tasks = draw(st.integers(1, 4)), draw(st.integers(1, 8)), draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["", "mi250:"]))
    gpus = draw(
        st.sampled_from(
            [
                {"--gpus": f"{kind}{nodes * per_node}"},
                {"--gpus-per-node": f"{kind}{per_node}"},
                {"--gpus-per-node": f"{kind}{per_node}", "--gpus": f"{kind}{nodes * per_node}"},
                {"--gres": f"gpu:{kind}{per_node}"},
                {"--gres": f"nvme:1,gpu:{kind}{per_node}"},
                {"--gpus-per-socket": f"{kind}{per_node}"},
                {"--gpus-per-task": f"{kind}{draw(st.integers(1, 2))}"},
                {},
            ]
        )
    )
    ntasks = draw(
        st.sampled_from(
            [
                {"--ntasks": str(nodes * tasks)},
                {"--ntasks-per-node": str(tasks)},
                {"--ntasks": str(nodes * tasks), "--ntasks-per-node": str(tasks)},
                {"--ntasks-per-gpu": str(draw(st.integers(1, 2)))},
                {},
            ]
        )
    )
    cores = draw(st.sampled_from([{"--cpus-per-task": "7"}, {"--cpus-per-task": "3"}, {"--cpus-per-gpu": "7"}, {}]))
    memory = draw(
        st.sampled_from(
            [
                {"--mem": "480G"},
                {"--mem": "0"},
                {"--mem": "61440"},
                {"--mem-per-gpu": "60G"},
                {"--mem-per-cpu": "2G"},
                {},
            ]
        )
    )
    flags = draw(st.sampled_from([{}, {}, {}, {"--exclusive": ""}, {"--exclusive": "user"}]))
    where = {"--nodes": draw(st.sampled_from([str(nodes), str(nodes), f"{nodes}-{nodes + 1}", ""]))}
    partition = {"--partition": draw(st.sampled_from(["small-g", "standard-g"]))}
    time = draw(st.sampled_from([{"--time": "1-0"}, {"--time": "600"}, {"--time": "UNLIMITED"}, {}]))
    return {
        option: text
        for option, text in (partition | where | gpus | ntasks | cores | memory | flags | time).items()
        if text or option == "--exclusive"
    }


@settings(max_examples=400)
@given(st.data())
def test_the_changes_applied_give_what_was_wanted_and_are_never_refused(data: st.DataObject) -> None:
    request = data.draw(requests())
    partition_now = PARTITIONS[request["--partition"]]
    now = shape_of(request, partition_now, threads_per_core=THREADS)
    assume(now is not None)
    assert now is not None
    name = data.draw(st.sampled_from(["small-g", now.partition]))
    wanted, partition = data.draw(shapes(now, name)), PARTITIONS[name]
    changes = changes_to(request, now, wanted, partition_now, partition, THREADS)
    assert changes is not None
    changed = apply(request, changes)
    assert refusal(changed) is None
    reached = shape_of(changed, partition, threads_per_core=THREADS)
    assert reached is not None
    if name == "standard-g":
        assert (reached.memory_gb or 0.0) >= (wanted.memory_gb or 0.0)
        wanted = replace(wanted, memory_gb=reached.memory_gb, is_exclusive=reached.is_exclusive)
    assert reached == wanted
    assert all(change.requested != change.recommended or change.option == "--exclusive" for change in changes)
    for left_out in changes:
        rest = apply(request, [change for change in changes if change is not left_out])
        # Memory that was requested stays requested, also where the default is the same; a range of nodes may give any.
        is_default = left_out.option == "--mem" and any(option.startswith("--mem-per") for option in request)
        if not is_default and rest.get("--nodes", str(wanted.nodes)) == str(wanted.nodes):
            assert shape_of(rest, partition, threads_per_core=THREADS) != reached


@settings(max_examples=200)
@given(requests())
def test_a_request_that_fits_changes_nothing_and_explains_itself(request: dict[str, str]) -> None:
    partition = PARTITIONS[request["--partition"]]
    now = shape_of(request, partition, threads_per_core=THREADS)
    assert apply(request, ()) == request
    assert (now is None) or explains(request, now, partition, THREADS)
    assert (now is None) or changes_to(request, now, now, partition, partition, THREADS) == ()


@settings(max_examples=300)
@given(st.data(), st.sampled_from(["", "mi250"]), st.booleans(), st.booleans())
def test_a_block_gives_the_rounded_shape(data: st.DataObject, kind: str, has_tasks: bool, has_memory: bool) -> None:
    wanted = data.draw(shapes(Shape(4, 32), "small-g"))
    uneven = replace(
        wanted,
        ntasks=wanted.ntasks if has_tasks else None,
        cores=data.draw(st.integers(1, wanted.cores or 1)),
        memory_gb=(wanted.memory_gb or 0.0) - data.draw(st.floats(0, 0.99)) if has_memory else None,
        walltime_s=(wanted.walltime_s or 0.0) - data.draw(st.integers(0, 59)),
    )
    request, billed = parse_block(request_block(uneven, kind)), rounded(uneven)
    # Whoever asks for a block looks first whether rounding the cores of each GPU up leaves them on the node.
    assume((billed.cores or 0) <= billed.nodes * NODE_CORES)
    reached = shape_of(request, SMALL, threads_per_core=THREADS)
    assert refusal(request) is None
    assert reached is not None
    assert replace(reached, ntasks=billed.ntasks if not has_tasks else reached.ntasks) == replace(
        billed, memory_gb=reached.memory_gb if not has_memory else billed.memory_gb
    )
    assert rounded(billed) == billed
    assert uneven.gpus <= billed.gpus
    assert (uneven.cores or 0) <= (billed.cores or 0)
    assert not has_memory or 0 <= (billed.memory_gb or 0.0) - (uneven.memory_gb or 0.0) < billed.nodes
    assert 0 <= (billed.walltime_s or 0.0) - (uneven.walltime_s or 0.0) < 60


@pytest.mark.parametrize(
    ("request_", "wanted", "changed"),
    [
        (
            {"--gpus": "8", "--nodes": "1", "--cpus-per-task": "14"},
            Shape(1, 2, 1, 14, 64.0),
            ["--gpus=8 -> --gpus=2"],
        ),
        (
            {"--gpus-per-node": "mi250:8", "--nodes": "2", "--ntasks-per-node": "8", "--mem": "240G"},
            Shape(1, 8, 8, 8, 240.0),
            ["--nodes=2 -> --nodes=1"],
        ),
        (
            {"--gres": "gpu:mi250:8,nvme:1", "--ntasks": "8", "--mem": "480G"},
            Shape(1, 4, 4, 4, 64.0),
            [
                "--gres=gpu:mi250:8,nvme:1 -> --gres=gpu:mi250:4,nvme:1",
                "--ntasks=8 -> --ntasks=4",
                "--mem=480G -> --mem=64G",
            ],
        ),
        # The GPUs follow the tasks, memory and cores the GPUs.
        (
            {"--gpus-per-task": "1", "--ntasks": "8", "--cpus-per-gpu": "7", "--mem-per-gpu": "60G"},
            Shape(1, 2, 2, 14, 120.0),
            ["--ntasks=8 -> --ntasks=2"],
        ),
        # 8 tasks per GPU pair: the tasks follow the GPUs.
        (
            {"--gpus": "4", "--ntasks-per-gpu": "2", "--mem": "100G"},
            Shape(1, 2, 4, 4, 100.0),
            ["--gpus=4 -> --gpus=2"],
        ),
        (
            {"--nodes": "2", "--ntasks": "16", "--ntasks-per-node": "8", "--gpus": "16", "--mem": "480G"},
            Shape(1, 4, 4, 4, 480.0),
            ["--nodes=2 -> --nodes=1", "--gpus=16 -> --gpus=4", "--ntasks=16 -> --ntasks=4"],
        ),
        (
            {"--nodes": "1", "--ntasks": "8", "--ntasks-per-node": "8", "--gpus": "8", "--cpus-per-task": "7"},
            Shape(2, 10, 10, 70, 128.0),
            ["--nodes=1 -> --nodes=2", "--gpus=8 -> --gpus=10", "--ntasks=8 -> --ntasks=10"],
        ),
        # 7 GPUs are not a whole number on each of 2 nodes.
        (
            {"--nodes": "2", "--gpus-per-node": "mi250:8", "--mem": "60G"},
            Shape(2, 7, 2, 2, 120.0),
            ["(not set) -> --gpus=mi250:7", "--gpus-per-node=mi250:8 -> (leave out)"],
        ),
        # 4 tasks x 7 cores x 2 threads x 2 GB.
        (
            {"--gpus": "4", "--ntasks": "4", "--cpus-per-task": "7", "--mem-per-cpu": "4G"},
            Shape(1, 4, 4, 28, 112.0),
            ["--mem-per-cpu=4G -> --mem-per-cpu=2G"],
        ),
        # 61 GB for 2 GPUs are 31232 MB each.
        (
            {"--gpus": "2", "--mem-per-gpu": "60G"},
            Shape(1, 2, 1, 1, 61.0),
            ["--mem-per-gpu=60G -> --mem-per-gpu=31232M"],
        ),
        (
            {"--gpus": "3", "--mem-per-gpu": "60G"},
            Shape(1, 3, 1, 1, 100.0),
            ["(not set) -> --mem=100G", "--mem-per-gpu=60G -> (leave out)"],
        ),
        ({"--gpus": "1", "--mem": "0"}, Shape(1, 1, 1, 1, 120.0), ["--mem=0 -> --mem=120G"]),
        ({"--gpus": "1"}, Shape(1, 1, 1, 1, 65.0), ["(not set) -> --mem=65G"]),
        ({"--gpus": "1", "--time": "600"}, Shape(1, 1, walltime_s=5400.0), ["--time=600 -> --time=01:30:00"]),
        (
            {"--partition": "standard-g", "--nodes": "1", "--gpus-per-node": "8", "--exclusive": ""},
            Shape(1, 1, 1, 7, 60.0, partition="small-g"),
            [
                "--partition=standard-g -> --partition=small-g",
                "--gpus-per-node=8 -> --gpus-per-node=1",
                "(not set) -> --cpus-per-task=7",
                "(not set) -> --mem=60G",
                "--exclusive -> (leave out)",
            ],
        ),
        # The other partition's default is enough.
        (
            {"--partition": "standard-g", "--nodes": "1", "--gpus-per-node": "8"},
            Shape(1, 1, 1, 1, 64.0, partition="small-g"),
            ["--partition=standard-g -> --partition=small-g", "--gpus-per-node=8 -> --gpus-per-node=1"],
        ),
        (
            {"--partition": "standard-g", "--nodes": "4", "--gpus-per-node": "8", "--mem": "480G", "--exclusive": ""},
            Shape(2, 16, 2, 112, 480.0, partition="standard-g"),
            ["--nodes=4 -> --nodes=2"],
        ),
        # sbatch would lower the nodes itself, but not surely to 2.
        (
            {"--nodes": "4", "--ntasks": "4", "--gpus-per-node": "8"},
            Shape(2, 16, 2, 2, 128.0),
            ["--nodes=4 -> --nodes=2", "--ntasks=4 -> --ntasks=2"],
        ),
        (
            {"--nodes": "1-4", "--gpus-per-node": "8", "--mem": "64G"},
            Shape(1, 4, 1, 1, 64.0),
            ["--nodes=1-4 -> --nodes=1", "--gpus-per-node=8 -> --gpus-per-node=4"],
        ),
        ({"--gpus-per-node": "1", "--nodes": "1"}, Shape(1, 0, 1, 1), ["--gpus-per-node=1 -> (leave out)"]),
    ],
)
def test_every_line_that_must_change_and_no_other(request_: dict[str, str], wanted: Shape, changed: list[str]) -> None:
    assert lines(request_, wanted) == changed


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        # 7 cores for 2 tasks; 3 nodes for 2 tasks; 9 GPUs on one node; 100 GB on 3 nodes in whole megabytes.
        ({"--gpus": "2", "--ntasks": "4"}, Shape(1, 2, 2, 7)),
        ({"--gpus": "4", "--ntasks": "4"}, Shape(3, 4, 2, 2)),
        ({"--gpus": "8"}, Shape(1, 9, 1, 1)),
        ({"--nodes": "4", "--gpus": "4"}, Shape(3, 3, 3, 3, 100.0)),
        # Nothing adds --exclusive, and small-g has no 5 nodes and no 4 days.
        ({"--gpus": "8"}, Shape(1, 8, 1, 56, 64.0, is_exclusive=True)),
        ({"--partition": "standard-g", "--nodes": "8", "--gpus": "8"}, Shape(5, 5, partition="small-g")),
        (
            {"--partition": "standard-g", "--gpus": "8"},
            Shape(1, 1, walltime_s=4 * 86400.0, partition="small-g"),
        ),
    ],
)
def test_a_shape_that_no_options_give_has_no_changes(request_: dict[str, str], wanted: Shape) -> None:
    assert lines(request_, wanted) is None


def test_a_request_that_is_refused_has_no_changes() -> None:
    now = Shape(1, 2, 1, 1, 60.0, partition="small-g")
    assert changes_to({"--gpus": "2", "--mem": "60G", "--mem-per-gpu": "30G"}, now, now, SMALL, SMALL) is None


def test_tasks_that_steps_started_and_gpus_of_whole_nodes_need_no_line() -> None:
    request = {"--partition": "standard-g", "--nodes": "1", "--gpus-per-node": "1", "--time": "1-0"}
    now = Shape(1, 8, 8, 64, 480.0, 86400.0, "standard-g")
    changes = changes_to(request, now, replace(now, walltime_s=3600.0), STANDARD, STANDARD, THREADS)
    assert changes == (OptionChange("--time", "1-0", "01:00:00"),)


def test_nodes_that_slurm_chose_stay_open_only_while_the_size_stays() -> None:
    request = {"--partition": "small-g", "--gpus": "8", "--time": "1-0", "--mem": "60G"}
    now = Shape(2, 8, 2, 2, 120.0, 86400.0, "small-g")
    shorter = changes_to(request, now, replace(now, walltime_s=3600.0), SMALL, SMALL, THREADS)
    less = changes_to(request, now, replace(now, memory_gb=80.0), SMALL, SMALL, THREADS)
    assert shorter == (OptionChange("--time", "1-0", "01:00:00"),)
    assert less == (OptionChange("--nodes", "", "2"), OptionChange("--mem", "60G", "40G"))


def test_memory_that_stays_within_slurms_rounding_keeps_its_line() -> None:
    request = {"--nodes": "1", "--gpus": "2", "--mem": "64000"}
    now = Shape(1, 2, 1, 1, 62.51)
    changes = changes_to(request, now, replace(now, gpus=1), SMALL, SMALL, THREADS)
    assert changes == (OptionChange("--gpus", "2", "1"),)


def test_apply_adds_replaces_and_removes() -> None:
    request = {"--gpus": "8", "--exclusive": "", "--nodes": "1"}
    changes = [OptionChange("--gpus", "8", "2"), OptionChange("--exclusive", "", ""), OptionChange("--mem", "", "60G")]
    assert apply(request, changes) == {"--gpus": "2", "--nodes": "1", "--mem": "60G"}


def test_the_complete_block_for_a_shape() -> None:
    wanted = Shape(2, 16, 16, 112, 950.5, 14_399.0, "standard-g", is_exclusive=True)
    assert request_block(wanted, "mi250") == (
        "--partition=standard-g",
        "--nodes=2",
        "--gpus-per-node=mi250:8",
        "--ntasks-per-node=8",
        "--cpus-per-task=7",
        "--mem=476G",
        "--time=04:00:00",
        "--exclusive",
    )
    assert request_block(Shape(2, 7, 3, 10, 121.0)) == (
        "--nodes=2",
        "--gpus=7",
        "--ntasks=3",
        "--cpus-per-task=4",
        "--mem=61G",
    )
    assert request_block(Shape(1, 0)) == ("--nodes=1",)


def test_what_a_block_is_billed_for_is_what_it_prints() -> None:
    assert rounded(Shape(2, 1, 1, 3, 121.0, 61.0)) == Shape(2, 2, 2, 4, 122.0, 120.0)
    assert rounded(Shape(2, 7, None, 8)) == Shape(2, 7, None, 14)
    assert rounded(Shape(2, 0, None, 3)) == Shape(2, 0, None, 4)


@pytest.mark.parametrize("days", [1, 3])
def test_a_longer_time_limit_has_its_days(days: int) -> None:
    wanted = Shape(1, 1, walltime_s=days * 86400.0 + 1800.0)
    assert request_block(wanted)[-1] == f"--time={walltime_text(wanted.walltime_s or 0.0)}" == f"--time={days}-00:30:00"
