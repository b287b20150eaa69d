"""One work, one request: every page, call and command names the same number of GPUs for it, or says what it is of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import WHOLE_REQUEST

pytestmark = pytest.mark.django_db

HOUR_S = 3600.0
REQUEST = {"--partition": "small-g", "--nodes": "1"} | WHOLE_REQUEST


def ran(job_id: int, days_ago: float, busy: int, hours: float = 2.0, cores: float | None = None, **record: Any) -> None:
    """A run of `solve` on eight GPUs of which so many were used, measured and judged."""
    ended = timezone.now() - timedelta(days=days_ago)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=hours)).isoformat()}
    more = {"request": REQUEST, "walltime_used_s": hours * HOUR_S, "partition": "small-g"} | record
    record_job(job_record(job_id=job_id, job_name=f"solve_v{job_id}", **times, **more))
    lasted = {"measured_s": hours * HOUR_S, "samples": int(hours * HOUR_S)}
    idle = {"peak_mem_gb": 0.3, "active_s": 0.0, "idle_s": hours * HOUR_S}
    used = {"active_s": hours * HOUR_S, "idle_s": 0.0}
    gpus = [gpu(at, 88.0 if at < busy else 0.0, **lasted, **(used if at < busy else idle)) for at in range(8)]
    host = {
        # Without a GPU the cores do the work.
        **{"cores_allocated": 56, "busy_cores_avg": cores or (busy - 0.1 if busy else 50.0), "ranks": busy or 8},
        **{"peak_memory_gb": 40.0, "idle_fraction": 0.8},
    }
    record_node_summary(node_payload(gpus=gpus, cpu=host, job_id=job_id))
    call_command("analyse_job", "--due", verbosity=0)


def key() -> str:
    return Job.objects.exclude(work_key="").values_list("work_key", flat=True).distinct().get()


def gpus_in(lines: list[str]) -> list[str]:
    """The numbers of GPUs that lines of a request come to."""
    after = (line.rpartition(" -> ")[2] for line in lines)
    return [line.rpartition("=")[2] for line in after if "--gpus-per-node=" in line]


def checked(client: Client, options: dict[str, str]) -> dict[str, Any]:
    sent = {"schema": "check-request/1", "components": [{"job_name": "solve_v9", "options": options}]}
    answer = client.post("/api/v1/check", json.dumps(sent), content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()["components"][0]


def said_by(client: Client) -> dict[str, list[str]]:
    """The number of GPUs that each door names for the work."""
    page = " ".join(re.sub(r"<[^>]+>", "", client.get(f"/work/{key()}/").content.decode()).split())
    work = client.get(f"/api/v1/works/{key()}/").json()
    (saving,) = client.get("/api/v1/insights/").json()["would_save"]
    (hint,) = client.get("/api/v1/hints/").json()["hints"]
    dashboard = client.get("/").context["to_do"].requests[0]
    suggested = checked(client, REQUEST)["suggestion"]
    return {
        "page": re.findall(r"#SBATCH --gpus-per-node=(\d)", page),
        "best_request": gpus_in(work["best_request"]["request"]),
        "advice": gpus_in(work["advice"]["diff"] + work["advice"]["request"]),
        "insights": gpus_in(saving["diff"] + saving["request"]),
        "hints": gpus_in(hint["lines"][1].split(", ")),
        "dashboard": gpus_in([line.text for line in dashboard.lines if line.sign == "+"]),
        "check": [each["recommended"] for each in suggested["changes"] if each["option"] == "--gpus-per-node"],
    }


@pytest.fixture
def alice(cast) -> Callable[[], Client]:
    return cast("alice")


def test_two_kinds_of_runs_have_one_request_that_suits_both(alice) -> None:
    """The latest used two of eight GPUs, the one before it four: the next may need four."""
    ran(1, 3, busy=4)
    ran(2, 2, busy=4)
    ran(3, 1, busy=2)
    said = said_by(alice)
    assert list(said.values()) == [["4"]] * 7, said
    (saving,) = alice.get("/api/v1/insights/").json()["would_save"]
    # Two hours of 8 GPUs are 8 GPU-hours, of 4 GPUs 4: 4 less in each of the runs, whatever its report says.
    assert saving["gpu_hours"] == pytest.approx(12.0)
    assert (
        saving["text"].replace("\u00a0", " ").endswith(": 3 runs would have used 12.0 GPU-hours less with these lines.")
    )
    assert saving["reason"].replace("\u00a0", " ") == (
        "From job 2 on 8 GPUs: of the last 3 completed runs of this size none needed more GPUs."
    )
    (hint,) = alice.get("/api/v1/hints/").json()["hints"]
    assert hint["lines"][0] == ("Kaiku, last 90 days: 3 runs of this work would have used 12.0 GPU-hours less with:")
    best = alice.get(f"/api/v1/works/{key()}/").json()["best_request"]
    assert best["text"].replace("\u00a0", " ") == (
        "From job 2 on 8 GPUs: of the last 3 completed runs of this size none needed more GPUs."
        " The changes that its report suggests are included: 4.00 GPU-hours instead of 8.00."
        " Runs of this size were billed 8.00 GPU-hours each (median of 3 completed runs)."
    )


def test_a_work_whose_runs_use_no_gpu_has_one_line_at_sbatch(alice) -> None:
    """Three runs of two hours on 8 GPUs are 3 x 8 GPU-hours. A later run that used its GPUs ends it."""
    for job_id in (1, 2, 3):
        ran(job_id, 5 - job_id, busy=0)
    (hint,) = alice.get("/api/v1/hints/?days=30").json()["hints"]
    assert hint["lines"] == [
        "Kaiku, last 30 days: none of 3 runs of this work used a GPU, 24.0 GPU-hours billed. See: kaiku check SCRIPT"
    ]
    assert (hint["worth_gpu_hours"], hint["gpus"], hint["gpus_lines"]) == (pytest.approx(24.0), 0, 1)
    ran(4, 1, busy=8)
    assert alice.get("/api/v1/hints/").json()["hints"] == []


def test_the_cores_are_those_of_the_run_that_kept_the_most_busy(alice) -> None:
    """17.4 busy cores and a fifth are 21: 11 for each of two tasks, billed as three GPUs; the latest alone needs 15."""
    ran(1, 3, busy=2, cores=17.4)
    ran(2, 1, busy=2, cores=12.5)
    work = alice.get(f"/api/v1/works/{key()}/").json()["best_request"]
    assert "--cpus-per-task=11" in work["request"]
    # Two hours of 22 cores are three GPUs of half a GPU-hour: 3.00 instead of 8.
    assert work["text"].replace("\u00a0", " ") == (
        "From job 2 on 8 GPUs: of the last 2 completed runs of this size none needed more GPUs."
        " The changes that its report suggests are included: 3.00 GPU-hours instead of 8.00."
        " Runs of this size were billed 8.00 GPU-hours each (median of 2 completed runs)."
    )
    suggested = checked(alice, REQUEST)["suggestion"]
    assert [each["recommended"] for each in suggested["changes"] if each["option"] == "--cpus-per-task"] == ["11"]
    assert "cores: 1.2 x the 17.4 that were busy in one of these runs" in suggested["reasons"][0]
    (saving,) = alice.get("/api/v1/insights/").json()["would_save"]
    assert any(line.endswith("--cpus-per-task=11") for line in saving["diff"])


def test_the_report_of_one_run_says_that_its_work_needs_another_number(alice) -> None:
    ran(1, 3, busy=4)
    ran(2, 2, busy=2)
    said = (
        "This is of this run alone: its work as a whole needs 4 GPUs (job 1; of the last 2 runs of that size none"
        " needed more)."
    )
    assert alice.get("/api/v1/jobs/latest/").json()["of_work"].replace("\u00a0", " ") == said
    assert said in " ".join(alice.get("/jobs/lumi/2/").content.decode().replace("\u00a0", " ").split())
    assert "of this run alone" not in alice.get("/jobs/lumi/1/").content.decode(), "it needed as many as its work"


def test_where_one_run_needed_all_gpus_nothing_is_suggested_anywhere(alice) -> None:
    ran(1, 2, busy=8)
    ran(2, 1, busy=2)
    work = alice.get(f"/api/v1/works/{key()}/").json()
    assert (gpus_in(work["best_request"]["request"]), work["advice"]) == (["8"], None)
    (saving,) = alice.get("/api/v1/insights/").json()["would_save"]
    assert (saving["diff"], saving["request"], saving["title"]) == ([], [], "")
    assert "so the request stays as it is" in saving["text"]
    assert alice.get("/api/v1/hints/").json()["hints"] == []
    assert alice.get("/").context["to_do"].requests == ()
    assert checked(alice, REQUEST)["suggestion"] is None


def test_the_check_of_another_size_says_what_the_work_suggests(alice) -> None:
    """Two hours on eight GPUs, all busy, are 8 GPU-hours; six hours on two are 6: the fewest."""
    ran(1, 2, busy=8)
    two = {"gpus_allocated": 2, "gpus_requested": 2, "gpus_per_node": 2, "ntasks": 2, "cpus_allocated": 14}
    small = REQUEST | {"--gpus-per-node": "2", "--ntasks-per-node": "2", "--mem": "120G", "--time": "08:00:00"}
    ended = timezone.now() - timedelta(days=1)
    times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=6)).isoformat()}
    more = {"memory_requested_gb": 120.0, "walltime_requested_s": 28_800, "walltime_used_s": 21_600, **two, **times}
    record_job(job_record(job_id=2, job_name="solve_v2", request=small, partition="small-g", **more))
    record_node_summary(node_payload(gpus=[gpu(0), gpu(1)], job_id=2))
    call_command("analyse_job", "--due", verbosity=0)
    assert gpus_in(alice.get(f"/api/v1/works/{key()}/").json()["best_request"]["request"]) == ["2"]
    assert checked(alice, REQUEST)["no_suggestion"].replace("\u00a0", " ") == (
        "Nothing is suggested: fewer than 3 runs of this size have completed, too few to show that the request fits."
        " The page of this work suggests 2 GPUs (from job 2), of all sizes that completed."
    )
    assert "The page of this work" not in checked(alice, small)["no_suggestion"]


def test_the_time_limit_is_never_shorter_than_the_runs(alice) -> None:
    """Ten hours within a day, then two within four: ten hours and a fifth are twelve."""
    ran(1, 3, busy=8, hours=10, request=REQUEST | {"--time": "1-00:00:00"}, walltime_requested_s=86_400)
    ran(2, 1, busy=8, hours=2, request=REQUEST | {"--time": "04:00:00"}, walltime_requested_s=14_400)
    best = alice.get(f"/api/v1/works/{key()}/").json()["best_request"]
    assert "--time=12:00:00" in best["request"]
    # Four GPU-hours an hour: 40 and 8, of which the median is 24.
    assert best["text"].replace("\u00a0", " ") == (
        "From job 2 on 8 GPUs: of the last 2 completed runs of this size none needed more GPUs."
        " Runs of this size were billed 24.0 GPU-hours each (median of 2 completed runs)."
        " The time limit is raised: one of these runs took 10 h 00 min."
    )
    page = " ".join(alice.get(f"/work/{key()}/").content.decode().split())
    assert "#SBATCH --time=12:00:00" in page
    assert "The time limit is raised" in page


def test_runs_without_any_gpu_use_are_said_first(alice) -> None:
    """Two hours of eight GPUs, twice: 16 GPU-hours for nothing."""
    ran(1, 2, busy=0)
    ran(2, 1, busy=0)
    found = alice.get("/api/v1/insights/").json()
    (unused,) = found["without_gpu_use"]
    assert next(iter(found)) == "period"
    assert list(found)[1] == "without_gpu_use"
    assert (unused["runs"], unused["of"], unused["is_over"]) == (2, 2, False)
    assert unused["gpu_hours"] == pytest.approx(16.0)
    assert unused["text"].replace("\u00a0", " ") == "None of the 2 runs used a GPU: 16.0 GPU-hours billed."
    assert "--partition=small" in unused["request"]
    assert found["sentences"][1].replace("\u00a0", " ") == "2 runs used no GPU at all: 16.0 GPU-hours billed."
    work = alice.get(f"/api/v1/works/{key()}/").json()
    assert work["without_gpu_use"]["text"] == unused["text"]
    assert "--partition=small" in work["best_request"]["request"]
    assert unused["text"] in alice.get(f"/work/{key()}/").content.decode()
    risk = checked(alice, REQUEST)["risks"][0]
    assert (risk["code"], risk["runs"], risk["of"]) == ("no_gpu_use", 2, 2)
    # A later run that used its GPUs ends it: there is nothing to request otherwise, and no risk.
    ran(3, 0.5, busy=8)
    (unused,) = alice.get("/api/v1/insights/").json()["without_gpu_use"]
    assert (unused["runs"], unused["of"], unused["is_over"], unused["request"]) == (2, 3, True, [])
    assert unused["text"].endswith("The latest run used its GPUs.")
    assert [each["code"] for each in checked(alice, REQUEST)["risks"]] == []
    assert alice.get(f"/api/v1/insights/?work={'0' * 32}").json()["without_gpu_use"] == []


def test_a_work_with_a_run_that_is_not_judged_has_an_answer(alice) -> None:
    record_job(job_record(job_id=1, job_name="solve_v1"))
    work = alice.get(f"/api/v1/works/{key()}/").json()
    assert (work["jobs"], work["gpu_hours"], work["classes"], work["best_request"]) == (1, None, {}, None)
