"""`kaiku check`: scripts from standard input, values that are none, and components without GPUs."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.asking import SCRIPT, asked, requested, sample

ANSWER = sample("check.json")
ONE = json.loads(ANSWER)["components"][0]


def of(*components: dict, **more: object) -> bytes:
    """The sample's answer with other components."""
    return json.dumps(json.loads(ANSWER) | {"components": list(components)} | more).encode()


def script_of(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "job.sbatch"
    path.write_text("\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), "srun ./x", ""]))
    return str(path)


def sent(request: bytes) -> list[dict]:
    return json.loads(request.partition(b"\r\n\r\n")[2])["components"]


def test_the_script_may_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    new = tmp_path / "new.sbatch"
    piped(SCRIPT.read_bytes())
    status, said, (request,) = requested(tmp_path, "check", "--time=5", "-", "--write", str(new), answers=(ANSWER,))
    assert (status, said.splitlines()[0]) == (0, "standard input, job name train_llama_v2")
    assert (sent(request)[0]["job_name"], sent(request)[0]["options"]["--time"]) == ("train_llama_v2", "00:05:00")
    # The limit stays: it comes from the arguments.
    changed = SCRIPT.read_bytes().replace(b"per-node=8", b"per-node=2").replace(b"480G", b"120G")
    assert (new.read_bytes(), stat.S_IMODE(new.stat().st_mode)) == (changed, 0o644)
    # sbatch names a job that it reads from standard input "sbatch" (Slurm 22.05.8).
    piped(b"#!/bin/bash\n#SBATCH --gpus=1\n")
    assert sent(requested(tmp_path, "check", "-", answers=(ANSWER,))[2][0])[0]["job_name"] == "sbatch"
    piped(b"")
    assert asked(tmp_path, "check", "-", answers=(ANSWER,))[0] == 5
    assert asked(tmp_path, "trial", "-")[0] == 2


@pytest.mark.parametrize("value", ["$(id)", "\u221e", "\u0663", "$GPUS", "8(all)"])
def test_gpus_that_cannot_be_read_are_named_and_not_taken_for_none(tmp_path: Path, value: str) -> None:
    script = script_of(tmp_path, "--partition=small-g", f"--gpus={value}")
    status, said, requests = requested(tmp_path, "check", script, answers=(ANSWER,))
    assert (status, requests) == (5, [])
    assert f"Refused       Line 3: --gpus={value} cannot be read." in said
    assert "the portal was not asked" in " ".join(said.split())
    assert asked(tmp_path, "elsewhere", script, answers=(ANSWER,))[0] == 4


def test_what_sbatch_refuses_is_named_once(tmp_path: Path) -> None:
    refused = ONE | {"shape": None, "cost": None, "refused": "--gpus is not a multiple of the GPUs of each node."}
    script = script_of(tmp_path, "--gpus=3 --gpus-per-node=2")
    said = asked(tmp_path, "check", script, answers=(of(refused, cost=None),))[1]
    assert [line for line in said.splitlines() if line.startswith(("Refused", "Cost  "))] == [
        "Refused       --gpus is not a multiple of the GPUs of each node."
    ]


def test_a_name_that_cannot_be_sent_is_said_to_be_left_out(tmp_path: Path) -> None:
    script = script_of(tmp_path, "--gpus=2", "--partition=gr\u00f6\u00dfe")
    status, said, (request,) = requested(tmp_path, "check", script, answers=(ANSWER,))
    assert (status, sent(request)[0]["options"]) == (0, {"--gpus": "2"})
    assert "Not sent      Line 3: --partition=gr\u00f6\u00dfe holds characters" in said


def test_a_type_alone_is_one_gpu_of_it(tmp_path: Path) -> None:
    """`--gpus=mi250` gave gres/gpu=1 on Slurm 22.05.8."""
    (request,) = requested(tmp_path, "check", script_of(tmp_path, "--gpus=mi250"), answers=(ANSWER,))[2]
    assert sent(request)[0]["options"] == {"--gpus": "mi250:1"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tr\u00e4n_\u8a13\u7df4", "tr\u00e4n_\u8a13\u7df4"),
        ("cp2k/water_v2", "cp2k/water_v2"),
        ("/scratch/alice/run.sh", "run.sh"),
        ("~/runs/train", "train"),
        ("../alice/train", "train"),
    ],
)
def test_names_of_jobs_are_sent_as_slurm_knows_them_but_no_path(tmp_path: Path, name: str, expected: str) -> None:
    (request,) = requested(tmp_path, "check", script_of(tmp_path, f"--job-name={name}"), answers=(ANSWER,))[2]
    assert sent(request)[0]["job_name"] == expected


def test_lines_that_stay_as_they_are_are_not_listed(tmp_path: Path) -> None:
    script = script_of(tmp_path, "--partition=small-g", "--nodes=1", "--gpus=8", "--exclusive", "--time=60")
    request = ["--partition=small-g", "--nodes=1", "--gpus-per-node=2", "--mem=120G", "--time=01:00:00"]
    block = ONE | {"suggestion": ONE["suggestion"] | {"changes": [], "request": request}}
    said = asked(tmp_path, "check", script, answers=(of(block),))[1]
    changes = ("--", "leave out --", "add --")
    assert [line.strip() for line in said.splitlines() if line.strip().startswith(changes)] == [
        "leave out --gpus=8", "leave out --exclusive", "add --gpus-per-node=2", "add --mem=120G",
    ]  # fmt: skip
    same = [{"option": "--nodes", "requested": "1", "recommended": "1"}]
    listed = ONE | {"suggestion": ONE["suggestion"] | {"changes": same}}
    assert "--nodes" not in asked(tmp_path, "check", script, answers=(of(listed),))[1].partition("Suggestion")[2]


def test_a_component_without_gpus_has_a_cost_line_and_so_has_the_whole(tmp_path: Path) -> None:
    script = script_of(tmp_path, "--gpus=8 --mem=10G", "hetjob", "--ntasks=4")
    said = asked(tmp_path, "check", script, answers=(of(ONE, ONE | {"cost": None}, cost=None),))[1]
    first, second, whole = (
        said.split("\n\nComponent 1 of 2")[1].replace("All components", "Component 2 of 2").split("Component 2 of 2")
    )
    assert "Cost          96 GPU-hours" in first.replace("\u00a0", " ")
    assert "Cost          not known without a partition: those of each are below." in second
    assert whole.splitlines()[1] == "Cost          not known, because that of component 2 is not."
    assert "Line 3: component 2 inherits --mem=10G from the one before." in said


@pytest.mark.parametrize(
    ("lines", "walltime_s", "said"),
    [
        ("--gpus=1", 3600, "not known without a partition: those of each are below."),
        ("--gpus=1 -p nosuch", 3600, "not known: the site does not describe the partition nosuch."),
        ("--gpus=1 -p small-g", None, "not known: the request sets no time limit, and no earlier run shows how long"),
        ("--gpus=1 -p small-g -t 60", 3600, "not known: the site states no price."),
    ],
)
def test_a_cost_that_is_not_known_has_its_own_reason(tmp_path: Path, lines: str, walltime_s: int, said: str) -> None:
    answer = json.loads(sample("check.json"))
    first = answer["components"][0]
    answer["components"] = [first | {"cost": None, "shape": first["shape"] | {"walltime_s": walltime_s}}]
    script = tmp_path / "job.sbatch"
    script.write_text(f"#!/bin/bash\n#SBATCH {lines}\nsrun ./x\n")
    _, shown = asked(tmp_path, "check", str(script), answers=(json.dumps(answer).encode(),), columns=200)
    assert said in shown.replace("\u00a0", " ")


def test_what_it_takes_is_beside_the_cost_and_more_than_is_left_is_a_risk(tmp_path: Path) -> None:
    def labels(said: str) -> list[str]:
        return [line.split("  ")[0] for line in said.splitlines() if line[:1].isalpha()]

    said = labels(asked(tmp_path, "check", str(SCRIPT), answers=(ANSWER,))[1])
    assert said[said.index("Cost") + 1] == "Allocation"
    risk = {"code": "allocation", "text": "At its limit the job takes 96 GPU-hours.", "runs": 0, "of": 0}
    said = labels(asked(tmp_path, "check", str(SCRIPT), answers=(of(ONE | {"risks": [risk, *ONE["risks"]]}),))[1])
    assert "Allocation" not in said
    assert said.index("Cost") < said.index("Risks") < said.index("Suggestion")


def test_a_forgotten_file_and_a_closed_input_are_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = script_of(tmp_path, "--partition=small-g", "--gpus=8")
    for words in (("--write",), ("--write", "--diff"), ("--write", "-"), ("--write=",)):
        assert asked(tmp_path, "check", script, *words, answers=(ANSWER,))[0] == 2, words
        assert "--write needs a" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert asked(tmp_path, "check", "-")[0] == 2
    assert capfd.readouterr().err == "kaiku: standard input is closed\n"
    assert sorted(path.name for path in tmp_path.iterdir() if not path.is_dir()) == ["job.sbatch"]


def test_a_file_that_is_not_written_is_named(tmp_path: Path) -> None:
    script = script_of(tmp_path, "--partition=small-g", "--gpus=8")
    nothing = of({**ONE, "suggestion": None, "no_suggestion": "Nothing is suggested."})
    new = tmp_path / "new.sbatch"
    status, said = asked(tmp_path, "check", script, "--write", str(new), answers=(nothing,))[:2]
    assert (status, new.exists()) == (1, False)
    assert said.splitlines()[-1] == f"Nothing to change: {new} was not written."
