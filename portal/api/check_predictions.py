"""What a check predicts for the next run of an own work: stated in its answer, and kept until that run has ended."""

from collections.abc import Iterator, Sequence

from analysis.check.asked import Asked
from analysis.check.earlier import Earlier
from analysis.check.selectors import NamedWork
from analysis.next_request import bill
from analysis.predictions.expected import HOUR_S, Expected, expected, hardware_of
from analysis.predictions.protocol import PROMISED, Request
from analysis.predictions.quantities import Method, Quantity, Source
from analysis.predictions.selectors import known_of_methods
from analysis.predictions.services import Occasion, Place, Stated, record_asked, stated
from jobs.hardware import partition_of
from jobs.models import User
from jobs.sbatch import Shape
from portal.api.check_answers import ExpectedAnswer
from portal.api.check_costs import Waits
from reports.prediction_texts import expected_texts
from reports.services.pdf_store import where_it_can_be_stored


def expected_of(request: Asked, found: Earlier) -> list[Expected]:
    """What the earlier runs show of the next one, as it is requested; one query, none without a known request."""
    shape = request.shape
    if shape is None or request.partition is None or not shape.gpus or not found.runs:
        return []
    hardware = hardware_of(request.cluster, shape.partition)
    gpus = _recorded_gpus(request.cluster, shape.partition, shape, found)
    asked = Request(hardware, shape.nodes, gpus, shape.cores, shape.walltime_s)
    return expected(found.runs, asked, bill(request.partition, shape, HOUR_S), known_of_methods())


def _recorded_gpus(cluster: str, partition: str, shape: Shape, found: Earlier) -> int:
    """With how many GPUs the run will be recorded: on whole nodes all of theirs, unless earlier runs show otherwise."""
    if found.same_size and partition == shape.partition:
        return found.same_size[0].gpus or shape.gpus
    described = partition_of(cluster, partition)
    is_whole = shape.is_exclusive or (described is not None and described.is_exclusive)
    return shape.nodes * described.node.gpus if described is not None and is_whole else shape.gpus


def expected_answers(found: Sequence[Expected]) -> list[ExpectedAnswer]:
    """The chosen method of each quantity, with its range where that is stated."""
    return [_answer(each, text) for each, text in zip(found, expected_texts(found), strict=True)]


def _answer(each: Expected, text: str) -> ExpectedAnswer:
    made = each.methods[0]
    value = made.predicted
    low, high, promised = (value.low, value.high, value.promised_fraction) if made.has_range else (None, None, None)
    return ExpectedAnswer(
        quantity=each.quantity.value,
        method=made.method.value,
        typical=value.typical,
        low=low,
        high=high,
        promised_fraction=promised,
        runs=value.runs,
        text=text,
    )


def keep(
    user: User, work: NamedWork, request: Asked, earlier: Earlier, found: Sequence[Expected], waits: Waits
) -> None:
    """Store what the answer states for the next run of an own work, and the waits in the partitions that it names.

    The answer does not depend on it: a database that stores nothing at the moment stores nothing of this.
    """
    of_run, of_waits = list(_of_the_run(request, earlier, found)), list(_of_waits(waits, earlier))
    if of_run or of_waits:
        occasion = Occasion(user.pk, work.project.pk, request.cluster, work.key, Source.CHECK, waits.history.at)
        with where_it_can_be_stored():
            record_asked(occasion, of_run, of_waits)


def _of_the_run(request: Asked, earlier: Earlier, found: Sequence[Expected]) -> Iterator[tuple[Place, Stated]]:
    shape = request.shape
    if shape is not None:
        gpus = _recorded_gpus(request.cluster, shape.partition, shape, earlier)
        place = Place(shape.partition, shape.nodes, gpus, shape.walltime_s)
        yield from ((place, each) for each in stated(found))


def _of_waits(waits: Waits, earlier: Earlier) -> Iterator[tuple[Place, Stated]]:
    for (cluster, partition, shape), wait in waits.made.items():
        if wait is not None:
            gpus = _recorded_gpus(cluster, partition, shape, earlier)
            place = Place(partition, shape.nodes, gpus, shape.walltime_s)
            ends = (wait.low_s, wait.high_s, PROMISED)
            yield place, Stated(Quantity.WAIT_S, Method.QUEUE_WAITS, wait.typical_s, *ends, runs=wait.starts)
