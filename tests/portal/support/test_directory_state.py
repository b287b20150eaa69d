"""The state of the directories: what each says, what the last imports did, and what none of them covers."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.imports.services import IMPORT, KEPT, import_directory, import_from
from jobs.models import DirectoryImport, Project, User, WorkFailure
from jobs.services import record_job
from jobs.work_queue.selectors import failures
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

PAGE = "/support/directory/"
HEADER = "username,project,role,subject,email\n"
STAFF = "erin,,support,,\ngrace,,administrator,,\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(f"{HEADER}alice,project_1,pi,alice@idp.example,\nbob,project_1,,,\n{STAFF}")
    return path


@pytest.fixture
def erin(cast) -> Client:
    return cast("erin")


def text(client: Client) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", client.get(PAGE).content.decode()).split())


def test_before_anything_is_imported_the_page_says_so(erin) -> None:
    said = text(erin)
    assert "Automatic import is off (DIRECTORY_SOURCE is not set)" in said
    assert "No imports yet." in said
    assert "No imports yet." in erin.get("/support/").content.decode()


def test_a_source_is_shown_with_what_it_says_and_what_changed(erin, file: Path, now) -> None:
    import_from(str(file), cluster="lumi", now=now)
    row = DirectoryImport.objects.get()
    assert (row.source, row.projects, row.memberships, row.began, row.ended, row.relinked, row.skipped) == (
        *("csv", 1, 2),
        *(2, 0, 1, 0),
    )
    assert (row.roles_began, row.roles_ended) == (0, 1)  # frank's
    (source,) = erin.get(PAGE).context["sources"]
    assert (source.name, source.projects, source.memberships, source.identities, source.roles) == ("csv", 1, 2, 1, 2)
    assert "2026-11-20 12:30 UTC" in text(erin)
    assert "stored 1 2 2 0 1 0, 1 0" in text(erin)
    assert "Last imported" in erin.get("/support/").content.decode()


def test_ended_memberships_and_rows_left_out_are_named(erin, file: Path, now) -> None:
    import_from(str(file), cluster="lumi", now=now)
    file.write_text(f"{HEADER}alice,project_1,pi,alice@idp.example,\n<b>no name</b>,project_1,,,\n{STAFF}")
    call_command("import_projects", str(file), verbosity=0)
    said = text(erin)
    assert "bob in project_1" in said
    assert "&lt;b&gt;no name" in said
    assert "Show them" in said


def test_an_import_that_changed_nothing_says_why_and_hides_what_is_secret(erin, settings) -> None:
    settings.WALDUR_TOKEN, settings.WALDUR_OFFERING = "token", "offering"
    settings.DIRECTORY_SOURCE = "http://kaiku:hidden@127.0.0.1:1/api?key=hidden"
    import_directory(timezone.now())
    said = text(erin)
    assert "nothing changed http://127.0.0.1:1/api" in said
    assert "no answer" in said
    assert "http://127.0.0.1:1/api is imported every 15 minutes." in said
    assert "hidden" not in said
    assert "The last import failed" in erin.get("/support/").content.decode()


def test_a_fault_here_is_on_record_and_asked_again_for_ever(erin, file: Path, settings) -> None:
    """Whoever joins a project waits for no administrator once the fault has gone."""
    settings.DIRECTORY_SOURCE = str(file)
    refusing = True

    def refuse(execute, sql, params, many, context):
        if refusing and "jobs_listedmembership" in sql:
            raise DataError("value out of range")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        for _ in range(6):
            import_directory(timezone.now())
            WorkFailure.objects.update(next_at=None)
        (row,) = failures(IMPORT)
        assert (row.tries, row.set_aside_at) == (6, None)
        assert row.error.startswith("DataError at ")
        refusing = False
        assert "internal error: DataError" in text(erin)
        import_directory(timezone.now())
    assert not failures().exists()
    assert DirectoryImport.objects.filter(error="").count() == 1


def test_an_address_that_no_database_keeps_costs_its_row_alone(file: Path, now) -> None:
    addresses = (f"{'a' * 250}@users.example", "b\x00b@users.example", "carol@users.example")
    file.write_text(HEADER + "".join(f"person{row},project_1,,,{each}\n" for row, each in enumerate(addresses)))
    directory, change = import_from(str(file), cluster="lumi", now=now)
    assert directory.skipped == ("line 2: the e-mail address is not valid", "line 3: the e-mail address is not valid")
    assert change.memberships == 1


def test_a_directory_that_shrank_is_on_record(erin, file: Path, tmp_path: Path) -> None:
    people = "".join(f"person{number},project_1,,,\n" for number in range(30))
    file.write_text(f"{HEADER}{people}{STAFF}")
    call_command("import_projects", str(file), verbosity=0)
    file.write_text(f"{HEADER}alice,project_1,,,\n{STAFF}")
    with pytest.raises(CommandError):
        call_command("import_projects", str(file), verbosity=0)
    assert "30 of 30 would end" in text(erin)


def test_a_directory_that_would_take_the_last_administrator_is_on_record(erin, file: Path, settings) -> None:
    file.write_text(f"{HEADER}alice,project_1,,,\nerin,,administrator,,\n")
    call_command("import_projects", str(file), verbosity=0)
    file.write_text(f"{HEADER}alice,project_1,,,\nerin,,support,,\n")
    settings.DIRECTORY_SOURCE = str(file)
    import_directory(timezone.now())
    assert "csv would remove the role of the last administrator" in text(erin)
    assert User.objects.get(is_superuser=True).username == "erin"


def test_people_and_projects_that_no_directory_covers_are_named(erin, file: Path, now) -> None:
    record_job(job_record(project_id="project_unknown"))
    Project.objects.create(name="project_without_jobs")
    import_from(str(file), cluster="lumi", now=now)
    context = erin.get(PAGE).context
    assert list(context["unlisted"]) == ["project_unknown"]
    assert "alice" not in context["unlinked"]
    assert "bob" in context["unlinked"]
    User.objects.filter(username="bob").update(is_active=False)
    assert "bob" not in erin.get(PAGE).context["unlinked"]


def test_old_imports_are_forgotten(file: Path, now) -> None:
    for days in (0, 1):
        import_from(str(file), cluster="lumi", now=now + days * timedelta(days=1))
    import_from(str(file), cluster="lumi", now=now + KEPT + timedelta(hours=1))
    assert DirectoryImport.objects.count() == 2


def test_the_page_costs_the_same_queries_for_one_import_and_for_twenty(erin, file: Path, now) -> None:
    counts = []
    for number in (1, 30):
        for minute in range(number):
            import_from(str(file), cluster="lumi", now=now + timedelta(minutes=minute))
        with CaptureQueriesContext(connection) as queries:
            assert erin.get(PAGE).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
