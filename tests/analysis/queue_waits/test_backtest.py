"""The backtest: no estimate knows the future, what it adds up was worked out by hand, and real waits of Cedar."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.queue_waits import backtest as module
from analysis.queue_waits.backtest import ALL, METHODS, Backtested, backtest, bands, scores
from analysis.queue_waits.baselines import Baselines
from analysis.queue_waits.ranges import LOW
from analysis.queue_waits.rule import DAY_S, Start, Starts, starts_of
from analysis.queue_waits.trace_file import TraceFormatError, read_trace
from tests.analysis.queue_waits.starts import HOUR_S, NOON_S, asked, queue, start

CEDAR = Path("tests/samples/waits/cedar.csv")
HEADER = "cluster,user,partition,submit,eligible,start,end,walltime_limit_s,gpus,nodes"
ROW = "a,u1,p,2021-05-01T00:00:00Z,2021-05-01T00:00:00Z,2021-05-01T01:00:00Z,2021-05-01T02:00:00Z,3600,1,1"


def steady(days: int, wait_min: float = 60.0) -> list[Start]:
    """A run every two hours of these days before noon, of seven people in turn, each of which waited as long."""
    return [start(wait_min, 24.0 * days - 2 * number, person=number % 7) for number in range(12 * days)]


def test_steady_waits_are_estimated_exactly_once_there_are_enough() -> None:
    tested = backtest({"small-g": queue(*steady(20))})["small-g"]
    typical_s = tested.typical_s[0]
    first = int(np.flatnonzero(~np.isnan(typical_s))[0])
    # Run 15 is submitted one hour after run 14 has started and half an hour after it has ended: fifteen are known.
    assert first == 15
    assert set(typical_s[first:].tolist()) == {3600.0}
    # A range is made at midnight from 30 known errors: those of runs 15 to 44, the last of which ends at 88.5 h.
    answered = np.flatnonzero(tested.is_answered)
    assert tested.submitted_s[answered[0]] >= tested.known_s[44] > tested.submitted_s[answered[0] - 13]
    assert set(tested.low_s[0, answered].tolist()) == {3600.0}


@pytest.mark.parametrize(("part", "answered_min"), [(0.7, 10), (0.9, 40)])
def test_what_is_known_later_changes_no_earlier_estimate(part: float, answered_min: int) -> None:
    trace, _ = read_trace(CEDAR.read_text().splitlines())
    at_s = float(np.quantile(np.concatenate([one.submitted_s for one in trace["cedar"].values()]), part))
    changed = {name: _changed_after(starts, at_s) for name, starts in trace["cedar"].items()}
    truth, other = (_estimates(backtest(some), at_s) for some in (trace["cedar"], changed))
    assert truth == other
    assert sum(high > 0 for *_, high in truth) >= answered_min
    # The waits themselves did change.
    assert all(one.wait_s.sum() > trace["cedar"][name].wait_s.sum() + DAY_S for name, one in changed.items())


def _changed_after(starts: Starts, at_s: float) -> Starts:
    """The same queue, but every run that had not ended then starts and ends five days later."""
    rows = zip(starts.submitted_s, starts.started_s, starts.known_s, starts.wait_s, strict=True)
    sizes = zip(starts.gpus, starts.nodes, starts.limit_s, starts.project, starts.user, strict=True)
    later = {True: 5 * DAY_S, False: 0.0}
    return starts_of(
        Start(submitted, begun - wait, begun + later[known > at_s], known + later[known > at_s], *size)
        for (submitted, begun, known, wait), size in zip(rows, sizes, strict=True)
    )


def _estimates(tested: dict[str, Backtested], at_s: float) -> list[tuple[float, ...]]:
    """Place of the partition, submission and all estimates of runs submitted until then; -1 where there is none."""
    found = []
    for place, one in enumerate(tested.values()):
        columns = np.nan_to_num(np.vstack([one.submitted_s, one.typical_s, one.low_s, one.high_s[::-1]]), nan=-1.0)
        found += [(place, *column) for column in columns.T.tolist() if column[0] <= at_s]
    return sorted(found)


def test_real_waits_are_estimated_better_than_by_the_partition_alone() -> None:
    trace, unread = read_trace(CEDAR.read_text().splitlines())
    found = list(scores(backtest(trace["cedar"])))
    assert unread == 0
    assert [(one.partition, one.jobs, one.held) for one in found] == [
        *(("part-48", 82, 10), ("part-49", 72, 0), ("part-47", 41, 5), (ALL, 195, 15)),
    ]
    kaiku, partition = (found[-1].scores[method] for method in METHODS[:2])
    assert kaiku.submission_factor_off < 2.2 < 2.5 < partition.submission_factor_off
    # 80 submissions: the standard error of 80 % is 4.5 %, more with the ups and downs of one month.
    assert 0.66 < kaiku.submission_coverage < 0.94


def test_scores_count_jobs_and_submissions() -> None:
    # Two single jobs, one off by 3 and outside, one exact; four tasks of one array, off by 2 and inside.
    wait_s = np.array([600.0, 600.0, 1200.0, 1200.0, 1200.0, 1200.0])
    typical_s = np.tile(np.array([1800.0, 600.0, 600.0, 600.0, 600.0, 600.0]), (3, 1))
    when = np.arange(6.0)
    tested = Backtested(
        when, when, when, wait_s, np.array([0, 1, 2, 2, 2, 2]), typical_s, typical_s * 0.5, typical_s * 2.0, 3
    )
    one, both = scores({"small-g": tested})
    assert (one.jobs, one.held, one.answered, one.submissions) == (6, 3, 6, 3)
    score = one.scores[METHODS[0]]
    assert (score.factor_off, score.submission_factor_off) == (2.0, 2.0)
    assert (score.within_two, score.submission_within_two) == pytest.approx((5 / 6, 2 / 3))
    assert (score.coverage, score.submission_coverage) == pytest.approx((5 / 6, 2 / 3))
    assert (both.partition, both.scores) == (ALL, one.scores)


def test_a_partition_with_few_errors_takes_the_range_of_its_cluster() -> None:
    partitions = {"small-g": queue(*steady(20)), "dev-g": queue(*steady(2))}
    tested = backtest(partitions)
    kept = {name: (band, held) for name, band, held in bands(tested, NOON_S)}
    assert kept.keys() == {"small-g", ALL}
    band, held = kept["small-g"]
    assert (band.low_factor, band.high_factor, held.coverage, held.factor_off) == (1.0, 1.0, 1.0, 1.0)
    assert tested["dev-g"].is_answered.sum() > 0
    # Without runs of the last 14 days there is no range.
    assert list(bands(tested, NOON_S + 15 * DAY_S)) == []


def test_the_baselines_answer_from_what_was_known() -> None:
    # Six runs of project 1 that waited 10 … 60 min, ending a day apart; one of project 2 that waited 1,000 min.
    own = [start(10.0 * (n + 1), 24.0 * (20 - n), person=1) for n in range(6)]
    baselines = Baselines(queue(*own, start(1000.0, 24.0, person=2)))
    six_days_before = NOON_S - 14 * 24 * HOUR_S
    # Known then: the runs of 20 to 15 days before, of which the last five waited 20 to 60 min.
    assert baselines.last_five(asked(project=1, at_s=six_days_before)) == (1200, 2400, 3600)
    # At noon those of another project: its own run; a project without runs takes the same size and limit.
    assert baselines.last_five(asked(project=2)) == (60_000, 60_000, 60_000)
    assert baselines.last_five(asked(project=3)) == (1800, 3000, 60_000)
    assert baselines.quantiles(NOON_S) == (60_000, 60_000, 60_000)
    low, typical, _ = baselines.quantiles(six_days_before) or (0.0, 0.0, 0.0)
    assert (low, typical) == pytest.approx((600 + LOW * 3000, 2100))
    assert Baselines(queue()).quantiles(NOON_S) is None
    assert Baselines(queue()).last_five(asked()) is None


def test_the_tasks_of_an_array_get_one_estimate() -> None:
    task = start(60.0, 2.0, person=99)
    tested = backtest({"small-g": queue(*steady(20), *[task] * 4000)})["small-g"]
    assert {tuple(column[-4000:].tolist()) for column in tested.typical_s} == {(3600.0,) * 4000}
    assert tested.is_answered[-4000:].all()


def test_many_runs_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVALUATED_MAX", 10)
    # Each third of 24 runs.
    assert [len(one.wait_s) for one in backtest({"small-g": queue(*steady(2))}).values()] == [8]


def test_an_empty_queue_has_nothing_to_score() -> None:
    assert [(one.jobs, one.scores) for one in scores(backtest({}))] == [(0, {})]
    assert [one.answered for one in scores(backtest({"small-g": queue()}))] == [0, 0]


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        (ROW, 0),
        (ROW.replace("3600,1,1", ",,"), 0),
        (ROW.replace("2021-05-01T01:00:00Z", ""), 0),
        (ROW.replace("2021-05-01T01:00:00Z", "yesterday"), 1),
        (ROW.replace("3600,1,1", "3600,-1,1"), 1),
        (ROW.replace("3600,1,1", f"3600,{10**30},1"), 1),
        ("a,u1", 1),
    ],
)
def test_a_row_that_cannot_be_read_is_counted(line: str, unread: int) -> None:
    trace, found = read_trace([HEADER, line, ROW])
    assert found == unread
    assert 1 <= len(trace["a"]["p"]) <= 2


def test_a_file_without_the_columns_is_refused() -> None:
    for lines in ([], ["a,b"], ["\0"]):
        with pytest.raises(TraceFormatError, match=r"has no column|line"):
            read_trace(lines)
