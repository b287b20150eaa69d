"""Which run answers which prediction: arrays, late records, failures, requeues, other sizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from analysis.predictions.quantities import Answer, Quantity
from analysis.predictions.validation import Answered, EndedRun, Given, answers

AT = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)

PREDICTED = Given(
    pk=1,
    source="check",
    quantity=Quantity.RUN_S,
    method="own_quantiles",
    partition="small-g",
    hardware="node",
    nodes=1,
    gpus=8,
    limit_s=3600.0,
    typical=600.0,
    high=900.0,
    given_at=AT,
)
RUN = EndedRun(
    pk=10,
    submitted_at=AT + HOUR,
    partition="small-g",
    hardware="node",
    nodes=1,
    gpus=8,
    limit_s=3600.0,
    is_true=True,
    is_system=False,
    values={Quantity.RUN_S: 700.0, Quantity.GPU_HOURS: 2.0, Quantity.GPUS: 2.0, Quantity.WAIT_S: 120.0},
)


def test_the_first_run_submitted_afterwards_answers() -> None:
    before, later = replace(RUN, pk=9, submitted_at=AT - HOUR), replace(RUN, pk=11, submitted_at=AT + 2 * HOUR)
    assert answers([PREDICTED], [later, RUN, before]) == {1: Answered(10, Answer.ANSWERED, 700.0)}


def test_a_run_submitted_within_the_same_second_answers() -> None:
    """Slurm states 12:00:00 for what was submitted at 12:00:00.7."""
    given = replace(PREDICTED, given_at=AT + timedelta(microseconds=400_000))
    assert answers([given], [replace(RUN, submitted_at=AT)])[1].run == 10


def test_of_an_array_the_same_task_answers_whichever_record_comes_first() -> None:
    tasks = [replace(RUN, pk=pk) for pk in (12, 10, 11)]
    assert answers([PREDICTED], tasks[:1])[1].run == 12
    assert answers([PREDICTED], tasks)[1].run == 10


def test_a_run_answers_only_the_latest_prediction_before_it() -> None:
    """Nobody submitted anything between the two: the older one has no answer, also not by the run after that."""
    newer = replace(PREDICTED, pk=2, given_at=AT + HOUR / 2)
    following = replace(RUN, pk=11, submitted_at=AT + 2 * HOUR)
    assert {pk: each.run for pk, each in answers([PREDICTED, newer], [RUN, following]).items()} == {2: 10}


def test_each_method_and_source_has_an_answer_of_its_own() -> None:
    others = [replace(PREDICTED, pk=2, method="regression"), replace(PREDICTED, pk=3, source="recommendation")]
    assert {each.run for each in answers([PREDICTED, *others], [RUN]).values()} == {10}
    assert len(answers([PREDICTED, *others], [RUN])) == 3


def test_a_run_of_another_size_or_kind_of_node_answers_nothing() -> None:
    for other in ({"gpus": 4}, {"nodes": 2}, {"hardware": "other"}):
        assert answers([PREDICTED], [replace(RUN, **other)]) == {}
    assert answers([PREDICTED], [replace(RUN, partition="dev-g")])[1].run == 10


def test_what_is_billed_is_compared_in_the_same_partition_alone() -> None:
    cost = replace(PREDICTED, quantity=Quantity.GPU_HOURS, typical=2.0, high=3.0)
    assert answers([cost], [replace(RUN, partition="dev-g")]) == {}
    assert answers([cost], [RUN])[1].actual == 2.0


def test_the_gpus_that_are_needed_show_on_every_run_that_had_as_many() -> None:
    needed = replace(PREDICTED, quantity=Quantity.GPUS, typical=2.0, high=2.0)
    assert answers([needed], [replace(RUN, gpus=2)])[1].actual == 2.0
    assert answers([needed], [replace(RUN, gpus=1)]) == {}


def test_a_run_that_did_not_complete_answers_only_beyond_the_range() -> None:
    failed = replace(RUN, is_true=False)
    assert answers([PREDICTED], [failed, replace(RUN, pk=11)])[1].run == 11
    long = replace(failed, values={Quantity.RUN_S: 901.0})
    assert answers([PREDICTED], [long, replace(RUN, pk=11)]) == {1: Answered(10, Answer.EXCEEDED, 901.0)}
    assert answers([replace(PREDICTED, high=None)], [long]) == {}


def test_what_the_system_ended_or_requeued_answers_nothing() -> None:
    requeued = replace(RUN, is_true=False, is_system=True, values={Quantity.RUN_S: 5000.0})
    again = replace(RUN, pk=11)
    assert answers([PREDICTED], [requeued, again])[1].run == 11


def test_a_wait_is_answered_by_a_run_that_failed_too_with_the_same_limit() -> None:
    wait = replace(PREDICTED, quantity=Quantity.WAIT_S, method="queue_waits", typical=60.0, high=300.0)
    failed = replace(RUN, is_true=False, is_system=True)
    assert answers([wait], [failed])[1] == Answered(10, Answer.ANSWERED, 120.0)
    assert answers([wait], [replace(failed, limit_s=60.0)]) == {}
