"""The scorecard's floors, with other seeds than the ones that `make score` draws; and its arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.assess import Assessment
from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.thresholds import LIMITS, Limits
from cases.scorecard import SEEDS, Scorecard, drawn, judged, score, table
from demo.archetypes import Expected, found
from demo.generate import SampleJob
from demo.library import CLOSE_CALLS, LIBRARY, kinds

OTHER_SEEDS = range(7000, 7008)
NODES_FOR_ALL_SEEDS_MAX = 16


def test_precision_recall_and_false_alarms_keep_their_floors() -> None:
    small = [kind for kind, archetype in LIBRARY.items() if archetype.nodes <= NODES_FOR_ALL_SEEDS_MAX]
    card = score(small, OTHER_SEEDS)
    assert list(card.failures()) == []
    assert not card.misjudged
    assert card.healthy >= 200
    assert not set(OTHER_SEEDS) & set(SEEDS)


def test_jobs_on_many_nodes_are_judged_as_well() -> None:
    large = [kind for kind, archetype in LIBRARY.items() if archetype.nodes > NODES_FOR_ALL_SEEDS_MAX]
    assert list(score(large, OTHER_SEEDS[:1]).failures()) == []


@pytest.mark.parametrize(
    "limits",
    [
        Limits(throttled_fraction=0.02),
        Limits(edge_idle_fraction=0.10),
        Limits(edge_idle_fraction=0.30),
        Limits(uneven_points=60.0),
        Limits(memory_pressure_fraction=0.85),
        Limits(busy_host_fraction=0.90),
        Limits(spinning_power_fraction=0.25),
        Limits(stall_drop_points=60.0),
        Limits(low_memory_fraction=0.10),
        Limits(walltime_used_fraction=0.70),
        Limits(tuning_memory_fraction_max=1.0),
    ],
    ids=lambda limits: next(name for name in vars(LIMITS) if getattr(limits, name) != getattr(LIMITS, name)),
)
def test_a_threshold_that_moves_too_far_falls_below_the_floors(limits: Limits) -> None:
    near = [*(archetype.kind for archetype in kinds(*CLOSE_CALLS)), "acceptable"]
    assert list(score(near, OTHER_SEEDS[:2], limits).failures()) != []


def test_the_card_counts_what_was_due_and_what_was_raised() -> None:
    card = Scorecard()
    well = judged(drawn("efficient_training", 1))
    false = Finding(FindingCode.THROTTLED, 0.6, {})
    healthy = SampleJob("a", Expected(EfficiencyClass.EFFICIENT), {}, [])
    due = SampleJob("b", found(EfficiencyClass.WASTED, FindingCode.TIMEOUT), {}, [])
    card.count(healthy, well)
    card.count(healthy, _with(well, false))
    card.count(due, _with(well, false, Finding(FindingCode.TIMEOUT, 1.0, {})))
    card.count(due, well)
    # Throttled: raised twice, never due. Timeout: due twice, raised once. One of two healthy runs was alarmed.
    assert (card.precision(FindingCode.THROTTLED), card.recall(FindingCode.THROTTLED)) == (0.0, 1.0)
    assert (card.precision(FindingCode.TIMEOUT), card.recall(FindingCode.TIMEOUT)) == (1.0, 0.5)
    assert card.false_alarm_rate == 0.5
    assert card.misjudged == {"b": 2}
    assert len(list(card.failures())) == 3
    assert any("50.00%" in line for line in table(card))


def _with(assessment: Assessment, *findings: Finding) -> Assessment:
    return replace(assessment, findings=findings)
