"""A check of what does not fit or is not known: limits of partitions, projects, partitions, names, allocations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from jobs.models import Project, ProjectAllocation
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.portal.api.test_check import OPTIONS, ask, checked
from tests.reports.builders import TWO_RANKS

pytestmark = pytest.mark.django_db


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.fixture
def ran(cast, reported) -> Callable[..., Client]:
    """alice after so many runs of `train` of two hours; of eight GPUs two were used."""

    def runs(count: int = 4, **more: Any) -> Client:
        for job_id in range(1, count + 1):
            ended = timezone.now() - timedelta(days=job_id)
            times = {"started_at": (ended - timedelta(hours=2)).isoformat(), "ended_at": ended.isoformat()}
            said = {"job_name": f"train_v{job_id}", "request": OPTIONS, "walltime_requested_s": 86_400} | more
            reported(job_id, **said, **times)
        return cast("alice")

    return runs


def one(client: Client, name: str = "train", **options: str) -> dict[str, Any]:
    named = {f"--{option.replace('_', '-')}": value for option, value in options.items()}
    return checked(client, {"job_name": name, "options": OPTIONS | named})["components"][0]


@pytest.mark.parametrize("limit", ["UNLIMITED", "INFINITE", "0", "-1", "5-00:00:00", "600000"])
def test_a_limit_beyond_the_partition_is_refused_and_the_suggestion_is_not(ran, limit: str) -> None:
    found = one(ran(), time=limit)
    assert plain(found["refused"]) == "small-g allows at most 3 d 00 h."
    (time,) = [change for change in found["suggestion"]["changes"] if change["option"] == "--time"]
    # Two hours and a fifth are 2.4, so two and a half.
    assert time == {"option": "--time", "requested": limit, "recommended": "02:30:00"}
    assert [each["fits"] for each in found["partitions"]] == [False, False, False]


def test_without_earlier_runs_a_limit_is_cut_or_another_partition_named(ran) -> None:
    alice = ran()
    found = one(alice, "another", time="5-00:00:00")
    assert found["suggestion"]["changes"] == [
        {"option": "--time", "requested": "5-00:00:00", "recommended": "3-00:00:00"}
    ]
    assert found["suggestion"]["text"] == "The request as Slurm accepts it; it rests on no earlier run."
    assert [plain(text) for text in found["suggestion"]["reasons"]] == [
        "small-g allows at most 3 d 00 h: the time limit is cut to that."
    ]
    # Half a GPU-hour an hour for each of eight GPUs, for 72 hours.
    assert (found["suggestion"]["cost"]["at_limit"], found["no_suggestion"]) == (288.0, None)
    found = one(alice, "another", partition="dev-g")
    assert found["suggestion"]["changes"] == [{"option": "--partition", "requested": "dev-g", "recommended": "small-g"}]
    assert [plain(text) for text in found["suggestion"]["reasons"]] == [
        "dev-g allows at most 3 h 00 min; small-g accepts the suggested request."
    ]
    found = one(alice, "another", nodes="2000")
    assert (found["suggestion"], found["no_suggestion"]) == (
        None, "Slurm refuses this request, so nothing is suggested for it.",
    )  # fmt: skip


def test_a_request_that_names_a_partition_which_accepts_it_is_not_refused(ran) -> None:
    alice = ran()
    assert one(alice, "another", partition="standard-g,small-g", time="2-12:00:00")["refused"] is None
    found = one(alice, "another", partition="standard-g,dev-g", time="2-12:00:00")
    assert plain(found["refused"]) == "standard-g allows at most 2 d 00 h."


def test_the_project_in_which_the_work_ran_is_named(ran, cast) -> None:
    alice = ran()
    Project.objects.create(name="project_465000009")
    found = one(alice, account="project_465000009")
    assert (found["earlier_runs"], found["no_suggestion"]) == (
        None,
        "Nothing is suggested: no run of this name is known in project_465000009. Runs of this name exist in"
        " project_465000001.",
    )
    assert one(alice, account="PROJECT_465000001")["earlier_runs"]["n"] == 4
    # Nobody learns where somebody else's work ran.
    assert "project_465000001" not in one(cast("carol"), account="project_465000009")["no_suggestion"]


def test_a_partition_that_the_site_does_not_describe_is_named(ran) -> None:
    alice = ran()
    said = (
        "Nothing is suggested: partition gpu-big is not one of this site's GPU partitions that the portal knows:"
        " standard-g, small-g, dev-g."
    )
    assert one(alice, "another", partition="gpu-big")["no_suggestion"] == said
    of_the_work = " The page of this work suggests 2 GPUs (from job 1), of all sizes that completed."
    assert plain(one(alice, "train", partition="gpu-big")["no_suggestion"]) == said + of_the_work
    no_gpus = "Nothing is suggested: the partition has no GPUs."
    assert plain(one(alice, "train", partition="small")["no_suggestion"]) == no_gpus + of_the_work


def test_the_suggested_request_is_said_to_match_the_suggestion(ran) -> None:
    alice = ran()
    given = {change["option"]: change["recommended"] for change in one(alice)["suggestion"]["changes"]}
    options = {option.removeprefix("--").replace("-", "_"): value for option, value in given.items()}
    found = one(alice, **options)
    assert (found["suggestion"], found["risks"]) == (None, [])
    assert found["no_suggestion"].startswith("The request matches the suggestion from earlier runs on more GPUs.")
    # With one GPU it does not.
    assert one(alice, **options | {"gpus_per_node": "1", "ntasks_per_node": "1"})["no_suggestion"].startswith(
        "Nothing is suggested: no earlier run of this work had this number"
    )


def test_runs_of_which_none_completed_are_not_counted_as_none_of_no_gpus(ran) -> None:
    found = one(ran(2, state="FAILED"))
    assert (found["earlier_runs"]["n"], found["earlier_runs"]["text"]) == (2, "None of the earlier runs completed")


def test_more_than_the_project_has_left_is_a_risk(ran) -> None:
    alice = ran()
    project = Project.objects.get(name="project_465000001")
    row = ProjectAllocation.objects.create(
        source="csv", project=project, gpu_hours=1000, used_gpu_hours=900, read_at=timezone.now()
    )
    # A day of a node takes 96 of the 100 that are left.
    assert one(alice)["risks"] == []
    found = one(alice, time="1-02:00:00")
    assert [(risk["code"], plain(risk["text"])) for risk in found["risks"]] == [
        ("allocation", "At its limit the job takes 104.0 GPU-hours, and project_465000001 has 100.0 left.")
    ]
    row.used_gpu_hours = 1001
    row.save()
    assert plain(one(alice)["risks"][0]["text"]).endswith("has no GPU-hours left, as its directory states.")


def test_cores_that_are_billed_as_gpus_are_explained_with_the_rule(ran) -> None:
    """One GPU with 28 cores is billed as 28 / 8 = 3.5, so four GPUs: two GPU-hours an hour."""
    options = {"gpus_per_node": "1", "ntasks_per_node": "1", "cpus_per_task": "28", "mem": "60G", "time": "01:00:00"}
    cost = one(ran(), "another", **options)["cost"]
    assert cost["at_limit"] == 2.0
    assert plain(cost["text"]).endswith("; billed as 4 GPUs because of 28 cores (8 cores count as a GPU)")


def test_names_in_any_language_are_looked_up(ran) -> None:
    alice = ran(job_name="tr\u00e4ning/\u8a13\u7df4_v3")
    assert one(alice, "tr\u00e4ning/\u8a13\u7df4_v4")["earlier_runs"]["n"] == 4
    assert one(alice, "\u8a13\u7df4_v4")["earlier_runs"] is None


def test_reasons_name_the_job_that_they_are_about(ran) -> None:
    """The last of the four runs stands for them; the longest of all is about none of them alone."""
    size, time = one(ran())["suggestion"]["reasons"]
    assert size.startswith("Job 1: Only 2")
    assert time.startswith(("Job 1: The job ran for", "The longest of your last comparable runs"))


def test_runs_of_another_size_are_said_to_be_that(ran) -> None:
    alice = ran()
    assert plain(one(alice)["earlier_runs"]["text"]) == "4 runs: 2 of 8 GPUs, 80.2 GB, 2 h 00 min of 1 d 00 h"
    text = one(alice, gpus_per_node="4", ntasks_per_node="4")["earlier_runs"]["text"]
    assert plain(text) == "4 runs: 2 of 8 GPUs, 80.2 GB, 2 h 00 min of 1 d 00 h; none of this size"


def test_a_name_with_control_characters_is_refused_and_invisible_ones_count_as_in_accounting(ran) -> None:
    alice = ran(job_name="tr\u200bain")
    sent = {"schema": "check-request/1", "components": [{"job_name": "a\x1bb", "options": {}}]}
    answer = ask(alice, sent)
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [{"path": "$.components[0].job_name", "message": "must be at most 256 characters without control characters"}],
    )
    assert one(alice, "tr\u200bain")["earlier_runs"]["n"] == 4


def test_a_work_without_gpu_use_keeps_its_time_limit(cast) -> None:
    """Two runs are too few to show how long one takes: the limit stays, in the options of the other partition too."""
    for job_id in (1, 2):
        record_job(job_record(job_id=job_id, job_name="prepare", request=OPTIONS))
        gpus = [gpu(index, 0.0, peak_mem_gb=0.4) for index in range(8)]
        record_node_summary(node_payload(gpus=gpus, cpu=TWO_RANKS, job_id=job_id))
    call_command("analyse_job", "--due", verbosity=0)
    given = one(cast("alice"), "prepare")["suggestion"]
    assert given["changes"] == []
    assert {"--partition=small", "--time=1-00:00:00"} <= set(given["request"])


def test_no_limit_is_suggested_that_would_end_every_run(ran) -> None:
    """Runs of five hours on a partition that allows three: the risk is stated, not a limit that ends the job too."""
    times = {"walltime_used_s": 18_000.0, "walltime_requested_s": 36_000}
    alice = ran(**times)
    found = one(alice, partition="dev-g", time="01:00:00")
    changed = {change["option"] for change in (found["suggestion"] or {"changes": []})["changes"]}
    assert "--time" not in changed
    assert plain(found["risks"][0]["text"]).startswith("4 of the last 4 runs of this size took longer than 1 h 00 min")


def test_elsewhere_counts_with_the_run_time_that_the_suggestion_states(cast) -> None:
    """Eight GPUs took two hours, two took three in the person's own runs: those are billed 3 GPU-hours."""
    two = {"gpus_allocated": 2, "gpus_requested": 2, "gpus_per_node": 2, "ntasks": 2, "cpus_allocated": 14}
    small = OPTIONS | {"--gpus-per-node": "2", "--ntasks-per-node": "2", "--mem": "120G"}
    more = {"memory_requested_gb": 120.0, "request": small, "partition": "small-g"}
    for job_id in range(1, 9):
        hours, gpus = (2, 8) if job_id <= 4 else (3, 2)
        ended = timezone.now() - timedelta(days=job_id)
        times = {"started_at": (ended - timedelta(hours=hours)).isoformat(), "ended_at": ended.isoformat()}
        said = {"request": OPTIONS, "walltime_used_s": hours * 3600.0} | times | ({} if gpus == 8 else two | more)
        record_job(job_record(job_id=job_id, job_name=f"train_v{job_id}", **said))
        use = 34.0 if gpus == 8 else 90.0
        seen = node_payload(gpus=[gpu(index, use) for index in range(gpus)], cpu=TWO_RANKS, job_id=job_id)
        record_node_summary(seen)
    call_command("analyse_job", "--due", verbosity=0)
    asked = {"job_name": "train", "options": OPTIONS | {"--partition": "small-g"}}
    found = checked(cast("alice"), asked, elsewhere=True)["components"][0]
    here = {each["platform"]: each for each in found["elsewhere"]}["small-g"]
    assert found["suggestion"]["cost"]["typical"] == here["right_sized"]["cost"] == 3.0
    assert (here["as_is"]["cost"], here["as_is"]["run_time_s"], here["right_sized"]["run_time_s"]) == (
        8.0,
        7200,
        10_800,
    )
