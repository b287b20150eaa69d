"""`kaiku hints`: the file that sbatch reads, how it is made and when."""

from __future__ import annotations

import json
import stat
import subprocess
import time
from pathlib import Path

import pytest

from cli import hints
from tests.cli.programs import built, person_of, ran
from tests.cli.servers import answering, plain
from tests.cli.test_commands import WHO
from tests.lua import literal
from tests.lua import ran as filter_ran
from tests.processes import wait_until

HINT = {
    "key": "0" * 32,
    "work_names": ["train-llama", "train_llama_v2", "bad\tname", "x\ny", 7],
    "cluster": "lumi",
    "project": "Project_1",
    "lines": ["kaiku: 9 of your last 10 runs used 2\u00a0of 8 GPUs \u2013 \x1b[2J", "two", "three", "four"],
    "worth_gpu_hours": 64.8,
}
ANSWER = {"is_on": True, "made_at": "2026-11-20T12:00:00Z", "days": 90, "hints": [HINT]}
BODY = """\
work\tlumi\tproject_1
name\ttrain-llama
name\ttrain_llama_v2
line\tkaiku: 9 of your last 10 runs used 2 of 8 GPUs - ?[2J
line\ttwo
line\tthree
"""
GPUS = "gpus\t2\nline\tthree"


def test_a_long_line_ends_after_a_whole_word() -> None:
    """120 characters with the dots: twenty-nine words of three letters and a blank are 116."""
    said = hints._ascii("abc " * 40)
    assert said == " ".join(["abc"] * 29) + " ..."
    assert hints._ascii("x" * 120) == "x" * 120
    assert len(hints._ascii("x" * 300)) == 120


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    # Without sacctmgr, which would look for a Slurm.
    return person_of(tmp_path) | {"KAIKU_TOKEN": "kaiku_pat_x", "PATH": _path_of_python(tmp_path)}


def _path_of_python(folder: Path) -> str:
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "python3").symlink_to("/usr/bin/python3")
    return str(bin_folder)


def place(tmp_path: Path) -> Path:
    return tmp_path / "cache/kaiku/hints/hints"


def refreshed(kaiku: str, environ: dict[str, str], answer: object) -> tuple[int, str, str]:
    with answering([plain(json.dumps(answer).encode())]) as (port, _):
        return ran(kaiku, environ, "hints", "--refresh", "--url", f"http://127.0.0.1:{port}")


def test_what_the_portal_answers_is_stored_for_its_person_alone(
    kaiku: str, environ: dict[str, str], tmp_path: Path
) -> None:
    status, said, _ = refreshed(kaiku, environ, ANSWER)
    assert (status, said.splitlines()[0]) == (0, "train_llama_v2")
    file = place(tmp_path)
    head, _, rest = file.read_text().partition("\n")
    mark, made, due, is_on = head.split(" ")
    assert (mark, int(due) - int(made), is_on) == ("kaiku-hints/1", 3600, "1")
    assert rest == f"{BODY}end\n"
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    assert ran(kaiku, environ, "hints")[1].splitlines()[1] == "  kaiku: 9 of your last 10 runs used 2 of 8 GPUs - ?[2J"


