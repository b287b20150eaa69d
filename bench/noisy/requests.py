"""Cases of how runs were requested: beyond the share, whole nodes, one GPU, partial data, other sites, pairs."""

from __future__ import annotations

from bench.noisy import (
    requests_coverage,
    requests_nodes,
    requests_othersite,
    requests_pairs,
    requests_share,
    requests_single,
)
from bench.noisy.case import Case

CASES: tuple[Case, ...] = (
    *requests_share.CASES,
    *requests_nodes.CASES,
    *requests_single.CASES,
    *requests_coverage.CASES,
    *requests_othersite.CASES,
    *requests_pairs.CASES,
)
