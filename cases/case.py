"""One case of the noisy library: a run, and what an expert expects of its report, written before it was judged.

The expectations come from the literature, from other sites' cases and from LUMI's documentation, never from Kaiku's
rules. When a report disagrees, the rule is changed, or the expectation is, with the reason in `corrected`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cases.drawing import Described
from cases.readings import Node


class Sensible(Described, frozen=True):
    """What the next request may be. None does not constrain.

    `gpus` are the total GPU counts that an expert would accept; leave out the present count where it must change.
    `cores_min` and `memory_min_gb` are totals over all nodes that the next request must keep; `walltime_min_s` is the
    shortest acceptable time limit; `partitions` are the partitions that an expert would accept. `is_ready_to_resubmit`
    False means: the report must not say that the request fits as it is.
    """

    gpus: tuple[int, ...] | None = None
    cores_min: int | None = None
    memory_min_gb: float | None = None
    walltime_min_s: float | None = None
    partitions: tuple[str, ...] | None = None
    is_ready_to_resubmit: bool | None = None


ANY_REQUEST = Sensible()


@dataclass(frozen=True)
class Case:
    """`record` are `job-record/1` fields; `draw` makes the nodes' readings with noise; a finding that is in neither
    `must` nor `may` must not appear. `source` names where the case comes from, `story` what happened and why an expert
    expects what stands here. `is_healthy` marks a run that deserves no finding at all.
    """

    name: str
    source: str
    story: str
    record: dict[str, Any]
    draw: Callable[[np.random.Generator], list[Node]]
    efficiency_class: str
    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    sensible: Sensible = ANY_REQUEST
    corrected: str = ""

    @property
    def is_healthy(self) -> bool:
        return not self.must and self.efficiency_class in ("EFFICIENT", "ACCEPTABLE")
