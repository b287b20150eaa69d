"""The page of one job."""

from __future__ import annotations

import random
import re
from datetime import timedelta

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.doors import ENDED_AT, by_accounting, hooks_payload
from tests.payloads import gpu, job_record, node_payload

PAGE, FIGURE = "/jobs/lumi/123456/", "/jobs/lumi/123456/figures/gpu_use.svg"


@pytest.mark.parametrize("path", [PAGE, FIGURE])
def test_strangers_team_mates_and_staff_find_nothing(cast, reported, path: str) -> None:
    reported()
    found = {name: cast(name).get(path).status_code for name in ("alice", "carol", "bob", "dave", "erin")}
    assert found == {"alice": 200, "carol": 200, "bob": 404, "dave": 404, "erin": 404}
    assert Client().get(path)["Location"] == f"/sign-in/?next={path}"


def test_a_job_that_is_not_there_looks_like_one_that_is_not_ours(cast, reported) -> None:
    reported()
    absent, foreign = cast("dave").get("/jobs/lumi/1/"), cast("dave").get(PAGE)
    assert (absent.status_code, absent.content) == (foreign.status_code, foreign.content)


def test_the_page_holds_the_report_and_its_downloads(cast, reported) -> None:
    reported()
    content = cast("alice").get(PAGE).content.decode()
    for said in (
        "22.0 %",
        "Only some of the GPUs were used",
        "- #SBATCH --gpus-per-node=8",
        "+ #SBATCH --gpus-per-node=2",
        "One rank",
    ):
        assert said in content
    for name in ("html", "md", "txt", "pdf", "json"):
        assert f"/api/v1/jobs/lumi/123456/report.{name}?attempt=0" in content
    for name in ("csv", "json"):
        assert f"/api/v1/jobs/lumi/123456/performance.{name}?attempt=0" in content
    assert [content.count(f">{name}</a>") for name in ("JSON", "JSON for models")] == [1, 1]
    for name in ("gpu_use", "gpu_memory", "gpu_heatmap"):
        assert f"/jobs/lumi/123456/figures/{name}.svg?attempt=0" in content


def test_a_figure_is_an_svg_image(cast, reported) -> None:
    reported()
    answer = cast("alice").get(FIGURE)
    assert answer["Content-Type"] == "image/svg+xml"
    assert set(answer["Cache-Control"].split(", ")) == {"private", "max-age=300"}
    assert b"<svg" in answer.content
    assert cast("alice").get(FIGURE.replace("gpu_use", "gpu_power")).status_code == 404


def test_a_figure_is_drawn_for_narrow_and_for_dark_screens_too(cast, reported) -> None:
    reported()
    client = cast("alice")
    plain, narrow, dark = (client.get(FIGURE + more).content for more in ("", "?size=narrow", "?scheme=dark"))
    assert len({plain, narrow, dark}) == 3
    assert client.get(f"{FIGURE}?size=huge&scheme=pink").content == plain
    page = client.get(PAGE).content.decode()
    assert page.count('<source media="(max-width: 46rem) and (prefers-color-scheme: dark)"') == 3


def test_whoever_chose_an_appearance_gets_the_figures_in_it(cast, reported) -> None:
    reported()
    client = cast("alice")
    User.objects.filter(username="alice").update(theme="dark")
    page = client.get(PAGE).content.decode()
    assert "prefers-color-scheme" not in page
    assert page.count("scheme=dark") == 6


def test_a_job_without_a_report_says_why(cast) -> None:
    client = cast("alice")
    record_job(job_record())
    assert b"The report is being made" in client.get(PAGE).content
    record_job(job_record(job_id=2, state="RUNNING", ended_at=None))
    assert b"Not ended yet" in client.get("/jobs/lumi/2/").content
    record_job(job_record(job_id=3, state="CANCELLED", started_at=None))
    assert b"Never started" in client.get("/jobs/lumi/3/").content
    assert client.get(FIGURE).status_code == 404


