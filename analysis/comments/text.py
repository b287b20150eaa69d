"""The comment that Slurm's accounting gets about a run: its class and mean GPU use, and nothing that a person wrote."""

import math

from analysis.efficiency import EfficiencyClass

VERSION = 1
FRACTION_OF_A_SUM = 1e-9
"""What a mean that is whole may be short of it after adding up."""


def comment_text(efficiency_class: EfficiencyClass, avg_gpu_util: float | None, *, is_class_shown: bool) -> str:
    """The comment, at most 40 letters of ASCII; `avg_gpu_util` in percent, None where it is not known.

    Whole percent, rounded down: equal comments share one command of sacctmgr, which takes 0.3 s, and 49.6 % is no 50 %,
    where another class begins. Reports have the decimal.

    >>> comment_text(EfficiencyClass.INEFFICIENT, 24.8, is_class_shown=True)
    'kaiku:class=inefficient;util=24;v=1'
    >>> comment_text(EfficiencyClass.EFFICIENT, 88.0, is_class_shown=False)
    'kaiku:class=unknown;v=1'
    """
    is_known = is_class_shown and efficiency_class != EfficiencyClass.UNKNOWN
    if not is_known or avg_gpu_util is None or not math.isfinite(avg_gpu_util):
        return f"kaiku:class=unknown;v={VERSION}"
    percent = max(0, min(100, math.floor(avg_gpu_util + FRACTION_OF_A_SUM)))
    return f"kaiku:class={efficiency_class.value.lower()};util={percent};v={VERSION}"
