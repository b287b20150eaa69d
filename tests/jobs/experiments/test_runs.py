"""Experiments and runs in the database: whose they are, what they log, and how Slurm's record decides about them."""

from __future__ import annotations

from datetime import timedelta
from math import isnan, nan

import pytest

from jobs.experiments.models import Artifact, ExperimentRun, MetricSeries, PointBatch, RunJob
from jobs.experiments.points import Point
from jobs.experiments.rules import NameTaken, NoSuchExperiment, NoSuchRun, NotAccepted
from jobs.experiments.selectors import digests_of, series_of, visible_experiments, visible_runs
from jobs.experiments.services.artifacts import StatedFile, keep_upload, state_files
from jobs.experiments.services.experiments import (
    change_experiment,
    delete_experiment,
    make_experiment,
    named_experiment,
)
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, change_run, delete_run, remove_tag, start_run
from jobs.experiments.status import Reported
from jobs.models import Membership, Project, User
from tests.jobs.experiments.logging_people import BEGAN, MS, NOW, call, run_of

pytestmark = pytest.mark.django_db


def test_an_experiment_is_found_by_its_name_and_made_once(alice: User) -> None:
    first, is_new = named_experiment(alice, " vit ", NOW)
    again, is_new_again = named_experiment(alice, "vit", NOW)
    assert (first.pk, is_new, is_new_again) == (again.pk, True, False)
    with pytest.raises(NameTaken):
        make_experiment(alice, "vit", NOW)


def test_two_people_may_use_the_same_name(alice: User, bob: User) -> None:
    assert make_experiment(alice, "vit", NOW).pk != make_experiment(bob, "vit", NOW).pk


@pytest.mark.parametrize("name", ["", "  ", "x" * 257])
def test_a_name_that_is_none_is_not_accepted(alice: User, name: str) -> None:
    with pytest.raises(NotAccepted, match="name"):
        make_experiment(alice, name, NOW)


def test_only_a_project_of_their_own_can_see_a_persons_experiment(alice: User) -> None:
    Project.objects.create(name="project_2")
    with pytest.raises(NotAccepted, match="project"):
        make_experiment(alice, "vit", NOW, project="project_2")
    with pytest.raises(NotAccepted, match="is_shared"):
        make_experiment(alice, "vit", NOW, is_shared=True)


def test_who_sees_an_experiment(alice: User, bob: User) -> None:
    """alice owns it; bob is a member of its project, carol its PI, dave nobody."""
    carol, dave = (User.objects.create(username=name) for name in ("carol", "dave"))
    project = Project.objects.create(name="project_1")
    for user, role in ((alice, "member"), (bob, "member"), (carol, "pi")):
        Membership.objects.create(user=user, project=project, role=role)
    experiment = make_experiment(alice, "vit", NOW)
    run = run_of(alice)

    def seeing() -> set[str]:
        seen = {user.username for user in (alice, bob, carol, dave) if visible_experiments(user).exists()}
        assert seen == {user.username for user in (alice, bob, carol, dave) if run in visible_runs(user)}
        return seen

    assert seeing() == {"alice"}
    change_experiment(alice, experiment.pk, NOW, project="project_1")
    assert seeing() == {"alice", "carol"}
    change_experiment(alice, experiment.pk, NOW, is_shared=True)
    assert seeing() == {"alice", "bob", "carol"}
    Membership.objects.filter(user=bob).delete()
    assert seeing() == {"alice", "carol"}
    change_experiment(alice, experiment.pk, NOW, project="")
    assert seeing() == {"alice"}


def test_nobody_else_changes_an_experiment_or_starts_a_run_in_it(alice: User, bob: User) -> None:
    experiment = make_experiment(alice, "vit", NOW)
    with pytest.raises(NoSuchExperiment):
        change_experiment(bob, experiment.pk, NOW, name="mine")
    with pytest.raises(NoSuchExperiment):
        start_run(bob, experiment.pk, NOW, change=RunChange())
    with pytest.raises(NoSuchExperiment):
        delete_experiment(bob, experiment.pk)


