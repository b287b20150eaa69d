"""Histories in which runs follow several pieces of advice, worked by hand before the rule: each run counts once.

All runs do the same work, 3.6 busy GPU-hours, as in `cases`. Before any advice a run is billed 8 GPU-hours; what
somebody saved is the bill without any of the advice that a run followed, less the bill of that run.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.analysis.outcomes.cases import ADVISED, BOTH, FEWER, Seen, small

LESS_MEMORY = ("host_memory", {"memory_gb": 60.0})
TWO_GPUS = small(24, gpu_hours=3.0, advice=(LESS_MEMORY,), claimed_gpu_hours=1.0)
"""Two GPUs whose memory is still that of three: 3 GPU-hours are billed, and with 60 GB it would be 2."""


@dataclass(frozen=True)
class Credited:
    """A history; how many runs followed advice, and the GPU-hours that they saved together.

    `compared` is how many of them can be compared; None for all.
    """

    name: str
    runs: tuple[Seen, ...]
    following: int
    saved_gpu_hours: float
    compared: int | None = None


CASES = (
    Credited(
        "a run that follows the advice on GPUs and on time of one report counts once",
        (BOTH, small(24, limit_h=2.5)),
        1,
        6.0,
    ),
    Credited(
        "two earlier runs with the same advice, one follower: 8 - 2, once",
        (ADVISED, Seen(24, advice=(FEWER,), claimed_gpu_hours=6.0), small(48)),
        *(1, 6.0),
    ),
    Credited(
        "one piece of advice, five followers: five times 8 - 2",
        (ADVISED, *(small(24 * day) for day in range(1, 6))),
        *(5, 30.0),
    ),
    Credited(
        # The second run is billed 3 instead of 8, the third 2 instead of 8: not 2 instead of 8 and 2 instead of 3.
        "advice on GPUs and, one run later, on memory: 5 and 6",
        (ADVISED, TWO_GPUS, small(48, memory_gb=60.0)),
        *(2, 11.0),
    ),
    Credited(
        # 8 - 3 for the second run; the third is billed 4, which is 1 more than before its last advice: 8 - 4.
        "what the second advice cost is taken off what the first one saved",
        (ADVISED, TWO_GPUS, small(48, memory_gb=60.0, gpu_hours=4.0)),
        *(2, 9.0),
    ),
    Credited(
        # 5 for the second run; the third follows the advice on memory alone and is not compared with the first.
        "back on eight GPUs with less memory: 3 - 8 of the third run takes away what the second saved",
        (ADVISED, TWO_GPUS, Seen(48, memory_gb=60.0)),
        *(2, 0.0),
    ),
    Credited("followed, and nothing can be compared", (ADVISED, small(24, run_h=10)), 1, 0.0, 0),
    Credited("of two runs one can be compared: 8 - 2", (ADVISED, small(24, run_h=10), small(48)), 2, 6.0, 1),
    Credited("not followed", (ADVISED, Seen(24)), 0, 0.0),
    Credited("nothing came later", (BOTH,), 0, 0.0),
)
