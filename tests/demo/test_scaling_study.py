"""The sample work on several numbers of GPUs: one work, and the knee that its run times were chosen for."""

from __future__ import annotations

from datetime import UTC, datetime

from analysis.comparable import ComparableRun, speed_kept, typical_times_s
from demo.people import sample_people
from demo.scaling_study import STEPS, scaling_study
from jobs.work_key import work_key

UNTIL = datetime(2026, 11, 20, 12, tzinfo=UTC)
JOBS = list(scaling_study(sample_people(seed=2026)[6], seed=2026, until=UNTIL))


def test_all_runs_are_of_one_work_and_come_in_order() -> None:
    named = ("cluster", "user_id", "project_id", "job_name")
    keys = {work_key(b"secret", *(job.record[name] for name in named)) for job in JOBS}
    assert len(keys) == 1
    assert "" not in keys
    ended = [job.record["ended_at"] for job in JOBS]
    assert ended == sorted(ended)
    assert len(ended) == len(STEPS)


def test_four_gpus_still_scale_and_eight_do_not() -> None:
    completed = [job.record for job in JOBS if job.record["state"] == "COMPLETED"]
    typical_s = typical_times_s(ComparableRun(run["gpus_allocated"], run["walltime_used_s"]) for run in completed)
    assert {gpus: time_s / 60 for gpus, time_s in typical_s.items()} == {1: 506, 2: 251, 4: 161.5, 8: 131}
    # (160 + 163) / 2; 506 / (2 x 251), 506 / (4 x 161.5), 506 / (8 x 131)
    assert {gpus: round(100 * kept) for gpus, kept in speed_kept(typical_s).items()} == {1: 100, 2: 101, 4: 78, 8: 48}


def test_the_request_of_a_run_is_what_its_record_holds() -> None:
    for job in JOBS:
        request, run = job.record["request"], job.record
        assert int(request["--gpus-per-node"]) * int(request["--nodes"]) == run["gpus_allocated"]
        assert int(request["--ntasks-per-node"]) * int(request["--nodes"]) == run["ntasks"]
