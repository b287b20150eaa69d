"""Curves of several runs beside each other: by step, time and GPU-hours, what differs, and what a value cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from jobs.experiments.models import Experiment
from tests.portal.conftest import text
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Cast = Callable[[str], Client]


@pytest.fixture
def alice(cast: Cast) -> Client:
    return cast("alice")


def path_of(*ids: str, **query: str) -> str:
    chosen = "&".join([*(f"run={one}" for one in ids), *(f"{name}={value}" for name, value in query.items())])
    return f"/experiments/{Experiment.objects.get().pk}/compare/?{chosen}"


def corners(line: object) -> list[tuple[float, float]]:
    (stroke,) = line.strokes
    return [tuple(map(float, corner.split(","))) for corner in stroke.split()]


def test_curves_lie_where_the_numbers_are(alice: Client, reported) -> None:
    """1.0 at step 0 down to 0.45 at step 1,100, and 0.2 at step 0 and 100: on axes from 0 to 1 and 0 to 1,100."""
    reported()
    experiment = experiment_of("alice")
    long, short = log_run(experiment, "long"), log_run(experiment, "short", job=None, metrics={"loss": [0.2, 0.2]})
    chart = alice.get(path_of(long.run_id, short.run_id)).context["chart"]
    assert (chart.scale, chart.ticks) == (("1", "0.5", "0"), ("0", "550", "1,100"))
    first, second = (corners(line) for line in chart.lines)
    assert (first[0], first[-1]) == ((0.0, 0.0), (1000.0, 110.0))
    assert second == [(0.0, 160.0), (90.9, 160.0)]
    assert [line.name for line in chart.lines] == ["long", "short"]
    assert chart.head == ("", "long", "short")
    # Twelve rows; the second begins with the sixth of sixty columns: steps 91.7 to 110.
    assert len(chart.rows) == 12
    assert chart.rows[1] == ("101", "0.95", "0.2")
    assert chart.rows[2] == ("192", "0.9", "no value")


def test_by_time_and_by_gpu_hours_a_run_begins_at_nothing(alice: Client, reported) -> None:
    """110 minutes to the last point; 4 GPU-hours an hour."""
    reported()
    run, other = log_run(experiment_of("alice")), log_run(experiment_of("alice"), "alone", job=None)
    ids = (run.run_id, other.run_id)
    by_time = alice.get(path_of(*ids, by="time")).context["chart"]
    assert by_time.ticks == ("0:00:00", "0:55:00", "1:50:00")
    assert len(by_time.lines) == 2
    by_hours = alice.get(path_of(*ids, by="hours"))
    assert by_hours.context["chart"].ticks[2] == "7.33 GPU-h"
    assert by_hours.context["without_hours"] == ["alone"]
    assert "the GPU-hours of the run are not known to you" in by_hours.content.decode()


def test_a_member_has_no_gpu_hours_to_compare_by(cast: Cast, reported) -> None:
    reported()
    run = log_run(experiment_of("alice", project="project_465000001", is_shared=True))
    page = cast("bob").get(path_of(run.run_id, by="hours"))
    assert page.context["without_hours"] == ["first"]
    assert not page.context["chart"].lines
    assert page.context["sides"][0].progress.rates.steps.per_gpu_hour is None


def test_the_cost_until_a_value_is_that_of_its_first_point(alice: Client, reported) -> None:
    """0.8 is reached with the fifth point, forty minutes in: 2.67 GPU-hours; 0.1 never."""
    reported()
    run = log_run(experiment_of("alice"))
    reached = alice.get(path_of(run.run_id, metric="loss", target="0.8")).context["sides"][0].reached
    assert (reached.step, reached.run_s) == (400, 2400.0)
    assert reached.gpu_hours == pytest.approx(8 / 3)
    assert "2.67 GPU-hours" in text(alice, path_of(run.run_id, metric="loss", target="0.8"))
    assert "not reached" in text(alice, path_of(run.run_id, metric="loss", target="0.1"))
    higher = alice.get(path_of(run.run_id, metric="loss", target="0.8", side="higher")).context["sides"][0].reached
    assert higher.step == 0


def test_parameters_that_differ_stand_beside_each_other(alice: Client) -> None:
    experiment = experiment_of("alice")
    one = log_run(experiment, "one", job=None, params={"lr": "0.1", "net": "vit", "amp": "true"})
    two = log_run(experiment, "two", job=None, params={"lr": "0.2", "net": "vit"})
    context = alice.get(path_of(one.run_id, two.run_id)).context
    assert [(row.name, row.texts) for row in context["differing"]] == [
        ("amp", ("true", None)),
        ("lr", ("0.1", "0.2")),
    ]
    assert context["same"] == 1


def test_at_most_ten_runs_of_this_experiment_are_shown(alice: Client) -> None:
    experiment = experiment_of("alice")
    runs = [
        log_run(experiment, f"{place}", job=None, metrics={}, began_at=BEGAN_AT + timedelta(minutes=place))
        for place in range(11)
    ]
    elsewhere = log_run(experiment_of("bob", "other"), job=None)
    path = f"/experiments/{experiment.pk}/compare/?run={elsewhere.run_id}&run=x&" + "&".join(
        f"run={run.run_id}" for run in runs
    )
    context = alice.get(path).context
    assert [side.label for side in context["sides"]] == [f"{place}" for place in range(10)]
    assert context["left_out"] == 3
    assert len({side.css_class for side in context["sides"]}) == 10
    assert "No runs are chosen" in text(alice, f"/experiments/{experiment.pk}/compare/")


def test_a_metric_that_is_nan_breaks_its_curve_and_is_said_in_words(alice: Client) -> None:
    values = [0.9, 0.8, float("nan"), 0.7, float("inf")]
    run = log_run(experiment_of("alice"), job=None, metrics={"loss": values})
    chart = alice.get(path_of(run.run_id)).context["chart"]
    assert [len(stroke.split()) for stroke in chart.lines[0].strokes] == [2, 2]
    assert {row[1] for row in chart.rows} == {"0.9", "0.8", "NaN", "0.7"}
    assert "loss 0.9" not in chart.summary
    assert "between 0.7 and 0.9" in chart.summary
