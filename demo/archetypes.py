"""What a kind of sample job is: what it asks of Slurm, what its GPUs and hosts do, and what Kaiku should say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from demo.shapes import Curve, Range, curve_of

# The spellings of a GPU request that LUMI users write (sbatch(1)): see `records.options`.
PER_NODE, TOTAL, PER_TASK, GRES, GRES_TYPED = "--gpus-per-node", "--gpus", "--gpus-per-task", "--gres", "--gres typed"
ALL_SPELLINGS = (PER_NODE, TOTAL, PER_TASK, GRES, GRES_TYPED)


@dataclass(frozen=True)
class Expected:
    """What the analysis should answer: `findings` must be raised, every other one must not.

    `uncounted_reason` is as in `analysis.efficiency.Efficiency`.
    """

    efficiency_class: EfficiencyClass
    findings: frozenset[FindingCode] = frozenset()
    is_partial: bool = False
    uncounted_reason: str = ""

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong with such a job, so that any finding is a false alarm."""
        return not self.findings and self.efficiency_class in (EfficiencyClass.EFFICIENT, EfficiencyClass.ACCEPTABLE)


def found(efficiency_class: EfficiencyClass, *codes: FindingCode) -> Expected:
    """A class and the findings that must be raised with it."""
    return Expected(efficiency_class, frozenset(codes))


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the cores of a node do: each is a range to draw from, fractions of the allocated cores or of the run.

    With `busy_cores_per_rank` that many cores of each rank are busy, in place of `busy_fraction` of all;
    `threads_per_core` above 1 are more threads than cores. Without `cpu_pressure_fraction` pressure follows from use.
    """

    busy_fraction: Range = (0.25, 0.40)
    busy_cores_per_rank: Range | None = None
    iowait_fraction: Range = (0.0, 0.02)
    io_pressure_fraction: Range = (0.0, 0.02)
    cpu_pressure_fraction: Range | None = None
    threads_per_core: float = 1.0
    memory_fraction: Range = (0.15, 0.55)
    oom_kills: int = 0


class Archetype(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of job as a table of `kinds/` tells it; `gpus` and `ranks` are per node, `ranks=0` is one rank a GPU.

    `curve` names one of `shapes` with what it is given.

    `used_fraction` is the share of the time limit that it ran. `silent_nodes` sent no summary,
    `unreadable_gpus` of the first node told nothing of their use. `full_power_w` is what a module draws at 100 percent.
    With `drawn_nodes` only so many nodes are drawn: the last of them ends the list, the others take turns before it.
    """

    kind: str
    efficiency_class: EfficiencyClass = msgspec.field(name="class")
    described_curve: dict[str, Any] = msgspec.field(name="curve")
    names: tuple[str, ...]
    findings: frozenset[FindingCode] = frozenset()
    is_partial: bool = False
    uncounted_reason: str = ""
    partition: str = "small-g"
    nodes: int = 1
    gpus: int = 8
    ranks: int = 0
    cores_per_rank: int = 7
    memory_per_gpu_gb: float = 60.0
    walltimes_h: tuple[float, ...] = (4, 8, 12, 24)
    used_fraction: Range = (0.65, 0.95)
    peak_mem_gb: Range = (35.0, 58.0)
    host: Host = Host()
    state: str = "COMPLETED"
    exit_code: str = "0:0"
    spellings: tuple[str, ...] = ALL_SPELLINGS
    has_started: bool = True
    silent_nodes: int = 0
    unreadable_gpus: int = 0
    attempt: int = 0
    full_power_w: Range = (410.0, 490.0)
    tells_power: bool = True
    throttled_fraction: Range = (0.0, 0.0)
    gap: Range | None = None
    drawn_nodes: int = 0

    @property
    def expected(self) -> Expected:
        return Expected(self.efficiency_class, self.findings, self.is_partial, self.uncounted_reason)

    @property
    def curve(self) -> Curve:
        return curve_of(self.described_curve)

    @property
    def ranks_per_node(self) -> int:
        return self.ranks or self.gpus
