"""The lessons Kaiku comes with: one for each finding code, each whole."""

from __future__ import annotations

import re

import pytest

from analysis.findings import FindingCode
from education.lesson import (
    EXPLANATION_CHARACTERS_MAX,
    HINT_CHARACTERS_MAX,
    LINKS_MAX,
    MICRO_CHARACTERS_MAX,
    OTHER_NAMES,
    TITLE_CHARACTERS_MAX,
)
from education.markup import lesson_html
from education.seeds import FOLDER, lessons_by_sign, neutral_lessons, seed_lessons, seed_programs

each_code = pytest.mark.parametrize("code", FindingCode)


@each_code
def test_every_finding_code_has_a_lesson(code: FindingCode) -> None:
    assert code in seed_lessons()


def test_no_file_belongs_to_an_unknown_code() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {f"{code.value}.toml" for code in FindingCode}


@each_code
def test_a_micro_lesson_has_two_or_three_sentences(code: FindingCode) -> None:
    assert len(re.findall(r"[.!?](?=\s|$)", seed_lessons()[code].micro)) in (2, 3)


@each_code
def test_a_lesson_fits_the_limits_of_its_editor(code: FindingCode) -> None:
    lesson = seed_lessons()[code]
    assert 0 < len(lesson.title) <= TITLE_CHARACTERS_MAX
    assert 0 < len(lesson.micro) <= MICRO_CHARACTERS_MAX
    assert 0 < len(lesson.explanation) <= EXPLANATION_CHARACTERS_MAX
    assert len(lesson.hint) <= HINT_CHARACTERS_MAX
    assert 1 <= len(lesson.links) <= LINKS_MAX


@each_code
def test_a_lesson_names_pages_to_read_on_each_once(code: FindingCode) -> None:
    links = seed_lessons()[code].links
    assert all(link.url.startswith("https://") and link.title for link in links)
    assert len({link.url for link in links}) == len(links)


@each_code
def test_a_lesson_blames_nobody_and_has_no_html(code: FindingCode) -> None:
    lesson = seed_lessons()[code]
    said = f"{lesson.title} {lesson.micro} {lesson.explanation} {lesson.hint}".lower()
    assert not re.search(r"(?<!-)\b(bad|your fault|wrong|violat|abus|punish|stupid|lazy)", said)
    assert "&lt;/" not in lesson_html(lesson.explanation + lesson.hint)


def test_the_names_of_the_specification_are_no_finding_codes() -> None:
    assert not {code.value for code in FindingCode} & set(OTHER_NAMES)


@each_code
def test_every_lesson_has_a_neutral_form_of_the_same_size(code: FindingCode) -> None:
    lesson = neutral_lessons()[code]
    assert 0 < len(lesson.title) <= TITLE_CHARACTERS_MAX
    assert 0 < len(lesson.micro) <= MICRO_CHARACTERS_MAX
    assert len(re.findall(r"[.!?](?=\s|$)", lesson.micro)) in (2, 3)
    assert all(link.url.startswith("https://") and "lumi" not in link.url.lower() for link in lesson.links)
    assert lesson.links


@pytest.mark.parametrize(("code", "sign", "is_neutral"), lessons_by_sign())
def test_a_lesson_for_one_sign_is_as_short_and_as_neutral_as_the_general_one(
    code: FindingCode, sign: str, is_neutral: bool
) -> None:
    lesson = lessons_by_sign()[code, sign, is_neutral]
    assert 0 < len(lesson.title) <= TITLE_CHARACTERS_MAX
    assert 0 < len(lesson.micro) <= MICRO_CHARACTERS_MAX
    assert len(re.findall(r"[.!?](?=\s|$)", lesson.micro)) in (2, 3)
    assert lesson.links
    assert all(link.url.startswith("https://") for link in lesson.links)
    assert not is_neutral or all("lumi" not in link.url.lower() for link in lesson.links)
    known = {link.url for every in (*seed_lessons().values(), *neutral_lessons().values()) for link in every.links}
    assert {link.url for link in lesson.links} <= known


@pytest.mark.parametrize("code", seed_programs())
def test_a_program_is_named_has_advice_for_findings_and_says_where_it_is_from(code: str) -> None:
    lesson = seed_programs()[code]
    assert lesson.names
    assert lesson.situations
    assert code.startswith("program-")
    assert {each.code for each in lesson.situations} <= {known.value for known in FindingCode}
    assert len({each.code for each in lesson.situations}) == len(lesson.situations)
    assert 0 < len(lesson.title) <= TITLE_CHARACTERS_MAX
    assert 0 < len(lesson.micro) <= MICRO_CHARACTERS_MAX
    assert 1 <= len(lesson.links) <= LINKS_MAX
    assert all(link.url.startswith("https://") for link in lesson.links)
