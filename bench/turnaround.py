"""The cost of the hooks: jobs back to back on one node of a real Slurm, with the hooks and with empty ones.

A turn submits a few jobs that do nothing and request the whole node, so that each waits for the epilog of the one
before; turns of both kinds alternate, so that a noisy machine disturbs both alike. Needs what `tests/slurm` needs.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import time

from tests.parts import absent
from tests.processes import wait_until
from tests.slurm.hooks import SYSTEM_PYTHON, Nodes

TURNS = 6
JOBS_A_TURN = 8
HOOK_RUNS = 60
HOOK_STARTS_MAX = 3.0
"""A hook may cost at most this many starts of the Python that it runs in, in processor time."""


def turn_s(site: Nodes, *, is_on: bool) -> float:
    """Seconds from the first submission to the end of the last job, a job."""
    site.switch_hooks(is_on=is_on)
    time.sleep(1)
    options = ("--nodelist=nid005001", "--gpus=8", "--time=10")
    began = time.monotonic()
    jobs = [site.cluster.submit(site.fake.work, *options, arguments=("0", "0")) for _ in range(JOBS_A_TURN)]
    wait_until("the turn", lambda: not any(site.cluster.state(job) for job in jobs), 120)
    return (time.monotonic() - began) / JOBS_A_TURN


def cost_s(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of a processor, and on the clock, of a command and what it waits for."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after, took_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took_s


def hook_costs(site: Nodes) -> dict[str, list[tuple[float, float]]]:
    """What each hook costs as slurmd runs it, for jobs of eight GPUs, and a bare start of its Python beside it."""
    commands = {"python": [SYSTEM_PYTHON, "-I", "-S", "-c", "pass"]}
    commands |= {hook: ["/bin/sh", str(site.top / hook)] for hook in ("prolog", "epilog")}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for run in range(HOOK_RUNS):
        job = {"SLURM_JOB_ID": str(9000 + run), "SLURM_JOB_GPUS": "0-7", "SLURMD_NODENAME": "nid005004"}
        for name, command in commands.items():
            spent[name].append(cost_s(command, site.cluster.environment | job | {"SLURM_CLUSTER_NAME": "lumi"}))
            time.sleep(0.4)
    return spent


def part(costs: list[tuple[float, float]], column: int, fraction: float) -> float:
    """The cost that this fraction of the runs does not exceed."""
    return sorted(cost[column] for cost in costs)[int(fraction * (len(costs) - 1))]


def main() -> None:
    if absent("Slurm"):
        print("turnaround: skipped, Slurm is not on this machine or cannot be started")
        return
    site = Nodes()
    try:
        turn_s(site, is_on=True)
        turns = [(turn_s(site, is_on=True), turn_s(site, is_on=False)) for _ in range(TURNS)]
        spent = hook_costs(site)
    finally:
        site.stop()
    with_hooks, without = (statistics.median(column) for column in zip(*turns, strict=True))
    print(f"turnaround of an empty job on a real Slurm, median of {TURNS} turns of {JOBS_A_TURN} jobs")
    print(f"  with hooks {with_hooks:.3f} s, with empty ones {without:.3f} s: {with_hooks / without:.3f} times")
    start_s = part(spent["python"], 0, 0.5)
    for hook in ("prolog", "epilog"):
        starts = part(spent[hook], 0, 0.5) / start_s
        median_s, most_s = (part(spent[hook], 1, fraction) for fraction in (0.5, 0.95))
        word = "ok" if starts <= HOOK_STARTS_MAX else "MISSED"
        print(
            f"  {hook} {starts:.2f} starts of its Python  <= {HOOK_STARTS_MAX:g} {word}"
            f"  ({start_s * 1e3:.1f} ms a start; on the clock {median_s * 1e3:.0f} ms, p95 {most_s * 1e3:.0f} ms)"
        )


if __name__ == "__main__":
    main()
