"""Cases of a third reader, of whole reports as users meet them: requests, hosts, ends, what was not measured."""

from __future__ import annotations

from bench.noisy import (
    inspector_big,
    inspector_bills,
    inspector_elsewhere,
    inspector_ends,
    inspector_healthy,
    inspector_healthy_wide,
    inspector_host,
    inspector_unmeasured,
)
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *inspector_big.CASES,
    *inspector_bills.CASES,
    *inspector_elsewhere.CASES,
    *inspector_ends.CASES,
    *inspector_healthy.CASES,
    *inspector_healthy_wide.CASES,
    *inspector_host.CASES,
    *inspector_unmeasured.CASES,
)
