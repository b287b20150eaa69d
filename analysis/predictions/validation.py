"""Which run answers which prediction, and how.

- A run answers the latest prediction of a kind (source, quantity, method) that had been given when it was submitted and
  that was for such a request; a prediction is answered by the first such run in the order of submission. So of an
  array, or of runs that were submitted together, one answers, always the same one, whichever ends first.
- Only a completed run that counts answers what it took. One that failed, was cancelled or reached its time limit shows
  no run time: it answers only once it has gone beyond the range, which is then missed (`EXCEEDED`, without an error);
  otherwise the prediction waits for the next run. A run that the system ended or requeued answers nothing; the attempt
  after it does.
- A wait is answered by every run that started and that only the queue delayed.
- Such a request has the same nodes and GPUs on the same kind of node; for hours and waits also the same partition, for
  waits also the same time limit. How many GPUs are needed shows on every run that had at least as many.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from analysis.predictions.quantities import Answer, Quantity

BILLED = frozenset({Quantity.RUN_S, Quantity.GPU_HOURS})
"""What only grows while a run lasts: a run that did not complete can have gone beyond its range."""

SAME_PARTITION = frozenset({Quantity.GPU_HOURS, Quantity.WAIT_S})


@dataclass(frozen=True)
class Given:
    """One prediction; `hardware` names the kind of node, `high` None states no range."""

    pk: int
    source: str
    quantity: Quantity
    method: str
    partition: str
    hardware: str
    nodes: int
    gpus: int
    limit_s: float | None
    typical: float
    high: float | None
    given_at: datetime


@dataclass(frozen=True)
class EndedRun:
    """One run of the work; `values` has what was measured of it, above 0; `is_true` if it completed and counts.

    `is_system` is that the system ended it.
    """

    pk: int
    submitted_at: datetime
    partition: str
    hardware: str
    nodes: int
    gpus: int
    limit_s: float | None
    is_true: bool
    is_system: bool
    values: Mapping[Quantity, float]


@dataclass(frozen=True)
class Answered:
    """The run that answers a prediction: what it took, at least that with `EXCEEDED`."""

    run: int
    answer: Answer
    actual: float


def answers(given: Iterable[Given], runs: Sequence[EndedRun]) -> dict[int, Answered]:
    """The answer to each prediction of one work that has one, by its key."""
    found: dict[int, Answered] = {}
    kinds: dict[tuple[str, Quantity, str], list[Given]] = defaultdict(list)
    for each in given:
        kinds[each.source, each.quantity, each.method].append(each)
    submitted = sorted(runs, key=lambda run: (run.submitted_at, run.pk))
    for kind in kinds.values():
        latest_first = sorted(kind, key=lambda each: (each.given_at, each.pk), reverse=True)
        for run in submitted:
            asked = next((each for each in latest_first if _is_for(each, run)), None)
            if asked is not None and asked.pk not in found and (answer := _answer(asked, run)) is not None:
                found[asked.pk] = answer
    return found


def _is_for(given: Given, run: EndedRun) -> bool:
    """Whether a run is one that a prediction was made for."""
    # Slurm states whole seconds.
    if run.submitted_at < given.given_at.replace(microsecond=0) or run.hardware != given.hardware:
        return False
    if given.quantity in SAME_PARTITION and run.partition != given.partition:
        return False
    if given.quantity is Quantity.WAIT_S and run.limit_s != given.limit_s:
        return False
    if given.quantity is Quantity.GPUS:
        return run.gpus >= given.typical
    return (run.nodes, run.gpus) == (given.nodes, given.gpus)


def _answer(given: Given, run: EndedRun) -> Answered | None:
    actual = run.values.get(given.quantity)
    if actual is None or (run.is_system and given.quantity is not Quantity.WAIT_S):
        return None
    if run.is_true or given.quantity is Quantity.WAIT_S:
        return Answered(run.pk, Answer.ANSWERED, actual)
    if given.quantity in BILLED and given.high is not None and actual > given.high:
        return Answered(run.pk, Answer.EXCEEDED, actual)
    return None
