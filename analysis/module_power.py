"""Power by module: on MI250X two GPUs share one module, and only the primary die reports power.

Source: AMD SMI documentation; rocm_smi_lib issue 160.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.facts import JobFacts, divide
from analysis.validation import module_groups
from metrics.series import Floats


@dataclass(frozen=True)
class Modules:
    """The modules `(M,)` of which every GPU was measured and power is known."""

    busy_percent: Floats
    power_fraction: Floats
    power_w: Floats
    known_fraction: float

    @property
    def count(self) -> int:
        return int(self.power_w.size)


def whole_modules(facts: JobFacts) -> Modules | None:
    """The job's modules with their power as a share of the cap; None where all power or its cap is unknown.

    Where the hardware is not described, modules and their caps are as measured.
    """
    if not facts.gpus.count:
        return None
    module, gpus = module_groups(facts.gpus)
    busy_percent = np.bincount(module, weights=facts.gpus.avg_util) / gpus
    power_w, cap_w = highest_of(module, facts.gpus.power_avg_w), highest_of(module, facts.gpus.power_cap_w)
    if facts.partition is not None:
        cap_w = np.where(np.isnan(cap_w), facts.partition.node.module_power_cap_w, cap_w)
    power_fraction = divide(power_w, cap_w)
    is_known = (gpus == gpus_per_module(facts)) & ~np.isnan(power_fraction)
    if not np.any(is_known):
        return None
    return Modules(
        busy_percent=busy_percent[is_known],
        power_fraction=power_fraction[is_known],
        power_w=power_w[is_known],
        known_fraction=float(np.mean(is_known)),
    )


def gpus_per_module(facts: JobFacts) -> int:
    """GPUs that share one module and its power: as described, else as many as the measurements show together."""
    if facts.partition is not None:
        return facts.partition.node.gpus_per_module
    return int(np.max(module_groups(facts.gpus)[1], initial=1))


def idle_module_energy_j(facts: JobFacts) -> float | None:
    """Energy of the modules of which every GPU was idle; None where there is none or its energy is not known."""
    if not facts.gpus.count:
        return None
    module, gpus = module_groups(facts.gpus)
    idle = np.bincount(module, weights=facts.is_idle)
    is_idle_module = (idle == gpus) & (gpus == gpus_per_module(facts))
    energy_j = highest_of(module, facts.gpus.energy_j)[is_idle_module]
    return float(np.sum(energy_j)) if energy_j.size and not np.any(np.isnan(energy_j)) else None


def highest_of(module: NDArray[np.int64], values: Floats) -> Floats:
    """The highest known value of each module `(M,)`, NaN where none is known."""
    highest = np.full(int(module.max()) + 1, np.nan)
    np.fmax.at(highest, module, values)
    return highest