def test_the_filter_for_sbatch_reads_it(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    refreshed(kaiku, environ, ANSWER)
    asked = ", ".join(map(literal, (place(tmp_path).read_text(), "lumi", "project_1", "train_llama_v2")))
    said = filter_ran(f"return table.concat(kaiku.lines_for({asked}), '|')", "lines_for")
    assert said == "kaiku: 9 of your last 10 runs used 2 of 8 GPUs - ?[2J|two|three"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"is_on": False, "hints": [HINT]}, ("0", "")),
        ({"is_on": True, "hints": [{**HINT, "gpus": 2, "gpus_lines": 1}]}, ("1", BODY.replace("line\tthree", GPUS))),
        ({"is_on": True, "hints": [{**HINT, "gpus": 2}]}, ("1", BODY.replace("line\tkaiku", "gpus\t2\nline\tkaiku"))),
        ({"is_on": True, "hints": [{**HINT, "gpus": True}, {**HINT, "gpus": -1}]}, ("1", BODY * 2)),
        ({"is_on": True, "hints": [{**HINT, "work_names": ["", "run"]}]}, ("1", "")),
        ({"is_on": True, "hints": [{}, 1, {**HINT, "lines": []}, {**HINT, "cluster": "a\tb"}, HINT]}, ("1", BODY)),
    ],
)
def test_nothing_but_whole_hints_is_stored(
    kaiku: str, environ: dict[str, str], tmp_path: Path, answer: object, expected: tuple[str, str]
) -> None:
    assert refreshed(kaiku, environ, answer)[0] == 0
    head, _, rest = place(tmp_path).read_text().partition("\n")
    assert (head[-1], rest) == (expected[0], f"{expected[1]}end\n")


