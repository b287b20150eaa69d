"""The page of one work: who may open it, what it shows, and what it costs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import AdviceOutcome, RecommendationRow
from jobs.models import Job
from jobs.services import record_job, share_job
from metrics.services import record_node_summary
from tests.analysis.outcomes.histories import SMALL, as_it_was_judged
from tests.payloads import gpu, job_record, node_payload
from tests.reports.builders import TWO_RANKS

pytestmark = pytest.mark.django_db

REQUEST = {"--gpus-per-node": "8", "--ntasks-per-node": "8", "--time": "03:00:00"}


def times(hours_ago: float, run_s: float) -> dict[str, object]:
    ended_at = timezone.now() - timedelta(hours=hours_ago)
    started_at = ended_at - timedelta(seconds=run_s)
    return {"started_at": started_at.isoformat(), "ended_at": ended_at.isoformat(), "walltime_used_s": run_s}


def page_of(client: Client, job_id: int = 123456, query: str = ""):
    return client.get(f"/work/{Job.objects.get(job_id=job_id).work_key}/{query}")


@pytest.fixture
def alone(reported) -> None:
    reported(**times(1, 7200))


@pytest.fixture
def studied(cast) -> None:
    """Two hours on 8 GPUs, twice; three hours on 4; a failure on 8; all of one work, and another work beside it."""
    on_four = {"gpus_allocated": 4, "gpus_requested": 4, "gpus_per_node": 4, "ntasks": 4, "cpus_allocated": 28}
    four = REQUEST | {"--gpus-per-node": "4", "--ntasks-per-node": "4"}
    record_job(job_record(job_id=1, job_name="train_v1", request=REQUEST, **times(50, 7200)))
    record_job(job_record(job_id=2, job_name="train_v2", request=REQUEST, **times(40, 7300)))
    record_job(job_record(job_id=3, job_name="train_v3", request=REQUEST, state="FAILED", **times(30, 600)))
    record_job(job_record(job_id=4, job_name="train_v4", request=four, **on_four, **times(20, 10800)))
    record_job(job_record(job_id=5, job_name="evaluate", request=REQUEST, **times(10, 7200)))


@pytest.mark.parametrize(
    ("name", "status"), [("alice", 200), ("carol", 200), ("bob", 404), ("dave", 404), ("erin", 404), ("grace", 404)]
)
def test_only_its_owner_and_the_pi_of_its_project_open_it(cast, alone, name: str, status: int) -> None:
    assert page_of(cast(name)).status_code == status


def test_who_is_not_signed_in_signs_in_first(alone) -> None:
    answer = page_of(Client())
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("key", ["0" * 32, "f" * 31, "F" * 32, ""])
def test_there_is_no_page_of_a_key_that_no_run_has(cast, alone, key: str) -> None:
    assert cast("alice").get(f"/work/{key}/").status_code == 404


def test_a_run_without_a_name_of_its_own_has_no_such_page(cast, reported) -> None:
    reported(job_name="bash")
    assert Job.objects.get().work_key == ""
    assert cast("alice").get("/work//").status_code == 404


def test_a_pi_reads_whose_work_it_is_and_never_your(cast, alone) -> None:
    seen, own = page_of(cast("carol")).content.decode(), page_of(cast("alice")).content.decode()
    assert "alice’s work" in seen
    assert "Replace alice’s #SBATCH lines with:" in seen
    assert "your" not in seen.partition("<main")[2].partition("</main")[0].lower()
    assert "Replace your #SBATCH lines with:" in own


def test_runs_of_one_work_are_counted_and_others_are_not(cast, studied) -> None:
    shown = page_of(cast("alice"), 1).context
    assert [run.job_id for run in shown["runs"]] == [4, 3, 2, 1]
    assert [(count.gpus, count.runs, count.typical_s) for count in shown["scaled"].counts] == [
        (4, 1, 10800.0),
        (8, 2, 7250.0),
    ]
    # Of 7,200 and 7,300 s 7,250. 4 x 10,800 s against 8 x 7,250 s: 74 % of the speed per GPU, above the target of 70 %.
    assert shown["scaled"].knee.gpus == 8
    assert shown["scaled"].counts[1].efficiency_fraction == pytest.approx(0.7448, abs=1e-4)
    assert (shown["scaled"].unfinished, shown["failures"].of.failed) == (1, 1)


def test_one_median_stands_everywhere_on_the_page(cast, reported) -> None:
    """Two runs on 8 GPUs, 2 h and 3 h: 2 h 30 min and, on four modules, 10 billed GPU-hours."""
    for job_id, hours in ((1, 2), (2, 3)):
        reported(job_id, request=REQUEST, **times(30 - job_id * 5, hours * 3600))
    shown = page_of(cast("alice"), 1).context
    (count,) = shown["scaled"].counts
    assert (count.typical_s, count.gpu_hours) == (9000.0, pytest.approx(10.0))
    assert shown["best"].best.gpu_hours == pytest.approx(10.0)


def test_runs_that_are_too_fast_for_their_gpus_did_different_work(cast, alone) -> None:
    """Two hours on 8 GPUs, five on one: 1 x 18,000 s against 8 x 1,000 s is 225 % of the speed per GPU."""
    one = {"gpus_allocated": 1, "gpus_requested": 1, "gpus_per_node": 1}
    record_job(job_record(job_id=5, request=REQUEST | {"--gpus-per-node": "1"}, **one, **times(30, 18_000)))
    Job.objects.filter(job_id=123456).update(walltime_used_s=1000)
    answer = page_of(cast("alice"))
    page = answer.content.decode()
    assert (answer.context["scaled"].knee, answer.context["scaled"].too_fast.gpus) == (None, 8)
    assert "These runs did different work" in page
    assert "225\u00a0% as fast as 1 GPU." in page
    assert "still scale" not in page
    assert [chart.key for chart in answer.context["scale_charts"]] == ["scale-time"]


def test_the_legend_of_a_chart_is_drawn_like_what_it_names(cast, studied) -> None:
    """The target is a dashed line, the spread of runs a thin bar; only columns have squares."""
    legends = re.findall(r'<ul class="legend">.*?</ul>', page_of(cast("alice"), 1).content.decode(), re.DOTALL)
    run_time, efficiency = ([" ".join(item.split()) for item in legend.split("</li>")] for legend in legends[:2])
    square = '<rect width="12" height="12" rx="2"/>'
    median, spread = run_time[:2]
    assert "Median" in median
    assert square in median
    assert "Fastest to slowest" in spread
    assert '<rect x="5" width="2" height="12"/>' in spread
    target = next(item for item in efficiency if "Target" in item)
    assert '<line class="guide"' in target
    assert "<rect" not in target


def test_runs_that_differ_in_time_and_spelling_are_said_to_count_as_one_request(cast, reported) -> None:
    written = ({"--mem": "480G", "--time": "04:00:00"}, {"--mem-per-gpu": "60G", "--time": "12:00:00"})
    for job_id, options in enumerate(written, start=1):
        limit_s = 14_400 * (3 if job_id == 2 else 1)
        more = {"memory_requested_gb": 480.0, "walltime_requested_s": limit_s, "request": REQUEST | options}
        reported(job_id, **more, **times(30 - job_id * 5, 7200))
    answer = page_of(cast("alice"), 1)
    best, page = answer.context["best"], " ".join(answer.content.decode().split())
    assert (best.best.sizes, best.best.completed) == (1, 2)
    assert "Runs with the same kind of node, nodes and GPUs are of one size." in page


def test_what_changed_stands_beside_each_run_and_leads_to_the_comparison(cast, studied) -> None:
    answer = page_of(cast("alice"), 1)
    latest, failed, second, first = answer.context["page"].rows
    assert [(row.option, row.values) for row in latest.changes] == [
        ("--gpus-per-node", ("8", "4")),
        ("--ntasks-per-node", ("8", "4")),
    ]
    assert (failed.changes, second.changes) == ((), ())
    assert first.before is None
    assert "/compare/?job=lumi/4.0&amp;job=lumi/3.0" in answer.content.decode()


def test_the_best_request_is_the_whole_one_with_the_advice_made(cast, alone) -> None:
    """Two of eight GPUs at 88 %: the report suggests two, and no run has tried them."""
    best = page_of(cast("alice")).context["best"]
    lines = [line.text for line in best.lines]
    assert best.run.job_id == 123456
    assert best.changes
    assert any("gpus" in change and "2" in change for change in best.changes)
    assert "#SBATCH --gpus-per-node=2" in lines or "#SBATCH --gpus=2" in lines


def without_use(job_id: int, hours_ago: float) -> None:
    """A run of the same work, through the hook and Slurm's record, that leaves eight GPUs idle."""
    record_job(job_record(job_id=job_id, request=REQUEST, **times(hours_ago, 7200)))
    gpus = [gpu(index, 0.0, peak_mem_gb=0.0) for index in range(8)]
    record_node_summary(node_payload(gpus=gpus, cpu=TWO_RANKS, job_id=job_id))
    call_command("analyse_job", "--due", verbosity=0)


