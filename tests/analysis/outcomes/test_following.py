"""What became of advice, against histories that were worked by hand before there was a rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from analysis.outcomes.following import Advice, AdvisedRun, outcomes
from jobs.sbatch import Shape
from tests.analysis.outcomes.cases import CASES, HOUR_S, Case, Seen
from tests.analysis.outcomes.credited_cases import CASES as CREDITED_CASES
from tests.analysis.outcomes.credited_cases import Credited

NOW = datetime(2026, 11, 1, tzinfo=UTC)
REPORT_AFTER = timedelta(minutes=6)


def shape_of(seen: Seen) -> Shape:
    return Shape(
        nodes=seen.nodes,
        gpus=seen.gpus,
        cores=seen.cores,
        memory_gb=seen.memory_gb,
        walltime_s=seen.limit_h and seen.limit_h * HOUR_S,
        partition=seen.partition,
    )


def advised_run(pk: int, seen: Seen) -> AdvisedRun:
    at = NOW + timedelta(hours=seen.at_h)
    ended = at + timedelta(hours=seen.run_h)
    given_at = ended + REPORT_AFTER if seen.report_h is None else NOW + timedelta(hours=seen.report_h)
    advice = []
    for kind, wanted in seen.advice:
        named = {"walltime_s" if name == "limit_h" else name: value for name, value in wanted.items()}
        if "walltime_s" in named:
            named["walltime_s"] *= HOUR_S
        claimed = None if kind == "walltime" else seen.claimed_gpu_hours
        advice.append(Advice(kind, replace(shape_of(seen), **named), given_at, claimed))
    return AdvisedRun(
        pk=pk,
        submitted_at=at,
        ended_at=ended,
        state=seen.state,
        shape=shape_of(seen),
        run_s=seen.run_h * HOUR_S,
        gpu_hours=None if seen.billed < 0 else seen.billed,
        util_percent=seen.util_percent,
        uncounted=seen.uncounted,
        codes=seen.codes,
        advice=tuple(advice),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fair_person_agrees(case: Case) -> None:
    # Runs of another project are another work, which its selector never reads together.
    runs = [advised_run(pk, seen) for pk, seen in enumerate(case.runs, start=1) if seen.project == case.runs[0].project]
    found = {each.advice.kind: each for each in outcomes(runs) if each.pk == 1}
    assert set(found) == set(case.expected)
    for kind, expected in case.expected.items():
        seen = found[kind]
        assert seen.status.value == expected.status, kind
        assert " ".join(seen.dimensions) == expected.dimensions, kind
        assert (seen.later_runs, seen.following_runs, seen.failed_runs) == expected.runs, kind
        assert seen.realised_gpu_hours == (None if expected.realised is None else pytest.approx(expected.realised)), (
            kind
        )


def test_what_changed_is_that_of_the_followers_and_else_of_all_later_runs() -> None:
    by_name = {case.name: [advised_run(pk, seen) for pk, seen in enumerate(case.runs, start=1)] for case in CASES}
    (better,) = outcomes(by_name[next(name for name in by_name if "got better by itself" in name)])
    assert (better.util_percent_after, better.run_s_after, better.first_pk) == (80.0, 0.6 * HOUR_S, None)
    (followed,) = outcomes(by_name["the first later run does not follow, the second does"])
    assert (followed.util_percent_after, followed.gpu_hours_after, followed.first_pk) == (90.0, 2.0, 3)


def test_the_hours_of_a_run_are_credited_once_whatever_was_advised_before() -> None:
    case = next(case for case in CASES if "is repeated before" in case.name)
    found = outcomes([advised_run(pk, seen) for pk, seen in enumerate(case.runs, start=1)])
    assert [(each.pk, each.status.value, each.realised_gpu_hours) for each in found] == [
        (1, "not_followed", None),
        (2, "followed", pytest.approx(6.0)),
    ]


def test_failures_of_runs_that_did_not_follow_are_what_is_normal() -> None:
    advised, as_before = CASES[2].runs
    failed = replace(as_before, state="OUT_OF_MEMORY", at_h=40)
    (found,) = outcomes([advised_run(pk, seen) for pk, seen in enumerate((advised, as_before, failed), start=1)])
    assert (found.later_runs, found.following_runs, found.failed_runs, found.other_failed_runs) == (2, 0, 0, 1)


@pytest.mark.parametrize("case", CREDITED_CASES, ids=lambda case: case.name)
def test_a_run_is_credited_once_whatever_it_followed(case: Credited) -> None:
    found = outcomes([advised_run(pk, seen) for pk, seen in enumerate(case.runs, start=1)])
    assert sum(each.credited_runs for each in found) == case.following
    assert sum(each.credited_gpu_hours for each in found) == pytest.approx(case.saved_gpu_hours)
    assert sum(each.credited_compared_runs for each in found) == (
        case.following if case.compared is None else case.compared
    )


def test_what_was_credited_stays_right_when_the_oldest_run_is_no_longer_read() -> None:
    case = next(case for case in CREDITED_CASES if "one run later" in case.name)
    runs = [advised_run(pk, seen) for pk, seen in enumerate(case.runs, start=1)]
    first, later = outcomes(runs), outcomes(runs[1:])
    assert [each.pk for each in first] == [1, 2]
    # The first outcome stays stored as it was: with it the sum is still 11.
    assert first[0].credited_gpu_hours + sum(each.credited_gpu_hours for each in later) == pytest.approx(11.0)
    assert first[0].credited_runs + sum(each.credited_runs for each in later) == 2
    assert first[0].credited_compared_runs + sum(each.credited_compared_runs for each in later) == 2
