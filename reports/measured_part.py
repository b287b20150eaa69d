"""What part of a run was measured, in words, and the GPU-hours of each part: what was not measured is not claimed."""

from __future__ import annotations

from reports.numbers import share


def measured_on(coverage_fraction: float, measured_nodes: int | None, nodes: int | None) -> str:
    """The measured part of a run: its nodes where some are missing, else its time.

    >>> measured_on(0.25, 1, 4), measured_on(0.5, 1, 1), measured_on(0.25, None, None)
    ('1 of 4 nodes', '50 % of the GPU time', '25 % of the GPU time')
    """
    if measured_nodes is not None and nodes is not None and 0 < measured_nodes < nodes:
        return f"{measured_nodes:,} of {nodes:,} nodes"
    return f"{share(coverage_fraction)} of the GPU time"


def unmeasured_hours(gpu_hours: float, coverage_fraction: float, *, is_partial: bool) -> float:
    """Billed GPU-hours that nothing is known of: none where nearly all of a run was measured.

    >>> unmeasured_hours(32.0, 0.25, is_partial=True), unmeasured_hours(32.0, 0.9, is_partial=False)
    (24.0, 0.0)
    """
    return gpu_hours * (1 - coverage_fraction) if is_partial else 0.0