def test_attempts_can_be_told_apart(cast, reported) -> None:
    record_job(job_record(attempt=1, state="CANCELLED", started_at=None))
    reported()
    client = cast("alice")
    assert b"Never started" in client.get(PAGE).content
    assert b"Attempt 0: completed" in client.get(PAGE).content
    assert b"22.0 %" in client.get(f"{PAGE}?attempt=0").content


def test_a_hostile_name_is_text(cast, reported) -> None:
    reported(job_name='"><img src=x onerror=alert(1)>')
    content = cast("alice").get(PAGE).content.decode()
    assert "<img src=x" not in content


@pytest.mark.one_database
def test_the_page_costs_the_same_queries_for_one_node_and_for_fifty(cast, reported) -> None:
    reported(1)
    nodes = [f"nid{number:06d}" for number in range(50)]
    for node in nodes:
        record_node_summary(node_payload(job_id=2, node=node))
    reported(2, nodes=nodes, node_count=50, gpus_allocated=400)
    client, counts = cast("alice"), []
    for job_id in (1, 2):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/jobs/lumi/{job_id}/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_every_gpu_and_host_stands_in_a_table(cast, reported) -> None:
    reported()
    answer = cast("alice").get("/jobs/lumi/123456/")
    (node,) = answer.context["hardware"].nodes
    assert node.name == "nid005123"
    assert [(gpu["gpu_id"], gpu["avg_util"]) for gpu in node.gpus][5:] == [(7, 0.0), (0, 88.0), (1, 88.0)]
    page = answer.content.decode()
    assert page.count("14.2 of 64 GB") == 8
    assert "7.9 of 56" in page


def test_other_runs_of_the_same_work_stand_around_it_the_latest_first(cast, reported) -> None:
    for number, name in enumerate(["train_v1", "train_v2", "Train-2026-11-21.sh", "evaluate", "bash"], start=1):
        reported(number, job_name=name, ended_at=f"2026-11-2{number}T12:00:00Z", started_at="2026-11-20T10:00:00Z")
    client = cast("alice")
    shown = client.get("/jobs/lumi/1/").context["same_work"]
    assert [(each.run.job_id, each.is_this) for each in shown] == [(3, False), (2, False), (1, True)]
    page = client.get("/jobs/lumi/1/").content.decode()
    (work,) = set(re.findall(r'href="(/work/[0-9a-f]{32}/)"', page))
    assert [run.job_id for run in client.get(work).context["runs"]] == [3, 2, 1]
    assert client.get("/jobs/lumi/4/").context["same_work"] == []
    assert "/work/" not in client.get("/jobs/lumi/4/").content.decode()
    assert client.get("/jobs/lumi/5/").context["same_work"] == []


def test_runs_that_came_by_the_hooks_and_by_accounting_stand_beside_one_another(cast, reported) -> None:
    reported(1, **hooks_payload(1, "train_v1"))
    record_job(by_accounting(2, "train_v2", ended_at=ENDED_AT - timedelta(hours=5)))
    record_job(by_accounting(3, "train_v3", user="bob"))
    shown = cast("alice").get("/jobs/lumi/1/").context["same_work"]
    assert [(each.run.job_id, each.is_this) for each in shown] == [(1, True), (2, False)]


def test_the_time_in_the_queue_stands_among_the_jobs_times_by_either_door(cast, reported) -> None:
    reported(1, **hooks_payload(1, "train_v1"))
    record_job(by_accounting(2, "train_v2"))
    reported(3)
    call_command("analyse_job", "--due", verbosity=0)
    client = cast("alice")
    for job_id in (1, 2):
        assert (
            "Waited in the queue</button></dt><dd>15\u00a0min 00\u00a0s</dd>"
            in client.get(f"/jobs/lumi/{job_id}/").content.decode()
        )
    assert "Waited in the queue</abbr>" not in client.get("/jobs/lumi/3/").content.decode()


