"""`kaiku check`: what leaves the machine, what is shown, what is written, and its exit status."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.asking import SAMPLES, SCRIPT, asked, requested, sample

ANSWER = sample("check.json")
REFUSED_BY_PORTAL = json.dumps(
    json.loads(ANSWER)
    | {"components": [json.loads(ANSWER)["components"][0] | {"refused": "small-g has at most 4 nodes."}]}
).encode()


@pytest.fixture
def script(tmp_path: Path) -> str:
    folder = tmp_path / "folder with a secret name"
    folder.mkdir()
    return shutil.copy(SCRIPT, folder)


@pytest.mark.parametrize("columns", [80, 50])
def test_the_report_as_it_is_printed(tmp_path: Path, script: str, columns: int) -> None:
    status, said = asked(tmp_path, "check", script, "--diff", answers=(ANSWER,), columns=columns)
    assert said == (SAMPLES / f"check.{columns}.txt").read_text()
    assert status == 0
    assert max(map(len, said.partition("---")[0].splitlines())) <= columns


@pytest.mark.parametrize("columns", [40, 200])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, script: str, columns: int) -> None:
    for command in ("check", "elsewhere"):
        _, said = asked(tmp_path, command, script, answers=(sample(f"{command}.json"),), columns=columns)
        assert max(map(len, said.splitlines())) <= columns


def test_what_is_expected_of_the_next_run_is_a_line_for_each_quantity(tmp_path: Path, script: str) -> None:
    said = [{"text": "Run time: typically 3 h."}, {"text": "Cost: typically 6 \x1b[31mGPU-hours."}]
    answer = json.loads(ANSWER)
    answer["components"][0]["expected"] = said
    _, shown = asked(tmp_path, "check", script, answers=(json.dumps(answer).encode(),))
    lines = [line.strip().replace("\u00a0", " ") for line in shown.splitlines()]
    place = next(place for place, line in enumerate(lines) if line.startswith("Next run"))
    assert lines[place].endswith("Run time: typically 3 h.")
    assert lines[place + 1].startswith("Cost: typically 6")
    assert "\x1b" not in shown


def test_in_ascii_nothing_else_is_printed(tmp_path: Path, script: str) -> None:
    _, said = asked(tmp_path, "check", script, answers=(ANSWER,), LANG="C")
    assert said.isascii()
    assert "--gpus-per-node=8 -> --gpus-per-node=2" in said
    assert "?" not in said


def test_only_resource_options_and_the_name_leave_the_machine(tmp_path: Path, script: str) -> None:
    """Looks at every byte that is sent, for words of each kind that may not be among them."""
    words = ["check", "--constraint=mi250", "--comment=private", script, "--export=TOKEN=abc123", "run", "--seed", "42"]
    environ = {"SBATCH_TIMELIMIT": "2:00:00", "SBATCH_OUTPUT": "/home/alice/x.out", "WANDB_API_KEY": "wandb-key-1"}
    _, _, requests = requested(tmp_path, *words, answers=(ANSWER,), **environ)
    (request,) = requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"POST /api/v1/check HTTP/1.1"
    names = sorted(line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:])
    assert names == sorted(
        [b"host", b"user-agent", b"accept", b"accept-encoding", b"authorization", b"content-type", b"content-length"]
    )
    # The whole of it: what is not here is not sent.
    options = {
        **{"--partition": "small-g", "--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "8"},
        **{"--cpus-per-task": "7", "--mem": "480G", "--time": "02:00:00", "--constraint": "mi250"},
        "--account": "project_465000001",
    }
    assert json.loads(body) == {
        **{"schema": "check-request/1", "cluster": None, "array_tasks": 1, "elsewhere": False},
        "components": [{"job_name": "train_llama_v2", "options": options}],
    }
    for word in (
        *("tumbleweed", "python", "srun", "unpublished", "paper", "private", "abc123", "wandb", "alice", "scratch"),
        *("secret", 'sbatch"', ".sbatch", "epochs", "seed", 'run"', "late", str(tmp_path), os.uname().nodename),
    ):
        assert word.encode() not in request, word


def test_a_script_without_a_name_is_named_as_sbatch_names_it_without_its_path(tmp_path: Path) -> None:
    nameless = tmp_path / "eval.sh"
    nameless.write_text("#!/bin/bash\n#SBATCH --array=0-9%2 --gpus=1\nsrun ./x\n")
    _, _, (request,) = requested(tmp_path, "check", str(nameless), answers=(ANSWER,))
    sent = json.loads(request.partition(b"\r\n\r\n")[2])
    assert (sent["array_tasks"], sent["components"]) == (10, [{"job_name": "eval.sh", "options": {"--gpus": "1"}}])
    assert str(tmp_path).encode() not in request


def test_without_the_portal_what_the_script_shows_is_there(tmp_path: Path, script: str) -> None:
    status, said = asked(tmp_path, "check", script)
    assert (status, "Line 17: Slurm ignores this directive" in said) == (0, True)
    assert "Which portal? Set KAIKU_URL" in said
    assert "--gpus-per-node=8" in said
    status, said = asked(tmp_path, "check", script, KAIKU_URL="http://127.0.0.1:1")
    assert (status, "kaiku login" in said) == (0, True)
    status, said, requests = requested(tmp_path, "check", "--offline", script, answers=(ANSWER,))
    assert (status, requests, "the portal was not asked" in said) == (0, [], True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("#SBATCH --gpus=2\r\n", "ends as on DOS"),
        ("#SBATCH --gpus=many:x\n", "cannot be read"),
        ("#SBATCH --mem=1G --mem-per-gpu=1G --gpus=1\n", "exclude each other"),
        ("#SBATCH --nonsense\n", "--nonsense is no option of sbatch"),
    ],
)
def test_what_slurm_refuses_has_a_status_of_its_own(tmp_path: Path, line: str, why: str) -> None:
    refused = tmp_path / "job.sbatch"
    refused.write_bytes(f"#!/bin/bash\n{line}srun x\n".encode())
    for words in ((), ("--json",)):
        status, said = asked(tmp_path, "check", *words, str(refused))
        assert (status, why in " ".join(said.split())) == (5, True)


def test_many_lines_alike_are_counted(tmp_path: Path) -> None:
    """Of nine lines eight lose; of 25,000 only the first 50,000 words are read, and a hundred remarks are kept."""
    script = tmp_path / "job.sbatch"
    for lines, ending in (
        (9, "3 more of this kind; --json has them."),
        (25_000, "At least 94 more of this kind; --json"),
    ):
        script.write_text("#!/bin/bash\n" + "".join(f"#SBATCH -t {1 + number % 9}\n" for number in range(lines)))
        status, said = asked(tmp_path, "check", "--offline", str(script))
        said = " ".join(said.split())
        assert (status, said.count("is replaced by"), ending in said) == (0, 5, True), said
        assert ("only the first 50,000 words" in said) == (lines > 9)


def test_what_the_portal_knows_to_be_refused_has_the_same(tmp_path: Path, script: str) -> None:
    status, said = asked(tmp_path, "check", script, answers=(REFUSED_BY_PORTAL,))
    assert (status, "Refused       small-g has at most 4 nodes." in said) == (5, True)


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["check"], 2, "which script?"),
        (["check", "missing.sbatch"], 2, "No such file"),
        (["check", "--write", "new", "SCRIPT"], 2, "which portal?"),
        (["check", "--diff", "SCRIPT", "--url", "http://127.0.0.1:1"], 3, "kaiku login"),
        (["elsewhere", "SCRIPT", "--url", "http://127.0.0.1:1"], 3, "kaiku login"),
        (["elsewhere", "--offline", "SCRIPT"], 4, "--offline"),
        (["check", "--bogus", "SCRIPT"], 2, "neither kaiku nor sbatch"),
    ],
)
def test_what_cannot_be_done_has_its_status(
    tmp_path: Path, script: str, capfd: pytest.CaptureFixture[str], words: list[str], status: int, why: str
) -> None:
    assert asked(tmp_path, *[script if word == "SCRIPT" else word for word in words])[0] == status
    assert why in capfd.readouterr().err


def test_the_command_that_shows_the_diff_is_written_as_people_write_it(tmp_path: Path, script: str) -> None:
    said = asked(tmp_path, "check", script, "--time=5", answers=(ANSWER,))[1]
    # A long folder's name is divided where the line ends.
    assert "".join(f"kaiku check --diff '{script}' --time=5 shows the changed lines".split()) in "".join(said.split())


def test_the_script_as_it_would_be_is_a_new_file_with_the_mode_of_the_old(
    tmp_path: Path, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = Path(script).read_bytes()
    os.chmod(script, 0o750)
    new = tmp_path / "new.sbatch"
    status, said = asked(tmp_path, "check", script, "--write", str(new), answers=(ANSWER,))
    assert (status, said.splitlines()[-1]) == (0, f"Wrote {new}. Submit it with: sbatch {new}")
    changed = before.replace(b"per-node=8", b"per-node=2").replace(b"480G", b"120G").replace(b"1-00:00:00", b"05:00:00")
    assert new.read_bytes() == changed
    assert stat.S_IMODE(new.stat().st_mode) == 0o750
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["new.sbatch"]
    new.write_text("mine")
    assert asked(tmp_path, "check", script, "--write", str(new), answers=(ANSWER,))[0] == 2
    assert (new.read_text(), "exists: --force" in capfd.readouterr().err) == ("mine", True)
    assert asked(tmp_path, "check", script, "--write", str(new), "--force", answers=(ANSWER,))[0] == 0
    assert new.read_bytes() == changed
    link = tmp_path / "link"
    link.symlink_to(script)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (script, str(link), str(pipe)):
        assert asked(tmp_path, "check", script, "--write", place, "--force", answers=(ANSWER,))[0] == 2
    assert (Path(script).read_bytes(), pipe.is_fifo()) == (before, True)


def test_a_script_that_slurm_still_refuses_is_not_said_to_be_ready(tmp_path: Path, script: str) -> None:
    Path(script).write_bytes(Path(script).read_bytes().replace(b"#SBATCH", b"#SBATCH --mail-type=NEVER\n#SBATCH", 1))
    status, said = asked(tmp_path, "check", script, "--write", str(tmp_path / "new"), answers=(ANSWER,))
    assert (status, said.splitlines()[-1]) == (5, f"Wrote {tmp_path}/new. Slurm still refuses it, see above.")


def test_without_a_change_nothing_is_written(tmp_path: Path, script: str) -> None:
    same = json.loads(ANSWER)
    same["components"][0] |= {"suggestion": None, "no_suggestion": "None of your earlier runs had 8 GPUs."}
    new = tmp_path / "new.sbatch"
    status, said = asked(tmp_path, "check", script, "--write", str(new), answers=(json.dumps(same).encode(),))
    assert (status, new.exists()) == (1, False)
    assert "Suggestion    None of your earlier runs had 8 GPUs." in said


def test_what_the_environment_or_the_arguments_set_is_said_to_stay(tmp_path: Path, script: str) -> None:
    said = asked(tmp_path, "check", script, "--mem=200G", answers=(ANSWER,), SBATCH_TIMELIMIT="9:00:00")[1]
    flat = " ".join(said.split())
    assert "--time: The value comes from SBATCH_TIMELIMIT in the environment. Set --time=05:00:00 there." in flat
    assert "--mem: The value comes from the arguments of sbatch. Set --mem=120G there." in flat
    assert "sbatch itself takes them only before train.sbatch" in flat


def test_a_suggestion_changes_nothing_but_resources(tmp_path: Path, script: str) -> None:
    """Whatever answers: no option that names a file, a command or who pays."""
    bad = json.loads(ANSWER)
    bad["components"][0]["suggestion"]["changes"] = [
        {"option": "--output", "requested": "", "recommended": "/etc/passwd"},
        {"option": "--account", "requested": "project_465000001", "recommended": "project_465000002"},
        {"option": "--wrap", "requested": "", "recommended": "rm -rf ~"},
        {"option": "--mem", "requested": "480G", "recommended": "1G\nrm -rf ~"},
        {"option": "--time", "requested": "", "recommended": "`id`"},
        {"option": "--gpus-per-node", "requested": "8", "recommended": "4"},
        "nonsense",
    ]
    new = tmp_path / "new.sbatch"
    assert asked(tmp_path, "check", script, "--write", str(new), answers=(json.dumps(bad).encode(),))[0] == 0
    assert new.read_bytes() == Path(script).read_bytes().replace(b"gpus-per-node=8", b"gpus-per-node=4")


@pytest.mark.parametrize(
    "said",
    [
        b"[]", b"{}", b'{"components": [1]}', b'{"components": [{}, {}]}', b"null", b"\xff",
        json.dumps({"components": [dict.fromkeys(json.loads(ANSWER)["components"][0], 7)]}).encode(),
        json.dumps({"components": [{name: [[{}]] for name in json.loads(ANSWER)["components"][0]}]}).encode(),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_survived(tmp_path: Path, script: str, said: bytes) -> None:
    assert asked(tmp_path, "check", script, answers=(said,))[0] in (0, 5)
    assert asked(tmp_path, "elsewhere", script, answers=(said,))[0] in (0, 4, 5)


def test_escape_sequences_in_names_and_answers_are_harmless(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;x\x07\u202e"
    folder = tmp_path / f"d{evil}"
    folder.mkdir()
    script = folder / f"j{evil}.sbatch"
    script.write_text(f'#!/bin/bash\n#SBATCH --job-name="a{evil}" --gpus=8{evil}\n#SBATCH --mem=1{evil}\nsrun x\n')
    hostile = (
        ANSWER.decode().replace("small-g", f"small{json.dumps(evil)[1:-1]}").replace("GPU", json.dumps(evil)[1:-1])
    )
    for words in (("check", "--diff"), ("elsewhere",), ("check", f"--time=1{evil}", "--write", f"{folder}/n")):
        said = asked(tmp_path, *words, str(script), f"--mem=x{evil}", answers=(hostile.encode(),))[1]
        assert not set("\x1b\x07\u202e") & set(said), words


def test_as_json_everything_is_there(tmp_path: Path, script: str) -> None:
    status, said = asked(tmp_path, "check", "--json", script, answers=(ANSWER,))
    read = json.loads(said)
    assert (status, read["schema"], read["missing"]) == (0, "kaiku-check/1", None)
    assert read["script"]["warnings"][0]["line"] == 17
    assert read["answer"] == json.loads(ANSWER)
    assert "+#SBATCH --gpus-per-node=2" in read["diff"].splitlines()


def test_each_component_of_a_heterogeneous_job_has_its_part(tmp_path: Path) -> None:
    script = tmp_path / "het.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH --gpus=8 --time=10\n#SBATCH hetjob\n#SBATCH --gpus-per-node=8\nsrun x\n")
    two = json.loads(ANSWER)
    first, second = json.loads(ANSWER)["components"][0], json.loads(ANSWER)["components"][0]
    first["suggestion"]["changes"] = [{"option": "--gpus", "requested": "8", "recommended": "1"}]
    second["suggestion"]["changes"] = [{"option": "--gpus-per-node", "requested": "8", "recommended": "2"}]
    two["components"] = [first, second]
    new = tmp_path / "new"
    _, said, (request,) = requested(
        tmp_path, "check", str(script), "--write", str(new), answers=(json.dumps(two).encode(),)
    )
    sent = json.loads(request.partition(b"\r\n\r\n")[2])["components"]
    assert [part["options"] for part in sent] == [
        {"--gpus": "8", "--time": "00:10:00"}, {"--gpus-per-node": "8", "--time": "00:10:00"},
    ]  # fmt: skip
    assert new.read_text() == script.read_text().replace("--gpus=8", "--gpus=1").replace("node=8", "node=2")
    assert "Component 2 of 2, train_llama_v2" in said
