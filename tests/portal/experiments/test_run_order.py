"""Which runs the table of an experiment shows and in which order, as its address states; on every database."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from jobs.experiments.models import Experiment, ExperimentRun
from tests.portal.experiments.logged import experiment_of, log_run

pytestmark = pytest.mark.django_db

Cast = Callable[[str], Client]
HOSTILE = "<script>\u202e\"'`{{ 7 }}"


@pytest.fixture
def alice(cast: Cast) -> Client:
    return cast("alice")


def shown(client: Client, query: str = "") -> str:
    """The names of the runs on the first page, in their order."""
    pk = Experiment.objects.get().pk
    return "".join(row.label for row in client.get(f"/experiments/{pk}/?{query}").context["page"].rows)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "cba"),
        ("sort=started", "abc"),
        ("sort=name", "abc"),
        ("sort=-name", "cba"),
        # Last values 0.7 and 0.4; what has none comes last both ways.
        ("sort=metric:loss", "bac"),
        ("sort=-metric:loss", "abc"),
        # Least 0.5 and 0.1, greatest 0.9 and 0.4.
        ("sort=-metric:loss&value=least", "abc"),
        ("sort=metric:loss&value=most", "bac"),
        # 0.001, 9 and 10 as numbers, not as words.
        ("sort=param:lr", "cba"),
        ("sort=-param:net", "bac"),
        # 30, 20 and 0 minutes.
        ("sort=-duration", "abc"),
        ("sort=nothing", "cba"),
        ("status=FAILED", "b"),
        ("status=NOPE", "cba"),
        ("q=A", "a"),
        ("param=lr&equals=9", "b"),
        ("param=lr&equals=", ""),
        ("metric=loss&above=0.4", "a"),
        ("metric=loss&below=0.7", "b"),
        ("metric=loss&above=0.3&below=0.8", "ba"),
        ("metric=loss&below=0.5&value=least", "b"),
        ("metric=nothing&above=0", ""),
        ("page=99", "cba"),
        ("page=-1&above=nan&below=x", "cba"),
    ],
)
def test_runs_stand_in_the_order_and_within_the_bounds_of_the_address(
    alice: Client, runs: dict[str, ExperimentRun], query: str, names: str
) -> None:
    assert shown(alice, query) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("sort=seed", "bac"),
        ("sort=-seed", "abc"),
        ("seed=10", "a"),
        ("sort=-tag:kind", "abc"),
        ("tag=kind&is_tag=base", "b"),
        ("tag=kind", ""),
    ],
)
def test_seeds_sort_as_numbers_and_tags_as_words(
    alice: Client, runs: dict[str, ExperimentRun], query: str, names: str
) -> None:
    """Seeds 10 and 9, kinds "wide" and "base"; the third has neither."""
    for name, seed, kind in (("a", "10", "wide"), ("b", "9", "base")):
        ExperimentRun.objects.filter(pk=runs[name].pk).update(seed=seed, tags={"kind": kind})
    assert shown(alice, query) == names


def test_a_run_is_found_by_the_beginning_of_its_identifier(alice: Client, runs: dict[str, ExperimentRun]) -> None:
    assert shown(alice, f"q={runs['b'].run_id[:12].upper()}") == "b"


@pytest.mark.parametrize("name", ['lr"', "0", "a.b", "$", "a'b", HOSTILE, "a__b", "%s"])
def test_a_parameter_of_any_name_can_be_searched_for_and_sorted_by(alice: Client, name: str) -> None:
    experiment = experiment_of("alice")
    stored = log_run(experiment, "x", job=None, params={name: "2"}, metrics={}).params
    log_run(experiment, "y", job=None, params={name: "1"}, metrics={})
    (kept,) = stored
    page = alice.get(f"/experiments/{experiment.pk}/", {"param": kept, "equals": "2"})
    assert [row.label for row in page.context["page"].rows] == ["x"]
    page = alice.get(f"/experiments/{experiment.pk}/", {"sort": f"param:{kept}"})
    assert [row.label for row in page.context["page"].rows] == ["y", "x"]
