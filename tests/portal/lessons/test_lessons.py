"""The pages of lessons: Learn for everyone who is signed in, the editor for staff alone."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.findings import FindingCode
from education.models import Lesson, LessonLink
from education.selectors import lesson_content, lesson_row
from education.services.seeding import store_seeds
from portal.pages.lessons.forms import filled_forms
from reports.models import Report

EDIT = "/lessons/parallelism_mismatch/en/"
STAFF_PAGES = ["/lessons/", EDIT, f"{EDIT}history/"]
STAFF_POSTS = ["/lessons/new/", EDIT, f"{EDIT}preview/", f"{EDIT}restore/"]


@pytest.fixture(autouse=True)
def seeded(db) -> None:
    store_seeds()


def fields(**changed: object) -> dict[str, str]:
    """What a browser sends from the opened editor, with some fields changed."""
    row = lesson_row("parallelism_mismatch", "en")
    form, links = filled_forms(lesson_content(row), row.version)
    sent = {f.html_name: f.value() for part in (form, links.management_form, *links.forms) for f in part}
    sent |= changed
    return {name: str(value) for name, value in sent.items() if value not in (None, False)}


@pytest.mark.parametrize("path", STAFF_PAGES)
def test_only_staff_find_the_pages_of_the_editor(cast, path: str) -> None:
    found = {name: cast(name).get(path).status_code for name in ("alice", "carol", "dave", "erin")}
    assert found == {"alice": 404, "carol": 404, "dave": 404, "erin": 200}
    assert Client().get(path)["Location"] == f"/sign-in/?next={path}"


@pytest.mark.parametrize("path", STAFF_POSTS)
def test_only_staff_can_post_to_the_editor(cast, path: str) -> None:
    before = list(Lesson.objects.values())
    assert [cast(name).post(path, fields(title="x")).status_code for name in ("alice", "dave")] == [404, 404]
    assert Client().post(path, fields(title="x")).status_code == 302
    assert list(Lesson.objects.values()) == before


@pytest.mark.parametrize(
    "path", ["/lessons/nothing/en/", "/lessons/timeout/fi/", "/lessons/timeout/xx/history/", "/learn/nothing/"]
)
def test_an_unknown_lesson_is_not_found(cast, path: str) -> None:
    assert cast("erin").get(path).status_code == 404


def test_a_saved_lesson_is_on_the_job_page_at_once_and_the_stored_report_keeps_its_own(cast, reported) -> None:
    reported()
    stored, alice = Report.objects.get().content, cast("alice")
    said = "Our own new words. And a second sentence."
    assert cast("erin").post(EDIT, fields(micro=said))["Location"] == EDIT
    assert said in alice.get("/jobs/lumi/123456/").content.decode()
    assert said not in alice.get("/api/v1/jobs/lumi/123456/report.html").content.decode()
    assert Report.objects.get().content == stored
    reported(7)
    assert said in alice.get("/api/v1/jobs/lumi/7/report.html").content.decode()


def test_a_hidden_lesson_leaves_the_job_page_learn_and_the_api(cast, reported) -> None:
    reported()
    sent = fields()
    del sent["is_active"]
    cast("erin").post(EDIT, sent)
    alice = cast("alice")
    assert b"One rank for each GPU" not in alice.get("/jobs/lumi/123456/").content
    assert b"One rank for each GPU" not in alice.get("/learn/").content
    assert alice.get("/learn/parallelism_mismatch/").status_code == 404
    assert "parallelism_mismatch" not in Client().get("/api/v1/education/").json()


def test_a_preview_shows_what_was_written_and_stores_nothing(cast) -> None:
    erin, before = cast("erin"), list(Lesson.objects.values())
    sent = fields(explanation="A **strong** word")
    for answer in (erin.post(EDIT, sent | {"preview": "1"}), erin.post(f"{EDIT}preview/", sent)):
        assert (answer.status_code, b"<strong>strong</strong>" in answer.content) == (200, True)
    assert list(Lesson.objects.values()) == before


def test_two_editors_are_told_of_each_other_and_nothing_is_lost(cast) -> None:
    erin, opened = cast("erin"), fields()
    erin.post(EDIT, opened | {"title": "Saved first"})
    answer = erin.post(EDIT, opened | {"title": "Saved second"})
    content = answer.content.decode()
    assert answer.status_code == 409
    assert "Someone saved this lesson while you were writing" in content
    assert 'value="Saved second"' in content
    assert "Saved first" in content
    assert lesson_row("parallelism_mismatch", "en").title == "Saved first"
    again = re.search(r'name="version" value="(\d+)"', content)
    erin.post(EDIT, opened | {"title": "Saved second", "version": again[1]})
    assert lesson_row("parallelism_mismatch", "en").title == "Saved second"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"title": ""}, "This field is required."),
        ({"micro": "x" * 10_000}, "at most 700 characters"),
        ({"explanation": "x" * 10_001}, "at most 10000 characters"),
        ({"links-0-url": "javascript:alert(1)"}, "An address must begin with https:// or http://."),
        ({"links-0-url": "https://a.example/%22%3E<x>"}, "must not contain quotes"),
        ({"links-0-url": ""}, "This link has only a title."),
        ({"links-1-url": "https://a.example/", "links-0-url": "https://a.example/"}, "the same address"),
        ({"version": "x"}, "Nothing was saved"),
        ({"links-TOTAL_FORMS": "x"}, "ManagementForm"),
    ],
)
def test_what_is_refused_is_said_and_nothing_is_stored(cast, changed: dict[str, str], said: str) -> None:
    before = list(Lesson.objects.values())
    answer = cast("erin").post(EDIT, fields(**changed))
    assert (answer.status_code, said in " ".join(answer.content.decode().split())) == (422, True)
    assert list(Lesson.objects.values()) == before


def test_ten_thousand_characters_are_taken_with_the_line_breaks_of_a_browser(cast) -> None:
    assert cast("erin").post(EDIT, fields(explanation="x\r\n" * 4999 + "ab")).status_code == 302
    assert len(lesson_row("parallelism_mismatch", "en").explanation) == 10_000


def test_links_are_stored_in_the_order_of_their_numbers_and_an_emptied_row_removes_one(cast) -> None:
    new = {"links-2-order": "1", "links-2-title": "New", "links-2-url": "https://new.example/", "links-0-order": "2"}
    cast("erin").post(EDIT, fields(**new, **{"links-1-title": "", "links-1-url": ""}))
    titles = LessonLink.objects.filter(lesson__code="parallelism_mismatch").values_list("title", flat=True)
    assert list(titles) == ["New", "GPU jobs with MPI"]


def test_scripts_in_a_lesson_are_text_everywhere(cast, reported) -> None:
    reported()
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    erin = cast("erin")
    texts = {"title": evil, "micro": evil, "explanation": f"[x](javascript:alert(1)) {evil}", "hint": evil}
    assert erin.post(EDIT, fields(**texts)).status_code == 302
    pages = [erin.get(path) for path in (*STAFF_PAGES, "/learn/", "/learn/parallelism_mismatch/")]
    for answer in (*pages, cast("alice").get("/jobs/lumi/123456/")):
        content = answer.content.decode()
        assert "<script>alert" not in content
        assert "<img src=x" not in content
        assert 'href="javascript' not in content
        assert "unsafe" not in answer["Content-Security-Policy"]


def test_the_history_says_who_and_what_and_a_version_can_be_restored(cast) -> None:
    erin = cast("erin")
    erin.post(EDIT, fields(title="Another title"))
    content = " ".join(erin.get(f"{EDIT}history/").content.decode().split())
    assert "by erin" in content
    assert "came with Kaiku" in content
    assert "<ins>Another title</ins>" in content
    erin.post(f"{EDIT}restore/", {"number": "1", "version": "1"})
    assert lesson_row("parallelism_mismatch", "en").title == "Another title"
    erin.post(f"{EDIT}restore/", {"number": "1", "version": "2"})
    assert lesson_row("parallelism_mismatch", "en").title == "One rank for each GPU"
    for number in ("9", "x", "", "1" * 400):
        assert erin.post(f"{EDIT}restore/", {"number": number, "version": "3"}).status_code == 404


def test_a_translation_begins_as_a_hidden_copy_and_an_unknown_code_begins_nothing(cast) -> None:
    erin = cast("erin")
    assert erin.post("/lessons/new/", {"code": "timeout", "language": "fi"})["Location"] == "/lessons/timeout/fi/"
    assert not lesson_row("timeout", "fi").is_active
    count = Lesson.objects.count()
    for sent in ({"code": "nothing", "language": "fi"}, {"code": "timeout", "language": "xx"}, {}):
        assert erin.post("/lessons/new/", sent)["Location"] == "/lessons/"
    assert Lesson.objects.count() == count


def test_dead_links_are_marked_in_the_list(cast, now) -> None:
    LessonLink.objects.filter(lesson__code="throttled").update(problem="404 Not Found", checked_at=now)
    content = " ".join(cast("erin").get("/lessons/").content.decode().split())
    assert "1 link did not answer" in content
    assert '404 Not Found, <time datetime="2026-11-20">' in content


def test_learn_finds_every_word_in_any_case_and_survives_any_query(cast) -> None:
    dave = cast("dave")
    assert dave.get("/learn/").content.count(b"<h2>") == len(FindingCode)
    assert b"Save your work before the time limit" in dave.get("/learn/", {"q": "CHECKPOINTS signal"}).content
    for query in ("zzzz", "%", "'\"<script>", "x" * 10_000):
        answer = dave.get("/learn/", {"q": query, "language": "xx"})
        assert answer.status_code == 200
        assert b"<script>" not in answer.content.replace(b"<script src", b"")
    assert Client().get("/learn/")["Location"] == "/sign-in/?next=/learn/"


def test_the_public_json_needs_no_sign_in_and_holds_link_and_text() -> None:
    lessons = Client().get("/api/v1/education/").json()
    assert len(lessons) == len(FindingCode)
    assert lessons["overscaling"]["url"].startswith("https://")
    assert lessons["overscaling"]["text"].startswith("When every GPU is lightly used")
    table = Client().get("/api/v1/education/links/").json()
    assert table["overscaling"] == lessons["overscaling"]["url"]
    assert table["mpi_mismatch"] == table["parallelism_mismatch"]
    assert all(isinstance(address, str) for address in table.values())
    refused = Client().get("/api/v1/education/?language=xx")
    assert (refused.status_code, json.loads(refused.content)["title"]) == (400, "Bad Request")


@pytest.mark.parametrize("path", ["/learn/", "/lessons/"])
def test_the_lists_cost_the_same_queries_for_one_lesson_and_for_all(cast, path: str) -> None:
    erin, counts = cast("erin"), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert erin.get(path).status_code == 200
        counts.append(len(queries))
        Lesson.objects.exclude(code__in=("timeout", "program-gromacs")).delete()
    assert counts[0] == counts[1]


def test_the_beginning_of_a_translation_is_a_page_of_its_own(cast) -> None:
    page = cast("erin").get("/lessons/new/")
    assert page.status_code == 200
    assert "<h1>New translation</h1>" in page.content.decode()
    assert 'action="/lessons/new/"' in page.content.decode()
