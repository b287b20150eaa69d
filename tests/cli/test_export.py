"""`kaiku export`: one's own runs as a file, passed on as they come; nothing is replaced unless told to."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import http_answer
from tests.cli.portals import Person, Served, sample, serving
from tests.cli.servers import answering, plain

CSV = b"cluster,job_id\r\nlumi,1\r\n"
JOB = "/api/v1/jobs/lumi/17300020/"
ANSWERS = {
    "/api/v1/performance.csv": CSV,
    "/api/v1/performance.parquet": b"PAR1",
    JOB: sample("job_inefficient.json"),
    f"{JOB}performance.json": b'{"schema": "kaiku-learning/1"}\n',
}


@pytest.fixture
def portal() -> Iterator[Served]:
    with serving(ANSWERS) as served:
        yield served


@pytest.fixture
def alice(portal: Served, tmp_path: Path) -> Person:
    return Person(tmp_path, portal.url)


def test_all_runs_are_printed_as_csv(alice: Person, portal: Served) -> None:
    assert alice.bytes_of("export") == (0, CSV)
    alice.bytes_of("export", "--since", "2026-11-01", "--until", "2026-11-02T12:00:00+01:00")
    assert portal.requested == [
        "/api/v1/performance.csv",
        "/api/v1/performance.csv?since=2026-11-01&until=2026-11-02T12%3A00%3A00%2B01%3A00",
    ]


def test_one_job_is_found_and_written_in_the_format_that_the_name_states(alice: Person, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert alice.shown("export", "lumi/17300020", "-o", str(path)) == f"Written: {path}\n"
    assert path.read_bytes() == b'{"schema": "kaiku-learning/1"}\n'
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_is_replaced_only_if_told_to(alice: Person, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs"
    path.write_text("mine")
    assert alice.bytes_of("export", "-o", str(path))[0] == 2
    assert "exists: --force replaces it" in capfd.readouterr().err
    assert path.read_text() == "mine"
    assert alice.bytes_of("export", "-o", str(path), "--force")[0] == 0
    assert path.read_bytes() == CSV


def test_an_answer_that_breaks_off_leaves_no_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nclust\r\n"
    path = tmp_path / "runs.csv"
    with answering([broken]) as (port, _):
        status, _ = Person(tmp_path, f"http://127.0.0.1:{port}").bytes_of("export", "-o", str(path))
    assert status == 4
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("runs")]


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_export_may_be_longer_than_other_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    monkeypatch.setattr(http_answer, "ANSWER_BYTES_MAX", 1000)
    content = CSV * 1000
    body, more = (gzip.compress(content), "Content-Encoding: gzip\r\n") if is_packed else (content, "")
    more += "Connection: close\r\n"
    with answering([plain(body, more=more)]) as (port, _):
        assert Person(tmp_path, f"http://127.0.0.1:{port}").bytes_of("export") == (0, content)


def test_what_the_portal_refuses_is_said(alice: Person, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.jsonl"
    assert alice.bytes_of("export", "-o", str(path))[0] == 1
    assert not path.exists()
    assert "no such job" in capfd.readouterr().err


def test_a_full_disk_is_no_fault_of_the_portal(alice: Person, capfd: pytest.CaptureFixture[str]) -> None:
    assert alice.bytes_of("export", "-o", "/proc/kaiku.csv")[0] == 2
    assert "cannot write '/proc/kaiku.csv'" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--format", "xlsx"),
        ("-o",),
        ("-o", ""),
        ("-o", "runs.xlsx"),
        ("--offline",),
        ("lumi/17300020", "--since", "2026-11-01"),
        ("1", "2"),
        ("x",),
    ],
)
def test_wrong_usage(alice: Person, words: tuple[str, ...]) -> None:
    assert alice.bytes_of("export", *words)[0] == 2


def test_parquet_is_not_for_a_terminal(alice: Person) -> None:
    assert alice.bytes_of("export", "--format", "parquet", is_tty=True)[0] == 2
    assert alice.bytes_of("export", "--format", "parquet") == (0, b"PAR1")
