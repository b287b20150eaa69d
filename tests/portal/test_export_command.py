"""`manage.py export_performance`: what an operator exports, and that it is logged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jobs.models import AuditEntry
from jobs.processes.names import this_process
from jobs.services import record_job
from tests.payloads import job_record

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def export(capfdbinary) -> Callable[..., str]:
    """What the command prints."""

    def printed(*words: str) -> str:
        capfdbinary.readouterr()
        call_command("export_performance", *words)
        return capfdbinary.readouterr().out.decode()

    return printed


def numbers(printed: str) -> list[int]:
    return [json.loads(line)["job_id"] for line in printed.splitlines()]


@pytest.fixture
def three(reported: Callable[..., None]) -> None:
    """Two of alice's runs, the second a day later, and one of bob's in another project."""
    reported(1)
    reported(2, started_at="2026-11-21T10:00:00Z", ended_at="2026-11-21T12:00:00Z")
    reported(3, user_id="bob", project_id="project_465000002")


def logged() -> list[tuple[Any, ...]]:
    entries = AuditEntry.objects.filter(action="runs_exported").order_by("pk")
    return list(entries.values_list("actor", "kind", "name", "details"))


def test_named_runs_come_in_each_format(three, export) -> None:
    assert json.loads(export("lumi/1"))["job_metadata"]["job_id"] == "1"
    assert export("1", "--format", "slurm-comment") == "kaiku:class=inefficient;util=22;v=1\n"
    assert numbers(export("2", "1", "1", "--format", "jsonl")) == [1, 2]
    assert [each["job_metadata"]["user_id"] for each in json.loads(export("1", "3"))] == ["alice", "bob"]
    assert export("1", "--format", "csv").startswith("cluster,job_id,")


def test_without_names_the_filters_decide(three, export) -> None:
    assert numbers(export("--format", "jsonl")) == [1, 3, 2]
    assert numbers(export("--format", "jsonl", "--user", "alice")) == [1, 2]
    assert numbers(export("--format", "jsonl", "--project", "project_465000002")) == [3]
    assert numbers(export("--format", "jsonl", "--since", "2026-11-21")) == [2]
    assert numbers(export("--format", "jsonl", "--until", "2026-11-21", "--user", "alice")) == [1]


def test_each_export_is_logged_with_what_was_asked_and_how_many_runs(three, export) -> None:
    export("1")
    export("1", "3", "--format", "csv")
    export("--user", "alice", "--since", "2026-11-01", "--format", "jsonl")
    export("--format", "slurm-comment")
    command = ("manage.py export_performance", "job")
    assert logged() == [
        (*command, "lumi/1", "learning, 1 run"),
        (*command, "lumi/1, lumi/3", "csv, 2 runs"),
        (*command, "since 2026-11-01, user alice", "jsonl, 2 runs"),
        (*command, "all runs", "slurm-comment, 3 runs"),
    ]


def test_a_file_is_written_whole_or_not_at_all(three, export, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "runs.parquet"
    assert export("--format", "parquet", "-o", str(path)) == ""
    assert pq.read_table(path)["job_id"].to_pylist() == [1, 3, 2]
    whole = path.read_bytes()

    def fails(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("reports.performance.selectors.judged_rows", fails)
    with pytest.raises(RuntimeError):
        export("--format", "parquet", "-o", str(path))
    assert [each.name for each in tmp_path.iterdir()] == ["runs.parquet"]
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("all.csv", "csv"), ("ALL.CSV", "csv"), ("all.jsonl", "jsonl"), ("all.parquet", "parquet")),
        *(("all.json", "learning"), ("all.txt", "slurm-comment")),
    ],
)
def test_without_a_format_the_name_of_the_file_decides_and_it_is_said(
    three, tmp_path: Path, capsys, name: str, form: str
) -> None:
    path = tmp_path / name
    call_command("export_performance", "-o", str(path))
    assert capsys.readouterr().err == f"3 runs written to {path} as {form}\n"
    assert logged()[0][3] == f"{form}, 3 runs"
    starts = {"csv": b"cluster,", "jsonl": b"{", "parquet": b"PAR1", "learning": b"[\n{", "slurm-comment": b"lumi/1"}
    assert path.read_bytes().startswith(starts[form])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "all.xlsx"), "all.xlsx: a file must end as its format: .json learning, .jsonl jsonl, .csv csv"),
        (("-o", "all.xlsx", "--format", "csv"), "a file must end as its format"),
        (("-o", "all"), "a file must end as its format"),
        (("-o", "all.csv", "--format", "learning"), "a file with csv, and --format is learning: name it .json"),
        (("-o", "all.xlsx", "--format", "institutional", "--month", "2026-10"), "must end .* .jsonl, .csv, .parquet"),
    ],
)
def test_a_name_that_is_not_of_the_format_is_an_error(three, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said) as raised:
        call_command("export_performance", *words)
    assert raised.value.returncode == 2
    assert logged() == []


def test_what_a_killed_process_left_of_a_file_is_removed_by_the_next_one(three, export, tmp_path: Path) -> None:
    """A process with the machine of this one and its number, but another start; one of another host; another file's."""
    machine, pid, started = this_process().rsplit(" ", 2)
    left = quote(f"{machine} {pid} {int(started) - 1}", safe="")
    names = [f".{name}.unfinished" for name in (f"all.csv.{left}", "all.csv.elsewhere%201%201", f"b.csv.{left}")]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    export("-o", str(tmp_path / "all.csv"))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([*names[1:], "all.csv"])


def test_what_cannot_be_exported_is_said(three, export) -> None:
    record_job(job_record(job_id=4, state="RUNNING", ended_at=None))
    for words, said in (
        (("99",), "no job 99 is stored here"),
        (("4",), "lumi/4 has not ended yet"),
        (("1", "--user", "alice"), "name jobs, or use filters: not both"),
        (("--user", "nobody"), "no account nobody is stored here"),
        (("--project", "none"), "no project none is stored here"),
        (("--since", "soon"), "since must be a day"),
        (("--since", "0001-01-01"), "since must be a day .* from 2000 to 2099"),
    ):
        with pytest.raises(CommandError, match=said):
            export(*words)
    assert logged() == []


def test_the_dictionary_is_printed_without_reading_a_run(export, django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        assert "| `gpu_hours` | number | billing_unit |" in export("--dictionary")
