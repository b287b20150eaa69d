"""Power beside busy percent: of modules that the job held whole, on hardware that is known."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.findings import FindingCode
from analysis.module_power import whole_modules
from tests.analysis.runs import codes, facts, found, rate
from tests.payloads import gpu

QUIET_HOST = {"cores_allocated": 56, "busy_cores_avg": 5.6, "ranks": 8, "idle_fraction": 0.9}
WAITING, TUNING, THROTTLED = FindingCode.BUSY_BUT_WAITING, FindingCode.KERNEL_TUNING, FindingCode.THROTTLED


def modules(util: float, power_w: float, count: int = 4, **changes: Any) -> list[dict[str, Any]]:
    """Whole modules: the first GPU of each reports its power, the second none, as on MI250X."""
    primary = {"power_avg_w": power_w, "power_cap_w": 500.0, "peak_mem_gb": 20.0} | changes
    return [gpu(i, util, **(primary if i % 2 == 0 else {"peak_mem_gb": 20.0})) for i in range(2 * count)]


def test_busy_at_little_power_is_waiting() -> None:
    # At 100 percent busy the bound is 0.46 of the cap. Margins 1 and (0.46 - 0.24) / 0.46 = 0.478261; root 0.691564.
    finding = found(facts([], gpus=modules(100.0, 120.0)), WAITING)
    assert finding.evidence["power_fraction"] == pytest.approx(0.24)
    assert finding.evidence["modules"] == 4
    assert finding.confidence == pytest.approx(rate(0.691564), abs=1e-6)


@pytest.mark.parametrize(
    ("util", "power_w", "holds"),
    [
        (70.0, 199.0, True),
        (70.0, 200.0, False),
        (69.9, 100.0, False),
        (85.0, 214.0, True),
        (85.0, 215.1, False),
        (100.0, 229.0, True),
        (100.0, 230.0, False),
    ],
)
def test_waiting_needs_70_percent_busy_below_40_to_46_percent_of_the_cap(
    util: float, power_w: float, holds: bool
) -> None:
    assert (found(facts([], gpus=modules(util, power_w)), WAITING) is not None) == holds


def test_the_power_of_a_shared_module_belongs_to_nobody() -> None:
    lone = facts([], gpus=[gpu(0, 99.0, power_avg_w=120.0, power_cap_w=500.0, energy_j=864_000.0)])
    assert whole_modules(lone) is None
    assert found(lone, WAITING) is None
    assert lone.energy_j is None
    assert any(said.startswith("power: shared module (1 GPU)") for said in lone.not_measured)


def test_no_power_on_a_secondary_die_is_not_zero_watts() -> None:
    gpus = modules(90.0, 400.0)
    for index in (1, 3, 5, 7):
        gpus[index] |= {"power_avg_w": 0.0, "power_cap_w": 0.0, "energy_j": 0.0}
    seen = whole_modules(facts([], gpus=gpus))
    assert seen.power_w.tolist() == [400.0] * 4


def test_impossible_power_is_dropped_and_named() -> None:
    known = facts([], gpus=modules(99.0, 1e6))
    assert whole_modules(known) is None
    assert "power: 4 GPUs reported more than is possible" in known.not_measured


@pytest.mark.parametrize(
    ("power_w", "cap_w", "holds"), [(85.0, 400.0, True), (250.0, 400.0, False), (85.0, None, False)]
)
def test_on_hardware_that_is_not_described_the_payloads_own_cap_shows_spinning(
    power_w: float, cap_w: float | None, holds: bool
) -> None:
    lone = {"power_avg_w": power_w, "power_cap_w": cap_w}
    known = facts([], gpus=[gpu(i, 99.0, module_id=i, **lone) for i in range(4)], partition="lumid")
    finding = found(known, WAITING)
    assert (finding is not None) == holds
    if finding is not None:
        assert (finding.evidence["power_fraction"], finding.evidence["modules"]) == (pytest.approx(0.2125), 4)
    assert "price and power: the hardware of this partition is not described in the site profile" in known.not_measured


def test_steady_half_use_at_half_power_with_room_is_for_the_kernels() -> None:
    # Busy 62.5 is the middle of 40..85: margin 1. Power 262.5 / 500 = 0.525 the middle of 0.40..0.65: margin 1.
    finding = found(facts([], gpus=modules(62.5, 262.5), cpu=QUIET_HOST), TUNING)
    assert finding.confidence == pytest.approx(rate(1.0))
    assert finding.evidence["power_fraction"] == pytest.approx(0.525)


@pytest.mark.parametrize(
    ("util", "power_w", "strength"),
    [
        (50.0, 225.0, 0.421637),  # 10 / 22.5 = 0.444444 and 0.05 / 0.125 = 0.4
        (50.0, 300.0, 0.421637),  # the same distances from the other edge of power
        (70.0, 287.5, 0.632456),  # 15 / 22.5 = 0.666667 and 0.075 / 0.125 = 0.6
        (77.5, 237.5, 0.577350),  # at 77.5 the upper bound is 0.55: middle 0.475, margin 1; 7.5 / 22.5 = 0.333333
    ],
)
def test_room_in_the_kernels_is_less_sure_away_from_the_middle(util: float, power_w: float, strength: float) -> None:
    finding = found(facts([], gpus=modules(util, power_w), cpu=QUIET_HOST), TUNING)
    assert finding.confidence == pytest.approx(rate(strength), abs=1e-6)


@pytest.mark.parametrize(
    ("util", "power_w", "holds"),
    [
        (40.0, 262.5, True),
        (39.9, 262.5, False),
        (85.0, 212.5, True),
        (85.1, 212.5, False),
        (62.5, 200.0, True),
        (62.5, 199.0, False),
        (62.5, 325.0, True),
        (62.5, 326.0, False),
        (77.5, 275.0, True),
        (77.5, 276.0, False),
        (85.0, 225.0, True),
        (85.0, 226.0, False),
    ],
)
def test_room_lies_between_40_and_85_percent_busy_and_within_its_band_of_power(
    util: float, power_w: float, holds: bool
) -> None:
    # 0.40 to 0.65 of 500 W up to 70 percent busy; above, the upper bound falls to 0.45 at 85 percent.
    finding = found(facts([], gpus=modules(util, power_w), cpu=QUIET_HOST), TUNING)
    assert (finding is not None) == holds


@pytest.mark.parametrize(
    ("gpus", "cpu"),
    [
        (modules(62.5, 262.5), QUIET_HOST | {"busy_cores_avg": 28.1}),
        (modules(62.5, 262.5), {}),
        (modules(62.5, 262.5, peak_mem_gb=51.3), QUIET_HOST),
        ([each | {"peak_mem_gb": None} for each in modules(62.5, 262.5)], QUIET_HOST),
        (modules(62.5, 262.5, timeline={"step_s": 60.0, "util": [25.0, 100.0] * 60, "mem_gb": [1] * 120}), QUIET_HOST),
        ([each | {"idle_s": 1441.0, "active_s": 5759.0} for each in modules(62.5, 262.5)], QUIET_HOST),
        ([*modules(80.0, 225.0, 2), *modules(45.0, 225.0, 4)[4:]], QUIET_HOST),
    ],
    ids="busy host|host unknown|full memory|memory unknown|unsteady|hidden bursts|uneven".split("|"),
)
def test_tuning_is_not_advised_where_something_else_may_be_the_limit(gpus: list, cpu: dict) -> None:
    assert found(facts([], gpus=gpus, cpu=cpu), TUNING) is None


@pytest.mark.parametrize(("seconds", "holds"), [(360.0, True), (359.0, False), (None, False)])
def test_throttling_counts_from_a_twentieth_of_the_time(seconds: float | None, holds: bool) -> None:
    # 0.05 x 7200 s = 360 s.
    known = facts([], gpus=[gpu(index, 90.0, throttled_s=seconds) for index in range(2)])
    assert (found(known, THROTTLED) is not None) == holds


def test_tuning_is_advised_on_the_edge_of_its_room() -> None:
    # Half of 56 cores, four fifths of 64 GB, and a fifth of the time idle are still room.
    edge = [each | {"idle_s": 1440.0, "active_s": 5760.0, "peak_mem_gb": 51.2} for each in modules(62.5, 262.5)]
    assert found(facts([], gpus=edge, cpu=QUIET_HOST | {"busy_cores_avg": 28.0}), TUNING) is not None


def test_power_known_of_half_of_the_modules_is_half_as_sure() -> None:
    gpus = modules(100.0, 120.0)
    for index in (4, 6):
        gpus[index].pop("power_avg_w")
    finding = found(facts([], gpus=gpus), WAITING)
    assert finding.evidence["modules"] == 2
    assert finding.confidence == pytest.approx(rate(0.691564) / 2, abs=1e-6)


def test_a_module_that_reports_no_watts_at_all_is_not_said_to_spin() -> None:
    known = facts([], gpus=[gpu(i, 99.0, power_avg_w=0.0, power_cap_w=500.0) for i in range(2)])
    assert whole_modules(known) is None
    assert found(known, WAITING) is None


def test_a_cap_next_to_nothing_is_no_cap() -> None:
    # The die without power tells it: a share of it would be above all numbers.
    gpus = [gpu(0, 99.0, power_avg_w=120.0), gpu(1, 99.0, power_cap_w=2.2e-311)]
    assert whole_modules(facts([], gpus=gpus)) is None


def test_throttling_in_numbers() -> None:
    # 3600 of 14400 GPU-seconds: 0.25.
    known = facts([], gpus=[gpu(0, 90.0, throttled_s=3600.0), gpu(1, 90.0, throttled_s=0.0)])
    finding = found(known, THROTTLED)
    assert (finding.evidence["throttled_fraction"], finding.evidence["throttled_gpus"]) == (0.25, 1)
    assert finding.confidence == 1.0


def test_a_run_that_the_system_ended_is_told_of_the_systems_own_fault_only() -> None:
    gpus = [gpu(0, 90.0, throttled_s=3600.0), gpu(1, 0.0, throttled_s=3600.0)]
    for state in ("NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REQUEUED"):
        assert codes(facts([], gpus=gpus, state=state)) == {THROTTLED}
    assert FindingCode.IDLE_GPUS in codes(facts([], gpus=gpus, state="FAILED"))
