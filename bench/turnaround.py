"""What the hooks cost: jobs back to back on one node of a real Slurm, with the hooks and with ones that do nothing.

A turn submits a few jobs that do nothing and want the whole node, so that each waits for the epilog of the one before;
turns of both kinds alternate, so that a noisy machine disturbs both alike. Needs what `tests/slurm` needs.
"""

from __future__ import annotations

import statistics
import subprocess
import time

from tests.slurm.cluster import is_possible, wait_until
from tests.slurm.site import Site

TURNS = 6
JOBS_A_TURN = 8
HOOK_RUNS = 9


def turn_s(site: Site, *, is_on: bool) -> float:
    """Seconds from the first submission to the end of the last job, a job."""
    site.switch_hooks(is_on=is_on)
    time.sleep(1)
    options = ("--nodelist=nid005001", "--gpus=8", "--time=10")
    began = time.monotonic()
    jobs = [site.cluster.submit(site.nodes.work, *options, arguments=("0", "0")) for _ in range(JOBS_A_TURN)]
    wait_until("the turn", lambda: not any(site.cluster.state(job) for job in jobs), 120)
    return (time.monotonic() - began) / JOBS_A_TURN


def hook_s(site: Site, hook: str) -> float:
    """Wall seconds of one hook as slurmd runs it, for a job of eight GPUs."""
    job = {"SLURM_JOB_ID": "999", "SLURM_JOB_GPUS": "0-7", "SLURMD_NODENAME": "nid005004", "SLURM_CLUSTER_NAME": "lumi"}
    began = time.monotonic()
    subprocess.run([site.top / hook], env=site.cluster.environment | job, check=True)
    return time.monotonic() - began


def main() -> None:
    if not is_possible():
        print("turnaround: left out, Slurm is not on this machine or may not be started")
        return
    site = Site()
    try:
        turn_s(site, is_on=True)
        turns = [(turn_s(site, is_on=True), turn_s(site, is_on=False)) for _ in range(TURNS)]
        hooks = [(hook_s(site, "prolog"), hook_s(site, "epilog")) for _ in range(HOOK_RUNS)]
    finally:
        site.stop()
    with_hooks, without = (statistics.median(column) for column in zip(*turns, strict=True))
    prolog_s, epilog_s = (statistics.median(column) for column in zip(*hooks, strict=True))
    print(f"turnaround of an empty job on a real Slurm, median of {TURNS} turns of {JOBS_A_TURN} jobs")
    print(f"  with hooks {with_hooks:.3f} s, with empty ones {without:.3f} s: {with_hooks / without:.3f} times")
    print(f"  the prolog alone {prolog_s * 1e3:.0f} ms, the epilog {epilog_s * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
