"""The Site page: stored months in words, for staff and policy readers."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from analysis.models import ClosedMonth
from tests.portal.conftest import text

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 8, tzinfo=UTC)
TABLES = {
    "finding": [{"name": "idle_gpus", "allocated": 30000.0, "used": 10000.0, "unused": 20000.0}],
    "partition": [{"name": "<b>odd", "withheld": "few_people"}, {"name": "small-g", "withheld": "other_group"}],
    "class": [{"name": "WASTED", "withheld": "one_person"}, {"name": "UNKNOWN", "withheld": "people_together"}],
}


@pytest.fixture
def months() -> None:
    shown = {"name": "", "allocated": 40000.0, "used": 15000.0, "unused": 24000.0}
    ClosedMonth.objects.create(
        kind="site", first_day=date(2026, 9, 1), figures={"total": {"name": "", "withheld": "few_people"}}, closed_at=AT
    )
    figures = {"total": shown, "tables": TABLES, "energy_kwh": 1250.0}
    ClosedMonth.objects.create(kind="site", first_day=date(2026, 10, 1), figures=figures, closed_at=AT)


def test_staff_and_policy_readers_see_the_latest_month(cast, months) -> None:
    for name in ("erin", "frank", "grace"):
        page = text(cast(name), "/site/")
        assert "unused GPU-hours (estimate) of 40,000&nbsp;GPU-hours in October 2026" in page
        assert "1,250&nbsp;kWh" in page
        assert "Some GPUs stayed idle" in page
    for name in ("alice", "carol", "dave"):
        assert cast(name).get("/site/").status_code == 404


def test_what_is_withheld_is_said_in_words(cast, months) -> None:
    page = text(cast("erin"), "/site/?month=2026-10")
    assert "withheld: fewer than 5 people" in page
    assert "withheld: one person has more than 85\u00a0%" in page
    assert "withheld: three people have nearly all of it" in page
    assert "withheld: it would reveal a withheld group" in page
    assert "&lt;b&gt;odd" in page


def test_a_month_of_too_few_people_has_no_figures(cast, months) -> None:
    page = text(cast("erin"), "/site/?month=2026-09")
    assert "September 2026: withheld: fewer than 5 people." in page
    assert "kWh" not in page


def week(values: dict[int, float], use: dict[int, float]) -> dict[str, object]:
    return {
        "withheld": "",
        "allocated": [values.get(i) for i in range(168)],
        "use_percent": [use.get(i) for i in range(168)],
        "allocated_steps": [1.0 if i in values else None for i in range(168)],
        "use_steps_percent": [1.0 if i in use else None for i in range(168)],
    }


def with_week(figures: dict[str, object]) -> None:
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    month.figures["week"] = figures
    month.save()


def test_the_hours_of_the_week_are_rows_of_hours_and_columns_of_weekdays(cast, months) -> None:
    # Monday 0:00, Tuesday 0:00 and Sunday 23:00.
    with_week(week({0: 2000.0, 24: 500.0, 167: 1000.0}, {24: 80.0}))
    page = text(cast("erin"), "/site/")
    first, last = (page.split(f'<th scope="row">{hour}</th>')[1].split("</tr>")[0] for hour in ("00:00", "23:00"))
    assert first.index('<td class="heat-4">2,000</td>') < first.index('<td class="heat-1">500</td>')
    assert first.count('<td class="withheld">') == 5
    assert last.rstrip().endswith('<td class="heat-2">1,000</td>')
    assert '<td class="shade-4">80</td>' in page.split('id="week-use"')[1]
    assert "style=" not in page


def test_a_withheld_map_states_why_and_a_month_without_one_has_none(cast, months) -> None:
    erin = cast("erin")
    assert "Hours of the week" not in text(erin, "/site/")
    with_week({"withheld": "other_group"})
    assert "All hours of the week are withheld: it would reveal a withheld group." in text(erin, "/site/")
    with_week(week({0: 2000.0}, {}))
    assert 'id="week-allocated"' in text(erin, "/site/")
    assert 'id="week-use"' not in text(erin, "/site/")


def test_figures_that_are_mostly_rounding_have_a_mark_of_their_own(cast, months) -> None:
    # Monday, Tuesday and Wednesday 0:00: two steps, one and none; the use is 20 of 20, 10 of 10 and 60 of 20.
    found = week({0: 1000.0, 24: 500.0, 48: 0.0}, {0: 20.0, 24: 10.0, 48: 60.0})
    steps = week({0: 500.0, 24: 500.0, 48: 500.0}, {0: 20.0, 24: 10.0, 48: 20.0})
    with_week(found | {"allocated_steps": steps["allocated"], "use_steps_percent": steps["use_percent"]})
    erin = cast("erin")
    page = text(erin, "/site/")
    allocated, use = (part.split("</tr>")[0] for part in page.split('<th scope="row">00:00</th>')[1:])
    mark = '<td class="rounding"><span aria-hidden="true">±</span><span class="sr">mostly rounding</span></td>'
    assert (allocated.count(mark), use.count(mark)) == (2, 1)
    assert '<td class="heat-4">1,000</td>' in allocated
    assert use.index(mark) < use.index('<td class="shade-0">10</td>') < use.index('<td class="shade-3">60</td>')
    assert "<dt>±</dt>" in page
    with_week(week({0: 1000.0, 24: 500.0}, {}))
    page = text(erin, "/site/")
    assert '<td class="heat-2">500</td>' in page
    assert "<dt>±</dt>" not in page


def test_a_map_of_nothing_but_rounding_is_withheld(cast, months) -> None:
    steps = week({0: 500.0, 24: 500.0}, {})["allocated"]
    with_week(week({0: 500.0, 24: 0.0}, {}) | {"allocated_steps": steps, "use_steps_percent": [None] * 168})
    assert "All hours of the week are withheld: each figure would be mostly rounding." in text(cast("erin"), "/site/")


def test_every_month_is_named_below_its_column(cast, months) -> None:
    page = text(cast("erin"), "/site/")
    assert "<span>Sep<br>2026</span><span>Oct<br></span>" in page


def test_science_fields_of_the_directory_are_shown_escaped_and_those_without_one_as_unknown(cast, months) -> None:
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    month.figures["tables"]["science_field"] = [
        {"name": "<i>Physics", "allocated": 300.0, "used": 200.0, "unused": 100.0},
        {"name": "", "withheld": "few_people"},
    ]
    month.save()
    page = text(cast("erin"), "/site/").split('<h2 id="by-science_field">Science fields</h2>')[1]
    assert "&lt;i&gt;Physics" in page
    assert '<th scope="row">unknown</th>' in page


def test_other_periods_cannot_be_asked_for(cast, months) -> None:
    erin = cast("erin")
    for asked in ("2026-10-05", "2025-01", "x", ""):
        assert "in October 2026" in text(erin, f"/site/?month={asked}")


def test_before_the_first_month_the_page_says_when_one_appears(cast) -> None:
    assert "The figures of a month appear 7 days after its end." in text(cast("erin"), "/site/")


def test_idle_hours_that_others_waited_for_stand_beside_the_others(cast, months) -> None:
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    assert "GPUs that stayed idle" not in text(cast("erin"), "/site/"), "a month from before they were added up"
    month.figures["idle"] = {"wanted": 1200.0, "unwanted": 34000.0}
    month.save()
    page = text(cast("erin"), "/site/")
    assert "Idle GPU-hours while others waited for them</dt><dd>1,200</dd>" in page
    assert "Idle GPU-hours that nobody waited for</dt><dd>34,000</dd>" in page
    month.figures["idle"] = {"withheld": "other_group"}
    month.save()
    page = text(cast("erin"), "/site/")
    assert "GPUs that stayed idle" in page
    assert "Idle GPU-hours" not in page


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"wanted": 0.0, "unwanted": 340.0, "step": 20.0}, ("less than~20", "340")),
        ({"wanted": 0.0, "unwanted": 0.0, "step": 0.5}, ("less than~0.5", "less than~0.5")),
        ({"wanted": 20.0, "unwanted": 340.0, "step": 20.0}, ("20", "340")),
    ],
)
def test_idle_hours_that_were_rounded_to_nothing_are_less_than_a_step(
    cast, months, figures: dict[str, float], expected: tuple[str, str]
) -> None:
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    month.figures["idle"] = figures
    month.save()
    page = text(cast("erin"), "/site/").replace("\u00a0", "~")
    assert f"Idle GPU-hours while others waited for them</dt><dd>{expected[0]}</dd>" in page
    assert f"Idle GPU-hours that nobody waited for</dt><dd>{expected[1]}</dd>" in page


def test_a_month_without_idle_hours_states_why(cast, months) -> None:
    why = "stayed idle while others waited is not known of this month: it was closed before that was determined"
    erin = cast("erin")
    assert why in " ".join(text(erin, "/site/").split())
    assert why not in " ".join(text(erin, "/site/?month=2026-09").split()), "nothing at all is shown of it"
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    month.figures["idle"] = {"withheld": "few_people"}
    month.save()
    assert why not in " ".join(text(erin, "/site/").split())


def test_the_tables_state_that_their_figures_are_rounded_alone(cast, months) -> None:
    """Each of three figures has the step of its own largest person: 1,000 may be 1,000 used and 200 unused."""
    month = ClosedMonth.objects.get(kind="site", first_day=date(2026, 10, 1))
    month.figures["tables"]["class"] = [{"name": "EFFICIENT", "allocated": 1000.0, "used": 1000.0, "unused": 200.0}]
    month.save()
    page = " ".join(text(cast("erin"), "/site/").split())
    note = page.index("Each figure of the tables is rounded alone, so used and unused hours may add up to more or less")
    assert note < page.index('id="by-'), "before the first of them"
    assert "rounded alone" not in text(cast("erin"), "/site/?month=2026-09")


def test_a_month_that_is_not_there_is_stated(cast, months) -> None:
    erin = cast("erin")
    for asked in ("2026-13", "2026-11", "x", ""):
        page = text(erin, f"/site/?month={asked}")
        assert "The month of this address is not there" in page
        assert "in October 2026" in page, "the latest one instead"
    for query in ("", "?month=2026-10", "?month=2026-09"):
        assert "is not there" not in text(erin, f"/site/{query}")