def test_where_the_latest_run_used_no_gpu_its_own_advice_is_linked_beside_the_best_request(cast, reported) -> None:
    """The dashboard offers a CPU partition for job 2; the page suggests two GPUs, as job 1 used them."""
    reported(1, **times(30, 7200))
    without_use(2, 20)
    answer = page_of(cast("alice"), 1)
    best, page = answer.context["best"], " ".join(answer.content.decode().split())
    assert (best.run.job_id, best.best.without_gpu_use, best.other.job_id) == (1, 1, 2)
    assert (
        'The latest completed run (<a href="/jobs/lumi/2/?attempt=0">2</a>) used no GPU: its own suggested request is'
        in page
    )
    without_use(3, 10)
    RecommendationRow.objects.filter(efficiency__job__job_id=3).delete()
    assert page_of(cast("alice"), 1).context["best"].other is None, "its report suggests nothing"
    reported(4, **times(5, 7200))
    best = page_of(cast("alice"), 1).context["best"]
    assert (best.best.without_gpu_use, best.other) == (2, None), "the latest run used its GPUs"


def test_advice_that_later_runs_tried_and_did_not_win_with_is_not_made(cast, alone, reported) -> None:
    two = {"gpus_allocated": 2, "gpus_requested": 2, "gpus_per_node": 2}
    record_job(
        job_record(
            job_id=9, state="OUT_OF_MEMORY", request=REQUEST | {"--gpus-per-node": "2"}, **two, **times(0.5, 400)
        )
    )
    answer = page_of(cast("alice"))
    best = answer.context["best"]
    assert (best.best.was_tried, best.changes) == (True, ())
    assert "runs on that many were tried" in answer.content.decode()


