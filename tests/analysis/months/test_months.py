"""The engine that closes months: each once, with its rows or not at all; one that fails is tried again by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from analysis.models import ClosedMonth, PolicyRow
from analysis.months.kind import LATE, MonthKind
from analysis.months.selectors import months_not_closed, months_to_close, overdue_s
from analysis.months.services import close_months
from jobs.models import WorkFailure
from portal.months import MONTHS
from portal.system import numbers, state
from portal.system.concerns import concerns

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 8, 0, 30, tzinfo=UTC)
SEPTEMBER, OCTOBER = date(2026, 9, 1), date(2026, 10, 1)


def having(*months: date) -> Any:
    return lambda still_open: [month for month in still_open if month in months]


def refused(month: date, now: datetime) -> None:
    if month == SEPTEMBER:
        raise ZeroDivisionError


KIND = MonthKind(
    code="test",
    title="a test",
    after=timedelta(days=7),
    having=having(SEPTEMBER, OCTOBER),
    figures=lambda month, now: {"month": month.month},
)


def closed(code: str = "test") -> list[tuple[date, Any]]:
    rows = ClosedMonth.objects.filter(kind=code).order_by("first_day")
    return list(rows.values_list("first_day", "figures"))


def test_a_month_is_closed_once_and_in_order() -> None:
    assert months_not_closed(KIND, NOW - timedelta(hours=3)) == [SEPTEMBER]
    assert months_to_close(KIND, NOW) == [SEPTEMBER, OCTOBER]
    assert (close_months(KIND, NOW), close_months(replace(KIND, figures=refused), NOW)) == (2, 0)
    assert closed() == [(SEPTEMBER, {"month": 9}), (OCTOBER, {"month": 10})]


def test_a_month_that_is_not_ready_waits() -> None:
    waits = replace(KIND, is_ready=lambda month, now: month == SEPTEMBER)
    assert (close_months(waits, NOW), months_not_closed(waits, NOW)) == (1, [OCTOBER])


def test_a_kind_that_follows_another_closes_what_that_closed() -> None:
    follower = replace(KIND, code="follower", follows="test", having=tuple)
    assert close_months(follower, NOW) == 0
    close_months(replace(KIND, having=having(OCTOBER)), NOW)
    assert close_months(follower, NOW) == 1
    assert closed("follower") == [(OCTOBER, {"month": 10})]


def test_a_month_that_fails_stops_no_other_and_is_tried_again() -> None:
    assert close_months(replace(KIND, figures=refused), NOW) == 1
    assert [day for day, _ in closed()] == [OCTOBER]
    failure = WorkFailure.objects.get()
    assert (failure.kind, failure.key, failure.error[:17]) == ("month of a test", 202609, "ZeroDivisionError")
    assert close_months(KIND, NOW) == 0, "its pause is not over"
    assert close_months(KIND, NOW + timedelta(hours=1)) == 1
    assert not WorkFailure.objects.exists()


def test_a_month_is_closed_with_its_rows_or_not_at_all() -> None:
    def rows(month: date, now: datetime) -> Sequence[PolicyRow]:
        keys = ("a", "b") if month == OCTOBER else ("a", "a")
        return [PolicyRow(kind="project", key=key) for key in keys]

    assert close_months(replace(KIND, rows=rows), NOW) == 1
    assert [day for day, _ in closed()] == [OCTOBER]
    assert set(PolicyRow.objects.values_list("month__first_day", "key")) == {(OCTOBER, "a"), (OCTOBER, "b")}


@pytest.mark.parametrize("kind", MONTHS, ids=lambda kind: kind.code)
def test_every_kind_has_an_alarm(kind: MonthKind, monkeypatch: pytest.MonkeyPatch) -> None:
    late = replace(kind, follows="", having=having(SEPTEMBER))
    monkeypatch.setattr(state, "MONTHS", (late,))
    ends_at = datetime(2026, 10, 1, tzinfo=UTC) + kind.after + LATE
    for at, expected in ((ends_at - timedelta(hours=4), []), (ends_at + timedelta(minutes=1), [kind.title])):
        titles = [concern.title for concern in concerns(state.system_state(at)) if "are not closed" in concern.title]
        assert titles == [f"The figures of {title} for September 2026 are not closed" for title in expected]
    assert overdue_s(kind, SEPTEMBER, ends_at) == pytest.approx(LATE.total_seconds(), abs=4 * 3600)


def test_a_kind_whose_months_cannot_be_found_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its step says so by itself: System shows that error, and must not be one."""
    broken = replace(KIND, having=lambda still_open: 1 / 0)
    closed_kind = replace(KIND, code="closed", having=having())
    monkeypatch.setattr(state, "MONTHS", (broken, KIND, closed_kind))
    assert state.unclosed_months(NOW) == [(KIND, SEPTEMBER), (closed_kind, None)]
    (gauge,) = [each for each in numbers._advice(NOW) if each.name == "kaiku_unclosed_month_seconds"]
    assert {tuple(sample.labels.values()) for sample in gauge.samples} == {("test",), ("closed",)}
