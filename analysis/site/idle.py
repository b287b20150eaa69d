"""GPU-hours of GPUs that never worked, in one month of the site: those that others waited for, and all others."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from analysis.site.suppression import Atoms, Parts, Withheld, add_parts, reason, rounded, runs_of, step_of

IDLE, REST = "idle", "rest"


class IdleHours(msgspec.Struct):
    """Rounded GPU-hours, or the `Withheld` reason; `wanted` are those that waiting jobs would have filled.

    `step` is that of the rounding; None where they are withheld.
    """

    withheld: str = ""
    wanted: float | None = None
    unwanted: float | None = None
    step: float | None = None


@dataclass
class IdleSums:
    """Counted runs added up by person and group, each divided into its idle GPUs and the rest."""

    atoms: Atoms = field(default_factory=dict)
    of_person: dict[int, tuple[float, float]] = field(default_factory=dict)

    def add(self, user: int, groups: tuple[str, ...], parts: Parts, idle: float, wanted: float) -> None:
        """Add one run with the hours of its idle GPUs, and those of them that others waited for."""
        used, unused, unmeasured = parts
        idle = min(idle, unused)
        wanted = min(wanted, idle)
        before = self.of_person.get(user, (0.0, 0.0))
        self.of_person[user] = before[0] + wanted, before[1] + idle - wanted
        add_parts(self.atoms, user, (*groups, REST), (used, unused - idle, unmeasured))
        if idle > 0:
            add_parts(self.atoms, user, (*groups, IDLE), (0.0, idle, 0.0))

    def figures(self, shown: Sequence[Collection[str]]) -> IdleHours:
        """What may be shown beside tables that show these groups, in the order of the groups of `add`."""
        hours = np.array([(*person, 0.0) for person in self.of_person.values()]).reshape(-1, 3)
        why = reason(hours) or self._why_beside(shown)
        if why:
            return IdleHours(why.value)
        step = step_of(hours.sum(axis=1))
        wanted, unwanted, _ = hours.sum(axis=0)
        return IdleHours("", rounded(float(wanted), step), rounded(float(unwanted), step), step)

    def _why_beside(self, shown: Sequence[Collection[str]]) -> Withheld | None:
        """Why a difference from what is published may not be known: everything else, or a group without these hours."""
        runs = runs_of(self.atoms)
        *tables, split = runs.tables
        is_idle = split.mask([split.names.index(IDLE)])
        if runs.why(~is_idle):
            return Withheld.OTHER_GROUP
        for table, names in zip(tables, shown, strict=True):
            hidden = (group for group, name in enumerate(table.names) if name not in names)
            table.withheld.update(dict.fromkeys(hidden, Withheld.OTHER_GROUP))
            for groups, left in (*table.beside(is_idle), *table.beside(~is_idle)):
                if groups and np.any(left) and runs.why(left):
                    return Withheld.OTHER_GROUP
        return None
