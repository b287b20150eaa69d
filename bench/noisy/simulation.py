"""Noisy cases of simulation and classical high-performance computing, gathered from their themes."""

from __future__ import annotations

from bench.noisy import (
    simulation_chemistry,
    simulation_fluids,
    simulation_host,
    simulation_md,
    simulation_nodes,
    simulation_plasma,
)
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *simulation_md.CASES,
    *simulation_fluids.CASES,
    *simulation_chemistry.CASES,
    *simulation_plasma.CASES,
    *simulation_nodes.CASES,
    *simulation_host.CASES,
)
