"""The page of one experiment: its table in pages, its files, and the forms of its owner."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.experiments.models import Experiment, ExperimentRun, MetricSeries
from jobs.experiments.points import Point
from jobs.experiments.services.points import LoggedCall, log_calls
from jobs.experiments.status import Reported, Status
from portal.pages.experiments.rows import PAGE_SIZE
from tests.portal.conftest import text
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

Cast = Callable[[str], Client]
HOSTILE = "<script>alert(1)</script>\u202e\"'`{{ 7 }}"
FALLING = (0.9, 0.5, 0.7)


@pytest.fixture
def alice(cast: Cast) -> Client:
    return cast("alice")


def test_columns_are_those_that_differ_until_others_are_chosen(alice: Client, runs: dict[str, ExperimentRun]) -> None:
    path = f"/experiments/{runs['a'].experiment_id}/"
    rows = alice.get(path).context["page"].rows
    assert [row.cells for row in rows] == [["1e-3", "–", "–"], ["9", "vit", "0.4"], ["10", "vit", "0.7"]]
    rows = alice.get(f"{path}?columns=chosen&show_metric=loss&value=least").context["page"].rows
    assert [row.cells for row in rows] == [["–"], ["0.1"], ["0.5"]]


def test_the_status_says_who_reported_it(alice: Client, reported) -> None:
    reported(123456, state="TIMEOUT")
    experiment = experiment_of("alice")
    log_run(experiment, "killed", reported=None)
    log_run(experiment, "silent", job=None, reported=None)
    log_run(experiment, "done", job=None)
    rows = alice.get(f"/experiments/{experiment.pk}/?sort=name").context["page"].rows
    assert [(row.label, row.shown.status.words, row.shown.status.by) for row in rows] == [
        ("done", "finished", "the script"),
        ("killed", "killed", "Slurm"),
        ("silent", "lost contact", ""),
    ]


def test_the_table_as_csv_and_json_has_the_same_runs_and_columns(alice: Client, reported) -> None:
    """The job of 8 GPUs is billed 8 GPU-hours for two hours; 1,100 steps in 6,600 s are 150 for each GPU-hour."""
    reported()
    experiment = experiment_of("alice")
    run = log_run(experiment, "=SUM(A1)", params={"lr": "0.1"})
    log_run(experiment, "other", job=None, metrics={"loss": [0.5, float("nan")]}, began_at=BEGAN_AT + timedelta(days=1))
    path = f"/experiments/{experiment.pk}/runs"
    answer = alice.get(f"{path}.csv?sort=started")
    assert answer.streaming
    first, second = csv.DictReader(io.StringIO(answer.getvalue().decode()))
    assert (first["run_id"], first["name"], first["status_by"]) == (run.run_id, "'=SUM(A1)", "script")
    assert (first["started_at"], first["seconds"]) == ("2026-11-20T10:00:00+00:00", "7200.0")
    assert (first["jobs"], first["gpu_hours"], first["gpus"]) == ("lumi/123456", "8.0", "8")
    assert float(first["progress_per_s"]) == pytest.approx(100 / 600)
    assert float(first["gpu_hours_per_1000"]) == pytest.approx(1000 / 150)
    assert first["config.lr"] == "0.1"
    assert float(first["metric.loss.last"]) == pytest.approx(0.45)
    assert (second["jobs"], second["gpu_hours"], second["config.lr"]) == ("", "", "")
    assert second["metric.loss.last"] == "NaN"
    found = json.loads(alice.get(f"{path}.json?sort=started&value=most").getvalue())
    assert [(row["name"], row["config"], row["metrics"]) for row in found] == [
        ("=SUM(A1)", {"lr": "0.1"}, {"loss": {"most": 1.0}}),
        ("other", {}, {"loss": {"most": 0.5}}),
    ]
    assert json.loads(alice.get(f"{path}.json?q=nothing").getvalue()) == []


def test_the_table_of_all_columns_has_every_column_of_the_others_by_the_same_names(alice: Client, reported) -> None:
    """8 GPU-hours; 1,100 steps in 6,600 s are 150 for each GPU-hour."""
    reported()
    experiment = experiment_of("alice")
    outer = log_run(experiment, "outer", params={"lr": "0.1"}, tags={"kind": "base"})
    ExperimentRun.objects.filter(pk=outer.pk).update(seed="7")
    log_run(
        experiment,
        "inner",
        job=None,
        metrics={"loss": [0.5, float("nan")]},
        began_at=BEGAN_AT + timedelta(days=1),
        parent=outer.run_id,
        reported=Reported.FAILED,
    )
    chosen = "columns=chosen&show_param=lr&show_tag=kind&show_metric=loss&value="
    tables = [f"/experiments/{experiment.pk}/runs.csv?{chosen}{value}" for value in ("last", "least", "most")]
    tables.append(f"/api/v1/experiments/{experiment.pk}/runs.csv")
    *some, every = (list(csv.DictReader(io.StringIO(alice.get(path).getvalue().decode()))) for path in tables)
    for rows in some:
        for row, whole in zip(rows, every, strict=True):
            assert row.items() <= whole.items() | {("seconds", row["seconds"])}
    inner, first = every
    assert (first["owner"], first["seed"], first["status_by"], first["reported"]) == (
        "alice",
        "7",
        "script",
        "FINISHED",
    )
    assert (first["jobs"], first["gpu_hours"], first["gpus"], first["seconds"]) == ("lumi/123456", "8.0", "8", "7200.0")
    assert (first["progress_unit"], first["tag.kind"], first["config.lr"]) == ("steps", "base", "0.1")
    assert float(first["gpu_hours_per_1000"]) == pytest.approx(1000 / 150)
    assert (first["metric.loss.most"], inner["parent_run_id"], inner["reported"]) == ("1.0", outer.run_id, "FAILED")
    assert (inner["metric.loss.last"], inner["metric.loss.least"], inner["gpu_hours"]) == ("NaN", "0.5", "")


def test_the_table_of_all_columns_has_no_gpu_figures_for_who_does_not_see_the_job(cast: Cast, reported) -> None:
    cast("alice")
    reported()
    experiment = experiment_of("alice", project="project_465000001", is_shared=True)
    log_run(experiment)
    (row,) = csv.DictReader(
        io.StringIO(cast("bob").get(f"/api/v1/experiments/{experiment.pk}/runs.csv").getvalue().decode())
    )
    assert [row[name] for name in ("gpu_hours", "gpus", "gpu_hours_per_1000")] == ["", "", ""]
    assert float(row["progress_per_s"]) == pytest.approx(100 / 600)


def test_seed_and_tags_are_columns(alice: Client, runs: dict[str, ExperimentRun]) -> None:
    path = f"/experiments/{runs['a'].experiment_id}/"
    assert not alice.get(path).context["has_seed"]
    ExperimentRun.objects.filter(pk=runs["a"].pk).update(seed="10", tags={"kind": "base", "mlflow.user": "x"})
    page = alice.get(path)
    assert [one.name for one in page.context["offered_tags"]] == ["kind"]
    # The seed is shown where any run has one, until columns are chosen.
    assert [row.cells[0] for row in page.context["page"].rows] == ["–", "–", "10"]
    page = alice.get(f"{path}?columns=chosen&show_tag=kind&show_seed=on")
    assert [row.cells for row in page.context["page"].rows] == [["–", "–"], ["–", "–"], ["10", "base"]]
    assert [row.cells for row in alice.get(f"{path}?columns=chosen").context["page"].rows] == [[], [], []]


def test_a_run_that_runs_has_lasted_until_now(alice: Client) -> None:
    experiment = experiment_of("alice")
    began_at = timezone.now() - timedelta(minutes=8)
    run = log_run(experiment, job=None, metrics={}, began_at=began_at, reported=None)
    (row,) = alice.get(f"/experiments/{experiment.pk}/").context["page"].rows
    assert row.shown.seconds == pytest.approx(480, abs=30)
    for path in (f"/experiments/{experiment.pk}/", f"/runs/{run.run_id}/"):
        assert "so far" in text(alice, path)


def test_what_no_sweep_sorted_yet_is_offered_sorted_and_narrowed_by(alice: Client) -> None:
    """Losses 0.4 and 0.2 of which 0.2 waits, and none."""
    experiment = experiment_of("alice")
    first = log_run(experiment, "first", job=None, metrics={"loss": [0.4]})
    second = log_run(experiment, "second", job=None, metrics={})
    log_run(experiment, "third", job=None, metrics={})
    for run, value in ((first, 0.1), (second, 0.2)):
        point = Point("loss", 500, int((BEGAN_AT + timedelta(hours=1)).timestamp() * 1000), value)
        log_calls([LoggedCall(run.owner, run.run_id, BEGAN_AT + timedelta(hours=1), [point])])
    path = f"/experiments/{experiment.pk}/"

    def names(query: str) -> list[str]:
        return [row.label for row in alice.get(f"{path}?{query}").context["page"].rows]

    page = alice.get(f"{path}?sort=-metric:loss")
    assert [row.cells for row in page.context["page"].rows] == [["0.2"], ["0.1"], ["–"]]
    assert names("sort=metric:loss") == ["first", "second", "third"]
    assert names("metric=loss&below=0.15") == ["first"]
    # Its stored last value is 0.4; it is 0.1 by now.
    assert names("metric=loss&above=0.15") == ["second"]
    chosen = alice.get(f"{path}compare/?run={second.run_id}").context
    assert chosen["metrics"] == [("loss", "loss")]


def test_throughput_by_number_of_gpus_counts_runs_that_had_their_job_to_themselves(alice: Client, reported) -> None:
    reported(1)
    reported(2, gpus_allocated=4, request={"--gpus-per-node": "4", "--time": "03:00:00"})
    reported(3)
    experiment = experiment_of("alice")
    log_run(experiment, "on eight", job=1)
    log_run(experiment, "on four", job=2)
    for name in ("together", "beside it"):
        log_run(experiment, name, job=3)
    sizes = alice.get(f"/experiments/{experiment.pk}/").context["sizes"]
    # 100 steps each ten minutes on both.
    assert [(size.gpus, size.runs) for size in sizes] == [(4, 1), (8, 1)]
    assert sizes[0].steps_per_gpu_s == pytest.approx(100 / 600 / 4)
    assert sizes[1].gpu_hours_per_1000 == pytest.approx(1000 / 150)


def test_hostile_names_are_shown_as_text(alice: Client) -> None:
    experiment = experiment_of("alice", HOSTILE)
    run = log_run(
        experiment, HOSTILE, job=None, params={HOSTILE: HOSTILE}, tags={HOSTILE: HOSTILE}, metrics={HOSTILE: FALLING}
    )
    second = log_run(experiment, "plain", job=None)
    for path in (
        "/experiments/",
        f"/experiments/{experiment.pk}/",
        f"/experiments/{experiment.pk}/compare/?run={run.run_id}&run={second.run_id}",
        f"/runs/{run.run_id}/",
    ):
        page = text(alice, path)
        assert "<script>alert" not in page, path
        # What a form sends back is exact; what is read has no marks that turn text around.
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", page), path
        assert "alert(1)" in page, path


def test_thousands_of_runs_and_a_thousand_metrics_cost_what_few_do(alice: Client) -> None:
    experiment = experiment_of("alice")
    first = log_run(experiment, "0", job=None, params={"lr": "1"})
    log_run(experiment, "1", job=None, params={"lr": "2"}, began_at=BEGAN_AT + timedelta(minutes=1))
    few = queries(alice, experiment)
    made = many_runs(experiment, 3000)
    columns = MetricSeries.objects.filter(run=first).values().get()
    of_last = [
        columns | {"id": None, "run_id": run.pk, "name": f"metric {name}"} for run in made[-2:] for name in range(999)
    ]
    MetricSeries.objects.bulk_create(MetricSeries(**row) for row in of_last)
    assert queries(alice, experiment) == few
    page = alice.get(f"/experiments/{experiment.pk}/?page=2")
    assert (page.context["page"].count, page.context["page"].pages) == (3002, 121)
    assert len(page.context["page"].rows) == PAGE_SIZE
    # With 60 offered parameters and metrics.
    assert len(page.content) < 60_000
    last = alice.get(f"/runs/{made[-1].run_id}/")
    assert last.context["metrics"].paginator.count == 999
    assert len(last.content) < 120_000


def many_runs(experiment: Experiment, count: int) -> list[ExperimentRun]:
    """Runs with fifty parameters each, a second apart."""
    times = dict.fromkeys(("reported_at", "created_at", "heard_at"), BEGAN_AT)
    return ExperimentRun.objects.bulk_create(
        ExperimentRun(
            run_id=f"{number:032x}",
            experiment=experiment,
            owner=experiment.owner,
            name=f"run {number}",
            params={f"p{name}": f"{number}" for name in range(50)},
            reported=Reported.FINISHED,
            status=Status.FINISHED,
            started_at=BEGAN_AT + timedelta(seconds=number),
            ended_at=BEGAN_AT + timedelta(hours=1),
            **times,
        )
        for number in range(count)
    )


def queries(client: Client, experiment: Experiment) -> int:
    path = f"/experiments/{experiment.pk}/"
    client.get(path)
    with CaptureQueriesContext(connection) as found:
        assert client.get(path).status_code == 200
    return len(found)


def test_an_owner_without_runs_reads_how_to_log(alice: Client) -> None:
    page = text(alice, "/experiments/")
    assert "Nothing was logged yet" in page
    for part in ("MLFLOW_TRACKING_URI=http://testserver/mlflow/j/$SLURM_JOB_ID", "MLFLOW_TRACKING_TOKEN"):
        assert part in page
    assert 'href="/settings/tokens/"' in page
    empty = experiment_of("alice")
    assert "This experiment has no runs" in text(alice, f"/experiments/{empty.pk}/")


def test_the_list_shows_number_and_status_of_the_last_run(alice: Client, runs: dict[str, ExperimentRun]) -> None:
    (one,) = alice.get("/experiments/").context["page"]
    assert (one.run_count, one.last_words, one.last_heard_at) == (3, "finished", BEGAN_AT + timedelta(hours=2))


# What its owner changes


def test_an_owner_renames_shares_and_deletes(alice: Client) -> None:
    run = log_run(experiment_of("alice"), job=None)
    experiment_of("alice", "taken")
    pk = run.experiment_id
    path = f"/experiments/{pk}/"
    assert "Not renamed" in alice.post(f"{path}rename/", {"name": "taken"}, follow=True).content.decode()
    assert "Not renamed" in alice.post(f"{path}rename/", {"name": " "}, follow=True).content.decode()
    alice.post(f"{path}rename/", {"name": "vit small"})
    alice.post(f"{path}share/", {"project": "project_465000001", "audience": "members"})
    found = Experiment.objects.get(pk=pk)
    assert (found.name, found.project and found.project.name, found.is_shared) == (
        "vit small",
        "project_465000001",
        True,
    )
    alice.post(f"{path}share/", {"project": "project_465000001", "audience": "pi"})
    assert not Experiment.objects.get(pk=pk).is_shared
    answer = alice.post(f"{path}share/", {"project": "project_of_others", "audience": "members"}, follow=True)
    assert "Nothing changed" in answer.content.decode()
    assert Experiment.objects.get(pk=pk).project is not None
    alice.post(f"{path}share/", {"project": "", "audience": "members"})
    assert Experiment.objects.get(pk=pk).project is None
    answer = alice.post(f"{path}share/", {"project": "", "audience": "members"}, follow=True)
    assert "Nothing changed: choose the project whose members see it." in answer.content.decode()
    assert "confirm that you are sure" in alice.post(f"{path}delete/", follow=True).content.decode()
    assert ExperimentRun.objects.count() == 1
    alice.post(f"{path}delete/", {"is_sure": "on"})
    assert not Experiment.objects.filter(pk=pk).exists()
    assert not ExperimentRun.objects.exists()
    assert not MetricSeries.objects.exists()
    assert alice.get(path).status_code == 404


def test_forms_need_their_token_and_a_get_changes_nothing(cast: Cast) -> None:
    run = log_run(experiment_of("alice"), job=None)
    client = cast("alice")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    for path in (f"/experiments/{run.experiment_id}/delete/", f"/runs/{run.run_id}/delete/"):
        assert strict.post(path, {"is_sure": "on"}).status_code == 403
        assert client.get(path).status_code == 405
    assert ExperimentRun.objects.count() == 1