@pytest.mark.parametrize(
    "answer", [{}, {"is_on": "yes", "hints": [HINT]}, {"is_on": True, "hints": "x"}, {"results": []}, []]
)
def test_the_answer_of_another_server_leaves_what_was_stored(
    kaiku: str, environ: dict[str, str], tmp_path: Path, answer: object
) -> None:
    refreshed(kaiku, environ, ANSWER)
    before = place(tmp_path).read_text().partition("\n")[2]
    status, _, said = refreshed(kaiku, environ, answer)
    assert (status, said.startswith("kaiku: the portal's answer is not a list of hints")) == (4, True)
    assert place(tmp_path).read_text().partition("\n")[2] == before


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("This site shows no hints at sbatch.", "This site shows no hints at sbatch."),
        ("a\n\x1b[2Jline\tx", "a??[2Jline?x"),
        (7, "This portal gives none."),
        (None, "This portal gives none."),
    ],
)
def test_why_there_are_none_is_shown_on_request_and_never_by_sbatch(
    kaiku: str, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: object, said: str
) -> None:
    answer = {"is_on": False, "hints": [HINT], "off_reason": reason}
    for status, shown, _ in (refreshed(kaiku, environ, answer), ran(kaiku, environ, "hints")):
        assert (status, shown.splitlines()[0]) == (0, f"Hints are off. {said}")
    head, _, rest = place(tmp_path).read_text().partition("\n")
    assert head.endswith(" 0")
    assert rest in (f"off\t{said}\nend\n", "end\n")
    # Nothing is asked for a day, and in the meantime other commands and the filter are silent.
    assert int(head.split(" ")[2]) > time.time() + 86000
    assert ran(kaiku, environ, "hints", "--if-due", "--url", "http://127.0.0.1:1") == (0, "", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = "{type = 'sbatch', account = 'project_1', clusters = 'lumi', ['job-name'] = 'train_llama_v2'}"
    submit = f"slurm_cli_pre_submit({options}, 0) slurm_cli_post_submit(0, 1, 0) return table.concat(said, '|')"
    assert filter_ran(submit) == ""


def test_the_file_stays_small_and_whole(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    many = [{**HINT, "work_names": [f"w{number}", *("n" * 250 for _ in range(19))]} for number in range(100)]
    assert refreshed(kaiku, environ, {"is_on": True, "hints": many})[0] == 0
    written = place(tmp_path).read_text()
    assert 50_000 < len(written) <= hints.BYTES_MAX
    assert written.endswith("line\tthree\nend\n")


def test_without_the_portal_what_was_stored_stays_and_the_next_try_waits(
    kaiku: str, environ: dict[str, str], tmp_path: Path
) -> None:
    refreshed(kaiku, environ, ANSWER)
    file = place(tmp_path)
    made = int(time.time()) - 7200
    file.write_text(f"kaiku-hints/1 {made} {made + 3600} 1\n{BODY}end\n")
    assert ran(kaiku, environ, "hints", "--if-due", "--url", "http://127.0.0.1:1") == (0, "", "")
    head, _, rest = file.read_text().partition("\n")
    assert int(head.split(" ")[1]) == made
    assert int(head.split(" ")[2]) > time.time() + 3000
    assert rest == f"{BODY}end\n"
    # Not due: nothing is asked, and nothing written.
    before = file.stat().st_mtime_ns
    assert ran(kaiku, environ, "hints", "--if-due", "--url", "http://127.0.0.1:1") == (0, "", "")
    assert file.stat().st_mtime_ns == before


def test_a_portal_that_never_answered_switches_nothing_off(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    nowhere = ("--url", "http://127.0.0.1:1")
    assert ran(kaiku, environ, "hints", "--refresh", *nowhere)[0] == 4
    assert ran(kaiku, environ, "hints", *nowhere)[::2] == (
        1,
        "kaiku: no hints are stored: run `kaiku hints --refresh`\n",
    )
    # Nothing asks again within the hour.
    before = place(tmp_path).read_bytes()
    assert before.split(b" ")[1] == b"0"
    assert ran(kaiku, environ, "hints", "--if-due", *nowhere) == (0, "", "")
    assert place(tmp_path).read_bytes() == before


def test_without_a_sign_in_there_is_no_file(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    refreshed(kaiku, environ, ANSWER)
    with answering([plain(b"{}", "401 Unauthorized")]) as (port, _):
        assert ran(kaiku, environ, "hints", "--refresh", "--url", f"http://127.0.0.1:{port}")[0] == 3
    assert not place(tmp_path).exists()
    assert ran(kaiku, environ, "hints")[::2] == (1, "kaiku: no hints are stored: run `kaiku hints --refresh`\n")
    refreshed(kaiku, environ, ANSWER)
    with answering([plain(b"{}")]) as (port, _):
        assert ran(kaiku, environ, "logout", "--url", f"http://127.0.0.1:{port}")[0] == 0
    assert not place(tmp_path).exists()


def test_what_is_left_running_holds_no_lock_of_its_caller(kaiku: str, environ: dict[str, str], tmp_path: Path) -> None:
    code = """ulimit -n 6000; exec 7>"$0" 5000>"$0"; flock -n 7
              "$1" whoami; exec 7>&- 5000>&-; flock -n "$0" echo free"""
    # The refresh is answered after the lock was tried again.
    with answering([plain(WHO)], [1.0, plain(json.dumps(ANSWER).encode())]) as (port, _):
        person = {**environ, "KAIKU_HINTS": "on", "PATH": "/usr/bin:/bin", "KAIKU_URL": f"http://127.0.0.1:{port}"}
        words = ["bash", "-c", code, str(tmp_path / "lock"), kaiku]
        done = subprocess.run(words, env=person, capture_output=True, text=True, check=False)
        assert done.stdout.splitlines()[-1] == "free"
        wait_until("the refresh", lambda: BODY in (place(tmp_path).read_text() if place(tmp_path).exists() else ""))


def test_another_command_refreshes_an_old_file_in_the_background(
    kaiku: str, environ: dict[str, str], tmp_path: Path
) -> None:
    with answering([plain(WHO)], [plain(json.dumps(ANSWER).encode())], [plain(WHO)]) as (port, requests):
        person = {name: value for name, value in environ.items() if name != "KAIKU_HINTS"}
        person |= {"KAIKU_URL": f"http://127.0.0.1:{port}"}
        # Its output ends while the other process still works: that has nothing of it.
        assert ran(kaiku, person, "whoami")[0] == 0
        wait_until("the hints", lambda: BODY in (place(tmp_path).read_text() if place(tmp_path).exists() else ""))
        assert ran(kaiku, person, "whoami")[0] == 0
        time.sleep(0.2)
    assert [request.split(b" ")[1].partition(b"?")[0] for request in requests] == [
        b"/api/v1/whoami/",
        b"/api/v1/hints/",
        b"/api/v1/whoami/",
    ]
