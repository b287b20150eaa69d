"""`kaiku last`: at most twelve lines within any width, from answers that the real portal gave."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from cli.terminal import width
from tests.cli.portals import Person, sample, serving

LATEST = "/api/v1/jobs/latest/"
JOBS = ("inefficient", "wasted", "efficient", "partial", "short", "whole_request", "never_started")
EVIL = "\x1b]0;owned\x07\x1b[2J\u202etxt\n\r" + "漢" * 300

INEFFICIENT = """\
lumi/17300020 · gromacs_md · completed · small-g
8 GPUs · ran 21 h 56 min of 1 d 00 h · ended 2026-09-01 01:47
Inefficient  ██░░░░░░░░ 20.6 % GPU use · 69.7 of 87.7 GPU-hours unused

Some GPUs stayed idle: 6 of 8 GPUs were idle for > 99 % of 21 h 56 min
(nid005094: 2-7).

Suggested request, saves about 43.9 of 87.7 GPU-hours:
  --gpus=8 → --gpus=2
  --cpus-per-task=3 → --cpus-per-task=2

Full report: PORTAL/jobs/lumi/17300020/
"""
EFFICIENT = """\
lumi/17300314 · gromacs_md · completed · small-g
2 GPUs · ran 10 h 18 min of 12 h 00 min · ended 2026-11-21 21:59
Efficient  ████████░░ 80.4 % GPU use · 2.02 of 10.3 GPU-hours unused

No problem was found.

The request fits the job; no change needed.

Full report: PORTAL/jobs/lumi/17300314/
"""
NEVER_STARTED = """\
lumi/17300209 · train_llama · cancelled · small-g
8 GPUs requested · ended 2026-10-24 16:40
This job ended before it got any GPU: there is nothing to report, and nothing
was billed.
Full report: PORTAL/jobs/lumi/17300209/
"""
# Five changed lines do not fit below a saving in two lines: then all options that are to be written, never a part.
WASTED_IN_50_COLUMNS = """\
lumi/17500053 · diffusion_sweep · completed
8 GPUs · ran 5 h 00 min of 8 h 00 min
Wasted  █░░░░░░░░░ 11.6 % GPU use
Whole node billed, few GPUs used: standard-g
allocates and bills whole nodes: 1 node with 8
GPUs, of which 1 worked.

Suggested request, saves about 17.5 of
20.0 GPU-hours:
  --partition=small-g --gpus=1 --cpus-per-task=7
  --mem=60G --time=08:00:00
