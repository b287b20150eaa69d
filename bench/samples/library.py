"""Every labelled kind of run: the sample jobs of the demo, and what only tests and benches draw."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from bench.samples.archetypes import PER_NODE, Archetype, Expected, Host, found
from bench.samples.catalogue import ARCHETYPES
from bench.samples.close_calls import CLOSE_CALLS
from bench.samples.shapes import all_but_last, falling, steady, training

EFFICIENT = Expected(EfficiencyClass.EFFICIENT)

BEYOND_THE_DEMO = (
    Archetype("no_power_reading", EFFICIENT, training(85, 94), ("train_llama",), tells_power=False),
    Archetype("gaps", EFFICIENT, training(85, 94), ("train_llama",), gap=(0.3, 0.75)),
    Archetype("gap_at_the_end", EFFICIENT, steady(85, 94), ("gromacs_md",), gap=(0.6, 1.0)),
    Archetype(
        "large_64",
        EFFICIENT,
        training(82, 92),
        ("train_llama",),
        partition="standard-g",
        nodes=64,
        walltimes_h=(24, 48),
        spellings=(PER_NODE,),
        drawn_nodes=4,
    ),
    Archetype(
        "large_sync_stall_128",
        found(EfficiencyClass.INEFFICIENT, FindingCode.IO_OR_SYNC_STALL),
        falling((82, 88), (12, 16)),
        ("icon-atm",),
        partition="standard-g",
        nodes=128,
        host=Host(busy_fraction=(0.05, 0.10)),
        spellings=(PER_NODE,),
        drawn_nodes=4,
    ),
    # A node that never joined: invisible in any mean, 8 of 2,048 GPUs.
    Archetype(
        "large_one_node_idle_256",
        found(EfficiencyClass.EFFICIENT, FindingCode.IDLE_GPUS),
        all_but_last(8, 84, 92),
        ("train_llama",),
        partition="standard-g",
        nodes=256,
        spellings=(PER_NODE,),
        drawn_nodes=4,
    ),
    Archetype(
        "large_1024",
        EFFICIENT,
        training(84, 92),
        ("icon-atm", "train_llama"),
        partition="standard-g",
        nodes=1024,
        walltimes_h=(12, 24),
        spellings=(PER_NODE,),
        drawn_nodes=3,
    ),
)

LIBRARY: Mapping[str, Archetype] = MappingProxyType(
    {**ARCHETYPES, **{archetype.kind: archetype for archetype in CLOSE_CALLS + BEYOND_THE_DEMO}}
)
