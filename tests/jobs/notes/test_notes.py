"""Notes and tags beside own runs: the last one stays, nobody else finds it, and it goes with its run."""

from __future__ import annotations

import pytest

from jobs.expiry.services import forget_runs
from jobs.models import Job, JobNote, Membership, NoteTag, Project, User
from jobs.notes.selectors import noted_jobs, own_note, tags_by_run
from jobs.notes.services import write_note
from jobs.selectors import visible_jobs
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create(username="bob")


@pytest.fixture
def project(bob: User) -> Project:
    project = Project.objects.create(name="project_465000001")
    Membership.objects.create(user=bob, project=project, role=Membership.Role.PI)
    return project


def run_of(user: User, project: Project, job_id: int) -> Job:
    return Job.objects.create(
        cluster="lumi", job_id=job_id, user=user, project=project, state="COMPLETED", ended_at=NOW, changed_at=NOW
    )


def found(runs) -> list[int]:
    return sorted(runs.values_list("job_id", flat=True))


def test_the_last_note_and_its_tags_are_all_there_is(alice, project) -> None:
    run = run_of(alice, project, 1)
    write_note(run, alice, text="first", tags=["a", "b"], now=NOW)
    write_note(run, alice, text="second", tags=["b", "c"], now=NOW)
    note = own_note(run, alice)
    assert (note.text, {tag.name for tag in note.tags.all()}) == ("second", {"b", "c"})
    write_note(run, alice, text="", tags=[], now=NOW)
    assert (own_note(run, alice), JobNote.objects.count(), NoteTag.objects.count()) == (None, 0, 0)


def test_a_word_is_found_inside_a_note_or_a_tag_in_any_capitals(alice, project) -> None:
    noted, tagged, neither = (run_of(alice, project, number) for number in (1, 2, 3))
    write_note(noted, alice, text="With the Baseline of May", tags=[], now=NOW)
    write_note(tagged, alice, text="", tags=["baseline", "paper"], now=NOW)
    write_note(neither, alice, text="base", tags=["paper 2"], now=NOW)
    runs = visible_jobs(alice)
    assert found(noted_jobs(runs, "BaseLine", alice)) == [1, 2]
    assert found(noted_jobs(runs, "base", alice)) == [1, 2, 3]
    assert found(noted_jobs(runs, "paper", alice)) == [2, 3]
    assert found(noted_jobs(runs.exclude(pk=noted.pk), "baseline", alice)) == [2]


def test_a_pi_finds_nothing_by_the_notes_and_tags_of_a_member(alice, bob, project) -> None:
    run = run_of(alice, project, 1)
    write_note(run, alice, text="my secret plan", tags=["thesis"], now=NOW)
    runs = visible_jobs(bob)
    assert found(runs) == [1]
    assert found(noted_jobs(runs, "secret", bob)) == found(noted_jobs(runs, "thesis", bob)) == []
    assert (own_note(run, bob), tags_by_run([run], bob)) == (None, {})


def test_a_run_that_turns_out_to_be_somebody_elses_keeps_the_note_from_both(alice, bob, project) -> None:
    run = run_of(alice, project, 1)
    write_note(run, alice, text="mine", tags=["x"], now=NOW)
    Job.objects.update(user=bob)
    run.refresh_from_db()
    for person in (alice, bob):
        assert (own_note(run, person), tags_by_run([run], person)) == (None, {})
        assert found(noted_jobs(Job.objects.all(), "mine", person)) == []


def test_tags_are_listed_by_run_and_name(alice, project) -> None:
    first, second, third = (run_of(alice, project, number) for number in (1, 2, 3))
    write_note(first, alice, text="", tags=["paper", "alpha"], now=NOW)
    write_note(second, alice, text="only text", tags=[], now=NOW)
    write_note(third, alice, text="", tags=["Paper"], now=NOW)
    assert tags_by_run([first, second, third], alice) == {first.pk: ["alpha", "paper"], third.pk: ["Paper"]}


def test_what_hides_in_a_note_or_a_tag_is_shown_as_such(alice, project) -> None:
    run = run_of(alice, project, 1)
    write_note(run, alice, text="exe\u202egpj\nline", tags=["a\u200bb"], now=NOW)
    note = own_note(run, alice)
    assert (note.text, note.tags.get().name) == ("exe�gpj\nline", "a�b")


def test_notes_and_tags_go_with_their_run(alice, project) -> None:
    run, other = run_of(alice, project, 1), run_of(alice, project, 2)
    for each in (run, other):
        write_note(each, alice, text="text", tags=["tag"], now=NOW)
    forget_runs([run])
    assert [note.job for note in JobNote.objects.all()] == [other]
    assert NoteTag.objects.count() == 1
    write_note(run, alice, text="too late", tags=[], now=NOW)
    assert JobNote.objects.count() == 1
