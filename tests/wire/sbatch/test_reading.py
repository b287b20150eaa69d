"""Scripts are read as Slurm reads them: 108 recorded ones, and what a reader is warned of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wire.sbatch.as_slurm import is_accepted, slurm_options
from wire.sbatch.reading import read_script
from wire.sbatch.script import Script

SAMPLES = Path(__file__).parents[2] / "samples/sbatch/scripts.jsonl"
RECORDED = [json.loads(line) for line in SAMPLES.read_text().splitlines()]


def script_of(*directives: str, end: str = "true\n") -> Script:
    return read_script("#!/bin/bash\n" + "".join(f"#SBATCH {each}\n" for each in directives) + end)


def codes(script: Script) -> list[tuple[str, int]]:
    return [(warning.code, warning.line) for warning in script.warnings]


def test_every_recorded_script_is_here() -> None:
    assert len(RECORDED) == 108


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["name"]))
def test_a_script_is_read_as_slurm_read_it(recorded: dict) -> None:
    script = read_script(
        recorded["script"].encode(), recorded.get("environment"), recorded.get("arguments", ()), "22.05"
    )
    assert (is_accepted(script), slurm_options(script)) == (recorded["accepted"], recorded["options"])
    assert all(remark.sentence.endswith(".") for remark in script.refusals + script.warnings)


def test_a_blank_after_a_backslash_joins_words_from_24_05() -> None:
    script = read_script("#!/bin/bash\n#SBATCH --job-name=my\\ job --comment=a\\#b\n", version="24.05")
    assert slurm_options(script) == [{"job-name": "my job", "comment": "a#b"}]


def test_an_option_of_a_newer_slurm_is_named_as_such() -> None:
    text = "#!/bin/bash\n#SBATCH --tres-per-task=cpu:2\n"
    assert [each.sentence for each in read_script(text, version="22.05").refusals] == [
        "Line 2: --tres-per-task is no option of Slurm 22.05; known to 23.02, 23.11, 24.05, 25.05."
    ]
    assert is_accepted(read_script(text, version="24.05"))


WARNED = {
    "directive after the first command": ("true\n#SBATCH --gpus=2\n", [("late", 3)]),
    "directive after a docstring": ('"""x"""\n#SBATCH -n1\n#SBATCH -n2\n', [("late", 3), ("late", 4)]),
    "indented": ("  #SBATCH --gpus=2\n", [("indented", 2)]),
    "small letters": ("#sbatch --gpus=2\n", [("lower_case", 2)]),
    "switched off on purpose": ("##SBATCH --gpus=2\n# SBATCH --gpus=2\n", []),
    "old word": ("#SLURM -n1\n#SLURM -n1\n", [("old_word", 2)]),
    "# in a word": ("#SBATCH -J a#b -n2\n", [("hash_in_word", 2)]),
    "# behind a word": ("#SBATCH -J a # b\n", []),
    "empty quotes": ('#SBATCH "" -n2\n', [("empty_word", 2)]),
    "continuation": ("#SBATCH -n2 \\\n", [("continuation", 2)]),
    "shell variable": ("#SBATCH -J $USER\n", [("variable", 2)]),
    "last wins": ("#SBATCH -n2\n#SBATCH -n4\n", [("duplicate", 2)]),
    "same twice": ("#SBATCH -n2\n#SBATCH -n2\n", []),
    "two GPU options": ("#SBATCH --gpus=4\n#SBATCH --gpus-per-node=2\n", [("gpu_forms", 3)]),
    "more nodes than tasks": ("#SBATCH -N4 -n3\n", [("nodes_over_tasks", 2)]),
    "option of the command line": ("#SBATCH --quiet\n", [("ignored", 2)]),
    "hint without effect": ("#SBATCH --hint=nomultithread --threads-per-core=1\n", [("hint_ignored", 2)]),
    "one of a pair": ("#SBATCH --exclusive\n#SBATCH -s\n", [("replaced", 3)]),
    "behind hetjob": ("#SBATCH hetjob -n4\n", [("behind_hetjob", 2)]),
    "hetjob in the middle": ("#SBATCH -n4 hetjob -n2\n", [("hetjob_not_first", 2)]),
    "memory of the component before": ("#SBATCH --mem=1G\n#SBATCH hetjob\n#SBATCH -n2\n", [("inherited", 3)]),
    "memory of its own": ("#SBATCH --mem=1G\n#SBATCH hetjob\n#SBATCH --mem=2G\n", []),
    "old component word": ("#SBATCH packjob\n", [("packjob", 2)]),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_surprises_is_warned_of_with_its_line(case: str) -> None:
    text, expected = WARNED[case]
    script = read_script(f"#!/bin/bash\n{text}")
    assert (script.refusals, codes(script)) == ([], expected)


REFUSED = {
    "DOS line ends": ("#!/bin/bash\n#SBATCH -n1\r\n", ("dos", 2)),
    "byte order mark": ("\ufeff#!/bin/bash\n", ("bom", 1)),
    "no interpreter": ("#SBATCH -n1\n", ("no_interpreter", 1)),
    "empty": ("", ("empty", 0)),
    "NUL": ("#!/bin/bash\n#SBATCH -J a\0b\n", ("nul", 2)),
    "open quote": ("#!/bin/bash\n\n#SBATCH --job-name='a\n", ("open_quote", 3)),
    "bad value": ("#!/bin/bash\n#SBATCH -t 1h\n", ("value", 2)),
    "a command for the GPUs": ("#!/bin/bash\n#SBATCH --gpus=$(id)\n", ("gpus", 2)),
    "no number for the GPUs": ("#!/bin/bash\n#SBATCH -n1\n#SBATCH --gpus-per-node=\u221e\n", ("gpus", 3)),
    "a number and letters for the GPUs": ("#!/bin/bash\n#SBATCH --gpus=0x2\n", ("gpus", 2)),
    "a slice of a GPU without its number": ("#!/bin/bash\n#SBATCH --gres=gpu:3g.20gb\n", ("gpus", 2)),
    "a negative number of a type": ("#!/bin/bash\n#SBATCH --gpus=mi250:-1\n", ("gpus", 2)),
    "more GPUs than Slurm can count": (f"#!/bin/bash\n#SBATCH --gpus={2**64 - 1}\n", ("gpus", 2)),
    "a million digits for the GPUs": ("#!/bin/bash\n#SBATCH --gpus=" + "9" * 1_000_000 + "\n", ("gpus", 2)),
    "GPUs that disagree": ("#!/bin/bash\n#SBATCH -G5 -N2\n#SBATCH --gpus-per-node=2\n", ("gpu_forms", 3)),
    "two memory options": ("#!/bin/bash\n#SBATCH --mem=1G\n#SBATCH --mem-per-cpu=1G\n", ("memory_forms", 3)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_slurm_refuses_has_its_line(case: str) -> None:
    text, expected = REFUSED[case]
    script = read_script(text)
    assert [(refusal.code, refusal.line) for refusal in script.refusals] == [expected]
    assert not is_accepted(script)


def test_what_a_line_loses_against_is_named() -> None:
    script = read_script("#!/bin/bash\n#SBATCH -G1 -t5\n", {"SBATCH_GPUS": "2"}, ["--time=9"])
    assert [warning.sentence for warning in script.warnings] == [
        "Line 2: --gpus of this line is replaced by SBATCH_GPUS in the environment.",
        "Line 2: --time of this line is replaced by the arguments of sbatch.",
    ]


def test_a_time_that_slurm_reads_as_another_one_is_shown() -> None:
    script = script_of("-t 10", "--time=-5")
    assert is_accepted(script)
    assert [warning.sentence for warning in script.warnings] == [
        "Line 3: Slurm reads --time=-5 as 2982611-04:17:00.",
        "Line 2: --time of this line is replaced by line 3.",
    ]
    # What is refused replaces nothing, and nothing replaces it.
    assert codes(script_of("-t 10", "--time=soon")) == []


def test_sockets_of_nodes_stand_for_tasks_and_instead_of_a_hint() -> None:
    assert is_accepted(script_of("--gpus-per-task=1 -B 1:4 --hint=x"))
    assert not is_accepted(script_of("--gpus-per-task=1 -B *:*"))


def test_a_variable_that_sbatch_does_not_read_is_named() -> None:
    script = read_script("#!/bin/bash\n", {"SBATCH_NTASKS": "4"})
    assert slurm_options(script) == [{}]
    assert codes(script) == [("variable_not_read", 0)]


def test_memory_of_the_environment_loses_against_another_form_of_the_script() -> None:
    script = read_script("#!/bin/bash\n#SBATCH --mem=1G\n", {"SBATCH_MEM_PER_CPU": "2G"})
    assert is_accepted(script)
    assert codes(script) == [("memory_not_used", 0)]


def test_a_variable_can_take_a_flag_back() -> None:
    assert slurm_options(read_script("#!/bin/bash\n#SBATCH --requeue\n", {"SBATCH_REQUEUE": "0"})) == [{}]


def test_arguments_apply_to_every_component_and_a_colon_separates_them() -> None:
    text = "#!/bin/bash\n#SBATCH -n1 -t5\n#SBATCH hetjob\n#SBATCH -n2\n"
    assert [each["ntasks"] for each in slurm_options(read_script(text, None, ["-n7"]))] == ["7", "7"]
    assert [each["ntasks"] for each in slurm_options(read_script(text, None, ["-n3", ":", "-n4"]))] == ["3", "4"]
    assert [each["ntasks"] for each in slurm_options(read_script("#!/bin/sh\n", None, ["-n3", ":", "-n4"]))] == [
        "3",
        "4",
    ]


def test_what_only_the_cluster_knows_is_listed() -> None:
    script = script_of("-p small-g -C a100 -A project_465000001 -G1")
    assert (is_accepted(script), script.undecided) == (True, ("account", "constraint", "partition"))
    assert script.unchecked == ["constraint"]
    for gres, names in (("gpu:2", []), ("none", []), ("nvme:1", ["gres"]), ("gpu:1,gres/nvme:1", ["gres"])):
        assert script_of(f"--gres={gres}").unchecked == names, gres


def test_pbs_lines_are_read_up_to_a_hundred_commands_later() -> None:
    assert slurm_options(read_script("#!/bin/sh\n" + "x\n" * 100 + "#PBS -N late\n")) == [{"job-name": "late"}]
    assert slurm_options(read_script("#!/bin/sh\n" + "x\n" * 101 + "#PBS -N late\n")) == [{}]


PBS = {
    "-l select=2:ncpus=8:mpiprocs=4:ngpus=2": {
        "cpus-per-task": "2",
        "mincpus": "8",
        "nodes": "2",
        "ntasks-per-node": "4",
    },
    "-l nodes=1:ppn=4:gpus=2,walltime=10:00": {
        "gpus-per-node": "2",
        "nodes": "1",
        "ntasks": "4",
        "time": "00:10:00",
    },
    "-l walltime=1:00:00 -l mem=3000mb": {"mem": "3000", "time": "01:00:00"},
    "-m abe -W depend=afterok:1": {"mail-type": "BEGIN,END,FAIL", "dependency": "afterok:1"},
    "-l pmem=1gb,vmem=2gb -j oe": {},
}


@pytest.mark.parametrize("words", PBS)
def test_pbs_words_are_translated_as_slurm_does(words: str) -> None:
    assert slurm_options(read_script(f"#!/bin/sh\n#PBS {words}\n")) == [PBS[words]]
