"""Power beside busy percent: of modules that the job held whole, on hardware that is known."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.modules import whole_modules
from analysis.rules import findings
from tests.analysis.runs import facts
from tests.payloads import gpu

QUIET_HOST = {"cores_allocated": 56, "busy_cores_avg": 5.6, "ranks": 8, "idle_fraction": 0.9}
WAITING, TUNING, THROTTLED = FindingCode.BUSY_BUT_WAITING, FindingCode.KERNEL_TUNING, FindingCode.THROTTLED


def found(known: JobFacts, code: FindingCode) -> Finding | None:
    return next((finding for finding in findings(known) if finding.code is code), None)


def modules(util: float, power_w: float, count: int = 4, **changes: Any) -> list[dict[str, Any]]:
    """Whole modules: the first GPU of each reports its power, the second none, as on MI250X."""
    primary = {"power_avg_w": power_w, "power_cap_w": 500.0, "peak_mem_gb": 20.0} | changes
    return [gpu(i, util, **(primary if i % 2 == 0 else {"peak_mem_gb": 20.0})) for i in range(2 * count)]


def test_busy_at_little_power_is_waiting() -> None:
    # Margins (100 - 70) / 30 = 1 and (0.4 - 0.24) / 0.4 = 0.4; sqrt(0.4) = 0.632456.
    finding = found(facts([], gpus=modules(100.0, 120.0)), WAITING)
    assert finding.evidence["power_fraction"] == pytest.approx(0.24)
    assert finding.evidence["modules"] == 4
    assert finding.confidence == pytest.approx(0.5 + 0.5 * 0.632456, abs=1e-5)


@pytest.mark.parametrize(
    ("util", "power_w", "holds"),
    [(70.0, 199.0, True), (69.0, 199.0, False), (99.0, 200.0, False), (99.0, 450.0, False)],
)
def test_waiting_needs_70_percent_busy_below_40_percent_of_the_cap(util: float, power_w: float, holds: bool) -> None:
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
    assert "power: 4 GPUs told more than is possible" in known.not_measured


def test_hardware_that_is_not_described_has_no_power_rule_and_says_so() -> None:
    known = facts([], gpus=modules(99.0, 120.0), partition="lumid")
    assert found(known, WAITING) is None
    assert "price and power: the hardware of this partition is not described here" in known.not_measured


def test_steady_half_use_at_half_power_with_room_is_for_the_kernels() -> None:
    # Busy 62.5 is the middle of 40..85: margin 1. Power 262.5 / 500 = 0.525 the middle of 0.40..0.65: margin 1.
    finding = found(facts([], gpus=modules(62.5, 262.5), cpu=QUIET_HOST), TUNING)
    assert finding.confidence == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("gpus", "cpu"),
    [
        (modules(39.0, 262.5), QUIET_HOST),
        (modules(86.0, 262.5), QUIET_HOST),
        (modules(62.5, 190.0), QUIET_HOST),
        (modules(62.5, 330.0), QUIET_HOST),
        (modules(62.5, 262.5), QUIET_HOST | {"busy_cores_avg": 40.0}),
        (modules(62.5, 262.5), {}),
        (modules(62.5, 262.5, peak_mem_gb=55.0), QUIET_HOST),
        (modules(62.5, 262.5, timeline={"step_s": 60.0, "util": [25.0, 100.0] * 60, "mem_gb": [1] * 120}), QUIET_HOST),
        (modules(62.5, 262.5, idle_s=2000.0, active_s=5200.0), QUIET_HOST),
    ],
    ids="low busy|high busy|low power|high power|busy host|host unknown|full memory|unsteady|hidden bursts".split("|"),
)
def test_tuning_is_not_advised_where_something_else_may_be_the_limit(gpus: list, cpu: dict) -> None:
    assert found(facts([], gpus=gpus, cpu=cpu), TUNING) is None


@pytest.mark.parametrize(("seconds", "holds"), [(360.0, True), (359.0, False), (None, False)])
def test_throttling_counts_from_a_twentieth_of_the_time(seconds: float | None, holds: bool) -> None:
    # 0.05 x 7200 s = 360 s.
    known = facts([], gpus=[gpu(index, 90.0, throttled_s=seconds) for index in range(2)])
    assert (found(known, THROTTLED) is not None) == holds


def test_throttling_in_numbers() -> None:
    # 3600 of 14400 GPU-seconds: 0.25. Margin (0.25 - 0.05) / 0.95 = 0.210526.
    known = facts([], gpus=[gpu(0, 90.0, throttled_s=3600.0), gpu(1, 90.0, throttled_s=0.0)])
    finding = found(known, THROTTLED)
    assert (finding.evidence["throttled_fraction"], finding.evidence["throttled_gpus"]) == (0.25, 1)
    assert finding.confidence == pytest.approx(0.605263, abs=1e-5)


def test_a_run_that_the_system_ended_is_told_of_the_systems_own_fault_only() -> None:
    gpus = [gpu(0, 90.0, throttled_s=3600.0), gpu(1, 0.0, throttled_s=3600.0)]
    for state in ("NODE_FAIL", "BOOT_FAIL", "PREEMPTED"):
        assert [finding.code for finding in findings(facts([], gpus=gpus, state=state))] == [THROTTLED]
    assert FindingCode.IDLE_GPUS in {finding.code for finding in findings(facts([], gpus=gpus, state="FAILED"))}
