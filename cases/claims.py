"""Whether every claimed saving follows from the printed request, for four levels of knowledge about the user's own
request.

The printed lines are read back as Slurm would read them and billed; only the text of the advice is used. Run by `make
score`; `tests/cases/test_claims.py` checks it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import msgspec

from analysis.assess import Assessment, assess
from analysis.next_request import bill, requested_shape
from analysis.rightsizing import RecommendationKind
from analysis.savings import GPU_HOURS_MIN
from cases.library import LIBRARY as NOISY_LIBRARY
from cases.noisy_score import draw
from cases.scorecard import drawn
from collector.record import request as request_of_slurm
from demo.library import LIBRARY
from jobs.hardware import partition_of, threads_per_core
from jobs.records import JobRecord
from jobs.sbatch import OptionChange, apply, parse_block, refusal, shape_of, walltime_text
from metrics.payloads import NodePayload
from metrics.series import RunMetrics
from tests.analysis.runs import metrics_of

TOLERANCE_GPU_HOURS = 0.01
NOT_SET = "(not set)"
LEFT_OUT = "(leave out)"


@dataclass(frozen=True)
class Claim:
    """What one report claims and what its printed request saves, in GPU-hours; None means no claim, or no bill.

    `refusal` is why Slurm would reject the printed request, "" if it accepts it.
    """

    state: str
    claimed: float | None
    given: float | None
    refusal: str
    is_diff: bool

    @property
    def is_true(self) -> bool:
        if self.refusal:
            return False
        if self.claimed is None:
            return self.given is None or self.given < GPU_HOURS_MIN
        return self.given is not None and abs(self.claimed - self.given) <= TOLERANCE_GPU_HOURS


def as_spelled(record: JobRecord) -> JobRecord:
    """The user's own options, all of them."""
    return record


def as_hooks_send(record: JobRecord) -> JobRecord:
    """The part of the request that the collector reads from Slurm's own fields at the end of the job."""
    return msgspec.structs.replace(record, request=request_of_slurm(slurm_fields(record)))


def as_accounting_tells(record: JobRecord) -> JobRecord:
    """sacct's allocation line: totals, and no option."""
    return msgspec.structs.replace(record, request={}, ntasks=None, cpus_per_task=None, gpus_per_node=None)


def as_nothing_known(record: JobRecord) -> JobRecord:
    """Only that the run had GPUs on some nodes of a partition."""
    accounted = as_accounting_tells(record)
    return msgspec.structs.replace(accounted, cpus_allocated=None, memory_requested_gb=None, gpus_requested=None)


STATES: Mapping[str, Callable[[JobRecord], JobRecord]] = {
    "complete": as_spelled,
    "as hooks send it": as_hooks_send,
    "from accounting": as_accounting_tells,
    "unknown": as_nothing_known,
}

GPU_FIELDS = {
    "--gpus": "TresPerJob",
    "--gpus-per-node": "TresPerNode",
    "--gres": "TresPerNode",
    "--gpus-per-task": "TresPerTask",
    "--gpus-per-socket": "TresPerSocket",
}


def slurm_fields(record: JobRecord) -> dict[str, str]:
    """The fields of `scontrol show job` (Slurm 22.05) for a request that is known in full."""
    options, nodes = record.request, record.node_count or 1
    shown = {"Partition": record.partition, "NumNodes": str(nodes)}
    for option, field in GPU_FIELDS.items():
        if option in options:
            shown[field] = f"gres:gpu:{options[option].removeprefix('gpu:')}"
    if record.ntasks:
        shown["NumTasks"] = str(record.ntasks)
    if "--ntasks-per-node" in options:
        shown["NtasksPerN:B:S:C"] = f"{options['--ntasks-per-node']}:0:*:*"
    if "--cpus-per-task" in options:
        shown["CPUs/Task"] = options["--cpus-per-task"]
    for option, field in (("--mem", "MinMemoryNode"), ("--mem-per-cpu", "MinMemoryCPU")):
        if option in options:
            shown[field] = options[option]
    if "--exclusive" in options:
        shown["OverSubscribe"] = "NO"
    if record.walltime_requested_s:
        shown["TimeLimit"] = walltime_text(record.walltime_requested_s).rjust(8, "0")
    return shown


