"""What the policy export adds up for each person in each project: one row of numbers, `NAMES` in their order."""

import numpy as np
from numpy.typing import NDArray

from analysis.efficiency import EfficiencyClass
from analysis.history.run_sums import RunSums

CLASSES = tuple(EfficiencyClass)
HOURS_OF = tuple(f"gpu_hours_{name.lower()}" for name in CLASSES)
JOBS_OF = tuple(f"jobs_{name.lower()}" for name in CLASSES)
FOLLOWED = ("followed_runs", "followed_gpu_hours")
NAMES = ("jobs", "gpu_hours", "unused", "advice", "measured", "used", *HOURS_OF, *JOBS_OF, *FOLLOWED)
PLACE = {name: place for place, name in enumerate(NAMES)}

PolicySums = NDArray[np.float64]
"""(P people or groups, `NAMES`), or one row of it."""


def of_day(sums: RunSums) -> PolicySums:
    """The counted runs of one day, without followed advice."""
    classes = [sums.classes.get(name.value) for name in CLASSES]
    found = [sums.jobs, sums.gpu_hours, sums.wasted_gpu_hours, sums.saved_gpu_hours]
    found += [sums.measured_gpu_hours, sums.used_gpu_hours]
    found += [row.gpu_hours if row else 0.0 for row in classes] + [row.jobs if row else 0 for row in classes]
    return np.array(found + [0.0] * len(FOLLOWED))


def column(sums: PolicySums, name: str) -> PolicySums:
    """One of `NAMES` of each person."""
    found: PolicySums = sums[:, PLACE[name]]
    return found


def parts(sums: PolicySums) -> PolicySums:
    """(P, 3): GPU-hours used, unused and not measured of each person; together they are the allocated ones."""
    hours, measured = column(sums, "gpu_hours"), column(sums, "measured")
    unused = np.minimum(column(sums, "unused"), measured)
    return np.stack([measured - unused, unused, np.maximum(hours - measured, 0.0)], axis=1)
