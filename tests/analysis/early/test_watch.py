"""The sweep of running jobs, from the summaries of their nodes and the queue to what pages read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analysis.early.figures import figures_from
from analysis.early.models import EarlyWord, RunningRun
from analysis.early.services import note_running, watch_running
from jobs.models import QueueReading, WorkFailure
from metrics.models import RunningNode
from tests.jobs.queue.listing import row
from tests.portal.queue.queued import read
from tests.running import running_job, watched

pytestmark = pytest.mark.django_db

EIGHT = {"tres_alloc": "cpu=112,mem=480G,node=1,billing=112,gres/gpu=8"}


def test_figures_of_a_running_job_are_those_of_its_last_summary() -> None:
    # Two GPUs at 60 % for 40 of 70 minutes, then idle; six that never worked.
    worked = [60.0] * 40 + [0.0] * 30
    read(running_job(utils=[worked, worked, *[[0.0] * 70] * 6], cells=EIGHT))
    figures = figures_from(watched().figures)
    assert figures is not None
    # 60 * 40 / 70 = 34.286 % of two GPUs in eight: 8.571 %.
    assert figures.use_percent == pytest.approx(8.571, abs=0.001)
    assert (figures.gpus, figures.active_gpus, figures.nodes, figures.nodes_expected) == (8, 2, 1, 1)
    assert figures.idle_since_s == pytest.approx(40 * 60, abs=60)
    assert figures.until_s == pytest.approx(70 * 60, abs=1)
    assert (figures.gpu_peak_gb, figures.gpu_capacity_gb) == (40.0, 64.0)
    assert [node.node for node in figures.longest_silent] == ["nid005123"]
    # 60 points at most: 70 minutes become 35 parts of two minutes, of (60 + 60) / 8 = 15 % and of 0 %.
    assert figures.step_s == 120.0
    assert figures.use == (15.0,) * 20 + (0.0,) * 15


def test_a_job_that_works_is_not_idle_since_anything() -> None:
    read(running_job(utils=[[0.0] * 69 + [50.0]] * 8, cells=EIGHT))
    figures = figures_from(watched().figures)
    assert figures is not None
    assert figures.idle_since_s is None


def test_a_job_is_looked_at_once_for_each_new_summary() -> None:
    line = running_job(cells=EIGHT)
    read(line)
    assert watch_running(100, timezone.now()) == 1
    assert watch_running(100, timezone.now()) == 0
    running_job(cells=EIGHT, sequence=2)
    assert watch_running(100, timezone.now()) == 1


def test_an_hour_of_eight_gpus_of_small_g_is_billed_four_gpu_hours() -> None:
    # max(56 cores / 8, 480 GiB / 64, 8 GPUs) = 8 slices at 0.5 each (design/domain.md, section 6).
    read(running_job(cells=EIGHT))
    assert watched().gpu_hours_per_hour == 4.0


def test_jobs_that_left_the_queue_run_no_longer_and_are_forgotten_after_a_day_but_not_their_words() -> None:
    read(running_job(cells=EIGHT), minutes_ago=3)
    watched()
    assert EarlyWord.objects.get().job_id == 123456
    read(running_job(8, cells=EIGHT))
    watch_running(100, timezone.now())
    read_at = QueueReading.objects.get().read_at
    assert list(RunningRun.objects.order_by("job_id").values_list("job_id", "left_at")) == [
        (8, None),
        (123456, read_at),
    ]
    # What came later of it makes it due no more.
    RunningRun.objects.filter(job_id=123456).update(new_revision=99)
    assert watch_running(100, timezone.now()) == 0
    note_running(read_at + timedelta(hours=23))
    assert RunningRun.objects.count() == 2
    note_running(read_at + timedelta(hours=25))
    assert list(RunningRun.objects.values_list("job_id", flat=True)) == [8]
    assert list(EarlyWord.objects.order_by("job_id").values_list("job_id", "over_at")) == [(8, None), (123456, None)]


def test_a_job_that_is_listed_again_runs_again() -> None:
    line = running_job(cells=EIGHT)
    read(line, minutes_ago=3)
    watched()
    read(minutes_ago=2)
    watch_running(100, timezone.now())
    assert RunningRun.objects.get().left_at is not None
    read(line)
    watch_running(100, timezone.now())
    assert RunningRun.objects.get().left_at is None


def test_a_queue_that_was_not_read_lately_forgets_nobody() -> None:
    read(running_job(cells=EIGHT))
    watched()
    later = timezone.now() + timedelta(hours=2)
    watch_running(100, later)
    assert RunningRun.objects.count() == 1


def test_a_job_whose_data_cannot_be_read_stops_no_other() -> None:
    lines = [running_job(number, cells=EIGHT) for number in (7, 8, 9)]
    read(*lines)
    watch_running(0, timezone.now())
    RunningNode.objects.filter(job_id=8).update(figures={"memory_gb": "broken", "memory_step_s": 60.0})
    assert watch_running(100, timezone.now()) == 2
    assert set(RunningRun.objects.exclude(figures={}).values_list("job_id", flat=True)) == {7, 9}
    assert WorkFailure.objects.filter(kind="early word").count() == 1


def test_of_a_requeued_job_the_last_attempt_counts() -> None:
    running_job(cells=EIGHT)
    read(running_job(cells=EIGHT, attempt=1))
    watch_running(100, timezone.now())
    assert list(RunningRun.objects.values_list("attempt", flat=True)) == [1]


def test_after_a_requeue_nothing_of_the_attempt_before_is_shown() -> None:
    read(running_job(cells=EIGHT), minutes_ago=3)
    watched()
    # It runs again since a minute, and its new attempt has not been measured yet.
    now = timezone.now()
    read(row(JobID="123456", ArrayJobID="123456", StartTime=f"{now:%Y-%m-%dT%H:%M:%S}", **EIGHT), minutes_ago=0)
    watch_running(100, now)
    assert not RunningRun.objects.filter(left_at=None).exists()


def test_a_job_without_gpus_or_that_waits_is_no_running_run() -> None:
    read(
        running_job(7, cells={"tres_alloc": "cpu=8,mem=16G,node=1,billing=8"}),
        running_job(8, cells=EIGHT | {"State": "PENDING"}),
    )
    assert watch_running(100, timezone.now()) == 0
    assert not RunningRun.objects.exists()