def claims(record: JobRecord, metrics: RunMetrics) -> Iterator[Claim]:
    """The claim of one run at each level of knowledge."""
    for state, known in STATES.items():
        yield claim(state, assess(known(record), metrics))


def claim(state: str, judged: Assessment) -> Claim:
    """What a report claims and what its lines save when a user writes them."""
    saved = judged.savings.gpu_hours if judged.savings else None
    printed = printed_request(judged)
    is_diff = any(advice.changes for advice in judged.recommendations)
    if printed is None:
        return Claim(state, saved, None, "", is_diff)
    refused = refusal(printed) or ""
    return Claim(state, saved, _given(judged, printed), refused, is_diff)


def printed_request(judged: Assessment) -> dict[str, str] | None:
    """The request as its reader would write it: the last block, or the own options with all printed changes."""
    blocks = [advice.request for advice in judged.recommendations if advice.request]
    if blocks:
        return parse_block(blocks[-1])
    lines = [str(change) for advice in judged.recommendations for change in advice.changes]
    return apply(judged.facts.record.request, map(change_of, lines)) if lines else None


def change_of(line: str) -> OptionChange:
    """A printed line of a diff, read back.

    >>> change_of("--gpus=8 -> --gpus=2"), change_of("(not set) -> --mem=120G")
    (OptionChange(option='--gpus', requested='8', recommended='2'), \
OptionChange(option='--mem', requested='', recommended='120G'))
    """
    before, _, after = line.partition(" -> ")
    option = (after if before == NOT_SET else before).partition("=")[0]
    requested = "" if before == NOT_SET else before.partition("=")[2]
    return OptionChange(option, requested, "" if after == LEFT_OUT else after.partition("=")[2])


def _given(judged: Assessment, printed: dict[str, str]) -> float | None:
    """The present bill minus that of the printed request; None if either has no price.

    A time limit alone changes one line of a request that need not be known otherwise, and does not change the bill.
    """
    if all(advice.kind is RecommendationKind.WALLTIME for advice in judged.recommendations):
        return None
    record, before = judged.facts.record, judged.facts.gpu_hours
    target = partition_of(record.cluster, printed.get("--partition", record.partition))
    # If no line states the nodes, there are as many as the new size needs.
    held = replace(requested_shape(judged.facts), nodes=0)
    shape = shape_of(printed, target, held, threads_per_core(record.cluster))
    if shape is None or before is None or target is None:
        return None
    later = bill(target, shape, _run_s(judged))
    return None if later is None else before - later


def _run_s(judged: Assessment) -> float:
    """The run time that the claim assumes."""
    if judged.savings:
        return judged.savings.run_s
    return judged.facts.elapsed_s


def table(found: Iterable[tuple[str, Claim]]) -> Iterator[str]:
    """How many claims there are at each level, and how many follow from what is printed."""
    listed = list(found)
    yield f"{'level of knowledge':24}{'runs':>7}{'claims':>8}{'as diff':>9}{'untrue':>8}"
    for state in STATES:
        ours = [claim for _, claim in listed if claim.state == state]
        counts = Counter({"claims": sum(c.claimed is not None for c in ours), "diff": sum(c.is_diff for c in ours)})
        untrue = sum(not c.is_true for c in ours)
        yield f"{state:24}{len(ours):7,}{counts['claims']:8,}{counts['diff']:9,}{untrue:8,}"
    for name, one in listed:
        if not one.is_true:
            yield f"  {name}, {one.state}: claims {one.claimed}, gives {one.given} {one.refusal}"


def sample_runs() -> Iterator[tuple[str, JobRecord, RunMetrics]]:
    """One run of each kind of sample job."""
    for kind in LIBRARY:
        job = drawn(kind, 1)
        nodes = [msgspec.convert(summary, NodePayload, str_keys=True) for summary in job.summaries]
        yield kind, msgspec.convert(job.record, JobRecord), metrics_of(*nodes)


def noisy_runs() -> Iterator[tuple[str, JobRecord, RunMetrics]]:
    """One run of each noisy case."""
    for case in NOISY_LIBRARY:
        record, nodes = draw(case, 1)
        yield case.name, record, metrics_of(*nodes)


def main() -> int:
    found = [
        (name, one) for name, record, metrics in chain(sample_runs(), noisy_runs()) for one in claims(record, metrics)
    ]
    print("\n".join(table(found)))
    return 0 if all(one.is_true for _, one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
