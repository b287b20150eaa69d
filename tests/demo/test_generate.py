"""Sample jobs: sound payloads, the same for the same seed, believable in number, names and time."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

from demo.generate import SampleJob, make_job, sample_jobs
from demo.library import ARCHETYPES
from demo.people import sample_people
from demo.schedule import HOSTILE_NAMES
from jobs.records import ENDED_STATES, RESOURCE_OPTIONS, JobRecord
from jobs.records import problems as record_problems
from jobs.work_key import work_key
from metrics.payloads import NodePayload
from metrics.payloads import problems as summary_problems

UNTIL = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
SEED = 2026


@pytest.fixture(scope="module")
def jobs() -> list[SampleJob]:
    return list(sample_jobs(seed=SEED, until=UNTIL))


def one(kind: str, seed: int = 1, **overrides: Any) -> SampleJob:
    return make_job(
        kind,
        job_id=123456,
        user="alice",
        project="project_465000001",
        ended_at=UNTIL,
        rng=np.random.default_rng(seed),
        **overrides,
    )


def mean_use(job: SampleJob) -> float:
    return float(np.mean([gpu["avg_util"] for summary in job.summaries for gpu in summary["gpus"]]))


def test_every_payload_decodes_from_json_and_is_sound(jobs: list[SampleJob]) -> None:
    for job in jobs:
        record, *summaries = json.loads(job.to_json())
        assert record_problems(msgspec.convert(record, JobRecord)) == []
        decoded = [msgspec.convert(summary, NodePayload, str_keys=True) for summary in summaries]
        assert [summary_problems(summary) for summary in decoded] == [[]] * len(decoded)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = (
        [job.to_json() for job in sample_jobs(seed=seed, jobs=60, until=UNTIL)] for seed in (SEED, SEED, SEED + 1)
    )
    assert first == again
    assert first != other


def test_there_are_enough_jobs_people_projects_and_days(jobs: list[SampleJob]) -> None:
    ended = [datetime.fromisoformat(job.record["ended_at"]) for job in jobs]
    assert len(jobs) == 320
    assert len({job.record["user_id"] for job in jobs}) == 15
    assert len({job.record["project_id"] for job in jobs}) == 5
    assert max(ended) <= UNTIL
    assert max(ended) - min(ended) >= timedelta(days=85)
    assert min(ended) >= UNTIL - timedelta(days=91)  # the first run of a bundle may end before the period begins


@pytest.mark.parametrize("count", [0, 1, 8, 50, 77])
def test_there_are_exactly_as_many_jobs_as_asked_for(count: int) -> None:
    assert len(list(sample_jobs(seed=SEED, jobs=count, until=UNTIL))) == count


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_kind_is_there_from_sixty_jobs_on(seed: int) -> None:
    assert {job.kind for job in sample_jobs(seed=seed, jobs=60, until=UNTIL)} == set(ARCHETYPES)


def test_runs_are_from_minutes_to_two_days_and_mostly_on_working_days(jobs: list[SampleJob]) -> None:
    started = [job for job in jobs if job.record["started_at"]]
    lengths_s = [job.record["walltime_used_s"] for job in started]
    assert min(lengths_s) < 5 * 60
    assert max(lengths_s) > 12 * 3600
    assert max(lengths_s) <= 48 * 3600
    weekend = sum(datetime.fromisoformat(job.record["ended_at"]).weekday() >= 5 for job in jobs)
    assert weekend / len(jobs) < 0.15  # two of seven days without habits would be 0.29


def test_a_run_is_counted_once(jobs: list[SampleJob]) -> None:
    keys = [(job.record["job_id"], job.record["attempt"]) for job in jobs]
    assert len(set(keys)) == len(keys)


def test_times_are_in_order_and_agree_with_the_run(jobs: list[SampleJob]) -> None:
    for job in jobs:
        submitted, ended = (datetime.fromisoformat(job.record[name]) for name in ("submitted_at", "ended_at"))
        started = datetime.fromisoformat(job.record["started_at"] or job.record["ended_at"])
        assert submitted < started <= ended
        assert (ended - started).total_seconds() == job.record["walltime_used_s"]


def test_what_was_asked_for_agrees_with_the_record(jobs: list[SampleJob]) -> None:
    for job in jobs:
        record, request = job.record, job.record["request"]
        per_node = {
            "--gpus-per-node": record["gpus_per_node"],
            "--gpus": record["gpus_requested"],
            "--gpus-per-task": 1,
        }
        gpu_options = [option for option in (*per_node, "--gres") if option in request]
        assert len(gpu_options) == 1
        option = gpu_options[0]
        asked = int(request[option].rpartition(":")[2])
        assert asked == (record["gpus_per_node"] if option == "--gres" else per_node[option])
        tasks = int(request.get("--ntasks", 0)) or int(request["--ntasks-per-node"]) * int(request["--nodes"])
        assert tasks == record["ntasks"]
        assert request.keys() <= RESOURCE_OPTIONS
        assert record["state"] in ENDED_STATES


def test_people_write_their_requests_in_many_spellings(jobs: list[SampleJob]) -> None:
    written = {f"{option}={value}" for job in jobs for option, value in job.record["request"].items()}
    assert {"--gpus=8", "--gpus-per-node=8", "--gres=gpu:8", "--gres=gpu:mi250:8", "--gpus-per-task=1"} <= written
    assert {"--mem=480G", "--mem-per-gpu=60G", "--ntasks=16", "--ntasks-per-node=8"} <= written


def test_hostile_names_are_among_the_job_names(jobs: list[SampleJob]) -> None:
    assert {job.record["job_name"] for job in jobs} >= set(HOSTILE_NAMES)


def test_the_summaries_belong_to_their_record(jobs: list[SampleJob]) -> None:
    for job in jobs:
        silent = ARCHETYPES[job.kind].silent_nodes
        assert [summary["node"] for summary in job.summaries] == job.record["nodes"][
            : len(job.record["nodes"]) - silent
        ]
        for summary in job.summaries:
            for name in ("cluster", "job_id", "attempt", "started_at", "ended_at"):
                assert summary[name] == job.record[name]
            assert len(summary["gpus"]) == job.record["gpus_per_node"]
            assert summary["cpu"]["cores_allocated"] * job.record["node_count"] == job.record["cpus_allocated"]
            assert summary["cpu"]["memory_limit_gb"] * job.record["node_count"] == job.record["memory_requested_gb"]


def test_both_runs_of_a_requeued_job_share_id_and_request_and_follow_each_other(jobs: list[SampleJob]) -> None:
    first, second = (job.record for job in jobs if job.kind.startswith("requeued"))
    assert (first["job_id"], first["attempt"], first["state"]) == (second["job_id"], 0, "NODE_FAIL")
    assert (second["attempt"], second["state"]) == (1, "COMPLETED")
    assert first["ended_at"] < second["submitted_at"]
    assert first["request"] == second["request"]


def test_the_tasks_of_an_array_share_all_but_their_number(jobs: list[SampleJob]) -> None:
    arrays = defaultdict(list)
    for job in jobs:
        if job.kind == "array_task":
            arrays[job.record["array_job_id"]].append(job.record)
    assert len(arrays) >= 1
    for array_job_id, tasks in arrays.items():
        assert [task["job_id"] for task in tasks] == [array_job_id + number for number in range(len(tasks))]
        assert [task["array_task_id"] for task in tasks] == list(range(len(tasks)))
        for one_task, next_task in pairwise(tasks):
            assert all(one_task[name] == next_task[name] for name in ("user_id", "job_name", "request"))


def test_jobs_over_many_nodes_are_few(jobs: list[SampleJob]) -> None:
    nodes = Counter(job.record["node_count"] for job in jobs)
    assert nodes[16] == 1
    assert nodes[4] >= 2
    assert sum(count for number, count in nodes.items() if number > 1) <= 32  # a tenth


@pytest.mark.parametrize("seed", [SEED, 1, 2])
def test_one_user_improves_and_one_declines(seed: int) -> None:
    people, made = sample_people(seed=seed), list(sample_jobs(seed=seed, until=UNTIL))
    for habit, sign in (("improving", 1), ("declining", -1)):
        (username,) = (person.username for person in people if person.habit == habit)
        means = [mean_use(job) for job in made if job.record["user_id"] == username]
        third = len(means) // 3
        assert sign * (np.mean(means[-third:]) - np.mean(means[:third])) > 20


def test_an_override_reaches_record_and_summaries() -> None:
    job = one("efficient_training", attempt=3, nodes=["nid007001"], job_name="mine")
    assert (job.record["attempt"], job.record["job_name"]) == (3, "mine")
    assert [(summary["attempt"], summary["node"]) for summary in job.summaries] == [(3, "nid007001")]


def test_the_records_carry_no_key_of_their_work_and_yet_many_are_found_to_be_of_the_same(jobs: list[SampleJob]) -> None:
    assert not any("key" in name for job in jobs for name in job.record)
    named = ("cluster", "user_id", "project_id", "job_name")
    keys = Counter(work_key(b"secret", *(job.record[name] for name in named)) for job in jobs)
    repeated = sum(count for key, count in keys.items() if key and count > 1)
    assert repeated / len(jobs) > 0.5


@pytest.mark.parametrize("overrides", [{"job_nam": "x"}, {"summaries": []}])
def test_an_unknown_field_is_refused(overrides: dict[str, Any]) -> None:
    with pytest.raises(KeyError, match="not in a job record"):
        one("efficient_training", **overrides)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        one("no_such_kind")


def test_a_naive_end_of_the_period_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        list(sample_jobs(seed=SEED, until=datetime(2026, 11, 20)))


def test_a_job_that_never_started_held_nothing_and_was_not_measured() -> None:
    job = one("never_started")
    assert (job.record["started_at"], job.record["nodes"], job.record["gpus_allocated"]) == (None, [], 0)
    assert job.summaries == []
