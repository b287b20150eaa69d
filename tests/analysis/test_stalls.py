"""GPUs that stop for files or for each other: a fall, stalls again and again, files all the time; and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.causes.stalls import waits_of
from analysis.facts import JobFacts
from analysis.findings import FindingCode
from tests.analysis.runs import codes, facts, found, of_nodes, over_time, rate
from tests.payloads import node_payload

STALL = FindingCode.IO_OR_SYNC_STALL
QUIET = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 8, "idle_fraction": 0.92}
WAITING_FOR_FILES = QUIET | {"iowait_fraction": 0.15}


def falling(first: float, later: float) -> list[float]:
    """`first` for 40 minutes, then `later` for 80."""
    return [first] * 40 + [later] * 80


def fallen(first: float, later: float, count: int = 2, cpu: dict[str, Any] = QUIET) -> JobFacts:
    return facts([], gpus=over_time(*[falling(first, later)] * count), cpu=cpu)


def test_use_that_falls_with_io_pressure_points_to_io() -> None:
    finding = found(fallen(80.0, 20.0, 1, QUIET | {"iowait_fraction": 0.3, "pressure_io_s": 3600.0}), STALL)
    assert finding.evidence["pattern"] == "fallen"
    assert finding.evidence["first_third_percent"] == pytest.approx(80.0)
    assert finding.evidence["later_percent"] == pytest.approx(20.0)
    assert finding.evidence["drop_points"] == pytest.approx(60.0)
    # Two thirds of the run at 20 instead of 80: 2/3 x 60 / 80 = 0.5.
    assert finding.evidence["lost_fraction"] == pytest.approx(0.5)
    assert finding.evidence["io_pressure_fraction"] == pytest.approx(0.5)
    assert finding.evidence["points_to"] == "io"
    # Margins (60 - 20) / 80 = 0.5, (0.75 - 0.5) / 0.5 = 0.5 and 1 for the pressure: 0.25 ** (1/3) = 0.62996.
    assert finding.confidence == pytest.approx(rate(0.62996), abs=1e-5)


def test_the_same_fall_of_several_gpus_with_a_quiet_host_points_to_synchronisation_less_surely() -> None:
    finding = found(fallen(80.0, 20.0), STALL)
    assert finding.evidence["points_to"] == "synchronisation"
    assert finding.confidence == pytest.approx(rate(0.5))


@pytest.mark.parametrize(
    ("cpu", "points_to"),
    [
        (QUIET | {"iowait_fraction": 0.10}, "io"),
        (QUIET | {"iowait_fraction": 0.099}, "synchronisation"),
        (QUIET | {"pressure_io_s": 720.0}, "io"),
        (QUIET | {"pressure_io_s": 719.0}, "synchronisation"),
        (QUIET | {"idle_fraction": 0.5}, "synchronisation"),
        (QUIET | {"idle_fraction": 0.49}, None),
        ({"cores_allocated": 56}, None),
    ],
)
def test_a_fall_needs_a_sign_of_waiting(cpu: dict, points_to: str | None) -> None:
    finding = found(fallen(80.0, 20.0, cpu=cpu), STALL)
    assert (finding.evidence["points_to"] if finding else None) == points_to


def test_one_gpu_alone_waits_for_no_other() -> None:
    assert found(fallen(80.0, 20.0, 1), STALL) is None


@pytest.mark.parametrize(
    ("first", "later", "holds"),
    [(80.0, 40.0, True), (80.0, 41.0, False), (38.0, 18.0, True), (38.0, 18.5, False), (80.0, 80.0, False)],
)
def test_a_stall_falls_by_20_points_and_by_half(first: float, later: float, holds: bool) -> None:
    assert (found(fallen(first, later, cpu=WAITING_FOR_FILES), STALL) is not None) == holds


@pytest.mark.parametrize(
    ("later", "spread", "holds"), [(20.0, 0.0, True), (21.0, 0.0, False), (21.0, 20.0, False), (21.0, 21.0, True)]
)
def test_a_later_part_of_steady_use_is_another_phase(later: float, spread: float, holds: bool) -> None:
    # Every second bucket is higher by the spread.
    row = [90.0] * 40 + [later, later + spread] * 40
    assert (found(facts([], gpus=over_time(row, row), cpu=QUIET), STALL) is not None) == holds


@pytest.mark.parametrize(("outliers", "holds"), [(4, False), (5, True)])
def test_a_twentieth_of_the_buckets_does_not_make_another_phase_unsteady(outliers: int, holds: bool) -> None:
    # Of 80 later buckets the 95th percentile lies at the 76th from below.
    row = [90.0] * 40 + [30.0] * (80 - outliers) + [80.0] * outliers
    assert (found(facts([], gpus=over_time(row, row), cpu=QUIET), STALL) is not None) == holds


@pytest.mark.parametrize(("later_gb", "holds"), [(34.4, True), (34.6, False), (25.5, False), (25.6, True)])
def test_a_later_part_with_other_memory_is_another_phase(later_gb: float, holds: bool) -> None:
    # 15 percent more or less than 30 GB: 34.5 and 25.5. The first sixth is loading and does not count.
    mem_gb = [1.0] * 20 + [30.0] * 60 + [later_gb] * 40
    row = falling(80.0, 15.0)
    assert (found(facts([], gpus=over_time(row, row, mem_gb=mem_gb), cpu=QUIET), STALL) is not None) == holds


def test_another_phase_that_waits_for_files_is_a_stall() -> None:
    assert found(fallen(90.0, 30.0), STALL) is None
    assert found(fallen(90.0, 30.0, cpu=WAITING_FOR_FILES), STALL).evidence["points_to"] == "io"


@pytest.mark.parametrize(("stay", "holds"), [(1, True), (2, False)])
def test_nine_of_ten_gpus_fall_together_or_it_is_no_stall(stay: int, holds: bool) -> None:
    rows = [falling(90.0, 10.0)] * (10 - stay) + [[90.0] * 120] * stay
    assert (found(facts([], gpus=over_time(*rows), cpu=WAITING_FOR_FILES), STALL) is not None) == holds


def test_trials_that_end_one_by_one_are_no_stall() -> None:
    rows = [[90.0] * (30 + 10 * index) + [0.0] * (90 - 10 * index) for index in range(8)]
    known = facts([], gpus=over_time(*rows), cpu=QUIET)
    assert STALL not in codes(known)
    assert FindingCode.LOAD_IMBALANCE in codes(known)


def test_idle_time_before_the_work_is_not_part_of_the_active_span() -> None:
    row = [0.0] * 60 + [90.0] * 60
    assert found(facts([], gpus=over_time(row), cpu=WAITING_FOR_FILES), STALL) is None


def test_an_idle_neighbour_does_not_hide_a_stall() -> None:
    known = facts([], gpus=over_time(falling(80.0, 20.0), [0.0] * 120), cpu=WAITING_FOR_FILES)
    assert found(known, STALL).evidence["first_third_percent"] == pytest.approx(80.0)


def test_too_few_points_tell_no_phases() -> None:
    short = over_time([80.0, 20.0, 20.0, 20.0, 20.0], step_s=1440.0)
    assert found(facts([], gpus=short, cpu=WAITING_FOR_FILES), STALL) is None


def checkpoints(count: int, pause: int, low: float = 0.0, length: int = 120) -> list[float]:
    """`count` pauses of `pause` minutes at `low`, evenly between minutes of work at 90."""
    work = length // count - pause
    return ([90.0] * (work // 2) + [low] * pause + [90.0] * (work - work // 2)) * count


def test_stalls_again_and_again_in_numbers() -> None:
    # Six pauses of five minutes in two hours: a quarter. (0.25 - 0.15) / 0.85 = 0.117647.
    finding = found(facts([], gpus=over_time(checkpoints(6, 5)), cpu=WAITING_FOR_FILES), STALL)
    assert dict(finding.evidence) == {
        "pattern": "again_and_again",
        "stalls": 6,
        "lost_fraction": 0.25,
        "iowait_fraction": 0.15,
        "points_to": "io",
    }
    assert finding.confidence == pytest.approx(rate(0.117647), abs=1e-6)


@pytest.mark.parametrize(
    ("count", "pause", "low", "iowait", "holds"),
    [
        (6, 3, 0.0, 0.15, True),
        (6, 2, 0.0, 0.15, False),
        (3, 6, 0.0, 0.15, True),
        (2, 12, 0.0, 0.15, False),
        (6, 3, 25.7, 0.15, True),
        (6, 3, 25.8, 0.15, False),
        (6, 3, 0.0, 0.10, True),
        (6, 3, 0.0, 0.09, False),
    ],
    ids="15 percent|10 percent|three|two|at rest|not at rest|a tenth of waiting|less waiting".split("|"),
)
def test_stalls_count_from_three_and_15_percent_of_the_span_where_files_are_waited_for(
    count: int, pause: int, low: float, iowait: float, holds: bool
) -> None:
    # At rest is 20 / 70 of what the run reaches: 90 x 2 / 7 = 25.71.
    cpu = QUIET | {"iowait_fraction": iowait}
    assert (found(facts([], gpus=over_time(checkpoints(count, pause, low)), cpu=cpu), STALL) is not None) == holds


@pytest.mark.parametrize(
    ("util", "iowait", "lost", "strength"),
    [
        (50.0, 0.2, 0.2, 0.0),
        (69.9, 0.2, 0.2, 0.0),
        (50.0, 0.6, 0.5, 0.5),
        (50.0, 0.19, None, None),
        (70.0, 0.6, None, None),
    ],
)
def test_files_that_are_waited_for_all_the_time_hold_steady_gpus_back(
    util: float, iowait: float, lost: float | None, strength: float | None
) -> None:
    # (0.6 - 0.2) / 0.8 = 0.5. No more can be lost than the GPUs were not busy.
    finding = found(facts([util] * 8, cpu=QUIET | {"iowait_fraction": iowait}), STALL)
    assert (finding is not None) == (lost is not None)
    if finding is not None:
        assert (finding.evidence["pattern"], finding.evidence["points_to"]) == ("steady", "io")
        assert finding.evidence["gpu_util_percent"] == pytest.approx(util)
        assert finding.evidence["lost_fraction"] == pytest.approx(lost)
        assert finding.confidence == pytest.approx(rate(strength))


def test_waiting_is_the_mean_of_the_nodes_and_at_most_all_of_the_time() -> None:
    hosts = ({"iowait_fraction": 0.1, "pressure_io_s": 1440.0}, {"iowait_fraction": 0.3, "pressure_io_s": 2880.0}, {})
    names = ("nid005123", "nid005124", "nid005125")
    nodes = [node_payload([90.0] * 8, node=name, cpu=cpu) for name, cpu in zip(names, hosts, strict=True)]
    waits = waits_of(of_nodes(*nodes))
    assert (waits.iowait_fraction, waits.io_pressure_fraction) == (pytest.approx(0.2), pytest.approx(0.3))
    assert (waits.idle_fraction, waits.io_fraction) == (None, pytest.approx(0.3))
    # Pressure for longer than the run, as a clock step can show: all of it.
    assert waits_of(facts([90.0], cpu={"pressure_io_s": 14_400.0})).io_pressure_fraction == 1.0
    assert waits_of(facts([90.0], cpu={})).evidence == {}
