"""The filter for sbatch as a whole in every version of Lua on this machine: what it reads, shows and starts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.lua import ran, versions
from tests.processes import patience, wait_until

BODY = (
    "work\tlumi\tproject_1\nname\ttrain-llama\nline\tkaiku: 2 of 8 GPUs (100 %)\nline\ttwo\nline\tthree\nline\tfour\n"
)
OWN = "type = 'sbatch', clusters = 'lumi', account = 'Project_1'"
NAMED = f"{OWN}, ['job-name'] = 'train_llama_v4'"
SHOWN = "kaiku: 2 of 8 GPUs (100 %)|two|three"
SILENT = (
    "",
    OWN,
    f"{NAMED}, parsable = 'set'",
    f"{NAMED}, ['test-only'] = 'set'",
    f"{NAMED}, quiet = '1'",
    NAMED.replace("sbatch", "srun"),
    NAMED.replace("'lumi'", "'all'"),
    NAMED.replace("llama", "alpaca"),
    NAMED.replace("'Project_1'", "{}"),
    NAMED.replace("'lumi'", "'%a(['"),
    f"{OWN}, ['job-name'] = 7, argv = 'x'",
)


@pytest.fixture(params=sorted(versions()) or ["none"])
def library(request: pytest.FixtureRequest) -> str:
    """Without any, the test is left out as others of the filter are."""
    return versions().get(request.param, "")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the hints of the person are who runs this."""
    for name in ("SLURM_JOB_ID", "SLURM_JOBID", "KAIKU_HINTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "it's"))
    folder = tmp_path / "it's/kaiku/hints"
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    return folder / "hints"


def put(file: Path, body: str = BODY, due_in_s: int = 3600) -> None:
    now_s = int(time.time())
    file.write_text(f"kaiku-hints/1 {now_s} {now_s + due_in_s} 1\n{body}end\n")
    file.chmod(0o600)


def submitted(library: str, options: str, offset: int = 0, kaiku: str = "") -> str:
    """What a submission with these options shows; the filter never refuses it."""
    calls = (
        f"slurm_cli_setup_defaults(o, false), slurm_cli_pre_submit(o, {offset}), slurm_cli_post_submit({offset}, 1, 0)"
    )
    code = f"local o = {{{options}}} local done = {{{calls}}} return table.concat(done) .. table.concat(said, '|')"
    done = ran(code, library=library, kaiku=kaiku)
    assert done.startswith("000"), done
    return done[3:]


def test_a_hint_is_shown_once_for_its_work_and_otherwise_nothing(library: str, file: Path) -> None:
    assert submitted(library, NAMED) == ""
    put(file)
    assert submitted(library, NAMED) == SHOWN
    assert submitted(library, f"{OWN}, argv = {{'/x/train_llama.sh'}}") == SHOWN
    assert submitted(library, NAMED, offset=1) == ""
    for options in SILENT:
        assert submitted(library, options) == "", options
    put(file, "account\tlumi\tproject_1\n" + BODY)
    assert submitted(library, NAMED.replace("account = 'Project_1', ", "")) == SHOWN


WORK = "work\tlumi\tproject_1\nname\ttrain-llama\n"
SAVING = (
    "3 runs of this work would have used 18.0 GPU-hours less with:",
    "--gpus-per-node=8 -> --gpus-per-node=2, --mem=480G -> --mem=120G",
)
FAILING = "3 of the last 4 runs of this work were ended by their time limit."


FOLLOWED = {
    # Of a suggestion of 4 GPUs: as many or fewer, in every form of sbatch.
    "gpus = '4'": True,
    "gpus = 'mi250:4'": True,
    "gpus = '2'": True,
    "['gpus-per-node'] = '4'": True,
    "['gpus-per-node'] = 'gpu:mi250:4'": True,
    "['gpus-per-node'] = '2', nodes = '2'": True,
    "['gpus-per-node'] = '2', nodes = '2-2'": True,
    "gres = 'gres:gpu:4'": True,
    "gres = 'gres/gpu:4'": True,
    "gres = 'gres:gpu:mi250:4'": True,
    "gres = 'gpu:mi250:2'": True,
    "gres = 'gpu'": True,
    "gres = 'gres:gpu:4,gres:nvme:100'": True,
    "['gpus-per-task'] = '1', ntasks = '4'": True,
    "['gpus-per-task'] = 'gpu:1', ntasks = '1', ['ntasks-per-node'] = '4'": True,
    # More of them, or not known.
    "gpus = '8'": False,
    "gpus = 'mi250:8'": False,
    "gpus = '14'": False,
    "gpus = 'mi250:2,mi100:3'": False,
    "['gpus-per-node'] = '4', nodes = '2'": False,
    "['gpus-per-node'] = '4', nodes = '1-2'": False,
    "['gpus-per-node'] = '4', ntasks = '8', ['ntasks-per-node'] = '4'": False,
    "gres = 'gres:gpu:8'": False,
    "gres = 'gres:gpu:4', ['gpus-per-node'] = '4'": False,
    "gres = 'gres:nvme:4'": False,
    "['gpus-per-task'] = '1', ntasks = '8'": False,
    "['gpus-per-task'] = '1', ntasks = '1', ['ntasks-per-node'] = '4', nodes = '2'": False,
    "gpus = 'unset', gres = 'unset', nodes = '1-0', ntasks = '1', ['ntasks-per-node'] = '-2'": False,
    "gpus = {}, gres = 7": False,
    "gpus = '99999999999'": False,
    "": False,
}


@pytest.mark.parametrize(("request_has", "is_followed"), FOLLOWED.items())
def test_a_suggestion_that_the_submission_follows_is_not_shown(
    library: str, file: Path, request_has: str, is_followed: bool
) -> None:
    for before in ((), (FAILING,)):
        records = [*(f"line\t{line}" for line in before), "gpus\t4", *(f"line\t{line}" for line in SAVING)]
        put(file, WORK + "".join(f"{record}\n" for record in records))
        shown = before if is_followed else (*before, *SAVING)
        assert submitted(library, f"{NAMED}, {request_has}") == "|".join(shown)


def test_who_requests_no_gpu_follows_a_suggestion_of_none(library: str, file: Path) -> None:
    put(file, f"{WORK}gpus\t0\nline\tnone of 3 runs used a GPU\n")
    for request_has, shown in (("", ""), ("gpus = '0'", ""), ("gpus = '1'", "none of 3 runs used a GPU")):
        assert submitted(library, f"{NAMED}, {request_has}") == shown


def test_lines_without_a_plain_number_of_gpus_are_shown(library: str, file: Path) -> None:
    for number in ("", "x", "4x", "-1", "9" * 40):
        put(file, f"{WORK}gpus\t{number}\nline\tone\n")
        assert submitted(library, f"{NAMED}, gpus = '1'") == "one", number


def test_what_is_no_file_of_hints_shows_nothing(library: str, file: Path) -> None:
    whole = BODY.encode()
    for content in (b"", bytes(range(256)) * 200, whole, b"kaiku-hints/1 1 1 1\n" + whole, b"x" * 70_000):
        file.write_bytes(content)
        file.chmod(0o600)
        assert submitted(library, NAMED) == ""
    put(file)
    file.chmod(0o666)
    assert submitted(library, NAMED) == ""


def test_a_file_that_is_due_starts_kaiku_and_waits_for_nothing(library: str, file: Path, tmp_path: Path) -> None:
    started, kaiku = tmp_path / "started", tmp_path / "kaiku"
    kaiku.write_text(f'#!/bin/sh\necho "$@" >{started}.part; mv {started}.part {started}; exec sleep 5\n')
    kaiku.chmod(0o755)
    put(file, due_in_s=-1)
    before = time.monotonic()
    assert submitted(library, NAMED, kaiku=str(kaiku)) == SHOWN
    assert time.monotonic() - before < patience(4)
    wait_until("kaiku", started.exists)
    assert started.read_text() == "hints --if-due\n"
