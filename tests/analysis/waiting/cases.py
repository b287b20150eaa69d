"""Histories worked by hand: what a run left unused for four hours, who waited meanwhile, and what follows from it.

The run belongs to person 0 and lasts from minute 0 to minute 240. `idle` are the idle GPUs of its nodes: {8: 2} is two
nodes with 8 idle GPUs each. A waiting job is (person, GPUs, nodes, from minute, until minute). `wanted_gpu_hours` are
the hours of idle GPUs that waiting jobs requested meanwhile, never more GPUs at once than are idle; `could_start` is
how many of the jobs fit into the idle GPUs together. A node has 8 GPUs.
"""

from __future__ import annotations

from typing import NamedTuple

Job = tuple[int, int, int, float, float]


class Case(NamedTuple):
    """One history; `whole_nodes`: the partition allocates whole nodes. `exclusive`: so do the jobs that wait."""

    name: str
    idle: dict[int, int]
    jobs: list[Job]
    wanted_gpu_hours: float
    could_start: int
    is_shown: bool = False
    whole_nodes: bool = False
    exclusive: bool = False


CASES = [
    Case("an idle system: nobody waited", {8: 1}, [], 0.0, 0),
    # 2 GPUs for 4 h; one person who waits is not shown.
    Case("one job waited all the time", {8: 1}, [(1, 2, 1, -60, 300)], 8.0, 1),
    Case("the owner's own job waited", {8: 1}, [(0, 2, 1, -60, 300)], 0.0, 0),
    Case("it started when the run did", {8: 1}, [(1, 2, 1, -60, 0)], 0.0, 0),
    Case("it waited only after the run", {8: 1}, [(1, 2, 1, 240, 900)], 0.0, 0),
    Case("it waited for four minutes", {8: 1}, [(1, 2, 1, 10, 14)], 0.0, 0),
    # Eligible long before, but four minutes of the wait are within the run.
    Case("four minutes of its wait are in the run", {8: 1}, [(1, 2, 1, -600, 4)], 0.0, 0),
    # 2 GPUs for 5 min = 2 x 5 / 60.
    Case("it waited for five minutes", {8: 1}, [(1, 2, 1, 10, 15)], 2 * 5 / 60, 1),
    # From minute 200 to the end of the run: 40 min of 3 GPUs.
    Case("it became eligible late and waited beyond the end", {8: 1}, [(1, 3, 1, 200, 5000)], 2.0, 1),
    Case("it needs more GPUs than are idle", {6: 1}, [(1, 8, 1, 0, 240)], 0.0, 0),
    Case("eight idle GPUs on two nodes are not eight on one", {4: 2}, [(1, 8, 1, 0, 240)], 0.0, 0),
    # 8 GPUs for 4 h.
    Case("eight GPUs on two nodes fit four idle ones on each", {4: 2}, [(1, 8, 2, 0, 240)], 32.0, 1),
    Case("two nodes are needed and one has idle GPUs", {8: 1}, [(1, 4, 2, 0, 240)], 0.0, 0),
    Case("a job without GPUs needs none of them", {8: 1}, [(1, 0, 1, 0, 240)], 0.0, 0),
    # Five jobs want 20 GPUs, 8 are idle for 4 h: 32, and two jobs of 4 fit.
    Case(
        "five people waited for more than was idle",
        {8: 1},
        [(person, 4, 1, 0, 240) for person in range(1, 6)],
        32.0,
        2,
        is_shown=True,
    ),
    # 1 + 1 + 2 + 4 = 8: the job of 6 no longer fits. All together want 14 of 8.
    Case(
        "smallest first",
        {8: 1},
        [(1, 6, 1, 0, 240), (2, 1, 1, 0, 240), (3, 4, 1, 0, 240), (4, 1, 1, 0, 240), (5, 2, 1, 0, 240)],
        32.0,
        4,
        is_shown=True,
    ),
    # 4 GPUs for 1 h, later 8 for 1 h; each GPU is given once, so 4 of 8 are left for the second job.
    Case("one after the other", {8: 1}, [(1, 4, 1, 0, 60), (2, 8, 1, 120, 180)], 12.0, 1),
    # Minutes 0-60: 4 GPUs, 60-120: 10 wanted of 8, 120-180: 6. 4 + 8 + 6; after 4 the 6 no longer fit.
    Case("they overlap", {8: 1}, [(1, 4, 1, 0, 120), (2, 6, 1, 60, 180)], 18.0, 1),
    # The job of 2 takes the node with 2 idle GPUs and leaves the one with 8: both start. 10 GPUs for 4 h.
    Case("the fullest node that fits is taken first", {2: 1, 8: 1}, [(1, 2, 1, 0, 240), (2, 8, 1, 0, 240)], 40.0, 2),
    # On whole nodes a job of 2 GPUs takes 8: 8 x 4 h.
    Case("whole nodes: two GPUs take a node", {8: 2}, [(1, 2, 1, 0, 240)], 32.0, 1, whole_nodes=True),
    Case("whole nodes: three are needed, two are idle", {8: 2}, [(1, 24, 3, 0, 240)], 0.0, 0, whole_nodes=True),
    # 1 + 2 nodes of 4 fit, and the third job of 2 does not: 5 nodes wanted of 4, 32 GPUs for 4 h.
    Case(
        "whole nodes: one and two of four",
        {8: 4},
        [(1, 16, 2, 0, 240), (2, 8, 1, 0, 240), (3, 16, 2, 0, 240)],
        128.0,
        2,
        whole_nodes=True,
    ),
    # A request for whole nodes needs one where all 8 are idle.
    Case("exclusive: six idle GPUs are no node", {6: 1}, [(1, 2, 1, 0, 240)], 0.0, 0, exclusive=True),
    Case("exclusive: a whole idle node", {6: 1, 8: 1}, [(1, 2, 1, 0, 240)], 32.0, 1, exclusive=True),
    # 44 jobs of one GPU each want more than 8; 40 of 44 are one person's: 91 %.
    Case(
        "one person has most of the waiting jobs",
        {8: 1},
        [(1, 1, 1, 0, 240)] * 40 + [(person, 1, 1, 0, 240) for person in range(2, 6)],
        32.0,
        8,
    ),
    # Four others and the owner: 4 GPUs for 4 h.
    Case(
        "four others and the owner waited",
        {8: 1},
        [(person, 1, 1, 0, 240) for person in range(5)],
        16.0,
        4,
    ),
    # Five others, of whom one needs more than is idle: four fit.
    Case(
        "the fifth person's job does not fit",
        {4: 1},
        [(person, 1, 1, 0, 240) for person in range(1, 5)] + [(5, 8, 1, 0, 240)],
        16.0,
        4,
    ),
]
