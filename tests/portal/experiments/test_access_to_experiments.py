"""Who sees an experiment, its runs and what their jobs did, and who may change them: each address, each form."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from jobs.experiments.models import Artifact, Experiment, ExperimentRun
from jobs.experiments.services.artifacts import keep_upload
from jobs.models import JobOpening, User
from tests.portal.conftest import text
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "grace")
PROJECT = "project_465000001"
Cast = Callable[[str], Client]


def addresses(run: ExperimentRun) -> list[str]:
    """Every address below an experiment and its run that is read."""
    experiment, page = f"/experiments/{run.experiment_id}/", f"/runs/{run.run_id}/"
    file = Artifact.objects.get(run=run)
    return [
        experiment,
        f"{experiment}runs.csv",
        f"{experiment}runs.json",
        f"{experiment}compare/?run={run.run_id}",
        page,
        f"{page}files/{file.pk}/",
    ]


def seen_by(cast: Cast, run: ExperimentRun) -> set[str]:
    """Who sees all of these addresses; everybody else gets 404 at each."""
    paths, found = addresses(run), set()
    for name in PEOPLE:
        statuses = {cast(name).get(path).status_code for path in paths}
        assert statuses in ({200}, {404}), name
        found |= {name} if statuses == {200} else set()
    return found


def made(**sharing: object) -> ExperimentRun:
    run = log_run(experiment_of("alice", **sharing))
    keep_upload(run.owner, run.run_id, "notes.txt", b"warm up first", 13, BEGAN_AT)
    return run


def test_a_private_experiment_is_its_owner_s_alone(cast: Cast) -> None:
    assert seen_by(cast, made()) == {"alice"}


def test_the_pi_of_its_project_sees_it_and_members_only_once_it_is_shared_with_them(cast: Cast) -> None:
    run = made(project=PROJECT)
    assert seen_by(cast, run) == {"alice", "carol"}
    Experiment.objects.update(is_shared=True)
    assert seen_by(cast, run) == {"alice", "bob", "carol"}


def test_the_list_has_what_each_one_sees(cast: Cast) -> None:
    log_run(experiment_of("alice", "mine"))
    log_run(experiment_of("bob", "ours", project=PROJECT, is_shared=True), job=None)
    log_run(experiment_of("bob", "the lead’s", project=PROJECT), job=None)
    listed = {name: {one.name for one in cast(name).get("/experiments/").context["page"]} for name in PEOPLE}
    assert not any(listed.pop(name) for name in ("dave", "erin", "frank", "grace"))
    assert listed == {
        "alice": {"mine", "ours"},
        "bob": {"ours", "the lead’s"},
        "carol": {"ours", "the lead’s"},
    }


@pytest.mark.parametrize("name", ["bob", "carol", "dave", "erin", "grace"])
def test_only_the_owner_changes_or_deletes_anything(cast: Cast, name: str) -> None:
    run = made(project=PROJECT, is_shared=True)
    client, experiment = cast(name), f"/experiments/{run.experiment_id}/"
    for path, body in (
        (f"{experiment}rename/", {"name": "theirs"}),
        (f"{experiment}share/", {"project": "", "audience": "pi"}),
        (f"{experiment}delete/", {"is_sure": "on"}),
        (f"/runs/{run.run_id}/delete/", {"is_sure": "on"}),
    ):
        assert client.post(path, body).status_code == 404, path
    kept = Experiment.objects.get()
    assert (kept.name, kept.is_shared, ExperimentRun.objects.count()) == ("vit", True, 1)
    assert "Delete" not in text(client, experiment) if name in ("bob", "carol") else True


def test_a_member_sees_what_was_logged_but_not_what_the_gpus_did(cast: Cast, reported) -> None:
    reported()
    run = made(project=PROJECT, is_shared=True)
    page = f"/runs/{run.run_id}/"
    owner, member = text(cast("alice"), page), text(cast("bob"), page)
    for part in ("GPU memory", "/jobs/lumi/123456/", "GPU-hours per 1,000"):
        assert part in owner
        assert part not in member, part
    assert "What the GPUs did is shown to those who see the job" in member
    assert "chart-metric-0" in member
    table = {
        name: cast(name).get(f"/experiments/{run.experiment_id}/runs.json").getvalue() for name in ("alice", "bob")
    }
    assert b'"gpu_hours":8.0,"gpus":8' in table["alice"]
    assert b'"gpu_hours":null,"gpus":null' in table["bob"]


def test_the_owner_of_a_job_sees_that_its_pi_looked_at_it_on_the_page_of_a_run(cast: Cast, reported) -> None:
    reported()
    run = made(project=PROJECT)
    cast("alice").get(f"/runs/{run.run_id}/")
    assert not JobOpening.objects.exists()
    cast("carol").get(f"/runs/{run.run_id}/")
    assert JobOpening.objects.get().user == User.objects.get(username="carol")


def test_a_run_that_states_somebody_else_s_job_shows_nothing_of_it(cast: Cast, reported) -> None:
    reported()
    run = log_run(experiment_of("bob"))
    assert "There is no record of such a job" in text(cast("bob"), f"/runs/{run.run_id}/")
    assert "first" not in cast("alice").get("/jobs/lumi/123456/").context["logged"].rows


def test_a_parent_that_the_reader_does_not_see_is_not_named(cast: Cast) -> None:
    hidden = log_run(experiment_of("alice", "hidden"), "the secret search", job=None)
    child = log_run(experiment_of("alice", "shared", project=PROJECT, is_shared=True), job=None, parent=hidden.run_id)
    path = f"/runs/{child.run_id}/"
    assert "the secret search" in text(cast("alice"), path)
    assert "the secret search" not in text(cast("bob"), path)
    assert hidden.run_id not in text(cast("bob"), path)
