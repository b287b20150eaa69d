"""From runs to the file for other sites, and from their file to the Site page: by the commands an operator uses."""

from __future__ import annotations

import json
import re
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pandas as pd
import pytest
from django.core.management import CommandError, call_command

from analysis.anonymous.bands import Run
from analysis.anonymous.lines import json_schema
from analysis.anonymous.month import figures_of
from analysis.anonymous.services import anonymous_months
from analysis.models import ClosedMonth, ElsewhereMonth, JobEfficiency
from analysis.months.services import close_months
from jobs.audit.models import AuditEntry
from portal.charts.programs import program_codes
from portal.months import SITE
from tests.analysis.elsewhere.files import HEAD, document, lines, rows, shared
from tests.analysis.site.test_months import NOW, run

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PEOPLE = ("alice", "bob", "carol", "dave", "erin")
OTHERS = ("frank", "grace", "heidi", "ivan", "judy")


@pytest.fixture
def october(db) -> None:
    """Ten people with a project each: five used their eight GPUs by 75 %, five by 10 %; mallory's run is short."""
    for number, user in enumerate((*PEOPLE, *OTHERS), start=1):
        util = 75.0 if user in PEOPLE else 10.0
        run(number, user, util, project_id=f"project_{number}", job_name="gromacs_md")
    close_months(SITE, NOW)
    close_months(anonymous_months(program_codes), NOW)


@pytest.fixture
def stored(db) -> None:
    """The same month as it is stored."""
    runs = [
        Run(number, number, 8.0, gpu="MI250X", gpus=8, state="COMPLETED", efficiency_class=name)
        for number, name in enumerate(("EFFICIENT", "WASTED") * 5)
    ]
    figures = msgspec.to_builtins(figures_of(runs, b"of this test alone"))
    ClosedMonth.objects.create(kind="other_sites", first_day=date(2026, 10, 1), figures=figures, closed_at=NOW)


def export(*arguments: str) -> str:
    """What the command says beside the file."""
    said = StringIO()
    call_command("export_performance", "--format", "institutional", *arguments, stderr=said)
    return said.getvalue()


def imported(path: Path, site: str = "Elsewhere") -> tuple[str, str]:
    """What the command prints, and what it reports as rejected."""
    printed, said = StringIO(), StringIO()
    call_command("import_performance", str(path), "--site", site, stdout=printed, stderr=said)
    return printed.getvalue(), said.getvalue()


def file_of(folder: Path, items: Any) -> Path:
    path = folder / "elsewhere.jsonl"
    path.write_bytes(lines(items))
    return path


def test_a_closed_month_is_exported_as_documented(october, tmp_path) -> None:
    path = tmp_path / "october.jsonl"
    assert export("--month", "2026-10", "-o", str(path)) == (
        f"2026-10: 10 rows; people withheld: none\n10 rows written to {path} as jsonl\n"
    )
    head, *written = map(json.loads, path.read_text().splitlines())
    validator = jsonschema.Draft202012Validator(json_schema())
    assert [error for line in (head, *written) for error in validator.iter_errors(line)] == []
    assert (head["site"], head["month"], head["rows"], head["people_min"]) == ("LUMI", "2026-10", 10, 5)
    stated = {name: written[0][name] for name in ("program", "gpu", "partition_type", "gpus", "run_time_h", "ending")}
    assert stated == {
        **{"program": "gromacs", "gpu": "AMD MI250X GCD", "partition_type": "shared", "gpus": "5-8"},
        **{"run_time_h": "1-4", "ending": "completed"},
    }
    assert sorted(row["gpu_use_percent"] for row in written) == ["5-15"] * 5 + ["70-85"] * 5
    # Any four digits may stand in a key by chance.
    text = path.read_text()
    said = re.sub(r'"key":"[0-9a-f]+"', "", text)
    assert not any(word in said for word in (*PEOPLE, *OTHERS, "project_1", "nid", "gromacs_md", "2026-10-15", "7200"))
    entry = AuditEntry.objects.get(action="runs_exported")
    assert (entry.actor, entry.name, entry.details) == (
        *("manage.py export_performance", "2026-10"),
        "institutional, jsonl, 10 rows",
    )
    # The month as another site reads it, from the documents of its runs.
    learning = tmp_path / "learning.json"
    call_command("export_performance", "--format", "learning", "--since", "2026-10-01", "-o", str(learning))
    said = ("learning: 10 rows read, 0 rejected, 10 anonymous rows in 1 month, 0 withheld\n1 month stored\n", "")
    assert imported(learning) == said
    # Whoever leaves and whatever arrives, every export of the month is the same.
    run(99, "mallory", 50.0, project_id="project_99")
    JobEfficiency.objects.filter(user__username="alice").delete()
    close_months(anonymous_months(program_codes), NOW)
    again = tmp_path / "again.jsonl"
    export("--month", "2026-10", "-o", str(again))
    assert again.read_text() == text


