"""Lessons about programs: on the job page and in reports, on Learn, and in the editor of staff."""

from __future__ import annotations

import json

import pytest

from education.lesson import LessonContent
from education.models import Lesson
from education.selectors import lesson_content, lesson_row
from education.services.seeding import store_seeds
from portal.pages.lessons.forms import filled_forms

EDIT = "/lessons/program-gromacs/en/"
SAID = "This looks like GROMACS: “gmx” is in the job&#x27;s name. If it is something else, ignore this."
GENERAL, FOR_IDLE = "Start one MPI rank for each GPU", "each rank drives one GPU"


@pytest.fixture(autouse=True)
def seeded(db) -> None:
    store_seeds()


def fields(code: str = "program-gromacs", **changed: object) -> dict[str, str]:
    row = lesson_row(code, "en")
    form, links = filled_forms(lesson_content(row), row.version, code)
    sent = {f.html_name: f.value() for part in (form, links.management_form, *links.forms) for f in part}
    sent |= changed
    return {name: str(value) for name, value in sent.items() if value is not None and value is not False}


def test_a_job_named_after_a_program_has_its_hint_beside_the_findings_and_in_every_format(cast, reported) -> None:
    reported(job_name="gmx_min_v2")
    alice = cast("alice")
    page = alice.get("/jobs/lumi/123456/").content.decode()
    assert SAID in page
    assert GENERAL in page
    assert "https://docs.csc.fi/apps/gromacs/" in page
    for ending in ("html", "md", "txt", "json"):
        text = " ".join(alice.get(f"/api/v1/jobs/lumi/123456/report.{ending}").content.decode().split())
        assert "This looks like GROMACS" in text, ending
        assert "docs.csc.fi/apps/gromacs" in text, ending


def test_what_it_adds_is_for_the_findings_of_this_run(cast, reported) -> None:
    # Two of eight GPUs at work: a mismatch, for which GROMACS has a text; there is no text on running out of memory.
    reported(job_name="gmx_min")
    program = json.loads(cast("alice").get("/api/v1/jobs/lumi/123456/report.json").content)["program"]
    assert [GENERAL in program["texts"][0], "--ntasks-per-node" in program["texts"][1]] == [True, True]


@pytest.mark.parametrize("name", ["train_v9", "gmx_MMPBSA", "ddpm_eval"])
def test_a_job_that_no_program_is_told_from_has_none(cast, reported, name: str) -> None:
    reported(job_name=name)
    alice = cast("alice")
    assert "This looks like" not in alice.get("/jobs/lumi/123456/").content.decode()
    assert json.loads(alice.get("/api/v1/jobs/lumi/123456/report.json").content)["program"] is None


def test_staff_change_a_hint_and_the_job_page_has_it_at_once(cast, reported) -> None:
    reported(job_name="simrun_gmx")
    sent = fields(micro="Our own advice. Really.", names="simrun*", situations="idle_gpus: Own words.")
    assert cast("erin").post(EDIT, sent)["Location"] == EDIT
    page = cast("alice").get("/jobs/lumi/123456/").content.decode()
    assert "“simrun” is in the job" in page
    assert "Our own advice. Really." in page
    history = cast("erin").get(f"{EDIT}history/").content.decode()
    assert "Names" in history
    assert "gromacs*" in history
    assert "For findings" in history


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"names": "tr*"}, "“tr*” is too short"),
        ({"names": "train"}, "would match “train”"),
        ({"names": ".*"}, "is not one to 3 words"),
        ({"situations": "bad_gpus: x"}, "“bad_gpus” is not the code of a finding."),
        ({"situations": "idle_gpus:"}, "“idle_gpus” has no text."),
        ({"situations": "timeout: a\ntimeout: b"}, "“timeout” is there twice."),
    ],
)
def test_words_that_would_recognise_too_much_are_refused_with_the_reason(cast, changed, said: str) -> None:
    answer = cast("erin").post(EDIT, fields(**changed))
    assert (answer.status_code, said in answer.content.decode()) == (422, True)
    assert lesson_row("program-gromacs", "en").version == 1


def test_staff_add_a_program_which_is_hidden_until_it_is_published(cast, reported) -> None:
    reported(job_name="nekrs_pipe")
    erin, edit = cast("erin"), "/lessons/program-nekrs/en/"
    assert erin.post("/lessons/new-program/", {"name": "  nekRS "})["Location"] == edit
    row = lesson_row("program-nekrs", "en")
    assert lesson_content(row) == LessonContent("nekRS", "", is_active=False)
    assert (
        erin.post(edit, fields("program-nekrs", names="nekrs*", micro="One rank each. So.", is_active="on")).status_code
        == 302
    )
    assert "This looks like nekRS" in cast("alice").get("/jobs/lumi/123456/").content.decode()
    assert erin.post("/lessons/new-program/", {"name": "NEKRS"})["Location"] == edit
    assert Lesson.objects.filter(code="program-nekrs").count() == 1


@pytest.mark.parametrize("name", ["", "///", "x" * 41])
def test_a_program_without_a_name_is_not_added(cast, name: str) -> None:
    before = Lesson.objects.count()
    assert cast("erin").post("/lessons/new-program/", {"name": name})["Location"] == "/lessons/"
    assert cast("alice").post("/lessons/new-program/", {"name": "nekRS"}).status_code == 404
    assert Lesson.objects.count() == before


def test_a_hidden_program_is_nowhere(cast, reported) -> None:
    reported(job_name="gmx_min")
    sent = fields()
    del sent["is_active"]
    cast("erin").post(EDIT, sent)
    alice = cast("alice")
    assert "This looks like" not in alice.get("/jobs/lumi/123456/").content.decode()
    assert "GROMACS" not in alice.get("/learn/").content.decode()
    assert alice.get("/learn/program-gromacs/").status_code == 404


def test_learn_lists_the_programs_and_finds_them(cast) -> None:
    alice = cast("alice")
    found = alice.get("/learn/?q=multidir").content.decode()
    assert "1 lesson with “multidir”" in found
    assert "/learn/program-gromacs/" in found
    page = alice.get("/learn/program-gromacs/").content.decode()
    assert "<code>gromacs*</code>" in page
    assert "Only some of the GPUs" in page
    assert "gmx_mpi mdrun" in page
