"""Which words of a command line are kaiku's, which are sbatch's, and which belong to the script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.__main__ import COMMON
from cli.commands import check
from cli.errors import Usage
from cli.job_script import Words, script_bytes, slurm_version

KNOWN = {**COMMON, **check.OPTIONS}


@pytest.mark.parametrize(
    ("line", "own", "sbatch", "belong"),
    [
        ("job.sbatch", "", "", ""),
        ("job.sbatch --time=1:00:00", "", "--time=1:00:00", ""),
        ("--time=1:00:00 job.sbatch", "", "--time=1:00:00", ""),
        ("--time 1:00:00 -p small-g job.sbatch", "", "--time 1:00:00 -p small-g", ""),
        ("job.sbatch -p small-g --diff", "--diff", "-p small-g", ""),
        ("--diff --gpus=2 job.sbatch --write new.sbatch", "--diff --write new.sbatch", "--gpus=2", ""),
        ("job.sbatch --epochs 3 --time=1", "", "", "--epochs 3 --time=1"),
        ("job.sbatch train --diff", "", "", "train --diff"),
        ("job.sbatch -- --time=1", "", "", "--time=1"),
        ("--json -- job.sbatch --time=1", "--json", "--time=1", ""),
        # Abbreviations as sbatch reads them, before the script alone: behind it they are rather the script's own.
        ("--tim 5 job.sbatch", "", "--tim 5", ""),
        ("job.sbatch --tim 5", "", "", "--tim 5"),
        ("-N2 -n 4 --exclusive job.sbatch -G1", "", "-N2 -n 4 --exclusive -G1", ""),
        ("--exclusive=user job.sbatch", "", "--exclusive=user", ""),
        ("--gpus=1 : --gpus=2 job.sbatch", "", "--gpus=1 : --gpus=2", ""),
        ("--timeout 3 --url https://kaiku.example job.sbatch", "--timeout 3 --url https://kaiku.example", "", ""),
        ("-h", "-h", "", ""),
        ("job.sbatch -x", "", "-x", ""),
    ],
)
def test_each_word_goes_where_it_belongs(line: str, own: str, sbatch: str, belong: str) -> None:
    words = Words(line.split(), KNOWN)
    assert (words.own, words.sbatch, words.belong) == (own.split(), sbatch.split(), belong.split())
    assert words.script == ("" if line == "-h" else "job.sbatch")
    again = Words(words.ordered[len(words.own) + 1 :], {})
    assert (again.script, again.before, again.behind, again.belong) == (
        words.script, words.before, words.behind, words.belong,
    )  # fmt: skip


@pytest.mark.parametrize("line", ["--nonsense job.sbatch", "--dif job.sbatch", "-X job.sbatch", "-Gz\x1b --q job"])
def test_what_neither_knows_is_usage_before_the_script(line: str) -> None:
    if "z" in line:
        assert Words(["-Gz", "job"], KNOWN).script == "job"
        return
    with pytest.raises(Usage, match="neither kaiku nor sbatch"):
        Words(line.split(), KNOWN)


def test_only_files_are_read_and_nothing_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("missing", "pipe", ".", "x\0y", "/dev/zero"):
        with pytest.raises(Usage, match="cannot read"):
            script_bytes(str(tmp_path / path) if path[0] != "/" else path)


def test_the_version_is_that_of_the_machines_own_sbatch(tmp_path: Path) -> None:
    sbatch = tmp_path / "sbatch"
    for printed, version in (("slurm 23.11.10", "23.11"), ("nonsense", "22.05")):
        sbatch.write_text(f"#!/bin/sh\necho {printed}\n")
        sbatch.chmod(0o755)
        assert slurm_version({"PATH": f"{tmp_path}"}) == version
    assert slurm_version({"PATH": str(tmp_path / "nowhere")}) == "22.05"