def test_a_strangers_tool_reads_csv_and_parquet(stored, tmp_path) -> None:
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        path = tmp_path / f"october.{ending}"
        export("--month", "2026-10", "-o", str(path))
        table = read(path)
        assert table.groupby("efficiency_class").key.nunique().to_dict() == {"EFFICIENT": 5, "WASTED": 5}
        assert set(table.month) == {"2026-10"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--month", "2026-11"), "2026-11 is not closed here.* `manage.py close_months` does, which states why"),
        (("--month", "2026-10-05"), "only whole closed months"),
        ((), "takes --month"),
        (("--month", "2026-10", "--user", "alice"), "no filters"),
        (("--month", "2026-10", "17"), "no jobs"),
    ],
)
def test_nothing_but_a_whole_closed_month_is_exported(db, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        export(*arguments)
    assert not AuditEntry.objects.filter(action="runs_exported").exists()


def test_a_month_of_four_people_has_no_row(db, tmp_path) -> None:
    for number, user in enumerate(PEOPLE[:4], start=1):
        run(number, user, project_id=f"project_{number}")
    close_months(SITE, NOW)
    assert close_months(anonymous_months(program_codes), NOW) == 1
    path = tmp_path / "october.jsonl"
    assert export("--month", "2026-10", "-o", str(path)) == (
        f"2026-10: 0 rows; people withheld: few_people at most 5\n0 rows written to {path} as jsonl\n"
    )
    assert len(path.read_text().splitlines()) == 1


def test_only_months_that_the_site_closed_are_anonymised(db) -> None:
    run(1, "alice")
    assert close_months(anonymous_months(program_codes), NOW) == 0
    close_months(SITE, NOW)
    assert (close_months(anonymous_months(program_codes), NOW), close_months(anonymous_months(program_codes), NOW)) == (
        1,
        0,
    )
    assert ClosedMonth.objects.get(kind="other_sites").first_day == date(2026, 10, 1)


def test_the_same_file_twice_changes_nothing_and_a_newer_one_replaces_its_month(db, tmp_path) -> None:
    path = file_of(tmp_path, shared(*rows(5)))
    assert imported(path)[0] == (
        "institutional: 5 rows read, 0 rejected, 5 anonymous rows in 1 month, 0 withheld\n1 month stored\n"
    )
    first = ElsewhereMonth.objects.values().get()
    assert imported(path)[0].endswith("nothing new\n")
    assert ElsewhereMonth.objects.values().get() == first
    imported(file_of(tmp_path, shared(*rows(9))))
    assert [count for _, count in ElsewhereMonth.objects.get().groups] == [9]
    imported(path, "Another site")
    imported(file_of(tmp_path, shared(*rows(5), month="2026-09")))
    assert ElsewhereMonth.objects.count() == 3
    details = AuditEntry.objects.filter(action="elsewhere_imported").values_list("name", "details")
    assert details[0] == ("Elsewhere", "institutional, 2026-10 to 2026-10, 5 rows, 0 rejected")
    assert len(details) == 4


def test_bad_documents_are_reported_with_line_and_member_and_the_others_are_stored(db, tmp_path) -> None:
    path = file_of(tmp_path, [{"key": "\x1b[2J"}, *map(document, PEOPLE), b"\x00"])
    printed, said = imported(path)
    assert said.splitlines() == [
        f"{path}:1: Object missing required field `job_metadata`",
        f"{path}:7: not valid JSON of an object",
    ]
    # Five good ones and the two.
    assert printed.startswith("learning: 7 rows read, 2 rejected, 5 anonymous rows in 1 month")


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([*shared(*rows(31))[:18]], "states 31 rows, and 17 were found"),
        (shared(*rows(9), b"\x00"), "1 of 10 rows cannot be used"),
        (shared(), "2026-10: no rows; nothing stored"),
        (shared(*rows(4)), "2026-10: no anonymous rows, because fewer than 5 share each combination; nothing stored"),
        (shared(*rows(5), month="2098-12"), "2098-12: the month has not ended yet; nothing stored"),
    ],
)
def test_a_file_that_is_not_whole_or_has_nothing_replaces_nothing(db, tmp_path, items: list[Any], said: str) -> None:
    imported(file_of(tmp_path, shared(*rows(31))))
    with pytest.raises(CommandError, match=said):
        imported(file_of(tmp_path, items))
    assert [count for _, count in ElsewhereMonth.objects.get().groups] == [31]
    assert AuditEntry.objects.filter(action="elsewhere_imported").count() == 1


