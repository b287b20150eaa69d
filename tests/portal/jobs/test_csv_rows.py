"""The rows of the CSV of jobs: the first at once, each run once and in its order, while other jobs arrive."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from portal.pages.jobs import views
from portal.pages.jobs.orders import SORTS
from tests.portal.jobs.test_job_pages import many, run

__all__ = ["many"]

FIRST = 10
THE_REST = 'NOT ("jobs_job"."id" IN ('


@pytest.fixture(autouse=True)
def few_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "FIRST_ROWS", FIRST)
    monkeypatch.setattr(views, "CHUNK_ROWS", 7)


def lines(client: Client, address: str) -> Iterator[str]:
    return (part.decode() for part in client.get(f"/jobs.csv?{address}").streaming_content)


def ids(read: list[str]) -> list[int]:
    return [int(row["job_id"]) for row in csv.DictReader(read)]


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_has_each_run_once(many, sort: str) -> None:
    expected = list(Job.objects.order_by(*SORTS[sort].full_order()).values_list("job_id", flat=True))
    assert ids(list(lines(many, f"sort={sort}"))) == expected


@pytest.mark.parametrize("address", ["efficiency_class=ACCEPTABLE&sort=class", "finding=timeout", "state=RUNNING"])
def test_a_filter_has_the_same_runs_as_the_page(many, address: str) -> None:
    found = ids(list(lines(many, address)))
    assert sorted(found) == sorted(set(found))
    assert len(found) == many.get(f"/jobs/?{address}").context["page"].count > 0


def test_the_first_rows_come_before_all_others_are_put_in_order(many) -> None:
    read = lines(many, "sort=wasted")
    with CaptureQueriesContext(connection) as asked:
        begun = [next(read) for _ in range(1 + FIRST)]
        assert len(ids(begun)) == FIRST
        assert not [query for query in asked if THE_REST in query["sql"]], "everything was read before the first rows"
        assert len(ids([*begun, *read])) == Job.objects.count()
        assert len([query for query in asked if THE_REST in query["sql"]]) == 1


def test_each_run_is_there_once_while_jobs_arrive_and_change(many) -> None:
    expected = list(Job.objects.order_by(*SORTS["use"].full_order()).values_list("job_id", flat=True))
    read = lines(many, "sort=use")
    begun = [next(read) for _ in range(1 + FIRST)]
    # One that stands before what was read, and of the others the one that now stands before it as well.
    run(90, util=0.0)
    Job.objects.filter(job_id=expected[-1]).update(ended_at=None)
    found = ids([*begun, *read])
    assert found[:FIRST] == expected[:FIRST]
    assert sorted(found) == sorted([*expected, 90])
