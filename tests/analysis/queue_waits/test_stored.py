"""Stored runs: the ranges that the nightly backtest keeps, the estimate for a request, and the command."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.models import WaitRange
from analysis.queue_waits.effects import Smaller
from analysis.queue_waits.ranges import WaitEstimate
from analysis.queue_waits.rule import Alike
from analysis.queue_waits.selectors import smaller_request, wait_estimate
from analysis.queue_waits.services import keep_ranges
from jobs.models import Job, Project, User
from tests.steps import ran

CEDAR = "tests/samples/waits/cedar.csv"
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "grace")

pytestmark = pytest.mark.django_db


def store_runs(
    noon: datetime = NOON, days: int = 20, people: tuple[str, ...] = PEOPLE, wait: timedelta = HOUR, **changes: Any
) -> None:
    """A run of one GPU every two hours of the days before noon, of these people in turn; each waited as long."""
    users = [User.objects.get_or_create(username=name)[0] for name in people]
    project = Project.objects.get_or_create(name="project_462000001")[0]
    first = Job.objects.count() + 1
    runs = []
    for number in range(12 * days):
        started_at = noon - timedelta(days=days) + number * 2 * HOUR
        columns = {
            "cluster": "lumi",
            "partition": "small-g",
            "job_id": first + number,
            "user": users[number % len(users)],
            "project": project,
            "state": "COMPLETED",
            "gpus_requested": 1,
            "nodes_requested": 1,
            "walltime_requested_s": 7200.0,
            "submitted_at": started_at - wait,
            "eligible_at": started_at - wait,
            "started_at": started_at,
            "ended_at": started_at + HOUR / 2,
            "changed_at": started_at,
        }
        runs.append(Job(**(columns | changes)))
    Job.objects.bulk_create(runs)


def asked(at: datetime = NOON, **changes: Any) -> WaitEstimate | None:
    request: dict[str, Any] = {"cluster": "lumi", "partition": "small-g", "nodes": 1, "gpus": 1, "limit_s": 7200.0}
    return wait_estimate(**(request | {"project": None, "at": at} | changes))


def test_an_estimate_is_a_range_with_its_measured_coverage(django_assert_num_queries: Any) -> None:
    store_runs()
    # Of the whole cluster and of the one partition.
    assert keep_ranges(NOON) == 2
    with django_assert_num_queries(2):
        found = asked()
    assert found is not None
    assert (found.low_s, found.typical_s, found.high_s) == (3600, 3600, 3600)
    assert (found.starts, found.people, found.alike, found.coverage) == (240, 7, Alike.SIZE_AND_LIMIT, 1.0)
    assert found.coverage_submissions >= 30


def test_nothing_is_answered_without_a_recent_backtest_or_enough_known_starts() -> None:
    store_runs()
    assert asked() is None
    keep_ranges(NOON)
    assert asked(at=NOON + timedelta(days=6)) is not None
    assert asked(at=NOON + timedelta(days=7)) is None
    assert asked(cluster="mahti") is None
    assert [asked(partition=name) for name in ("dev-g", "", "small-g,dev-g")] == [None] * 3
    # The fifteenth run ends half a day and more before this time, the fourteenth before that one.
    fifteenth_ended = NOON - timedelta(days=20) + 14 * 2 * HOUR + HOUR / 2
    assert asked(at=fifteenth_ended) is not None
    assert asked(at=fifteenth_ended - timedelta(seconds=1)) is None


@pytest.mark.parametrize(
    "changes",
    [
        # Reported by the owner alone; of four people; held; without the time from which they could start.
        {"is_told_by_owner": True},
        {"people": PEOPLE[:4]},
        {"submitted_at": NOON - timedelta(days=90)},
        {"eligible_at": None},
        {"ended_at": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_runs_that_show_no_wait_or_too_few_people_give_no_answer(changes: dict[str, Any]) -> None:
    store_runs()
    keep_ranges(NOON)
    store_runs(**{"partition": "standard-g"} | changes)
    assert asked(partition="standard-g") is None
    store_runs(partition="standard-g")
    assert asked(partition="standard-g") is not None


def test_the_next_backtest_replaces_the_ranges_of_its_cluster() -> None:
    now = timezone.now()
    store_runs(now)
    store_runs(now, partition="", wait=9 * HOUR)
    WaitRange.objects.create(
        cluster="lumi",
        partition="gone",
        low_factor=1,
        high_factor=1,
        error_submissions=40,
        coverage=1,
        factor_off=1,
        submissions=40,
        jobs=40,
        made_at=now - timedelta(days=1),
    )
    assert ran("backtest_waits") == 2
    keep_ranges(now + HOUR)
    rows = WaitRange.objects.order_by("partition")
    assert [str(row) for row in rows] == ["waits of lumi", "waits of lumi/small-g"]
    assert {(row.low_factor, row.high_factor, row.coverage, row.made_at) for row in rows} == {(1, 1, 1, now + HOUR)}


def test_a_shorter_limit_is_compared_among_stored_runs() -> None:
    store_runs()
    store_runs(wait=3 * HOUR, walltime_requested_s=86_400.0)
    found = smaller_request("lumi", "small-g", 1, 1, 86_400.0, Smaller(limit_s=7200.0), NOON)
    assert found is not None
    assert (found.low_factor, found.typical_factor, found.high_factor) == pytest.approx((3, 3, 3))
    assert smaller_request("lumi", "small-g", 1, 1, 7200.0, Smaller(limit_s=3600.0), NOON) is None


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("backtest_waits", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_prints_each_partition_of_a_file_beside_the_baselines(tmp_path: Path) -> None:
    packed = tmp_path / "cedar.csv.gz"
    packed.write_bytes(gzip.compress(Path(CEDAR).read_bytes() + b"cedar,1,u1\n"))
    text = printed("--from-file", str(packed))
    assert "1 row could not be read" in text
    assert "part-48: 82 jobs, 45% estimated, of 37 submissions; 10 held by something else left out" in text
    assert text.count("last five starts") == 4
    found = json.loads(printed("--from-file", CEDAR, "--json", "--cluster", "cedar"))
    assert [one["partition"] for one in found["cedar"]] == ["part-48", "part-49", "part-47", ""]
    assert found["cedar"][-1]["scores"].keys() == {"kaiku", "partition, 14 days", "last five starts"}
    assert "no jobs" in printed("--from-file", CEDAR, "--cluster", "graham")


def test_the_command_reads_stored_runs_and_stores_ranges_only_if_asked_to() -> None:
    assert "no jobs" in printed()
    store_runs(timezone.now())
    assert "small-g: 240 jobs" in printed("--since", "25")
    assert not WaitRange.objects.exists()
    printed("--store", "--cluster", "lumi")
    assert WaitRange.objects.count() == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "0"),
        ("--since", "100000"),
        ("--from-file", "/nowhere.csv"),
        ("--from-file", "README.md"),
        ("--from-file", "tests/samples/README.md.gz"),
        ("--from-file", CEDAR, "--store"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        printed(*arguments)