def test_documents_of_a_month_that_has_not_ended_or_of_too_few_people_are_left_out_alone(db, tmp_path) -> None:
    coming = [document(name, end_time="2098-12-01T00:30:00Z") for name in PEOPLE]
    few = [document(name, end_time="2026-09-15T00:30:00Z") for name in PEOPLE[:4]]
    path = file_of(tmp_path, [*coming, *few, *map(document, PEOPLE)])
    printed, said = imported(path)
    assert said.splitlines() == [
        f"{path}: 2026-09: no anonymous rows, because fewer than 5 share each combination; nothing stored",
        f"{path}: 2098-12: the month has not ended yet; nothing stored",
    ]
    assert printed.endswith("1 month stored\n")
    assert str(ElsewhereMonth.objects.get().first_day) == "2026-10-01"


def test_a_file_without_a_usable_row_replaces_nothing(db, tmp_path) -> None:
    imported(file_of(tmp_path, shared(*rows(5))))
    with pytest.raises(CommandError, match="No row can be used; line 2"):
        imported(file_of(tmp_path, [HEAD, {"key": "1"}]))
    assert [count for _, count in ElsewhereMonth.objects.get().groups] == [5]


def test_users_of_learning_files_are_dropped_at_the_border(db, tmp_path) -> None:
    imported(file_of(tmp_path, [document(name) for name in PEOPLE for _ in range(3)]))
    (row,) = ElsewhereMonth.objects.all()
    assert (row.form, [count for _, count in row.groups]) == ("learning", [5])
    stored = repr(list(ElsewhereMonth.objects.values())) + repr(list(AuditEntry.objects.values()))
    assert not any(name in stored for name in (*PEOPLE, "project_of", "gromacs_md"))


def test_a_site_is_removed_with_all_it_shared(db, tmp_path) -> None:
    imported(file_of(tmp_path, shared(*rows(5))))
    imported(file_of(tmp_path, shared(*rows(5))), "Another site")
    printed = StringIO()
    call_command("import_performance", "--remove", "Elsewhere", stdout=printed)
    assert printed.getvalue() == "1 month removed\n"
    assert ElsewhereMonth.objects.get().site == "Another site"
    assert AuditEntry.objects.filter(action="elsewhere_removed", name="Elsewhere", details="1 months").exists()
    with pytest.raises(CommandError, match="stored sites: Another site"):
        call_command("import_performance", "--remove", "Elsewhere")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a file and --site"),
        (("rows.jsonl",), "name a file and --site"),
        (("rows.jsonl", "--site", "<b>"), "a site has a name"),
        (("rows.jsonl", "--site", "x" * 65), "a site has a name"),
        (("rows.jsonl", "--remove", "Elsewhere"), "not both"),
        (("/nowhere/rows.jsonl", "--site", "Elsewhere"), "cannot be read: No such file"),
    ],
)
def test_wrong_options_of_the_import_are_errors(db, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("import_performance", *arguments)
