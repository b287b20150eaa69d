"""`kaiku elsewhere`: what is asked for, and how it is laid out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.asking import SAMPLES, SCRIPT, asked, requested, sample


@pytest.mark.parametrize("columns", [80, 50])
def test_the_platforms_as_they_are_printed(tmp_path: Path, columns: int) -> None:
    status, said = asked(tmp_path, "elsewhere", str(SCRIPT), answers=(sample("elsewhere.json"),), columns=columns)
    assert (status, said) == (0, (SAMPLES / f"elsewhere.{columns}.txt").read_text())


def test_it_asks_for_other_platforms_and_gives_them_as_json(tmp_path: Path) -> None:
    answer = sample("elsewhere.json")
    _, said, (request,) = requested(tmp_path, "elsewhere", str(SCRIPT), "--json", answers=(answer,))
    assert json.loads(request.partition(b"\r\n\r\n")[2])["elsewhere"] is True
    assert json.loads(said) == json.loads(answer)


def test_a_request_that_is_refused_has_the_status_of_check(tmp_path: Path) -> None:
    said = json.loads(sample("elsewhere.json"))
    said["components"][0] |= {"refused": "small-g has at most 4 nodes.", "elsewhere": []}
    status, shown = asked(tmp_path, "elsewhere", str(SCRIPT), answers=(json.dumps(said).encode(),))
    assert (status, "Refused       small-g has at most 4 nodes." in shown) == (5, True)
    assert "the portal lists none for this request" in shown


def test_what_both_sides_refuse_is_said_once(tmp_path: Path) -> None:
    why = "--gpus is not a multiple of the GPUs of each node."
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH --gpus=7 --gpus-per-node=4\n")
    said = json.loads(sample("elsewhere.json"))
    said["components"][0] |= {"refused": why, "elsewhere": []}
    status, shown = asked(tmp_path, "elsewhere", str(tmp_path / "job.sh"), answers=(json.dumps(said).encode(),))
    assert (status, shown.count(why)) == (5, 1)
