"""The noisy library drawn and judged once, on a seed that no rule was looked at with.

Tests that ask for it belong to the group `noisy library`, so that one process of the suite does the work.
"""

from __future__ import annotations

from functools import cache

import pytest

from analysis.assess import assess
from cases.case import Case
from cases.library import LIBRARY
from cases.noisy_score import Trial, draw
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from tests.analysis.runs import metrics_of

SEED = 101

in_one_process = pytest.mark.xdist_group("noisy library")


@cache
def drawn_library() -> tuple[tuple[Case, JobRecord, list[NodePayload]], ...]:
    return tuple((case, *draw(case, SEED)) for case in LIBRARY)


@cache
def trials() -> tuple[Trial, ...]:
    return tuple(Trial(case, SEED, assess(record, metrics_of(*nodes))) for case, record, nodes in drawn_library())
