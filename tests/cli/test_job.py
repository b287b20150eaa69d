"""`kaiku job`: which job is meant, the report as text in any width, JSON, PDF and page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import job_names
from cli.commands.job import painted
from cli.errors import Usage
from tests.cli.portals import SAMPLES, Person, sample, serving
from tests.cli.test_layout import terminal
from wire.report_columns import COLUMNS

JOB = "/api/v1/jobs/lumi/17300020/"
RUN = sample("jobs.json")["results"][0] | {"job_id": 17300020}
SAME_NUMBER = "/api/v1/jobs/?job_id=17300020&limit=100"
RUNS = {"count": 3, "results": [RUN | {"cluster": "other"}, RUN | {"attempt": 1}, RUN]}
REPORT = (SAMPLES / "job_inefficient.txt").read_bytes()
REQUEUED = sample("job_inefficient.json")
REQUEUED["job"]["attempt"] = 2
PDF = b"%PDF-1.7\n\x00\xff made up\n%%EOF\n"
ANSWERS = {
    JOB: sample("job_inefficient.json"),
    f"{JOB}report.txt": REPORT,
    f"{JOB}report.pdf": PDF,
    "/api/v1/jobs/": RUNS,
}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("123", ("", 123, None)),
        ("lumi/123", ("lumi", 123, None)),
        ("lumi/123_0", ("lumi", 123, 0)),
        ("a b/1_22", ("a b", 1, 22)),
    ],
)
def test_a_job_is_a_number_with_or_without_its_cluster(written: str, read: tuple[str, int, int | None]) -> None:
    name = job_names.read(written)
    assert (name.cluster, name.job_id, name.task) == read


@pytest.mark.parametrize(
    "written",
    [
        "",
        "0",
        "x",
        "-1",
        "1.5",
        "/1",
        "a/b/1",
        "lumi/",
        "1_",
        "1_x",
        "_1",
        "1" * 19,
        "١٢",
        "1+1",
        "a\x1b/1",
        "../1",
        "..//1",
    ],
)
def test_what_is_no_job_is_wrong_usage(written: str) -> None:
    with pytest.raises(Usage):
        job_names.read(written)


def test_the_report_is_the_portals_own_text(tmp_path: Path) -> None:
    with serving(ANSWERS) as portal:
        alice = Person(tmp_path, portal.url)
        shown = alice.shown("job", "lumi/17300020")
        assert shown == REPORT.decode() + "\nPORTAL/jobs/lumi/17300020/\n"
        assert json.loads(alice.bytes_of("job", "lumi/17300020", "--json")[1]) == sample("job_inefficient.json")
    # Both answers were stored.
    assert alice.shown("job", "lumi/17300020", "--offline").splitlines()[:-2] == shown.splitlines()[:-1]


def test_a_job_without_its_cluster_is_looked_up(tmp_path: Path) -> None:
    with serving(ANSWERS) as portal:
        alice = Person(tmp_path, portal.url)
        assert alice.shown("job", "17300020").startswith("Kaiku: Job 17300020, gromacs_md")
        assert portal.requested == [SAME_NUMBER, "/api/v1/jobs/other/17300020/", JOB, f"{JOB}report.txt"]
        portal.requested.clear()
        # The cluster that Slurm's commands use comes first.
        alice.shown("job", "17300020", "--json", SLURM_CLUSTERS="none,lumi")
        assert portal.requested == [SAME_NUMBER, JOB]
        # A portal that lists others too has none of this number.
        portal.requested.clear()
        assert alice.bytes_of("job", "5")[0] == 1
        assert portal.requested == ["/api/v1/jobs/?job_id=5&limit=100", "/api/v1/running/?job_id=5&limit=100"]
    assert alice.bytes_of("job", "17300020", "--json", "--offline", SLURM_CLUSTERS="lumi")[0] == 0


def test_a_task_of_an_array_is_found_by_its_number(tmp_path: Path) -> None:
    run = sample("jobs.json")["results"][0] | {"job_id": 17300020, "array_job_id": 17300016, "array_task_id": 4}
    listed = {"count": 1, "results": [run | {"array_task_id": 3, "job_id": 1}, run]}
    with serving(ANSWERS | {"/api/v1/jobs/": listed}) as portal:
        alice = Person(tmp_path, portal.url)
        alice.shown("job", "17300016_4", "--json")
        assert portal.requested == ["/api/v1/jobs/?own=1&days=366&limit=500", JOB]
        assert alice.bytes_of("job", "17300016_5")[0] == 1
        assert alice.bytes_of("job", "other/17300016_4")[0] == 1


def test_a_job_that_still_runs_is_named_with_the_command_that_shows_it(tmp_path: Path, capfd) -> None:
    with serving({"/api/v1/jobs/": {"count": 0, "results": []}, "/api/v1/running/": sample("running.json")}) as portal:
        alice = Person(tmp_path, portal.url)
        for written in ("17300411", "lumi/17300411", "17300400_3"):
            assert (
                alice.shown("job", written)
                .replace("\n", " ")
                .startswith(f"{written} still runs: `kaiku watch {written}` shows it.")
            )
        assert alice.shown("job", "17300411", "--open") == "PORTAL/jobs/lumi/17300411/\n"
        capfd.readouterr()
        assert alice.bytes_of("job", "17300411", "--json")[0] == 1
        assert "`kaiku watch 17300411` shows it" in capfd.readouterr().err
        for other in ("puhti/17300411", "17300400_9", "5"):
            assert alice.bytes_of("job", other)[0] == 1
            assert "still runs" not in capfd.readouterr().err


def test_a_job_without_a_report_states_why(tmp_path: Path) -> None:
    path = "/api/v1/jobs/lumi/17300209/"
    with serving({path: sample("job_never_started.json")}) as portal:
        shown = Person(tmp_path, portal.url).shown("job", "lumi/17300209", columns=200)
        assert shown.splitlines()[2].startswith("This job ended before it got any GPU")


def test_a_narrow_terminal_requests_the_report_at_its_own_width(tmp_path: Path) -> None:
    narrow = b"Kaiku: Job 17300020, gromacs_md\n\n    - #SBATCH --gpus=8 --comment=kaiku:raw\nwritten for 40 columns\n"
    with serving(ANSWERS | {f"{JOB}report.txt?width=40": narrow}) as portal:
        alice = Person(tmp_path, portal.url)
        shown = alice.shown("job", "lumi/17300020", columns=40).splitlines()
        assert shown[2:4] == ["    - #SBATCH --gpus=8 --comment=kaiku:…", "written for 40 columns"]
        for columns in (COLUMNS, 200):
            portal.requested.clear()
            alice.shown("job", "lumi/17300020", columns=columns)
            assert portal.requested == [JOB, f"{JOB}report.txt"]
    # A width that was never requested has the report at the usual one.
    assert "written for 40 columns" in alice.shown("job", "lumi/17300020", "--offline", columns=40)
    assert REPORT.decode().splitlines()[5] in alice.shown("job", "lumi/17300020", "--offline", columns=41)


def test_the_report_in_colour() -> None:
    lines = painted(terminal(80, is_tty=True), REPORT.decode())
    assert lines[0] == "\x1b[1mKaiku: Job 17300020, gromacs_md\x1b[0m"
    assert "\x1b[31m    - #SBATCH --gpus=8\x1b[0m" in lines
    assert "\x1b[32m    + #SBATCH --gpus=2\x1b[0m" in lines
    assert any(line.endswith("of the time: \x1b[1;33mINEFFICIENT\x1b[0m.") for line in lines)


def test_hostile_reports_are_harmless() -> None:
    written = "Kaiku: \x1b]0;x\x07\n======\n\x9b2J\u202e\r\n" + "漢" * 400 + "\n---\n#SBATCH " + "x" * 300
    for columns in (40, 80):
        lines = painted(terminal(columns), written)
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set("".join(lines))


def test_a_pdf_is_written_whole_and_never_over_something_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script, named = tmp_path / "job.sbatch", tmp_path / "report.pdf"
    script.write_text("#!/bin/bash\n")
    with serving(ANSWERS) as portal:
        alice = Person(tmp_path, portal.url)
        for _ in range(2):
            assert alice.shown("job", "lumi/17300020", "--pdf", str(named)) == f"Written: {named}\n"
            assert named.read_bytes() == PDF
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", str(script))[0] == 2
        assert script.read_text() == "#!/bin/bash\n"
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", str(tmp_path / "no/where.pdf"))[0] == 2
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", str(tmp_path))[0] == 2
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", "-") == (0, PDF)
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", "-", is_tty=True)[0] == 2
        portal.answers[f"{JOB}report.pdf"] = b"<html>"
        assert alice.bytes_of("job", "lumi/17300020", "--pdf", str(named))[0] == 4
        assert named.read_bytes() == PDF
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["job.sbatch", "report.pdf"]
    assert "exists and is not a PDF" in capfd.readouterr().err


def test_without_a_display_the_address_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with serving(ANSWERS | {JOB: REQUEUED}) as portal:
        alice = Person(tmp_path, portal.url)
        address = "PORTAL/jobs/lumi/17300020/?attempt=2\n"
        assert (alice.shown("job", "lumi/17300020", "--open"), opened) == (address, [])
        assert alice.shown("job", "lumi/17300020", "--open", DISPLAY=":0") == address
        assert opened == [f"{portal.url}/jobs/lumi/17300020/?attempt=2"]


@pytest.mark.parametrize(
    "words", [(), ("x",), ("1", "2"), ("1", "--json", "--open"), ("1", "--pdf", ""), ("1", "--pdf"), ("1", "--json=1")]
)
def test_wrong_usage_of_job(tmp_path: Path, words: tuple[str, ...]) -> None:
    with serving(ANSWERS) as portal:
        assert Person(tmp_path, portal.url).bytes_of("job", *words)[0] == 2


def test_jobs_that_another_server_lists_are_no_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving({"/api/v1/jobs/": {}}) as portal:
        for words in (("job", "5"), ("compare", "1", "2")):
            assert Person(tmp_path, portal.url).bytes_of(*words)[0] == 4
            assert "is not a list of jobs (count is missing)" in capfd.readouterr().err
