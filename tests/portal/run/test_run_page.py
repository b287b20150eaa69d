"""The page of one run: its curves on the time axis of its job, its status, files and costs, and that it can go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.experiments.models import Artifact, ExperimentRun, MetricSeries
from jobs.experiments.points import Point
from jobs.experiments.services.artifacts import StatedFile, keep_upload, state_files
from jobs.experiments.services.points import LoggedCall, log_calls
from jobs.experiments.services.runs import RunChange, StatedJob, change_run
from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import text
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run, settle_all

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Cast = Callable[[str], Client]


@pytest.fixture
def alice(cast: Cast) -> Client:
    return cast("alice")


def path_of(run: ExperimentRun, query: str = "") -> str:
    return f"/runs/{run.run_id}/{query}"


def first_x(line: object) -> float:
    return float(line.strokes[0].split(",", 1)[0])


def test_curves_and_gpu_use_have_the_axis_of_the_job(alice: Client, reported) -> None:
    """The job takes two hours; the run begins half an hour in, which is a quarter of the axis."""
    reported()
    run = log_run(experiment_of("alice"), began_at=BEGAN_AT + timedelta(minutes=30), metrics={"loss": [0.9, 0.5, 0.4]})
    found = alice.get(path_of(run)).context["timeline"]
    charts = [*found.metrics, found.use, found.memory]
    assert {chart.ticks for chart in charts} == {("0:00:00", "1:00:00", "2:00:00")}
    assert first_x(found.metrics[0].lines[0]) == 250.0
    # The run ends an hour in, after three points.
    assert found.use.edges == (250.0, 500.0)
    # 120 steps of a minute: the first one's middle is half a minute in; the mean of two at 88 % and six at 0 % is 22 %.
    assert first_x(found.use.lines[0]) == pytest.approx(1000 * 30 / 7200, abs=0.05)
    assert found.use.rows[3][1] == "22 %"
    assert found.memory.scale == ("64 GB", "32 GB", "0 GB")
    assert found.memory.rows[3][1:] == ("30 GB", "30 GB")


def test_the_run_alone_has_its_own_axis(alice: Client, reported) -> None:
    reported()
    run = log_run(experiment_of("alice"), began_at=BEGAN_AT + timedelta(minutes=30), metrics={"loss": [0.9, 0.5, 0.4]})
    found = alice.get(path_of(run, "?part=run")).context["timeline"]
    assert found.use.ticks == found.metrics[0].ticks == ("0:00:00", "0:15:00", "0:30:00")
    assert first_x(found.metrics[0].lines[0]) == 0.0


def test_findings_of_the_report_stand_above_the_use_with_links_to_them(alice: Client, reported) -> None:
    """Two of eight GPUs work: a mismatch over the whole run; and the time limit at its end."""
    reported(123456, state="TIMEOUT")
    run = log_run(experiment_of("alice"), reported=None)
    marks = alice.get(path_of(run)).context["timeline"].marks
    assert {mark.title: mark.words for mark in marks.listed}["The time limit ended the job"] == "at the end"
    whole = [mark for mark in marks.drawn if mark.width == 100.0]
    assert whole
    assert whole[0].x == 0.0
    last = next(mark for mark in marks.drawn if mark.is_late)
    assert last.x > 99.0
    assert all(mark.url.startswith("/jobs/lumi/123456/") and "#" in mark.url for mark in marks.listed)


def test_a_run_without_a_job_has_its_curves_alone(alice: Client) -> None:
    run = log_run(experiment_of("alice"), job=None)
    page = alice.get(path_of(run))
    found = page.context["timeline"]
    assert (found.use, found.memory, found.marks, len(found.metrics)) == (None, None, None, 1)
    assert "The script stated no job" in page.content.decode()


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETED", "TIMEOUT"])
def test_a_job_of_which_nothing_was_measured_is_said_to_be_so(alice: Client, state: str) -> None:
    record_job(job_record(state=state, **{"ended_at": None} if state == "RUNNING" else {}))
    run = log_run(experiment_of("alice"), reported=None)
    for part in ("all", "run"):
        page = alice.get(path_of(run, f"?part={part}"))
        found = page.context["timeline"]
        assert (found.use, found.memory, found.marks, len(found.metrics)) == (None, None, None, 1)
        assert "No GPU use of the job was measured, or it has not arrived yet." in page.content.decode()


def test_a_job_that_was_measured_is_drawn_beside_one_that_was_not(alice: Client, reported) -> None:
    """The first job, of two hours, was measured: 22 % as above; the second one, two hours later, was not."""
    reported(1)
    later = BEGAN_AT + timedelta(hours=4)
    record_job(job_record(job_id=2, started_at=later.isoformat(), ended_at=(later + timedelta(hours=1)).isoformat()))
    run = log_run(experiment_of("alice"), job=1, reported=None)
    point = Point("loss", 5000, int(later.timestamp() * 1000), 0.3)
    log_calls([LoggedCall(run.owner, run.run_id, later, [point], job=StatedJob(2, "lumi"))])
    settle_all()
    page = alice.get(path_of(run))
    assert [link.label for link in page.context["links"]] == ["lumi/1", "lumi/2"]
    assert page.context["timeline"].use.rows[1][1] == "22 %"


def test_a_resumed_run_has_the_use_of_both_jobs_with_a_gap_between(alice: Client, reported) -> None:
    """The second job, an hour after the first, lasts two hours as well: five hours in all."""
    reported(1)
    later = BEGAN_AT + timedelta(hours=3)
    reported(2, started_at=later.isoformat(), ended_at=(later + timedelta(hours=2)).isoformat())
    run = log_run(experiment_of("alice"), job=1, reported=None)
    point = Point("loss", 5000, int((later + timedelta(hours=1)).timestamp() * 1000), 0.3)
    log_calls([LoggedCall(run.owner, run.run_id, later + timedelta(hours=1), [point], job=StatedJob(2, "lumi"))])
    change_run(run.owner, run.run_id, RunChange(), later + timedelta(hours=1))
    settle_all()
    page = alice.get(path_of(run))
    found = page.context["timeline"]
    assert found.metrics[0].ticks[2] == "5:00:00"
    assert [link.label for link in page.context["links"]] == ["lumi/1", "lumi/2"]
    assert found.use.edges == (400.0, 600.0)


def test_what_is_odd_or_left_out_is_said(alice: Client) -> None:
    run = log_run(experiment_of("alice"), job=None, metrics={"loss": [0.9, float("nan"), float("nan")]})
    ExperimentRun.objects.filter(pk=run.pk).update(points_dropped=1, points_thinned=2500, odd_times=3)
    MetricSeries.objects.filter(run=run).update(count=5000)
    page = alice.get(path_of(run))
    assert [sentence.split(" ", 2)[:2] for sentence in page.context["remarks"]] == [
        ["1", "point"],
        ["2,500", "points"],
        ["3", "points"],
        ["Of", "loss"],
        ["loss", "is"],
    ]
    assert page.context["remarks"][-1] == "loss is NaN since step 100."
    chart = page.context["timeline"].metrics[0]
    assert chart.note == "NaN since step 100"
    # The run lasts thirty minutes, and the second point is ten minutes in.
    assert chart.events == (333.3,)


def test_a_run_that_began_after_its_job_is_said_to_have(alice: Client, reported) -> None:
    """Its job ends at 12:00; the run is from 13:00 to 13:30."""
    reported()
    run = log_run(experiment_of("alice"), began_at=BEGAN_AT + timedelta(hours=3), metrics={"loss": [0.9, 0.5, 0.4]})
    page = alice.get(path_of(run))
    assert "the run began after this job ended" in page.content.decode()
    assert page.context["run"].ended_at == BEGAN_AT + timedelta(hours=3, minutes=30)
    # 200 steps in 20 minutes, of which no GPU of the job is a part.
    assert page.context["progress"].rates.steps.per_s == pytest.approx(1 / 6)
    assert page.context["progress"].gpus is None


def test_rates_are_of_points_that_were_logged_later(alice: Client, reported) -> None:
    """As in `log_run`, but started when all of it was over: 100 steps in 600 s on 8 GPUs."""
    reported()
    later = BEGAN_AT + timedelta(days=3)
    run = log_run(experiment_of("alice"), began_at=later, metrics={}, reported=None)
    first_ms = int(BEGAN_AT.timestamp() * 1000)
    points = [Point("loss", 100 * place, first_ms + 600_000 * place, 0.5) for place in range(12)]
    log_calls([LoggedCall(run.owner, run.run_id, later, points)])
    settle_all()
    page = alice.get(path_of(run))
    assert "began after" not in page.content.decode()
    assert (page.context["run"].started_at, page.context["seconds"]) == (BEGAN_AT, 7200)
    assert page.context["progress"].rates.steps.per_s == pytest.approx(1 / 6)
    assert page.context["progress"].rates.steps.per_gpu_s == pytest.approx(1 / 48)


def test_progress_and_what_a_value_cost(alice: Client, reported) -> None:
    """100 steps in 600 s on 8 GPUs, at 4 GPU-hours an hour: 150 steps a GPU-hour; 64 samples a step."""
    reported()
    run = log_run(experiment_of("alice"), params={"global_batch_size": "64"})
    page = alice.get(path_of(run, "?of=loss&target=0.7"))
    rates = page.context["progress"].rates
    assert rates.steps.per_s == pytest.approx(1 / 6)
    assert rates.steps.per_gpu_s == pytest.approx(1 / 48)
    assert rates.steps.per_gpu_hour == pytest.approx(150)
    assert rates.samples.per_s == pytest.approx(64 / 6)
    shown = " ".join(page.content.decode().split())
    for part in ("0.167", "0.0208", "<dd>150</dd>", "<dd>6.67</dd>", "<dd>10.7</dd>", "<dd>9,600</dd>"):
        assert part in shown, part
    # 0.7 is the seventh point: an hour in.
    assert "at step 600" in shown
    assert "4.00 GPU-hours" in shown


def test_gpu_hours_of_a_job_with_two_runs_at_once_are_nobody_s(alice: Client, reported) -> None:
    reported()
    run = log_run(experiment_of("alice"))
    log_run(experiment_of("alice"), "beside it")
    page = alice.get(path_of(run))
    assert page.context["progress"].is_shared
    assert page.context["progress"].rates.steps.per_gpu_hour is None
    assert "Other runs were in the job at the same time" in page.content.decode()
    # Its eight GPUs were not those of this run alone either.
    assert "per GPU, of" not in page.content.decode()
    words = " ".join(text(alice, path_of(run, "?of=loss&target=0.7")).split())
    assert "GPU-hours are not shown, as other runs were in the job at the same time" in words


def test_a_run_and_one_within_it_are_one_work(alice: Client, reported) -> None:
    """The outer run has the job to itself; of the inner ones the two that overlap share it."""
    reported()
    outer = log_run(experiment_of("alice"), "outer")
    inner = [
        log_run(
            experiment_of("alice"),
            f"{start}",
            metrics={"loss": [0.9, 0.5, 0.4]},
            began_at=BEGAN_AT + timedelta(minutes=start),
            parent=outer.run_id,
        )
        for start in (0, 40, 60)
    ]
    # Thirty minutes each: 0 to 30, 40 to 70 and 60 to 90.
    shared = [alice.get(path_of(run)).context["progress"].is_shared for run in (outer, *inner)]
    assert shared == [False, False, True, True]
    rates = alice.get(path_of(inner[0])).context["progress"].rates
    assert rates.steps.per_gpu_hour == pytest.approx(150)


def test_files_are_listed_by_their_paths_and_kept_text_can_be_read(alice: Client, cast: Cast) -> None:
    run = log_run(experiment_of("alice"), job=None)
    state_files(run.owner, run.run_id, [StatedFile("/scratch/model.pt", "checkpoint", 900, 2048)], BEGAN_AT)
    keep_upload(run.owner, run.run_id, "notes.txt", b"<b>warm\xe2\x80\xae up</b>", 20, BEGAN_AT)
    keep_upload(run.owner, run.run_id, "plot.png", b"\x89PNG\0", 5, BEGAN_AT)
    page = text(alice, path_of(run))
    for part in ("/scratch/model.pt", "checkpoint on shared storage", "2.0\xa0KB", "uploaded, not kept"):
        assert part in page, part
    files = {file.path: file.pk for file in Artifact.objects.all()}
    kept = text(alice, path_of(run, f"files/{files['notes.txt']}/"))
    assert "&lt;b&gt;warm� up&lt;/b&gt;" in kept
    for name in ("/scratch/model.pt", "plot.png"):
        assert alice.get(path_of(run, f"files/{files[name]}/")).status_code == 404
    other = log_run(experiment_of("alice"), "other", job=None)
    assert alice.get(path_of(other, f"files/{files['notes.txt']}/")).status_code == 404


def test_metrics_are_drawn_as_chosen_found_by_name_and_listed_in_pages(alice: Client) -> None:
    metrics = {f"m{number:02}": [1.0, 2.0] for number in range(30)} | {"loss": [3.0]}
    run = log_run(experiment_of("alice"), job=None, metrics=metrics)
    page = alice.get(path_of(run)).context
    assert page["drawn"] == ["loss", "m00"]
    assert (page["metrics"].paginator.count, len(page["metrics"])) == (31, 25)
    chosen = alice.get(path_of(run, "?metric=m07&metric=m08&metric=gone&find=M1")).context
    assert chosen["drawn"] == ["m07", "m08"]
    assert [row.name for row in chosen["metrics"]] == [f"m1{digit}" for digit in range(10)]
    assert chosen["hidden_drawn"] == ["m07", "m08"]
    many = "&".join(f"metric=m{number:02}" for number in range(20))
    assert len(alice.get(path_of(run, f"?{many}")).context["drawn"]) == 6


def test_an_open_run_updates_itself_and_an_ended_one_does_not(alice: Client) -> None:
    ended = log_run(experiment_of("alice"), "ended", job=None)
    running = log_run(experiment_of("alice"), "open", job=None, reported=None, began_at=timezone.now())
    assert running.status == "RUNNING"
    assert 'data-live="60"' in text(alice, path_of(running))
    assert "/js/live." in text(alice, path_of(running))
    assert 'data-live="0"' in text(alice, path_of(ended))
    assert "/js/live." not in text(alice, path_of(ended))


def test_an_owner_deletes_a_run_with_all_that_it_logged(alice: Client) -> None:
    run = log_run(experiment_of("alice"), job=None)
    assert "confirm that you are sure" in alice.post(path_of(run, "delete/"), follow=True).content.decode()
    answer = alice.post(path_of(run, "delete/"), {"is_sure": "on"})
    assert answer["Location"] == f"/experiments/{run.experiment_id}/"
    assert not ExperimentRun.objects.exists()
    assert not MetricSeries.objects.exists()
    assert alice.get(path_of(run)).status_code == 404


def test_many_metrics_texts_and_runs_within_cost_no_more_queries(alice: Client, reported) -> None:
    reported()
    run = log_run(experiment_of("alice"), params={"lr": "1"})
    log_run(experiment_of("alice"), "child", job=None, parent=run.run_id)
    few = queries(alice, run)
    log_run(
        experiment_of("alice"),
        "big",
        params={f"p{number}": "x" * 900 for number in range(400)},
        metrics={f"m{number}": [0.5, 0.4] for number in range(300)},
        began_at=BEGAN_AT + timedelta(hours=1),
    )
    big = ExperimentRun.objects.get(name="big")
    for number in range(30):
        log_run(experiment_of("alice"), f"child {number}", job=None, metrics={}, parent=big.run_id)
    assert queries(alice, big) == few
    page = alice.get(path_of(big))
    assert len(page.content) < 250_000
    assert (len(page.context["params"]), page.context["more_params"]) == (200, 200)
    assert (len(page.context["children"]), page.context["has_more_children"]) == (20, True)


def queries(client: Client, run: ExperimentRun) -> int:
    client.get(path_of(run))
    with CaptureQueriesContext(connection) as found:
        assert client.get(path_of(run)).status_code == 200
    return len(found)
