"""Marks without width and of direction in names and notes: everybody sees that they are there, and they do nothing."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from io import BytesIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pypdf import PdfReader

from jobs.models import JobShare, Token
from reports.models import Report
from wire.safe_text import UNPRINTABLE

pytestmark = pytest.mark.django_db

MARKS = (
    *("\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e"),
    *("\u2066", "\u2067", "\u2068", "\u2069", "\ufeff", "\u00ad", "\u061c", "\u2060", "\u2063", "\u3164", "\x85"),
    *("\x9b", "\U000e0001", "\U000e0041", "\U000e007f", "\u180e", "\ufff9"),
)
NAME = "tr" + "".join(f"{mark}x" for mark in MARKS) + "ain"
ANY = re.compile("[" + "".join(MARKS) + "]")
JOB, FILE = "/jobs/lumi/123456/", "/api/v1/jobs/lumi/123456/report."


def test_marks_are_replaced_and_letters_are_not() -> None:
    cleaned = {letter for letter in map(chr, range(0x110000)) if UNPRINTABLE.match(letter)}
    assert cleaned >= set(MARKS)
    assert not any(letter.isalnum() for letter in cleaned if letter not in "\u115f\u1160\u3164\uffa0")


@pytest.fixture(params=["sent", "stored before"])
def marked(request: pytest.FixtureRequest, reported) -> None:
    """A job whose name holds every mark: as it arrives, and as a row and report of earlier versions hold it."""
    if request.param == "sent":
        reported(123456, job_name=NAME)
        return
    reported(123456)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job SET job_name = %s", [NAME])
    row = Report.objects.get()
    row.content["job"]["job_name"] = NAME
    row.content["not_measured"] = [*row.content["not_measured"], f"why: {NAME}"]
    row.save()


@pytest.mark.parametrize("path", [JOB, "/jobs/", "/jobs.csv", "/", "/api/v1/jobs/"])
def test_no_page_table_or_list_holds_them(cast, marked, path: str) -> None:
    content = b"".join(cast("alice").get(path)).decode()
    assert not ANY.search(content)
    assert path == "/" or "tr\ufffdx\ufffdx" in content


@pytest.mark.one_database
@pytest.mark.parametrize("form", ["txt", "md", "html", "json", "pdf"])
def test_no_file_of_a_report_holds_them(cast, marked, form: str) -> None:
    content = cast("alice").get(f"{FILE}{form}").content
    text = "".join(page.extract_text() for page in PdfReader(BytesIO(content)).pages) if form == "pdf" else None
    text = content.decode() if text is None else text
    assert not ANY.search(text)
    assert "ain" in text


def test_no_part_of_a_mail_holds_them(marked, tmp_path: Path) -> None:
    call_command("preview_mail", "lumi/123456", "--format", "eml", "-o", str(tmp_path / "mail.eml"))
    message = message_from_bytes((tmp_path / "mail.eml").read_bytes(), policy=policy.default)
    assert message["Subject"].startswith("Kaiku: job 123456, tr x x")
    assert not ANY.search(message["Subject"])
    for kind in ("plain", "html"):
        body = message.get_body((kind,)).get_content()
        assert not ANY.search(body)
        assert "tr" in body


def test_notes_and_names_of_tokens_show_them_and_keep_their_lines(cast, reported) -> None:
    reported(123456)
    alice = cast("alice")
    alice.post(f"{JOB}share/", {"days": 7, "note": f"two\r\nlines {NAME}"})
    alice.post("/settings/tokens/", {"name": "t\u202ekot", "days": 30, "kind": "read"})
    assert JobShare.objects.get().note.startswith("two\nlines tr\ufffdx")
    assert Token.objects.get().name == "t\ufffdkot"
    for client, path in ((cast("erin"), "/support/shared/"), (alice, JOB), (alice, "/settings/tokens/")):
        assert not ANY.search(client.get(path).content.decode())