def test_one_number_of_gpus_claims_nothing_about_scaling(cast, alone) -> None:
    answer = page_of(cast("alice"))
    assert answer.context["scale_charts"] == []
    assert "All comparable runs had 8 GPUs" in answer.content.decode()
    assert "knee" not in answer.content.decode()


def test_what_became_of_advice_is_shown_run_by_run(cast, reported) -> None:
    """8 GPUs for two hours, advised 2; then 2 GPUs for two hours: 8 - 2 billed GPU-hours saved, as was claimed."""
    reported(1, **times(30, 7200))
    reported(2, **SMALL, **times(20, 7200))
    as_it_was_judged()
    answer = page_of(cast("alice"), 1)
    rows = {row.stored.kind: row for row in answer.context["outcomes"] if row.job.job_id == 1}
    assert rows["gpus"].result == "Followed by the one later run"
    assert rows["gpus"].suggested[0] == "8\u00a0GPUs → 2\u00a0GPUs"
    assert (rows["gpus"].claimed_gpu_hours, rows["gpus"].stored.realised_gpu_hours) == (6.0, 6.0)
    assert (answer.context["saved"].runs, answer.context["saved"].saved_gpu_hours) == (1, pytest.approx(6.0))
    page = answer.content.decode()
    assert "as suggested: GPUs, cores, memory" in page
    assert "22.0\u00a0% <small>→&nbsp;88.0\u00a0%</small>" in page


