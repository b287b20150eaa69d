"""`kaiku trial`: scripts that are written and never submitted, their names, costs and refusals."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from cli.errors import Usage
from cli.trial_scripts import file_name, work_name
from jobs.work_key import is_trial, normalised_name
from tests.cli.asking import SAMPLES, SCRIPT, asked, requested, sample
from wire.sbatch.reading import read_script
from wire.work_names import TRIAL_MARK

PLATFORMS = sample("platforms.json")


def cost(at_limit: float | None, **more: object) -> bytes:
    """An answer to a trial."""
    said = json.loads(sample("check.json"))
    component = said["components"][0] | {"cost": {"unit": "GPU-hour", "at_limit": at_limit, "typical": None}} | more
    return json.dumps(said | {"components": [component]}).encode()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return Path(shutil.copy(SCRIPT, tmp_path))


@pytest.mark.parametrize("columns", [80, 50])
def test_the_trials_as_they_are_printed(
    tmp_path: Path, script: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = (PLATFORMS, cost(0.08), cost(0.17), cost(0.34), cost(0.67))
    status, said = asked(tmp_path, "trial", script.name, answers=answers, columns=columns)
    assert (status, said) == (0, (SAMPLES / f"trial.{columns}.txt").read_text())
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache")
    assert names == [
        "train.gpus1.sbatch",
        "train.gpus2.sbatch",
        "train.gpus4.sbatch",
        "train.gpus8.sbatch",
        "train.sbatch",
    ]


def test_each_differs_from_the_script_in_its_size_limit_and_name_alone(tmp_path: Path, script: Path) -> None:
    script.chmod(0o750)
    assert asked(tmp_path, "trial", str(script), "--gpus=2", "--time", "00:05:00")[0] == 0
    written = tmp_path / "train.gpus2.sbatch"
    expected = script.read_text().replace("per-node=8", "per-node=2").replace("480G", "120G")
    expected = expected.replace("1-00:00:00", "00:05:00").replace("train_llama_v2", "train_llama_v2-kaiku-trial-2")
    assert written.read_text() == expected
    assert stat.S_IMODE(written.stat().st_mode) == 0o750


def test_only_the_size_the_name_and_the_limit_are_sent(tmp_path: Path, script: Path) -> None:
    _, _, requests = requested(tmp_path, "trial", str(script), "--gpus=2", answers=(PLATFORMS, cost(0.17)))
    assert [request.split(b" HTTP")[0] for request in requests] == [b"GET /api/v1/platforms/", b"POST /api/v1/check"]
    (component,) = json.loads(requests[1].partition(b"\r\n\r\n")[2])["components"]
    assert component["job_name"] == "train_llama_v2-kaiku-trial-2"
    assert component["options"]["--time"] == "00:10:00"
    for word in (b"scratch", b"paper", b"alice", b"tumbleweed", str(tmp_path).encode()):
        assert word not in requests[1]


def test_a_size_that_the_partition_cannot_give_is_said_and_not_written(tmp_path: Path, script: Path) -> None:
    partition = {"partition": "small-g", "fits": False, "why_not": "small-g has 4 nodes at most.", "is_requested": True}
    answers = (PLATFORMS, cost(0.34), cost(None, partitions=[partition]), cost(None, refused="No such size."))
    status, said = asked(tmp_path, "trial", str(script), "--gpus", "4,64,128", answers=answers)
    assert (status, (tmp_path / "train.gpus64.sbatch").exists()) == (0, False)
    assert "Not written   64 GPUs: small-g has 4 nodes at most." in said
    assert "128 GPUs: No such size." in said
    assert asked(tmp_path, "trial", str(script), "--gpus", "64", answers=(PLATFORMS, answers[2]))[0] == 5


def whole_nodes() -> bytes:
    """The platforms, of which small-g is billed by whole nodes."""
    said = json.loads(PLATFORMS)
    for each in said["platforms"]:
        each["is_whole_nodes"] = each["name"] == "small-g"
    return json.dumps(said).encode()


def test_whole_nodes_are_said_to_cost_the_same_and_where_trials_cost_less(tmp_path: Path, script: Path) -> None:
    """Two trials of 0.67 are 1.34 together; elsewhere they cost 0.08 and 0.67, together 0.75."""

    def costs(less: float) -> bytes:
        places = [("small-g", 0.67, True), ("shared-g", less, False), ("dev-g", 0.67, False)]
        names = ("partition", "cost_at_limit", "is_requested")
        return cost(0.67, partitions=[dict(zip(names, place, strict=True)) | {"fits": True} for place in places])

    answers = (whole_nodes(), costs(0.08), costs(0.67))
    said = asked(tmp_path, "trial", str(script), "--gpus=1,8", "--force", answers=answers)[1]
    flat = " ".join(said.replace("\u00a0", " ").split())
    assert "small-g bills whole nodes: fewer GPUs cost as much as the 8 of a node." in flat
    assert "In shared-g these trials would cost at most 0.75 GPU-hours together." in flat
    said = asked(tmp_path, "trial", str(script), "--gpus=8", "--force", answers=(whole_nodes(), costs(0.08)))[1]
    assert "whole nodes" not in said


def test_one_size_is_said_to_show_no_scaling(tmp_path: Path, script: Path) -> None:
    said = asked(tmp_path, "trial", str(script), "--gpus=4", answers=(PLATFORMS, cost(0.34)))[1]
    assert "One size alone shows no scaling. Name several, such as --gpus 1,4." in " ".join(said.split())
    said = asked(tmp_path, "trial", str(script), "--gpus=1,4", "--force", answers=(PLATFORMS, cost(0.1), cost(0.3)))[1]
    assert "One size" not in said


def test_nothing_is_replaced_and_nothing_is_written_by_halves(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.gpus4.sbatch").write_text("mine")
    assert asked(tmp_path, "trial", str(script))[0] == 2
    assert "train.gpus4.sbatch' exists" in capfd.readouterr().err
    assert not (tmp_path / "train.gpus1.sbatch").exists()
    assert asked(tmp_path, "trial", str(script), "--force")[0] == 0
    assert (tmp_path / "train.gpus4.sbatch").read_text() != "mine"


def test_a_new_folder_is_made_and_what_cannot_be_made_is_named(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    assert asked(tmp_path, "trial", str(script), "--folder", str(new))[0] == 0
    assert "train.gpus4.sbatch" in [path.name for path in new.iterdir()]
    assert asked(tmp_path, "trial", str(script), "--folder", str(tmp_path / "no/where"))[0] == 2
    assert f"cannot make the folder '{tmp_path}/no/where': No such file or directory" in capfd.readouterr().err
    assert asked(tmp_path, "trial", str(script), "--folder", str(script))[0] == 2
    assert f"'{script}' is not a folder" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        (["--gpus", "0"], None, "--gpus must be numbers of GPUs"),
        (["--gpus", "1,x"], None, "--gpus must be numbers of GPUs"),
        (["--time", "soon"], None, "--time must be a time limit"),
        (["--time", "0"], None, "--time must be a limit: a trial is short, and Slurm reads 0 and UNLIMITED as none"),
        ([], "#!/bin/bash\n#SBATCH --job-name=t --time=5\n", "the script requests no GPUs"),
        ([], "#!/bin/bash\n#SBATCH --gpus=2\n", "is too general"),
        ([], "#!/bin/bash\n#SBATCH --gpus=2 -J abc\n#SBATCH hetjob\n#SBATCH --gpus=1\n", "heterogeneous"),
    ],
)
def test_what_cannot_be_tried_is_usage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], text: str | None, why: str
) -> None:
    script = tmp_path / "job.sbatch"
    script.write_text(text or SCRIPT.read_text())
    assert asked(tmp_path, "trial", *words, str(script))[0] == 2
    assert why in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["job.sbatch"]


def test_what_the_environment_sets_cannot_be_tried_until_it_is_unset(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert asked(tmp_path, "trial", str(script), SBATCH_GPUS_PER_NODE="8")[0] == 2
    assert "SBATCH_GPUS_PER_NODE in the environment" in capfd.readouterr().err


def test_an_array_is_tried_with_one_task_and_outputs_are_kept_apart(tmp_path: Path) -> None:
    script = tmp_path / "sweep.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --array=3-9%2 --gpus=2\n#SBATCH --output=sweep.out --error=%x-%j.err\nsrun x\n"
    )
    assert asked(tmp_path, "trial", str(script), "--gpus=1")[0] == 0
    (component,) = read_script((tmp_path / "sweep.gpus1.sh").read_text()).components
    assert component.options["array"] == "3"
    assert (component.options["output"], component.options["error"]) == ("sweep.out.gpus1", "%x-%j.err")
    assert component.options["job-name"] == "sweep-kaiku-trial-1"


@pytest.mark.parametrize(
    "name", ["train", "train_llama_v2", "Llama 7b finetune.sh", "md_prod007", "train.slurm.sh", "訓練"]
)
def test_the_portal_reads_the_name_of_a_trial_as_the_same_work(name: str) -> None:
    assert normalised_name(f"{work_name(name)}{TRIAL_MARK}4") == normalised_name(name) != ""
    assert is_trial(f"{work_name(name)}{TRIAL_MARK}4")
    assert work_name(f"{work_name(name)}{TRIAL_MARK}4") == work_name(name)


@pytest.mark.parametrize("name", ["job.sbatch", "run_3", "test", "2026", "sbatch", "x" * 300, "job-7.sh"])
def test_a_name_that_no_work_is_recognised_by_is_refused(name: str) -> None:
    with pytest.raises(Usage, match="--name"):
        work_name(name)


def test_a_script_without_an_ending_has_trials_without_one() -> None:
    assert file_name("/x/train", 2) == "train.gpus2"
