"""What the hooks cost a job: whole jobs back to back on one node of a real Slurm, with the hooks and without.

A turn submits a few jobs that do nothing and want the whole node, so that each waits for the epilog of the one before;
turns with and without hooks alternate, so that a noisy machine disturbs both alike. Needs what `tests/slurm` needs.
"""

from __future__ import annotations

import statistics
import time

from tests.slurm.cluster import is_possible, wait_until
from tests.slurm.site import Site

TURNS = 4
JOBS_A_TURN = 5


def turn_s(site: Site, *, is_on: bool) -> float:
    """Seconds from the first submission to the end of the last job, a job."""
    site.switch_hooks(is_on=is_on)
    options = ("--nodelist=nid005001", "--gpus=8", "--time=10")
    began = time.monotonic()
    jobs = [site.cluster.submit(site.nodes.work, *options, arguments=("0", "0")) for _ in range(JOBS_A_TURN)]
    wait_until("the turn", lambda: not any(site.cluster.state(job) for job in jobs), 120)
    return (time.monotonic() - began) / JOBS_A_TURN


def main() -> None:
    if not is_possible():
        print("turnaround: left out, Slurm is not on this machine or may not be started")
        return
    site = Site()
    try:
        turn_s(site, is_on=True)
        turns = [(turn_s(site, is_on=True), turn_s(site, is_on=False)) for _ in range(TURNS)]
    finally:
        site.stop()
    with_hooks, without = (statistics.median(column) for column in zip(*turns, strict=True))
    print(f"turnaround of an empty job on a real Slurm, median of {TURNS} turns of {JOBS_A_TURN} jobs")
    print(f"  with hooks {with_hooks:.3f} s, without {without:.3f} s: {with_hooks / without:.3f} times")


if __name__ == "__main__":
    main()