def test_what_another_run_asked_for_differently_is_told_and_what_is_not_known_is_not(cast, reported) -> None:
    reported(1, job_name="train_v1")
    reported(2, job_name="train_v2", gpus_allocated=2, walltime_requested_s=7200, ntasks=None, memory_requested_gb=60)
    page = cast("alice").get("/jobs/lumi/1/")
    (other,) = [each for each in page.context["same_work"] if not each.is_this]
    # Job 1 has 8 GPUs, 480 GB and three hours; how many tasks job 2 asked for is not known.
    assert other.changes == (
        "GPUs 2, here 8",
        "Memory 60.0 GB, here 480.0 GB",
        "Time limit 2 h 00 min, here 3 h 00 min",
    )
    assert "Time limit 2 h 00 min, here 3 h 00 min" in page.content.decode()


def test_each_figure_has_the_same_numbers_as_a_table_and_for_the_pointer(cast, reported) -> None:
    reported()
    answer = cast("alice").get(PAGE)
    page = answer.content.decode()
    assert list(answer.context["figures"]) == ["gpu_use", "gpu_memory", "gpu_heatmap"]
    for name in ("gpu_use", "gpu_memory", "gpu_heatmap"):
        assert f'data-readings="{name}-numbers"' in page
        assert f'<script id="{name}-numbers" type="application/json">' in page
    assert page.count("<summary>As a table") == 3
    # Two of eight GPUs at 88 %: 22.0 % in each of 24 rows.
    assert page.count("<td>22.0 %<td>0.0 %") == 24
    numbers = answer.context["figures"]["gpu_use"].numbers
    # 22.0 %, 0.0 % and 88.0 % in tenths: 6 times 36 and 4, nothing, 24 times 36 and 16.
    assert [course[:2] for course in numbers["courses"]] == ["64", "00", "og"]
    assert numbers["texts"][1] == "0:01:00"


def test_a_gap_is_told_and_not_filled(cast) -> None:
    record_job(job_record())
    timeline = {"step_s": 3600.0, "util": [88.0, None], "mem_gb": []}
    record_node_summary(node_payload(gpus=[gpu(0, timeline=timeline), gpu(1, timeline=timeline)]))
    call_command("analyse_job", "--due", verbosity=0)
    answer = cast("alice").get(PAGE)
    page = answer.content.decode()
    assert answer.context["figures"]["gpu_use"].numbers["courses"] == ("og--",) * 3
    assert '<th scope="row">1:00:00</th><td>not measured<td>' in page


def test_figures_whose_measurements_are_gone_leave_the_page_standing(cast, reported) -> None:
    reported()
    record_node_summary(node_payload(gpus=[gpu(0, timeline=None, peak_mem_gb=None)], sequence=2))
    answer = cast("alice").get(PAGE)
    assert answer.status_code == 200
    assert "As a table" not in answer.content.decode()


@pytest.mark.one_database
def test_the_page_of_1024_restless_gpus_weighs_less_than_250_kb_with_all_it_loads(cast) -> None:
    dice, nodes = random.Random(7), [f"nid{number:06d}" for number in range(128)]
    record_job(job_record(nodes=nodes, node_count=128, gpus_allocated=1024))
    for node in nodes:
        util = [[dice.uniform(0, 100) for _ in range(240)] for _ in range(8)]
        timelines = [{"step_s": 30.0, "util": values, "mem_gb": []} for values in util]
        gpus = [
            gpu(index, 50.0, timeline=line, peak_mem_gb=dice.uniform(1, 64)) for index, line in enumerate(timelines)
        ]
        record_node_summary(node_payload(node=node, gpus=gpus))
    call_command("analyse_job", "--due", verbosity=0)
    client = cast("alice")
    page = client.get(PAGE).content
    pictures = re.findall(r'<img src="(/jobs/[^"]+)"', page.decode())
    assert len(pictures) == 3
    weights = [len(page), *(len(client.get(path).content) for path in pictures)]
    for path in re.findall(r'(?:href|src)="/static/([^"]+)"', page.decode()):
        with open(finders.find(re.sub(r"\.[0-9a-f]{12}\.", ".", path)), "rb") as file:
            weights.append(len(file.read()))
    assert sum(weights) < 250_000, weights
