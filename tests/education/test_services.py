"""Seeding and editing: nothing of staff's is overwritten, nothing is lost, everything can be had back."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.db import connection

from analysis.findings import FindingCode
from education import seeds
from education.lesson import LessonContent, Link
from education.models import Lesson, LessonLink, LessonVersion
from education.seeds import seed_lessons, seed_programs
from education.selectors import current_lessons, current_programs, lesson_content, lesson_row, version_content
from education.services import seeding
from education.services.editing import EditConflict, restore_version, save_lesson, start_translation
from education.services.seeding import Seeding, store_seeds

OVERSCALING = FindingCode.OVERSCALING


def test_without_stored_lessons_the_shipped_ones_are_said(db) -> None:
    assert current_lessons() == seed_lessons()


def test_seeding_stores_every_lesson_once(db, capsys) -> None:
    count = len(FindingCode) + len(seed_programs())
    call_command("seed_lessons")
    assert capsys.readouterr().out == f"{count} lessons new, 0 updated, 0 edited by staff and unchanged\n"
    assert (current_lessons(), current_programs()) == (seed_lessons(), seed_programs())
    assert store_seeds() == Seeding(created=0, updated=0, kept=0)
    assert LessonVersion.objects.count() == count


def test_seeding_never_overwrites_what_staff_edited(overscaling, erin) -> None:
    mine = replace(lesson_content(overscaling), micro="Our own words. And more.")
    save_lesson(overscaling.pk, 1, mine, erin)
    assert store_seeds() == Seeding(created=0, updated=0, kept=1)
    assert current_lessons()[OVERSCALING] == mine


def test_a_new_release_improves_lessons_that_staff_left_alone(overscaling, monkeypatch: pytest.MonkeyPatch) -> None:
    better = replace(seed_lessons()[OVERSCALING], title="Better")
    monkeypatch.setattr(seeding, "seed_lessons", lambda: {**seeds.seed_lessons(), OVERSCALING: better})
    assert store_seeds() == Seeding(created=0, updated=1, kept=0, changed=("overscaling",))
    assert current_lessons()[OVERSCALING].title == "Better"
    assert overscaling.versions.count() == 2


def test_each_change_is_a_version_with_who_and_what(overscaling, erin) -> None:
    before = lesson_content(overscaling)
    after = replace(before, title="New", links=(Link("b", "https://b.example/"), Link("a", "https://a.example/")))
    assert save_lesson(overscaling.pk, 1, after, erin)
    newest, oldest = overscaling.versions.all()
    assert (newest.number, newest.editor, newest.is_shipped) == (2, erin, False)
    assert (oldest.number, oldest.editor, oldest.is_shipped) == (1, None, True)
    assert (version_content(oldest), version_content(newest)) == (before, after)
    assert lesson_content(lesson_row("overscaling", "en")) == after


def test_saving_the_same_makes_no_version(overscaling, erin) -> None:
    assert not save_lesson(overscaling.pk, 1, lesson_content(overscaling), erin)
    assert overscaling.versions.count() == 1


def test_the_second_of_two_editors_is_told_and_nothing_is_lost(overscaling, erin, frank) -> None:
    first = replace(lesson_content(overscaling), title="First")
    second = replace(first, title="Second")
    save_lesson(overscaling.pk, 1, first, erin)
    with pytest.raises(EditConflict) as told:
        save_lesson(overscaling.pk, 1, second, frank)
    assert (told.value.newest.number, told.value.newest.editor) == (2, erin)
    assert current_lessons()[OVERSCALING] == first
    assert save_lesson(overscaling.pk, 2, second, frank)
    assert [version_content(version).title for version in overscaling.versions.all()][:2] == ["Second", "First"]


def test_a_restored_version_is_said_again_and_the_later_ones_stay(overscaling, erin) -> None:
    before = lesson_content(overscaling)
    save_lesson(overscaling.pk, 1, replace(before, title="New", links=()), erin)
    assert restore_version(overscaling.pk, 2, 1, erin)
    assert current_lessons()[OVERSCALING] == before
    assert [(row.number, row.restored_from) for row in overscaling.versions.all()] == [(3, 1), (2, None), (1, None)]
    with pytest.raises(EditConflict):
        restore_version(overscaling.pk, 2, 2, erin)
    assert store_seeds().kept == 1


def test_who_leaves_takes_no_version_along(overscaling, erin) -> None:
    save_lesson(overscaling.pk, 1, replace(lesson_content(overscaling), title="New"), erin)
    erin.delete()
    assert overscaling.versions.first().editor is None
    assert store_seeds().kept == 1


def test_an_address_that_stays_keeps_the_word_of_the_last_check(overscaling, erin, now) -> None:
    before = lesson_content(overscaling)
    LessonLink.objects.filter(url=before.url).update(problem="404 Not Found", checked_at=now)
    save_lesson(overscaling.pk, 1, replace(before, links=(Link("New", "https://n.example/"), before.links[0])), erin)
    assert list(overscaling.links.values_list("problem", "checked_at")) == [("", None), ("404 Not Found", now)]


def test_a_hidden_lesson_is_said_nowhere(overscaling, erin) -> None:
    save_lesson(overscaling.pk, 1, replace(lesson_content(overscaling), is_active=False), erin)
    assert OVERSCALING not in current_lessons()


def test_a_translation_begins_hidden_and_is_said_once_shown(overscaling, erin) -> None:
    assert start_translation("overscaling", "fi", erin)
    assert not start_translation("overscaling", "fi", erin)
    english = current_lessons()[OVERSCALING]
    assert current_lessons("fi")[OVERSCALING] == english
    finnish = LessonContent("Sopiva määrä", "Yksi. Kaksi.", links=english.links)
    save_lesson(lesson_row("overscaling", "fi").pk, 1, finnish, erin)
    assert current_lessons("fi")[OVERSCALING] == finnish
    assert current_lessons("fi")[FindingCode.TIMEOUT] == current_lessons()[FindingCode.TIMEOUT]
    assert current_lessons()[OVERSCALING] == english


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_editors_who_save_in_the_same_moment_one_wins_and_the_others_are_told(erin) -> None:
    store_seeds()
    lesson = Lesson.objects.get(code="overscaling")
    content, outcomes, gate = lesson_content(lesson), [], threading.Barrier(4)

    def edit(number: int) -> None:
        gate.wait()
        try:
            outcomes.append(save_lesson(lesson.pk, 1, replace(content, title=f"Editor {number}"), erin))
        except EditConflict:
            outcomes.append("told")
        finally:
            connection.close()

    threads = [threading.Thread(target=edit, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["True", "told", "told", "told"]
    assert lesson.versions.count() == 2


def test_the_lessons_cost_the_same_queries_for_one_and_for_all(seeded, django_assert_num_queries) -> None:
    with django_assert_num_queries(2):
        current_lessons()
