"""Trials of `kaiku trial`, from the scripts that it writes through the ingest to the curve on the page of the work."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from analysis.selectors import comparable_runs
from cli.trial_scripts import trial, work_name
from cli.trial_sizes import size_of
from jobs.models import Job, User
from portal.api.hints import hints_of
from tests.cli.asking import SCRIPT
from tests.payloads import gpu, record, summary
from tests.tokens import create_collector_token
from wire.sbatch.reading import read_script
from wire.sbatch.sharing import shared

pytestmark = pytest.mark.django_db

WHOLE = read_script(SCRIPT.read_bytes())
GPUS = (1, 2, 4, 8)


def sent(client: Client, path: str, document: Any, secret: str) -> None:
    answer = client.post(
        f"/api/v1/ingest/{path}", json.dumps(document), content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )  # fmt: skip
    assert answer.json() == {"accepted": len(document), "duplicate": 0, "rejected": []}


def runs_sent(client: Client, runs: list[tuple[int, bytes, float, str, float]]) -> None:
    """(Job, script, run time, state, use of each GPU) as the record and the summary of a node that Slurm's would be."""
    secret = create_collector_token("nodes", "lumi")
    records, summaries = [], []
    for job_id, script, run_s, state, util in runs:
        (part,) = shared(read_script(script))
        gpus = int(part.options["--gpus-per-node"])
        ended = timezone.now() - timedelta(hours=100 - job_id)
        counts = {"gpus_requested": gpus, "gpus_allocated": gpus, "gpus_per_node": gpus, "ntasks": gpus}
        times = {"started_at": (ended - timedelta(seconds=run_s)).isoformat(), "ended_at": ended.isoformat()}
        records.append(
            record(
                job_id=job_id, job_name=part.job_name, state=state, request=part.options, walltime_used_s=run_s,
                cpus_allocated=7 * gpus, memory_requested_gb=60.0 * gpus, **counts, **times,
            )
        )  # fmt: skip
        summaries.append(summary(job_id=job_id, gpus=[gpu(index, util) for index in range(gpus)], **times))
    sent(client, "job-records", records, secret)
    sent(client, "node-summaries", summaries, secret)
    call_command("analyse_job", "--due", verbosity=0)


def script_of(gpus: int) -> bytes:
    options = WHOLE.components[0].options
    name = work_name(options["job-name"])
    return trial(WHOLE, {}, size_of(options), gpus, name=name, time_limit="00:10:00", node_gpus=8).content


def page_of(client: Client) -> tuple[Any, str]:
    answer = client.get(f"/work/{Job.objects.values_list('work_key', flat=True).distinct().get()}/")
    return answer.context, re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode()))


def test_trials_that_end_by_themselves_become_the_curve_and_the_request(cast, client: Client) -> None:
    whole = SCRIPT.read_bytes()
    times_s = (560.0, 300.0, 200.0, 175.0)
    runs_sent(
        client,
        [
            (1, whole, 36_000.0, "COMPLETED", 30.0),
            *((2 + at, script_of(gpus), times_s[at], "COMPLETED", 80.0) for at, gpus in enumerate(GPUS)),
            (9, whole, 37_000.0, "COMPLETED", 30.0),
        ],
    )
    shown, page = page_of(cast("alice"))
    # 560 / (2 x 300) = 0.933; 560 / (4 x 200) = 0.7, the target itself; 560 / (8 x 175) = 0.4
    assert [(count.gpus, count.typical_s) for count in shown["scaled"].counts] == list(zip(GPUS, times_s, strict=True))
    assert [round(count.efficiency_fraction, 3) for count in shown["scaled"].counts] == [1.0, 0.933, 0.7, 0.4]
    assert shown["scaled"].knee.gpus == 4
    assert tuple(line.text.removeprefix("#SBATCH ") for line in shown["trial_request"]) == (
        *("--partition=small-g", "--nodes=1", "--gpus-per-node=4", "--ntasks-per-node=4", "--cpus-per-task=7"),
        "--mem=240G",
    )
    assert "Measured by trials of kaiku trial" in page
    assert "--gpus-per-node=4" in page
    # The whole runs are judged by each other: the trials of minutes neither shorten nor speed them up.
    assert [run.elapsed_s for run in comparable_runs(Job.objects.get(job_id=9))] == [36_000.0]
    # A trial is judged by the trials before it: here those of five minutes or more, 300 and 560 s.
    assert [run.gpus for run in comparable_runs(Job.objects.get(job_id=5))] == [2, 1]


def test_trials_that_reach_their_limit_show_use_and_are_no_failures(cast, client: Client) -> None:
    use = (92.0, 90.0, 71.0, 38.0)
    runs_sent(client, [(1 + at, script_of(gpus), 610.0, "TIMEOUT", use[at]) for at, gpus in enumerate(GPUS)])
    shown, page = page_of(cast("alice"))
    assert (shown["scaled"].counts, shown["failures"].of.failed) == ((), 0)
    assert hints_of(User.objects.get(username="alice"), 90) == []
    said = "show GPU use, but no run time: 1 GPU 92.0 %, 2 GPUs 90.0 %, 4 GPUs 71.0 %, 8 GPUs 38.0 %."
    assert said in page.replace("\u00a0", " ")