PORTAL/jobs/lumi/17500053/
"""
INEFFICIENT_IN_ASCII = """\
lumi/17300020 . gromacs_md . completed
8 GPUs . ran 21 h 56 min of 1 d 00 h
Inefficient  ##........ 20.6 % GPU use
"""


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("inefficient", 80, INEFFICIENT),
        ("efficient", 80, EFFICIENT),
        ("never_started", 80, NEVER_STARTED),
        ("wasted", 50, WASTED_IN_50_COLUMNS),
    ],
)
def test_a_job_in_twelve_lines(tmp_path: Path, name: str, columns: int, expected: str) -> None:
    with serving({LATEST: sample(f"job_{name}.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        # The address of the portal of a test has any length: it never decides where another line ends.
        assert alice.shown("last", columns=columns) == expected
        assert portal.requested == [LATEST]


def test_without_a_command_it_is_the_latest_job(tmp_path: Path) -> None:
    with serving({LATEST: sample("job_efficient.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown() == alice.shown("last")
        assert alice.shown("last", "--work", "a b/ä")
        assert portal.requested[-1] == f"{LATEST}?work=a%20b%2F%C3%A4"
        assert alice.bytes_of("last", "--json")[1].startswith(b'{"job": {"cluster": "lumi"')


def variants(name: str) -> list[dict]:
    """A captured answer, and the same with the worst that a name, an option or a sentence can be."""
    said = sample(f"job_{name}.json")
    worst = copy.deepcopy(said)
    worst["job"] |= {"job_name": EVIL, "partition": EVIL, "state": EVIL, "cluster": "lumi"}
    for found in worst.get("findings", ()):
        found |= {"title": EVIL, "text": EVIL}
    for advice in worst.get("recommendations", ()):
        advice |= {"diff": [f"--x={EVIL} -> --x={EVIL}2"] * 40, "request": [EVIL] * 40}
    return [said, worst]


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("columns", [40, 50, 61, 80, 200])
def test_never_more_than_twelve_lines_nor_wider_than_the_terminal(tmp_path: Path, name: str, columns: int) -> None:
    for said in variants(name):
        with serving({LATEST: said}) as portal:
            alice = Person(tmp_path, portal.url)
            fresh = alice.shown("last", columns=columns)
        for shown in (fresh, alice.shown("last", columns=columns)):
            lines = shown.splitlines()
            assert len(lines) <= 12
            assert max(width(line) for line in lines if "PORTAL" not in line) <= columns
            assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)
            plain = alice.bytes_of("last", "--offline", columns=columns, LANG="C")[1].decode("ascii").splitlines()
            assert max(len(line) for line in plain if "http" not in line) <= columns
        # The portal is gone: the last line shows how old the answer is.
        assert lines[-1][:32] == "as it was less than a minute ago"


@pytest.mark.usefixtures("in_utc")
def test_ascii_and_colour_only_where_they_can_be_shown(tmp_path: Path) -> None:
    with serving({LATEST: sample("job_inefficient.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        _, plain = alice.bytes_of("last", columns=40, LANG="C")
        assert plain.decode("ascii").startswith(INEFFICIENT_IN_ASCII)
        coloured = alice.bytes_of("last", is_tty=True)[1]
        assert b"\x1b[1;33mInefficient\x1b[0m" in coloured
        assert b"\x1b" not in alice.bytes_of("last", is_tty=True, NO_COLOR="1")[1]
        assert b"\x1b" not in alice.bytes_of("last")[1]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"state": "RUNNING", "ended_at": None}, "This job has not ended yet."),
        ({"state": "COMPLETED"}, "This job is not analysed yet."),
        ({"state": "COMPLETED", "gpus_allocated": 0}, "This job was allocated no GPUs"),
    ],
)
def test_why_there_is_no_report(tmp_path: Path, record: dict, why: str) -> None:
    job = sample("job_efficient.json")["job"] | record
    with serving({LATEST: {"job": job, "efficiency": None, "is_told_by_owner": False}}) as portal:
        assert Person(tmp_path, portal.url).shown("last").splitlines()[2].startswith(why)


def test_use_that_was_not_measured_has_no_bar(tmp_path: Path) -> None:
    said = sample("job_efficient.json")
    said["efficiency"] |= {"avg_gpu_util": None, "efficiency_class": "UNKNOWN"}
    with serving({LATEST: said}) as portal:
        assert Person(tmp_path, portal.url).shown("last").splitlines()[2] == "Unknown: GPU use not measured"


@pytest.mark.parametrize("said", [[], "x", {}, {"job": [], "efficiency": {}}, {"job": {"cluster": 5}, "findings": [1]}])
def test_an_answer_of_another_shape_is_no_failure_of_ours(tmp_path: Path, said: object) -> None:
    with serving({LATEST: said}) as portal:
        assert Person(tmp_path, portal.url).bytes_of("last")[0] in (0, 4)


def test_no_job_and_no_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving({}) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.bytes_of("last")[0] == 1
    assert alice.bytes_of("last")[0] == 4
    assert alice.bytes_of("last", "--wrk")[0] == 2
    assert alice.bytes_of("last", "more")[0] == 2
    assert alice.bytes_of("last", KAIKU_TOKEN="")[0] == 3
    assert len(capfd.readouterr().err.splitlines()) == 5


def without(said: dict, name: str) -> dict:
    return {key: value for key, value in said.items() if key != name}


REPORT = sample("job_inefficient.json")
RECORD = sample("job_never_started.json")
WRONG_REPORTS = (
    ([], "is not an object"),
    ({}, "job is missing"),
    ({"job": {}, "efficiency": None}, "job cluster is missing"),
    (without(REPORT, "findings"), "findings is missing"),
    (REPORT | {"findings": [{"title": "x"}]}, "findings 1 text is missing"),
    (REPORT | {"recommendations": [{"diff": [5], "request": []}]}, "recommendations 1 diff 1 is not text"),
    (
        REPORT | {"efficiency": REPORT["efficiency"] | {"avg_gpu_util": True}},
        "efficiency avg_gpu_util is not a percentage",
    ),
    (REPORT | {"job": REPORT["job"] | {"job_id": 1.5}}, "job job_id is not a whole number from 0"),
    (RECORD | {"efficiency": "none"}, "efficiency is not an object"),
    (without(RECORD, "efficiency"), "efficiency is missing"),
)


@pytest.mark.parametrize(("said", "why"), WRONG_REPORTS)
def test_what_is_no_report_is_no_answer(
    tmp_path: Path, said: object, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving({LATEST: said}) as portal:
        alice = Person(tmp_path, portal.url)
        for more in ((), ("--json",)):
            assert alice.bytes_of("last", *more) == (4, b"")
            assert capfd.readouterr().err == (
                f"kaiku: the portal's answer is not the report of a job ({why}): check KAIKU_URL\n"
            )


def test_a_work_that_nobody_knows_and_a_person_without_jobs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving({}) as portal:
        alice = Person(tmp_path, portal.url)
        for words, why in (
            (("--work", "no such"), "no work of yours is called 'no such': `kaiku history --by-work` names yours"),
            ((), "no job of yours has ended yet"),
        ):
            assert alice.bytes_of("last", *words)[0] == 1
            assert capfd.readouterr().err == f"kaiku: {why}\n"
