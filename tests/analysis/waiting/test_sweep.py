"""The sweep that determines who waited: from records as accounting gives them, again when they change, and once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import IdleHold, SweepMark
from analysis.services import analyse_job
from analysis.waiting.selectors import changed_waits, waiting_during
from analysis.waiting.services import CHECK_AGAIN, CHECK_OLDER_AGAIN, LOOK_EVERY, WAITS, check_waits, note_changed_waits
from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.analysis.waiting.accounting import PEOPLE, START, cancelled, idle_run, imported, minute, started
from tests.payloads import gpu, job_record, node_payload

pytestmark = pytest.mark.django_db

SOON = timedelta(seconds=1)
LATER = LOOK_EVERY + timedelta(seconds=10)


def check(after: timedelta = SOON) -> int:
    """A sweep so long after the present moment."""
    return check_waits(100, timezone.now() + after)


def figures(job_id: int = 1) -> tuple[float | None, int | None, bool]:
    hold = IdleHold.objects.get(job__job_id=job_id)
    return hold.wanted_gpu_hours, hold.could_start, hold.is_shown


def five_waited(since: float = 0, until: float = 60, first: int = 11) -> list[str]:
    return [started(first + place, user, 2, since, until) for place, user in enumerate(PEOPLE)]


def test_who_waited_is_determined_from_accounting() -> None:
    imported(*five_waited())
    idle_run()
    hold = IdleHold.objects.get()
    assert (hold.idle, hold.idle_gpus, hold.checked_at) == ({"6": 1}, 6, None)
    # 8 GPU-hours are billed for 8 GPUs, 6 of them idle.
    assert hold.idle_gpu_hours == pytest.approx(6.0)
    assert check() == 1
    # 10 GPUs were requested for one of two hours, 6 are idle: half of the 6 GPU-hours. Three jobs of 2 fit.
    assert figures() == (pytest.approx(3.0), 3, True)
    assert check() == 0, "nothing is due"


def test_on_an_idle_system_nothing_counts() -> None:
    idle_run()
    check()
    assert figures() == (0.0, 0, False)


def test_a_job_that_was_cancelled_before_it_started_waited_too() -> None:
    imported(cancelled(11, "bob", 4, 0, 120), cancelled(12, "carol", 4, None, 120))
    idle_run()
    check()
    # 4 of 6 GPUs all the time; the other one waited for its dependency.
    assert figures() == (pytest.approx(4.0), 1, False)


def test_other_partitions_clusters_and_owners_records_do_not_count() -> None:
    imported(started(11, "bob", 2, 0, 60, partition="dev-g"), started(12, "carol", 2, 0, 60))
    Job.objects.filter(job_id=12).update(cluster="other")
    imported(started(13, "dave", 2, 0, 60))
    Job.objects.filter(job_id=13).update(is_told_by_owner=True)
    idle_run()
    check()
    assert figures() == (0.0, 0, False)


def test_records_that_arrive_later_are_counted() -> None:
    """Those who waited start later and end much later: their records come one by one."""
    idle_run()
    check()
    imported(*five_waited())
    assert check(LATER) == 0, "first it is noted that they changed"
    assert figures() == (0.0, 0, False)
    assert check(LATER + CHECK_OLDER_AGAIN) == 1
    assert figures() == (pytest.approx(3.0), 3, True)
    assert check(2 * LATER + CHECK_OLDER_AGAIN) == 0


def test_a_corrected_record_changes_the_figures() -> None:
    imported(started(11, "bob", 2, 0, 60))
    idle_run()
    check()
    # Half of the time 2 of 6 GPUs.
    assert figures() == (pytest.approx(1.0), 1, False)
    imported(started(11, "bob", 2, 30, 60))
    check(LATER)
    check(LATER + CHECK_OLDER_AGAIN)
    assert figures() == (pytest.approx(0.5), 1, False)


def test_many_records_cause_one_check() -> None:
    idle_run()
    check()
    for first in range(11, 61, 10):
        imported(*five_waited(first=first))
        check(LATER * (first // 10))
    hold = IdleHold.objects.get()
    assert hold.check_at is not None
    assert check(LATER + CHECK_OLDER_AGAIN) == 1
    assert figures()[1:] == (3, True)


def test_a_change_elsewhere_has_nothing_checked_again() -> None:
    idle_run()
    check()
    imported(started(11, "bob", 2, 600, 660), started(12, "carol", 2, 0, 60, partition="dev-g"))
    imported(started(13, "dave", 2, 0, 4))
    assert note_changed_waits(timezone.now() + LOOK_EVERY) == 0


def test_changes_are_looked_at_every_five_minutes() -> None:
    now = timezone.now()
    note_changed_waits(now)
    idle_run()
    check_waits(100, now)
    imported(started(11, "bob", 2, 0, 60))
    assert note_changed_waits(now + LOOK_EVERY - SOON) == 0
    assert note_changed_waits(now + LOOK_EVERY) == 1
    assert SweepMark.objects.get(name=WAITS).at == now + LOOK_EVERY


def test_older_runs_are_checked_again_less_often() -> None:
    """Those who waited arrive over days: a run of today is checked once an hour, an older one twice a day."""
    idle_run()
    check()
    now = timezone.now()
    for age, pause in ((timedelta(hours=23), CHECK_AGAIN), (timedelta(hours=25), CHECK_OLDER_AGAIN)):
        ended = now - age
        IdleHold.objects.update(started_at=ended - timedelta(hours=2), ended_at=ended, check_at=None)
        SweepMark.objects.all().delete()
        imported(started(11, "bob", 2, 0, 60))
        Job.objects.filter(job_id=11).update(
            eligible_at=ended - timedelta(hours=1), started_at=ended, changed_at=timezone.now()
        )
        assert note_changed_waits(now) == 1
        assert IdleHold.objects.get().check_at == now + pause


def test_a_new_judgement_is_checked_again_or_forgets_the_run() -> None:
    imported(*five_waited())
    job = idle_run()
    check()
    # The node corrects its summary: four GPUs worked. Only two jobs of 2 fit the other four.
    used = [gpu(index, 88.0 if index < 4 else 0.0) for index in range(8)]
    record_node_summary(node_payload(job_id=1, gpus=used, sequence=2))
    analyse_job(job.pk, timezone.now())
    assert (IdleHold.objects.get().is_shown, IdleHold.objects.get().checked_at) == (False, None)
    check()
    assert figures() == (pytest.approx(2.0), 2, True)
    record_node_summary(node_payload([90.0] * 8, job_id=1, sequence=3))
    analyse_job(job.pk, timezone.now())
    assert not IdleHold.objects.exists()


def test_a_run_that_only_its_owner_reported_is_not_kept() -> None:
    job = idle_run()
    Job.objects.filter(pk=job.pk).update(is_told_by_owner=True)
    analyse_job(job.pk, timezone.now())
    assert not IdleHold.objects.exists()


def test_whole_nodes_are_needed_where_the_partition_allocates_them() -> None:
    shape = {"partition": "standard-g", "nodes": ["nid005123", "nid005124"], "node_count": 2}
    record_job(job_record(job_id=1, **shape, gpus_requested=16, gpus_allocated=16))
    for node, util in (("nid005123", 90.0), ("nid005124", 0.0)):
        record_node_summary(node_payload([util] * 8, job_id=1, node=node))
    analyse_job(Job.objects.get(job_id=1).pk, minute(125))
    imported(
        started(11, "bob", 2, 0, 120, partition="standard-g"),
        started(12, "carol", 16, 0, 120, nodes=2, partition="standard-g"),
    )
    check()
    # Two nodes for two hours bill 16 GPU-hours, one of them stayed idle: 8. One job takes the node, two nodes are not.
    assert IdleHold.objects.get().idle == {"8": 1}
    assert figures() == (pytest.approx(8.0), 1, False)


def test_a_record_with_an_impossible_wait_does_no_harm() -> None:
    imported(started(11, "bob", 2, 0, 60))
    Job.objects.filter(job_id=11).update(eligible_at=datetime(2001, 1, 1, tzinfo=START.tzinfo))
    idle_run()
    check()
    assert figures() == (0.0, 0, False)
    # Noting it again concerns the two weeks before its start alone.
    (stretch,) = changed_waits(timezone.now() - timedelta(hours=1))
    assert stretch.until - stretch.since <= timedelta(days=14, hours=1)


def test_a_check_takes_as_many_queries_for_many_waiting_jobs_as_for_few() -> None:
    idle_run()
    check()
    counts = []
    for job_id, rows in ((2, five_waited()), (3, [row for at in range(20, 120, 5) for row in five_waited(first=at)])):
        imported(*rows)
        idle_run(job_id)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert check() == 1
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_wait_that_ended_long_after_the_run_is_not_read() -> None:
    """14 days are read: a limit of how much of the index a check reads, stated in docs/waiting.md."""
    days = 24 * 60
    imported(started(11, "bob", 2, 0, 120 + 14 * days), started(12, "carol", 2, 0, 121 + 14 * days))
    idle_run()
    assert [job.gpus for job in waiting_during(IdleHold.objects.get())] == [2]


def test_what_accounting_leaves_open_is_not_counted_as_more() -> None:
    """The limits of docs/waiting.md: a pending array is one row, and a list of partitions is none of them."""
    array = cancelled(13, "bob", 1, 0, 120).split("|")
    array[1] = "13_[2-99]"
    imported("|".join(array), cancelled(14, "carol", 4, 0, 120).replace("|small-g|", "|small-g,standard-g|"))
    idle_run()
    check()
    # One of 6 GPUs all the time, not 98 tasks, and nothing of the 4.
    assert figures() == (pytest.approx(1.0), 1, False)
