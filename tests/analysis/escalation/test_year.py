"""A year of 1,000 people by the pure rule: each flag on its day, and nobody flagged for what does not count."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

import pytest

from analysis.escalation.rules import Counted, FlagLimits, Reason, Step, counted_in, evidence_of, first_day, step_of
from analysis.history.run_sums import JudgedRun, RunSums, sums_by_day, total_of

YEAR_DAYS, PEOPLE = 365, 1000
FIRST = date(2026, 1, 1)


class Run(NamedTuple):
    """A run by the day of the year on which it ended; hours in thousandths, so that the oracle counts exactly."""

    day: int
    hours_milli: int
    class_name: str
    unused_milli: int = 0
    uncounted_reason: str = ""


def judged(run: Run) -> JudgedRun:
    ended = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=run.day)
    is_measured = run.class_name != "UNKNOWN"
    return JudgedRun(
        ended_at=ended,
        started_at=None,
        efficiency_class=run.class_name,
        uncounted_reason=run.uncounted_reason,
        util_percent=50.0 if is_measured else None,
        gpu_hours=run.hours_milli / 1000,
        wasted_gpu_hours=run.unused_milli / 1000 if is_measured else None,
        saved_gpu_hours=None,
        codes=" idle_gpus ",
    )


class Life(NamedTuple):
    """One flag: the days of the year on which it was raised and cleared, and why it cleared."""

    raised: int
    cleared: int | None
    why: Reason | None


def by_rule(runs: Iterable[Run]) -> list[Life]:
    """The flags of one person over the year, checked each day as the sweep does."""
    days = sums_by_day(map(judged, runs), UTC)
    found: list[Life] = []
    for number in range(YEAR_DAYS):
        today = FIRST + timedelta(days=number)
        window = [days[day] for day in (today - timedelta(days=back) for back in range(14)) if day in days]
        step, why = step_of(bool(found) and found[-1].cleared is None, counted_in(total_of(window)))
        if step is Step.RAISE:
            found.append(Life(number, None, None))
        elif step is Step.CLEAR:
            found[-1] = Life(found[-1].raised, number, why)
    return found


def by_hand(runs: Iterable[Run]) -> list[Life]:
    """The same from the definition in whole numbers, without any code of the product."""
    by_day: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        if not run.uncounted_reason and run.class_name != "UNKNOWN":
            by_day[run.day].append(run)
    found: list[Life] = []
    for today in range(YEAR_DAYS):
        window = [run for day in range(today - 13, today + 1) for run in by_day[day]]
        hours = sum(run.hours_milli for run in window)
        unused = sum(run.unused_milli for run in window)
        low = sum(run.hours_milli for run in window if run.class_name in ("INEFFICIENT", "WASTED"))
        if found and found[-1].cleared is None:
            if hours == 0:
                found[-1] = Life(found[-1].raised, today, Reason.NO_JOBS)
            elif 3 * low < hours:
                found[-1] = Life(found[-1].raised, today, Reason.LOW_FRACTION)
        elif len(window) >= 5 and unused >= 50_000 and hours and 2 * low >= hours:
            found.append(Life(today, None, None))
    return found


def low(day: int, hours: float, unused: float, times: int = 1) -> list[Run]:
    return [Run(day, round(hours * 1000), "WASTED", round(unused * 1000))] * times


def good(day: int, hours: float, times: int = 1, unused: float = 0.0) -> list[Run]:
    return [Run(day, round(hours * 1000), "EFFICIENT", round(unused * 1000))] * times


# Runs of people made by hand -> the days on which their flags are raised and cleared, worked out on paper.
AT_THE_THRESHOLDS: dict[str, tuple[list[Run], list[Life]]] = {
    # Days 10..23 are the last window that holds day 10; on day 24 nothing is left.
    "five jobs": (low(10, 12, 10, 5), [Life(10, 24, Reason.NO_JOBS)]),
    "four jobs": (low(10, 100, 90, 4), []),
    "four jobs, and the fifth days later": (low(10, 20, 18, 4) + low(15, 20, 18), [Life(15, 29, Reason.NO_JOBS)]),
    "four jobs, and the fifth on the 14th day": (low(10, 20, 18, 4) + low(23, 1, 1), [Life(23, 37, Reason.NO_JOBS)]),
    "four jobs, and the fifth a day too late": (low(10, 20, 18, 4) + low(24, 20, 18), []),
    "50 hours": (low(10, 10, 10, 5), [Life(10, 24, Reason.NO_JOBS)]),
    "49.9 hours": (low(10, 10, 9.98, 5), []),
    # 5 x 50 of 500 hours are a half.
    "a half": (low(10, 50, 40, 5) + good(10, 250), [Life(10, 24, Reason.NO_JOBS)]),
    # 249.5 of 500 hours are 49.9 %.
    "49.9 %": (low(10, 49.9, 40, 5) + good(10, 250.5), []),
    # From 60 % down to a third exactly: 300 of 900.
    "down to a third": (
        low(10, 60, 50, 5) + good(10, 200) + good(12, 400, 1),
        # On day 24 only the good run of day 12 is left.
        [Life(10, 24, Reason.LOW_FRACTION)],
    ),
    # 300 of 901 hours are 33.296 %: below a third.
    "33.3 %": (
        low(10, 60, 50, 5) + good(10, 200) + good(12, 401, 1),
        [Life(10, 12, Reason.LOW_FRACTION)],
    ),
    # 300 of 898 hours are 33.4 %.
    "33.4 %": (
        low(10, 60, 50, 5) + good(10, 200) + good(12, 398, 1),
        # On day 24 only the good run of day 12 is left.
        [Life(10, 24, Reason.LOW_FRACTION)],
    ),
    "between a third and a half nothing is raised": (low(10, 60, 50, 5) + good(10, 400, 1), []),
    "cleared and raised again": (
        low(10, 60, 50, 5) + good(12, 700, 1) + low(20, 100, 90, 10),
        # On day 20 low are 300 + 1000 of 2000; on day 34 the ten of day 20 are gone.
        [Life(10, 12, Reason.LOW_FRACTION), Life(20, 34, Reason.NO_JOBS)],
    ),
    "still raised at the end of the year": (low(360, 60, 50, 5), [Life(360, None, None)]),
    "ended by the system": ([Run(10, 90_000, "WASTED", 90_000, "system_failure")] * 50, []),
    "short": ([Run(10, 90_000, "WASTED", 90_000, "short")] * 50, []),
    "unmeasured": ([Run(10, 90_000, "UNKNOWN")] * 50, []),
    "four that count beside many that do not": (
        low(10, 100, 90, 4)
        + [Run(10, 90_000, "WASTED", 90_000, "system_failure")] * 50
        + [Run(11, 90_000, "UNKNOWN")] * 50
        + [Run(12, 90_000, "INEFFICIENT", 80_000, "short")] * 50,
        [],
    ),
    # Unmeasured hours do not dilute the share either: 300 of 500 measured hours are low.
    "low beside unmeasured": (
        low(10, 60, 50, 5) + good(10, 200) + [Run(11, 900_000, "UNKNOWN")] * 9,
        [Life(10, 24, Reason.NO_JOBS)],
    ),
    "hours without a price": ([Run(10, 0, "WASTED")] * 9, []),
}


@pytest.mark.parametrize("name", AT_THE_THRESHOLDS)
def test_a_person_at_a_threshold_is_flagged_on_the_day_and_cleared_on_the_day(name: str) -> None:
    runs, expected = AT_THE_THRESHOLDS[name]
    assert by_rule(runs) == expected
    assert by_hand(runs) == expected


def person(dice: random.Random) -> list[Run]:
    """A year of somebody: bursts of work, each good or bad in its own measure, with runs that do not count between."""
    runs = []
    for _ in range(dice.randrange(6)):
        began, badness = dice.randrange(YEAR_DAYS), dice.random()
        for _ in range(dice.randrange(1, 16)):
            hours_milli = dice.randrange(0, 40_000, 100)
            is_low = dice.random() < badness
            name = dice.choice(("WASTED", "INEFFICIENT") if is_low else ("EFFICIENT", "ACCEPTABLE"))
            unused_milli = round(hours_milli * (0.9 if is_low else 0.3))
            why = dice.choice(("", "", "", "", "short", "system_failure"))
            measured = dice.random() < 0.9
            day = min(began + dice.randrange(20), YEAR_DAYS - 1)
            runs.append(Run(day, hours_milli, name if measured else "UNKNOWN", unused_milli if measured else 0, why))
    return runs


def test_a_thousand_people_over_a_year() -> None:
    dice = random.Random(2026)
    raised = cleared = 0
    reasons = set()
    for number in range(PEOPLE):
        runs = person(dice)
        lives = by_rule(runs)
        assert lives == by_hand(runs), f"person {number}"
        raised += len(lives)
        cleared += sum(life.cleared is not None for life in lives)
        reasons |= {life.why for life in lives}
        nothing_counts = [run._replace(uncounted_reason=run.uncounted_reason or "system_failure") for run in runs]
        assert by_rule(nothing_counts[:5]) == []
    assert raised > 200, "the people made up are flagged often enough to mean something"
    assert cleared > 100
    assert reasons >= {Reason.LOW_FRACTION, Reason.NO_JOBS}


def test_thresholds_of_a_site_replace_the_defaults() -> None:
    limits = FlagLimits(7, 2, 10.0, Fraction(1, 4), Fraction(1, 5))
    assert step_of(False, Counted(2, 40.0, 10.0, 10.0), limits)[0] is Step.RAISE
    assert step_of(False, Counted(2, 40.0, 10.0, 9.9), limits)[0] is Step.NOTHING
    assert step_of(True, Counted(2, 50.0, 10.0, 10.0), limits)[0] is Step.KEEP
    assert step_of(True, Counted(2, 50.1, 10.0, 10.0), limits) == (Step.CLEAR, Reason.LOW_FRACTION)
    assert first_day(date(2026, 11, 20), limits) == date(2026, 11, 14)


def test_adding_up_floats_moves_nobody_over_a_threshold() -> None:
    # A tenth added ten times is below 1 as floats; 1/3 of 30 hours in tenths is a third.
    tenths = [Run(10, 100, "WASTED", 100)] * 100 + [Run(10, 200, "EFFICIENT")] * 100
    counted = counted_in(total_of(sums_by_day(map(judged, tenths), UTC).values()))
    assert step_of(True, counted)[0] is Step.KEEP


def test_the_evidence_states_what_was_compared_with_what() -> None:
    runs = low(10, 12, 10, 5)
    evidence = evidence_of(total_of(sums_by_day(map(judged, runs), UTC).values()), date(2026, 1, 11))
    assert evidence.counted == Counted(5, 60.0, 50.0, 60.0, 0.0)
    assert (evidence.first_day, evidence.last_day, evidence.window_days) == (date(2025, 12, 29), date(2026, 1, 11), 14)
    assert evidence.findings == {"idle_gpus": 5}
    assert (evidence.jobs_min, evidence.unused_gpu_hours_min) == (5, 50.0)
    assert (evidence.raise_fraction, evidence.clear_fraction) == ("1/2", "1/3")
    assert evidence_of(RunSums(), date(2026, 1, 11)).counted.low_fraction is None
