"""`kaiku history`: rows with a bar of use, CSV with stable columns, and what is asked of the portal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from collector.cli.terminal import width
from tests.collector.cli.portals import Person, sample, serving

JOBS = "/api/v1/jobs/"
EVIL = "=cmd|' /C calc'!A0,\"\x1b]0;owned\x07\u202e\n漢字" + "x" * 300

# Without the class and the run time 8 + 11 + 9 + 4 + 10 + 7 + 6 columns and seven gaps leave 11 for the name.
TABLE_OF_80 = """\
JOB       NAME         ENDED        STATE      GPUS              GPU USE  UNUSED
17500053  diffusion_…  11-23 00:06  completed     8  █░░░░░░░░░   11.6 %    17.7
"""
HEADER = (
    "cluster,job_id,attempt,array_job_id,array_task_id,job_name,project,partition,state,submitted_at,started_at,ended_at,"
    "gpus,run_time_s,time_limit_s,class,use_percent,coverage_fraction,gpu_hours,unused_gpu_hours"
)


@pytest.mark.usefixtures("in_utc", "in_2026")
def test_a_row_for_each_job(tmp_path: Path) -> None:
    with serving({JOBS: sample("jobs.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        lines = alice.shown("history").splitlines()
        assert lines[:2] == TABLE_OF_80.splitlines()
        assert len(lines) == 1 + 4 + 2
        assert lines[-1].startswith("4 of 37 jobs; ")
        assert portal.requested == [f"{JOBS}?own=1&days=90&limit=500"]
        wide = alice.shown("history", columns=130).splitlines()
        assert wide[0].split() == "JOB NAME ENDED STATE GPUS RUN TIME CLASS GPU USE UNUSED".split()
        assert "diffusion_sweep  11-23 00:06  completed     8   5 h 00 min  Wasted" in wide[1]


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (("--days", "7", "--limit=3"), "own=1&days=7&limit=3"),
        (("--work", "train llama"), "own=1&days=90&limit=500&work=train%20llama"),
        (("--class", "Wasted", "--worst"), "own=1&days=90&limit=500&class=WASTED&sort=wasted"),
    ],
)
def test_what_is_requested(tmp_path: Path, words: tuple[str, ...], query: str) -> None:
    with serving({JOBS: sample("jobs.json")}) as portal:
        Person(tmp_path, portal.url).shown("history", *words)
        assert portal.requested == [f"{JOBS}?{query}"]


@pytest.mark.parametrize(
    "words", [("--days", "0"), ("--days", "367"), ("--days", "x"), ("--class", "good"), ("--csv", "--json"), ("x",)]
)
def test_wrong_usage_requests_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    with serving({}) as portal:
        assert Person(tmp_path, portal.url).bytes_of("history", *words)[0] == 2
        assert portal.requested == []


@pytest.mark.parametrize("columns", [40, 50, 61, 80, 120, 200])
def test_hostile_names_stay_in_their_column(tmp_path: Path, columns: int) -> None:
    said = sample("jobs.json")
    for run in said["results"]:
        run |= {"job_name": EVIL, "state": EVIL}
    said["results"][0]["cluster"] = "other"
    with serving({JOBS: said}) as portal:
        alice = Person(tmp_path, portal.url)
        shown = alice.shown("history", columns=columns)
        assert all(width(line) <= columns for line in shown.splitlines())
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(shown)
        assert "other/17500053" in shown
        plain = alice.bytes_of("history", columns=columns, LANG="C")[1].decode("ascii")
        assert all(len(line) <= columns for line in plain.splitlines())


def test_csv_has_stable_columns_and_no_formula(tmp_path: Path) -> None:
    said = sample("jobs.json")
    said["results"][0]["job_name"] = EVIL
    said["results"][1]["efficiency"] = None
    with serving({JOBS: said}) as portal:
        status, out = Person(tmp_path, portal.url).bytes_of("history", "--csv", columns=40, is_tty=True, LANG="C")
    assert (status, out.decode().split("\n")[0]) == (0, HEADER)
    rows = list(csv.DictReader(io.StringIO(out.decode(), newline="")))
    assert len(rows) == 4
    assert rows[0]["job_name"].startswith("'=cmd|")
    assert not {"\x1b", "\x07", "\u202e"} & set(out.decode())
    measured = [(row["class"], row["use_percent"], row["unused_gpu_hours"]) for row in rows[:2]]
    assert measured == [("WASTED", "11.559875", "17.688025"), ("", "", "")]
    assert rows[2]["run_time_s"] == "18000"


def test_no_job_is_no_failure(tmp_path: Path) -> None:
    with serving({JOBS: {"count": 0, "results": []}}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown("history") == "No jobs match these filters\n"
        assert alice.shown("history", "--csv") == f"{HEADER}\n"


def test_the_age_of_a_stored_list_is_not_within_the_csv(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving({JOBS: sample("jobs.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        fresh = alice.shown("history", "--csv")
    assert alice.shown("history", "--csv") == fresh
    assert capfd.readouterr().err == "kaiku: as it was less than a minute ago: the portal did not answer\n"
    assert alice.shown("history", "--offline").splitlines()[-1] == "as it was less than a minute ago"
    assert alice.bytes_of("history", "--days", "30")[0] == 4


def test_a_long_list_is_paged_only_on_a_terminal(tmp_path: Path) -> None:
    said = sample("jobs.json")
    said["results"] *= 20
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o700)
    with serving({JOBS: said}) as portal:
        alice = Person(tmp_path, portal.url)
        paging = {"KAIKU_PAGER": str(pager), "PATH": "/usr/bin:/bin"}
        assert len(alice.shown("history", **paging).splitlines()) == 83
        assert not (tmp_path / "paged").exists()
        assert alice.shown("history", is_tty=True, **paging) == ""
        assert "\x1b[31m" in (tmp_path / "paged").read_text()


def test_a_bar_has_the_colour_of_the_class(tmp_path: Path) -> None:
    said = sample("jobs.json")
    # Too short for a class, however much it used.
    said["results"][0]["efficiency"] |= {"efficiency_class": "UNKNOWN", "avg_gpu_util": 95.0}
    with serving({JOBS: said}) as portal:
        lines = Person(tmp_path, portal.url).shown("history", is_tty=True).splitlines()
    assert ("\x1b" in lines[1], "\x1b[33m██" in lines[2]) == (False, True)