def test_deleting_an_experiment_deletes_all_of_it(alice: User) -> None:
    run = run_of(alice)
    log_calls([call(alice, run, 0.5)])
    sort_points(10, NOW)
    log_calls([call(alice, run, 0.4)])
    state_files(alice, run.run_id, [StatedFile("/scratch/model.pt")], NOW)
    delete_experiment(alice, run.experiment_id)
    for model in (ExperimentRun, PointBatch, MetricSeries, RunJob, Artifact):
        assert not model.objects.exists()


# What a run logs


def test_points_are_read_before_and_after_they_are_sorted(alice: User) -> None:
    run = run_of(alice)
    assert log_calls([call(alice, run, 0.9, 0.5), call(alice, run, nan, name="acc")]) == [None, None]
    before = series_of(run)
    assert sort_points(10, NOW) == 2
    after = series_of(run)
    assert not PointBatch.objects.exists()
    for found in (before, after):
        assert found["loss"].points.values.tolist() == [0.9, 0.5]
        assert isnan(found["acc"].digest.last_value)
    assert digests_of([run])[run.pk]["loss"].least_value == 0.5


def test_the_digests_of_many_runs_include_what_is_not_sorted_yet(alice: User) -> None:
    first, second = run_of(alice), run_of(alice)
    log_calls([call(alice, first, 0.9), call(alice, second, 0.1)])
    sort_points(10, NOW)
    log_calls([LoggedCall(alice, first.run_id, NOW, [Point("loss", 7, MS + 7000, 0.3)])])
    found = digests_of([first, second])
    assert (found[first.pk]["loss"].count, found[first.pk]["loss"].last_step) == (2, 7)
    assert found[second.pk]["loss"].last_value == 0.1


def test_digests_of_some_names_alone_leave_out_the_others_sorted_or_not(alice: User) -> None:
    run = run_of(alice)
    for name in ("loss", "acc"):
        log_calls([call(alice, run, 0.5, name=name)])
    assert digests_of([run], ["loss"])[run.pk].keys() == {"loss"}
    sort_points(10, NOW)
    assert digests_of([run], ["loss"])[run.pk].keys() == {"loss"}


def test_a_call_for_a_run_of_somebody_else_is_as_for_none_and_stops_no_other(alice: User, bob: User) -> None:
    run = run_of(alice)
    said = log_calls([call(bob, run, 0.5), call(alice, run, 0.5), LoggedCall(alice, "f" * 32, NOW)])
    assert [type(why) for why in said] == [NoSuchRun, type(None), NoSuchRun]
    assert series_of(run)["loss"].digest.count == 1


def test_a_parameter_keeps_its_value_and_a_tag_gets_the_new_one(alice: User) -> None:
    run = run_of(alice, params={"lr": "0.1"}, tags={"note": "first"})
    same = LoggedCall(alice, run.run_id, NOW, params={"lr": "0.1"}, tags={"note": "second"})
    other = LoggedCall(alice, run.run_id, NOW, [Point("loss", 0, MS, 1.0)], params={"lr": "0.2"})
    accepted, refused = log_calls([same, other])
    assert accepted is None
    assert refused is not None
    assert refused.problems == [("params.lr", "has another value already; parameters do not change")]
    run.refresh_from_db()
    assert (run.params, run.tags) == ({"lr": "0.1"}, {"note": "second"})
    assert series_of(run) == {}  # a call is stored as a whole or not at all


def test_names_that_become_one_are_not_accepted_together(alice: User) -> None:
    run = run_of(alice)
    with pytest.raises(NotAccepted) as params:
        change_run(alice, run.run_id, RunChange(params={"a\0b": "1", "c": "2", "a\nb": "3"}), NOW)
    assert params.value.problems == [("params.a�b", "is the name of two, once what cannot be shown is replaced")]
    with pytest.raises(NotAccepted, match=r"tags\.a�b"):
        change_run(alice, run.run_id, RunChange(tags={"a\0b": "1", "a�b": "1"}), NOW)


