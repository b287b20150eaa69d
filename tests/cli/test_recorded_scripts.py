"""The 108 scripts that Slurm read: whatever is in them, `check` reads them, and `trial` gives the size that it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.errors import Usage
from cli.trial_scripts import trial
from cli.trial_sizes import NoSize, size_of
from tests.cli.asking import SAMPLES, asked
from wire.sbatch.reading import read_script
from wire.work_names import TRIAL_MARK

SCRIPTS = [json.loads(line) for line in (SAMPLES.parent / "sbatch/scripts.jsonl").read_text().splitlines()]


def content_of(script: dict[str, str]) -> bytes:
    return script["script"].encode("utf-8", "surrogateescape")


def test_check_reads_every_script_and_says_whether_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.sbatch"
    for script in SCRIPTS:
        path.write_bytes(content_of(script))
        status, said = asked(tmp_path, "check", "--offline", str(path), columns=60)
        is_refused = bool(read_script(content_of(script)).refusals)
        assert (status, "Refused" in said) == (5 if is_refused else 0, is_refused), script
        assert all(len(line) <= 60 for line in said.splitlines()), script


@pytest.mark.parametrize("gpus", [1, 2, 16])
def test_each_trial_has_the_gpus_that_it_is_named_for(gpus: int) -> None:
    tried = 0
    for each in SCRIPTS:
        script = read_script(content_of(each))
        if script.refusals or len(script.components) > 1:
            continue
        try:
            now = size_of(script.components[0].options, 8)
            made = trial(script, {}, now, gpus, name="train", time_limit="00:10:00", node_gpus=8)
        except (NoSize, Usage):  # Usage: PBS lines count more than what a trial adds
            continue
        read = read_script(made.content)
        options = read.components[0].options
        assert size_of(options, 8).gpus == gpus, each
        assert (options["job-name"], options["time"]) == (f"train{TRIAL_MARK}{gpus}", "00:10:00")
        assert read.refusals == []
        tried += 1
    assert tried > 30