def test_the_page_of_a_job_shows_what_became_of_its_advice_to_who_sees_the_later_runs(cast, reported) -> None:
    reported(1, **times(30, 7200))
    reported(2, **SMALL, **times(20, 7200))
    as_it_was_judged()
    for name in ("alice", "carol"):
        page = cast(name).get("/jobs/lumi/1/").content.decode()
        assert "GPUs: Followed by the one later run. 6.00 GPU-hours saved; 6.00 were claimed." in page, name
    share_job(Job.objects.get(job_id=1), days=7, note="", now=timezone.now())
    shared = cast("erin").get("/jobs/lumi/1/")
    assert shared.status_code == 200
    assert "later run" not in shared.content.decode(), "the other run is not shared"


def test_advice_without_a_later_run_and_work_without_advice_say_so(cast, reported) -> None:
    reported(1, **times(30, 7200))
    as_it_was_judged()
    assert "No later run yet" in page_of(cast("alice"), 1).content.decode()
    AdviceOutcome.objects.all().delete()
    assert "No report of these runs suggested another request." in page_of(cast("alice"), 1).content.decode()


def test_runs_older_than_the_window_are_left_out_and_a_page_without_runs_says_so(cast, alone) -> None:
    Job.objects.update(ended_at=datetime(2020, 1, 1, tzinfo=UTC))
    answer = page_of(cast("alice"))
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "No run ended in the last 365 days" in page
    assert f'href="/jobs/?work={Job.objects.get().work_key}"' in page, "the older runs of this work alone"


def test_very_many_runs_come_page_by_page_at_the_same_number_of_queries(cast, alone) -> None:
    client, first = cast("alice"), Job.objects.select_related("user").get()
    page_of(client)
    with CaptureQueriesContext(connection) as few:
        page_of(client)
    copies = []
    for number in range(60):
        copy = Job.objects.get(pk=first.pk)
        copy.pk, copy.job_id = None, 200_000 + number
        copy.ended_at = first.ended_at - timedelta(minutes=number + 1)
        copies.append(copy)
    Job.objects.bulk_create(copies)
    with CaptureQueriesContext(connection) as many:
        answer = page_of(client)
    assert len(many) == len(few)
    assert [row.run.job_id for row in answer.context["page"].rows] == [123456, *range(200_000, 200_024)]
    last = page_of(client, query="?page=3").context["page"].rows
    assert [row.run.job_id for row in last] == [*range(200_049, 200_060)]
    assert last[-1].before is None
    assert page_of(client, query="?page=nonsense").context["page"].pages.number == 1
    assert page_of(client, query="?page=99").context["page"].pages.number == 3


def test_a_hostile_name_is_text(cast, reported) -> None:
    reported(job_name="<script>alert(1)</script>", **times(1, 7200))
    answer = page_of(cast("alice")).content.decode()
    assert "<script>alert(1)" not in answer
    assert "&lt;script&gt;alert(1)" in answer


def test_runs_that_only_their_owner_reported_are_named(cast, alone) -> None:
    Job.objects.update(is_told_by_owner=True)
    assert "known only from your own measurements" in page_of(cast("alice")).content.decode()
    assert "known only from alice’s own measurements" in page_of(cast("carol")).content.decode()


def test_a_request_that_no_run_had_is_suggested_and_not_best_known(cast, alone) -> None:
    """The one run had eight GPUs, its report suggests two."""
    page = " ".join(page_of(cast("alice")).content.decode().split())
    assert '<h2 id="best">Suggested request</h2>' in page
    assert "Best known request" not in page
    assert "suggests, and no run has tried:" in page
    assert "Replace your #SBATCH lines with:" in page
    part = page[page.index('id="best"') :]
    assert "+ #SBATCH" not in part[: part.index("</section>")]


def test_a_request_that_a_run_had_is_the_best_known_one(cast, alone) -> None:
    RecommendationRow.objects.all().delete()
    page = page_of(cast("carol")).content.decode()
    assert '<h2 id="best">Best known request</h2>' in page
    assert "Replace alice’s #SBATCH lines with:" in page
