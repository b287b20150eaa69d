"""`kaiku history`: rows with a bar of use, CSV with stable columns, and what is asked of the portal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cli.terminal import width
from tests.cli.portals import Person, sample, serving

JOBS = "/api/v1/jobs/"
EVIL = "=cmd|' /C calc'!A0,\"\x1b]0;owned\x07\u202e\n漢字" + "x" * 300

# Without GPUs and run time 8 + 11 + 9 + 11 + 5 + 7 + 6 columns and seven gaps of 2 leave 9 for the name.
TABLE_OF_80 = """\
JOB       NAME       ENDED        STATE      CLASS               GPU USE  UNUSED
17500053  diffusio…  11-23 00:06  completed  Wasted       █░░░░   11.6 %    17.7
"""
# Without state and bar too 8 + 11 + 11 + 7 + 6 columns and five gaps leave 7.
TABLE_OF_60 = """\
JOB       NAME     ENDED        CLASS        GPU USE  UNUSED
17500053  diffus…  11-23 00:06  Wasted        11.6 %    17.7
"""
# 8 + 11 + 7 columns and three gaps leave 8.
TABLE_OF_40 = """\
JOB       NAME      CLASS        GPU USE
17500053  diffusi…  Wasted        11.6 %
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
        assert alice.shown("history", columns=60).startswith(TABLE_OF_60)
        assert alice.shown("history", columns=40).startswith(TABLE_OF_40)
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


WRONG = (
    ("job_id", "17300020", "job_id is not a whole number from 0"),
    ("job_id", True, "job_id is not a whole number from 0"),
    ("job_id", None, "job_id is missing"),
    ("cluster", "", "cluster is empty"),
    ("state", 5, "state is not text"),
    ("gpus_allocated", "eight", "gpus_allocated is not a number from 0"),
    ("walltime_used_s", -1, "walltime_used_s is not a number from 0"),
    ("ended_at", "yesterday", "ended_at is not a time"),
    ("efficiency", [], "efficiency is not an object"),
    ("efficiency", {}, "efficiency efficiency_class is missing"),
    ("avg_gpu_util", 4000.0, "efficiency avg_gpu_util is not a percentage"),
    ("avg_gpu_util", "high", "efficiency avg_gpu_util is not a percentage"),
)


@pytest.mark.parametrize("more", [(), ("--json",), ("--csv",)])
@pytest.mark.parametrize(("name", "value", "why"), WRONG)
def test_a_row_that_is_none_is_no_answer(
    tmp_path: Path, name: str, value: object, why: str, more: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    said = sample("jobs.json")
    row = said["results"][2]["efficiency"] if name == "avg_gpu_util" else said["results"][2]
    row[name] = value
    if value is None:
        del row[name]
    with serving({JOBS: sample("jobs.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        fresh = alice.shown("history", *more)
        portal.answers[JOBS] = said
        assert alice.bytes_of("history", *more) == (4, b"")
        assert capfd.readouterr().err == (
            f"kaiku: the portal's answer is not a list of jobs (results 3 {why}): check KAIKU_URL\n"
        )
    # What was stored before is still there.
    assert alice.shown("history", *more).startswith(fresh)


@pytest.mark.parametrize(
    "said", [[], 5, {}, {"results": []}, {"count": 1, "results": {}}, {"count": 1, "results": [1]}]
)
def test_another_document_is_no_list_of_jobs(tmp_path: Path, said: object) -> None:
    with serving({JOBS: said}) as portal:
        assert Person(tmp_path, portal.url).bytes_of("history") == (4, b"")


def test_without_the_portal_a_shorter_list_is_part_of_the_stored_one(tmp_path: Path) -> None:
    with serving({JOBS: sample("jobs.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        every = alice.shown("history").splitlines()
    shown = alice.shown("history", "--limit", "2", "--offline").splitlines()
    assert [line.split()[0] for line in shown[1:3]] == [line.split()[0] for line in every[1:3]]
    assert shown[4].startswith("2 of 37 jobs; ")
    assert len(json.loads(alice.bytes_of("history", "--limit", "3", "--json")[1])["results"]) == 3
    assert len(alice.shown("history", "--limit", "1", "--csv").splitlines()) == 2
    assert alice.bytes_of("history", "--limit", "2", "--days", "7", "--offline")[0] == 4


def test_a_work_that_has_no_job_in_a_year_is_not_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nothing = {"count": 0, "results": []}
    asked = f"{JOBS}?own=1&days=366&limit=1&work=train"
    with serving({JOBS: nothing, asked: sample("jobs.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown("history", "--work", "train") == "No jobs match these filters\n"
        assert alice.bytes_of("history", "--work", "trian")[0] == 1
        assert (
            capfd.readouterr().err
            == "kaiku: no work of yours is called 'trian': `kaiku history --by-work` names yours\n"
        )


def test_no_job_is_no_failure(tmp_path: Path) -> None:
    with serving({JOBS: {"count": 0, "results": []}}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown("history", "--days", "7") == "No jobs in the last 7 days\n"
        assert alice.shown("history", "--class", "wasted") == "No jobs match these filters\n"
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
        lines = Person(tmp_path, portal.url).shown("history", columns=120, is_tty=True).splitlines()
    assert ("\x1b" in lines[1], "\x1b[33m██" in lines[2]) == (False, True)
