"""The status of a run: what a script reported and what Slurm reports, in every order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.experiments.status import JobWord, Reported, RunWord, decided

STARTED = datetime(2026, 11, 20, 10, tzinfo=UTC)
JOB_ENDED = datetime(2026, 11, 20, 12, tzinfo=UTC)
SILENT = timedelta(hours=1)


def word(reported: str, ended: float | None = None, heard: float = 120.0, reported_at: float | None = None) -> RunWord:
    """Times in minutes after the start of the job, which ends at 120."""

    def at(minutes: float) -> datetime:
        return STARTED + timedelta(minutes=minutes)

    said = reported_at if reported_at is not None else ended if ended is not None else 0.0
    return RunWord(Reported(reported), at(0), at(0), at(said), at(heard), None if ended is None else at(ended))


def job(state: str) -> JobWord:
    return JobWord(state, STARTED, JOB_ENDED)


@pytest.mark.parametrize(
    ("run", "state", "status", "is_by_slurm"),
    [
        # Killed: nothing was reported.
        (word("RUNNING"), "TIMEOUT", "KILLED", True),
        (word("RUNNING"), "OUT_OF_MEMORY", "FAILED", True),
        (word("RUNNING"), "COMPLETED", "FINISHED", True),
        # A client that reports FINISHED as its program fails.
        (word("FINISHED", 120.0), "FAILED", "FAILED", True),
        (word("FINISHED", 118.5), "FAILED", "FAILED", True),
        # One of several runs in a job, or a script that goes on when its training failed.
        (word("FAILED", 119.9), "COMPLETED", "FAILED", False),
        (word("KILLED", 121.0), "COMPLETED", "KILLED", False),
        # What Slurm reports is worse.
        (word("KILLED", 119.9), "FAILED", "FAILED", True),
        (word("FAILED", 119.9), "TIMEOUT", "KILLED", True),
        # It ended well before its job: what happened later is not about it.
        (word("FINISHED", 60.0), "FAILED", "FINISHED", False),
        (word("FAILED", 60.0), "COMPLETED", "FAILED", False),
        (word("FINISHED", 117.9), "TIMEOUT", "FINISHED", False),
        # Both agree.
        (word("FINISHED", 120.0), "COMPLETED", "FINISHED", False),
        # Its end arrived late, from a client that waited for an answer.
        (word("FINISHED", 125.0), "CANCELLED", "KILLED", True),
        # A job that is started again ended this run of it.
        (word("RUNNING"), "REQUEUED", "KILLED", True),
        # Resumed in another job, of which nothing is known: that job's end is not its own.
        (word("RUNNING", heard=180.0, reported_at=175.0), "TIMEOUT", "RUNNING", False),
    ],
)
def test_slurm_decides_what_was_running_when_the_job_ended(
    run: RunWord, state: str, status: str, is_by_slurm: bool
) -> None:
    found = decided(run, job(state), STARTED + timedelta(minutes=185), SILENT)
    assert (found.status.value, found.is_by_slurm) == (status, is_by_slurm)


def test_a_run_that_is_recorded_after_its_job_gets_the_state_of_that_job() -> None:
    later = JOB_ENDED + timedelta(days=3)
    run = RunWord(Reported.RUNNING, later, later, later, later)
    assert decided(run, job("FAILED"), later, SILENT).status.value == "FAILED"


def test_a_run_that_began_after_its_job_has_its_own_end() -> None:
    later = JOB_ENDED + timedelta(days=3)
    ended_at = later + timedelta(minutes=7)
    run = RunWord(Reported.FINISHED, later, later, ended_at, ended_at, ended_at)
    assert decided(run, job("COMPLETED"), ended_at, SILENT).ended_at == ended_at
    heard = RunWord(Reported.RUNNING, later, later, later, ended_at)
    assert decided(heard, job("TIMEOUT"), ended_at, SILENT).ended_at == ended_at


def test_a_run_that_was_uploaded_after_its_job_ends_with_it() -> None:
    """Its first point is an hour into the job; all of it arrived three days later."""
    later = JOB_ENDED + timedelta(days=3)
    run = RunWord(Reported.FINISHED, STARTED + timedelta(hours=1), later, later, later, later)
    assert decided(run, job("COMPLETED"), later, SILENT).ended_at == JOB_ENDED


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", None])
def test_no_run_ends_before_it_starts(state: str | None) -> None:
    """A clock that is ahead: it started, as it says, a minute before its job ended, and stopped ten minutes before."""
    run = RunWord(Reported.FINISHED, JOB_ENDED - timedelta(minutes=1), STARTED, JOB_ENDED, JOB_ENDED, JOB_ENDED)
    early = replace(run, ended_at=JOB_ENDED - timedelta(minutes=11))
    found = decided(early, job(state) if state else None, JOB_ENDED, SILENT)
    assert found.ended_at == JOB_ENDED - timedelta(minutes=1)


@pytest.mark.parametrize(("minutes", "status"), [(59, "RUNNING"), (60, "RUNNING"), (61, "LOST")])
def test_a_run_without_a_word_is_lost(minutes: int, status: str) -> None:
    run = word("RUNNING", heard=0.0)
    assert decided(run, None, STARTED + timedelta(minutes=minutes), SILENT).status.value == status


def test_a_silent_run_whose_job_runs_is_running() -> None:
    run = word("RUNNING", heard=0.0)
    assert decided(run, JobWord("RUNNING", STARTED), STARTED + timedelta(hours=5), SILENT).status.value == "RUNNING"


@pytest.mark.parametrize(("minutes", "status"), [(59, "RUNNING"), (61, "SCHEDULED")])
def test_a_silent_run_whose_job_waits_again_is_scheduled(minutes: int, status: str) -> None:
    """Its job was requeued; while the script reports, a queue that still lists the job as pending is old."""
    run = word("RUNNING", heard=0.0)
    assert decided(run, JobWord("PENDING"), STARTED + timedelta(minutes=minutes), SILENT).status.value == status


def test_the_end_of_a_killed_run_is_that_of_its_job() -> None:
    assert decided(word("RUNNING"), job("TIMEOUT"), JOB_ENDED, SILENT).ended_at == JOB_ENDED
    assert decided(word("FINISHED", 119.0), job("FAILED"), JOB_ENDED, SILENT).ended_at == STARTED + timedelta(
        minutes=119
    )


def test_without_slurm_the_script_decides() -> None:
    assert decided(word("FAILED", 30.0), None, JOB_ENDED, SILENT).status.value == "FAILED"
    assert decided(word("SCHEDULED"), None, JOB_ENDED, timedelta(hours=3)).status.value == "SCHEDULED"
