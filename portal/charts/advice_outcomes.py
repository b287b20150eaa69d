"""What became of advice, as rows of tables: one by one, kind by kind, and what those of one month saved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from analysis.models import AdviceOutcome, JobEfficiency
from analysis.outcomes.following import Status, advised_dimensions
from analysis.outcomes.quality import RuleFigures
from analysis.outcomes.selectors import KindSums, shape_of_run
from jobs.models import Job
from jobs.sbatch import Shape
from jobs.site_factors import GPU_HOUR
from portal.charts.site_claims import Claim, cost, number
from reports.grant.wording import KINDS
from reports.numbers import share, unbroken
from reports.services.links import job_url
from wire.numbers import counted, duration, gigabytes

BASES = {
    "active_gpus": "only the GPUs that were active",
    "gpu_memory": "as many GPUs as their memory needs",
    "no_gpu_use": "no GPU was used",
    "cpu_work": "a CPU partition, no GPU was used",
    "smaller_gpu": "a smaller GPU",
    "overscaling": "fewer, busier GPUs",
    "own_scaling": "as many GPUs as scaled in own runs",
    "peak_memory": "memory near the measured peak",
    "busy_cores": "cores near those that were busy",
    "host_share": "cores and memory that come with the GPUs",
    "out_of_memory": "the memory that comes with the GPUs, after it ran out",
    "more_memory": "more memory, after it ran out",
    "run_time": "a time limit near the run time",
    "own_runs": "a time limit near the longest own run",
    "more_time": "more time, after the limit was reached",
    "own_longer_runs": "the time that own runs took, after the limit was reached",
}
DIMENSIONS = {
    "gpus": "GPUs",
    "partition": "partition",
    "nodes": "nodes",
    "cores": "cores",
    "memory": "memory",
    "time": "time limit",
}

NAMED = {"partition": "Partition ", "memory": "Memory ", "time": "Time limit "}
"""What the value alone does not show."""


@dataclass(frozen=True)
class OutcomeRow:
    """One recommendation: what it suggested, which later runs followed, and what changed; `judged` is before it."""

    job: Job
    url: str
    kind: str
    suggested: tuple[str, ...]
    result: str
    dimensions: str
    stored: AdviceOutcome
    judged: JobEfficiency

    @property
    def has_later(self) -> bool:
        return self.stored.later_runs > 0

    @property
    def claimed_gpu_hours(self) -> float | None:
        """What the report claimed for the runs that can be compared, else for one run."""
        claimed = self.stored.claimed_gpu_hours
        return None if claimed is None else claimed * max(self.stored.compared_runs, 1)


def outcome_rows(outcomes: Iterable[AdviceOutcome]) -> list[OutcomeRow]:
    """The recommendations in their order, each with its run, its judgement and its advice read already."""
    return [
        OutcomeRow(
            job=row.job,
            url=job_url(row.job),
            kind=KINDS.get(row.kind, row.kind),
            suggested=_suggested(row),
            result=_result(row),
            dimensions=", ".join(DIMENSIONS[name] for name in row.dimensions.split()),
            stored=row,
            judged=row.job.efficiency,
        )
        for row in outcomes
    ]


def _suggested(row: AdviceOutcome) -> tuple[str, ...]:
    """What the report suggests to change, as it is stored now."""
    advice = next((each for each in row.job.efficiency.recommendations.all() if each.kind == row.kind), None)
    if advice is None:
        return ()
    now, wanted = shape_of_run(row.job), msgspec.convert(advice.wanted, Shape)
    names = advised_dimensions(now, row.kind, wanted)
    return tuple(f"{NAMED.get(name, '')}{_value(name, now)} → {_value(name, wanted)}" for name in names)


def _value(name: str, shape: Shape) -> str:
    """One part of a request in words.

    >>> _value("gpus", Shape(1, 8)), _value("time", Shape(1, 8, walltime_s=9000.0))
    ('8\\xa0GPUs', '2\\xa0h\\xa030\\xa0min')
    """
    match name:
        case "gpus":
            text = counted(shape.gpus, "GPU")
        case "nodes":
            text = counted(shape.nodes, "node")
        case "cores":
            text = "–" if shape.cores is None else counted(shape.cores, "core")
        case "memory":
            text = gigabytes(shape.memory_gb)
        case "time":
            text = duration(shape.walltime_s)
        case _:
            return shape.partition
    return text.replace(" ", "\u00a0")


def _result(row: AdviceOutcome) -> str:
    later = counted(row.later_runs, "later run")
    match row.status:
        case Status.NOT_FOLLOWED:
            return f"Not followed by {later}"
        case Status.PARTLY | Status.FOLLOWED:
            how = "Followed in part" if row.status == Status.PARTLY else "Followed"
            of = f"{row.following_runs:,} of {later}" if row.later_runs > 1 else "the one later run"
            ended = f"; {row.failed_runs:,} ran out of memory or time" if row.failed_runs else ""
            return f"{how} by {of}{ended}"
        case Status.REPEATED:
            return "Repeated by a later report before a run could follow"
    return "No later run yet"


@dataclass(frozen=True)
class KindRow:
    """One kind of advice with its name."""

    name: str
    sums: KindSums

    @property
    def followed_fraction(self) -> float | None:
        """The share of recommendations with a later run that were followed in full."""
        return self.sums.followed / self.sums.answered if self.sums.answered else None


def kind_rows(sums: Iterable[KindSums]) -> list[KindRow]:
    """The kinds of advice in their order."""
    return [KindRow(KINDS.get(row.kind, row.kind), row) for row in sums]


@dataclass(frozen=True)
class Savings:
    """The sums of the rules that may be shown, with these rules, and how many may not.

    `rows` are (kind, rule, claimed, saved, share), the most saved first.
    """

    claimed: str
    saved: str
    fraction: str
    money: Claim | None
    rows: tuple[tuple[str, str, str, str, str], ...]
    withheld: int


def savings(figures: Sequence[RuleFigures], month: date) -> Savings:
    """Claimed against realised GPU-hours, added up from the rounded hours of each rule."""
    shown = [row for row in figures if row.claimed_gpu_hours is not None and row.realised_gpu_hours is not None]
    shown.sort(key=lambda row: (-(row.realised_gpu_hours or 0.0), row.kind, row.basis))
    claimed = round(sum(row.claimed_gpu_hours or 0.0 for row in shown), 9)
    saved = round(sum(row.realised_gpu_hours or 0.0 for row in shown), 9)
    rows = tuple(
        (
            KINDS.get(row.kind, row.kind),
            BASES.get(row.basis, row.basis),
            *_pair(row.claimed_gpu_hours or 0.0, row.realised_gpu_hours or 0.0),
        )
        for row in shown
    )
    return Savings(*_pair(claimed, saved), cost(saved, GPU_HOUR, month), rows, len(figures) - len(shown))


def _pair(claimed: float, saved: float) -> tuple[str, str, str]:
    fraction = unbroken(share(saved / claimed)) if claimed else "–"
    return number(claimed), number(saved), fraction
