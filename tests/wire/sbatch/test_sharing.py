"""Only resource options and the job's name leave the machine."""

from __future__ import annotations

from jobs.sbatch import shape_of
from wire.sbatch.arrays import Array
from wire.sbatch.reading import read_script
from wire.sbatch.sharing import shared

SECRETS = """#!/bin/bash
#SBATCH -J train --gpus-per-node=mi250:8 -N2 --exclusive --mem=480G -t 90 --array=0-9%2 -p small-g -A project_465000001
#SBATCH --output=/scratch/secret/%j --chdir=/secret --comment=secret --export=A=secret --mail-user=secret@example.org
#SBATCH --wrap=secret --dependency=afterok:1 --container=/secret --error=secret --input=secret --nodelist=nid005001
./secret --token=secret
"""


def test_the_allow_list_leaves_everything_else_at_home() -> None:
    (component,) = shared(
        read_script(SECRETS, {"SBATCH_WCKEY": "secret"}, ["--extra-node-info=1", "--licenses=secret"])
    )
    assert component == (
        {
            "--partition": "small-g",
            "--nodes": "2",
            "--gpus-per-node": "mi250:8",
            "--mem": "480G",
            "--time": "01:30:00",
            "--exclusive": "",
            "--account": "project_465000001",
        },
        "train",
        Array(10, 2),
    )
    assert "secret" not in str(component)


def test_the_portal_reads_the_shape() -> None:
    (component,) = shared(read_script(SECRETS))
    shape = shape_of(component.options, None)
    # Two nodes with eight GPUs each, 480 GB on each, 90 minutes.
    assert shape is not None
    assert (shape.nodes, shape.gpus, shape.memory_gb, shape.walltime_s) == (2, 16, 960.0, 5400.0)


def test_values_that_could_hold_anything_are_left_out() -> None:
    text = "#!/bin/sh\n#SBATCH --constraint='a b' --account=/etc/passwd -p \"$(id)\" -C 'a&b' --qos=\x1b[31m\n"
    (component,) = shared(read_script(text))
    assert component.options == {"--constraint": "a&b"}


def test_a_name_loses_its_path_and_its_escapes() -> None:
    (component,) = shared(read_script("#!/bin/sh\n#SBATCH -J '/home/alice/\x1b[31mrun\u202e'\n"))
    assert component.job_name == "[31mrun"


def test_memory_of_the_environment_that_slurm_ignores_is_left_out() -> None:
    (component,) = shared(read_script("#!/bin/sh\n#SBATCH --mem=1G\n", {"SBATCH_MEM_PER_CPU": "2G"}))
    assert component.options == {"--mem": "1G"}


def test_every_component_is_listed() -> None:
    found = shared(read_script("#!/bin/sh\n#SBATCH -n1 -t5\n#SBATCH hetjob\n#SBATCH -s --exclusive -G2\n"))
    assert [each.options for each in found] == [
        {"--ntasks": "1", "--time": "00:05:00"},
        {"--gpus": "2", "--time": "00:05:00", "--exclusive": ""},
    ]


def test_what_to_slurm_is_not_set_or_no_limit_is_sent_so() -> None:
    """An empty value takes an option back, as the script's eight GPUs; two are one element of two (Slurm 22.05.8)."""
    script = "#!/bin/sh\n#SBATCH --gpus=8 --time=-5\n"
    for arguments, environment, expected in (
        (["--gpus="], None, {}),
        (["--gpus=,"], None, {}),
        ([], {"SBATCH_GPUS": ""}, {}),
        (["--gpus=,2"], None, {"--gpus": "2"}),
        (["--gpus=a,b:2"], None, {"--gpus": "a:1,b:2"}),
        (["--gpus=3g.20gb:1"], None, {"--gpus": "3g.20gb:1"}),
        (["--gpus=+1kb"], None, {"--gpus": "1024"}),
        (["--account=", "--gpus="], None, {}),
    ):
        parsed = read_script(script, environment, arguments)
        assert parsed.refusals == []
        assert shared(parsed)[0].options == {**expected, "--time": "UNLIMITED"}