def test_names_and_values_of_any_text_are_stored_visibly(alice: User) -> None:
    run = run_of(alice, params={"a\0b": "x\ud800"}, name="two\nlines")
    run.refresh_from_db()
    assert run.params == {"a�b": "x�"}
    assert run.name == "two�lines"


def test_metrics_beyond_the_limit_are_counted_and_not_kept(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.experiments.services.points.METRICS_MAX", 2)
    run = run_of(alice)
    log_calls([call(alice, run, 0.1, 0.2, name=name) for name in ("a", "b", "c")])
    sort_points(10, NOW)
    run.refresh_from_db()
    assert sorted(series_of(run)) == ["a", "b"]
    assert run.points_dropped == 2


def test_one_poisoned_call_does_not_stop_the_points_of_others(alice: User) -> None:
    poisoned, sound = run_of(alice), run_of(alice)
    PointBatch.objects.create(run=poisoned, points=b"\xc1", count=1, received_at=NOW)
    log_calls([call(alice, sound, 0.5)])
    assert sort_points(10, NOW) == 1
    assert MetricSeries.objects.filter(run=sound).count() == 1


def test_the_tag_by_which_mlflow_names_a_run_is_its_name(alice: User) -> None:
    run = run_of(alice, tags={"mlflow.runName": " first\n", "a": "1"})
    assert (run.name, run.tags) == ("first", {"a": "1"})
    log_calls([LoggedCall(alice, run.run_id, NOW, tags={"mlflow.runName": "second"})])
    run.refresh_from_db()
    assert (run.name, run.tags) == ("second", {"a": "1"})


def test_a_stated_name_comes_before_that_of_the_tag(alice: User) -> None:
    assert run_of(alice, name="stated", tags={"mlflow.runName": "tagged"}).name == "stated"


def test_a_tag_is_removed_once(alice: User) -> None:
    run = run_of(alice, tags={"note": "x"})
    assert remove_tag(alice, run.run_id, "note", NOW)
    assert not remove_tag(alice, run.run_id, "note", NOW)


def test_an_impossible_end_is_not_accepted(alice: User) -> None:
    run = run_of(alice)
    for ended_at in (BEGAN - timedelta(seconds=1), NOW + timedelta(days=2)):
        with pytest.raises(NotAccepted, match="ended_at"):
            change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED, ended_at=ended_at), NOW)


def test_files_are_paths_and_small_text_is_kept(alice: User) -> None:
    run = run_of(alice)
    state_files(alice, run.run_id, [StatedFile("/scratch/p/model-7.pt", "checkpoint", 7, 10**12)], NOW)
    assert keep_upload(alice, run.run_id, "config.json", b"{}", 2, NOW)
    assert not keep_upload(alice, run.run_id, "image.png", b"\x89PNG\0", 5, NOW)
    assert not keep_upload(alice, run.run_id, "model.pt", None, 10**10, NOW)
    assert [(file.path, file.kind) for file in run.artifacts.order_by("path")] == [
        ("/scratch/p/model-7.pt", "checkpoint"),
        ("config.json", "kept"),
        ("image.png", "discarded"),
        ("model.pt", "discarded"),
    ]
    with pytest.raises(NotAccepted, match="kind"):
        state_files(alice, run.run_id, [StatedFile("/x", "kept")], NOW)


def test_kept_text_of_a_run_is_bounded(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.experiments.services.artifacts.TEXTS_BYTES_MAX", 10)
    run = run_of(alice)
    assert keep_upload(alice, run.run_id, "a.txt", b"123456", 6, NOW)
    assert not keep_upload(alice, run.run_id, "b.txt", b"12345", 5, NOW)
    assert keep_upload(alice, run.run_id, "a.txt", b"1234567890", 10, NOW)  # in place of the first


def test_deleting_a_run_leaves_the_runs_within_it(alice: User, bob: User) -> None:
    outer = run_of(alice)
    inner = start_run(alice, outer.experiment_id, BEGAN, change=RunChange(), parent=outer.run_id)
    with pytest.raises(NoSuchRun):
        delete_run(bob, outer.run_id)
    delete_run(alice, outer.run_id)
    inner.refresh_from_db()
    assert inner.parent is None


# With Slurm
